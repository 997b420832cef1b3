"""Operations that are lowered as other operations: calls, and operators that are decomposed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Op, Region
from autodiff_compiler.ir.opdef import call_with_named, rule_arguments
from autodiff_compiler.loops.core.state import Lowering
from autodiff_compiler.loops.core.values import NoNativeText

#: Operators whose decomposition is lowered.
DECOMPOSED = ("var", "std", "norm", "logsumexp")


def inlined_rules(
    lower_region: Callable[..., None],
) -> Mapping[str, Callable[[Lowering, Op], None]]:
    """Returns the rules; ``lower_region`` lowers the operations of a region."""

    def call(low: Lowering, op: Op) -> None:
        callee = op.attrs["callee"]
        assert isinstance(callee, Function), op
        for param, operand in zip(callee.params, op.operands):
            low.bind(param, low.represent(operand))
        lower_region(low, callee.body)
        results = [low.represent(value) for value in callee.returns]
        for result, value in zip(op.results, results):
            low.bind(result, value)

    def decomposed(low: Lowering, op: Op) -> None:
        builder = Builder()
        with builder, builder.at(op.span, op.role):
            assert op.opdef.decompose is not None, op
            facts = rule_arguments(op.opdef, op.operands, op.attrs)
            result = call_with_named(op.opdef.decompose, facts)
        if result is None or result.type != op.result.type:
            raise NoNativeText(f"{op.name} of {op.types[0]}")
        *ops, last = builder.ops
        lower_region(low, Region((), (*ops, replace(last, results=op.results)), op.results))
        low.bind(op.result, low.represent(op.result))

    return {"call": call, **dict.fromkeys(DECOMPOSED, decomposed)}
