"""Runs passes by name, round after round, until a round changes nothing.

Functions that are called are optimised first, each once, and their callers then call the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from weakref import WeakKeyDictionary

from autodiff_compiler.cost_model import Costs, costs
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.passes.ahead import ahead
from autodiff_compiler.passes.algebra import algebra
from autodiff_compiler.passes.clauses import clauses
from autodiff_compiler.passes.collected import collected
from autodiff_compiler.passes.cse import cse
from autodiff_compiler.passes.dce import dce
from autodiff_compiler.passes.fold import fold
from autodiff_compiler.passes.hoist import hoist
from autodiff_compiler.passes.placed import placed
from autodiff_compiler.passes.products import products
from autodiff_compiler.passes.rejoin import rejoin
from autodiff_compiler.passes.stabilise import stabilise
from autodiff_compiler.passes.stops import stops
from autodiff_compiler.passes.sweep import everywhere
from autodiff_compiler.passes.totals import totals
from autodiff_compiler.passes.unrule import unrule

Pass = Callable[[Function], Function]

PASSES: Mapping[str, Pass] = {
    "stabilise": stabilise,
    "unrule": unrule,
    "fold": fold,
    "clauses": clauses,
    "rejoin": rejoin,
    "stops": stops,
    "algebra": algebra,
    "products": products,
    "placed": placed,
    "hoist": hoist,
    "ahead": ahead,
    "collected": collected,
    "totals": totals,
    "cse": cse,
    "dce": dce,
}

#: The passes that found nothing to do in a function. It never changes, so they need not look again:
#: most functions come back several times, called by one that did change.
_IDLE: WeakKeyDictionary[Function, set[tuple[str, Costs]]] = WeakKeyDictionary()


def run(
    function: Function,
    names: Sequence[str] = tuple(PASSES),
    limit: int | None = None,
    stats: MutableMapping[str, int] | None = None,
) -> Function:
    """``function`` and all that it calls, after at most ``limit`` rounds of the passes ``names``.

    ``stats`` gains, for each pass, the number of operations that it took away.
    """
    rounds = costs().simplify_rounds if limit is None else limit
    return everywhere(function, lambda each: _settle(each, names, rounds, stats))


def _settle(
    function: Function, names: Sequence[str], limit: int, stats: MutableMapping[str, int] | None
) -> Function:
    idle, current = _IDLE.setdefault(function, set()), costs()
    for name in [*names] * limit:
        if (name, current) in idle:
            continue
        before, function = function, PASSES[name](function)
        if function is before:
            idle.add((name, current))
            continue
        idle = _IDLE.setdefault(function, set())
        if stats is not None:
            stats[name] = stats.get(name, 0) + size(before) - size(function)
    return function


def size(function: Function) -> int:
    """How many operations a function has, those inside regions included."""
    return sum(1 for _ in function.body.walk())
