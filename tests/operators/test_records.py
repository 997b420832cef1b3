"""Every operator record against its samples: types, values, both derivatives, order two.

The table is ``OPERATORS`` itself, so a new record is tested as soon as it has a line of samples,
and fails as long as it has none. Derivatives are held against central differences in float64.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import autodiff_compiler.operators  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Op, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS, OpDef, call_with_named, rule_arguments, value_type
from autodiff_compiler.ir.types import (
    SHAPE,
    UNDEFINED,
    ArrayType,
    ListType,
    ScalarType,
    Type,
    is_floating,
)
from autodiff_compiler.operators.core.containers import zero_of
from autodiff_compiler.span import NOWHERE
from autodiff_compiler.testing.samples import SAMPLES, Sample, real
from autodiff_compiler.transforms.reverse.sweep import ReverseTransform
from autodiff_compiler.transforms.tangent.operators import jvp_of_operator, transpose_adjoint
from tests.interpreter import run

#: Operators with regions, and tuples and dicts, have tests of their own (tests/transforms).
# Effects have no result; tests/frontend/test_effects.py runs them. Lowered records are never
#: differentiated; tests/passes/memory/test_assign_buffers.py is about them.
UNTABLED = ("control", "container", "effect", "lowered")
TABLE = [name for name in OPERATORS if OPERATORS[name].kind not in UNTABLED]
CASES = [
    pytest.param(OPERATORS[name], sample, id=f"{name}-{number}")
    for name in TABLE
    for number, sample in enumerate(SAMPLES.get(name, ()))
]
#: Operators whose result has a size that values decide.
SIZED_AT_RUN_TIME = (
    "unbroadcast_to", "index", "stack_rows", "repeat", "nonzero", "first_occurrences", "unique",
    "draw_order", "list_concat", "expand_dims_where",
)  # fmt: skip
SMOOTH = [p for p in CASES if p.values[0].kind != "zero"]

Typing = Callable[[Type], Type]


def test_every_operator_has_samples_and_a_doc() -> None:
    assert [name for name in TABLE if not SAMPLES.get(name)] == []
    assert [name for name in SAMPLES if name not in OPERATORS] == []
    assert [name for name in TABLE if not OPERATORS[name].doc.endswith(".")] == []


# ---- building and running a little function


def exact(type_: Type) -> Type:
    return type_


def unsized(type_: Type) -> Type:
    """The type without its sizes; arrays of numbers that are computed with may have any."""
    if isinstance(type_, ListType):
        return ListType(unsized(type_.item))
    if isinstance(type_, ArrayType) and type_.shape is not None:
        return ArrayType(type_.dtype, (None,) * len(type_.shape))
    return type_


def type_of_sample(value: Any) -> Type:
    if isinstance(value, tuple):
        return SHAPE
    return ListType(value_type(value[0])) if isinstance(value, list) else value_type(value)


def taken(value: Any, dtype: str) -> Any:
    """A sample operand in ``dtype``, if it is an array of floats."""
    if isinstance(value, list):
        return [taken(item, dtype) for item in value]
    floats = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return np.asarray(value, dtype) if floats else value


class Program:
    """A function that applies one record to a sample, and what can be asked about it."""

    def __init__(
        self, opdef: OpDef, sample: Sample, dtype: str = "float64", typing: Typing = exact
    ):
        self.opdef, self.attrs = opdef, sample.attrs
        self.args: list[Any] = []
        self.params: list[Value] = []
        self.positions: list[int] = []
        self.builder = Builder()
        operands: list[Any] = []
        for position, given in enumerate(sample.operands):
            if isinstance(given, (list, tuple, np.ndarray, np.random.Generator)):
                value = taken(given, dtype)
                self.args.append(value)
                self.params.append(Value(typing(type_of_sample(value)), f"x{position}"))
                self.positions.append(position)
                operands.append(self.params[-1])
            else:
                operands.append(given)
        with self.builder:
            self.out = opdef(*operands, **sample.attrs)
            assert isinstance(self.out, Value), "the sample was computed while compiling"
        self.operands = operands

    @property
    def active(self) -> list[int]:
        """Which parameters calculus is about."""
        return [n for n, arg in enumerate(self.args) if _is_real(arg)]

    def run(self, returns: Sequence[Any], args: Sequence[Any], extra: Sequence[Value] = ()) -> list:
        needed, ops = {*returns}, []
        for op in reversed(self.builder.ops):
            if not needed.isdisjoint(op.results):
                needed.update(operand for operand in op.operands if isinstance(operand, Value))
                ops.insert(0, op)
        region = Region((*self.params, *extra), tuple(ops), tuple(returns))
        fresh = [
            copy.deepcopy(arg) if isinstance(arg, np.random.Generator) else arg for arg in args
        ]
        with np.errstate(all="ignore"):
            return run(Function("f", region, NOWHERE), fresh)

    def value(self, args: Sequence[Any] | None = None) -> Any:
        return self.run([self.out], self.args if args is None else args)[0]

    def of(self, position: int) -> Callable[[Any], Any]:
        """The value as a function of one argument."""
        return lambda x: self.value(at(self.args, position, x))

    def sweep(self, ops: Sequence[Op], seeds: dict[Value, Any]) -> dict[Value, Any]:
        """The reverse sweep over straight-line operations, from the records' own rules."""
        cotangents = dict(seeds)
        with self.builder:
            for op in reversed(ops):
                if op.result not in cotangents:
                    continue
                facts = rule_arguments(op.opdef, op.operands, op.attrs, op.result)
                for name, operand in zip(facts["operands"], op.operands):
                    rule = op.opdef.rule(op.opdef.adjoint, name)
                    if rule is None or not isinstance(operand, Value):
                        assert op.opdef.kind == "zero" or not _carries(operand), (op.name, name)
                        continue
                    part = call_with_named(rule, {**facts, "ct": cotangents[op.result]})
                    if part is not None and operand in cotangents:
                        part = OPERATORS["add"](cotangents[operand], part)
                    if part is not None:
                        cotangents[operand] = part
        return cotangents

    def tangent(self, dots: dict[Value, Value]) -> Any:
        """The output's tangent, None for zero."""
        op = self.builder.producer(self.out)
        assert op is not None
        found = {
            k: dots[x] for k, x in enumerate(op.operands) if isinstance(x, Value) and x in dots
        }

        def whole(operand: Any) -> Any:
            return dots[operand] if operand in dots else zero_of(operand)

        return jvp_of_operator(op, found, whole, ReverseTransform())[0] if found else None


