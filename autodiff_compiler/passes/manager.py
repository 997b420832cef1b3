"""Runs passes by name, round after round, until a round changes nothing.

Functions that are called are optimised first, each once, and their callers then call the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from weakref import WeakKeyDictionary

from autodiff_compiler.cost_model import Costs, costs
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.passes.core.traversal import on_all_functions
from autodiff_compiler.passes.derivative.reassociate_products import reassociate_products
from autodiff_compiler.passes.derivative.write_disjoint_parts import write_disjoint_parts
from autodiff_compiler.passes.loops.batch_accumulations import batch_accumulations
from autodiff_compiler.passes.loops.hoist_invariants import hoist_invariants
from autodiff_compiler.passes.loops.hoist_products import hoist_products
from autodiff_compiler.passes.loops.stack_appends import stack_appends
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
from autodiff_compiler.passes.simplify.cse import cse
from autodiff_compiler.passes.simplify.dce import dce
from autodiff_compiler.passes.simplify.drop_custom_rules import drop_custom_rules
from autodiff_compiler.passes.simplify.flatten_raising_branches import flatten_raising_branches
from autodiff_compiler.passes.simplify.fold_constants import fold_constants
from autodiff_compiler.passes.simplify.merge_branches import merge_branches
from autodiff_compiler.passes.simplify.simplify_loop_exits import simplify_loop_exits
from autodiff_compiler.passes.simplify.stabilise import stabilise

Pass = Callable[[Function], Function]

PASSES: Mapping[str, Pass] = {
    "stabilise": stabilise,
    "drop_custom_rules": drop_custom_rules,
    "fold_constants": fold_constants,
    "flatten_raising_branches": flatten_raising_branches,
    "merge_branches": merge_branches,
    "simplify_loop_exits": simplify_loop_exits,
    "simplify_algebra": simplify_algebra,
    "reassociate_products": reassociate_products,
    "write_disjoint_parts": write_disjoint_parts,
    "hoist_invariants": hoist_invariants,
    "hoist_products": hoist_products,
    "stack_appends": stack_appends,
    "batch_accumulations": batch_accumulations,
    "cse": cse,
    "dce": dce,
}

#: The passes that found nothing to do in a function. It never changes, so they need not look again:
#: most functions come back several times, called by one that did change.
_UNCHANGED_BY: WeakKeyDictionary[Function, set[tuple[str, Costs]]] = WeakKeyDictionary()


def run_until_stable(
    function: Function,
    names: Sequence[str] = tuple(PASSES),
    limit: int | None = None,
    stats: MutableMapping[str, int] | None = None,
) -> Function:
    """``function`` and all that it calls, after at most ``limit`` rounds of the passes ``names``.

    ``stats`` gains, for each pass, the number of operations that it took away.
    """
    rounds = costs().simplify_rounds if limit is None else limit
    return on_all_functions(function, lambda each: _settle(each, names, rounds, stats))


def _settle(
    function: Function, names: Sequence[str], limit: int, stats: MutableMapping[str, int] | None
) -> Function:
    idle, current = _UNCHANGED_BY.setdefault(function, set()), costs()
    for name in [*names] * limit:
        if (name, current) in idle:
            continue
        before, function = function, PASSES[name](function)
        if function is before:
            idle.add((name, current))
            continue
        idle = _UNCHANGED_BY.setdefault(function, set())
        if stats is not None:
            stats[name] = stats.get(name, 0) + operation_count(before) - operation_count(function)
    return function


def operation_count(function: Function) -> int:
    """How many operations a function has, those inside regions included."""
    return sum(1 for _ in function.body.walk())
