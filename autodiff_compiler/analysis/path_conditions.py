"""Which way control took: what a test that was set in a branch says of that branch's own test.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> function = parse_function('''
... func @f(%test: bool, %x: float) -> (float) {
...   %nothing: undefined = undefined
...   %thrown: bool, %y: float = if %test {
...     yield True, %nothing
...   } else {
...     %z: float = neg %x
...     yield False, %z
...   }
...   return %y
... }
... ''')
>>> ways = PathConditions(function)
>>> test, thrown = function.params[0], function.body.ops[-1].results[0]
>>> ways.root(thrown) == (test, True)
True
>>> ways.may_be_unset(function.returns[0]), ways.may_be_unset(function.returns[0], {test: False})
(True, False)
"""

from __future__ import annotations

from collections.abc import Mapping

from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Value
from autodiff_compiler.ir.rewrite import producers


class PathConditions:
    """Answers for one function; those that it calls are looked into."""

    def __init__(self, function: Function):
        self.makers = producers(function.body)
        self._called: dict[Function, PathConditions] = {}
        #: What a loop carries is what it begins with, or what an iteration leaves.
        self._carried: dict[Value, tuple[AnyOperand, AnyOperand]] = {}
        self._open: set[Value] = set()
        for op in function.body.walk():
            if op.name in ("for", "while"):
                loop = Loop(op)
                both = list(zip(loop.inits, loop.carry_yields))
                self._carried.update(zip((*loop.carry_params, *loop.carried), (*both, *both)))

    def root(self, test: Value) -> tuple[Value, bool]:
        """The first test that ``test`` repeats, and whether it says the same or the opposite."""
        op = self.makers.get(test)
        if op is None or op.name != "if" or not isinstance(op.operands[0], Value):
            return test, True
        place = op.results.index(test)
        said = [_said(op, region.yields[place], not side) for side, region in enumerate(op.regions)]
        if None in said or said[0] == said[1]:
            return test, True
        root, same = self.root(op.operands[0])
        return root, same is said[0]

    def may_be_unset(self, value: AnyOperand, known: Mapping[Value, bool] | None = None) -> bool:
        """Whether ``value`` may come from ``undefined``, where tests have gone as ``known`` says;
        that names roots."""
        known = known or {}
        if value in self._carried:
            assert isinstance(value, Value)
            return self._may_be_carried_unset(value)
        op = self.makers.get(value) if isinstance(value, Value) else None
        if op is None:
            return value is None or isinstance(value, Value)
        assert isinstance(value, Value)
        place = op.results.index(value)
        if op.name == "if":
            return self._after_if(op, place, known)
        if op.name == "call":
            return self._after_call(op, place, known)
        return op.name == "undefined" or op.opdef.kind in ("control", "container")

    def _may_be_carried_unset(self, value: Value) -> bool:
        if value in self._open:
            return False  # it is if what it comes from is
        self._open.add(value)
        try:
            return any(self.may_be_unset(source) for source in self._carried[value])
        finally:
            self._open.remove(value)

    def _after_if(self, op: Op, place: int, known: Mapping[Value, bool]) -> bool:
        test = op.operands[0]
        for side, region in zip((True, False), op.regions):
            told = known
            if isinstance(test, Value):
                root, same = self.root(test)
                if known.get(root, side is same) is not (side is same):
                    continue  # this branch did not run
                told = {**known, root: side is same}
            if self.may_be_unset(region.yields[place], told):
                return True
        return False

    def _after_call(self, op: Op, place: int, known: Mapping[Value, bool]) -> bool:
        """What is known of results of a call is known of what the callee returns."""
        callee = op.attrs["callee"]
        if callee not in self._called:
            self._called[callee] = PathConditions(callee)
        inside = self._called[callee]
        told = {}
        for result, returned in zip(op.results, callee.returns):
            if result in known and isinstance(returned, Value):
                root, same = inside.root(returned)
                told[root] = known[result] is same
        return inside.may_be_unset(callee.returns[place], told)


def _said(op: Op, yielded: AnyOperand, side: bool) -> bool | None:
    """What a branch of ``op`` yields as a test: a bool known here, or the very test of ``op``."""
    if yielded is op.operands[0]:
        return side
    return yielded if isinstance(yielded, bool) else None


__all__ = ["PathConditions"]
