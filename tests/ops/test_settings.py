"""Settings given as tensors, and forms of arguments that programs use besides the plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Parameter, Tensor, grad, int32, nn, ops, value_and_grad
from autodiff_compiler.errors import ShapeError

X = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5)


class Padded(nn.Cell):
    """Its widths are a Tensor, as MirrorPad's operand is in MindSpore."""

    def __init__(self):
        super().__init__()
        self.widths = Tensor([[1, 1], [0, 1]], int32)

    def construct(self, x):
        return ops.MirrorPad("SYMMETRIC")(x, self.widths) * ops.reshape(x, Tensor([2, 3]))[0, 0]


def test_a_tensor_may_be_a_setting_and_is_guarded() -> None:
    net = Padded()
    for widths in ([[1, 1], [0, 1]], [[0, 1], [2, 0]]):
        net.widths = Tensor(widths, int32)
        value, slope = value_and_grad(net)(X)
        x = X.asnumpy()
        padded = np.pad(x, widths, "symmetric")
        np.testing.assert_allclose(value.asnumpy(), padded * x[0, 0])
        counts = np.zeros((2, 3))
        np.add.at(counts.reshape(-1), np.pad(np.arange(6).reshape(2, 3), widths, "symmetric"), 1.0)
        expected = counts * x[0, 0]
        expected[0, 0] += padded.sum()
        np.testing.assert_allclose(slope.asnumpy(), expected)
    net.widths.asnumpy()[0, 0] = 1  # written in place
    assert value_and_grad(net)(X)[0].shape == (4, 5)


def test_what_is_computed_is_no_setting() -> None:
    def fn(x: Any, widths: Any) -> Any:
        return ops.MirrorPad("SYMMETRIC")(x, widths)

    with pytest.raises(ShapeError, match="must be a compile-time constant"):
        grad(fn)(X, Tensor([[1, 1], [0, 1]]))
    widths = Parameter(Tensor([[1, 1], [0, 1]]), name="widths")
    with pytest.raises(ShapeError, match="must be a compile-time constant"):
        grad(lambda x: fn(x, widths))(X)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (lambda x: x.flatten(), lambda a: a.reshape(-1)),
        (lambda x: x.flatten(start_dim=1), lambda a: a),
        (lambda x: x.flatten("F"), lambda a: a.reshape(-1, order="F")),
        (lambda x: x.sum(1, initial=2.0), lambda a: a.sum(1) + 2),
        (lambda x: x.max(1, initial=0.0), lambda a: a.max(1, initial=0)),
        (
            lambda x: x.min(0, initial=-1.0, where=x > 0),
            lambda a: a.min(0, initial=-1, where=a > 0),
        ),
        (lambda x: x.max(initial=-9.0, where=x < 0), lambda a: a[a < 0].max()),
        (lambda x: x.argmax(axis=1, keepdims=True), lambda a: a.argmax(1, keepdims=True)),
        (lambda x: x.argmin(), lambda a: a.argmin()),
        (lambda x: x.H, lambda a: a.T),
        (lambda x: x * float(x[:1, 1]) + x[1:, :1].item(), lambda a: a * a[0, 1] + a[1, 0]),
        (lambda x: ops.Median(ignore_nan=True, axis=1)(x)[0], lambda a: np.median(a, 1)),
        (lambda x: ops.unique(x)[0], lambda a: a.ravel()),
    ],
)
def test_forms(form: Any, expected: Any) -> None:
    wanted = expected(X.asnumpy())
    eager = form(X).asnumpy()
    np.testing.assert_array_equal(eager, wanted)
    np.testing.assert_array_equal(value_and_grad(form)(X)[0].asnumpy(), wanted)


def test_positions_have_the_dtypes_of_mindspore() -> None:
    dtypes = {
        "Int64": (X.argmax(), ops.max(X)[1], ops.max(X, 1)[1], X.nanmedian()[1],
                  X.argmin_with_value(1)[1]),
        "Int32": (X.argmin(), ops.argmin(X, 1), ops.Argmax(0)(X), ops.cummin(X, 0)[1]),
    }  # fmt: skip
    for name, tensors in dtypes.items():
        assert [str(t.dtype) for t in tensors] == [name] * len(tensors)
