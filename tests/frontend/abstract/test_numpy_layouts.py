"""Functions that return a copy or their argument itself, by its memory layout. Each program agrees
with Python for every layout."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError
from autodiff_compiler.frontend.abstract.numpy_layouts import layout_like_operands, layout_of_array

WEIGHTS = np.sin(np.arange(9.0)).reshape(3, 3)


def laid_out(name: str) -> np.ndarray:
    """Returns nine numbers in one of NumPy's layouts."""
    wide = np.arange(36.0).reshape(6, 6) / 10
    return {
        "C": wide[:3, :3].copy(),
        "F": np.asfortranarray(wide[:3, :3]),
        "strided": wide[::2, ::2],
        "rows": np.repeat(wide[:3, :3], 2, axis=0)[::2],
        "reversed": wide[:3, :3].copy()[::-1],
    }[name]


LAYOUTS = ("C", "F", "strided", "rows", "reversed")


#: What each program makes of ``m``: a view or a copy, by the layout of ``m``.
SECOND_NAMES = {
    "contiguous": "np.ascontiguousarray(m)",
    "in C order": "np.asarray(m, order='C')",
    "in F order": "np.asarray(m, order='F')",
    "ravel": "np.ravel(m)",
    "ravel in F order": "np.ravel(m, order='F')",
    "reshape": "m.reshape(-1)",
    "reshape to columns": "m.reshape(9, 1)",
    "rows of a part": "m[1:].reshape(-1)",
    "columns of a part": "m[:, 1:].reshape(-1)",
    "transposed": "m.T.reshape(-1)",
    "astype": "m.astype(float, copy=False)",
    "nested": "np.ravel(m.T[:2].T)",
    "tile": "np.tile(m, 1)",
    "rolled axes": "m[None].swapaxes(0, 2).reshape(-1)",
}
#: What it does then; ``{}`` is the name that is written to, and the other one is read.
WRITES = ["{}[...] = {} * 0.5 + 1.0", "{}[0] = 0.25", "{} *= 3.0", "np.multiply({}, 2.0, out={})"]


def written(*lines: str) -> Callable[..., float]:
    """Returns a function of ``m`` with these lines as its body."""
    text = "def f(m):\n" + "".join(f"    {line}\n" for line in lines)
    file = f"<program {text}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names: dict[str, Any] = {"np": np, "WEIGHTS": WEIGHTS}
    exec(compile(text, file, "exec"), names)
    return names["f"]


def check(fn: Callable[..., float], layouts: Sequence[str] = LAYOUTS) -> None:
    """Compares value and gradient with Python and with differences, for each layout in turn."""
    gradient = ms.value_and_grad(fn)
    for name in (*layouts, *layouts):
        value, slope = gradient(laid_out(name))
        assert value == pytest.approx(fn(laid_out(name)), rel=1e-12), name
        step = 1e-5 * np.cos(np.arange(9.0)).reshape(3, 3)
        up, down = (laid_out(name) for _ in range(2))
        up += step
        down -= step
        wanted = (fn(up) - fn(down)) / 2
        assert np.sum(slope * step) == pytest.approx(wanted, rel=1e-6, abs=1e-11), name


@pytest.mark.parametrize("source", ["m", "np.sin(m)", "m + m.T"])
@pytest.mark.parametrize("name", SECOND_NAMES)
def test_view_or_copy(name: str, source: str) -> None:
    number = [*SECOND_NAMES].index(name) + len(source)
    ending = (
        "return np.sum(a * a * np.cos(np.arange(a.size).reshape(a.shape))) + np.sum(m * WEIGHTS)"
    )
    made = f"a = {SECOND_NAMES[name]}"
    check(written(f"m = {source}", made, WRITES[number % 4].format("a", "a"), ending))
    check(written(f"m = {source}", made, WRITES[(number + 1) % 4].format("m", "m"), ending))


def test_written_in_a_loop_and_a_branch() -> None:
    ending = "return np.sum(a * a) + np.sum(m * m * WEIGHTS)"
    check(written("a = m.reshape(-1)", "for i in range(4):", "    a[i] = 0.5 * a[i + 1]", ending))
    check(written("a = np.ravel(m)", "if m[1, 1] > 0:", "    a *= 2.0", ending))


def test_a_layout_is_a_guard_only_where_it_decides() -> None:
    """A program without writes is compiled once for all layouts."""

    def reads(m):
        return np.sum(np.ravel(m) * np.arange(9.0))

    def writes(m):
        a = np.ravel(m)
        a[0] = 0.5
        return np.sum(a * m.reshape(-1))

    for fn, count in ((reads, 1), (writes, 4)):
        ms.compile_info().clear()
        gradient = ms.grad(fn)
        for name in ("C", "F", "strided", "rows", "C", "F"):
            gradient(laid_out(name))
        assert len(ms.compile_info()) == count


def test_a_type_is_in_c_order() -> None:
    def flat(m):
        a = m.reshape(-1)
        a[0] = 0.5
        return np.sum(m * m)

    def read(m):
        return np.sum(m.reshape(-1))

    text = ms.gradient_source(flat, "f64[3,3]")
    assert "layout of m: C order" in text
    assert text == ms.gradient_source(flat, laid_out("C"))
    assert "layout of m: F order" in ms.gradient_source(flat, laid_out("F"))
    assert "layout of" not in ms.gradient_source(read, "f64[3,3]")


