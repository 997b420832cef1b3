"""Forward analysis of values whose tangent a choice may have set to 0.

``sqrt(maximum(x, 0))`` is constant below 0, and its tangent there is 0. The slope of the root at 0
is infinite, however.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> made = parse_function('''
... func @f(%x: f32[2]) -> (f32[2]) {
...   %y: f32[2] = maximum %x, 0.0
...   %z: f32[2] = sqrt %y
...   return %z
... }
... ''')
>>> sorted(value.name for value in values_with_zeroed_tangents(made))
['y', 'z']
"""

from __future__ import annotations

from autodiff_compiler.analysis.activity import Activity, ForwardAnalysis
from autodiff_compiler.analysis.masks import is_mask
from autodiff_compiler.ir.nodes import Function, Op, Value
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.operators.elementwise.zero_wins import STILLING


class _ZeroedTangents(ForwardAnalysis):
    """The forward analysis of values whose tangent a choice may have set to 0."""

    def __init__(self, function: Function):
        super().__init__(Activity())
        self.makers = producers(function.body)

    def holds_after(self, op: Op) -> bool:
        masks = op.name == "mul" and any(is_mask(each, self.makers) for each in op.operands)
        if op.name in STILLING or masks:
            return True
        return op.opdef.kind != "zero" and any(map(self.has, op.operands))

    def branch(self, op: Op) -> None:
        super().branch(op)
        for place, result in enumerate(op.results):
            if not all(isinstance(region.yields[place], Value) for region in op.regions):
                self.add([result])

    def in_callee(self, op: Op) -> frozenset[Value]:
        zeroed = tuple(k for k, operand in enumerate(op.operands) if self.has(operand))
        return values_with_zeroed_tangents(op.attrs["callee"], zeroed)


def values_with_zeroed_tangents(
    function: Function, zeroed: tuple[int, ...] = ()
) -> frozenset[Value]:
    """Collects the values whose tangent a choice may have set to 0.

    ``zeroed`` are the positions of parameters that have such a tangent.
    """
    analysis = _ZeroedTangents(function)
    analysis.add([function.params[place] for place in zeroed])
    analysis.region(function.body)
    return frozenset(analysis.values)