def _is_real(arg: Any) -> bool:
    return _is_real(arg[0]) if isinstance(arg, list) else getattr(arg, "dtype", int) == np.float64


def _carries(operand: Any) -> bool:
    if not isinstance(operand, Value):
        return False
    type_ = operand.type.item if isinstance(operand.type, ListType) else operand.type
    return isinstance(type_, ArrayType) and is_floating(type_)


def fits(type_: Type, value: Any) -> bool:
    """Whether a run-time value is of a type."""
    if isinstance(type_, ListType):
        return isinstance(value, list) and all(fits(type_.item, item) for item in value)
    if isinstance(type_, ScalarType):
        return type(value).__name__ == type_.kind
    if isinstance(type_, ArrayType):
        have = np.asarray(value)
        if type(value) in (bool, int, float) or type_.dtype not in (None, have.dtype.name):
            return False
        dims = have.shape if type_.shape is None else type_.shape
        return len(dims) == have.ndim and all(
            dim in (None, size) for dim, size in zip(dims, have.shape)
        )
    return type_ == SHAPE and isinstance(value, tuple) or type_ == UNDEFINED and value is None


def flat(value: Any) -> np.ndarray:
    """All the numbers of an array or list in one row."""
    parts = value if isinstance(value, list) else [value]
    rows = [np.asarray(np.real(part), np.float64).ravel() for part in parts]
    return np.concatenate(rows or [[]])


def unflat(row: np.ndarray, like: Any) -> Any:
    """The inverse of ``flat``."""
    if not isinstance(like, list):
        return row.reshape(np.shape(like))
    sizes = np.cumsum([np.size(item) for item in like])[:-1]
    return [part.reshape(np.shape(item)) for part, item in zip(np.split(row, sizes), like)]


