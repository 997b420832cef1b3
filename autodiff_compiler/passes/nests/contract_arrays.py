"""Array contraction: a temporary of one iteration keeps room for that iteration alone.

Loops around it that its positions do not name, such as steps of time, repeat its use. There each
iteration must write an element before it reads it. Temporaries that nothing reads are removed.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[24]) -> (y: f64[24]) {
...   alloc t: f64[24]
...   alloc unread: f64[4]
...   for i in 0:4 {
...     for j in 0:6 {
...       t[6*i + j] = exp(x[6*i + j])
...     }
...     unread[i] = t[6*i]
...     for j in 0:6 {
...       y[6*i + j] = t[6*i - j + 5]
...     }
...   }
... }
... ''')
>>> print(print_nests(contract_arrays(before)), end="")
func f(x: f64[24]) -> (y: f64[24]) {
  alloc t: f64[6]
  for i in 0:4 {
    for j in 0:6 {
      t[j] = exp(x[6*i + j])
    }
    for j in 0:6 {
      y[6*i + j] = t[-j + 5]
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TypeAlias

from autodiff_compiler.loop_ir.accesses import Access, span_within, summary_of
from autodiff_compiler.loop_ir.liveness import fills
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Buffer,
    Function,
    Loop,
    Scalar,
    Statement,
    Store,
    with_body,
)
from autodiff_compiler.loop_ir.rewrite import relocated, without_statements

#: A smaller buffer, the loop indices that its positions omit, and the least position.
Contraction: TypeAlias = tuple[Buffer, frozenset[Scalar], int]


def contract_arrays(function: Function) -> Function:
    """Contracts the temporaries of a function, and removes those that nothing reads."""
    uses: dict[Buffer, list[Access]] = {}
    for statement in function.body:
        for access in summary_of(statement).accesses:
            uses.setdefault(access.buffer, []).append(access)
    smaller: dict[Buffer, Contraction] = {}
    for buffer, accesses in uses.items():
        if buffer.role == "temporary" and not buffer.grows:
            contraction = _contracted(buffer, accesses)
            if contraction is not None:
                smaller[buffer] = contraction
    body = _without_unread(_with_smaller(function.body, smaller))
    return with_body(function, body)


def _contracted(buffer: Buffer, accesses: list[Access]) -> Contraction | None:
    """Returns the contraction of a buffer to what one iteration needs; None if it needs all."""
    common = accesses[0].loops
    for access in accesses:
        shared = 0
        while (
            shared < min(len(common), len(access.loops)) and common[shared] is access.loops[shared]
        ):
            shared += 1
        common = common[:shared]
    dropped: list[Loop] = []
    for loop in common:
        steps = {access.at.coefficient(loop.index) for access in accesses}
        if len(steps) != 1:
            break
        if 0 not in steps:
            dropped.append(loop)
    while dropped:
        smaller = _without_indices(buffer, accesses, [loop.index for loop in dropped])
        if smaller is not None:
            around = common[: common.index(dropped[-1]) + 1]
            once = _visits_once(around, accesses[0].at, smaller[0].size)
            if once or _fills_first(dropped[-1], buffer, smaller):
                return smaller
        dropped.pop()
    return None


def _without_indices(
    buffer: Buffer, accesses: list[Access], dropped: list[Scalar]
) -> Contraction | None:
    """Returns the contraction to what one iteration of some loops needs, if that is less."""
    spans = [span_within(access, dropped) for access in accesses]
    known = [span for span in spans if span is not None]
    if len(known) != len(spans):
        return None
    forms = {tuple(sorted(((id(s), c) for s, c in span[0].terms))) for span in known}
    low, high = min(span[1] for span in known), max(span[2] for span in known)
    steps = [abs(c) for _, c in known[0][0].terms]
    if len(forms) != 1 or high - low >= min(steps):
        return None
    return Buffer(buffer.name, buffer.dtype, high - low + 1), frozenset(dropped), low


def _visits_once(loops: Sequence[Loop], at: Affine, size: int) -> bool:
    """True if each iteration of the loops has ``size`` elements for itself at a position."""
    reach: float = size
    for loop in sorted(loops, key=lambda each: abs(at.coefficient(each.index))):
        step = abs(at.coefficient(loop.index))
        if step < reach:
            return False
        reach += step * (loop.extent - 1) if isinstance(loop.extent, int) else inf
    return True


def _fills_first(loop: Loop, buffer: Buffer, smaller: Contraction) -> bool:
    """True if each iteration writes all elements of the smaller buffer before it reads them."""
    for statement in loop.body:
        if buffer in summary_of(statement).buffers:
            (moved,) = _with_smaller((statement,), {buffer: smaller})
            return fills(moved, smaller[0])
    return False


def _with_smaller(body: Body, smaller: Mapping[Buffer, Contraction]) -> Body:
    def move(buffer: Buffer, at: Affine) -> tuple[Buffer, Affine]:
        if buffer not in smaller:
            return buffer, at
        new, dropped, low = smaller[buffer]
        return new, Affine(at.constant - low, tuple(t for t in at.terms if t[0] not in dropped))

    return tuple(relocated(each, move) for each in body) if smaller else body


def _without_unread(body: Body) -> Body:
    """Removes stores to temporaries that nothing reads, and loops without statements."""
    while True:
        read = {
            access.buffer
            for statement in body
            for access in summary_of(statement).accesses
            if not access.writes
        }

        def is_dead(each: Statement, read: set[Buffer] = read) -> bool:
            if not isinstance(each, Store) or each.buffer in read:
                return False
            return each.buffer.role == "temporary"

        after = without_statements(body, is_dead)
        if after is body:
            return body
        body = after
