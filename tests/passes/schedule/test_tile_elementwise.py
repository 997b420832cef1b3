"""Loop tiling: the same numbers, and only long groups of operations on large arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, ops
from autodiff_compiler.cost_model import changed_costs, costs
from autodiff_compiler.ir.nodes import Function, Loop
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.memory.assign_buffers import assign_buffers
from autodiff_compiler.passes.schedule.tile_elementwise import tile_elementwise
from tests.passes.conftest import Optimised


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    """Tiles of 64 bytes: sixteen numbers."""
    with changed_costs(tile_bytes=64, tiled_operations=2):
        yield


def program(*lines: str, size: str = "96", returns: str = "%c") -> Function:
    result = {"%c": "f32[{size}]", "%s": "f32[]"}
    text = "\n".join(
        ["func @f(%x: f32[{size}], %w: f32[], %v: f32[{size}]) -> ({types}) {{",
         "  %a: f32[{size}] = sin %x", "  %b: f32[{size}] = mul %a, %w",
         "  %c: f32[{size}] = add %b, %v", *lines, "  return {returns}", "}}", ""]
    )  # fmt: skip
    types = ", ".join(result[name] for name in returns.split(", "))
    return parse_function(text.replace("{types}", types).format(size=size, returns=returns))


def loops(function: Function) -> list[Loop]:
    return [Loop(op) for op in function.body.ops if op.name == "for"]


@pytest.fixture
def tiled(optimised: Optimised) -> Callable[[Function], Function]:
    """Returns the pass; buffers can be assigned to its result, too."""

    def tiled(function: Function) -> Function:
        found = optimised(function, tile_elementwise, stage="lowered", rtol=1e-5, atol=1e-6)
        verify(assign_buffers(found).function, "lowered")
        return found

    return tiled


@pytest.mark.parametrize(
    "size, rows", [("96", 16), ("90", 15), ("24,4", 4), ("8,16", 1), ("160", 16)]
)
def test_a_group_of_operations_is_one_loop(size, rows, tiled: Any):
    function = program(size=size)
    found = tiled(function)
    (loop,) = loops(found)
    assert loop.bounds[2] == rows


def test_a_sum_of_all_is_a_sum_of_sums(tiled: Any):
    function = program("  %s: f32[] = sum %c {{axes=None, keepdims=False}}", returns="%s")
    found = tiled(function)
    (loop,) = loops(found)
    assert [str(value.type) for value in loop.carried] == ["f32[]"]  # nothing is made whole


def test_a_reader_of_a_sum_comes_after_the_loop(tiled: Any):
    function = program("  %s: f32[] = sum %c {{axes=None, keepdims=False}}",
                       "  %d: f32[{size}] = mul %c, %s", returns="%c, %s")  # fmt: skip
    tiled(function)


def test_independent_operations_between_go_first(tiled: Any):
    function = program()
    body = function.body
    other = program("  %d: f32[2,48] = reshape %x {{shape=(2, 48)}}",
                    "  %e: f32[{size}] = exp %c", returns="%c")  # fmt: skip
    assert len(loops(tiled(other))) == 1
    assert body is function.body


@pytest.mark.parametrize("size", ["97", "40", "b"], ids=["no divisor", "too small", "unknown"])
def test_arrays_without_a_fitting_divisor_stay(size):
    function = program(size=size)
    assert tile_elementwise(function) is function


SUM = "%s: f32[] = sum %d {axes=None, keepdims=False}"
ROWS = "%s: f32[10] = sum %d {axes=(1,), keepdims=False}"


@pytest.mark.parametrize(
    "size, steps, last, cache, pays_off",
    [
        ("40", 3, SUM, 2**20, False),
        ("40", 6, SUM, 2**20, True),
        ("40", 6, SUM, 2**6, False),
        ("10,4", 6, ROWS, 2**20, False),
        ("10,4", 11, ROWS, 2**20, True),
    ],
    ids=["short", "longer", "small tiles", "reduced", "reduced, very long"],
)
def test_arrays_of_few_tiles_take_longer_rows(size, steps, last, cache, pays_off, tiled: Any):
    names = ["%x", *(f"%v{step}" for step in range(steps - 1)), "%d"]
    made = [f"{name}: f32[{size}] = sin {read}" for read, name in zip(names, names[1:])]
    type_ = last.partition(" = ")[0].partition(": ")[2]
    text = "\n".join(
        [f"func @f(%x: f32[{size}]) -> ({type_}) {{", *made, last, "return %s", "}", ""]
    )
    function = parse_function(text)
    with changed_costs(cache_bytes=cache, smallest_tile_bytes=16):
        found = tiled(function)
    assert bool(loops(found)) == pays_off


def chain(x):
    v = ops.sin(x * 1.5)
    t = ops.tanh(ops.exp((v + x) * 0.1))
    return ops.sum(ops.sigmoid(t) * x * v)


def test_gradients_in_tiles_are_those_in_one_piece():
    x = Tensor(np.random.default_rng(0).standard_normal(1000).astype(np.float32))
    value, d_x = ms.value_and_grad(chain)(x)
    source = ms.compile_info().units[-1].source
    assert source.count("for tile in range(0, 1000, ") == 2
    ms.compile_info().clear()
    with changed_costs(tile_bytes=2**30):
        plain, d_plain = ms.value_and_grad(chain)(x)
    np.testing.assert_allclose(value.asnumpy(), plain.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(d_x.asnumpy(), d_plain.asnumpy(), rtol=1e-5, atol=1e-6)


def normalised(x, g, b):
    c = x - ops.mean(x, -1, True)
    y = c * ops.rsqrt(ops.mean(c * c, -1, True) + 1e-5) * g + b
    return ops.sum(ops.softmax(ops.tanh(y), -1) * x) + ops.sum(y.max(-1, keepdims=True))


def test_reductions_within_rows_happen_in_tiles():
    rng = np.random.default_rng(0)
    inputs = [Tensor(rng.standard_normal(s).astype(np.float32)) for s in ((96, 5), 5, 5)]
    gradient = ms.value_and_grad(normalised, (0, 1, 2))
    value, found = gradient(*inputs)
    source = ms.compile_info().units[-1].source
    assert "x_part.sum(axis=1" in source and ".sum(axis=0)" in source.partition("for tile")[2]
    ms.compile_info().clear()
    with changed_costs(tile_bytes=2**30):
        plain, wanted = gradient(*inputs)
    assert "for tile" not in ms.compile_info().units[-1].source
    np.testing.assert_allclose(value.asnumpy(), plain.asnumpy(), rtol=1e-5)
    for have, want in zip(found, wanted):
        np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-4)


def test_readers_of_a_whole_result_come_after_the_loop(tiled: Any):
    function = parse_function("""
