"""Rewrites of expressions and statements: every scalar, position or expression replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    with_bodies,
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
    return tuple(rewrite_statement(each, change, move) for each in body)


def rewrite_statement(statement: Statement, change: Rewrite, move: Move) -> Statement:
    """Returns a statement with all expressions and positions changed, also in its bodies."""
    inner = tuple(rewrite_body(each, change, move) for each in bodies(statement))
    if inner:
        statement = with_bodies(statement, inner)
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

    return _with_targets(rewrite_statement(statement, change, lambda at: at), relocate)


def _with_targets(statement: Statement, relocate: Relocate) -> Statement:
    inner = bodies(statement)
    if inner:
        parts = (tuple(_with_targets(each, relocate) for each in body) for body in inner)
        return with_bodies(statement, tuple(parts))
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


def renewed(body: Body) -> Body:
    """Returns a copy of a body that defines scalars and indices of its own."""
    return _renewed(body, {})


def _renewed(body: Body, new: dict[Scalar, Scalar]) -> Body:
    def change(expression: Expression) -> Expression:
        if isinstance(expression, Read) and expression.scalar in new:
            return Read(new[expression.scalar])
        return expression

    def move(at: Affine) -> Affine:
        return Affine(at.constant, tuple((new.get(each, each), count) for each, count in at.terms))

    after = []
    for statement in body:
        parts = tuple(_renewed_part(statement, each, new) for each in bodies(statement))
        bare = with_bodies(statement, tuple(() for _ in parts)) if parts else statement
        bare = rewrite_statement(bare, change, move)
        if isinstance(bare, Let):
            scalar = new[bare.scalar] = _copy(bare.scalar)
            bare = replace(bare, scalar=scalar)
        elif isinstance(bare, Set):
            bare = replace(bare, scalar=new.get(bare.scalar, bare.scalar))
        elif isinstance(bare, Loop):
            extent = bare.extent
            extent = extent if isinstance(extent, int) else new.get(extent, extent)
            bare = replace(bare, index=new[bare.index], extent=extent)
        after.append(with_bodies(bare, parts) if parts else bare)
    return tuple(after)


def _renewed_part(owner: Statement, body: Body, new: dict[Scalar, Scalar]) -> Body:
    if isinstance(owner, Loop):
        new[owner.index] = _copy(owner.index)
    return _renewed(body, new)


def _copy(scalar: Scalar) -> Scalar:
    return Scalar(scalar.name, scalar.dtype, scalar.mutable)
