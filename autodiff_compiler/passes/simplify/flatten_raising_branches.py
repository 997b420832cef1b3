"""Removes the nesting behind a branch that raises: the other path needs no branch.

The operations of the other path follow the ``if``, as in source that tests first and continues
after the ``raise``. The values that the raising branch would have yielded are needed nowhere.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: float, %bad: bool) -> (float) {
...   %y: float = if %bad {
...     raise 'no' {error='ValueError'}
...     %nothing: undefined = undefined
...     yield %nothing
...   } else {
...     %a: float = neg %x
...     yield %a
...   }
...   %z: float = neg %y
...   return %z
... }
... ''')
>>> print(print_function(flatten_raising_branches(before)), end='')
func @f(%x: float, %bad: bool) -> (float) {
  if %bad {
    raise 'no' {error='ValueError'}
    yield
  } else {
    yield
  }
  %a: float = neg %x
  %z: float = neg %a
  return %z
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.ir.effects import end_of
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body


def flatten_raising_branches(function: Function) -> Function:
    """Moves the operations of a path after the branch, if the other path raises."""
    if "if" not in function.op_names:
        return function
    mapping: dict[Value, AnyOperand] = {}

    def visit(op: Op) -> Sequence[Op]:
        ends = [end_of(region) for region in op.regions] if op.name == "if" else []
        raising = next((place for place, end in enumerate(ends) if end is not None), None)
        if raising is None:
            return (op,)
        region, other = op.regions[raising], op.regions[1 - raising]
        changes = other.ops or op.results or len(region.ops) != ends[raising]
        alike = all(r.type == type_of(y) for r, y in zip(op.results, other.yields))
        if not changes or not alike:
            return (op,)
        mapping.update(zip(op.results, other.yields))
        regions = [Region((), (), ())] * 2
        regions[raising] = Region((), region.ops[: ends[raising]], ())
        return (replace(op, results=(), regions=tuple(regions)), *other.ops)

    return with_body(function, rewrite_region(function.body, mapping, visit))
