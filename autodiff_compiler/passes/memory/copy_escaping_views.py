"""Gives every returned array memory of its own.

A returned value may be a view: of an input (``x.T``), of a parameter, of another result (both
cotangents of ``x + y`` are one array), or a read-only stretched one. A copy is put in wherever that
may be so; what backward computes afresh is returned as it is. What only the way into a loop makes
another's is copied before the loop, which then may write over it. The law: no returned array shares
memory with a parameter or with another returned array, and each may be written to.

>>> from autodiff_compiler.ir.nodes import Function, Region, Value
>>> from autodiff_compiler.ir.types import array
>>> from autodiff_compiler.span import NOWHERE
>>> x = Value(array("float32", 3), "x")
>>> [op.name for op in copy_escaping_views(Function("f", Region((x,), (), (x,)), NOWHERE)).body.ops]
['copy']
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autodiff_compiler.analysis.trip_count import surely_reads
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import Producers, producers
from autodiff_compiler.ir.types import ArrayType, ListType
from autodiff_compiler.operators.core.structure import copy
from autodiff_compiler.operators.lists.runtime_lists import list_own
from autodiff_compiler.span import NOWHERE

#: Stands for memory that may be anyone's, or that may not be written to.
FOREIGN = object()
LOOPS = ("for", "while")


def copy_escaping_views(function: Function) -> Function:
    """``function`` with copies of those results that may share memory."""
    roots = _Roots(function)
    builder = Builder()
    taken: set[Any] = set()
    builder.span, builder.role = function.span, "adjoint" if function.order else "primal"
    returns = list(function.returns)
    makers = producers(function.body)
    entered = _Entered(function, roots)

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
            made.name, made.has_user_name = operand.name, operand.has_user_name
            return made
        if not isinstance(operand.type, ArrayType):
            return operand
        found = roots.of(operand)
        inside = entered.roots_of(operand) if FOREIGN in found else None
        if inside is not None and not inside & taken:
            entered.copies.append(operand)
            found = inside
        shared = FOREIGN in found or found & taken
        taken.update(found)
        if not shared:
            return operand
        # A copy of what was handed over is about no line of the user's.
        span = NOWHERE if maker is None or maker.name == "item" else maker.span
        with builder, builder.at(span):
            made = copy(operand)
        if function.role in ("value", "forward"):
            made.name, made.has_user_name = operand.name, operand.has_user_name
        else:
            made.name = ""
        return made

    new = [owned(operand) for operand in returns]
    if all(a is b for a, b in zip(new, returns)) and not entered.copies:
        return function
    body = Region(function.params, (*entered.with_copies(), *builder.ops), tuple(new))
    return replace(function, body=body)


class _Entered:
    """Loops whose results would be their own, were it not for what they are entered with."""

    def __init__(self, function: Function, roots: _Roots):
        self.ops, self.roots = function.body.ops, roots
        #: The results of loops that are entered with copies.
        self.copies: list[Value] = []

    def roots_of(self, result: Value) -> set[Any] | None:
        """The roots of a loop's result but for what the loop is entered with, if that is set and
        may be copied, and all of them are the function's own."""
        maker = next((op for op in self.ops if result in op.results), None)
        if maker is None or maker.name not in LOOPS or result not in Loop(maker).carried:
            return None
        loop = Loop(maker)
        place = loop.carried.index(result)
        param, init = loop.carry_params[place], loop.inits[place]
        if not isinstance(init, Value) or init.type != result.type:
            return None
        if not surely_reads(loop, param):
            return None
        found = self.roots.of(loop.carry_yields[place], {param})
        return None if FOREIGN in found else found | {result}

    def with_copies(self) -> list[Op]:
        """The operations of the function, with the copies."""
        found: list[Op] = []
        for op in self.ops:
            for result in [each for each in op.results if each in self.copies]:
                loop, builder = Loop(op), Builder()
                place, operands = loop.carried.index(result), list(op.operands)
                with builder, builder.at(op.span, op.role):
                    copied = copy(loop.inits[place])
                copied.name, copied.has_user_name = loop.carry_params[place].name, True
                operands[len(operands) - len(loop.reads) - loop.carries + place] = copied
                found += builder.ops
                op = replace(op, operands=tuple(operands))
            found.append(op)
        return found


def owns(function: Function, result: AnyOperand) -> bool:
    """Whether ``result`` surely lies in memory that ``function`` made, and may be written to."""
    return FOREIGN not in _Roots(function).of(result)


class _Roots:
    """Whose memory a value may lie in: values that own theirs, or ``FOREIGN``."""

    def __init__(self, function: Function):
        self.makers: Producers = producers(function.body)
        self.loop_params: dict[Value, tuple[AnyOperand, ...]] = {}
        for op in function.body.walk():
            if op.name in LOOPS:
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
        if maker.name in LOOPS:
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
