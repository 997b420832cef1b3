"""The command: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from autodiff_compiler import __version__
from autodiff_compiler.cli import ExitCode, main
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.passes.nests.pipeline import BY_NAME as NESTS
from autodiff_compiler.passes.registry import BY_NAME
from tests.loop_ir.interpreter import run_nests

NET = """\
import numpy as np

from autodiff_compiler import Parameter, nn, ops


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.ones(2, np.float32))

    def construct(self, x, y, k=1.0):
        return x * y * self.w * k


class Sized(nn.Cell):
    def __init__(self, size):
        super().__init__()

    def construct(self, x):
        return x


class Bad(nn.Cell):
    def construct(self, x):
        with open(x):
            return x


net = Net()
number = 3


def product(x, y):
    return x * y


def wrong(x):
    return x.reshape(7)


def twice(x):
    return (x + 0.0) * (x + 0.0)


def thrice(x):
    return ops.sin(x * x) * 1.5


def unloved(x, n):
    total = x
    for _ in range(n):
        total = total * x
    return total
"""
X, Y = ("--input", "x=f64[2]"), ("--input", "y=f64[2]")


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model_of_test_cli.py"
    path.write_text(NET)
    yield str(path)
    sys.modules.pop("model_of_test_cli", None)


@pytest.mark.parametrize("name", ["Net", "net", "product"])
@pytest.mark.parametrize("inputs", [(*X, *Y), (*Y, *X), ("--input", "f64[2]", "--input", "f64[2]")])
def test_dump(file, capsys, name, inputs):
    assert main(["dump", f"{file}:{name}", *inputs, "--get-all"]) == ExitCode.OK
    space = {}
    exec(capsys.readouterr().out, space)
    prefix = name.lower()
    given = [np.full(2, 3.0), np.full(2, 5.0)] + [np.ones(2)] * (prefix == "net")
    residuals = space[f"{prefix}_forward"](*given)
    d_x, d_y = space[f"{prefix}_backward"](residuals)
    assert d_x.tolist() == [5, 5] and d_y.tolist() == [3, 3]


def test_dump_forward_mode(file, capsys):
    assert main(["dump", f"{file}:Net", *X, *Y, "--mode", "forward", "--get-all"]) == 0
    text = capsys.readouterr().out
    assert "Tangent of Net.construct" in text and ", dot_x, dot_y):" in text
    assert "d_x" not in text.replace("dot_x", "")
    assert main(["dump", f"{file}:Net", *X, *Y, "--mode", "forward", "--sens-param"]) == 1
    assert "forward mode takes no sensitivity" in capsys.readouterr().err


def test_dump_flags_and_stage(file, capsys):
    assert main(["dump", f"{file}:Net", *X, *Y, "--get-by-list", "--sens-param"]) == 0
    text = capsys.readouterr().out
    assert "wrt: w   sens: given" in text
    assert main(["dump", f"{file}:Net", *X, *Y, "--stage", "typed"]) == 0
    assert "func @net(%x!: f64[2], %y!: f64[2], %w!: f32[2])" in capsys.readouterr().out


def test_explain_memory(file, capsys):
    given = ["--input", "x=f64[b]", "--input", "y=f64[b]", "--get-all"]
    assert main(["explain-memory", f"{file}:product", *given]) == ExitCode.OK
    told = capsys.readouterr().out
    assert told.startswith("Saved for backward by product_forward (model_of_test_cli.py:33).")
    assert "y     f64[b]  8*b    (an argument)  (the result)" in told
    assert "At most 16*b bytes in total" in told
    assert main(["explain-memory", f"{file}:Bad", "--input", "f64[b]"]) == ExitCode.REFUSED


def test_dump_without_types(file, capsys):
    assert main(["dump", f"{file}:product"]) == 0
    assert "x: any[...]" in capsys.readouterr().out


def test_dump_to_a_file(file, tmp_path, capsys):
    out = tmp_path / "gradient.py"
    assert main(["dump", f"{file}:product", *X, *Y, "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["dump", f"{file}:product", *X, *Y]) == 0
    assert capsys.readouterr().out == out.read_text()
    assert main(["dump", f"{file}:product", *X, *Y, "--out", str(tmp_path / "no" / "g.py")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_dump_after_a_pass(file, capsys):
    sizes = ("--input", "x=f64[2]", "--input", "n=int")
    assert main(["dump", f"{file}:unloved", *sizes, "--dump-after", "dce"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    titles = [line for line in captured.out.splitlines() if line.startswith("# application")]
    assert titles and all(title.endswith(": dce") for title in titles)
    parts = captured.out.split("# application")[1:]
    assert all(part.count("func @unloved") == 1 for part in parts)


def test_diff_of_passes(file, capsys):
    assert main(["dump", f"{file}:twice", *X, "--diff"]) == 0
    text = capsys.readouterr().out
    names = re.findall(r"^--- before application \d+: (\w+)$", text, re.MULTILINE)
    assert "dce" in names and len(set(names)) > 1
    assert main(["dump", f"{file}:twice", *X, "--diff", "--dump-after", "dce"]) == 0
    some = capsys.readouterr().out
    assert set(re.findall(r"^--- before application \d+: (\w+)$", some, re.MULTILINE)) == {"dce"}
    assert all(line in text.splitlines() for line in some.splitlines())


def test_time_passes(file, capsys):
    assert main(["dump", f"{file}:product", *X, *Y]) == 0
    plain = capsys.readouterr()
    assert main(["dump", f"{file}:product", *X, *Y, "--time-passes"]) == 0
    captured = capsys.readouterr()
    assert captured.out == plain.out and plain.err == ""
    head, *rows = captured.err.splitlines()
    assert head.split() == ["pass", "runs", "changed", "ops", "+/-", "seconds"]
    assert {row.split()[0] for row in rows} <= {*BY_NAME, "total"} and rows[-1][:5] == "total"


def test_passes_that_print_nothing_say_why(file, capsys):
    dump = ("dump", f"{file}:product", *X, *Y, "--dump-after")
    assert main([*dump, "scan_in_place", "-O2"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == "scan_in_place changed nothing\n"
    assert main([*dump, "scan_in_place", "-O0"]) == 0
    assert capsys.readouterr().err == "scan_in_place does not run at -O0\n"


@pytest.mark.parametrize(
    "options, words",
    [
        (("--dump-after", "hoist_product"), "did you mean 'hoist_products'? The passes are reso"),
        (("--dump-after", "tile"), "there is no pass 'tile'; did you mean 'tile_elementwise'?"),
        (("--dump-after", "fuse_loop", "--target", "c"), "did you mean 'fuse_loops'?"),
        (("--dump-after", "contract"), "did you mean 'contract_arrays'?"),
        (("--dump-after", "zzz"), "there is no pass 'zzz'. The passes are resolve_empty_sums, st"),
        (("--dump-after", "cse", "--stage", "typed"), "--stage and --dump-after cannot both"),
        (("--diff", "--stage", "source"), "--stage and --diff cannot both be given"),
    ],
)
def test_options_of_passes_that_make_no_sense(file, capsys, options, words):
    assert main(["dump", f"{file}:product", *X, *Y, *options]) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert words in captured.err and captured.out == ""


C = ("--target", "c")


def applied(text, word="# application"):
    """Return the names of the passes whose changes are printed."""
    return re.findall(rf"^{word} \d+: (\w+)$", text, re.MULTILINE)


def test_the_nests_of_c(file, capsys):
    assert main(["dump", f"{file}:product", *X, *Y, *C, "--stage", "nests"]) == 0
    nests = capsys.readouterr().out
    sizes = np.array([2.0, -3.0]), np.array([5.0, 7.0])
    (d_x,) = run_nests(read_nests(nests), sizes)
    np.testing.assert_array_equal(d_x, sizes[1])
    assert main(["dump", f"{file}:product", *X, *Y, "--stage", "nests"]) == ExitCode.REFUSED
    assert "there is no stage 'nests' for target='numpy'" in capsys.readouterr().err


def test_dump_after_a_pass_on_nests(file, capsys):
    dump = ("dump", f"{file}:thrice", *X, *C)
    assert main([*dump, "--dump-after", "fuse_loops", "--dump-after", "cse"]) == 0
    captured = capsys.readouterr()
    names = applied(captured.out)
    assert names.count("fuse_loops") == 1 and names[-1] == "fuse_loops" and captured.err == ""
    assert {*names} <= {"cse", "fuse_loops"}
    fused = read_nests(captured.out.rpartition(": fuse_loops\n")[2])
    (d_x,) = run_nests(fused, [np.array([0.5, -2.0])])
    np.testing.assert_allclose(d_x, [1.5 * np.cos(0.25), -6.0 * np.cos(4.0)])


def test_diff_and_time_of_passes_on_nests(file, capsys):
    dump = ("dump", f"{file}:thrice", *X, *C)
    assert main([*dump, "--diff", "--time-passes"]) == 0
    captured = capsys.readouterr()
    names = applied(captured.out, "--- before application")
    assert "fuse_loops" in names and {*names} & {*BY_NAME}
    rows = {line.split()[0]: line.split()[1:3] for line in captured.err.splitlines()}
    assert rows["fuse_loops"] == ["1", "1"] and rows["contract_arrays"][0] == "2"
    assert {*rows} <= {*BY_NAME, *NESTS, "pass", "total"}
    assert main([*dump, "--diff", "--dump-after", "fuse_loops"]) == 0
    assert applied(capsys.readouterr().out, "--- before application") == ["fuse_loops"]


def test_passes_that_do_not_run_say_why(file, capsys):
    dump = ("dump", f"{file}:product", *X, *Y, "--dump-after")
    for pass_, options, why in [
        ("fuse_loops", (), "fuse_loops runs for --target c alone"),
        ("fuse_loops", (*C, "-O0"), "fuse_loops does not run at -O0"),
        ("carry_in_place", C, "carry_in_place runs for --target numpy alone"),
        ("assign_workspace", C, "assign_workspace changed nothing"),
    ]:
        assert main([*dump, pass_, *options]) == 0
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == ("", why + "\n")


def test_diff_to_a_file(file, tmp_path, capsys):
    out = tmp_path / "changes.diff"
    given = ("dump", f"{file}:unloved", "--input", "f64[2]", "--input", "int", "--diff")
    assert main([*given, "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert main([*given]) == 0
    assert capsys.readouterr().out == out.read_text()
    assert main([*given, "--out", str(tmp_path / "no" / "c.diff")]) == ExitCode.USAGE


def test_check(file, capsys):
    assert main(["check", f"{file}:Net", *X, *Y, "--order", "1"]) == 0
    assert "element [1]" in capsys.readouterr().out
    assert main(["check", f"{file}:unloved", "--input", "f64[b]", "--input", "int"]) == 0


def test_check_says_what_the_function_raises(tmp_path, capsys):
    path = tmp_path / "raising.py"
    text = "import numpy as np\n\ndef f(x):\n    return np.sum(x) * missing\n"
    text += (
        "\ndef g(x):\n    if len(x) > 2:\n        raise ValueError('too\\nlong')\n    return x\n"
    )
    path.write_text(text)
    for name, line in {
        "f": "NameError: name 'missing' is not defined", "g": "ValueError: too",
    }.items():  # fmt: skip
        assert main(["check", f"{path}:{name}", "--input", "f64[3]"]) == ExitCode.USAGE
        error = capsys.readouterr().err
        assert line in error and f"({path}, line {4 if name == 'f' else 8})" in error
        assert error.count("\n") == 1


def test_check_passes_on_a_fault_of_its_own(file, monkeypatch):
    def fault(*_, **__):
        raise KeyError("lost")

    monkeypatch.setattr("autodiff_compiler.cli.commands.check_grads", fault)
    with pytest.raises(KeyError):
        main(["check", f"{file}:product", *X, *Y])


def test_check_finds_what_is_wrong(file, capsys, monkeypatch):
    def disagree(*_, **__):
        raise AssertionError("the gradient of order 1 in 'x' is wrong")

    monkeypatch.setattr("autodiff_compiler.cli.commands.check_grads", disagree)
    assert main(["check", f"{file}:product", *X, *Y]) == ExitCode.REFUSED
    assert capsys.readouterr().err == "the gradient of order 1 in 'x' is wrong\n"


@pytest.mark.parametrize(
    "target, options, words",
    [
        ("{file}", (), "is not a target; write FILE.py:NAME"),
        ("none.py:Net", (), "there is no file none.py"),
        ("{file}:Nothing", (), "has no 'Nothing'; it has Net, Sized, Bad, net, product"),
        ("{file}:Sized", (), "'Sized' needs arguments (size)"),
        ("{file}:number", (), "'number' in {file} is a int, not a Cell or function"),
        ("{file}:product", ("--input", "x=f99"), "the type of 'x': 'f99' is not a type"),
        ("{file}:product", ("--input", "z=f32[]"), "there is no argument 'z'; there are x, y"),
        ("{file}:product", (*X, *X), "the argument 'x' is given twice"),
        ("{file}:product", Y, "'y' is given, but 'x' before it is not"),
        ("{file}:product", ("--input", "int") * 3, "3 types are given, but there are 2"),
    ],
)
def test_commands_that_make_no_sense(file, capsys, target, options, words):
    assert main(["dump", target.format(file=file), *options]) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert words.format(file=file) in captured.err
    assert captured.out == "" and "Traceback" not in captured.err


def test_check_wants_all_types(file, capsys):
    assert main(["check", f"{file}:product", *X]) == 2
    assert "give --input y=..." in capsys.readouterr().err
    assert main(["check", f"{file}:product", *X, "--input", "f32[...]"]) == 2
    assert "no argument of the type f32[...] can be drawn" in capsys.readouterr().err


def test_a_file_that_cannot_be_imported(tmp_path, capsys):
    path = tmp_path / "broken_of_test_cli.py"
    path.write_text("import numpy\nraise ValueError('no luck')\n")
    assert main(["dump", f"{path}:Net"]) == 2
    assert f"{path}:2 cannot be imported: ValueError: no luck" in capsys.readouterr().err


@pytest.mark.parametrize("name, words", [("Bad", "'open'"), ("wrong", "ShapeError")])
def test_what_the_compiler_refuses(file, capsys, name, words):
    assert main(["dump", f"{file}:{name}", *X]) == ExitCode.REFUSED
    captured = capsys.readouterr()
    assert words in captured.err and "^" in captured.err
    assert "Traceback" not in captured.err and captured.out == ""


def test_unknown_command():
    with pytest.raises(SystemExit) as caught:
        main(["paint"])
    assert caught.value.code == ExitCode.USAGE


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == ExitCode.OK
    assert capsys.readouterr().out == f"autodiff-compiler {__version__}\n"


def test_help_tells_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["dump", "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "exit codes:" in text and "rejected" in text


def test_as_a_module(file):
    run = subprocess.run(
        [sys.executable, "-m", "autodiff_compiler", "dump", f"{file}:product", *X, *Y],
        capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(__import__("autodiff_compiler").__path__[0]) + "/.."},
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")
    assert "def product_backward" in run.stdout


def test_stabilising_can_be_left_out(tmp_path, capsys):
    (tmp_path / "net.py").write_text(
        "from autodiff_compiler import ops\n\n\ndef f(x):\n    return ops.log(1 + ops.exp(x))\n"
    )
    target = f"{tmp_path / 'net.py'}:f"
    assert main(["dump", target, "--input", "f32[2]"]) == ExitCode.OK
    assert "# stabilised: log(1 + exp(u)) as softplus(u)" in capsys.readouterr().out
    assert main(["dump", target, "--input", "f32[2]", "--no-stabilise"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "stabilised" not in out and "np.exp(x)" in out
