"""Checks of what a custom derivative returns: a cotangent of each input, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gast

from autodiff_compiler.errors import CallError, CompileError, DTypeError, ShapeError, SourceNotFound
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.abstract.values import Closure, Poison, UsesPoison
from autodiff_compiler.frontend.core.cotangents import has_cotangent
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.syntax.source import read_source
from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.ir.types import (
    ArrayType,
    DictType,
    ListType,
    ScalarType,
    TupleType,
    Type,
    carries_cotangent,
)
from autodiff_compiler.operators.core import containers, structure
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.span import Span


def check_cotangents(
    low: Lowering,
    cotangents: Any,
    params: Sequence[Any],
    names: Sequence[str],
    function: Any,
    doing: str,
) -> tuple[AnyOperand, ...]:
    """Returns the cotangents of those ``params`` that have one, in their dtypes and shapes."""
    cotangents = cotangents if isinstance(cotangents, tuple) else low.contents(cotangents)
    if isinstance(cotangents, Poison):
        raise UsesPoison
    listed = list(cotangents) if isinstance(cotangents, (tuple, list)) else [cotangents]
    while len(listed) > len(params) and listed[-1] is None:
        listed.pop()
    if len(listed) != len(params):
        many = f"{len(listed)} value{'s' if len(listed) != 1 else ''}"
        raise CallError(
            f"{doing} returns {many} for {len(params)} inputs ({', '.join(names)})",
            "return a tuple with one gradient for each input, None for a zero gradient",
            end_of(function),
        )
    try:
        return tuple(
            None if ct is None else _fit(low, ct, param, f"the cotangent of '{name}'")
            for ct, param, name in zip(listed, params, names)
            if has_cotangent(param)
        )
    except CompileError as error:
        spans = [maker.span for ct in listed if (maker := low.builder.producer(ct))]
        end = end_of(function)
        place = end if end is not None else spans[0] if spans else None
        raise error.holding([replace(p, span=place) for p in error.problems]) from None


def _fit(low: Lowering, ct: Any, like: Value, what: str) -> AnyOperand:
    """Returns ``ct`` as a cotangent of ``like``: cast to its dtype, broadcast to its shape."""
    if isinstance(like.type, (TupleType, DictType)):
        return _fit_parts(low, ct, like, what)
    if isinstance(like.type, ListType):
        if isinstance(ct, Value) and isinstance(ct.type, ListType):
            return ct
        raise DTypeError(f"{what} must be a list, not {low.described(ct)}")
    number = isinstance(ct, (int, float)) or isinstance(ct, Value) and _is_number(ct.type)
    if not number and not (isinstance(ct, Value) and isinstance(ct.type, ArrayType)):
        raise DTypeError(f"{what} is {low.described(ct)}", f"return a tensor of type {like.type}")
    if not isinstance(like.type, ArrayType):
        return float(ct) if isinstance(ct, (int, float)) else ct
    if not isinstance(ct, Value):
        return structure.full_like(like, value=ct)
    have, want = structure.shape_of_type(ct.type), like.type.shape
    if have != want and not _may_broadcast(have, want):
        raise ShapeError(
            f"{what} has the type {ct.type}, but '{like.name}' is {like.type}",
            "return for each input a gradient of that input's shape and dtype",
        )
    ct = structure.cast_like(ct, like)
    return ct if have == want else structure.broadcast_like(ct, like)


def _fit_parts(low: Lowering, ct: Any, like: Value, what: str) -> AnyOperand:
    """Returns a container of cotangents, part by part; None is the zero of a part."""
    type_ = like.type
    assert isinstance(type_, (TupleType, DictType))
    keys: Sequence[Any] = type_.keys if isinstance(type_, DictType) else range(len(type_.items))
    items = low.contents(low.unpacked(ct))
    if not isinstance(items, (tuple, dict)) or len(items) != len(keys):
        raise DTypeError(f"{what} must have the structure of '{like.name}', {type_}")
    parts = []
    for key in keys:
        part = containers.item(like, key=key)
        none = items[key] is None or not carries_cotangent(part.type)
        parts.append(
            containers.zero_of(part) if none else _fit(low, items[key], part, f"{what}[{key!r}]")
        )
    if isinstance(type_, DictType):
        return containers.make_dict(*parts, keys=type_.keys)
    return containers.make_tuple(*parts)


def _is_number(type_: Type) -> bool:
    return isinstance(type_, ScalarType)


def _may_broadcast(have: Any, want: Any) -> bool:
    """True if a cotangent of this shape may be broadcast to that one, or if the shapes are not
    known."""
    try:
        broadcast = broadcast_shapes([have, want]) or ()
    except ShapeError:
        return False
    return have is None or want is None or None in broadcast or broadcast == want


def end_of(function: Any, first: bool = False) -> Span:
    """Returns the place of the last ``return`` of a function; of its beginning if it has none, or
    if ``first``. Raises SourceNotFound."""
    if isinstance(function, Closure):
        source, tree = function.frame.source, function.tree
    else:
        source = read_source(function)
        tree = source.tree
    if first or isinstance(tree, gast.Lambda):
        return source.span(tree)
    returns = [part for part in nodes_in(tree) if isinstance(part, gast.Return)]
    return source.span(max(returns, key=lambda part: part.lineno) if returns else tree)


def beginning_of(function: Any, otherwise: Span) -> Span:
    """Returns where a function begins; ``otherwise`` if its source is not found."""
    try:
        return end_of(function, first=True)
    except SourceNotFound:
        return otherwise
