"""Loop fusion: loops of equal length over the same elements become one loop.

Two loops are fused if they access a common buffer. Each iteration of the second one may need only
elements that the same iteration of the first one writes. Sums into shifted elements of one array
stay apart: each can run as vectors. Statements between them move before or after.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[9]) -> (y: f64[9], sum: f64[1]) {
...   alloc t: f64[9]
...   for i in 0:9 {
...     t[i] = exp(x[i])
...   }
...   var total: f64 = 0.0
...   for j in 0:9 {
...     y[j] = t[j] * 2.0
...     total += t[j]
...   }
...   sum[0] = total
... }
... ''')
>>> print(print_nests(fuse_loops(before)), end="")
func f(x: f64[9]) -> (y: f64[9], sum: f64[1]) {
  alloc t: f64[9]
  var total: f64 = 0.0
  for i in 0:9 {
    t[i] = exp(x[i])
    y[i] = t[i] * 2.0
    total += t[i]
  }
  sum[0] = total
}
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf

from autodiff_compiler.loop_ir.accesses import Access, depends, span_within, summary_of
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Function,
    Loop,
    Scalar,
    Statement,
    bodies,
    map_bodies,
    with_body,
)
from autodiff_compiler.loop_ir.rewrite import changed_body, substitute


def fuse_loops(function: Function) -> Function:
    """Fuses the loops of a function, from the outside inward."""
    return with_body(function, fused_body(function.body, ()))


def fused_body(body: Body, around: tuple[Scalar, ...]) -> Body:
    """Returns a body with its loops fused. ``around`` are the indices of the loops around it."""
    statements = list(body)
    second = 0
    while second < len(statements):
        first = _partner(statements, second, around)
        if first is None:
            second += 1
            continue
        _merge(statements, first, second)
        second = 0 if first == 0 else first
    after = []
    for statement in statements:
        inner = (*around, statement.index) if isinstance(statement, Loop) else around
        after.append(map_bodies(statement, partial(fused_body, around=inner)))
    return changed_body(body, after)


def _partner(statements: list[Statement], second: int, around: tuple[Scalar, ...]) -> int | None:
    """Returns the place of a loop with which the loop at ``second`` can be fused."""
    loop = statements[second]
    if not isinstance(loop, Loop) or not loop.independent:
        return None
    for first in range(second - 1, -1, -1):
        other = statements[first]
        if isinstance(other, Loop) and _can_fuse(other, loop, around):
            after = _dependents(statements, first, second)
            if not any(depends(loop, statements[place]) for place in after):
                return first
    return None


def _dependents(statements: list[Statement], first: int, second: int) -> list[int]:
    """Returns the places between two statements that depend on the first one, also indirectly."""
    dependents = [first]
    for place in range(first + 1, second):
        if any(depends(statements[place], statements[each]) for each in dependents):
            dependents.append(place)
    return dependents[1:]


def _merge(statements: list[Statement], first: int, second: int) -> None:
    one, other = statements[first], statements[second]
    assert isinstance(one, Loop) and isinstance(other, Loop)
    after = _dependents(statements, first, second)
    between = range(first + 1, second)
    moved = substitute(other.body, {other.index: Affine.of(one.index)})
    fused = replace(one, body=(*one.body, *moved))
    statements[first : second + 1] = [
        *(statements[place] for place in between if place not in after),
        fused,
        *(statements[place] for place in after),
    ]


def _can_fuse(one: Loop, other: Loop, around: tuple[Scalar, ...]) -> bool:
    same = one.extent == other.extent if isinstance(one.extent, int) else one.extent is other.extent
    if not same or not one.independent:
        return False
    a, b = summary_of(one), summary_of(other)
    if a.may_fail or b.may_fail or not a.buffers & b.buffers:
        return False
    if a.scalars_written & b.scalars_read or b.scalars_written & a.scalars_read:
        return False
    shared = (a.buffers_written & b.buffers) | (a.buffers & b.buffers_written)
    return all(
        _is_aligned(x, y, one, other, around)
        for x in a.accesses
        if x.buffer in shared
        for y in b.accesses
        if y.buffer is x.buffer and (x.writes or y.writes)
    )


def _prevents_vectors(x: Affine, y: Affine, one: Loop, other: Loop) -> bool:
    """True if iterations combine with elements of each other, in the fused loop alone."""
    step, distance = x.coefficient(one.index), x.without(one.index) + y.without(other.index) * -1
    if not step or not y.coefficient(other.index):
        return False
    if step != y.coefficient(other.index) or distance.terms:
        return True
    meets = distance.constant and distance.constant % step == 0
    extent = one.extent if isinstance(one.extent, int) else inf
    return bool(meets) and abs(distance.constant) < abs(step) * extent


def _is_aligned(x: Access, y: Access, one: Loop, other: Loop, around: tuple[Scalar, ...]) -> bool:
    """True if different iterations of the two loops access different elements.

    They may combine with one element: the order does not matter. Innermost loops may not, if each
    could run as vectors.
    """
    if x.combine and x.combine == y.combine:
        is_inner = not any(map(bodies, (*one.body, *other.body)))
        return not is_inner or not _prevents_vectors(x.at, y.at, one, other)
    step = x.at.coefficient(one.index)
    if step == 0 or step != y.at.coefficient(other.index):
        return False
    left = span_within(x, (*around, one.index))
    right = span_within(y, (*around, other.index))
    if left is None or right is None:
        return False
    outer, another = left[0].without(one.index), right[0].without(other.index)
    if dict(outer.terms) != dict(another.terms):
        return False
    return max(left[2], right[2]) - min(left[1], right[1]) < abs(step)
