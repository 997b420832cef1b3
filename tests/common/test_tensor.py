"""Tensor: what it is made of, Python's protocols, indexing, and applying records at once."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import autodiff_compiler as ms
from autodiff_compiler import Parameter, nn
from autodiff_compiler.common import Tensor, tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import One
from autodiff_compiler.common.tensor import wrap
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import ArrayType


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        ([1, 2], mstype.int64, (2,)),
        (1, mstype.int64, ()),
        ((1, 2), mstype.int64, (2,)),
        ([1.0, 2.0], mstype.float32, (2,)),
        (1.5, mstype.float32, ()),
        ([[1, 2.0]], mstype.float32, (1, 2)),
        (float("inf"), mstype.float32, ()),
        (True, mstype.bool_, ()),
        ([1, True], mstype.int64, (2,)),
        (np.zeros(2), mstype.float64, (2,)),
        (np.float64(1), mstype.float64, ()),
        (np.zeros(2, ">f4"), mstype.float32, (2,)),
        (1 + 2j, mstype.complex128, ()),
        ([], mstype.float32, (0,)),
        (np.zeros((0, 3), np.float32), mstype.float32, (0, 3)),
        (Tensor(np.int8(3)), mstype.int8, ()),
        ([Tensor([1.0]), Tensor([2.0])], mstype.float32, (2, 1)),
        ([np.float32(1), np.float32(2)], mstype.float32, (2,)),
        ([np.float64(1)], mstype.float64, (1,)),
    ],
)
def test_constructor(data, dtype, shape):
    made = Tensor(data)
    assert made.dtype is dtype
    assert made.shape == shape


def test_constructor_casts_and_copies():
    assert Tensor([1.7, -1.7], mstype.int32).tolist() == [1, -1]
    array = np.zeros(2, np.float32)
    made, shared = Tensor(array), Tensor.from_numpy(array)
    array[0] = 5
    assert made.tolist() == [0, 0]
    assert shared.tolist() == [5, 0]
    assert tensor([1], mstype.float16).dtype is mstype.float16


def test_constructor_with_initializer():
    made = Tensor(shape=(2, 2), dtype=mstype.float32, init=One())
    assert made.has_init
    assert made.init_data().tolist() == [[1, 1], [1, 1]]
    assert not made.has_init and made.init is None
    assert wrap(np.ones(2)).init is None
    assert Tensor(shape=(2,), dtype=mstype.int8).tolist() == [0, 0]


@pytest.mark.parametrize("data", [None, {}, {1}, range(3), "abc"])
def test_constructor_refuses(data):
    kind = type(data).__name__
    with pytest.raises(TypeError, match=rf"For 'Tensor', the type of .* got type '{kind}'\."):
        Tensor(data)


def test_constructor_refuses_ragged_lists_and_foreign_dtypes():
    with pytest.raises(TypeError) as ragged:
        Tensor([[1, 2], [3]])
    assert str(ragged.value) == (
        "For Tensor, the input_data is [[1, 2], [3]] that contain unsupported element."
    )
    for dtype in (np.float32, "float32"):
        with pytest.raises(TypeError, match=r"'dtype' should be one of \[mindspore.int8, "):
            Tensor([1], dtype)


def test_attributes():
    t = Tensor(np.zeros((2, 3), np.float32))
    assert (t.ndim, t.size, t.itemsize, t.nbytes, t.strides) == (2, 6, 4, 24, (12, 4))
    assert t.T.shape == (3, 2)
    assert t.device == "CPU"
    for name in ("note", "cauchy"):  # nowhere to be kept, and one that MindSpore has
        with pytest.raises(AttributeError):
            setattr(t, name, "mine")
    with pytest.raises(AttributeError):
        t.shape = (6,)
    with pytest.raises(AttributeError):
        _ = t.name


def test_bool():
    assert bool(Tensor([[1.0]]))
    assert not Tensor(0)
    with pytest.raises(ValueError, match="only one element, but got 6, more than one element is"):
        bool(Tensor(np.zeros((2, 3))))


def test_numbers():
    assert int(Tensor([2.9])) == 2
    assert float(Tensor(3)) == 3.0
    assert complex(Tensor(3)) == 3 + 0j
    assert [10, 20][Tensor(1)] == 20
    assert Tensor([[7]]).item() == 7
    for convert in (int, float, complex):
        with pytest.raises(ValueError, match="Only one element tensors can be converted"):
            convert(Tensor([1, 2]))
    with pytest.raises(ValueError, match="Only integer tensors of a single element"):
        [10, 20][Tensor(1.0)]


def test_length_and_iteration():
    assert len(Tensor([[1], [2]])) == 2
    assert [row.tolist() for row in Tensor([[1], [2]])] == [[1], [2]]
    with pytest.raises(TypeError, match="Not support len of a 0-D tensor"):
        len(Tensor(1))
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(Tensor(1))


def test_identity_and_containment():
    t = Tensor([1, 2])
    assert {t: "a"}[t] == "a"
    assert (t == None) is False  # noqa: E711 (the comparison is what is tested)
    assert (t != "x") is True
    assert (t == [1, 2]) is False
    assert 2 in t
    assert Tensor(2) in t
    assert 3 not in t


def test_conversions():
    t = Tensor([1.7, -1.2])
    for dtype in (mstype.int32, np.int32, "int32"):
        assert t.astype(dtype).dtype is mstype.int32
    assert t.int().tolist() == [1, -1]
    assert [x.dtype.name for x in (t.half(), t.float(), t.double(), t.long(), t.bool())] == [
        "float16", "float32", "float64", "int64", "bool",
    ]  # fmt: skip
    assert t.to(mstype.float64).dtype is mstype.float64
    t.set_dtype(mstype.float64)
    assert t.dtype is mstype.float64


def test_memory():
    t = Tensor([1.0, 2.0])
    t.asnumpy()[0] = 9
    assert t.tolist() == [9, 2]
    other = t.copy()
    other[0] = 1
    assert t.tolist() == [9, 2]
    assert np.asarray(t, np.float64).dtype == np.float64


@pytest.mark.parametrize("again", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies(again):
    t = Tensor([1, 2])
    made = again(t)
    made[0] = 7
    assert type(made) is Tensor
    assert (t.tolist(), made.tolist()) == ([1, 2], [7, 2])
    assert again(mstype.bool_) is mstype.bool_


X = np.arange(12).reshape(3, 4)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (1, X[1]),
        (-1, X[-1]),
        (slice(None, None, -2), X[::-2]),
        ((..., 0), X[..., 0]),
        ((None, 1), X[None, 1]),
        ((), X),
        (True, X[True]),
        ([0, 2], X[[0, 2]]),
        (([0, 2], [1, 3]), X[[0, 2], [1, 3]]),
        ((slice(None), [0, 1], None), X[:, [0, 1], None]),
        (Tensor(2), X[2]),
        (Tensor([0, 0, 2]), X[[0, 0, 2]]),
        (Tensor(X > 5), X[X > 5]),
        ((slice(0, Tensor(2)), -1), X[:2, -1]),
        (slice(1, 99), X[1:]),
    ],
)
def test_reading(index, expected):
    result = Tensor(X)[index].asnumpy()
    np.testing.assert_array_equal(result, expected)
    assert not np.may_share_memory(result, X)


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (3, IndexError, "index 3 is out of bounds for dimension with size 3"),
        ((0, 0, 0), IndexError, "too many indices for tensor of dimension2"),
        (1.5, IndexError, "index is made of int"),
        ("a", IndexError, "index is made of int"),
        (np.array([0]), IndexError, "index is made of int"),
        (Tensor([0.0, 1.0]), IndexError, r"must be int or bool type, but got \[0. 1.\]"),
        ((..., Tensor([4])), RuntimeError, "For 'Gather', the index 4 .* axis 1 with size 4"),
    ],
)
def test_reading_refuses(index, error, text):
    with pytest.raises(error, match=text):
        Tensor(X)[index]


def test_reading_a_scalar_refuses():
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor."):
        Tensor(1)[0]


def test_writing():
    t = Tensor(np.zeros((3, 2), np.int32))
    t[0] = 1.9
    t[1] = Tensor([2.5, 3.5])
    t[2] = (4, 5)
    assert t.tolist() == [[1, 1], [2, 3], [4, 5]]
    assert t.dtype is mstype.int32
    t[[0, 0], 0] = [7, 8]
    assert t[0, 0].item() == 8


@pytest.mark.parametrize(
    ("index", "value", "error", "text"),
    [
        (0, np.zeros(2), TypeError, "only support numbers, Tensor, tuple, list as value, but got"),
        (0, None, TypeError, "only support numbers, Tensor, tuple, list as value, but got"),
        (5, 1, IndexError, "Index 5 is out of bounds for axis 0 with size 3"),
        (0, [1, 2, 3], ValueError, "BroadcastTo"),
    ],
)
def test_writing_refuses(index, value, error, text):
    with pytest.raises(error, match=text):
        Tensor(np.zeros((3, 2)))[index] = value


@pytest.fixture
def record():
    """Makes records that live as long as a test."""
    names = []

    def make(name, numpy, **facts):
        names.append(name)
        facts = {"operands": ("x", "y"), "kind": "elementwise"} | facts
        facts.setdefault("promote", lambda types: [None] * len(types))
        return OpDef(name, "A record of a test.", numpy=numpy, **facts)

    yield make
    for name in names:
        del OPERATORS[name]


def test_apply(record):
    plus = record(
        "test_plus",
        "{x} + {y}",
        result=lambda types: types[0],
        promote=lambda types: ["float32", None],
    )
    result = plus(Tensor([1, 2]), 0.5)
    assert type(result) is Tensor
    assert result.dtype is mstype.float32
    assert result.tolist() == [1.5, 2.5]
    assert plus(Tensor(1.0), np.float64(1)).dtype is mstype.float32


@pytest.mark.parametrize(
    ("other", "kind"), [(None, "None"), ("a", "string"), (np.zeros(2), "numpy.ndarray")]
)
def test_apply_refuses(record, other, kind):
    plus = record("test_plus", "{x} + {y}", result=lambda types: types[0])
    with pytest.raises(TypeError) as error:
        plus(Tensor([1.0]), other)
    assert str(error.value).startswith(
        f'Failed calling TestPlus with "TestPlus()(input=Tensor, other={kind})".'
    )


@given(st.integers(-(2**40), 2**40))
def test_numbers_wrap_around(number):
    name = "test_wrapping_plus"
    plus = OPERATORS.get(name) or OpDef(
        name,
        "A record of a test.",
        ("x", "y"),
        "{x} + {y}",
        lambda types: ArrayType("uint8", ()),
        promote=lambda types: [None, None],
        kind="elementwise",
    )
    try:
        assert plus(Tensor(np.uint8(1)), number).item() == (1 + number) % 256
    finally:
        del OPERATORS[name]


def test_results_have_memory_of_their_own(record):
    same = record(
        "test_same",
        "{x}[::-1]",
        operands=("x",),
        kind="linear",
        views=("x",),
        result=lambda types: types[0],
    )
    t = Tensor([1, 2])
    same(t)[0] = 9
    assert t.tolist() == [1, 2]


def test_results_keep_their_structure(record):
    both = record(
        "test_both",
        "({x}, {x}.shape)",
        operands=("x",),
        kind="general",
        result=lambda types: types[0],
    )
    first, shape = both(Tensor([1, 2]))
    assert type(first) is Tensor
    assert shape == (2,)
    assert wrap({"a": [np.float32(1)]})["a"][0].shape == ()


def test_array_on_the_left_gives_an_array():
    result = np.ones(2, np.float32) + Tensor([1.0, 2.0])
    assert type(result) is np.ndarray
    assert result.tolist() == [2.0, 3.0]
    assert isinstance(np.float32(2) * Tensor([1.0]), np.ndarray)


def test_unknown_options_are_refused():
    assert Tensor([1.0], const_arg=True, device="CPU").shape == (1,)
    with pytest.raises(TypeError, match="dtpye"):
        Tensor([1.0], dtpye=mstype.float16)


def test_a_tensor_with_unknown_sizes_is_for_set_inputs_alone():
    class Double(nn.Cell):
        def construct(self, x):
            return x * 2

    net, like = Double(), Tensor(shape=[None, 3], dtype=mstype.float32)
    net.set_inputs(like)
    for rows in (1, 4):
        assert net(Tensor(np.ones((rows, 3), np.float32))).asnumpy().tolist() == [[2] * 3] * rows
    uses = (
        lambda: like + 1,
        lambda: like.shape,
        lambda: np.asarray(like),
        lambda: net(like),
        lambda: ms.jit(net)(like),
        lambda: ms.grad(net)(like),
        lambda: Tensor(like),
        lambda: repr(like),
        lambda: Parameter(like),
    )
    for use in uses:
        with pytest.raises(TypeError, match=r"of the shape \(None, 3\) has no data"):
            use()
