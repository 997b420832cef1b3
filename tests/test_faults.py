"""The way in: what is refused, what passes, and what is told as a fault of the compiler."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import cli, faults
from autodiff_compiler.emit import module
from autodiff_compiler.emit.text.document import DEEPEST, Document
from autodiff_compiler.errors import CompileError, InternalError
from autodiff_compiler.faults import COUNT, DEEP, FRAMES, compiling
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.runtime import compiled_function
from autodiff_compiler.stages import derivatives, outcome
from autodiff_compiler.transforms.reverse import sweep

X = np.array([0.5, 1.5])


def squared(x):
    y = x * x
    return y.sum()


def fresh() -> Callable[..., Any]:
    """A function that nothing was compiled of yet."""
    ms.compile_info().clear()
    return squared


WAYS: list[tuple[str, Callable[[Any], Any]]] = [
    ("grad", lambda f: ms.grad(f)(X)),
    ("value_and_grad", lambda f: ms.value_and_grad(f)(X)),
    ("GradOperation", lambda f: ms.ops.GradOperation()(f)(X)),
    ("jit", lambda f: ms.jit(f)(X)),
    ("differentiable", lambda f: ms.differentiable(f)(X)),
    ("jvp", lambda f: ms.jvp(f, (ms.Tensor(X),), (ms.Tensor(X),))),
    ("vjp", lambda f: ms.vjp(f, ms.Tensor(X))),
    ("gradient_source", lambda f: ms.gradient_source(f, X)),
    ("check_grads", lambda f: ms.check_grads(f, [X])),
]
each_way = pytest.mark.parametrize("way", [way for _, way in WAYS], ids=[name for name, _ in WAYS])


def of_the_compiler(body: str) -> Any:
    """A function that fails as code of the compiler would, and not as a user's."""
    scope: dict[str, Any] = {"__name__": "autodiff_compiler.planted"}
    exec(f"def planted(*args, **kwargs):\n    {body}\n", scope)
    return scope["planted"]


failing = of_the_compiler("raise KeyError('planted')")


@pytest.mark.planted_fault
@each_way
def test_a_fault_names_the_users_line_the_stage_and_how_to_report_it(
    way: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lowering, "binary", failing)
    before = COUNT.faults
    with pytest.raises(InternalError) as caught:
        way(fresh())
    line = squared.__code__.co_firstlineno + 1
    message = str(caught.value)
    assert f"test_faults.py:{line}:9: InternalError: lowering fails" in message
    assert "KeyError: 'planted'" in message
    assert "    y = x * x\n        ^^^^^\n" in message
    assert "please report it" in message and message.endswith("[AD900]")
    assert isinstance(caught.value.__cause__, KeyError)
    assert COUNT.faults == before + 1
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


@pytest.mark.planted_fault
@pytest.mark.parametrize(
    ("owner", "name", "stage"),
    [
        (outcome, "generated_text", "compiling"),
        (derivatives, "partial", "compiling"),
        (sweep, "partition", "differentiation"),
        (module, "_named_body", "emission"),
        (compiled_function, "load", "loading"),
    ],
)
def test_the_stage_is_told(
    owner: Any, name: str, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, failing)
    with pytest.raises(InternalError, match=f"InternalError: {stage} fails"):
        ms.grad(fresh())(X)


@pytest.mark.planted_fault
def test_the_command_line_tells_a_fault_and_ends_with_a_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text("def f(x):\n    return x * x\n")
    monkeypatch.setattr(Lowering, "binary", failing)
    assert cli.main(["dump", f"{file}:f", "--input", "f64[2]"]) == cli.ExitCode.FAULT
    assert "net.py:2:12: InternalError" in capsys.readouterr().err


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError, SystemExit])
def test_what_is_no_fault_passes(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lowering, "binary", of_the_compiler(f"raise {raised.__name__}"))
    with pytest.raises(raised):
        ms.grad(fresh())(X)


class Moody:
    """Its attributes raise what they like."""

    @property
    def scale(self) -> float:
        raise ZeroDivisionError("moody")


MOODY = Moody()


def test_exceptions_of_the_users_own_code_pass_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError, match="moody"):
        ms.grad(lambda x: (x * MOODY.scale).sum())(X)


def nested(n: int) -> str:
    return "def f(x):\n    y = x\n" + "".join(f"    y = y * x + {i}.0\n" for i in range(n))


def written(tmp_path: Path, text: str) -> Any:
    """The function ``f`` of a module with this text."""
    file = tmp_path / "made.py"
    file.write_text(text)
    scope: dict[str, Any] = {"__name__": "made"}
    exec(compile(text, str(file), "exec"), scope)
    return scope["f"]


@pytest.mark.thorough
def test_700_statements_compile_at_every_level(tmp_path: Path) -> None:
    f = written(tmp_path, nested(700) + "    return (y * 0.0 + x * x).sum()\n")
    for level in (0, 1, 3):
        text = ms.gradient_source(f, X, opt_level=level)
        scope: dict[str, Any] = {}
        exec(compile(text, "made", "exec"), scope)
    before = sys.getrecursionlimit(), threading.active_count()
    np.testing.assert_array_equal(ms.grad(f)(X / 4), X / 2)
    assert (sys.getrecursionlimit(), threading.active_count()) == before


SINKING = """attempt, depth = args
    def sunk(depth):
        return 1 + sunk(depth - 1) if depth else 0
    sunk(depth)
    attempt.threads.append(attempt.current())
    attempt.begun.set()
    attempt.may_end.wait(10)
    return sunk(depth)"""


