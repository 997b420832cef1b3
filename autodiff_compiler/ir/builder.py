"""``Builder`` makes operations, with the result types that their operator definitions infer.

While a builder is active (``with builder:``), arithmetic on values and calls of operators add
operations to it. Rules and library code are therefore plain expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from autodiff_compiler.errors import CompileError, DTypeError
from autodiff_compiler.faults import note_place
from autodiff_compiler.ir.labels import composed, label
from autodiff_compiler.ir.nodes import (
    AnyOperand,
    Function,
    Op,
    Region,
    Value,
    type_of,
)
from autodiff_compiler.ir.opdef import BUILDING, OPERATORS, PRECISION, OpDef, value_type
from autodiff_compiler.ir.types import (
    INT,
    PROMOTION,
    UNDEFINED,
    ArrayType,
    ListType,
    Type,
    common_dtype,
    join,
    rounds_to_bfloat16,
)
from autodiff_compiler.span import NOWHERE, Span


class Unreached(Exception):
    """The signal that the rest of a block is never run, because an operation raises."""


class Builder:
    """Collects operations, block by block.

    The front end passes three functions:

    lift         turns a foreign constant (a tensor, an ndarray) into a value.
    call_inside  calls a function in the code that is being compiled.
    known_array  returns the array of a lifted constant, None for other values.
    """

    def __init__(
        self,
        lift: Callable[[Any], Value] | None = None,
        call_inside: Callable[..., Any] | None = None,
        known_array: Callable[[Value], Any] = lambda value: None,
    ):
        self.call_inside = call_inside
        self.blocks: list[list[Op]] = [[]]
        self.span: Span = NOWHERE
        self.role = "primal"
        self._lift, self.known_array = lift, known_array
        #: Is called with each operation that is added.
        self.watch: Callable[[Op], None] | None = None
        self._producers: dict[Value, Op] = {}

    def __enter__(self) -> Builder:
        BUILDING.stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        BUILDING.stack.pop()

    def at(self, span: Span, role: str | None = None) -> _At:
        """Opens a block whose operations have this span, without its aside, and this role."""
        return _At(self, replace(span, aside="") if span.aside else span, role or self.role)

    @contextmanager
    def with_aside(self, aside: str) -> Iterator[None]:
        """Opens a block whose operations print this comment after their line."""
        before = self.span
        self.span = replace(before, aside=aside)
        try:
            yield
        finally:
            self.span = before

    @contextmanager
    def block(self, ops: list[Op] | None = None) -> Iterator[list[Op]]:
        """Opens a block whose operations are collected in a list of its own, or in ``ops``.

        If one of them surely raises (``Unreached``), they are added to the outer block.
        """
        ops = [] if ops is None else ops
        self.blocks.append(ops)
        try:
            yield ops
        except Unreached:
            self.blocks[-2].extend(ops)
            raise
        finally:
            assert self.blocks.pop() is ops

    @property
    def ops(self) -> list[Op]:
        return self.blocks[-1]

    def producer(self, operand: Any) -> Op | None:
        """Returns the operation that defines a value here; None for parameters and literals."""
        return self._producers.get(operand) if isinstance(operand, Value) else None

    def operand(self, thing: Any) -> AnyOperand:
        """Converts any operand to a value or literal."""
        if isinstance(thing, Value):
            return thing
        if thing is None or isinstance(thing, (bool, int, float, complex, str)):
            return thing
        if self._lift is None:
            raise DTypeError(f"a {type(thing).__name__} cannot be an operand")
        return self._lift(thing)

    def apply(self, opdef: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Adds an operation to the block; returns its result, or a tuple of several.

        An operator on literals alone is evaluated at once. A container of literals stays a value.
        """
        if PROMOTION.numpy and any(isinstance(operand, np.generic) for operand in operands):
            operands = self._without_numpy_scalars(opdef, operands, attrs)
        given = tuple(self.operand(operand) for operand in operands)
        known = not any(isinstance(operand, Value) for operand in given)
        if given and known and opdef.kind != "container":
            return opdef.evaluate(*given, **attrs)
        return self.make(opdef, given, attrs)

    def _without_numpy_scalars(
        self, opdef: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]
    ) -> list:
        """Replaces NumPy's scalars by Python numbers, or by constants of their dtype.

        By numbers only if these promote alike: a Python number adapts to the dtype of arrays, and
        ``np.float64(2)`` does not.
        """
        scalars = [isinstance(operand, np.generic) for operand in operands]
        given: list[Any] = [
            o if scalar else self.operand(o) for o, scalar in zip(operands, scalars)
        ]
        if not any(isinstance(operand, Value) for operand in given):
            return given
        plain = [o.item() if scalar else o for o, scalar in zip(given, scalars)]
        strong = tuple(value_type(o) if s else type_of(o) for o, s in zip(given, scalars))
        weak = tuple(map(type_of, plain))
        if _promote_alike(weak, strong) and opdef.alike(weak, strong, attrs):
            return plain
        return [
            OPERATORS["full"](shape=(), dtype=o.dtype.name, value=o.item()) if scalar else o
            for o, scalar in zip(given, scalars)
        ]

    def make(self, opdef: OpDef, given: Sequence[AnyOperand], attrs: Mapping[str, Any]) -> Any:
        """Adds an operation on values and literals; it is not evaluated, even on literals alone."""
        given = tuple(given)
        operand_types = tuple(map(type_of, given))
        if opdef.rounds(operand_types):
            return self._in_float32(opdef, given, attrs)
        if opdef.promote is not None:
            wanted = _promoted(opdef, operand_types, attrs)
            if any(wanted):
                given = tuple(self._cast(o, dtype) for o, dtype in zip(given, wanted, strict=True))
                operand_types = tuple(map(type_of, given))
        try:
            types = _result_type(opdef, operand_types, attrs)
        except CompileError as error:
            raise self.with_span(error) from None
        folded = self._project(opdef, given, attrs)
        if folded is not None:
            return folded
        several = isinstance(types, tuple)
        results = tuple(Value(type_) for type_ in (types if several else (types,)))
        if not several:
            results[0].name = label(opdef, given, attrs)
        self.add(Op(opdef, given, dict(attrs), results, self.span, self.role))
        return results if several else results[0]

    def _in_float32(self, opdef: OpDef, given: tuple, attrs: Mapping[str, Any]) -> Any:
        """Adds an operation on bfloat16: it computes in float32, and its results are rounded."""
        types = tuple(map(type_of, given))
        wide = (
            self._cast(o, "float32" if getattr(t, "dtype", None) == "bfloat16" else None)
            for o, t in zip(given, types)
        )
        wide_results = self.make(opdef, tuple(wide), attrs)

        def narrow(result: Any) -> Any:
            single = isinstance(result, Value) and result.dtype_name == "float32"
            return self._cast(result, "bfloat16") if single else result

        if not rounds_to_bfloat16(types):
            return wide_results
        return (
            tuple(map(narrow, wide_results))
            if isinstance(wide_results, tuple)
            else narrow(wide_results)
        )

    def add(self, op: Op) -> Op:
        """Adds a finished operation."""
        if self.watch is not None:
            self.watch(op)
        self.blocks[-1].append(op)
        for result in op.results:
            self._producers[result] = op
        return op

    def with_span(self, error: CompileError) -> CompileError:
        """Adds the current span to every problem of ``error`` that has none."""
        span = None if self.span is NOWHERE else self.span
        return error.holding([p if p.span else replace(p, span=span) for p in error.problems])

    def _cast(self, operand: AnyOperand, dtype: str | None) -> AnyOperand:
        if dtype is None or type_of(operand) == UNDEFINED or not isinstance(operand, Value):
            return operand
        return OPERATORS["cast"](operand, dtype=dtype)

    def _project(self, opdef: OpDef, operands: tuple, attrs: Mapping[str, Any]) -> Any:
        """Returns the operand that an ``item`` of a container made here is; else None."""
        maker = self.producer(operands[0]) if opdef.name == "item" else None
        if maker is None or maker.name not in ("make_tuple", "make_dict"):
            return None
        keys = maker.attrs.get("keys", tuple(range(len(maker.operands))))
        return maker.operands[keys.index(attrs["key"])]

    def branch(
        self, predicate: AnyOperand, then: Region, orelse: Region, names: Sequence[str] = ()
    ) -> tuple[Value, ...]:
        """Adds an ``if`` of two finished regions with the same number of yields."""
        results = []
        for position, (left, right) in enumerate(zip(then.yields, orelse.yields, strict=True)):
            joined = join(type_of(left), type_of(right))
            if joined is None:
                raise self.with_span(
                    DTypeError(
                        "the branches give the same variable different types: "
                        f"{type_of(left)} and {type_of(right)}",
                        "assign a value of the same type in both branches",
                    )
                )
            results.append(Value(joined, names[position] if position < len(names) else ""))
        regions = (then, orelse)
        op = Op(OPERATORS["if"], (predicate,), {}, tuple(results), self.span, self.role, regions)
        return self.add(op).results

    def loop(
        self,
        bounds: Sequence[AnyOperand] | None,
        inits: Sequence[AnyOperand],
        reads: Sequence[AnyOperand],
        body: Region,
        condition: Region | None = None,
        until: bool = False,
        reverse: bool = False,
        checkpoint: tuple[str, int] | None = None,
    ) -> Op:
        """Adds a ``for`` (with ``bounds``) or a ``while`` (with ``condition``); see ``Loop``."""
        carries = len(inits)
        lead = carries + (2 if bounds is not None else 1)
        params = body.params[lead - carries : lead]
        results = [Value(param.type, param.name, param.has_user_name) for param in params]
        for yielded in body.yields[carries : len(body.yields) - until]:
            name = composed(yielded.name, "tape") if isinstance(yielded, Value) else "tape"
            results.append(Value(ListType(type_of(yielded)), name))
        results.append(Value(INT, "count"))
        regions = (body,) if condition is None else (condition, body)
        attrs: dict[str, Any] = {"carries": carries, "until": until, "reverse": reverse}
        if checkpoint is not None:
            attrs["checkpoint"] = checkpoint
        opdef = OPERATORS["for" if bounds is not None else "while"]
        operands = (*(bounds or ()), *inits, *reads)
        return self.add(Op(opdef, operands, attrs, tuple(results), self.span, self.role, regions))

    def call(
        self, callee: Function, operands: Sequence[AnyOperand], recompute: bool = False
    ) -> tuple[Value, ...]:
        """Adds a call, with one result for each return of ``callee``.

        With ``recompute`` the backward function rematerialises what it reads.
        """
        results = tuple(
            Value(type_of(value), value.name if isinstance(value, Value) else "")
            for value in callee.returns
        )
        attrs = {"callee": callee, "recompute": True} if recompute else {"callee": callee}
        op = Op(OPERATORS["call"], tuple(operands), attrs, results, self.span, self.role)
        return self.add(op).results