def weights(like: Any, seed: int = 7) -> Any:
    """A fixed direction of the structure of ``like``."""
    return unflat(real(flat(like).size, low=0.5, high=1.5, seed=seed), like)


def directional(f: Callable[[Any], Any], x: Any, direction: Any, step: float = 1e-5) -> np.ndarray:
    """The central difference of ``f`` at ``x`` along a direction."""
    move = step * flat(direction)
    ahead, behind = f(unflat(flat(x) + move, x)), f(unflat(flat(x) - move, x))
    return (flat(ahead) - flat(behind)) / (2 * step)


def gradient(f: Callable[[Any], Any], x: Any, ct: Any) -> np.ndarray:
    """The numeric cotangent of ``x``: one difference for every element."""
    basis = np.eye(flat(x).size)
    return np.array([flat(ct) @ directional(f, x, unflat(e, x)) for e in basis])


def at(args: Sequence[Any], position: int, value: Any) -> list[Any]:
    return [value if n == position else arg for n, arg in enumerate(args)]


# ---- the laws


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(("opdef", "sample"), CASES)
def test_result_is_of_the_type_that_the_record_promises(
    opdef: OpDef, sample: Sample, dtype: str
) -> None:
    program = Program(opdef, sample, dtype)
    value = program.value()
    assert fits(program.out.type, value), f"{program.out.type} is not the type of {value!r}"
    if isinstance(program.out.type, ArrayType):
        assert program.out.type.is_static or opdef.name in SIZED_AT_RUN_TIME
    vague = Program(opdef, sample, dtype, unsized)
    assert fits(vague.out.type, vague.value()), f"{vague.out.type} is not the type of {value!r}"


@pytest.mark.parametrize("typing", [exact, unsized])
@pytest.mark.parametrize(("opdef", "sample"), SMOOTH)
def test_adjoint_agrees_with_differences(opdef: OpDef, sample: Sample, typing: Typing) -> None:
    program = Program(opdef, sample, typing=typing)
    if not _carries(program.out):
        return
    ct, weight = Value(program.out.type, "ct"), weights(program.value())
    found = program.sweep(list(program.builder.ops), {program.out: ct})
    for n in program.active:
        exactly = gradient(program.of(n), program.args[n], weight)
        part = found.get(program.params[n])
        if part is None:
            assert np.allclose(exactly, 0.0)
            continue
        (got,) = program.run([part], [*program.args, weight], [ct])
        assert fits(program.params[n].type, got)
        assert fits(part.type, got)
        assert flat(got) == pytest.approx(exactly, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("opdef", "sample"), SMOOTH)
def test_cotangent_has_the_dtype_of_its_primal(opdef: OpDef, sample: Sample, dtype: str) -> None:
    program = Program(opdef, sample, dtype)
    if not _carries(program.out):
        return
    ct = Value(program.out.type, "ct")
    found = program.sweep(list(program.builder.ops), {program.out: ct})
    value = program.value()
    several = isinstance(value, list)
    items = [np.ones_like(item) for item in value] if several else np.ones_like(value)
    for param in program.params:
        if isinstance(found.get(param), Value):
            (got,) = program.run([found[param]], [*program.args, items], [ct])
            assert fits(param.type, got), f"{got!r} is no cotangent of a {param.type}"


@pytest.mark.parametrize("typing", [exact, unsized])
@pytest.mark.parametrize(("opdef", "sample"), SMOOTH)
def test_tangent_agrees_with_differences_and_with_the_adjoint(
    opdef: OpDef, sample: Sample, typing: Typing
) -> None:
    program = Program(opdef, sample, typing=typing)
    for n in program.active if _carries(program.out) else ():
        dot = Value(program.params[n].type, "dot")
        direction = weights(program.args[n], seed=11)
        before = list(program.builder.ops)
        with program.builder:
            out = program.tangent({program.params[n]: dot})
        expected = directional(program.of(n), program.args[n], direction)
        if out is None:
            assert np.allclose(expected, 0.0)
            continue
        (got,) = program.run([out], [*program.args, direction], [dot])
        assert fits(program.out.type, got) and flat(got).shape == flat(program.value()).shape
        assert flat(got) == pytest.approx(expected, 1e-6, 1e-6)
        ct, weight = Value(program.out.type, "ct"), weights(program.value())
        part = program.sweep(before, {program.out: ct}).get(program.params[n])
        if part is not None:
            (back,) = program.run([part], [*program.args, direction, weight], [dot, ct])
            assert flat(weight) @ flat(got) == pytest.approx(flat(back) @ flat(direction))


