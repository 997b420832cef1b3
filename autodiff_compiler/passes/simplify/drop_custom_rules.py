"""Removes the markers of custom derivative rules once nothing is left to differentiate.

A ``custom_rule`` value becomes the value that it stands for, and so does a ``stop_gradient``. Of
the two names the one that the user gave stays.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @half(%x: float, %out: float, %d_out: float) -> (float) {
...   %d_x: float = mul %d_out, 0.5
...   return %d_x
... }
... func @f(%x: float) -> (float) {
...   %out: float = neg %x
...   %y!: float = custom_rule %x, %out {rule=@half, wrt=(0,)}
...   return %y
... }
... ''')
>>> print(print_function(drop_custom_rules(before)), end='')
func @f(%x: float) -> (float) {
  %y!: float = neg %x
  return %y
}
"""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value
from autodiff_compiler.ir.rewrite import fresh, producers, rename
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body


def drop_custom_rules(function: Function) -> Function:
    """Removes ``custom_rule`` and ``stop_gradient`` from ``function``, but not from its callees."""
    makers = producers(function.body)
    mapping: dict[Value, AnyOperand] = {}
    names: dict[Value, Value] = {}

    def visit(op: Op) -> Sequence[Op]:
        stops = op.name == "stop_gradient" and op.types == (op.result.type,)
        if op.name != "custom_rule" and not stops:
            return (op,)
        for result, value in zip(op.results, op.operands[-len(op.results) :]):
            mapping[result] = value
            if (
                result.has_user_name
                and value in makers
                and isinstance(value, Value)
                and not value.has_user_name
            ):
                names.setdefault(value, fresh(result))
        return ()

    body = rewrite_region(function.body, mapping, visit)
    return with_body(function, rename(body, names) if names else body)