def test_the_order_of_an_elementwise_result() -> None:
    """The strides of new arrays are NumPy's own."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        rank = int(rng.integers(1, 5))
        shape = tuple(map(int, rng.integers(1, 4, rank)))
        operands = []
        for _ in range(int(rng.integers(1, 3))):
            perm = rng.permutation(rank)
            held = np.ones([2 * shape[axis] for axis in perm])
            part = held.transpose(np.argsort(perm))
            operands.append(part[tuple(slice(0, 2 * n, 2) for n in shape)])
        made = operands[0] * 2.0 if len(operands) == 1 else operands[0] + operands[1]
        found = layout_like_operands([layout_of_array(each) for each in operands], shape)
        assert found is not None
        for want, have, size in zip(made.strides, found.strides, shape):
            assert size == 1 or want == have * made.itemsize


def rebound(x, m):
    for _ in m:
        x = m
    x *= 2.0
    return np.sum(m * m * WEIGHTS) + np.sum(x)


def rebound_while(x, m):
    n = 0
    while n < 2:
        x = m
        n += 1
    x += 1.0
    return np.sum(m * m * WEIGHTS) + np.sum(x)


def rebound_in_branch(x, m):
    if x[0] > 0:
        x = m
    x *= 2.0
    return np.sum(m * m * WEIGHTS) + np.sum(x)


@pytest.mark.parametrize("fn", [rebound, rebound_while, rebound_in_branch])
def test_a_second_name_of_another_rank(fn: Callable[..., float]) -> None:
    """A value of unknown rank is written to under all its names."""
    m = laid_out("C")
    expected = fn(np.ones(3), m.copy())
    try:
        value, slope = ms.value_and_grad(fn, (0, 1))(np.ones(3), m)
    except CompileError as error:
        assert "may share memory with the array" in str(error)
    else:
        assert value == pytest.approx(expected, rel=1e-12)
        step = 1e-6 * np.cos(np.arange(9.0)).reshape(3, 3)
        wanted = fn(np.ones(3), m + step) - fn(np.ones(3), m - step)
        assert 2 * np.sum(slope[1] * step) == pytest.approx(wanted, rel=1e-6)


def bumped(q):
    q += 0.25


def called(y):
    bumped(y)
    return y * y


def second_name(y):
    a = y
    a *= 2.0
    return y * a


def looped(y):
    a = y
    for _ in range(2):
        y += 0.25
    return a * y


def branched(y):
    a = y
    if y > 0:
        y *= 2.0
    return a * y


def made(y):
    a = np.array(0.5)
    b = a
    b += y
    return a * y


@pytest.mark.parametrize("kind", [np.array, np.float64], ids=["array", "number"])
@pytest.mark.parametrize("fn", [called, second_name, looped, branched, made])
def test_no_axes(fn: Callable[..., Any], kind: Any) -> None:
    """An array without axes is written to under all its names; a number is replaced."""
    value, slope = ms.value_and_grad(fn)(kind(0.75))
    assert value == pytest.approx(fn(kind(0.75)), rel=1e-12)
    wanted = (fn(kind(0.75 + 1e-6)) - fn(kind(0.75 - 1e-6))) / 2e-6
    assert slope == pytest.approx(wanted, rel=1e-6)


def test_an_array_whose_elements_share_memory_has_no_layout_to_assume() -> None:
    """NumPy copies such an array to reshape it. A write is refused unless the result is known to be
    a copy."""

    def program(m):
        m.reshape(-1)[0] = 0.7
        return np.sum(m * m)

    rows = np.broadcast_to(np.array([0.2, 0.4]), (2, 2))
    with pytest.raises(CompileError, match="share memory"):
        ms.grad(program)(rows)
    slope = ms.grad(program)(rows.copy())
    np.testing.assert_allclose(slope, [[0.0, 0.8], [0.4, 0.8]])


def bent(q):
    return np.tanh(q)


#: New arrays with one axis of more than one element: they lie in one piece, whatever they are of.
LINES = {
    "cumsum": "np.cumsum(m[0])",
    "sum": "np.sum(m, axis=1, keepdims=True)",
    "mean": "np.mean(m.T, axis=0, keepdims=True)",
    "maximum": "m.max(axis=0)",
    "sorted": "np.sort(m[:, 1])",
    "taken": "np.take(m[1], [2, 0, 1])",
    "joined": "np.concatenate([m[:, 0], m[0]])",
    "called": "bent(m[:, 0])",
    "kept axes": "np.sin(m[:, :1])",
}


@pytest.mark.parametrize("name", LINES)
def test_a_new_array_along_one_axis_lies_in_one_piece(name: str) -> None:
    ending = "return np.sum(y * y * np.cos(np.arange(y.size).reshape(y.shape))) + np.sum(a)"
    fn = written(f"y = {LINES[name]}", "a = np.ravel(y)", "a[0] = m[1, 1] * 2.0", ending)
    fn.__globals__["bent"] = bent
    check(fn)