func @f(%x: f32[12,12]) -> (f32[12,12]) {
  %a: f32[12,12] = sin %x
  %b: f32[12,12] = mul %a, %x
  %s: f32[12] = sum %b {axes=(1,), keepdims=False}
  %c: f32[12,12] = mul %b, %s
  %d: f32[12,12] = sin %c
  %e: f32[12,12] = sin %d
  return %e
}
""")
    found = tiled(function)
    assert len(loops(found)) == 2


def written(x):
    y = ops.tanh(x)
    z = y[0] * 1.5 + x[0]
    w = ops.sin(y[1:2][0])
    y[0] = x[1]
    return (ops.exp(w * z + w) + z).sum() + y.sum()


def written_in_a_loop(x):
    y = ops.tanh(x)
    z = y[0] * 1.5 + x[0]
    w = ops.sin(y[1:2][0])
    for i in range(2):
        y[i] = x[1]
    return (ops.exp(w * z + w) + z).sum() + y.sum()


@pytest.mark.parametrize("function", [written, written_in_a_loop])
def test_reads_do_not_move_after_a_write(function):
    x = np.random.default_rng(0).uniform(-1, 1, (2, 96)).astype(np.float32)
    y, z = np.tanh(x), np.tanh(x[0]) * 1.5 + x[0]
    w = np.sin(y[1])
    y[0] = x[1]
    y[1] = x[1] if function is written_in_a_loop else y[1]
    value = ms.jit(function)(Tensor(x)).asnumpy()
    source = ms.compile_info().units[-1].source
    assert "for tile in" in source and ".copy()" not in source
    np.testing.assert_allclose(value, (np.exp(w * z + w) + z).sum() + y.sum(), rtol=1e-5)


def test_complex_arrays_run_in_tiles() -> None:
    def f(x: Tensor, s: Tensor) -> Tensor:
        y = ops.exp(x * s)
        z = y * x
        return z * z + y

    size = 2 * costs().tile_bytes
    random = np.random.default_rng(0)
    x = random.standard_normal(size) + 1j * random.standard_normal(size)
    x, s = (0.5 * x).astype(np.complex64), np.array([0.5 - 1j], np.complex64)
    assert "for tile in" in ms.gradient_source(f, Tensor(x), Tensor(s))
    found = ops.GradOperation(sens_param=True)(f)(Tensor(x), Tensor(s), Tensor(np.ones_like(x)))
    y = np.exp(x * s)
    np.testing.assert_allclose(
        found.asnumpy(), np.conj(2 * y * x * (y + y * x * s) + y * s), rtol=1e-4
    )


def test_small_operations_wait_until_the_loop_is_done(tiled: Any):
    """A view of the maximum of each row stands in the middle; its reader works on no tile."""
    function = parse_function("""func @f(%x: f32[96,8]) -> (f32[96,8], f32[96]) {
  %a: f32[96,8] = sin %x
  %m: f32[96,1] = max %a {axes=(1,), first=False, keepdims=True}
  %s: f32[96] = squeeze %m {axes=(1,)}
  %t: f32[96] = cumsum %s {axis=0}
  %b: f32[96,8] = sub %a, %m
  %c: f32[96,8] = exp %b
  %d: f32[96,8] = mul %c, %x
  return %d, %t
}
""")
    found = tiled(function)
    assert len(loops(found)) == 1
    assert [op.name for op in found.body.ops][-2:] == ["squeeze", "cumsum"]