class _At:
    """The block of ``Builder.at``. A plain class, because each expression is evaluated in one."""

    __slots__ = ("builder", "there", "before")

    def __init__(self, builder: Builder, span: Span, role: str):
        self.builder, self.there = builder, (span, role)

    def __enter__(self) -> None:
        self.before = self.builder.span, self.builder.role
        self.builder.span, self.builder.role = self.there

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            note_place(error, self.builder.span)
        self.builder.span, self.builder.role = self.before


def _promoted(
    opdef: OpDef, types: tuple[Type, ...], attrs: Mapping[str, Any]
) -> Sequence[str | None]:
    """Returns the dtypes to which operands are cast. Without attributes they are cached."""
    assert opdef.promote is not None
    if attrs:
        return opdef.promote(types, **attrs)
    return _promoted_types(opdef, types, PROMOTION.numpy, PRECISION.double)


def _result_type(opdef: OpDef, types: tuple[Type, ...], attrs: Mapping[str, Any]) -> Any:
    """Infers the result type, or a tuple of them. Without attributes it is cached."""
    if attrs:
        return opdef.result_type(types, attrs)
    return _inferred_type(opdef, types, PROMOTION.numpy, PRECISION.double)


# Types depend on the settings of this thread, which are therefore arguments.


@lru_cache(maxsize=4096)
def _promoted_types(
    opdef: OpDef, types: tuple[Type, ...], *settings: bool
) -> tuple[str | None, ...]:
    assert opdef.promote is not None
    return tuple(opdef.promote(types))


@lru_cache(maxsize=4096)
def _inferred_type(opdef: OpDef, types: tuple[Type, ...], *settings: bool) -> Any:
    return opdef.result_type(types, {})


def _promote_alike(left: Sequence[Type], right: Sequence[Type]) -> bool:
    """True if NumPy computes with operands of either types in the same dtype."""
    known = [t for t in (*left, *right) if not isinstance(t, ArrayType) or t.dtype]
    if len(known) < len(left) + len(right):
        return False
    return common_dtype(left) == common_dtype(right)


def current() -> Builder:
    """Returns the builder to which arithmetic on values adds operations."""
    return BUILDING.stack[-1]


def read_type(type_: Type) -> Type:
    """Returns the type of an item that a ``read`` port takes of a list or array."""
    if isinstance(type_, ListType):
        return type_.item
    if isinstance(type_, ArrayType):
        return ArrayType(type_.dtype, None if type_.shape is None else type_.shape[1:])
    raise DTypeError(f"a {type_} cannot be iterated over")
