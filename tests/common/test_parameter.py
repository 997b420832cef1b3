"""Parameter and ParameterTuple, against measured MindSpore behaviour."""

import copy
import pickle

import numpy as np
import pytest

from autodiff_compiler.common import Parameter, ParameterTuple, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import initializer
from autodiff_compiler.common.parameter import _is_parameter_generated


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (np.array([6.0]), mstype.float64),
        ([1.0], mstype.float32),
        (3, mstype.int32),
        (3.5, mstype.float32),
        (Tensor(np.int8(1)), mstype.int8),
        (initializer("ones", [2], mstype.float16), mstype.float16),
    ],
)
def test_dtype(data, dtype):
    assert Parameter(data).dtype is dtype


def test_text():
    p = Parameter([1.0, 2.0], name="w")
    text = "Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)"
    assert str(p) == repr(p) == text
    assert str(ParameterTuple([p])) == f"({text},)"


def test_names():
    first, second = Parameter([1.0]), Parameter([1.0], name="")
    assert first.name.startswith("Parameter#")
    assert int(second.name[10:]) == int(first.name[10:]) + 1
    assert _is_parameter_generated(first.name)
    first.name = "n"
    assert first.name == "n"
    assert not _is_parameter_generated(first.name)
    first.name = None
    assert first.name.startswith("Parameter#")


@pytest.mark.parametrize(
    ("facts", "error", "text"),
    [
        ({"default_input": True}, ValueError, "Parameter data can not be `bool`"),
        ({"default_input": None}, TypeError, "For 'Tensor', the type of 'input_data'"),
        ({"default_input": "abc"}, TypeError, "For 'Tensor', the type of 'input_data'"),
        (
            {"default_input": 1, "name": 3},
            ValueError,
            "The type of the Parameter's name should be 'string' or 'None', but got <class 'int'>.",
        ),
        (
            {"default_input": 1, "requires_grad": 1},
            TypeError,
            "The argument `requires_grad` must be bool type",
        ),
    ],
)
def test_refuses(facts, error, text):
    with pytest.raises(error, match=text):
        Parameter(**facts)


def test_set_data():
    p = Parameter([1.0, 2.0])
    before = p.asnumpy()
    assert p.set_data(Tensor(np.zeros((1, 3)))) is p
    assert (p.shape, p.dtype) == ((1, 3), mstype.float32)
    assert before.tolist() == [1, 2]
    with pytest.raises(TypeError) as error:
        p.set_data(np.zeros(2))
    assert str(error.value) == (
        "Parameter data must be [`Tensor`, `int`, `float`] or a kind of `Tensor` "
        "(like `Tensor`). But with type <class 'numpy.ndarray'>."
    )


def test_values_are_plain_tensors_and_writing_is_in_place():
    p = Parameter([1.0, 2.0])
    p[0] = 9.0
    assert type(p.data) is Tensor
    assert type(p.value()) is Tensor
    assert p.data.tolist() == [9, 2]


def test_clone():
    p = Parameter([1.0, 2.0], name="w", requires_grad=False)
    same, zeros = p.clone(), p.clone("zeros")
    same[0] = 5
    assert (same.name, same.requires_grad, p.tolist()) == ("w", False, [1, 2])
    assert (zeros.tolist(), zeros.dtype) == ([0, 0], mstype.float32)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies(again):
    p = Parameter([1.0], name="w", requires_grad=False)
    made = again(ParameterTuple([p]))
    assert type(made) is ParameterTuple
    assert str(made[0]) == str(p)
    made[0][0] = 2
    assert p.tolist() == [1]


def test_parameter_tuple():
    a, b = Parameter([1.0], name="a"), Parameter([2.0], name="b")
    assert ParameterTuple(p for p in (a, b)) == (a, b)
    assert type(ParameterTuple({"a": a}.values()) + ()) is tuple
    assert type(ParameterTuple([a, b])[:1]) is tuple
    assert len(ParameterTuple([a, a])) == 2
    assert ParameterTuple(()) == ()
    clones = ParameterTuple([a, b]).clone("m", "zeros")
    assert [p.name for p in clones] == ["m.a", "m.b"]
    assert clones[1].tolist() == [0]


def test_parameter_tuple_refuses():
    a = Parameter([1.0], name="a")
    with pytest.raises(TypeError) as error:
        ParameterTuple([1])
    assert str(error.value) == (
        "For ParameterTuple initialization, ParameterTuple input should be 'Parameter' "
        "collection, but got a <class 'list'>."
    )
    for wrong in (3, a, [a, Tensor(1)]):
        with pytest.raises(TypeError, match="input should be 'Parameter' collection"):
            ParameterTuple(wrong)
    with pytest.raises(ValueError, match=r"The value Parameter \(name=a, .* , its name 'a' alrea"):
        ParameterTuple([a, Parameter([2.0], name="a")])
