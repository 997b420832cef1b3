"""Sign analysis: proofs that values are positive, never negative or never positive.

A proof follows the operations that make a value, a few levels deep. False means that there is no
proof.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from autodiff_compiler.analysis.magnitude import LEAST
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Op, Value
from autodiff_compiler.ir.rewrite import Producers

#: Operators whose results are never negative.
NEVER_NEGATIVE = frozenset(
    "abs square exp sqrt relu sigmoid softplus softmax norm var std hypot".split()
)
#: Operators whose results are never negative if no operand is.
KEEP_SIGN = frozenset(
    """
    sum mean reshape expand_dims squeeze transpose broadcast_to index copy max min cast add mul div
    """.split()
)
#: Operators whose result is positive if their operand is.
KEEP_POSITIVE = frozenset("sqrt reshape expand_dims squeeze broadcast_to copy".split())
#: Operators that only move the elements of an array.
MOVES = frozenset("reshape expand_dims broadcast_to stop_gradient".split())


class Signs:
    """The sign analysis of one function."""

    def __init__(self, makers: Producers, safe_magnitude: Container[AnyOperand]):
        self.makers, self.safe_magnitude = makers, safe_magnitude

    def is_positive(self, operand: AnyOperand, depth: int = 0) -> bool:
        """True if ``operand`` is well above 0."""
        if not isinstance(operand, Value):
            return isinstance(operand, (int, float)) and operand >= LEAST
        if operand in self.safe_magnitude:
            op = self.makers.get(operand)
            return op is None or op.name != "neg"
        op = self._maker(operand, depth)
        if op is None:
            return False
        if op.name == "add":
            a, b = op.operands
            return self._is_sum_positive(a, b, depth + 1) or self._is_sum_positive(b, a, depth + 1)
        if op.name == "full":
            value = op.attrs["value"]
            return isinstance(value, (int, float)) and value >= LEAST
        if op.name == "maximum":
            return any(self.is_positive(each, depth + 1) for each in op.operands)
        return op.name in KEEP_POSITIVE and self.is_positive(op.operands[0], depth + 1)

    def _is_sum_positive(self, a: AnyOperand, b: AnyOperand, depth: int) -> bool:
        return self.is_positive(a, depth) and self.never_negative(b, depth)

    def never_negative(self, operand: AnyOperand, depth: int = 0) -> bool:
        """True if no element of ``operand`` is negative."""
        if not isinstance(operand, Value):
            return isinstance(operand, (int, float)) and operand >= 0
        op = self._maker(operand, depth)
        if op is None:
            return False
        if op.name in NEVER_NEGATIVE or op.name == "mul" and op.operands[0] is op.operands[1]:
            return True
        if op.name == "pow":
            return op.operands[1] in (2, 4)
        if op.name == "neg":
            return self.never_positive(op.operands[0], depth + 1)
        read = [each for each in op.operands if each is not None][:2]
        return op.name in KEEP_SIGN and all(self.never_negative(each, depth + 1) for each in read)

    def never_positive(self, operand: AnyOperand, depth: int = 0) -> bool:
        """True if no element of ``operand`` is positive."""
        if not isinstance(operand, Value):
            return isinstance(operand, (int, float)) and operand <= 0
        op = self._maker(operand, depth)
        rule = None if op is None else _NEVER_POSITIVE.get(op.name)
        return op is not None and rule is not None and rule(self, op, depth + 1)

    def _negation(self, op: Op, depth: int) -> bool:
        return self.never_negative(op.operands[0], depth)

    def _difference(self, op: Op, depth: int) -> bool:
        """True if ``op`` is ``x - max(x)`` or ``x - maximum(x, …)``."""
        x, most = op.operands
        return self._reduced_by_max(most) is x is not None or self._is_in_maximum(x, most)

    def _product(self, op: Op, depth: int) -> bool:
        """True if ``op`` is ``x * -x``, or a product of operands with different signs."""
        a, b = op.operands
        if self._is_negation_of(a, b) or self._is_negation_of(b, a):
            return True
        return self._have_signs(a, b, depth) or self._have_signs(b, a, depth)

    def _quotient(self, op: Op, depth: int) -> bool:
        a, b = op.operands
        return self._have_signs(a, b, depth) or (
            self.never_negative(a, depth) and self.never_positive(b, depth)
        )

    def _any_operand(self, op: Op, depth: int) -> bool:
        read = (operand for operand in op.operands if operand is not None)
        return any(self.never_positive(operand, depth) for operand in read)

    def _have_signs(self, minus: AnyOperand, plus: AnyOperand, depth: int) -> bool:
        return self.never_positive(minus, depth) and self.never_negative(plus, depth)

    def _is_negation_of(self, a: AnyOperand, b: AnyOperand) -> bool:
        op = self.makers.get(a)
        return op is not None and op.name == "neg" and op.operands[0] is b

    def _is_in_maximum(self, x: AnyOperand, most: AnyOperand, depth: int = 0) -> bool:
        """True if ``most`` is the maximum of ``x`` and other operands."""
        op = self._maker(most, depth)
        if op is None or op.name != "maximum":
            return False
        return any(each is x or self._is_in_maximum(x, each, depth + 1) for each in op.operands)

    def _reduced_by_max(self, operand: AnyOperand) -> AnyOperand | None:
        """Returns x if ``operand`` is max(x), perhaps reshaped."""
        for _ in range(costs().sign_search_levels):
            op = self.makers.get(operand)
            if op is None:
                return None
            if op.name == "max":
                return op.operands[0]
            if op.name not in MOVES:
                return None
            operand = op.operands[0]
        return None

    def _maker(self, operand: AnyOperand, depth: int) -> Op | None:
        """Returns the operation that makes ``operand``, unless it is too deep."""
        return self.makers.get(operand) if depth < costs().sign_search_levels else None


#: The proofs that a result is never positive, by operator.
_NEVER_POSITIVE: dict[str, Callable[[Signs, Op, int], bool]] = {
    "neg": Signs._negation,
    "sub": Signs._difference,
    "mul": Signs._product,
    "div": Signs._quotient,
    **dict.fromkeys(("minimum", "reshape", "expand_dims", "sum", "mean"), Signs._any_operand),
}


__all__ = ["Signs"]
