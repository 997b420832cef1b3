"""Copy insertion at function boundaries: every returned array owns its memory.

A returned value may be a view of an input (``x.T``), of a parameter, or of another result: both
cotangents of ``x + y`` are one array. It may be a read-only broadcast array. The pass copies
wherever that is possible, and returns what backward computes afresh as it is. If a loop result
shares memory only through its initial value, that value is copied before the loop. The loop may
then overwrite it. The law: no returned array shares memory with a parameter or with another
returned array, and each may be written to.

>>> from autodiff_compiler.ir.nodes import Function, Region, Value
>>> from autodiff_compiler.ir.types import array
>>> from autodiff_compiler.span import NOWHERE
>>> x = Value(array("float32", 3), "x")
>>> [op.name for op in copy_escaping_views(Function("f", Region((x,), (), (x,)), NOWHERE)).body.ops]
['copy']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.analysis.trip_count import surely_reads
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.labels import SHARES_NOTHING, WRITTEN_IN_LOOP
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import Producers, producers
from autodiff_compiler.ir.types import ArrayType, ListType
from autodiff_compiler.operators.core.structure import copy
from autodiff_compiler.operators.lists.runtime_lists import list_own
from autodiff_compiler.passes.core.traversal import with_inits
from autodiff_compiler.span import NOWHERE

#: The root of memory that another owner may hold, or that may not be written to.
FOREIGN = object()
LOOPS = ("for", "while")


def copy_escaping_views(function: Function) -> Function:
    """Copies the results of ``function`` that may share memory."""
    copies = _CopyInsertion(function)
    returns = [copies.owned(operand) for operand in function.returns]
    if not copies.inits.results and all(a is b for a, b in zip(returns, function.returns)):
        return function
    ops = (*copies.inits.with_copies(), *copies.builder.ops)
    return replace(function, body=Region(function.params, ops, tuple(returns)))


class _CopyInsertion:
    """Adds the copies of returned values to a builder; ``taken`` are the roots returned so far."""

    def __init__(self, function: Function):
        self.function, self.roots, self.builder = function, _Roots(function), Builder()
        self.builder.span = function.span
        self.builder.role = "adjoint" if function.order else "primal"
        self.makers = producers(function.body)
        self.inits = _CopiedInits(function, self.roots)
        self.taken: set[Any] = set()

    def owned(self, operand: AnyOperand) -> AnyOperand:
        """Returns ``operand``, or a copy of it if it may share memory."""
        if not isinstance(operand, Value):
            return operand
        maker = self.makers.get(operand)
        if maker is not None and maker.name in ("make_tuple", "make_dict"):
            return self.owned_container(operand, maker)
        if isinstance(operand.type, ListType):
            span = maker.span if maker else self.function.span
            with self.builder, self.builder.at(span), self.builder.with_aside(SHARES_NOTHING):
                copied = list_own(operand)
            copied.name, copied.has_user_name = operand.name, operand.has_user_name
            return copied
        if isinstance(operand.type, ArrayType) and self.is_shared(operand):
            return self.copied(operand, maker)
        return operand

    def owned_container(self, operand: Value, maker: Op) -> Value:
        items = [self.owned(item) for item in maker.operands]
        if all(a is b for a, b in zip(items, maker.operands)):
            return operand
        with self.builder, self.builder.at(maker.span):
            container = self.builder.make(maker.opdef, items, maker.attrs)
        container.name = operand.name
        return container

    def is_shared(self, array: Value) -> bool:
        """True if ``array`` may share memory with a parameter or with a result before it."""
        roots = self.roots.of(array)
        without_init = self.inits.roots_without_init(array) if FOREIGN in roots else None
        if without_init is not None and not without_init & self.taken:
            self.inits.results.append(array)
            roots = without_init
        shared = FOREIGN in roots or not roots.isdisjoint(self.taken)
        self.taken.update(roots)
        return shared

    def copied(self, array: Value, maker: Op | None) -> Value:
        # The copy of an argument belongs to no line of the user's.
        span = NOWHERE if maker is None or maker.name == "item" else maker.span
        with self.builder, self.builder.at(span), self.builder.with_aside(SHARES_NOTHING):
            result = copy(array)
        if self.function.role in ("value", "forward"):
            result.name, result.has_user_name = array.name, array.has_user_name
        else:
            result.name = ""
        return result


class _CopiedInits:
    """The loop ``results`` that own their memory once their initial values are copied."""

    def __init__(self, function: Function, roots: _Roots):
        self.ops, self.roots = function.body.ops, roots
        self.results: list[Value] = []

    def roots_without_init(self, result: Value) -> set[Any] | None:
        """Returns the roots of a loop result without those of its initial value.

        Returns None unless the initial value is surely set, may be copied, and all other roots are
        the function's own.
        """
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
        roots = self.roots.of(loop.carry_yields[place], {param})
        return None if FOREIGN in roots else roots | {result}

    def with_copies(self) -> list[Op]:
        """Returns the operations of the function with copies before the loops."""
        ops: list[Op] = []
        for op in self.ops:
            for result in [each for each in op.results if each in self.results]:
                loop, builder = Loop(op), Builder()
                place = loop.carried.index(result)
                with builder, builder.at(op.span, op.role), builder.with_aside(WRITTEN_IN_LOOP):
                    copied = copy(loop.inits[place])
                copied.name, copied.has_user_name = loop.carry_params[place].name, True
                ops += builder.ops
                op = with_inits(op, {place: copied})
            ops.append(op)
        return ops


def owns(function: Function, result: AnyOperand) -> bool:
    """True if ``result`` surely lies in memory that ``function`` made and that may be written."""
    return FOREIGN not in _Roots(function).of(result)


class _Roots:
    """Alias analysis: the roots of a value are the owners of the memory in which it may lie.

    A root is a value that owns its memory, or ``FOREIGN``.
    """

    def __init__(self, function: Function):
        self.makers: Producers = producers(function.body)
        self.loop_params: dict[Value, tuple[AnyOperand, ...]] = {}
        for op in function.body.walk():
            if op.name in LOOPS:
                loop = Loop(op)
                for param, init, after in zip(loop.carry_params, loop.inits, loop.carry_yields):
                    self.loop_params[param] = (init, after)

    def of(self, value: AnyOperand, seen: set[Value] | None = None) -> set[Any]:
        """Returns the roots of ``value`` without those of the values ``seen`` before.

        Paths that part and meet again and again are followed once.
        """
        seen = set() if seen is None else seen
        if not isinstance(value, Value) or value in seen:
            return set()
        seen.add(value)
        if value in self.loop_params:
            return self.of_all(self.loop_params[value], seen)
        maker = self.makers.get(value)
        if maker is None:
            return {FOREIGN}
        if maker.name == "if":
            place = maker.results.index(value)
            return self.of_all([region.yields[place] for region in maker.regions], seen)
        if maker.name in LOOPS:
            loop, place = Loop(maker), maker.results.index(value)
            if place >= loop.carries:
                return {FOREIGN}
            return self.of_all((loop.inits[place], loop.carry_yields[place]), seen)
        if maker.name == "call":
            callee = maker.attrs["callee"]
            inner = _Roots(callee).of(callee.returns[maker.results.index(value)])
            return {FOREIGN} if FOREIGN in inner else {(maker, root) for root in inner}
        if maker.name in ("item", "list_item", "broadcast_to", "undefined"):
            return {FOREIGN}
        return self.of_all(maker.viewed, seen) if maker.viewed else {value}

    def of_all(self, values: Sequence[AnyOperand], seen: set[Value]) -> set[Any]:
        return set().union(*(self.of(value, seen) for value in values))
