"""What the compiler says of programs that it refuses: class, place, caret, cause and cure."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import errors, nn, ops
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.mindspore_names import suggestions
from tests.errors import (  # noqa: F401
    refused,
    refused_called,
    refused_corners,
    refused_objects,
    refused_too,
)
from tests.errors.cases import REFUSED, Refused

MESSAGES = Path(__file__).parent / "messages.txt"
PROBLEM = re.compile(
    r"^(refused\w*\.py):(\d+):(\d+): (\w+): (.+)\n    (.*)\n    ( *)(\^+)\n"
    r"(?:  (?:called from|\.\.\.) .+\n)*  cure: .+ \[(AD\d+)\]$",
    re.M,
)
X = ms.Tensor([1.0, 2.0])
GO = ops.GradOperation


@pytest.fixture(autouse=True)
def beside_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages tell files as they are found from the working directory."""
    monkeypatch.chdir(MESSAGES.parent)


def message_of(case: Refused) -> str:
    with pytest.raises(errors.CompileError) as caught:
        case.gradient()
    assert type(caught.value) is caught.value.problems[0].kind
    return str(caught.value)


def test_messages_are_as_written_down() -> None:
    made = "\n".join(f"== {case.name}\n{message_of(case)}\n" for case in REFUSED)
    if os.environ.get("REWRITE_GOLDEN"):
        MESSAGES.write_text(made, encoding="utf-8", newline="\n")
    old = MESSAGES.read_text(encoding="utf-8")
    diff = difflib.unified_diff(old.splitlines(), made.splitlines(), lineterm="")
    if made != old:
        pytest.fail("\n".join([*diff, "", "if the change is wanted: make golden"]), pytrace=False)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_every_problem_has_a_place_a_caret_a_cause_and_a_cure(case: Refused) -> None:
    message = message_of(case)
    places = PROBLEM.findall(message)
    assert len(places) == message.count("\n  cure: ") > 0
    for file, line, column, kind, _cause, text, blanks, carets, code in places:
        lines = (MESSAGES.parent / file).read_text(encoding="utf-8").splitlines()
        quoted = lines[int(line) - 1]
        assert quoted.strip() == text
        assert int(column) - 1 == len(quoted) - len(quoted.lstrip()) + len(blanks)
        assert len(blanks) + len(carets) <= len(text)
        assert errors.by_code()[code] is getattr(errors, kind)


def test_there_are_many() -> None:
    """Besides the wrong calls below, and those that other files hold."""
    assert len(REFUSED) >= 75


# ---- several problems in one report


def kinds(case_name: str) -> list[type]:
    case = next(case for case in REFUSED if case.name == case_name)
    with pytest.raises(errors.CompileError) as caught:
        case.gradient()
    return [problem.kind for problem in caught.value.problems]


def test_problems_of_one_method_are_told_together() -> None:
    assert kinds("TwoKinds") == [errors.UnsupportedSyntax] * 2
    assert kinds("TwoProblems") == [errors.UnknownName, errors.ShapeError]


@pytest.mark.parametrize(
    ("name", "builtin"),
    [("generator", SyntaxError), ("unknown_name", NameError), ("unknown_method", AttributeError),
     ("matmul_shapes", ValueError), ("matmul_dtypes", TypeError)],
)  # fmt: skip
def test_errors_are_of_the_classes_that_python_users_expect(name: str, builtin: type) -> None:
    case = next(case for case in REFUSED if case.name == name)
    with pytest.raises(builtin):
        case.gradient()


# ---- wrong calls


def square(x):
    return x * x


def scaled(x, y, k=2):
    return x * y * k


def vector(*numbers: float, dtype: Any = np.float32) -> ms.Tensor:
    return ms.Tensor(np.array(numbers, dtype))


WRONG_CALLS: list[tuple[Callable[[], Any], type, str]] = [
    (lambda: GO(sens_param=True)(square)(X, vector(1, 2, 3)), errors.SensitivityError,
     "SensitivityError: the sensitivity should have the shape [2] of the output, but got [3]\n"
     "  cure: give the sensitivity one element per element of the output; it is not broadcast "
     "[AD402]"),
    (lambda: GO(sens_param=True)(square)(X, vector(1, 2, dtype=np.float64)), errors.CallError,
     "CallError: the sensitivity should have the dtype float32 of the output, but got float64\n"
     "  cure: cast it: sens.astype('float32') [AD401]"),
    (lambda: GO(sens_param=True)(square)(X, np.ones(2, np.float32)), errors.SensitivityError,
     "SensitivityError: the sensitivity should be a Tensor f32[2], but got a ndarray\n"
     "  cure: the output is f32[2], and its sensitivity has the same structure [AD402]"),
    (lambda: GO(sens_param=True)(square)(), errors.CallError,
     "CallError: the sensitivity is missing: with sens_param=True it is the last argument\n"
     "  cure: pass the gradient of the output last, or as sens=... [AD401]"),
    (lambda: GO(sens_param=True)(scaled)(X, X), errors.CallError,
     "CallError: scaled() missing 1 required positional argument: 'y'\n"
     "  cure: its arguments are (x, y, k=2), and the last one given was taken as the sensitivity "
     "[AD401]"),
    (lambda: GO()(scaled)(X), errors.CallError,
     "CallError: scaled() missing 1 required positional argument: 'y'\n"
     "  cure: its arguments are (x, y, k=2) [AD401]"),
    (lambda: GO()(scaled)(X, X, 1, 2), errors.CallError,
     "CallError: scaled() takes from 2 to 3 positional arguments but 4 were given\n"
     "  cure: its arguments are (x, y, k=2) [AD401]"),
    (lambda: GO()(scaled)(X, X, z=2), errors.CallError,
     "CallError: scaled() got an unexpected keyword argument 'z'\n"
     "  cure: its arguments are (x, y, k=2) [AD401]"),
    (lambda: ms.grad(square, 2)(X), IndexError,
     "PositionError: Position index 2 is exceed input size.\n"
     "  cure: positions count from 0, and the last argument is at 0 [AD403]"),
    (lambda: GO(get_all=1), TypeError,
     "For 'GradOperation', the 'get_all' should be bool, but got int"),
    (lambda: GO(get_by_list="x"), TypeError,
     "For 'GradOperation', the 'get_by_list' should be bool, but got str"),
    (lambda: GO(sens_param=None), TypeError,
     "For 'GradOperation', the 'sens_param' should be bool, but got NoneType"),
    (lambda: ms.grad(square, has_aux=1), TypeError,
     "For '_Grad', the 'has_aux' should be bool, but got int"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), WRONG_CALLS)
