"""Forward analysis of tangents that a choice may have set to 0: ``sqrt(maximum(x, 0))`` is level
below 0, and its tangent there is 0, though the slope of the root at 0 is infinite.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> made = parse_function('''
... func @f(%x: f32[2]) -> (f32[2]) {
...   %y: f32[2] = maximum %x, 0.0
...   %z: f32[2] = sqrt %y
...   return %z
... }
... ''')
>>> sorted(value.name for value in stilled_values(made))
['y', 'z']
"""

from __future__ import annotations

from autodiff_compiler.analysis.activity import Activity, _Spread
from autodiff_compiler.analysis.masks import is_mask
from autodiff_compiler.ir.nodes import Function, Op, Value
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.operators.elementwise.zero_wins import STILLING


class _Stilled(_Spread):
    """Forward: what may have a tangent of 0 because a choice took something else."""

    def __init__(self, function: Function):
        super().__init__(Activity())
        self.makers = producers(function.body)

    def passes(self, op: Op) -> bool:
        if (
            op.name in STILLING
            or op.name == "mul"
            and any(is_mask(each, self.makers) for each in op.operands)
        ):
            return True
        return op.opdef.kind != "zero" and any(map(self.has, op.operands))

    def branch(self, op: Op) -> None:
        super().branch(op)
        for place, result in enumerate(op.results):
            if not all(isinstance(region.yields[place], Value) for region in op.regions):
                self.add([result])

    def returned(self, op: Op) -> frozenset[Value]:
        given = tuple(k for k, operand in enumerate(op.operands) if self.has(operand))
        return stilled_values(op.attrs["callee"], given)


def stilled_values(function: Function, given: tuple[int, ...] = ()) -> frozenset[Value]:
    """Find what may have a tangent of 0 by a choice, where these parameters may."""
    spread = _Stilled(function)
    spread.add([function.params[place] for place in given])
    spread.region(function.body)
    return frozenset(spread.values)
