"""The reverse rule of ``custom_rule`` values: the rule that the user gave, inlined in backward.

    %y: f32[2] = custom_rule %x, %y_0 {rule=@square_bprop, wrt=(0,)}

equals ``%y_0`` in forward. In backward the operations of ``@square_bprop(%x, %y, %d_y)`` replace
the derivative of the operations that computed ``%y_0``. They are ordinary operations: values that
they do not read are not saved, and they can be differentiated again. There ``%y`` has its rule
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value
from autodiff_compiler.ir.rewrite import clone_ops, map_regions, substitute_operands
from autodiff_compiler.transforms.reverse.branches_and_calls import SweepProtocol
from autodiff_compiler.transforms.reverse.cotangents import Cotangents, conform


def reverse_custom_rule(sweep: SweepProtocol, op: Op, scope: Cotangents) -> Op:
    """Inlines the rule for the cotangents of the results."""
    if not any(scope.has_cotangent(result) for result in op.results):
        return op
    rule, given = op.attrs["rule"], op.operands[: -len(op.results)]
    params = rule.params[len(rule.params) - len(op.results) :]
    cotangents = [
        conform(scope.full_cotangent(result), param.type)
        for result, param in zip(op.results, params)
    ]
    mapping: dict[Value, AnyOperand] = dict(zip(rule.params, (*given, *op.results, *cotangents)))
    for inlined in clone_ops(rule.body.ops, mapping):
        sweep.builder.add(_adjoint(inlined))
    rule_results = substitute_operands(rule.returns, mapping)
    for position, ct in zip(op.attrs["wrt"], rule_results):
        scope.add(op.operands[position], ct)
    return op


def stands_for(ops: Sequence[Op]) -> dict[Value, Value]:
    """Maps ``custom_rule`` results to the values that they equal at run time."""
    equal_values: dict[Value, Value] = {}
    for op in ops:
        if op.name == "custom_rule":
            for result, value in zip(op.results, op.operands[-len(op.results) :]):
                if isinstance(value, Value):
                    equal_values[result] = equal_values.get(value, value)
    return equal_values


def _adjoint(op: Op) -> Op:
    def inside(region: Region) -> Region:
        return Region(region.params, tuple(map(_adjoint, region.ops)), region.yields)

    return replace(map_regions(op, inside), role="adjoint")
