"""Values against closed forms, gradients at kinks as measured, and the text of emission."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import parse_type
from autodiff_compiler.testing.samples import CUBE, SAMPLES, X, case
from tests.operators.test_records import Program, flat

FORMS: dict[str, Any] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.log(1 + np.exp(x)),
    "rsqrt": lambda x: x**-0.5,
    "relu": lambda x: x * (x > 0),
    "tanh": lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)),
    "mod": lambda x, y: x - np.floor(x / y) * y,
    "maximum": lambda x, y: (x + y + np.abs(x - y)) / 2,
    "atan2": lambda y, x: np.angle(x + 1j * y),
}


@pytest.mark.parametrize("name", FORMS)
def test_value_is_the_closed_form(name: str) -> None:
    for sample in SAMPLES[name]:
        assert np.allclose(Program(OPERATORS[name], sample).value(), FORMS[name](*sample.operands))


def test_softmax_family() -> None:
    program = Program(OPERATORS["softmax"], case(CUBE, axis=1))
    exps = np.exp(CUBE)
    assert np.allclose(program.value(), exps / exps.sum(axis=1, keepdims=True))
    far = np.array([1000.0, 0.0])
    assert np.allclose(Program(OPERATORS["softmax"], case(far, axis=0)).value(), [1.0, 0.0])
    total = Program(OPERATORS["logsumexp"], case(far, axes=(0,), keepdims=False)).value()
    assert np.allclose(total, 1000.0)
    for end in (-np.inf, np.inf):
        ends = Program(OPERATORS["logsumexp"], case(np.full(2, end), axes=None, keepdims=False))
        assert ends.value() == end


#: Operator, operands, attributes, and the gradients that were measured (semantics: kinks).
KINKS: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[list[float], ...]]] = [
    ("relu", ([-1.0, 0.0, 1.0],), {}, ([0, 0, 1],)),
    ("abs", ([-1.0, 0.0, 1.0],), {}, ([-1, 0, 1],)),
    ("maximum", ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), {}, ([0, 0.5, 1], [1, 0.5, 0])),
    ("minimum", ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), {}, ([1, 0.5, 0], [0, 0.5, 1])),
    ("clip", ([-1.0, 0.0, 0.5, 1.0, 2.0], 0.0, 1.0), {}, ([0, 1, 1, 1, 0],)),
    ("pow", ([0.0, 0.0, 0.0], [0.0, 1.0, 2.0]), {}, ([0, 1, 0], [0, 0, 0])),
    ("pow", ([0.0, 2.0], 0), {}, ([0, 0],)),
    ("pow", ([0.0, -2.0], 2), {}, ([0, -4],)),
    ("pow", ([-2.0, -2.0], 3), {}, ([12, 12],)),
    ("pow", (0, [0.0, 1.0]), {}, ([0, 0],)),
    ("sqrt", ([0.0, 4.0],), {}, ([np.inf, 0.25],)),
    ("log", ([0.0, 2.0],), {}, ([np.inf, 0.5],)),
    ("sigmoid", ([-200.0, 0.0, 200.0],), {}, ([0, 0.25, 0],)),
    ("softplus", ([-100.0, 0.0, 100.0],), {}, ([0, 0.5, 1],)),
    ("mod", ([5.0, -5.0], [3.0, 3.0]), {}, ([1, 1], [-1, 2])),
    ("max", ([3.0, 1.0, 3.0, 3.0],), dict(axes=None, keepdims=False, first=False),
     ([1 / 3, 0, 1 / 3, 1 / 3],)),
    ("max", ([[3.0, 1.0], [3.0, 2.0]],), dict(axes=(0,), keepdims=False, first=True),
     ([1, 0, 0, 1],)),
    ("min", ([[3.0, 1.0], [3.0, 2.0]],), dict(axes=(0,), keepdims=False, first=False),
     ([0.5, 1, 0.5, 0],)),
    ("prod", ([2.0, 0.0, 3.0],), dict(axes=None, keepdims=False), ([0, 6, 0],)),
    ("prod", ([0.0, 0.0, 3.0],), dict(axes=None, keepdims=False), ([0, 0, 0],)),
    ("stop_gradient", ([1.0, 2.0],), {}, ([0, 0],)),
]  # fmt: skip


@pytest.mark.parametrize("position", range(len(KINKS)))
def test_gradient_at_a_kink(position: int) -> None:
    name, operands, attrs, expected = KINKS[position]
    arrays = [np.array(x) if isinstance(x, list) else x for x in operands]
    program = Program(OPERATORS[name], case(*arrays, **attrs))
    ct = Value(program.out.type, "ct")
    found = program.sweep(list(program.builder.ops), {program.out: ct})
    ones = np.ones_like(program.value())
    for param, numbers in zip(program.params, expected, strict=True):
        part = found.get(param)
        if part is None:
            assert not any(numbers)
            continue
        (got,) = program.run([part], [*program.args, ones], [ct])
        assert flat(got) == pytest.approx(np.array(numbers, float), abs=1e-12)


@pytest.mark.parametrize(
    ("index", "rest", "text"),
    [
        ((("slice", 1, 3, None),), (), "{x}[1:3]"),
        (("...", 0), (), "{x}[..., 0]"),
        ((("op", 0),), (np.array(1),), "{x}[{1}]"),
        ((("slice", None, None, -1), None), (), "{x}[::-1, None]"),
        (((("slice", ("op", 0), None, None)),), (1,), "{x}[{1}:]"),
        ((), (), "{x}[()]"),
    ],
)
def test_a_subscript_reads_as_a_person_writes_it(index: Any, rest: Any, text: str) -> None:
    program = Program(OPERATORS["index"], case(CUBE, *rest, index=index))
    assert program.out is not None
    types = [param.type for param in program.params]
    assert OPERATORS["index"].template(types, {"index": index}) == text


@pytest.mark.parametrize(
    ("name", "types", "attrs", "result"),
    [
        ("add", "f32[b,1] f32[3]", {}, "f32[b,3]"),
        ("add", "f32[?] f32[...]", {}, "f32[...]"),
        ("div", "i64[2] i64[2]", {}, "f32[2]"),
        ("matmul", "f32[b,2,k] f32[k,n]", {}, "f32[b,2,n]"),
        ("matmul", "f32[3] f32[3]", {}, "f32[]"),
        ("matmul", "any[...] any[...]", {}, "any[...]"),
        ("index", "f32[b,3]", {"index": (0, ("slice", None, 2, None))}, "f32[2]"),
        ("index", "f32[b,3]", {"index": (("slice", 1, None, None),)}, "f32[?,3]"),
        ("concat", "f32[2,3] f32[b,3]", {"axis": 0}, "f32[?,3]"),
        ("stack", "f32[b] f32[b]", {"axis": 1}, "f32[b,2]"),
        ("mean", "f32[b,3]", {"axes": (0,), "keepdims": False}, "f32[3]"),
    ],
)
def test_types_with_symbols_and_unknowns(name: str, types: str, attrs: Any, result: str) -> None:
    builder = Builder()
    with builder:
        out = OPERATORS[name](*(Value(parse_type(text), "x") for text in types.split()), **attrs)
    assert str(out.type) == result


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "error", "words"),
    [
        ("add", (X, CUBE), {}, ShapeError, "do not broadcast"),
        ("matmul", (X, X), {}, ShapeError, "3 is not 2"),
        ("matmul", (X, X.T.astype(np.float32)), {}, DTypeError, "one dtype"),
        ("index", (X,), {"index": (5,)}, ShapeError, "out of bounds"),
        ("index", (X,), {"index": (0, 0, 0)}, ShapeError, "too many indices"),
        ("index", (X, X), {"index": (("op", 0),)}, DTypeError, "ints or bools"),
        ("set_item", (X, CUBE), {"index": (0,)}, ShapeError, "cannot be"),
        ("squeeze", (X,), {"axes": (0,)}, ShapeError, "size 1"),
        ("sum", (X,), {"axes": (2,), "keepdims": False}, ShapeError, "out of range"),
        ("bit_and", (X, X), {}, DTypeError, "bitwise"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(
    name: str, operands: Any, attrs: Any, error: type[Exception], words: str
) -> None:
    builder = Builder()
    values = [Value(Program(OPERATORS["copy"], case(x)).params[0].type, "x") for x in operands]
    if name == "matmul" and words == "one dtype":
        values[1] = Value(parse_type("f32[3,2]"), "y")
    with builder, pytest.raises(error, match=words):
        OPERATORS[name](*values, **attrs)