class Attempt(threading.Thread):
    """A thread that compiles from ``begins`` to ``ends``, at a depth that needs a raised limit; a
    ``long`` one deeper than the stack of the calling thread goes."""

    def __init__(self, long: bool = False) -> None:
        super().__init__(daemon=True)
        self.depth = 3 * DEEP if long else DEEP // 2
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.current = threading.current_thread
        self.threads: list[threading.Thread] = []
        self.found: list[int] = []

    def run(self) -> None:
        sink = partial(of_the_compiler(SINKING), self, self.depth)
        self.found.append(compiling(sink, lambda: None))

    def begins(self) -> None:
        self.start()
        assert self.begun.wait(10)

    def ends(self) -> None:
        self.may_end.set()
        self.join(10)
        assert self.found == [self.depth]


@pytest.mark.parametrize("long", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("first_ends_first", [True, False])
def test_the_recursion_limit_stays_until_the_last_thread_has_compiled(
    long: tuple[bool, bool], first_ends_first: bool
) -> None:
    before, limit = sys.getrecursionlimit(), FRAMES if any(long) else DEEP
    attempts = [Attempt(each) for each in long]
    for attempt in attempts:
        attempt.begins()
        assert sys.getrecursionlimit() == limit
        assert (attempt.threads != [attempt]) == any(long)
    attempts.pop(not first_ends_first).ends()
    assert sys.getrecursionlimit() == limit
    attempts.pop().ends()
    assert sys.getrecursionlimit() == before


def test_a_long_program_waits_for_those_on_the_stacks_of_their_threads() -> None:
    before, attempts = sys.getrecursionlimit(), [Attempt(), Attempt(long=True)]
    attempts[0].begins()
    attempts[1].start()
    assert not attempts[1].begun.wait(0.2)
    assert sys.getrecursionlimit() == DEEP
    attempts[0].ends()
    attempts[1].ends()
    assert sys.getrecursionlimit() == before


def test_a_long_program_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "PATIENCE", 0.05)
    before, attempts = sys.getrecursionlimit(), [Attempt(), Attempt(long=True)]
    for attempt in (*attempts, *attempts[::-1]):
        attempt.ends() if attempt.begun.is_set() else attempt.begins()
    assert sys.getrecursionlimit() == before


def test_a_recursion_limit_that_is_set_while_another_thread_compiles_stands() -> None:
    before, attempt = sys.getrecursionlimit(), Attempt()
    attempt.begins()
    try:
        sys.setrecursionlimit(DEEP + 7)
        attempt.ends()
        assert sys.getrecursionlimit() == DEEP + 7
    finally:
        sys.setrecursionlimit(before)
    compiling(lambda: None, lambda: None)
    assert sys.getrecursionlimit() == before


def test_the_recursion_limit_is_restored_later_where_the_stack_is_deeper_than_it() -> None:
    before, attempt = sys.getrecursionlimit(), Attempt()
    attempt.begins()

    def deep(depth: int) -> None:
        if depth:
            return deep(depth - 1)
        compiling(attempt.ends, lambda: None)
        assert sys.getrecursionlimit() >= DEEP

    deep(DEEP // 2)
    compiling(lambda: None, lambda: None)
    assert sys.getrecursionlimit() == before


def test_a_sum_of_900_terms_compiles(tmp_path: Path) -> None:
    f = written(tmp_path, "def f(x):\n    return " + " + ".join(["x"] * 900) + "\n")
    np.testing.assert_array_equal(ms.grad(f)(X), [900.0, 900.0])


def test_containers_that_hold_themselves_are_refused(tmp_path: Path) -> None:
    around: list[Any] = []
    around.append(around)
    for call in (
        lambda: ms.grad(lambda x, k: x * 2)(X, around),
        lambda: ms.jit(lambda x, k: x * 2)(X, {"k": around}),
        lambda: ms.gradient_source(lambda x, k: x * 2, X, around),
        lambda: ms.grad(lambda x: x * len(around))(X),
    ):
        with pytest.raises(CompileError, match="contains itself"):
            call()


def returns_what_holds_itself(x):
    around = [x]
    around.append(around)
    return around


def test_a_result_that_holds_itself_is_refused() -> None:
    with pytest.raises(CompileError, match="contains itself"):
        ms.jit(returns_what_holds_itself)(X)


def test_many_branches_in_each_other_are_compiled(tmp_path: Path) -> None:
    tests = "".join(f"    if x[0] > {n + 9}: return x * {n}\n" for n in range(60))
    f = written(tmp_path, f"def f(x):\n{tests}    return x\n")
    scope: dict[str, Any] = {}
    exec(compile(ms.gradient_source(f, X), "made", "exec"), scope)
    np.testing.assert_array_equal(ms.grad(f)(X), [1.0, 1.0])


def test_what_python_could_not_read_is_refused() -> None:
    document = Document()
    document.add("x = 1", DEEPEST - 1, "1| a comment that is cut to next to nothing")
    with pytest.raises(CompileError, match="more deeply than Python allows"):
        document.add("x = 1", DEEPEST)
    assert all(line.lstrip()[0] in "#x" for line in document.render().splitlines())


def test_a_dtype_is_not_taken_for_the_class_that_it_equals() -> None:
    with pytest.raises(CompileError):
        ms.jit(lambda x: np.maximum(Moody, x.dtype))(X)
