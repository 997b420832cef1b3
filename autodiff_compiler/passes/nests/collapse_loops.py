"""Loop collapsing: nested loops over contiguous memory become one loop.

The outer loop has the inner one as its only statement. In each position its index counts as much as
all iterations of the inner one.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[24], row: f64[6]) -> (y: f64[24], z: f64[24]) {
...   for i in 0:4 {
...     for j in 0:6 {
...       y[6*i + j] = exp(x[6*i + j])
...     }
...   }
...   for i in 0:4 {
...     for j in 0:6 {
...       z[6*i + j] = x[6*i + j] * row[j]
...     }
...   }
... }
... ''')
>>> print(print_nests(collapse_loops(before)), end="")
func f(x: f64[24], row: f64[6]) -> (y: f64[24], z: f64[24]) {
  for j in 0:24 {
    y[j] = exp(x[j])
  }
  for i in 0:4 {
    for j in 0:6 {
      z[6*i + j] = x[6*i + j] * row[j]
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Function,
    Load,
    Loop,
    Position,
    Read,
    Scalar,
    expressions,
    positions,
    subexpressions,
    walk,
    with_body,
)
from autodiff_compiler.loop_ir.rewrite import rewrite_body, rewrite_loops


def collapse_loops(function: Function) -> Function:
    """Collapses the loops of a function, from the inside outward."""
    return with_body(function, rewrite_loops(function.body, _collapsed))


def _collapsed(loop: Loop) -> tuple[Loop]:
    """Returns a loop joined with the only one in its body, if there is such a loop."""
    if len(loop.body) == 1:
        (only,) = loop.body
        if isinstance(only, Loop) and _is_contiguous(loop, only):
            return (_joined(loop, only),)
    return (loop,)


def _is_contiguous(outer: Loop, inner: Loop) -> bool:
    """True if all positions in the body count the iterations of both loops in one."""
    if not isinstance(outer.extent, int) or not isinstance(inner.extent, int):
        return False
    for statement in walk(inner.body):
        if isinstance(statement, Loop) and statement.extent in (outer.index, inner.index):
            return False
        for expression in expressions(statement):
            for each in subexpressions(expression):
                if isinstance(each, Read) and each.scalar in (outer.index, inner.index):
                    return False
    return all(
        at.coefficient(outer.index) == inner.extent * at.coefficient(inner.index)
        for at in _positions(inner.body)
    )


def _positions(body: Body) -> Iterator[Affine]:
    for statement in walk(body):
        for expression in expressions(statement):
            for each in subexpressions(expression):
                if isinstance(each, (Load, Position)):
                    yield each.at
        yield from positions(statement)


def _joined(outer: Loop, inner: Loop) -> Loop:
    """Returns one loop in place of two; its index counts as that of the inner one did."""
    assert isinstance(outer.extent, int) and isinstance(inner.extent, int)
    index: Scalar = outer.index
    body = rewrite_body(inner.body, lambda each: each, lambda at: at.without(index))
    independent = outer.independent and inner.independent
    extent = outer.extent * inner.extent
    return replace(inner, extent=extent, body=body, independent=independent, span=outer.span)
