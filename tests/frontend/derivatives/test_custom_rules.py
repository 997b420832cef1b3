"""Rules of the user's own: bprop of a Cell, ``Function``, ``custom_gradient``.

Expected numbers are measured on MindSpore 2.10, or follow from the rule by hand.
"""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Function, Parameter, Tensor, custom_gradient, nn, ops, pipeline
from autodiff_compiler.errors import CallError, DTypeError, ShapeError, UnsupportedSyntax

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 5.0])
EVERY = ms.GradOperation(get_all=True)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)


def same(found: object, *expected: list) -> None:
    parts = found if isinstance(found, tuple) else (found,)
    assert len(parts) == len(expected)
    for part, wanted in zip(parts, expected):
        np.testing.assert_allclose(part.asnumpy(), wanted, rtol=1e-6)  # type: ignore[attr-defined]


class Product(nn.Cell):
    """Ten times the derivative of x * y, so that nobody takes one for the other."""

    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        return dout * y * 10, dout * x * 10


class Reads(nn.Cell):
    """The rule is the outcome itself."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (out * dout,)


class Inside(nn.Cell):
    """Cells with rules in a loop and in a branch."""

    def __init__(self):
        super().__init__()
        self.product = Product()
        self.reads = Reads()

    def construct(self, x, y, n):
        h = x
        for _ in range(n):
            if ops.sum(h) > 5.0:
                h = self.reads(h)
            else:
                h = self.product(h, y)
        return h * 2.0


def test_each_input_has_the_cotangent_that_the_rule_gives() -> None:
    same(EVERY(Product())(X, Y), [30, 50], [10, 20])


def test_a_rule_in_a_loop_and_a_branch() -> None:
    # h = (1, 2); product: (3, 10); reads: (9, 100). d_h = 2 * (9, 100), then 10 * y and 10 * h.
    same(EVERY(Inside())(X, Y, 2), [540, 10000], [180, 4000])


def test_the_second_derivative_goes_through_the_rule_and_its_outcome() -> None:
    same(ms.grad(Reads())(X), [1, 4])
    same(ms.grad(ms.grad(Reads()))(X), [1, 4])


def test_a_bare_cotangent_and_a_list() -> None:
    class Bare(Reads):
        def bprop(self, x, out, dout):
            return dout * 5

    class Listed(Product):
        def bprop(self, x, y, out, dout):
            return [dout * 5, dout]

    same(EVERY(Bare())(X), [5, 5])
    same(EVERY(Listed())(X, Y), [5, 5], [1, 1])


def test_none_is_zero_and_a_number_fills() -> None:
    class Partly(Product):
        def bprop(self, x, y, out, dout):
            return None, 2

    same(EVERY(Partly())(X, Y), [0, 0], [2, 2])


def test_a_cotangent_is_cast_and_stretched_to_its_input() -> None:
    class Narrow(Product):
        def bprop(self, x, y, out, dout):
            return ops.cast(dout, ms.float64), ops.sum(dout)

    d_x, d_y = EVERY(Narrow())(X, Y)
    assert d_x.dtype == d_y.dtype == ms.float32
    same((d_x, d_y), [1, 1], [2, 2])


def test_an_input_that_is_no_tensor_has_no_slot_in_the_result() -> None:
    class Scaled(nn.Cell):
        def construct(self, x, k, y=2.0):
            return x * k * y

        def bprop(self, *given):
            assert len(given) == 5  # x, k, y, out, dout
            return given[-1] * given[1] * 7, None, None

    same(EVERY(Scaled())(X, 3.0), [21, 21])


def test_several_outputs_and_containers() -> None:
    class Pair(nn.Cell):
        def construct(self, pair, x):
            return pair[0] * x, {"sum": pair[1] + x}

        def bprop(self, pair, x, out, dout):
            first, second = dout[0], dout[1]["sum"]
            return (first * 2, None), first + second + out[0]

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.pair = Pair()

        def construct(self, x, y):
            a, b = self.pair((x, y), y)
            return a * 3 + b["sum"]

    # d_a = 3, d_b = 1; out[0] = x * y.
    same(EVERY(Outer())(X, Y), [6, 6], [3 + 1 + 3, 3 + 1 + 10])


def test_a_rule_hides_the_parameters() -> None:
    class Weighted(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, 2.0]), name="w")

        def construct(self, x):
            return x * self.w

        def bprop(self, x, out, dout):
            return (dout * self.w * 3,)

    net = Weighted()
    in_x, in_w = ms.GradOperation(get_all=True, get_by_list=True)(net, [net.w])(X)
    same(in_x, [6, 6])
    same(in_w, [0, 0])


def test_cotangents_of_parameters_in_a_dict_are_refused() -> None:
    class Both(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, 2.0]), name="w")

        def construct(self, x):
            return x * self.w

        def bprop(self, x, out, dout):
            return (dout * self.w,), {self.w: dout * x}

    with pytest.raises(UnsupportedSyntax, match="a Parameter cannot be a dict key"):
        ms.grad(Both())(X)


def test_what_the_rule_does_not_read_is_not_kept() -> None:
    text = ms.gradient_source(Reads(), X, sens_param=True)
    assert "return out, (out,)" in text
    line = Reads.bprop.__code__.co_firstlineno + 1
    assert f"# {line}| return (out * dout,)" in text


@pytest.mark.parametrize(
    ("rule", "error", "cause"),
    [
        (lambda self, x, y, out, dout: dout, CallError, "returns 1 value for 2 inputs (x, y)"),
        (lambda self, x, out, dout: (dout,), CallError, "takes 3 arguments"),
        (lambda self, x, y, out, dout: (ops.concat((x, y)), dout), ShapeError, "f32[4]"),
        (lambda self, x, y, out, dout: ("a", dout), DTypeError, "cotangent of 'x' is str"),
    ],
)
def test_a_wrong_rule_is_refused_in_its_own_line(rule, error, cause) -> None:
    kind = type("Wrong", (Product,), {"bprop": rule})
    with pytest.raises(error) as caught:
        EVERY(kind())(X, Y)
    line = rule.__code__.co_firstlineno
    assert cause in str(caught.value) and f"test_custom_rules.py:{line}:" in str(caught.value)
    assert "^" in str(caught.value)


def test_check_grads_finds_a_wrong_rule() -> None:
    class Right(Reads):
        def bprop(self, x, out, dout):
            return (2 * x * dout,)

    ms.check_grads(Right(), [X])
    with pytest.raises(AssertionError, match="order 1 in 'x' is wrong"):
        ms.check_grads(Reads(), [X])


def test_bprop_debug_takes_a_bool_only() -> None:
    cell = Reads()
    assert cell.bprop_debug is False
    with pytest.raises(TypeError, match="the property 'bprop_debug' must be bool type"):
        cell.bprop_debug = 1


class Scale(Function):
    @staticmethod
    def forward(ctx, x, y, k):
        ctx.save_for_backward(x, y)
        ctx.k = k
        return x * y * k

    @staticmethod
    def backward(ctx, d):
        x, y = ctx.saved_tensors
        return d * y * ctx.k * 10, d * x, None


class WithSetup(Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx, d):
        _, out = ctx.saved_tensors
        return d * out


class Marked(Function):
    @staticmethod
    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    @staticmethod
    def backward(ctx, d_a, d_b):
        return d_a * 7 + d_b


def test_function_saves_tensors_and_attributes() -> None:
    same(ms.grad(lambda x, y: Scale.apply(x, y, 2.0), (0, 1))(X, Y), [60, 100], [1, 2])
    same(ms.grad(Scale.apply, (0, 1))(X, Y, 2.0), [60, 100], [1, 2])
    same(Scale.apply(X, Y, 2.0), [6, 20])


def test_function_with_setup_context_to_the_second_order() -> None:
    first = ms.grad(WithSetup.apply)
    same(first(X), [1, 4])
    same(ms.grad(first)(X), [1, 4])


def test_no_gradient_goes_through_a_marked_output() -> None:
    def both(x):
        a, b = Marked.apply(x)
        return a + b

    same(ms.grad(both)(X), [7, 7])


def test_no_gradient_goes_through_the_only_output_that_is_marked() -> None:
    class Only(Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            ctx.mark_non_differentiable(out)
            return out

        @staticmethod
        def backward(ctx, d):
            return d * 7

    same(ms.grad(Only.apply)(X), [0, 0])
    same(ms.grad(lambda x: Only.apply(x) * x)(X), [2, 4])


def test_what_forward_did_not_set_is_refused() -> None:
    class Forgot(Scale):
        @staticmethod
        def backward(ctx, d):
            return d * ctx.missing, d, None

    with pytest.raises(AttributeError, match="ctx.missing, which forward has not assigned"):
        ms.grad(Forgot.apply)(X, Y, 2.0)


@custom_gradient
def log1pexp(x):
    """log(1 + exp(x)), with a derivative that does not overflow."""
    e = ops.exp(x)

    def gradient(d_out):
        return d_out * (1 - 1 / (1 + e))

    return ops.log(1 + e), gradient


def test_custom_gradient_reads_the_variables_around_it() -> None:
    def twice(x):
        return log1pexp(log1pexp(x))

    ms.check_grads(log1pexp, [X])
    ms.check_grads(twice, [X])
    same(ms.grad(log1pexp)(Tensor([100.0])), [1.0])
    same(log1pexp(Tensor([0.0])), [np.log(2.0)])


def test_custom_gradient_without_a_rule_is_refused() -> None:
    @custom_gradient
    def lost(x):
        return x * x

    with pytest.raises(CallError, match="must return its value and a gradient function"):
        ms.grad(lost)(X)


def test_a_rule_that_writes_is_refused() -> None:
    class Counts(Reads):
        def __init__(self):
            super().__init__()
            self.seen = 0

        def bprop(self, x, out, dout):
            self.seen = self.seen + 1
            return (dout,)

    with pytest.raises(CallError, match="bprop changes something outside of itself"):
        ms.grad(Counts())(X)
