"""Inlining: replaces calls by the bodies of their callees.

A call stays if its operands have narrower types than the parameters of the callee: the operations
of the callee are typed for its parameters.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @g(%a: float) -> (float) {
...   %b: float = neg %a
...   return %b
... }
... func @f(%x: float) -> (float) {
...   %y!: float = call @g(%x)
...   return %y
... }
... ''')
>>> print(print_function(inline_calls(before, lambda call: True)), end='')
func @f(%x: float) -> (float) {
  %y!: float = neg %x
  return %y
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import clone_ops, substitute_operands
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body


def inline_calls(function: Function, should: Callable[[Op], bool]) -> Function:
    """Inlines each call for which ``should`` is true, also calls that inlining brings in."""
    mapping: dict[Value, AnyOperand] = {}

    def visit(op: Op) -> Sequence[Op]:
        if op.name != "call" or not _fits(op) or not should(op):
            return (op,)
        callee = op.attrs["callee"]
        inner: dict[Value, AnyOperand] = dict(zip(callee.params, op.operands))
        ops = clone_ops(callee.body.ops, inner)
        returns = substitute_operands(callee.returns, inner)
        defined = {result for cloned in ops for result in cloned.results}
        for result, returned in zip(op.results, returns):
            if isinstance(returned, Value) and returned in defined and result.has_user_name:
                # Nothing else has seen the clone yet, so that its name may be set.
                returned.name, returned.has_user_name = result.name, True
        body = rewrite_region(Region((), tuple(ops), returns), mapping, visit)
        mapping.update(zip(op.results, body.yields))
        return body.ops

    return with_body(function, rewrite_region(function.body, mapping, visit))


def _fits(op: Op) -> bool:
    params = op.attrs["callee"].params
    return all(type_of(o) == param.type for o, param in zip(op.operands, params, strict=True))
