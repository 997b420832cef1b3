"""Jump threading: merges branches on the same condition.

Desugaring turns exceptions and early exits into flags: one ``if`` sets a flag, and a later ``if``
tests it. The pass moves the code of the second ``if`` onto the paths of the first. The flags then
become branches again. The merged ``if`` stands at the place of the first or of the second,
whichever the operations between allow.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: float, %bad: bool) -> (float) {
...   %nothing: undefined = undefined
...   %y: float, %thrown: bool = if %bad {
...     yield %nothing, True
...   } else {
...     %a: float = neg %x
...     yield %a, False
...   }
...   %z: float = if %thrown {
...     yield 0.0
...   } else {
...     yield %y
...   }
...   return %z
... }
... ''')
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> print(print_function(dce(merge_branches(before))), end='')
func @f(%x: float, %bad: bool) -> (float) {
  %z: float = if %bad {
    yield 0.0
  } else {
    %a: float = neg %x
    yield %a
  }
  return %z
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.analysis.path_conditions import PathConditions
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import free_values, map_regions, substitute, uses_of
from autodiff_compiler.passes.core.traversal import with_body, with_ops


def merge_branches(function: Function) -> Function:
    """Merges branches of ``function`` on one test, and drops checks of variables always set."""
    if "if" not in function.op_names:
        return function
    return with_body(function, _BranchMerger(function).region(function.body))


class _BranchMerger:
    """Merges the branches of one function, inner regions first."""

    def __init__(self, function: Function):
        self.paths, self.effects = PathConditions(function), Effects()

    def region(self, region: Region) -> Region:
        ops = [map_regions(op, self.region) for op in region.ops]
        known: dict[Value, AnyOperand] = {}
        place = 0
        while place < len(ops):
            op = ops[place]
            if op.name == "is_unset" and not self.paths.may_be_unset(op.operands[0]):
                known[op.result] = False
            first = self.setter_of_test(op, ops[:place])
            if first is not None and self.merge(ops, first, place):
                place = min(first, place - 1)
            else:
                place += 1
        return substitute(with_ops(region, ops), known)

    def merge(self, ops: list[Op], first: int, second: int) -> bool:
        """True if the branches at both places are merged in ``ops``."""
        target = self.common_place(ops, first, second)
        merged = None if target is None else self.merged(ops[first], ops[second])
        if target is None or merged is None:
            return False
        ops[target] = merged
        del ops[first + second - target]
        return True

    def setter_of_test(self, op: Op, before: Sequence[Op]) -> int | None:
        """Returns the place of the ``if`` whose path determines the test of ``op``."""
        test = op.operands[0] if op.name == "if" else None
        if not isinstance(test, Value) or self.paths.root_condition(test)[0] is test:
            return None
        return next((n for n, other in enumerate(before) if test in other.results), None)

    def common_place(self, ops: Sequence[Op], first: int, second: int) -> int | None:
        """Returns the place, ``first`` or ``second``, where a merged branch may stand, or None."""
        between = ops[first + 1 : second]
        effects = any(self.effects.has(op) for op in between)
        defined = {result for op in between for result in op.results}
        if not defined & uses_of(ops[second]).keys() and not (
            effects and self.effects.has(ops[second])
        ):
            return first
        read = {value for op in between for value in uses_of(op)}
        if read & set(ops[first].results) or effects and self.effects.has(ops[first]):
            return None
        return second

    def merged(self, first: Op, second: Op) -> Op | None:
        """Returns one ``if`` for both, or None if the type of a value that is read would change."""
        _, same = self.paths.root_condition(_test(first))
        sides = second.regions
        if self.paths.root_condition(_test(second))[1] is not same:
            sides = sides[::-1]
        regions = []
        for one, other in zip(first.regions, sides):
            news = dict(zip(first.results, one.yields))
            for value in free_values(Region((), other.ops, ())):
                if value in news and type_of(news[value]) != value.type:
                    return None
            further = substitute(other, news)
            regions.append(Region((), (*one.ops, *further.ops), (*one.yields, *further.yields)))
        results = (*first.results, *second.results)
        branch = replace(first, regions=tuple(regions), results=results)
        self.paths.makers.update((result, branch) for result in results)
        return branch


def _test(op: Op) -> Value:
    test = op.operands[0]
    assert isinstance(test, Value)
    return test


__all__ = ["merge_branches"]
