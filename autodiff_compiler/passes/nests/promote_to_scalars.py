"""Register promotion: a temporary of one element becomes a scalar.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[9]) -> (y: f64[9], sum: f64[1]) {
...   alloc total: f64[1]
...   alloc t: f64[1]
...   total[0] = 0.0
...   for i in 0:9 {
...     t[0] = exp(x[i])
...     y[i] = t[0] * t[0]
...     total[0] += t[0]
...   }
...   sum[0] = total[0]
... }
... ''')
>>> print(print_nests(promote_to_scalars(before)), end="")
func f(x: f64[9]) -> (y: f64[9], sum: f64[1]) {
  var total: f64 = 0.0
  for i in 0:9 {
    let t: f64 = exp(x[i])
    y[i] = t * t
    total += t
  }
  sum[0] = total
}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autodiff_compiler.loop_ir.accesses import summary_of
from autodiff_compiler.loop_ir.nodes import (
    Body,
    Buffer,
    Call,
    Expression,
    Function,
    Let,
    Load,
    Product,
    Read,
    Scalar,
    Set,
    Statement,
    Store,
    bodies,
    map_bodies,
    walk,
)
from autodiff_compiler.loop_ir.rewrite import rewrite_expression, rewrite_head


def promote_to_scalars(function: Function) -> Function:
    """Replaces temporaries of one element by scalars.

    The first use of such a temporary writes it, and all others are in the same body or deeper.
    """
    scalars = _single_elements(function.body)
    if not scalars:
        return function
    return replace(function, body=_with_scalars(function.body, scalars))


def _single_elements(body: Body) -> dict[Buffer, Scalar]:
    """Returns the temporaries of one element that can be scalars, with these scalars."""
    homes: dict[Buffer, Body] = {}
    stores: dict[Buffer, int] = {}
    excluded: set[Buffer] = set()

    def visit(inside: Body) -> None:
        for statement in inside:
            for access in summary_of(statement).accesses:
                buffer = access.buffer
                is_first = buffer not in homes and buffer not in excluded
                if buffer.role != "temporary" or buffer.grows or buffer.size != 1:
                    excluded.add(buffer)
                elif (
                    is_first
                    and isinstance(statement, Store)
                    and (statement.buffer is buffer and not statement.combine and access.writes)
                ):
                    homes[buffer] = inside
                elif is_first and not bodies(statement):
                    excluded.add(buffer)
            for inner in bodies(statement):
                visit(inner)

    visit(body)
    for statement in walk(body):
        if isinstance(statement, Store):
            stores[statement.buffer] = stores.get(statement.buffer, 0) + 1
        if isinstance(statement, Product):
            for matrix in (statement.left, statement.right, statement.result):
                excluded.add(matrix.buffer)
        elif isinstance(statement, Call):
            excluded.update(part.buffer for part in statement.parts)
    inside_of = {buffer: _uses_in(home) for buffer, home in homes.items()}
    everywhere = _uses_in(body)
    return {
        buffer: Scalar(buffer.name, buffer.dtype, stores[buffer] > 1)
        for buffer in homes
        if buffer not in excluded and inside_of[buffer].get(buffer) == everywhere.get(buffer)
    }


def _uses_in(body: Body) -> dict[Buffer, int]:
    counts: dict[Buffer, int] = {}
    for statement in body:
        for access in summary_of(statement).accesses:
            counts[access.buffer] = counts.get(access.buffer, 0) + 1
    return counts


def _with_scalars(body: Body, scalars: Mapping[Buffer, Scalar]) -> Body:
    if not scalars:
        return body
    defined: set[Buffer] = set()

    def change(expression: Expression) -> Expression:
        if isinstance(expression, Load) and expression.buffer in scalars:
            return Read(scalars[expression.buffer])
        return expression

    def visit(inside: Body) -> Body:
        after: list[Statement] = []
        for statement in inside:
            new = map_bodies(statement, visit)
            if isinstance(statement, Store) and statement.buffer in scalars:
                value = rewrite_expression(statement.value, change, lambda at: at)
                scalar = scalars[statement.buffer]
                if statement.buffer in defined:
                    after.append(Set(scalar, value, statement.combine, statement.span))
                else:
                    defined.add(statement.buffer)
                    after.append(Let(scalar, value, statement.span))
                continue
            after.append(rewrite_head(new, change, lambda at: at))
        return tuple(after)

    return visit(body)
