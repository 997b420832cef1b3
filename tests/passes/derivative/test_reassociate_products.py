# ruff: noqa: E501  (IR text has lines of its own length)
"""Reassociation: fewer operations on whole arrays in derivatives, and the same values."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, ops
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.derivative.reassociate_products import reassociate_products
from autodiff_compiler.passes.simplify.cse import cse
from autodiff_compiler.passes.simplify.dce import dce
from tests.passes.conftest import Optimised

X, Y, G, S = "%x: f32[8,6,5]", "%y: f32[8,6,5]", "%g: f32[6,1]", "%s: f32[8,1,1]"
W = "f32[8,6,5]"
ROOT = ("f32[6,1] = add %g, 0.1", "f32[6,1] = sqrt %v0")


def function(params: str, result: str, *lines: str) -> Function:
    ops = [f"  %v{k}: {line}  # adjoint" for k, line in enumerate(lines)]
    head = f"func @f({params}) -> ({result}) {{"
    return parse_function("\n".join([head, *ops, f"  return %v{len(ops) - 1}", "}", ""]))


def inputs(of: Function) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.uniform(0.5, 2.0, param.type.shape).astype("float32") for param in of.params]


def large(of: Function) -> list[str]:
    """Returns the operations that make a whole array, in order."""
    return [op.name for op in of.body.ops if getattr(op.result.type, "shape", ()) == (8, 6, 5)]


THREE = "f32[] = full {dtype='float32', shape=(), value=3}"

CASES = {
    "numbers": ((X, W, f"{W} = mul 2.0, %x", f"{W} = div %v0, 512"), ["mul"]),
    "a scalar": ((f"{X}, %c: f32[]", W, f"{W} = mul 2.0, %x", f"{W} = mul %c, %v0"), ["mul"]),
    "a quotient": ((f"{X}, {G}, %c: f32[]", W, *ROOT, f"{W} = div %x, %v1", f"{W} = mul %v2, %c"),
                   ["mul"]),
    "a sign": ((f"{X}, {G}", W, f"{W} = neg %x", f"{W} = mul %v0, %g"), ["mul"]),
    "an inverse": ((f"{X}, {G}", W, f"{W} = div 1.0, %x", f"{W} = mul %v0, %g", f"{W} = mul 3.0, %v1"),
                   ["div"]),
    "added to itself": ((f"{X}, {G}", W, f"{W} = mul %x, %g", f"{W} = add %v0, %v0"), ["mul"]),
    "two large ones": ((f"{X}, {Y}", W, f"{W} = mul %x, %y", f"{W} = add %v0, %v0"), ["mul", "add"]),
    "added twice": ((f"{X}, {Y}, {G}", W, f"{W} = mul %x, %g", f"{W} = add %v0, %y",
                     f"{W} = add %v0, %v1"), ["mul", "add"]),
    "subtracted twice": ((f"{X}, {Y}, {G}", W, f"{W} = mul %x, %g", f"{W} = sub %y, %v0",
                          f"{W} = sub %v1, %v0"), ["mul", "sub"]),
    "subtracted from twice": ((f"{X}, {Y}, {G}", W, f"{W} = mul %x, %g", f"{W} = sub %v0, %y",
                               f"{W} = sub %v1, %v0"), ["mul", "sub", "sub"]),
    "subtracted from another": ((f"{X}, {Y}, {G}", W, f"{W} = mul %x, %g", f"{W} = sub %y, %x",
                                 f"{W} = sub %v1, %v0", f"{W} = mul %v2, %v0"),
                                ["mul", "sub", "sub", "mul"]),
    "added to another": ((f"{X}, {Y}, {G}", W, f"{W} = mul %x, %g", f"{W} = add %y, %x",
                          f"{W} = add %v1, %v0", f"{W} = mul %v2, %v0"),
                         ["mul", "add", "add", "mul"]),
    "shared by both": ((f"{X}, {Y}, {G}", W, *ROOT, f"{W} = mul %x, %v1", f"{W} = mul %v1, %y",
                        f"{W} = sub %v2, %v3"), ["sub", "mul"]),
    "shared but for the sign": ((f"{X}, {Y}", W, THREE, "f32[] = neg %v0", f"{W} = mul %v1, %x",
                                 f"{W} = mul %v0, %y", f"{W} = add %v2, %v3"), ["sub", "mul"]),
    "both negative": ((f"{X}, {Y}", W, THREE, "f32[] = div %v0, -7.0", "f32[] = neg %v1", f"{W} = mul %v2, %x",
                       f"{W} = mul %v2, %y", f"{W} = add %v3, %v4"), ["add", "mul"]),
    "twice the same": ((f"{X}, {Y}", W, f"{W} = mul 0.5, %x", f"{W} = mul %y, %v0", f"{W} = mul %y, %x",
                        f"{W} = mul %v2, 0.5", f"{W} = add %v1, %v3"), ["mul"]),
    "three of a power": ((f"{X}, %c: f32[]", W, f"{W} = mul %x, %x", f"{W} = mul %c, %v0",
                          "f32[] = mul %c, 2.0", f"{W} = mul %v2, %x", f"{W} = mul %v3, %x",
                          f"{W} = add %v1, %v4"), ["mul", "mul"]),
    "taken away, with the other sign": ((f"{X}, {Y}", W, f"{W} = mul %x, %y", f"{W} = mul 4.0, %v0",
                                         f"{W} = mul %y, -2.0", f"{W} = mul %v2, %x",
                                         f"{W} = sub %v1, %v3"), ["mul", "mul"]),
    "out of a sum": ((f"{X}, {Y}, {G}", "f32[6]", *ROOT, f"{W} = mul %x, %y", f"{W} = div %v2, %v1",
                      "f32[6] = sum %v3 {axes=(0, 2), keepdims=False}"), ["mul"]),
    "out of a sum of all": ((f"{X}, %c: f32[]", "f32[]", f"{W} = mul %x, %c", f"{W} = neg %v0",
                             "f32[] = sum %v1 {axes=None, keepdims=False}"), []),
    "in two groups": ((f"{X}, {G}, {S}", "f32[8,1,1]", f"{W} = mul %x, %g", f"{W} = mul %v0, %s",
                       "f32[8,1,1] = sum %v1 {axes=(1, 2), keepdims=True}"), ["mul"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_fewer_operations_on_whole_arrays(name: str, optimised: Optimised) -> None:
    made, wanted = CASES[name]
    before = function(*made)
    given = inputs(before)  # their differences are near one
    after = optimised(before, reassociate_products, dce, inputs=given, rtol=2e-6, atol=5e-7)
    assert large(after) == wanted


@pytest.mark.parametrize(
    ("shape", "axes", "x", "y", "result"),
    [("1,2,8", "(0,)", "2,8", "1,2,1", "2,8"),
     ("2,5", "(1,)", "5", "2,1", "2"), ("3,2", "(1,)", "2", "3,1", "3")],
)  # fmt: skip
def test_the_other_factors_of_a_sum_keep_all_axes(
    shape: str, axes: str, x: str, y: str, result: str, optimised: Optimised
) -> None:
    before = parse_function(
        f"func @f(%x: f32[{x}], %y: f32[{y}]) -> (f32[{result}]) {{\n"
        f"  %p: f32[{shape}] = div %x, %y  # adjoint\n"
        f"  %q: f32[{shape}] = mul %p, 3.0  # adjoint\n"
        f"  %s: f32[{result}] = sum %q {{axes={axes}, keepdims=False}}  # adjoint\n"
        "  return %s\n}\n"
    )
    optimised(before, reassociate_products, dce, inputs=inputs(before), rtol=2e-6)


@pytest.mark.parametrize("narrow", ["(2,)", "(0, 2)"])
@pytest.mark.parametrize("wide", ["(0, 1, 2)", "None"])
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_of_two_sums_one_adds_up_the_other(
    narrow: str, wide: str, kept: bool, first: bool, optimised: Optimised
) -> None:
    dims = [1 if str(axis) in narrow else size for axis, size in enumerate((8, 6, 5))]
    left = ",".join(str(d) for d in dims if kept or d > 1)
    lines = [f"%w: f32[] = sum %p {{axes={wide}, keepdims=False}}  # adjoint",
             f"%n: f32[{left}] = sum %p {{axes={narrow}, keepdims={kept}}}  # adjoint"]  # fmt: skip
    lines = [f"%p: {W} = mul %x, %y  # adjoint", *(lines if first else lines[::-1])]
    head = f"func @f({X}, {Y}) -> (f32[], f32[{left}]) {{"
    before = parse_function("\n".join([head, *lines, "return %w, %n", "}", ""]))
    passes = (reassociate_products, cse, dce)
    after = optimised(before, *passes, inputs=inputs(before), rtol=5e-6)
    assert [op.name for op in after.body.ops] == ["mul", "sum", "sum"]
    product = after.body.ops[0].result
    assert sum(product in op.operands for op in after.body.ops) == 1


@pytest.mark.parametrize(
    "lines",
    [
        (f"{W} = mul %x, %g", f"{W} = mul %v0, %y"),
        (f"{W} = mul %x, %y", "f32[6] = sum %v0 {axes=(0, 2), keepdims=False}"),
        (f"{W} = mul %x, %y", f"{W} = mul %x, %g", f"{W} = mul %v0, %v1", f"{W} = add %v0, %v2"),
        (f"{W} = mul %x, %g", f"{W} = add %y, %v0"),
        (f"{W} = mul %x, %g", f"{W} = mul %g, %y", f"{W} = add %v0, %v1"),
        (f"{W} = mul %x, %g", "f32[8,5] = sum %v0 {axes=(1,), keepdims=False}"),
        (f"{W} = div %x, %g", f"{W} = div %v0, %g"),
        (f"{W} = mul %x, %g", f"{W} = mul %v0, %g"),
        (
            f"{W} = mul %x, %y",
            f"{W} = div %v0, %g",
            "f32[6] = sum %v1 {axes=(0, 2), keepdims=False}",
        ),
    ],
)
def test_products_without_gain_or_out_of_range_stay(lines: tuple[str, ...]) -> None:
    result = lines[-1].split(" = ")[0]
    before = function(f"{X}, {Y}, {G}", result, *lines)
    assert reassociate_products(before) is before


def test_the_users_own_text_is_computed_as_written() -> None:
    before = parse_function(
        f"func @f({X}) -> ({W}) {{\n  %a: {W} = mul 2.0, %x\n  %b: {W} = mul 3.0, %a\n  return %b\n}}\n"
    )
    assert reassociate_products(before) is before


def test_a_batch_norm_sums_each_thing_once() -> None:
    """Compares with central differences in float64, and counts the sums over the batch."""
    random = np.random.default_rng(1)
    x, w = random.standard_normal((2, 4, 3, 5, 5))
    g = random.standard_normal(3)

    def loss(x, g, w):
        return ops.sum(ops.batch_norm(x, None, None, g, None, True) * w)

    gradient = ops.grad(loss, (0, 1))
    d_x, d_g = (each.asnumpy() for each in gradient(Tensor(x), Tensor(g), Tensor(w)))

    def value(x: np.ndarray, g: np.ndarray) -> float:
        c = x - x.mean((0, 2, 3), keepdims=True)
        y = c / np.sqrt((c * c).mean((0, 2, 3), keepdims=True) + 1e-5)
        return float((y * g[:, None, None] * w).sum())

    for array, found, of in ((x, d_x, 0), (g, d_g, 1)):
        for place in [(0,) * array.ndim, tuple(size - 1 for size in array.shape)]:
            step = np.zeros_like(array)
            step[place] = 1e-6
            up, down = ((value(x + s, g) if of == 0 else value(x, g + s)) for s in (step, -step))
            np.testing.assert_allclose(found[place], (up - down) / 2e-6, rtol=1e-6)


def test_halves_are_not_multiplied_by_halves() -> None:
    def scaled(x: Tensor, scale: Tensor) -> Tensor:
        return x * scale * scale

    x, scale = Tensor(np.ones((4, 60), np.float32)), Tensor(np.full((4, 1), 1e4, np.float16))
    found = ops.GradOperation()(scaled)(x, scale).asnumpy()
    np.testing.assert_allclose(found, np.full((4, 60), 1e8), rtol=1e-6)


def _size(x):
    return ops.mean(ops.abs(x), 1, True)


def _of_both_sizes(x, w):
    y = x / _size(x)
    return ops.sum(y * (w * x.mean() / _size(w * x.mean())) * 2.0)


def _scaled(x, w):
    largest = ops.amax(ops.abs(x), 1, True)
    return ops.sum(ops.tanh(x / largest) * w) + ops.sum(w * largest / x)


def _of_its_length(x, w):
    return ops.sum(ops.norm(x, None, 1, True) / ops.amax(ops.abs(x), 1, True) * w)


CASES_OF_SCALE = [
    *((loss, scale) for loss in (_of_both_sizes, _scaled) for scale in (1e-25, 1e25)),
    (_of_its_length, 1e-20),
]


@pytest.mark.parametrize(("loss", "scale"), CASES_OF_SCALE)
def test_nothing_leaves_the_range_of_numbers_on_the_way(loss, scale):
    """Compares gradients of functions that do not depend on the scale with those at scale 1."""
    random = np.random.default_rng(2)
    x, w = random.uniform(0.5, 2.0, (2, 4, 9)).astype(np.float32)
    gradient = ops.GradOperation()(loss)
    found = gradient(Tensor(x * np.float32(scale)), Tensor(w)).asnumpy()
    expected = gradient(Tensor(x.astype(np.float64)), Tensor(w.astype(np.float64))).asnumpy()
    np.testing.assert_allclose(found.astype(np.float64) * scale, expected, rtol=1e-3, atol=1e-4)
