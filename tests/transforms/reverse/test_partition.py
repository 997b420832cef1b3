"""The values that are saved for backward, and those that it rematerialises."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff_compiler import gradient_source, ops
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.testing import check_grads


def waves(x: Any) -> Any:
    return ops.sum(ops.sin(x * 1.5) * x)


def kept(function: Any, *types: str) -> str:
    """Lists the residuals that backward unpacks."""
    lines = gradient_source(function, *types).splitlines()
    (line,) = [line.strip() for line in lines if line.endswith("= residuals")]
    return line.removesuffix(" = residuals")


def test_a_large_product_is_rematerialized_and_a_small_one_is_saved() -> None:
    assert kept(waves, "f32[1000]") == "x, sin_scaled_x"
    assert kept(waves, "f32[10]") == "x, scaled_x, sin_scaled_x"


def slopes(x: Any) -> Any:
    return ops.sum(ops.sin(x) * 0.1) + ops.sum((x[2:] - x[:-2]) * x[1:-1])


def carried_on(x: Any) -> Any:
    for _ in range(3):
        x = ops.concat((x[:1], x[1:-1] - x[1:-1] * (x[2:] - x[:-2]), x[-1:]))
    return ops.sum(x * x)


def test_differences_of_views_are_rematerialized() -> None:
    assert kept(slopes, "f32[1000]") == "(x,)"
    assert kept(lambda x: ops.sum(ops.exp(x[1:] - x[:-1])), "f32[1000]") != "(x,)"
    assert kept(carried_on, "f32[1000]") == "x, x_tape"
    x = np.random.default_rng(0).uniform(-0.3, 0.3, 600)
    check_grads(slopes, (x,))
    check_grads(carried_on, (x,))


def test_costly_values_and_those_of_unsaved_operands_are_saved() -> None:
    assert kept(lambda x: ops.sum(ops.sin(ops.exp(x)) * ops.sin(x)), "f32[1000]").count(",") >= 3
    # of x + 1 nothing else is wanted: keeping x in its place saves nothing
    assert kept(lambda x: ops.sum(ops.exp(ops.sin(x + 1.0))), "f32[1000]") == "x, exp_sin"


def test_the_comparisons_of_a_value_that_is_only_compared_are_saved() -> None:
    def hinge(x: Any, y: Any) -> Any:
        return ops.sum(ops.exp(ops.maximum(1.0 - x * y, 0.0)))

    names = kept(hinge, "f32[1000]", "f32[1000]").split(", ")
    assert {"is_below", "is_equal"} < {*names}
    assert "difference" not in names
    assert "difference" in kept(hinge, "f32[10]", "f32[10]")  # small: it costs nothing
    x = np.linspace(-1.5, 1.5, 601)
    y = np.where(np.arange(601) % 2, 1.0, -1.0)
    check_grads(hinge, (x[x * y != 1], y[x * y != 1]))
    # What backward also multiplies by is kept as it is.
    both = kept(lambda x: ops.sum(ops.maximum(ops.sin(x), 0.0) * ops.sin(x)), "f32[1000]")
    assert "sin_x" in both


def test_values_near_an_argument_are_rematerialized_if_others_wait() -> None:
    def alone(x: Any, t: Any) -> Any:
        return ops.sum((x - t) ** 2)

    def beside(x: Any, t: Any) -> Any:
        return ops.sum(ops.sin(0.5 * (x - t)) * ops.exp(x))

    def far(x: Any, t: Any) -> Any:
        return ops.sum(ops.sin(0.5 * (x - t) / 3.0) * ops.exp(x))

    assert kept(alone, "f32[1000]", "f32[1000]") == "(x_minus_t,)"
    names = kept(beside, "f32[1000]", "f32[1000]").split(", ")
    assert {*names} >= {"x", "t", "exp_x"} and "product" not in names
    assert "product" in kept(beside, "f32[10]", "f32[10]")  # small: it costs nothing
    assert "scaled_product" in kept(far, "f32[1000]", "f32[1000]")
    x, t = np.random.default_rng(7).standard_normal((2, 600))
    check_grads(beside, (x, t))
    check_grads(far, (x, t))


def test_a_loop_saves_the_values_that_others_are_made_of() -> None:
    def newton(a: Any) -> Any:
        x = a
        for _ in range(5):
            x = 0.5 * (x + a / x)
        return ops.sum(x)

    assert kept(newton, "f32[4]") == "a, x_tape"


def test_values_that_backward_reads_anyway_are_not_computed_again() -> None:
    def bends(x: Any) -> Any:
        slope = ops.grad(lambda z: ops.sum(ops.sin(z) * z * z))(x)
        return ops.sum(slope * slope * x)

    for size in ("10", "1000"):
        source = gradient_source(bends, f"f32[{size}]")
        assert source.count("np.sin(") == source.count("np.cos(") == 1
    check_grads(bends, (np.array([0.4, 1.2, -0.7]),))

    # In a loop the same value comes from another iteration: only what this one made is meant.
    def turned(x: Any) -> Any:
        total = 0.0
        for _ in range(3):
            total = total + ops.sum(ops.grad(lambda z: ops.sum(ops.sin(z) * z))(x))
            x = x * ops.sin(x) + 0.3
        return total

    check_grads(turned, (np.array([0.4, 1.2, -0.7]),))


@changed_costs(rematerialised_bytes=1)
def test_gradients_of_two_orders() -> None:
    def branching(x: Any, y: Any) -> Any:
        z = x * y - y / x
        for k in range(2):
            if ops.sum(z) > 0:
                z = ops.tanh(z * y) + z * z
            else:
                z = ops.exp(-z * 0.1) * (x - k)
        return ops.sum(z * waves(z + y))

    check_grads(branching, (np.array([0.4, 1.2, -0.7]), np.array([0.8, -0.3, 1.9])))
