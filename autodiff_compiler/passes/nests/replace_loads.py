"""Scalar replacement: an element that is read again is held in a scalar.

Within a body, an element is loaded once, and a stored element is not loaded at all. A loop that
does not write a buffer reads its fixed elements before its first iteration.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[9], std: f64[3]) -> (y: f64[27], z: f64[27]) {
...   for i in 0:3 {
...     for j in 0:9 {
...       y[9*i + j] = x[j] / std[i]
...       z[9*i + j] = y[9*i + j] * y[9*i + j]
...     }
...   }
... }
... ''')
>>> print(print_nests(replace_loads(before)), end="")
func f(x: f64[9], std: f64[3]) -> (y: f64[27], z: f64[27]) {
  for i in 0:3 {
    let std_item: f64 = std[i]
    for j in 0:9 {
      let y_item: f64 = x[j] / std_item
      y[9*i + j] = y_item
      z[9*i + j] = y_item * y_item
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from autodiff_compiler.loop_ir.accesses import summary_of
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Buffer,
    Expression,
    Function,
    If,
    Let,
    Literal,
    Load,
    Loop,
    Read,
    Scalar,
    Statement,
    Store,
    bodies,
    expressions,
    map_bodies,
    walk,
)
from autodiff_compiler.loop_ir.rewrite import rewrite_head, rewrite_loops

#: An element of a buffer: equal positions have equal keys.
Key: TypeAlias = tuple[Buffer, int, frozenset[tuple[Scalar, int]]]
#: The scalars and numbers that elements are known to have.
Values: TypeAlias = Mapping[Key, Expression]


def replace_loads(function: Function) -> Function:
    """Replaces the loads of elements that are in a scalar already, or can be."""
    hoisted = rewrite_loops(function.body, _with_fixed_loads)
    return replace(function, body=_replaced(hoisted, {}))


def _key(buffer: Buffer, at: Affine) -> Key:
    return buffer, at.constant, frozenset(at.terms)


# ---- loads of loops


def _with_fixed_loads(loop: Loop) -> list[Statement]:
    """Returns the loads of a loop that are the same in all iterations, and the loop without them.

    Only a load that runs in every iteration is moved, and only if there is an iteration.
    """
    summary = summary_of(loop)
    if not isinstance(loop.extent, int) or loop.extent < 1 or summary.may_fail:
        return [loop]
    before: list[Statement] = []
    known: dict[Key, Expression] = {}

    def is_fixed(load: Load) -> bool:
        scalars = summary.scalars_written
        return load.buffer not in summary.buffers_written and scalars.isdisjoint(load.at.scalars)

    stays: list[Statement] = []
    for statement in loop.body:
        if (load := _bare_load(statement)) is not None and is_fixed(load):
            before.append(statement)
            continue
        stays.append(statement)
        for load in _certain_loads(statement):
            key = _key(load.buffer, load.at)
            if is_fixed(load) and key not in known:
                scalar = Scalar(f"{load.buffer.name}_item", load.dtype)
                known[key] = Read(scalar)
                before.append(Let(scalar, load, loop.span))
    if not before:
        return [loop]
    return [*before, replace(loop, body=_replaced(tuple(stays), known))]


def _bare_load(statement: Statement) -> Load | None:
    """Returns the load of a statement that only gives an element a name."""
    if not isinstance(statement, Let) or statement.scalar.mutable:
        return None
    return statement.value if isinstance(statement.value, Load) else None


def _certain_loads(statement: Statement) -> Iterator[Load]:
    """Yields the loads that run whenever a statement does, without those of its bodies."""
    if bodies(statement) and not isinstance(statement, If):
        return
    for expression in expressions(statement):
        yield from _certain_in(expression)


def _certain_in(expression: Expression) -> Iterator[Load]:
    if isinstance(expression, Load):
        yield expression
    elif isinstance(expression, Apply):
        # C evaluates one side of a choice: the other may be out of bounds.
        certain = expression.operands[:1] if expression.name == "select" else expression.operands
        for operand in certain:
            yield from _certain_in(operand)


# ---- loads of a body


def _replaced(body: Body, known: Values) -> Body:
    """Returns a body without the loads of ``known`` elements and of those that it holds itself."""
    again = _read_again(body)
    values = dict(known)
    after: list[Statement] = []
    for place, statement in enumerate(body):
        for load in _certain_loads(statement):
            key = _key(load.buffer, load.at)
            if key not in values and key in again[place] and _bare_load(statement) is None:
                scalar = Scalar(f"{load.buffer.name}_item", load.dtype)
                after.append(Let(scalar, load, statement.span))
                values[key] = Read(scalar)
        now = _with_values(statement, values)
        if isinstance(statement, Let) and (bare := _bare_load(statement)) is not None:
            values.setdefault(_key(bare.buffer, bare.at), Read(statement.scalar))
        if isinstance(now, Store):
            stored = _key(now.buffer, now.at)
            _forget(values, statement)
            if not now.combine and stored in again[place]:
                value = now.value
                if not isinstance(value, (Literal, Read)) or _is_mutable(value):
                    scalar = Scalar(f"{now.buffer.name}_item", now.buffer.dtype)
                    after.append(Let(scalar, value, now.span))
                    value = Read(scalar)
                values[stored] = value
                now = replace(now, value=value)
        else:
            _forget(values, statement)
        after.append(now)
    return tuple(after)


def _is_mutable(value: Expression) -> bool:
    return isinstance(value, Read) and value.scalar.mutable


def _with_values(statement: Statement, values: Values) -> Statement:
    """Returns a statement that reads scalars in place of elements."""

    def change(expression: Expression) -> Expression:
        if isinstance(expression, Load):
            return values.get(_key(expression.buffer, expression.at), expression)
        return expression

    if not bodies(statement):
        return rewrite_head(statement, change, lambda at: at)
    summary = summary_of(statement)
    stays = {
        key: value
        for key, value in values.items()
        if key[0] not in summary.buffers_written
        and summary.scalars_written.isdisjoint(scalar for scalar, _ in key[2])
    }
    new = map_bodies(statement, lambda body: _replaced(body, stays))
    return rewrite_head(new, change, lambda at: at) if isinstance(new, If) else new


def _forget(values: dict[Key, Expression], statement: Statement) -> None:
    """Removes the elements that a statement may change, or whose position it changes."""
    summary = summary_of(statement)
    lost = [
        key
        for key in values
        if key[0] in summary.buffers_written
        or not summary.scalars_written.isdisjoint(scalar for scalar, _ in key[2])
    ]
    for key in lost:
        del values[key]


def _read_again(body: Body) -> list[frozenset[Key]]:
    """Returns for each statement the elements that it accesses and that are read again.

    A second load in the statement itself counts. A load in a later statement counts unless the
    element may change before.
    """
    future: dict[Key, None] = {}
    result: list[frozenset[Key]] = []
    for statement in reversed(body):
        reads: dict[Key, int] = {}
        for each in walk((statement,)):
            for expression in expressions(each):
                for load in _loads(expression):
                    key = _key(load.buffer, load.at)
                    reads[key] = reads.get(key, 0) + 1
        twice = {key for key, count in reads.items() if count > 1}
        accessed = {*reads}
        if isinstance(statement, Store):
            accessed.add(_key(statement.buffer, statement.at))
        result.append(frozenset(accessed & future.keys() | twice))
        summary = summary_of(statement)
        for key in [*future]:
            changes = not summary.scalars_written.isdisjoint(scalar for scalar, _ in key[2])
            if key[0] in summary.buffers_written or changes:
                del future[key]
        future.update(dict.fromkeys(reads))
    return result[::-1]


def _loads(expression: Expression) -> Iterator[Load]:
    if isinstance(expression, Load):
        yield expression
    elif isinstance(expression, Apply):
        for operand in expression.operands:
            yield from _loads(operand)
