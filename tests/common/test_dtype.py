"""dtype objects and their conversion."""

import copy

import numpy as np
import pytest

from autodiff_compiler.common import dtype as mstype


@pytest.mark.parametrize("type_", [*mstype.number_type, mstype.bool_])
def test_round_trips(type_):
    numpy = mstype.dtype_to_nptype(type_)
    assert np.dtype(numpy).name == type_.name
    assert mstype.pytype_to_dtype(numpy) is type_
    assert mstype.to_numpy_name(type_) == mstype.to_numpy_name(type_.name) == type_.name
    assert mstype.to_numpy_name(str(type_)) == type_.name
    assert copy.deepcopy(type_) is type_


def test_aliases():
    assert (mstype.half, mstype.single, mstype.double) == (
        mstype.float16, mstype.float32, mstype.float64,
    )  # fmt: skip


def test_python_types():
    assert mstype.pytype_to_dtype(float) is mstype.float32
    assert mstype.pytype_to_dtype(int) is mstype.int64
    assert mstype.dtype_to_pytype(mstype.uint8) is int
    assert mstype.dtype_to_pytype(mstype.float16) is float
    assert mstype.type_size_in_bytes(mstype.complex64) == 8


@pytest.mark.parametrize("thing", [None, "float7", "object", dict, 3])
def test_refuses(thing):
    with pytest.raises(TypeError, match="is not a dtype of a Tensor"):
        mstype.to_numpy_name(thing)
