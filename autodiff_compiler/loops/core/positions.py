"""Positions along an axis that are known at run time: negative ones count from the end.

A position outside its axis is an IndexError. A loop of its own checks an array of positions, so
that the loops that use it contain no branch.
"""

from __future__ import annotations

from autodiff_compiler.ir.nodes import AnyOperand
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, If, Literal, Position, Read
from autodiff_compiler.loops.core.state import Lowering, cast
from autodiff_compiler.loops.core.values import Array, NoNativeText, Text


def single_position(low: Lowering, operand: AnyOperand, size: int, axis: int) -> Affine:
    """Returns the place of one position along an axis of ``size``."""
    value = low.number(operand)
    if isinstance(value, Literal):
        if not -size <= value.value < size:
            raise NoNativeText("an index that is out of bounds")
        return Affine(int(value.value) % size)
    if isinstance(value, Position):
        first, last = bounds_of(low, value.at)
        if first is not None and last is not None:
            if first >= 0 and last < size:
                return value.at
            if -size <= first and last < 0:
                return value.at + size
    position = low.let("position", cast(value, "int64"))
    if not any((operand, size) in frame.checked for frame in low.frames):
        low.frames[-1].checked.add((operand, size))
        fail_outside(low, position, size, axis)
    return from_start(low, position, size)


def check_positions(low: Lowering, operand: AnyOperand, size: int, axis: int) -> None:
    """Checks that all positions of an array lie within an axis, unless it was done before."""
    if any((operand, size) in frame.checked for frame in low.frames):
        return
    low.frames[-1].checked.add((operand, size))
    array = low.represent(operand)
    assert isinstance(array, Array), array
    if 0 in array.shape:
        return
    is_signed = not array.dtype.startswith("u")
    least = low.variable("least", Literal(0, "int64"))
    most = low.variable("most", Literal(-size, "int64"))

    def combine(indices: list[Affine]) -> None:
        position = low.let("position", cast(array.load(indices), "int64"))
        if is_signed:
            low.set(least, position, "minimum")
        low.set(most, position, "maximum")

    low.nest(array.shape, combine)
    with low.block() as statements:  # the message names the first position that is outside
        low.nest(
            array.shape,
            lambda at: fail_outside(
                low, low.let("position", cast(array.load(at), "int64")), size, axis
            ),
            False,
        )
    any_outside = _either(
        _compare("less", Read(least), -size), _compare("greater_equal", Read(most), size)
    )
    low.add(If(any_outside, tuple(statements), (), low.span))


def from_start(low: Lowering, position: Expression, size: int) -> Affine:
    """Returns a checked position, counted from the start of its axis."""
    if position.dtype.startswith("u"):
        counted = cast(position, "int64")
    else:
        signed = low.let("position", cast(position, "int64"))
        behind = Apply("add", (signed, Literal(size, "int64")), "int64")
        counted = Apply("select", (_compare("less", signed, 0), behind, signed), "int64")
    place = low.let("place", counted)
    assert isinstance(place, Read), place
    return Affine.of(place.scalar)


def bounds_of(low: Lowering, at: Affine) -> tuple[int | None, int | None]:
    """Returns the least and the largest number that an affine form stands for, if known."""
    first = last = at.constant
    for scalar, count in at.terms:
        trips = low.trips.get(scalar)
        if not trips:
            return None, None
        reach = count * (trips - 1)
        first, last = first + min(0, reach), last + max(0, reach)
    return first, last


def _compare(name: str, value: Expression, bound: int) -> Expression:
    return Apply(name, (value, Literal(bound, "int64")), "bool")


def _either(one: Expression, other: Expression) -> Expression:
    return Apply("logical_or", (one, other), "bool")


def fail_outside(low: Lowering, position: Expression, size: int, axis: int) -> None:
    """Leaves the function with an error if a position is outside an axis."""
    outside = _either(_compare("less", position, -size), _compare("greater_equal", position, size))
    pattern = f"index {{}} is out of bounds for axis {axis} with size {size}"
    low.fail_if(outside, "IndexError", Text(pattern, (position,), ("int",)))
