"""Trip counts of loops, and the decisions that rest on them: tapes and products of all steps."""

from __future__ import annotations

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import Loop, Value
from autodiff_compiler.ir.types import Type, size_of


def trip_count(loop: Loop) -> int | None:
    """Returns the number of iterations, if it is known when compiling; else None."""
    if not loop.is_for or loop.has_until:
        return None
    numbers = [bound for bound in loop.bounds if type(bound) is int]
    return len(range(*numbers)) if len(numbers) == 3 else None


def surely_reads(loop: Loop, param: Value) -> bool:
    """True if an iteration surely runs, and computes with the array in the carry ``param``.

    Then this array is set.
    """
    readers = (op for op in loop.body.ops if param in op.operands and not op.regions)
    return bool(trip_count(loop)) and any(
        op.opdef.kind not in ("container", "control") for op in readers
    )


def is_worth_stacking(rows: int, inner: int, columns: int) -> bool:
    """True if a step's factors, of ``rows`` rows each, are smaller than its matrix.

    Then it takes less time to copy them than to read or write the matrix once more.

    >>> is_worth_stacking(32, 128, 128), is_worth_stacking(512, 128, 128)
    (True, False)
    """
    return rows * (inner + columns) < inner * columns


def tape_length(loop: Loop, item: Type) -> int | None:
    """Returns the length of the array that replaces a tape of such items; None for a list."""
    steps = trip_count(loop)
    return steps if steps and size_of(item) >= costs().tape_row_bytes else None
