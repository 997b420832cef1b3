"""Replaces the exit flag of a loop by an exit condition.

A ``break`` is compiled as a flag that a branch sets and the loop carries. If nothing else reads the
flag, the test of that branch ends the loop by itself. In an iteration that runs, the flag is not
set before. Dead code elimination removes the rest of the flag.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f64[], %n: int) -> (f64[]) {
...   %y: f64[], %stop: bool, %c: int = for %k, %i in (0, %n, 1) \
carry (%p: f64[] = %x, %was: bool = False) {
...     %m: f64[] = mul %p, %x
...     %large: bool[] = greater %m, 3.0
...     %now: bool = if %large {
...       yield True
...     } else {
...       yield %was
...     }
...     yield carry %m, %now until %now
...   }
...   return %y
... }
... ''')
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> print(print_function(dce(simplify_loop_exits(before))), end='')
func @f(%x: f64[], %n: int) -> (f64[]) {
  %y: f64[], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[] = %x) {
    %m: f64[] = mul %p, %x
    %large: bool[] = greater %m, 3.0
    yield carry %m until %large
  }
  return %y
}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.passes.core.traversal import rewrite_named

LOOPS = ("for", "while")


def simplify_loop_exits(function: Function) -> Function:
    """Ends the loops of ``function`` by tests instead of flags."""
    if function.op_names.isdisjoint(LOOPS):
        return function
    read: Counter[AnyOperand] = Counter(function.returns)
    for op in function.body.walk():
        read.update(op.operands)
        for region in op.regions:
            read.update(region.yields)

    def visit(op: Op) -> Sequence[Op]:
        loop = Loop(op)
        test = _exit_test(loop, read) if loop.has_until else None
        if test is None:
            return (op,)
        body = Region(loop.body.params, loop.body.ops, (*loop.body.yields[:-1], test))
        return (replace(op, regions=(*op.regions[:-1], body)),)

    return rewrite_named(function, LOOPS, visit)


def _exit_test(loop: Loop, read: Counter[AnyOperand]) -> AnyOperand:
    """Returns the test that is equal to the exit flag of ``loop``, or None if there is none."""
    flag = loop.until
    maker = next((op for op in loop.body.ops if flag in op.results), None)
    if not isinstance(flag, Value) or maker is None or maker.name != "if" or read[flag] != 2:
        return None  # the flag is carried and ends the loop; it is read otherwise, too
    for init, param, result, yielded in zip(
        loop.inits, loop.carry_params, loop.carried, loop.carry_yields
    ):
        if yielded is flag and init is False and not read[result] and read[param] == 1:
            place = maker.results.index(flag)
            then, orelse = (region.yields[place] for region in maker.regions)
            return maker.operands[0] if then is True and orelse is param else None
    return None
