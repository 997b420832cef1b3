"""Path conditions: conclusions from a test that a branch sets about that branch's own test.

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
>>> conditions = PathConditions(function)
>>> test, thrown = function.params[0], function.body.ops[-1].results[0]
>>> conditions.root_condition(thrown) == (test, True)
True
>>> result = function.returns[0]
>>> conditions.may_be_unset(result), conditions.may_be_unset(result, {test: False})
(True, False)
"""

from __future__ import annotations

from collections.abc import Mapping

from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Value
from autodiff_compiler.ir.rewrite import producers


class PathConditions:
    """The path conditions of one function, and of those that it calls."""

    def __init__(self, function: Function):
        self.makers = producers(function.body)
        self._called: dict[Function, PathConditions] = {}
        #: The two sources of each carry: its initial value, and that after an iteration.
        self._carried: dict[Value, tuple[AnyOperand, AnyOperand]] = {}
        self._open: set[Value] = set()
        for op in function.body.walk():
            if op.name in ("for", "while"):
                loop = Loop(op)
                both = list(zip(loop.inits, loop.carry_yields))
                self._carried.update(zip((*loop.carry_params, *loop.carried), (*both, *both)))

    def root_condition(self, test: Value) -> tuple[Value, bool]:
        """Returns the first test that ``test`` repeats, and False if it negates that."""
        op = self.makers.get(test)
        if op is None or op.name != "if" or not isinstance(op.operands[0], Value):
            return test, True
        place = op.results.index(test)
        then, orelse = (region.yields[place] for region in op.regions)
        if_true, if_false = _outcome(op, then, True), _outcome(op, orelse, False)
        if if_true is None or if_false is None or if_true == if_false:
            return test, True
        root, same = self.root_condition(op.operands[0])
        return root, same is if_true

    def may_be_unset(self, value: AnyOperand, known: Mapping[Value, bool] | None = None) -> bool:
        """True if ``value`` may come from ``undefined``.

        ``known`` maps root conditions to their outcomes on this path.
        """
        known = known or {}
        if not isinstance(value, Value):
            return value is None
        if value in self._carried:
            return self._may_be_carried_unset(value)
        op = self.makers.get(value)
        if op is None:
            return True
        place = op.results.index(value)
        if op.name == "if":
            return self._after_if(op, place, known)
        if op.name == "call":
            return self._after_call(op, place, known)
        return op.name == "undefined" or op.opdef.kind in ("control", "container")

    def _may_be_carried_unset(self, value: Value) -> bool:
        if value in self._open:
            return False  # a cycle adds nothing
        self._open.add(value)
        try:
            return any(self.may_be_unset(source) for source in self._carried[value])
        finally:
            self._open.remove(value)

    def _after_if(self, op: Op, place: int, known: Mapping[Value, bool]) -> bool:
        test = op.operands[0]
        for side, region in zip((True, False), op.regions):
            inside = known
            if isinstance(test, Value):
                root, same = self.root_condition(test)
                if known.get(root, side is same) is not (side is same):
                    continue  # this branch did not run
                inside = {**known, root: side is same}
            if self.may_be_unset(region.yields[place], inside):
                return True
        return False

    def _after_call(self, op: Op, place: int, known: Mapping[Value, bool]) -> bool:
        """Asks the callee; known outcomes of its results hold for its returns."""
        callee = op.attrs["callee"]
        if callee not in self._called:
            self._called[callee] = PathConditions(callee)
        inside = self._called[callee]
        known_inside = {}
        for result, returned in zip(op.results, callee.returns):
            if result in known and isinstance(returned, Value):
                root, same = inside.root_condition(returned)
                known_inside[root] = known[result] is same
        return inside.may_be_unset(callee.returns[place], known_inside)


def _outcome(op: Op, yielded: AnyOperand, side: bool) -> bool | None:
    """Returns the truth of a branch's yield: a known bool, or the test of ``op``; else None."""
    if yielded is op.operands[0]:
        return side
    return yielded if isinstance(yielded, bool) else None


__all__ = ["PathConditions"]
