"""The meaning of IR, told a second time and as plainly as possible: what tests compare with.

Operators run by their own emission (``OpDef.evaluate``); control flow is interpreted here.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value

Environment = dict[Value, Any]
#: The most iterations of a ``while`` before the interpreter gives up.
MOST = 2_000


class EndlessLoop(Exception):
    """A ``while`` has not ended after ``MOST`` iterations."""


def run(function: Function, args: Sequence[Any]) -> list[Any]:
    """What ``function`` returns for ``args``, one entry per returned value."""
    return evaluate(function.body, args, {})


def evaluate(region: Region, args: Sequence[Any], outer: Environment) -> list[Any]:
    """The yields of ``region``; what it defines is not seen outside."""
    known = dict(outer)
    known.update(zip(region.params, args, strict=True))
    for op in region.ops:
        known.update(zip(op.results, execute(op, known), strict=True))
    return [look_up(operand, known) for operand in region.yields]


def look_up(operand: AnyOperand, known: Environment) -> Any:
    return known[operand] if isinstance(operand, Value) else operand


def execute(op: Op, known: Environment) -> list[Any]:
    """The results of one operation."""
    if op.name in ("for", "while"):
        return iterate(Loop(op), known)
    operands = [look_up(operand, known) for operand in op.operands]
    if op.name == "if":
        then, orelse = op.regions
        return evaluate(then if operands[0] else orelse, (), known)
    if op.name == "call":
        return run(op.attrs["callee"], operands)
    if op.name == "raise":
        raise getattr(builtins, op.attrs["error"])(*operands)
    if op.name == "custom_rule":
        return operands[-len(op.results) :]
    if op.name == "unbroadcast_to":
        return [unbroadcast(*operands)]
    result = op.opdef.evaluate(*operands, types=op.types, **op.attrs)
    return list(result) if len(op.results) > 1 else [result]


def iterate(loop: Loop, known: Environment) -> list[Any]:
    """Runs a loop; gives the carries, the stacks and the count."""
    state = [look_up(operand, known) for operand in loop.inits]
    sources = [look_up(operand, known) for operand in loop.reads]
    indices = range(*(look_up(bound, known) for bound in loop.bounds)) if loop.is_for else None
    items: list[dict[int, Any]] = [{} for _ in loop.stack_yields]
    count = 0
    while True:
        if indices is not None and count == len(indices):
            break
        if loop.condition is not None and not evaluate(loop.condition, state, known)[0]:
            break
        last = len(indices or ()) - 1
        position = last - count if loop.runs_reversed else count
        lead = [position] if indices is None else [position, indices[position]]
        args = [*lead, *state, *(source[position] for source in sources)]
        yields = evaluate(loop.body, args, known)
        state = yields[: loop.carries]
        for stack, item in zip(items, yields[loop.carries :]):
            stack[position] = item
        count += 1
        if loop.has_until and yields[-1]:
            break
        if indices is None and count == MOST:
            raise EndlessLoop
    return [*state, *([stack[at] for at in sorted(stack)] for stack in items), count]


def unbroadcast(x: Any, shape: tuple[int, ...]) -> Any:
    """The sum of ``x`` over every axis along which ``shape`` was stretched, told index by index."""
    total = np.zeros(shape, np.asarray(x).dtype)
    lead = np.ndim(x) - len(shape)
    for index in np.ndindex(np.shape(x)):
        kept = tuple(0 if size == 1 else i for i, size in zip(index[lead:], shape))
        total[kept] += x[index]
    return total
