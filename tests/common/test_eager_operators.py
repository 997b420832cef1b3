"""Arithmetic on tensors that are not being compiled, against measured MindSpore behaviour."""

import enum

import numpy as np
import pytest

import autodiff_compiler.operators  # noqa: F401 - fills the table of records
from autodiff_compiler import mutable, ops
from autodiff_compiler.common import Cell, Parameter, Tensor
from autodiff_compiler.common import dtype as mstype

ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
#: The measured table of ``+``, right of and above the diagonal, row by row.
TABLE = {
    "bool": ORDER,
    "uint8": ("uint8", "int16", *ORDER[3:]),
    "int8": ORDER[2:],
    "int16": ORDER[3:],
    "int32": ORDER[4:],
    "int64": ORDER[5:],
    "float16": ORDER[6:],
    "float32": ORDER[7:],
    "float64": ORDER[8:],
}


@pytest.mark.parametrize("left", ORDER)
def test_promotion(left):
    for right, expected in zip(ORDER[ORDER.index(left) :], TABLE[left], strict=True):
        x, y = Tensor(np.ones(1, left)), Tensor(np.ones((), right))
        assert (x + y).dtype.name == (y + x).dtype.name == (x * y).dtype.name == expected


@pytest.mark.parametrize(
    ("dtype", "scalar", "expected"),
    [
        ("float16", 2.5, "float16"),
        ("float64", 1, "float64"),
        ("int8", 1, "int8"),
        ("int32", True, "int32"),
        ("int64", 1.5, "float32"),
        ("bool", 1, "int64"),
        ("bool", 1.5, "float32"),
        ("bool", True, "bool"),
    ],
)
def test_promotion_with_numbers(dtype, scalar, expected):
    x = Tensor(np.ones(1, dtype))
    assert (x + scalar).dtype.name == (scalar + x).dtype.name == expected


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda: Tensor([1, 2]) / Tensor([2, 2]), [0.5, 1.0]),
        (lambda: Tensor(np.int32([1])) + 2**40, [1]),
        (lambda: Tensor(np.uint8([1])) + 300, [45]),
        (lambda: Tensor(np.uint8([1])) - 3, [254]),
        (lambda: Tensor([-7]) // 2, [-4]),
        (lambda: Tensor([-7]) % 3, [2]),
        (lambda: 7 % Tensor([-3]), [-2]),
        (lambda: 2 ** Tensor([1.0, 2.0]), [2.0, 4.0]),
        (lambda: Tensor([1.0]) + [1.0], [2.0]),
        (lambda: Tensor([1.0]) + (1.0, 2.0), [2.0, 3.0]),
        (lambda: Tensor([1.0, 2.0]) == Tensor([1.0, 3.0]), [True, False]),
        (lambda: Tensor([1, 2]) != 2, [True, False]),
        (lambda: abs(-Tensor([1.0])), [1.0]),
    ],
)
def test_values(compute, expected):
    assert compute().tolist() == expected


@pytest.mark.parametrize(
    ("other", "kind"), [(None, "None"), ("a", "string"), (np.ones(1), "numpy.ndarray")]
)
def test_refuses(other, kind):
    with pytest.raises(TypeError) as error:
        _ = Tensor([1.0]) + other
    assert str(error.value).startswith(
        f'Failed calling Add with "Add()(input=Tensor, other={kind})".'
    )


def test_refuses_a_list_as_factor_and_shapes_that_do_not_fit():
    with pytest.raises(TypeError, match="Failed calling Mul"):
        _ = Tensor([1.0]) * [1.0]
    with pytest.raises(ValueError, match="do not broadcast"):
        _ = Tensor([1.0, 2.0]) + Tensor([1.0, 2.0, 3.0])


def test_augmented_assignment_rebinds():
    a = alias = Tensor([1.0])
    a += 1
    assert (a.tolist(), alias.tolist()) == ([2.0], [1.0])
    p = Parameter([1.0], name="w")
    p += 1
    assert type(p) is Tensor


def test_parameters_count_up_in_construct():
    class Counter(Cell):
        def __init__(self):
            super().__init__()
            self.count = Parameter([0.0])

        def construct(self, x):
            self.count = self.count + 1
            return x * self.count

    counter = Counter()
    assert [counter(Tensor([3.0])).item() for _ in range(2)] == [3.0, 6.0]
    assert type(counter.count) is Parameter
    assert counter.count.dtype is mstype.float32


def test_a_list_of_tensors_cannot_be_searched_for_a_vector():
    a, b = Tensor([1, 2]), Tensor([3, 4])
    with pytest.raises(ValueError, match="more than one element is ambiguous"):
        [a, b].index(b)


class Ratio(float):
    """A float of a class of its own."""


class Count(enum.IntEnum):
    TWO = 2


@pytest.mark.parametrize("number", [Ratio(2.0), Count.TWO, mutable(2.0)])
def test_a_number_of_a_subclass_is_a_number(number) -> None:
    """NumPy takes such a number for a float64 array; MindSpore 2.10 returns Float32."""
    x = Tensor([1.0, 2.0])
    for result in (x * number, number * x, ops.add(x, number), x**number):
        assert result.dtype == mstype.float32
    assert (x * number).asnumpy().tolist() == [2, 4]
    assert (Tensor([1, 2], mstype.int32) * Count.TWO).dtype == mstype.int32
