"""Gives every returned array memory of its own.

A returned value may be a view: of an input (``x.T``), of a parameter, of another result (both
cotangents of ``x + y`` are one array), or a read-only stretched one. A copy is put in wherever that
may be so; what backward computes afresh is returned as it is. The law: no returned array shares
memory with a parameter or with another returned array, and each may be written to.

>>> from autodiff_compiler.ir.nodes import Function, Region, Value
>>> from autodiff_compiler.ir.types import array
>>> from autodiff_compiler.span import NOWHERE
>>> x = Value(array("float32", 3), "x")
>>> [op.name for op in own_results(Function("f", Region((x,), (), (x,)), NOWHERE)).body.ops]
['copy']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.ir.types import ArrayType, ListType
from autodiff_compiler.operators.lists import list_own
from autodiff_compiler.operators.structure import copy
from autodiff_compiler.span import NOWHERE

#: Stands for memory that may be anyone's, or that may not be written to.
FOREIGN = object()


def own_results(function: Function) -> Function:
    """``function`` with copies of those results that may share memory."""
    roots = _Roots(function)
    builder = Builder()
    taken: set[Any] = set()
    builder.span, builder.about = function.span, "adjoint" if function.order else "primal"
    returns = list(function.returns)
    makers = producers(function.body)

    def owned(operand: AnyOperand) -> AnyOperand:
        if not isinstance(operand, Value):
            return operand
        maker = makers.get(operand)
        if maker is not None and maker.name in ("make_tuple", "make_dict"):
            items = [owned(item) for item in maker.operands]
            if all(a is b for a, b in zip(items, maker.operands)):
                return operand
            with builder, builder.at(maker.span):
                made = builder.make(maker.opdef, items, maker.attrs)
            made.name = operand.name
            return made
        if isinstance(operand.type, ListType):
            with builder, builder.at(maker.span if maker else function.span):
                made = list_own(operand)
            made.name, made.given = operand.name, operand.given
            return made
        if not isinstance(operand.type, ArrayType):
            return operand
        found = roots.of(operand)
        shared = FOREIGN in found or found & taken
        taken.update(found)
        if not shared:
            return operand
        # A copy of what was handed over is about no line of the user's.
        span = NOWHERE if maker is None or maker.name == "item" else maker.span
        with builder, builder.at(span):
            made = copy(operand)
        if function.role in ("value", "forward"):
            made.name, made.given = operand.name, operand.given
        else:
            made.name = ""
        return made

    new = [owned(operand) for operand in returns]
    if all(a is b for a, b in zip(new, returns)):
        return function
    body = Region(function.params, (*function.body.ops, *builder.ops), tuple(new))
    return replace(function, body=body)


def owns(function: Function, result: AnyOperand) -> bool:
    """Whether ``result`` surely lies in memory that ``function`` made, and may be written to."""
    return FOREIGN not in _Roots(function).of(result)


class _Roots:
    """Whose memory a value may lie in: values that own theirs, or ``FOREIGN``."""

    def __init__(self, function: Function):
        self.makers: Mapping[Value, Op] = producers(function.body)
        self.loop_params: dict[Value, tuple[AnyOperand, ...]] = {}
        for op in function.body.walk():
            if op.name in ("for", "while"):
                loop = Loop(op)
                for param, init, after in zip(loop.carry_params, loop.inits, loop.carry_yields):
                    self.loop_params[param] = (init, after)

    def of(self, value: AnyOperand, seen: set[Value] | None = None) -> set[Any]:
        """The roots of ``value``, but for those of ``seen``, which are told already: ways that part
        and meet again and again are gone once."""
        seen = set() if seen is None else seen
        if not isinstance(value, Value) or value in seen:
            return set()
        seen.add(value)
        if value in self.loop_params:
            return self._all(self.loop_params[value], seen)
        maker = self.makers.get(value)
        if maker is None:
            return {FOREIGN}
        if maker.name == "if":
            place = maker.results.index(value)
            return self._all([region.yields[place] for region in maker.regions], seen)
        if maker.name in ("for", "while"):
            place = maker.results.index(value)
            if place >= len(Loop(maker).inits):
                return {FOREIGN}
            return self._all((Loop(maker).inits[place], Loop(maker).carry_yields[place]), seen)
        if maker.name == "call":
            callee = maker.attrs["callee"]
            inner = _Roots(callee).of(callee.returns[maker.results.index(value)])
            return {FOREIGN} if FOREIGN in inner else {(maker, root) for root in inner}
        if maker.name in ("item", "list_item", "broadcast_to", "undefined"):
            return {FOREIGN}
        return self._all(maker.viewed, seen) if maker.viewed else {value}

    def _all(self, values: Any, seen: set[Value]) -> set[Any]:
        return set().union(*(self.of(value, seen) for value in values))
