"""A function for a batch, out of the function for one example.

The examples lie along the first axis of every array that differs from one to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.adjoint.cotangents import children, packed
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import clone_ops, fresh, uses_of
from autodiff_compiler.ir.types import (
    INT,
    ArrayType,
    DictType,
    Dim,
    ListType,
    TupleType,
    Type,
    batched,
)
from autodiff_compiler.operators.containers import item
from autodiff_compiler.operators.control import call
from autodiff_compiler.operators.numbers import dim
from autodiff_compiler.operators.structure import full
from autodiff_compiler.operators.tapes import stack_rows


def batched_function(
    function: Function, mapped: Sequence[bool], size: Dim, name: str = ""
) -> Function:
    """``function`` for ``size`` examples: the parameters that are ``mapped``, and all returns, hold
    a batch."""
    builder = Builder()
    params = tuple(
        Value(batched(p.type, size) if maps else p.type, p.name, p.given)
        for p, maps in zip(function.params, mapped)
    )
    with builder, builder.at(function.span):
        examples = tuple(map(fresh, function.params))
        results = tuple(Value(type_of(value), "out") for value in function.returns)
        op = Op(call, examples, {"callee": function}, results, function.span)
        pairs = [*zip(examples, params, mapped)]
        batches = {example: param for example, param, maps in pairs if maps}
        shared = {example: param for example, param, maps in pairs if not maps}
        found = one_by_one(builder, op, batches, shared, size)
    body = Region(params, tuple(builder.ops), tuple(found))
    return replace(function, name=name or f"{function.name}_batched", body=body)


def one_by_one(
    builder: Builder,
    op: Op,
    batches: Mapping[Value, Value],
    shared: Mapping[Value, AnyOperand],
    size: Dim,
) -> list[AnyOperand]:
    """The results of ``op`` for every example, by a loop over them.

    ``batches`` holds the batch of each value that differs, ``shared`` what stands for others.
    """
    read = [value for value in uses_of(op) if value in batches]
    apart = {value: list(_parts(batches[value], value.type)) for value in read}
    sources: list[AnyOperand] = []
    params: list[Value] = []
    for parts in apart.values():
        for number, (part, type_) in enumerate(parts):
            if isinstance(type_, ArrayType):
                sources.append(part)
                params.append(Value(type_, f"{part.name}_i" if part.name else ""))
                parts[number] = params[-1], type_
    with builder.block() as ops:
        mapping: dict[Value, AnyOperand] = dict(shared)
        for value, parts in apart.items():
            mapping[value] = _whole(builder, value.type, iter([part for part, _ in parts]))
        (made,) = clone_ops([op], mapping)
        builder.add(made)
        found = [list(_parts(result, result.type)) for result in made.results]
        yields = [part for parts in found for part, type_ in parts if isinstance(type_, ArrayType)]
    body = Region((Value(INT, "i"), Value(INT, "i"), *params), tuple(ops), tuple(yields))
    count = size if isinstance(size, int) else dim(sources[0], axis=0)
    tapes = iter(Loop(builder.loop((0, count, 1), (), sources, body)).stacked)
    returns = []
    for result, parts in zip(made.results, found):
        rows = [_stacked(tapes, type_, size) for _, type_ in parts]
        returns.append(_whole(builder, result.type, iter(rows)))
    return returns


def _parts(value: Any, type_: Type) -> Iterator[tuple[Any, Type]]:
    """What a value is made of, below its tuples and dicts."""
    if isinstance(type_, ListType):
        raise ShapeError(
            "a list of run-time length differs from example to example",
            "stack its items, or call the function for one example at a time",
        )
    if not isinstance(type_, (TupleType, DictType)):
        yield value, type_
    for key, inner in children(type_):
        yield from _parts(item(value, key=key), inner)


def _whole(builder: Builder, type_: Type, parts: Iterator[Any]) -> Any:
    """The value of which ``_parts`` gives these parts, or such."""
    if not isinstance(type_, (TupleType, DictType)):
        return next(parts)
    return packed(builder, type_, [_whole(builder, inner, parts) for _, inner in children(type_)])


def _stacked(tapes: Iterator[Value], type_: Type, size: Dim) -> AnyOperand:
    """The batch of one part of a result."""
    if not isinstance(type_, ArrayType):
        raise ShapeError(
            f"a {type_} is computed from an example, and a batch of these is no value",
            "compute a tensor",
        )
    tape = next(tapes)
    if not type_.is_static or isinstance(size, int) and size > 0:
        return stack_rows(tape, length=size)
    none = full(shape=(0, *(type_.shape or ())), dtype=type_.dtype, value=0)
    return stack_rows(tape, none, length=size)
