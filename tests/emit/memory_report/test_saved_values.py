"""The report of saved values agrees with the residuals of the functions when they run."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops, pipeline
from autodiff_compiler.emit.memory_report.byte_formulas import ByteFormula
from autodiff_compiler.emit.memory_report.saved_values import SavedValue, saved_bytes, saved_values
from autodiff_compiler.errors import CompileError
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.types import parse_type


def both(fn: Any, types: list[str], *given: Any) -> tuple[list[SavedValue], Any]:
    """Returns the report for the gradient in all arrays, and the residuals of a run."""
    slots = [parse_type(text) for text in types]
    request = Request(tuple(n for n, t in enumerate(types) if "[" in t), sens="ones", value=False)
    program = pipeline.run(pipeline.start(fn, request, slots))
    forward, backward = program.functions
    scope: dict[str, Any] = {}
    exec(program.source, scope)
    tracemalloc.start()
    residuals = scope[forward.name](*given)
    scope["grown"], _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    both.grown = scope["grown"]  # type: ignore[attr-defined]
    return saved_values(forward, backward, program.names), residuals


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def held_bytes(residuals: Any, given: tuple) -> tuple[int, int]:
    """Returns the bytes of the residuals, each block once: in all, and without the caller's."""
    pieces: dict[int, Any] = {}
    for array in leaves(residuals):
        while isinstance(array, np.ndarray) and array.base is not None:
            array = array.base
        if isinstance(array, (np.ndarray, np.generic)):
            pieces[id(array)] = array
    mine = {id(array) for array in given}
    whole = sum(array.nbytes for array in pieces.values())
    return whole, sum(array.nbytes for key, array in pieces.items() if key not in mine)


def value(size: ByteFormula, **names: int) -> int:
    return eval(str(size).replace(",", ""), {}, names)


def dense(x, w):
    return ops.tanh(ops.matmul(x, w))


def layers(x, w, v):
    return ops.sum(dense(dense(x, w), v))


def steps(x, w, n):
    for _ in range(n):
        x = ops.tanh(ops.matmul(x, w))
    return ops.sum(x * x)


def forty(x, w):
    for _ in range(40):
        x = ops.tanh(ops.matmul(x, w))
    return ops.sum(x)


def grid(x, n, m):
    total = x
    for _ in range(n):
        for _ in range(m):
            total = ops.sin(total) * x
        total = total * total
    return ops.sum(total)


def root(a):
    x = ops.ones_like(a)
    while ops.sum(ops.abs(x * x - a)) > 1e-6:
        x = 0.5 * (x + a / x)
    return ops.sum(x)


def turned(x, y, n):
    total = x
    for _ in range(n):
        total = total * x + y
        x, y = y.T, x.T
    return ops.sum(total)


def in_turn(x, w, n):
    for _ in range(n):
        x = dense(x, w)
    return ops.sum(x)


X, W = np.full((4, 3), 0.3, np.float32), np.full((3, 3), 0.2, np.float32)
CASES = {
    "layers": (layers, ["f32[4,3]", "f32[3,3]", "f32[3,3]"], (X, W, W + 1), {}),
    "symbols": (layers, ["f32[b,3]", "f32[3,3]", "f32[3,3]"], (X, W, W + 1), {"b": 4}),
    "steps": (steps, ["f32[b,3]", "f32[3,3]", "int"], (X, W, 5), {"b": 4, "n": 5}),
    "grid": (grid, ["f32[4,3]", "int", "int"], (X, 3, 4), {"n": 3, "m": 4}),
    "while": (root, ["f32[4,3]"], (X,), {}),
    "views": (turned, ["f32[3,3]", "f32[3,3]", "int"], (W, W + 1, 5), {"n": 5}),
    "calls": (in_turn, ["f32[4,3]", "f32[3,3]", "int"], (X, W, 6), {"n": 6}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_are_those_of_the_residuals(name):
    fn, types, given, sizes = CASES[name]
    kept, residuals = both(fn, types, *given)
    if name == "while":
        sizes = {"count": residuals[-1]}
    arrays = [each for each in leaves(residuals) if isinstance(each, (np.ndarray, np.generic))]
    assert sum(value(each.size, **sizes) for each in kept) == sum(each.nbytes for each in arrays)
    whole, arguments = saved_bytes(kept)
    mine = held_bytes(residuals, given)
    assert (value(whole, **sizes), value(whole - arguments, **sizes)) == mine


def test_the_bytes_are_those_that_a_run_allocates():
    x, w = np.full((64, 128), 0.1, np.float32), np.full((128, 128), 0.01, np.float32)
    kept, residuals = both(steps, ["f32[64,128]", "f32[128,128]", "int"], x, w, 20)
    whole, arguments = saved_bytes(kept)
    told = value(whole - arguments, n=20)
    assert told == 20 * x.nbytes
    assert told <= both.grown <= told + 2**14  # lists, and the arrays' heads
    assert len(residuals) == len(kept)


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(Tensor(W), name="w")

    def construct(self, x):
        h = ops.matmul(x, self.w)
        return ops.tanh(h)


def test_each_line_tells_who_made_a_value_and_who_needs_it():
    text = ms.gradient_source(Block(), "f32[b,3]", get_by_list=True, stage="memory")
    first = Block.construct.__code__.co_firstlineno
    rows = {line.split()[0]: line for line in text.splitlines() if line.startswith("    ")}
    assert rows["x"].split("  ")[-1] == f"{first + 1}| h = ops.matmul(x, self.w)"
    assert "12*b" in rows["x"] and "(an argument)" in rows["x"]
    shown = f"{first + 2}| return ops.tanh(h)"
    (made,) = (row for row in rows.values() if shown in row)
    assert made.count(shown) == 2 and made.split()[1:3] == ["f32[b,3]", "12*b"]
    assert "At most 24*b bytes in total" in text


def docstring(fn, *types):
    return ms.gradient_source(fn, *types, get_all=True).split('"""')[1]


def test_a_docstring_tells_of_large_values_alone():
    tensors = (ms.Tensor(np.zeros(shape, np.float32)) for shape in ((512, 64), (64, 64)))
    told = docstring(forty, *tensors).partition("Saved for backward")[2]
    line = forty.__code__.co_firstlineno + 2
    assert told.startswith(", in bytes (5,373,952 in total, without arguments):\n")
    assert f"f32[41,512,64]  5,373,952  made and needed by {line}|" in told
    assert "Saved" not in docstring(forty, "f32[2,3]", "f32[3,3]")
    assert "Saved" not in docstring(steps, "f32[512,64]", "f32[64,64]", "int")  # who knows how many


def test_nothing_is_saved_without_a_backward_function():
    with pytest.raises(CompileError, match="no backward function"):
        ms.gradient_source(steps, "f32[2,3]", "f32[3,3]", 4, mode="forward", stage="memory")
