"""``isinstance`` and ``type`` of run-time values, and writes to values without axes. A NumPy scalar
is replaced, an array is written to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError
from autodiff_compiler.frontend.numpy_rules import copies_and_views
from tests.frontend.written_programs import X, problems, program, refused

#: What functions are called with, where one array is not enough.
_CALLS = {
    "broadcast_to": "np.broadcast_to({0}, ())", "clip": "np.clip({0}, 0.0, 2.0)",
    "cross": "np.cross(x[:3], x[1:]) @ x[:3]", "empty": "np.empty(()) * 0",
    "full": "np.full((), {0})",
    "full_like": "np.full_like({0}, 2.0)", "interp": "np.interp({0}, x[:2] * x[:2], x[:2])",
    "moveaxis": "np.moveaxis({0}, (), ())", "ones": "np.ones(())",
    "reshape": "np.reshape({0}, ())", "roll": "np.roll({0}, 1)",
    "select": "np.select([{0} > 0], [{0}], 0.0)", "take": "np.take(x, 1)",
    "tensordot": "np.tensordot(x, x, 1)", "tile": "np.tile({0}, ())",
    "where": "np.where({0} > 0, {0}, 1.0)", "zeros": "np.zeros(())", "dot": "np.dot({0}, 2.0)",
    "inner": "np.inner(x, x)", "vdot": "np.vdot(x, x)", "kron": "np.kron({0}, {0})",
    "einsum": "np.einsum('i,i->', x, x)", "polyval": "np.polyval(x, {0})",
    "trace": "np.trace(np.outer(x, x))", "trapezoid": "np.trapezoid(x)",
    "linalg.det": "np.linalg.det(np.outer(x, x) + np.eye(4))",
    "flip": "np.flip({0}, ())", "isclose": "np.isclose({0}, 0.5)",
}  # fmt: skip
_METHODS = {
    "reshape": "{0}.reshape(())", "astype": "{0}.astype(float)", "clip": "{0}.clip(0.0, 2.0)",
    "dot": "{0}.dot(2.0)", "take": "x.take(1)",
}  # fmt: skip
_SYNTAX = [
    "{0} * 2", "-{0}", "abs({0})", "{0} > 1", "np.add({0}, 1)", "np.add({0}, 1, out=np.ones(()))",
    "np.sum(x, out=np.zeros(()))", "np.float64({0})", "np.float32({0})", "{0}[()]", "{0}[...]",
    "x[0]", "x[0, ...]", "x[:1].reshape(())", "x[:1].squeeze()", "np.stack([{0}, {0}])[0]",
    "[v for v in x][1]", "max(x)", "sum(x)", "x[np.argmax(x)]", "np.asarray(2.0)",
    "np.argmax(x)", "float({0})", "int({0})", "np.conj({0})",
]  # fmt: skip
#: A scalar, an array without axes, and one with axes.
_OPERANDS = ["x[2]", "np.array(x[2])", "x[2:3]"]


def _expressions() -> list[str]:
    """Returns all functions, methods and attributes of the table, on every kind of operand, whose
    result has no axes."""
    names = [*copies_and_views._rows(copies_and_views._FUNCTIONS), "full", "sqrt", "maximum"]
    calls = [_CALLS.get(name, f"np.{name}({{0}})") for name in names]
    calls += ["np.maximum({0}, 0.0)"]
    calls += [_METHODS.get(name, f"{{0}}.{name}()") for name in copies_and_views.METHODS]
    calls += [f"{{0}}.{name}" for name in copies_and_views.ATTRIBUTES] + _SYNTAX
    found = dict.fromkeys(call.format(each) for call in calls for each in _OPERANDS)
    return [text for text in found if _has_no_axes(text)]


def _has_no_axes(text: str) -> bool:
    try:
        made = eval(text, {"np": np, "x": X.copy()})
    except (TypeError, ValueError, AttributeError, IndexError, np.linalg.LinAlgError):
        return False
    return isinstance(made, (np.generic, np.ndarray, bool, int, float)) and np.ndim(made) == 0


EXPRESSIONS = _expressions()
_KINDS = "(np.ndarray, float, np.generic, np.float64, np.integer, int, (int, float), np.floating)"


@pytest.mark.thorough
def test_the_class_is_numpys() -> None:
    assert len(EXPRESSIONS) > 150
    wrong = []
    for text in EXPRESSIONS:
        made = program(
            f"y = {text}",
            f"told = [isinstance(y, kind) for kind in {_KINDS}]",
            "told += [np.isscalar(y), type(y) is np.float64, type(y) is np.ndarray]",
            "return x.sum() * sum(2.0**n for n, one in enumerate(told) if one)",
        )
        have = ms.value_and_grad(made)(X.copy())[0]
        wrong += [] if have == made(X.copy()) else [text]
    assert wrong == []


@pytest.mark.thorough
def test_an_array_is_written_to_and_a_scalar_is_replaced() -> None:
    """``z += 1`` shows under another name of an array, and in what it is a view of."""
    texts = {}
    for text in EXPRESSIONS:
        body = (f"y = {text}", "z = y", "z += 1", "return x @ x + 3.0 * y + z * x[1]")
        made = program(*body)
        try:
            made(X.copy())
        except (TypeError, ValueError):  # a view that nobody may write to, a bool
            continue
        texts[text] = made
    assert len(texts) > 150
    left_out = ("empty_like", "int(", "round", "argm", "fix", "rint", "astype(int", "float32")
    texts = {text: made for text, made in texts.items() if not any(r in text for r in left_out)}
    assert problems(texts) == []


def _kind(y: Any) -> float:
    if isinstance(y, np.ndarray):
        return 2.0
    return 3.0 if isinstance(y, float) else 5.0


def _told(x):
    return x * _kind(x)


@pytest.mark.parametrize("given", [2.0, np.float64(2.0), np.array(2.0), np.float32(2.0)])
def test_arguments(given: Any) -> None:
    grad = ms.value_and_grad(_told)
    for one in (given, np.array(3.0), np.float64(3.0), 3.0, given):
        value, slope = grad(one)
        assert value == _told(one) and slope == _kind(one)


SHARED: Any = None


def _of_shared(x):
    return x * _kind(SHARED) * SHARED


def test_outside_values(monkeypatch: pytest.MonkeyPatch) -> None:
    grad = ms.grad(_of_shared)
    for one in (np.array(2.0), np.float64(2.0), 2.0, np.array(2.0)):
        monkeypatch.setitem(globals(), "SHARED", one)
        assert grad(1.0) == 2.0 * _kind(one)


def _carried(x):
    y, total = x[0], 0.0
    for v in x:
        total = total + (2.0 if isinstance(y, float) else 3.0) * v
        y = y * v
    return total + (7.0 if isinstance(y, np.ndarray) else 1.0) * y


def _summed(x):
    y, total = np.zeros(()), 0.0
    for v in x:
        total = total + (2.0 if isinstance(y, float) else 3.0) * v
        y += v
    return total * y


def _chosen(x):
    y = np.asarray(x[1]) if x[0] > 0 else np.zeros(())
    z = y
    z += x[2]
    return y * (2.0 if isinstance(y, np.ndarray) else 3.0)


def _helper(y):
    return np.asarray(y) * 1.0 if isinstance(y, np.ndarray) else np.asarray(y)


def _called(x):
    one, other = _helper(x[0]), _helper(np.asarray(x[1]))
    one += x[2]
    return one * (2.0 if isinstance(one, np.ndarray) else 3.0) + other * (
        2.0 if isinstance(other, np.ndarray) else 3.0
    )


def _matched(x):
    match x.sum():
        case float():
            return x @ x
        case _:
            return x.sum()


@pytest.mark.parametrize("fn", [_carried, _summed, _chosen, _called, _matched])
def test_where_control_flow_keeps_the_class(fn: Callable[..., Any]) -> None:
    assert problems({fn.__name__: fn}) == []


def _becomes_a_scalar(x):
    y, total = np.asarray(x[0]), 0.0
    for v in x:
        total = total + (2.0 if isinstance(y, float) else 3.0) * v
        y = y * v
    return total


def _becomes_an_array(x):
    y, total = x[0], 0.0
    for v in x:
        total = total + (2.0 if isinstance(y, float) else 3.0) * v
        y = np.asarray(y * v)
    return total


def _one_or_the_other(x):
    y = np.asarray(x[1]) if x[0] > 0 else x[2]
    return x[0] if isinstance(y, np.ndarray) else x[1]


@pytest.mark.parametrize("fn", [_becomes_a_scalar, _becomes_an_array, _one_or_the_other])
def test_a_class_that_only_the_run_decides_is_refused(fn: Callable[..., Any]) -> None:
    refused(fn, "a NumPy scalar or an array without axes")


def test_an_answer_that_is_the_same_for_both_is_given() -> None:
    made = program(
        "y = np.asarray(x[1]) if x[0] > 0 else x[2]",
        "return x[0] * y if isinstance(y, (float, np.ndarray)) else x[1]",
    )
    assert problems({"either": made}) == []


def test_items_of_containers() -> None:
    """Only the type of an item is known."""

    def told(p):
        return p["a"] * (2.0 if isinstance(p["a"], np.ndarray) else 3.0)

    with pytest.raises(CompileError, match="a NumPy scalar or an array without axes"):
        ms.grad(told)({"a": np.array(2.0)})
