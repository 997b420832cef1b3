"""Outlining: moves deeply nested branches into functions of their own.

A chain of early returns, ``elif``s or conditional expressions is one branch in the other. Each
level costs every line inside it a step of indentation, and Python reads at most 100 of these. Every
value that is saved inside also costs a line on the other path: the text would grow with the cube of
the chain. A path that stands ``nested_levels`` deep and branches further is called instead. No
function is deeper than that, and the text grows with the chain.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.cost_model import changed_costs
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_functions
>>> before = parse_function('''
... func @f(%x: float, %p: bool, %q: bool) -> (float) {
...   %y: float = if %p {
...     yield 0.0
...   } else {
...     %z: float = if %q {
...       %a: float = neg %x
...       yield %a
...     } else {
...       yield %x
...     }
...     yield %z
...   }
...   return %y
... }
... ''')
>>> with changed_costs(nested_levels=1):
...     print(print_functions(outline_deep_branches(before)), end='')
func @f_from_line_0(%q: bool, %x: float) -> (float) {
  %z: float = if %q {
    %a: float = neg %x
    yield %a
  } else {
    yield %x
  }
  return %z
}
<BLANKLINE>
func @f(%x: float, %p: bool, %q: bool) -> (float) {
  %y: float = if %p {
    yield 0.0
  } else {
    %z: float = call @f_from_line_0(%q, %x)
    yield %z
  }
  return %y
}
"""

from __future__ import annotations

from dataclasses import replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.effects import end_of
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value
from autodiff_compiler.ir.rewrite import (
    clone,
    free_values,
    fresh,
    producers,
    substitute_operands,
)
from autodiff_compiler.operators.core.control import call
from autodiff_compiler.passes.core.traversal import on_all_functions, with_body


def outline_deep_branches(function: Function) -> Function:
    """Outlines deep branches of ``function`` and of every function that it calls."""
    return on_all_functions(function, _outlined)


def branch_depth(region: Region) -> int:
    """Returns how deep operations with regions are nested in ``region``."""
    depth, level = 0, [region]
    while level := [inner for each in level for op in each.ops for inner in op.regions]:
        depth += 1
    return depth


def may_inline(function: Function) -> bool:
    """True if inlining a call of ``function`` does not make its caller deep."""
    return branch_depth(function.body) < costs().nested_levels // 2


def _outlined(function: Function) -> Function:
    if branch_depth(function.body) <= costs().nested_levels:
        return function
    return with_body(function, _Outliner(function).region(function.body, 0))


class _Outliner:
    """Outlines branches of one function; ``makers`` are its operations by result."""

    def __init__(self, function: Function):
        self.function, self.makers = function, producers(function.body)

    def region(self, region: Region, depth: int) -> Region:
        """Returns ``region``, which is nested ``depth`` levels, with its deep paths outlined."""
        ops, most = [], costs().nested_levels
        for op in region.ops:
            inner = [self.region(each, depth % most + 1) for each in op.regions]
            if op.name == "if" and depth % most == most - 1:
                inner = [self.outlined(each, op) for each in inner]
            ops.append(replace(op, regions=tuple(inner)) if op.regions else op)
        return Region(region.params, tuple(ops), region.yields)

    def outlined(self, region: Region, owner: Op) -> Region:
        """Returns a path of ``owner`` as a call, if it branches further and reaches its end."""
        if not any(op.regions for op in region.ops) or end_of(region) is not None:
            return region
        inside = {result for op in region.ops for result in op.results}
        taken, given = free_values(Region((), region.ops, ())), dict.fromkeys(region.yields)
        nothing = [self.makers[value] for value in taken if self.is_unset(value)]
        params = tuple(value for value in taken if not self.is_unset(value))
        returns = tuple(value for value in given if value in inside and not self.is_unset(value))
        body, _ = clone(Region(params, (*nothing, *region.ops), returns))
        line = next(op.span.line for op in region.ops if op.regions)
        name = f"{self.function.name}_from_line_{line}"
        callee = replace(self.function, name=name, title="", body=body, span=owner.span)
        results = {value: fresh(value) for value in returns if isinstance(value, Value)}
        attrs = {"callee": callee}
        call_op = Op(call, params, attrs, tuple(results.values()), owner.span, owner.role)
        unset = tuple(op for op in region.ops if op.name == "undefined")
        return Region((), (*unset, call_op), substitute_operands(region.yields, results))

    def is_unset(self, value: AnyOperand) -> bool:
        """True if ``value`` is that of a variable that is not set."""
        op = self.makers.get(value) if isinstance(value, Value) else None
        return op is not None and op.name == "undefined"


__all__ = ["branch_depth", "outline_deep_branches", "may_inline"]
