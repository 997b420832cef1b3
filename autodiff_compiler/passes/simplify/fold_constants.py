"""Constant folding: computes operations on constants at compile time.

An operator on literals becomes a literal, and an ``if`` on a literal the branch taken. A loop that
runs zero times becomes its initial values. An item of a container becomes the operand that it was
made of. An operation stays if the replacement has another type, because the operations after it are
typed already. A branch, for example, may have a narrower type than the ``if``. A Python operator
gives the same number at compile time and at run time.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: float) -> (float, float) {
...   %a: float = mul 2.0, 3.0
...   %t: (float, float) = make_tuple %a, %x
...   %b: float = item %t {key=1}
...   %c: float = if True {
...     %n: float = neg %b
...     yield %n
...   } else {
...     yield %x
...   }
...   return %a, %c
... }
... ''')
>>> print(print_function(fold_constants(before)), end='')
func @f(%x: float) -> (float, float) {
  %t: (float, float) = make_tuple 6.0, %x
  %n: float = neg %x
  return 6.0, %n
}
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Value, type_of
from autodiff_compiler.ir.types import ScalarType
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body


def fold_constants(function: Function) -> Function:
    """Folds the constants of ``function``."""
    folding = _Folding()
    return with_body(function, rewrite_region(function.body, folding.mapping, folding.visit))


class _Folding:
    """The traversal of a function: ``mapping`` has the replacements of dropped results."""

    def __init__(self) -> None:
        self.mapping: dict[Value, AnyOperand] = {}
        self.makers: dict[Value, Op] = {}
        self.effects = Effects()

    def visit(self, op: Op) -> Sequence[Op]:
        if op.name == "if":
            return self.folded_branch(op)
        if op.name in ("for", "while"):
            return self.folded_loop(Loop(op))
        if op.name in ("item", "list_item"):
            folded: Sequence[AnyOperand] = self.folded_item(op)
        else:
            folded = self.folded_number(op)
        if folded and self.replaces(op.results, folded):
            return ()
        if op.name in ("make_tuple", "make_dict", "make_list"):
            self.makers[op.result] = op
        return (op,)

    def replaces(self, results: Sequence[Value], replacements: Sequence[AnyOperand]) -> bool:
        """True if ``replacements`` replaces ``results``: every type stays as it was."""
        if any(
            result.type != type_of(new) for result, new in zip(results, replacements, strict=True)
        ):
            return False
        self.mapping.update(zip(results, replacements))
        return True

    def folded_branch(self, op: Op) -> Sequence[Op]:
        (predicate,) = op.operands
        if isinstance(predicate, Value):
            return (op,)
        taken = op.regions[0 if predicate else 1]
        return taken.ops if self.replaces(op.results, taken.yields) else (op,)

    def folded_loop(self, loop: Loop) -> Sequence[Op]:
        if not self.never_runs(loop) or loop.stacked:
            return (loop.op,)
        return () if self.replaces(loop.op.results, (*loop.inits, 0)) else (loop.op,)

    def never_runs(self, loop: Loop) -> bool:
        if loop.condition is not None:
            (test,) = loop.condition.yields
            known = not isinstance(test, Value) and not test
            return known and not self.effects.inside(loop.condition)
        bounds = [bound for bound in loop.bounds if isinstance(bound, int)]
        return len(bounds) == 3 and bounds[2] != 0 and not range(*bounds)

    def folded_item(self, op: Op) -> Sequence[AnyOperand]:
        container = op.operands[0]
        maker = self.makers.get(container) if isinstance(container, Value) else None
        if maker is None:
            return ()
        key = op.attrs["key"] if op.name == "item" else op.operands[1]
        if "keys" in maker.attrs:
            key = maker.attrs["keys"].index(key)
        count = len(maker.operands)
        return (maker.operands[key],) if isinstance(key, int) and -count <= key < count else ()

    @staticmethod
    def folded_number(op: Op) -> Sequence[Any]:
        """Returns the number that ``op`` computes from literals, or an empty sequence."""
        literals = op.operands and not any(isinstance(operand, Value) for operand in op.operands)
        scalar = len(op.results) == 1 and isinstance(op.results[0].type, ScalarType)
        if not literals or not scalar or op.opdef.effect or op.opdef.kind == "control":
            return ()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                number = op.opdef.evaluate(*op.operands, **op.attrs)
        except (ArithmeticError, ValueError, TypeError):
            return ()  # the program raises at run time
        return (number,) if type(number) in (bool, int, float, complex) else ()
