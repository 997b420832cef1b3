"""The cache on disk returns the source that would have been printed, or nothing."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, compile_info, nn, ops, pipeline
from autodiff_compiler.common.context import get_context
from autodiff_compiler.program import Program
from autodiff_compiler.runtime import disk_cache
from autodiff_compiler.runtime.native import NativeUnavailable, build, errors
from autodiff_compiler.stages import native, outcome


class Net(nn.Cell):
    def __init__(self, power=2):
        super().__init__()
        self.power = power
        self.w = Parameter(np.array([0.5, -1.0, 2.0], np.float32))
        self.seen = Parameter(np.zeros(1, np.float32), requires_grad=False)

    def construct(self, x):
        self.seen += 1
        return {"y": [x**self.power * self.w], "n": x.sum()}


X = Tensor(np.array([1.0, 2.0, 3.0], np.float32))


@pytest.fixture
def folder(tmp_path):
    before = {name: get_context(name) for name in ("enable_compile_cache", "compile_cache_path")}
    ms.set_context(enable_compile_cache=True, compile_cache_path=str(tmp_path / "kept"))
    compile_info().clear()
    yield tmp_path / "kept"
    ms.set_context(**before)
    compile_info().clear()


def gradient(power=2):
    """Returns the gradients in x and w, whose closed forms are known, as another process would."""
    compile_info().clear()
    net = Net(power)
    value, (in_x, (in_w,)) = ms.value_and_grad(net, 0, [net.w])(X)
    x, w = X.asnumpy(), net.w.asnumpy()
    assert type(value["y"]) is list and value["n"].asnumpy() == 6 and net.seen.asnumpy() == 1
    np.testing.assert_allclose(in_x.asnumpy(), power * x ** (power - 1) * w + 1, rtol=1e-6)
    np.testing.assert_allclose(in_w.asnumpy(), x**power, rtol=1e-6)
    (unit,) = compile_info().units
    return unit


def test_the_second_time_it_is_found(folder, monkeypatch):
    first = gradient()
    assert not first.from_disk and len(list(folder.iterdir())) == 1

    def front_end_only(program, until=None):
        assert until == "typed", "it was differentiated again"
        return pipeline.PIPELINE.run(program, until)

    monkeypatch.setattr(pipeline, "run", front_end_only)
    second = gradient()
    assert second.from_disk and second.source == first.source


def test_another_program_is_not_found(folder):
    assert not gradient(2).from_disk
    assert not gradient(3).from_disk
    assert gradient(2).from_disk


def test_requests_have_separate_records(folder):
    x = Tensor(np.array([0.5, 1.5], np.float32))
    for number, make in enumerate(
        [ms.grad, ms.value_and_grad, ops.GradOperation(sens_param=True), ms.jacfwd]
    ):
        compile_info().clear()
        function = make(ops.sin)
        function(x, x) if number == 2 else function(x)
        assert not any(unit.from_disk for unit in compile_info().units)
    ms.set_context(opt_level=0)
    try:
        compile_info().clear()
        ms.grad(ops.sin)(x)
        assert not any(unit.from_disk for unit in compile_info().units)
    finally:
        ms.set_context(opt_level=1)


def test_other_versions_find_nothing(folder, monkeypatch):
    gradient()
    monkeypatch.setattr(outcome, "versions", lambda: ("later",))
    assert not gradient().from_disk


def test_a_changed_file_of_the_compiler_is_another_version(tmp_path):
    (tmp_path / "inner").mkdir()
    module, compiled = tmp_path / "inner" / "a.py", tmp_path / "inner" / "a.pyc"
    module.write_text("x = 1")
    compiled.write_text("")
    (known,) = disk_cache.stamps(str(tmp_path))
    assert known == ("inner/a.py", 5, module.stat().st_mtime_ns)
    module.write_text("x = 22")
    (after,) = disk_cache.stamps(str(tmp_path))
    assert after != known


@pytest.mark.parametrize("harm", ["cut", "other", "empty", "foreign"])
def test_a_damaged_file_is_written_anew(folder, harm):
    gradient()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(
        {
            "cut": whole[:-20],
            "other": whole.replace(b"2.0", b"4.0").replace(b"power", b"tower"),
            "empty": b"",
            "foreign": json.dumps({"source": "boom"}).encode(),
        }[harm]
    )
    assert not gradient().from_disk
    assert file.read_bytes() == whole
    assert gradient().from_disk


def test_any_damage_is_a_miss(folder):
    gradient()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    rng = np.random.default_rng(0)

    def checked(body):
        return hashlib.sha256(body).hexdigest().encode() + b"\n" + body

    record = json.loads(whole.partition(b"\n")[2])
    damaged = [whole[: rng.integers(len(whole))] for _ in range(4)]
    damaged += [
        rng.bytes(200),
        b"\n",
        checked(b""),
        checked(b"[]"),
        checked(b"null"),
        checked(b"{}"),
    ]
    for name in ("output", "work_arrays"):
        damaged.append(checked(json.dumps({**record, name: None}).encode()))
    damaged.append(checked(json.dumps({**record, "more": 1}).encode()))
    for contents in damaged:
        file.write_bytes(contents)
        assert not gradient().from_disk
        assert file.read_bytes() == whole


def test_a_directory_in_the_place_of_a_file_is_a_miss(folder):
    gradient()
    (file,) = folder.iterdir()
    file.unlink()
    file.mkdir()
    with pytest.warns(UserWarning, match="compiled code cannot be cached in"):
        assert not gradient().from_disk


def test_a_folder_that_cannot_be_written_is_warned_of(folder, tmp_path):
    folder.write_text("a file stands here")
    with pytest.warns(UserWarning, match="compiled code cannot be cached in"):
        gradient()


def test_a_record_that_is_no_plain_data_is_not_stored(folder, monkeypatch):
    monkeypatch.setattr(Program, "facts", lambda _: (object(),))
    assert not gradient().from_disk and not folder.exists()


def test_threads_may_write_at_once(folder):
    wrong = []

    def run(power):
        try:
            net = Net(power)
            for _ in range(3):
                ms.grad(net)(X)
                compile_info().clear()
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(2 + k % 2,)) for k in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong and all(file.suffix == ".json" for file in folder.iterdir())
    net = Net(2)  # whose units live as long as it does
    ms.grad(net)(X)
    assert [unit.from_disk for unit in compile_info().units] == [True]


@pytest.mark.thorough
def test_another_process_finds_it_and_an_edited_file_does_not(tmp_path):
    program = textwrap.dedent("""\
        import numpy as np, sys
        import autodiff_compiler as ms
        ms.set_context(enable_compile_cache=True, compile_cache_path=sys.argv[1])
        def f(x):
            return (x ** 3).sum()
        print(ms.grad(f)(np.array([2.0]))[0], ms.compile_info().units[0].from_disk)
        """)
    file = tmp_path / "net.py"

    def run(text):
        file.write_text(text)
        command = [sys.executable, str(file), str(tmp_path / "kept")]
        path = os.pathsep.join(sys.path)
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
        )
        return done.stdout or done.stderr

    assert run(program) == "12.0 False\n"
    assert run(program) == "12.0 True\n"
    assert run(program.replace("** 3", "** 4")) == "32.0 False\n"


# ---- the target C


@pytest.fixture
def in_c(folder, c_compiler, monkeypatch):
    """The folder, and the context manager in which neither stages nor compilers run."""
    before = ms.get_context("target")
    ms.set_context(target="c")

    @contextmanager
    def front_end_only():
        def refuse(*arguments, **options):
            raise AssertionError("it was compiled again")

        with monkeypatch.context() as patch:
            patch.setattr(pipeline.Pipeline, "run", typed_only)
            patch.setattr(build, "run_compiler", refuse)
            yield

    yield folder, front_end_only
    ms.set_context(target=before)


def typed_only(self, program, until=None, verified=False):
    assert until == "typed", "it was lowered again"
    return replace(program, after={"typed": program.functions})


def rows(x, y):
    return np.sum(np.exp(x) * y[2]), y * 2


def last():
    return compile_info().units[-1]


A, B = np.array([0.5, -1.0]), np.array([2.0, 3.0, 4.0])


def slopes():
    """Returns the unit for a gradient that is checked, as another process would get it."""
    compile_info().clear()
    (value, rest), (in_a, in_b) = ms.value_and_grad(rows, (0, 1), has_aux=True)(A, B)
    np.testing.assert_allclose(value, np.exp(A).sum() * 4, rtol=1e-14)
    np.testing.assert_array_equal(rest, B * 2)
    np.testing.assert_allclose(in_a, np.exp(A) * 4, rtol=1e-14)
    np.testing.assert_allclose(in_b, [0, 0, np.exp(A).sum()], rtol=1e-14)
    return last()


def records(folder):
    return sorted(folder.glob("*.json"))


def test_c_is_found_without_stages_or_compiler(in_c):
    folder, front_end_only = in_c
    first = slopes()
    assert (first.target, first.from_disk) == ("c", False)
    with front_end_only():
        second = slopes()
    assert (second.target, second.from_disk) == ("c", True) and second.source == first.source


def test_c_with_given_sensitivity_and_errors_is_found(in_c):
    """Two functions, a tuple of residuals and a table of errors come back as they were."""
    _, front_end_only = in_c

    def item(x, k):
        if k > 2:
            raise ValueError(f"no item {k}")
        return x[k] * x

    def run():
        compile_info().clear()
        value, pull = ms.vjp(lambda x: item(x, 1), A)
        np.testing.assert_array_equal(value, A[1] * A)
        (slope,) = pull(np.array([1.0, 2.0]))
        np.testing.assert_array_equal(slope, [-1.0, 0.5 - 2 * 2.0])
        with pytest.raises(ValueError, match="no item 3"):
            ms.jit(lambda x, k: item(x, k + 1))(A, 2)
        assert last().target == "c"
        return [unit.from_disk for unit in compile_info().units]

    assert not any(run())
    with front_end_only():
        assert all(run())


@pytest.mark.parametrize("harm", ["cut", "empty", "inputs", "errors", "unknown field"])
def test_a_damaged_record_of_c_is_written_anew(in_c, harm):
    folder, _ = in_c
    slopes()
    (file,) = records(folder)
    intact = file.read_bytes()
    record = json.loads(intact.partition(b"\n")[2])
    (about,) = record["native"]
    wrong = {"inputs": [["Ghost"]], "errors": [["NoError", ""]], "unknown field": 1}
    if harm in wrong:
        about[harm] = wrong[harm]
        body = json.dumps(record).encode()
        file.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    else:
        file.write_bytes(b"" if harm == "empty" else intact[:-30])
    unit = slopes()
    assert (unit.target, unit.from_disk) == ("c", False)
    assert file.read_bytes() == intact and slopes().from_disk


@pytest.mark.thorough
def test_a_missing_or_damaged_library_is_compiled_again(in_c):
    folder, front_end_only = in_c
    slopes()
    libraries = [path for path in (folder / "native").iterdir() if path.suffix]
    assert libraries
    for harm in (lambda path: path.unlink(), lambda path: path.write_bytes(b"\x7fELF")):
        compile_info().clear()
        gc.collect()  # libraries in use are not replaced
        for path in libraries:
            if path.suffix != ".json":
                path.unlink()
                path.touch()
                harm(path)
        unit = slopes()
        assert (unit.target, unit.from_disk) == ("c", True)


def test_targets_have_separate_records(in_c):
    folder, _ = in_c
    slopes()
    ms.set_context(target="numpy")
    assert not slopes().from_disk and len(records(folder)) == 2
    assert slopes().from_disk and last().target == "numpy"
    ms.set_context(target="c")
    assert slopes().from_disk and last().target == "c"


def test_a_function_without_c_is_found_with_the_reason(in_c):
    _, front_end_only = in_c

    def run():
        compile_info().clear()
        slope = ms.grad(lambda x: np.sum(np.abs(np.exp(1j * x) + 2)))(A)
        # |e^(ix) + 2|² = 5 + 4 cos x
        np.testing.assert_allclose(slope, -2 * np.sin(A) / np.sqrt(5 + 4 * np.cos(A)), rtol=1e-12)
        return last()

    first = run()
    assert first.fallback and first.target == "numpy"
    with front_end_only():
        assert run() == replace(first, from_disk=True)


def test_the_source_of_a_machine_without_compiler_is_not_taken_for_c(in_c, monkeypatch):
    def no_compiler(folder):
        raise NativeUnavailable("no C compiler was found on this machine")

    with monkeypatch.context() as patch:
        patch.setattr(native, "find_compiler", no_compiler)
        patch.setattr(errors, "_warned", set())
        with pytest.warns(UserWarning, match="on this machine; NumPy source runs"):
            assert slopes().target == "numpy"
        assert slopes().from_disk and "no C compiler" in last().fallback
    unit = slopes()
    assert (unit.target, unit.fallback, unit.from_disk) == ("c", "", False)


def test_settings_are_checked():
    for wrong in ({"enable_compile_cache": "yes"}, {"compile_cache_path": 3}):
        with pytest.raises(TypeError, match="should be of the type"):
            ms.set_context(**wrong)
