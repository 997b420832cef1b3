"""The text of a Tensor, against measured MindSpore output."""

import numpy as np
import pytest

from autodiff_compiler.common import Tensor
from autodiff_compiler.common import dtype as mstype

F32 = np.float32
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            [1.0, 2.0],
            "Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])",
        ),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            (
                "Tensor(shape=[2, 2], dtype=Float32, value=\n"
                "[[ 1.00000000e+00,  2.00000000e+00],\n [ 3.00000000e+00,  4.00000000e+00]])"
            ),
        ),
        (
            [[[1], [2]], [[3], [4]]],
            "Tensor(shape=[2, 2, 1], dtype=Int64, value=\n[[[1],\n  [2]],\n [[3],\n  [4]]])",
        ),
        (1.5, "Tensor(shape=[], dtype=Float32, value= 1.5)"),
        (2.0, "Tensor(shape=[], dtype=Float32, value= 2)"),
        (-0.0, "Tensor(shape=[], dtype=Float32, value= -0)"),
        (1, "Tensor(shape=[], dtype=Int64, value= 1)"),
        (True, "Tensor(shape=[], dtype=Bool, value= True)"),
        (np.ones(1, np.float16), "Tensor(shape=[1], dtype=Float16, value= [ 1.0000e+00])"),
        (np.array([1.23456789]), "Tensor(shape=[1], dtype=Float64, value= [ 1.23456789e+00])"),
        ([-1, 100], "Tensor(shape=[2], dtype=Int64, value= [ -1, 100])"),
        ([True, False], "Tensor(shape=[2], dtype=Bool, value= [ True, False])"),
        ([1 + 2j], "Tensor(shape=[1], dtype=Complex128, value= [1+2j])"),
        (
            [NAN, INF, -INF],
            (
                "Tensor(shape=[3], dtype=Float32, value= "
                "[            nan,             inf,            -inf])"
            ),
        ),
        ([], "Tensor(shape=[0], dtype=Float32, value= )"),
        (np.zeros((0, 3), F32), "Tensor(shape=[0, 3], dtype=Float32, value=\n)"),
    ],
)
def test_repr(data, text):
    assert repr(Tensor(data)) == text


def test_long_vectors_are_cut_above_a_thousand_elements():
    text = repr(Tensor(np.arange(2000, dtype=F32)))
    assert " [ 0.00000000e+00,  1.00000000e+00,  2.00000000e+00 ...  1.99700000e+03, " in text
    assert "..." not in repr(Tensor(np.arange(1000)))


def test_long_rows_are_cut_above_six():
    text = repr(Tensor(np.arange(10, dtype=np.int32).reshape(1, 10)))
    assert text == "Tensor(shape=[1, 10], dtype=Int32, value=\n[[0, 1, 2 ... 7, 8, 9]])"
    assert "..." not in repr(Tensor(np.zeros((6, 6))))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([1.0, 2.0], "[1. 2.]"),
        ([[1.0, 2.0], [3.0, 4.0]], "[[1. 2.]\n [3. 4.]]"),
        ([True, False], "[ True False]"),
        (1.5, "1.5"),
        (2.0, "2.0"),
        ([], "[]"),
    ],
)
def test_str(data, text):
    assert str(Tensor(data)) == text


def test_formatting():
    assert f"{Tensor([1.0])}" == "[1.]"
    assert "%.2f" % Tensor(1.5) == "1.50"  # noqa: UP031
    with pytest.raises(TypeError, match="unsupported format string passed to Tensor.__format__"):
        format(Tensor(1.5), ".2f")


def test_dtype_text():
    assert str(mstype.float32) == "Float32"
    assert repr(mstype.float32) == "mindspore.float32"
    assert str(mstype.bool_) == "Bool"
    assert str(mstype.uint8) == "UInt8"
