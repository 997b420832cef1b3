"""Dead code elimination: a scalar is not computed if no value that is stored depends on it.

Loop distribution leaves such scalars, for example: a part of a loop defines an element, and only
later parts read it. Each of them loads it anew.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[9]) -> (y: f64[9]) {
...   var count: f64 = 0.0
...   for i in 0:9 {
...     let a: f64 = x[i]
...     let b: f64 = exp(a)
...     y[i] = a * a
...     count += b
...   }
... }
... ''')
>>> print(print_nests(remove_dead_scalars(before)), end="")
func f(x: f64[9]) -> (y: f64[9]) {
  for i in 0:9 {
    let a: f64 = x[i]
    y[i] = a * a
  }
}
"""

from __future__ import annotations

from autodiff_compiler.loop_ir.accesses import scalars_read_by_head
from autodiff_compiler.loop_ir.nodes import Function, Let, Scalar, Set, Statement, walk, with_body
from autodiff_compiler.loop_ir.rewrite import without_statements


def remove_dead_scalars(function: Function) -> Function:
    """Removes the scalars of a function that nothing else depends on."""
    defined: set[Scalar] = set()
    operands: dict[Scalar, set[Scalar]] = {}
    live: list[Scalar] = []
    for each in walk(function.body):
        read = scalars_read_by_head(each)
        if isinstance(each, (Let, Set)):
            defined.add(each.scalar)
            operands.setdefault(each.scalar, set()).update(read)
        else:
            live += read
    dead = defined.difference(live)
    while live and dead:
        reached = operands.get(live.pop(), set()) & dead
        dead -= reached
        live += reached

    def is_dead(statement: Statement) -> bool:
        return isinstance(statement, (Let, Set)) and statement.scalar in dead

    return with_body(function, without_statements(function.body, is_dead)) if dead else function
