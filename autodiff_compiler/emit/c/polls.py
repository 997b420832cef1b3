"""Polls in loops: a long call asks again and again whether it has to end, such as for Ctrl-C.

A loop polls if its number of iterations is unknown, or if it is very long. A vector loop never
does. All loops of a function count their iterations in one variable. Each period is a power of two.
The loop that counts to a multiple of the longest period polls there, whichever loop it is.
"""

from __future__ import annotations

from autodiff_compiler.cost_model import costs
from autodiff_compiler.emit.c.return_codes import INTERRUPTED
from autodiff_compiler.loop_ir.nodes import Body, Call, Loop, Product, Statement, While, bodies


def poll_period(loop: Loop | While) -> int:
    """Returns the number of iterations from one poll to the next, a power of two; 0 for no poll."""
    terms = _terms(loop.body) + (_terms(loop.test) if isinstance(loop, While) else 0)
    extent = loop.extent if isinstance(loop, Loop) else None
    if isinstance(extent, int) and extent * terms < costs().polled_terms:
        return 0
    period = costs().poll_period_iterations
    while period > 1 and period * terms > costs().poll_period_terms:
        period //= 2
    return period


def poll_line(period: int) -> str:
    """Returns the statement at the start of an iteration."""
    return (
        f"if (++polls % {period} == 0 && services->poll && services->poll(services)) "
        f"return {INTERRUPTED};"
    )


def _terms(body: Body) -> int:
    return sum(map(_terms_of, body))


def _terms_of(statement: Statement) -> int:
    """Returns about how many elements a statement computes; a loop of unknown length polls."""
    if isinstance(statement, Product):
        return statement.m * statement.n * statement.k
    if isinstance(statement, Call):
        return 1 + sum(part.size for part in statement.parts)
    inside = sum(map(_terms, bodies(statement)))
    extent = statement.extent if isinstance(statement, Loop) else 1
    return max(1, inside * (extent if isinstance(extent, int) else 1))


__all__ = ["poll_line", "poll_period"]
