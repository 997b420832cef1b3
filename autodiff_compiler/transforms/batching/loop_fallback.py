"""Loop fallback: a loop over the examples, around an operation that has no batching rule.

>>> from autodiff_compiler.ir.nodes import Value
>>> from autodiff_compiler.ir.types import parse_type
>>> pair = Value(parse_type("(f32[2], int)"), "pair")
>>> from autodiff_compiler.ir.builder import Builder
>>> with Builder():
...     print([str(type_) for _, type_ in leaves_of(pair, pair.type)])
['f32[2]', 'int']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.labels import composed
from autodiff_compiler.ir.nodes import AnyOperand, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import clone_ops, uses_of
from autodiff_compiler.ir.types import INT, ArrayType, DictType, Dim, ListType, TupleType, Type
from autodiff_compiler.operators.core.containers import item
from autodiff_compiler.operators.core.scalar_conversion import dim
from autodiff_compiler.operators.core.structure import full
from autodiff_compiler.operators.lists.loop_tapes import stack_rows
from autodiff_compiler.transforms.reverse.cotangents import children, packed


class Unbatchable(Exception):
    """The refusal of a batched value that is no array: a number or a list."""


def loop_over_examples(
    builder: Builder,
    op: Op,
    batches: Mapping[Value, AnyOperand],
    shared: Mapping[Value, AnyOperand],
    size: Dim,
) -> list[AnyOperand]:
    """Builds the results of ``op`` for every example, by a loop over them.

    ``batches`` holds the batch of each batched value, ``shared`` the substitutes of others.
    """
    read = [value for value in uses_of(op) if value in batches]
    leaves = {value: list(leaves_of(batches[value], value.type)) for value in read}
    sources: list[AnyOperand] = []
    params: list[Value] = []
    for parts in leaves.values():
        for number, (part, type_) in enumerate(parts):
            if isinstance(type_, ArrayType):
                sources.append(part)
                params.append(Value(type_, composed(part.name, "i") if part.name else ""))
                parts[number] = params[-1], type_
    with builder.block() as ops:
        mapping: dict[Value, AnyOperand] = dict(shared)
        for value, parts in leaves.items():
            mapping[value] = _assemble(builder, value.type, iter([part for part, _ in parts]))
        (clone,) = clone_ops([op], mapping)
        builder.add(clone)
        result_leaves = [list(leaves_of(result, result.type)) for result in clone.results]
        yields = [
            part for parts in result_leaves for part, type_ in parts if isinstance(type_, ArrayType)
        ]
    if any(not isinstance(type_, ArrayType) for parts in result_leaves for _, type_ in parts):
        raise Unbatchable
    body = Region((Value(INT, "i"), Value(INT, "i"), *params), tuple(ops), tuple(yields))
    count = size if isinstance(size, int) else dim(sources[0], axis=0)
    tapes = iter(Loop(builder.loop((0, count, 1), (), sources, body)).stacked)
    returns = []
    for result, parts in zip(clone.results, result_leaves):
        rows = [_stacked(next(tapes), type_, size) for _, type_ in parts]
        returns.append(_assemble(builder, result.type, iter(rows)))
    return returns


def leaves_of(value: Any, type_: Type) -> Iterator[tuple[Any, Type]]:
    """Yields the leaves of a value below its tuples and dicts, with their types."""
    if isinstance(type_, ListType):
        raise Unbatchable
    if not isinstance(type_, (TupleType, DictType)):
        yield value, type_
    for key, inner in children(type_):
        yield from leaves_of(item(value, key=key), inner)


def _assemble(builder: Builder, type_: Type, parts: Iterator[Any]) -> Any:
    """Builds a value of ``type_`` of its leaves: the inverse of ``leaves_of``."""
    if not isinstance(type_, (TupleType, DictType)):
        return next(parts)
    return packed(
        builder, type_, [_assemble(builder, inner, parts) for _, inner in children(type_)]
    )


def _stacked(tape: Value, type_: Type, size: Dim) -> AnyOperand:
    """Stacks the rows of one leaf of a result."""
    assert isinstance(type_, ArrayType)
    if not type_.is_static or isinstance(size, int) and size > 0:
        return stack_rows(tape, length=size)
    empty = full(shape=(0, *(type_.shape or ())), dtype=type_.dtype, value=0)
    return stack_rows(tape, empty, length=size)
