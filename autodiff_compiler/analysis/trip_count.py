"""How often a loop runs, and what that is worth: one product over all steps, one array for all that
they keep."""

from __future__ import annotations

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Loop, Value
from autodiff_compiler.ir.types import Type, size_of


def trip_count(loop: Loop) -> int | None:
    """The number of iterations where it is sure while compiling, else None."""
    if not loop.is_for or loop.has_until:
        return None
    numbers = [bound for bound in loop.bounds if type(bound) is int]
    return len(range(*numbers)) if len(numbers) == 3 else None


def surely_reads(loop: Loop, param: Value) -> bool:
    """Whether an iteration surely runs, and computes with the array that ``param`` carries into it:
    then that is set."""
    users = (op for op in loop.body.ops if param in op.operands and not op.regions)
    return bool(trip_count(loop)) and any(
        op.opdef.kind not in ("container", "control") for op in users
    )


def is_worth_stacking(rows: int, inner: int, columns: int) -> bool:
    """Whether the factors of a step, of ``rows`` rows each, take less to copy than the matrix that
    they multiply, or make, takes to go through once more.

    >>> is_worth_stacking(32, 128, 128), is_worth_stacking(512, 128, 128)
    (True, False)
    """
    return rows * (inner + columns) < inner * columns


def tape_length(loop: Loop, item: Type) -> int | None:
    """How many rows the array has that stands for a tape of such items; None where a list does."""
    steps = trip_count(loop)
    return steps if steps and size_of(item) >= costs().tape_row_bytes else None