@pytest.mark.parametrize(("opdef", "sample"), SMOOTH)
def test_an_adjoint_transposed_is_the_tangent(opdef: OpDef, sample: Sample) -> None:
    program = Program(opdef, sample)
    op = program.builder.producer(program.out)
    assert op is not None
    facts = rule_arguments(op.opdef, op.operands, op.attrs, op.result)
    for n in program.active if _carries(program.out) else ():
        places = [k for k, operand in enumerate(op.operands) if operand is program.params[n]]
        if not places:
            continue  # it was cast first
        dot = Value(program.params[n].type, "dot")
        direction = weights(program.args[n], seed=11)
        with program.builder:
            (out,) = transpose_adjoint(op, {k: dot for k in places}, facts, ReverseTransform())
        expected = directional(program.of(n), program.args[n], direction)
        if out is None:
            assert np.allclose(expected, 0.0)
            continue
        (got,) = program.run([out], [*program.args, direction], [dot])
        assert flat(got) == pytest.approx(expected, 1e-6, 1e-6)


@pytest.mark.parametrize(("opdef", "sample"), SMOOTH)
def test_adjoint_of_the_adjoint(opdef: OpDef, sample: Sample) -> None:
    """Order two: the sweep over the rules' own operations, against differences of the first."""
    program = Program(opdef, sample)
    if not _carries(program.out):
        return
    ct, weight = Value(program.out.type, "ct"), weights(program.value())
    found = program.sweep(list(program.builder.ops), {program.out: ct})
    every = list(program.builder.ops)
    variables = [*program.params, ct]
    args = [*program.args, weight]
    for n in program.active:
        first = found.get(program.params[n])
        if not isinstance(first, Value):
            continue
        outer, side = Value(first.type, "outer"), weights(program.args[n], seed=5)
        second = program.sweep(every, {first: outer})
        for m, variable in enumerate(variables):
            if m not in (*program.active, len(args) - 1):
                continue

            def cotangent(x: Any, first: Value = first, m: int = m) -> Any:
                return program.run([first], at(args, m, x), [ct])[0]

            exactly = gradient(cotangent, args[m], side)
            part = second.get(variable)
            if part is None or part is outer and variable is first:
                assert np.allclose(exactly, 0.0, atol=1e-5) or variable is first
                continue
            (got,) = program.run([part], [*args, side], [ct, outer])
            assert flat(got) == pytest.approx(exactly, rel=1e-5, abs=1e-5)


def _shrunk(sample: Sample) -> Iterator[Sample]:
    """The sample with every array 0-d, and with every array empty."""
    for pick in (lambda x: np.array(x.ravel()[0]), lambda x: x.ravel()[:0].reshape(0, 3)):
        operands = (pick(x) if isinstance(x, np.ndarray) else x for x in sample.operands)
        yield Sample(tuple(operands), sample.attrs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [n for n in TABLE if OPERATORS[n].kind == "elementwise"])
def test_scalars_and_empty_arrays(name: str, dtype: str) -> None:
    for sample in _shrunk(SAMPLES[name][0]):
        program = Program(OPERATORS[name], sample, dtype)
        ct = Value(program.out.type, "ct")
        found = program.sweep(list(program.builder.ops), {program.out: ct})
        value = program.value()
        assert fits(program.out.type, value)
        for param in program.params:
            if isinstance(found.get(param), Value):
                (got,) = program.run([found[param]], [*program.args, np.ones_like(value)], [ct])
                assert fits(param.type, got)