def test_wrong_call(call: Callable[[], Any], kind: type, message: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def test_the_text_of_a_function_cannot_be_found() -> None:
    scope: dict[str, Any] = {}
    exec("def made(x):\n    return x * x\n", scope)
    with pytest.raises(errors.SourceNotFound) as caught:
        GO()(scope["made"])(X)
    assert str(caught.value) == (
        "SourceNotFound: the source of 'made' was not found in '<string>'\n"
        "  cure: put the function in a file and import it; or register its source "
        "in linecache.cache under the file name given to compile() [AD104]"
    )


def halved(v):
    if v.sum() < 0:
        raise ValueError("no halves")
    return v * 0.5


class Halver(nn.Cell):
    def construct(self, x):
        y = halved(x)
        return y + 1.0


class Halvers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.halver = Halver()

    def construct(self, x):
        for _ in range(3):
            x = self.halver(x) - 2.0
        return x


@pytest.mark.parametrize("run", [ms.jit(Halvers()), GO()(Halvers())], ids=["jit", "gradient"])
def test_what_is_raised_in_a_run_tells_the_users_own_calls(run: Any) -> None:
    with pytest.raises(ValueError, match="no halves") as caught:
        run(X)
    (note,) = getattr(caught.value, "__notes__", None) or [str(caught.value.__cause__)]
    start = halved.__code__.co_firstlineno
    assert note.splitlines() == [
        f'in compiled code for test_errors.py:{start + 2}:9: raise ValueError("no halves")',
        f"  called from test_errors.py:{start + 8}: y = halved(x)",
        f"  called from test_errors.py:{start + 19}: x = self.halver(x) - 2.0",
    ]


class NoSlope(nn.Cell):
    def construct(self, x):
        y = ops.expm1(x)
        return y * x


def test_an_operator_without_a_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused while compiling, at the user's line; without need of the derivative it compiles."""
    record = OPERATORS["expm1"]
    monkeypatch.delitem(record.adjoint, record.operands[0])
    with pytest.raises(errors.NoDerivative) as caught:
        GO()(NoSlope())(X)
    line = NoSlope.construct.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        f"test_errors.py:{line}:13: NoDerivative: expm1 has no derivative with respect to x, "
        "but the output depends on it through this operation\n"
        "    y = ops.expm1(x)\n"
        "        ^^^^^^^^^^^^\n"
        "  cure: use an operator that has a derivative, or ops.stop_gradient(...) where no "
        "gradient is wanted [AD301]"
    )
    np.testing.assert_allclose(ms.jit(NoSlope())(X).asnumpy(), np.expm1([1, 2]) * [1, 2], 1e-6)


@pytest.mark.parametrize(
    "text",
    [
        lambda x: x.reshape((x.shape[0], *x.shape[1:])).sum(),
        lambda x: x.sum() * len(x.shape),
        lambda x: sum([x.sum() * n for n in x.shape]),
    ],
    ids=["unpacked", "counted", "gone through"],
)
def test_of_a_shape_without_a_rank_the_cure_is_to_give_one(text: Callable[..., Any]) -> None:
    with pytest.raises(errors.ShapeError, match=r"how many axes .*\n.*\n.*\n.*x=f32\[2,3\]"):
        ms.gradient_source(text, "any[...]")
    assert "def " in ms.gradient_source(text, "f32[a,b]")


def test_files_are_told_as_they_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = MESSAGES.parent
    for start, told in ((here.parent, "errors/refused.py:"), (tmp_path, f"{here}/refused.py:")):
        monkeypatch.chdir(start)
        assert message_of(REFUSED[0]).startswith(told.replace("/", os.sep))


#: Words of the compiler's own, which tell a user nothing.
INTERNAL = re.compile(r"_data\b|\bRef\(|decides? over|\bPoisoned|\bHoisted|'Value'")


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_no_message_tells_of_the_inside(case: Refused) -> None:
    for line in message_of(case).splitlines():
        assert line.startswith("    ") or not INTERNAL.search(line), line


def test_what_is_called_otherwise_elsewhere_is_named() -> None:
    for ask, wanted in (
        (lambda: nn.Linear, "it is called 'Dense' here"),
        (lambda: nn.ModuleList, "it is called 'CellList' here"),
        (lambda: nn.Dens, "did you mean 'Dense'"),
    ):
        with pytest.raises(AttributeError, match=wanted):
            ask()
    with pytest.raises(AttributeError) as caught:
        nn.Accuracy  # noqa: B018
    assert "GradAccumulationCell" not in str(caught.value)


def test_every_equivalent_of_scipy_is_there() -> None:
    spaces = {"ops": ops, "np.linalg": np.linalg}
    for ours in suggestions.SCIPY.values():
        space, _, name = ours.rpartition(".")
        assert callable(getattr(spaces[space], name))
