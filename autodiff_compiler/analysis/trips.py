"""How often a loop runs, and whether one product over all its steps is cheaper than one a step."""

from __future__ import annotations

from autodiff_compiler.ir.nodes import Loop


def trips(loop: Loop) -> int | None:
    """The number of iterations where it is sure while compiling, else None."""
    if not loop.is_for or loop.has_until:
        return None
    numbers = [bound for bound in loop.bounds if type(bound) is int]
    return len(range(*numbers)) if len(numbers) == 3 else None


def is_worth_stacking(rows: int, inner: int, columns: int) -> bool:
    """Whether the factors of a step, of ``rows`` rows each, take less to copy than the matrix that
    they multiply, or make, takes to go through once more.

    >>> is_worth_stacking(32, 128, 128), is_worth_stacking(512, 128, 128)
    (True, False)
    """
    return rows * (inner + columns) < inner * columns
