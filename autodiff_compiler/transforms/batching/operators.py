"""Batching rules of operators, by the word in ``OpDef.batch``:

elements   element by element: axes of length one align the examples
axes       the attributes ``axes`` and ``axis`` name axes, which increase by one
trailing   it works on the last axes, whatever axes precede them
items      it moves the items of lists, whatever they are
a rule     takes the operands by name, attributes, ``size``, and ``mapped``: True for operands
           that are batched. It returns the result for the batch, or None

The result must have the type of a batch of results; else the operation runs in a loop over the
examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.errors import CompileError
from autodiff_compiler.ir.nodes import AnyOperand, Op, type_of
from autodiff_compiler.ir.opdef import call_with_named, rule_arguments
from autodiff_compiler.ir.types import ArrayType, Dim, ListType, batch_type, join
from autodiff_compiler.operators.core.declare import behind_new_axis, shape_of_type
from autodiff_compiler.operators.core.structure import expand_dims

Substitute = Callable[[AnyOperand], AnyOperand]


def batch_operator(
    op: Op, substitute: Substitute, as_batch: Substitute, mapped: Sequence[bool], size: Dim
) -> AnyOperand:
    """Builds the result of ``op`` for a batch in the active builder; None if no rule does.

    ``substitute`` returns the batch of an operand, or its value that all examples share;
    ``as_batch`` returns a batch in any case.
    """
    how = op.opdef.batch
    if not how:
        return None
    try:
        if callable(how):
            facts = rule_arguments(op.opdef, [substitute(x) for x in op.operands], op.attrs)
            result = call_with_named(how, {**facts, "mapped": tuple(mapped), "size": size})
        else:
            result = WORDS[how](op, substitute, as_batch)
    except CompileError:
        return None  # the operator does not take a further axis
    if result is None:
        return None
    wanted, have = batch_type(op.result.type, size), type_of(result)
    if callable(how) and isinstance(have, ArrayType) and have.ndim is None:
        return None  # the axes of the result cannot be checked
    fits = have == wanted or join(wanted, have) in (wanted, have)
    return result if fits and _ranks(have) == _ranks(wanted) else None


def _ranks(type_: Any) -> Any:
    while isinstance(type_, ListType):
        type_ = type_.item
    return type_.ndim if isinstance(type_, ArrayType) else None


def _elements(op: Op, substitute: Substitute, as_batch: Substitute) -> AnyOperand:
    known = [_rank(x) for x in op.operands]
    ranks = [rank for rank in known if rank is not None]
    if len(ranks) < len(known):
        return None
    operands: list[Any] = []
    for x, rank in zip(op.operands, ranks):
        new = substitute(x)
        missing = max(ranks) - rank
        if new is not x and missing:
            new = expand_dims(new, axes=tuple(range(1, missing + 1)))
        operands.append(new)
    return op.opdef(*operands, **op.attrs)


def _axes(op: Op, substitute: Substitute, as_batch: Substitute) -> AnyOperand:
    arrays = [x for x in op.operands if isinstance(type_of(x), ArrayType)]
    rank = _rank(arrays[0])
    if rank is None or rank == 0:
        return None
    attrs = dict(op.attrs)
    for name in ("axes", "axis"):
        if name in attrs:
            axes = attrs[name]
            if axes is None and name == "axis":
                return None
            every = axes is None or axes == ()
            attrs[name] = tuple(range(1, rank + 1)) if every else behind_new_axis(axes)
    operands = [as_batch(x) if isinstance(type_of(x), ArrayType) else x for x in op.operands]
    return op.opdef(*operands, **attrs)


def _trailing(op: Op, substitute: Substitute, as_batch: Substitute) -> AnyOperand:
    arrays = sum(isinstance(type_of(x), ArrayType) for x in op.operands)
    return op.opdef(*((as_batch if arrays > 1 else substitute)(x) for x in op.operands), **op.attrs)


def _items(op: Op, substitute: Substitute, as_batch: Substitute) -> AnyOperand:
    return op.opdef(*(as_batch(x) for x in op.operands), **op.attrs)


WORDS: dict[str, Callable[[Op, Substitute, Substitute], AnyOperand]] = {
    "elements": _elements,
    "axes": _axes,
    "trailing": _trailing,
    "items": _items,
}


def _rank(x: AnyOperand) -> int | None:
    shape = shape_of_type(type_of(x))
    return None if shape is None else len(shape)


__all__ = ["batch_operator"]
