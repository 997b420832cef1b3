"""What is differentiated once more is one text, where that makes none of it longer.

A derivative calls derivatives of what its primal called, and each of those has derivatives in its
turn: with every order there are more and smaller functions, and what one of them computes for
another no pass can see, leave out or put where it is dead. So before a function is differentiated,
calls of derivatives, and calls in them, are written out, if nothing else calls the callee. What is
called from two places stays a function, and so does a text of the user's in another.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.opdef import OPERATORS
>>> from autodiff_compiler.ir.text import parse_functions, print_function
>>> before = parse_functions('''
... # role='gradient', order=1
... func @u_grad(%a: float) -> (float) {
...   %d_a: float = mul 2.0, %a
...   return %d_a
... }
... func @u(%a: float) -> (float) {
...   %b: float = mul %a, %a
...   return %b
... }
... func @f(%x: float) -> (float) {
...   %y!: float = call @u(%x)
...   %d_x!: float = call @u_grad(%y)
...   return %d_x
... }
... ''', OPERATORS)["f"]
>>> print(print_function(once(before)), end='')
func @f(%x: float) -> (float) {
  %y!: float = call @u(%x)
  %d_x!: float = mul 2.0, %y
  return %d_x
}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from autodiff_compiler.ir.nodes import Function, Op
from autodiff_compiler.passes.inline import inline
from autodiff_compiler.passes.sweep import everywhere


def once(function: Function, may: Callable[[Op], bool] = lambda call: True) -> Function:
    """``function`` and all that it calls, with such calls written out as ``may`` be."""
    every = (*function.callees(), function)
    if not any(each.order for each in every):
        return function
    # By name: it stays when a body changes. Two callees of one name count as called twice.
    places = Counter(
        named.name for each in every for op in each.body.walk() for named in op.functions
    )

    def written_out(caller: Function) -> Function:
        def should(call: Op) -> bool:
            callee = call.attrs["callee"]
            derived = caller.order or callee.order
            return bool(derived) and places[callee.name] == 1 and may(call)

        return inline(caller, should)

    return everywhere(function, written_out)


__all__ = ["once"]
