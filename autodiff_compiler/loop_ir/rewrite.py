"""Rewrites of expressions, statements and bodies: each part of one kind is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Buffer,
    Call,
    Expression,
    Fail,
    If,
    Let,
    Load,
    Loop,
    Part,
    Position,
    Product,
    Read,
    Reserve,
    Scalar,
    Set,
    Statement,
    Store,
    While,
    bodies,
    map_bodies,
)

#: Returns an expression in place of another, whose operands are rewritten already.
Rewrite = Callable[[Expression], Expression]
#: Returns a position in place of another.
Move = Callable[[Affine], Affine]
#: Returns a buffer and a position in place of others.
Relocate = Callable[[Buffer, Affine], tuple[Buffer, Affine]]


def rewrite_expression(expression: Expression, change: Rewrite, move: Move) -> Expression:
    """Returns an expression with all parts changed, from the inside outward."""
    if isinstance(expression, Apply):
        operands = tuple(rewrite_expression(each, change, move) for each in expression.operands)
        if any(a is not b for a, b in zip(operands, expression.operands)):
            expression = Apply(expression.name, operands, expression.dtype)
    elif isinstance(expression, (Load, Position)):
        at = move(expression.at)
        if at is not expression.at:
            expression = replace(expression, at=at)
    return change(expression)


def rewrite_body(body: Body, change: Rewrite, move: Move) -> Body:
    """Returns a body with all expressions and positions changed, also in inner bodies."""
    return map_statements(body, lambda each: rewrite_head(each, change, move))


def rewrite_statement(statement: Statement, change: Rewrite, move: Move) -> Statement:
    """Returns a statement with all expressions and positions changed, also in its bodies."""
    (after,) = rewrite_body((statement,), change, move)
    return after


def rewrite_head(statement: Statement, change: Rewrite, move: Move) -> Statement:
    """Returns a statement with its expressions and positions changed, but not its bodies."""
    if isinstance(statement, (Let, Set)):
        return replace(statement, value=rewrite_expression(statement.value, change, move))
    if isinstance(statement, Store):
        value = rewrite_expression(statement.value, change, move)
        return replace(statement, at=move(statement.at), value=value)
    if isinstance(statement, (If, While)):
        condition = rewrite_expression(statement.condition, change, move)
        return replace(statement, condition=condition)
    if isinstance(statement, Product):
        result, left, right = (
            replace(matrix, at=move(matrix.at))
            for matrix in (statement.result, statement.left, statement.right)
        )
        return replace(statement, result=result, left=left, right=right)
    if isinstance(statement, Call):
        return with_parts(statement, lambda part: replace(part, at=move(part.at)))
    if isinstance(statement, Reserve):
        return replace(statement, size=move(statement.size))
    if isinstance(statement, Fail) and statement.details:
        details = (rewrite_expression(each, change, move) for each in statement.details)
        return replace(statement, details=tuple(details))
    return statement


def map_statements(body: Body, change: Callable[[Statement], Statement]) -> Body:
    """Returns a body with each statement changed, from the inside outward."""

    def changed(statement: Statement) -> Statement:
        return change(map_bodies(statement, lambda inner: map_statements(inner, change)))

    return changed_body(body, [*map(changed, body)])


def rewrite_loops(body: Body, change: Callable[[Loop], Iterable[Statement]]) -> Body:
    """Returns a body with statements in place of each loop, from the inside outward.

    A loop that stays is the only statement in its place.
    """
    after: list[Statement] = []
    for statement in body:
        new = map_bodies(statement, lambda inner: rewrite_loops(inner, change))
        after += change(new) if isinstance(new, Loop) else [new]
    return changed_body(body, after)


def without_statements(body: Body, is_dead: Callable[[Statement], bool]) -> Body:
    """Returns a body without dead statements, and without the loops and branches left empty."""
    after: list[Statement] = []
    for statement in body:
        if is_dead(statement):
            continue
        new = map_bodies(statement, lambda inner: without_statements(inner, is_dead))
        if new is statement or isinstance(new, While) or any(bodies(new)):
            after.append(new)
    return changed_body(body, after)


def changed_body(body: Body, after: Sequence[Statement]) -> Body:
    """Returns the body of the statements ``after``: ``body`` itself if they are the same."""
    same = len(after) == len(body) and all(a is b for a, b in zip(after, body))
    return body if same else tuple(after)


def with_parts(call: Call, change: Callable[[Part], Part]) -> Call:
    """Returns a call on other parts of buffers."""
    changed, read = (tuple(map(change, parts)) for parts in (call.changed, call.read))
    return replace(call, changed=changed, read=read)


def substitute(body: Body, mapping: Mapping[Scalar, Affine]) -> Body:
    """Returns a body with integer scalars replaced by affine forms."""

    def change(expression: Expression) -> Expression:
        if isinstance(expression, Read) and expression.scalar in mapping:
            return Position(mapping[expression.scalar])
        return expression

    return rewrite_body(body, change, lambda at: at.substitute(mapping))


def relocated(statement: Statement, relocate: Relocate) -> Statement:
    """Returns a statement that accesses other elements of buffers in place of some."""

    def change(expression: Expression) -> Expression:
        if isinstance(expression, Load):
            buffer, at = relocate(expression.buffer, expression.at)
            if buffer is not expression.buffer or at is not expression.at:
                return Load(buffer, at)
        return expression

    (after,) = map_statements(
        (statement,),
        lambda each: _with_targets(rewrite_head(each, change, lambda at: at), relocate),
    )
    return after


def _with_targets(statement: Statement, relocate: Relocate) -> Statement:
    """Returns a statement that writes other elements, and reads other matrices and parts."""
    if isinstance(statement, Store):
        buffer, at = relocate(statement.buffer, statement.at)
        return replace(statement, buffer=buffer, at=at)
    if isinstance(statement, Reserve):
        buffer, _ = relocate(statement.buffer, statement.size)
        return replace(statement, buffer=buffer)
    if isinstance(statement, Product):
        matrices = (statement.result, statement.left, statement.right)
        places = (relocate(matrix.buffer, matrix.at) for matrix in matrices)
        result, left, right = (
            replace(matrix, buffer=buffer, at=at) for matrix, (buffer, at) in zip(matrices, places)
        )
        return replace(statement, result=result, left=left, right=right)
    if isinstance(statement, Call):
        return with_parts(statement, lambda part: Part(*relocate(part.buffer, part.at), part.size))
    return statement


def with_scalars(statement: Statement, new: Mapping[Scalar, Scalar]) -> Statement:
    """Returns a statement that reads other scalars in place of some; its bodies do not change."""

    def change(expression: Expression) -> Expression:
        if isinstance(expression, Read) and expression.scalar in new:
            return Read(new[expression.scalar])
        return expression

    def move(at: Affine) -> Affine:
        return Affine(at.constant, tuple((new.get(each, each), count) for each, count in at.terms))

    return rewrite_head(statement, change, move)


def renewed(body: Body) -> Body:
    """Returns a copy of a body that defines scalars and indices of its own."""
    return _renewed(body, {})


def _renewed(body: Body, new: dict[Scalar, Scalar]) -> Body:
    return tuple(_renewed_statement(each, new) for each in body)


def _renewed_statement(statement: Statement, new: dict[Scalar, Scalar]) -> Statement:
    if isinstance(statement, Loop):
        index = new[statement.index] = _copy(statement.index)
        extent = statement.extent
        extent = extent if isinstance(extent, int) else new.get(extent, extent)
        return replace(statement, index=index, extent=extent, body=_renewed(statement.body, new))
    statement = map_bodies(statement, lambda body: _renewed(body, new))
    statement = with_scalars(statement, new)
    if isinstance(statement, Let):
        new[statement.scalar] = _copy(statement.scalar)
    if isinstance(statement, (Let, Set)):
        return replace(statement, scalar=new.get(statement.scalar, statement.scalar))
    return statement


def _copy(scalar: Scalar) -> Scalar:
    return Scalar(scalar.name, scalar.dtype, scalar.mutable)
