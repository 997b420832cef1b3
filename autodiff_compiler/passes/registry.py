"""The table of passes: every rewrite of IR that the pipeline applies, but not when.

A pass has one name in four places: its module, its function, this table, and the command line
(``autodiff-compiler passes``, ``dump --dump-after NAME``). ``docs/passes.md`` is printed from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autodiff_compiler.common.context import LEVELS
from autodiff_compiler.passes.derivative.reassociate_products import reassociate_products
from autodiff_compiler.passes.derivative.reuse_forward_values import reuse_forward_values
from autodiff_compiler.passes.derivative.write_disjoint_parts import write_disjoint_parts
from autodiff_compiler.passes.loops.batch_accumulations import batch_accumulations
from autodiff_compiler.passes.loops.hoist_invariants import hoist_invariants
from autodiff_compiler.passes.loops.hoist_products import hoist_products
from autodiff_compiler.passes.loops.stack_appends import stack_appends
from autodiff_compiler.passes.memory.assemble_in_place import assemble_in_place
from autodiff_compiler.passes.memory.assign_buffers import assign_buffers
from autodiff_compiler.passes.memory.carry_in_place import carry_in_place
from autodiff_compiler.passes.memory.copy_escaping_views import copy_escaping_views
from autodiff_compiler.passes.memory.extend_destinations import extend_destinations
from autodiff_compiler.passes.memory.materialize_copies import materialize_copies
from autodiff_compiler.passes.memory.overlay_tapes import overlay_tapes
from autodiff_compiler.passes.memory.overwrite_named_arrays import overwrite_named_arrays
from autodiff_compiler.passes.memory.preallocate_tapes import preallocate_tapes
from autodiff_compiler.passes.memory.scan_in_place import scan_in_place
from autodiff_compiler.passes.memory.update_arrays_in_place import update_arrays_in_place
from autodiff_compiler.passes.memory.update_lists_in_place import update_lists_in_place
from autodiff_compiler.passes.schedule.decompose import decompose
from autodiff_compiler.passes.schedule.fuse_products_and_sums import fuse_products_and_sums
from autodiff_compiler.passes.schedule.sink_large_results import sink_large_results
from autodiff_compiler.passes.schedule.tile_elementwise import tile_elementwise
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import simplify_algebra
from autodiff_compiler.passes.simplify.cse import cse
from autodiff_compiler.passes.simplify.dce import dce
from autodiff_compiler.passes.simplify.drop_custom_rules import drop_custom_rules
from autodiff_compiler.passes.simplify.flatten_raising_branches import flatten_raising_branches
from autodiff_compiler.passes.simplify.fold_constants import fold_constants
from autodiff_compiler.passes.simplify.inline_calls import inline_calls
from autodiff_compiler.passes.simplify.inline_element_calls import inline_element_calls
from autodiff_compiler.passes.simplify.inline_single_use import inline_single_use
from autodiff_compiler.passes.simplify.merge_branches import merge_branches
from autodiff_compiler.passes.simplify.outline_deep_branches import outline_deep_branches
from autodiff_compiler.passes.simplify.resolve_empty_sums import resolve_empty_sums
from autodiff_compiler.passes.simplify.simplify_loop_exits import simplify_loop_exits
from autodiff_compiler.passes.simplify.stabilise import stabilise

EVERY_LEVEL = frozenset(LEVELS)
OPTIMISED = EVERY_LEVEL - {0}
#: The level of text that a careful person writes, and the levels that plan all memory.
READABLE = frozenset({1})
MEMORY = OPTIMISED - READABLE


@dataclass(frozen=True)
class Pass:
    """A rewrite of a function that keeps its meaning.

    name      one name: module, function, table and command line.
    summary   one sentence in the words of the field.
    rewrite   takes a Function and, in some passes, facts about it. Returns the rewritten Function,
              the same object if nothing changed. ``assign_buffers`` returns a BufferPlan.
    levels    the optimisation levels at which it runs.
    repeats   True if ``run_until_stable`` may run it, in rounds with others.
    """

    name: str
    summary: str
    rewrite: Callable[..., Any]
    levels: frozenset[int] = OPTIMISED
    repeats: bool = False


#: Every pass. Passes that repeat stand in the order of a round.
REGISTRY: tuple[Pass, ...] = (
    Pass(
        "resolve_empty_sums",
        "Gives the sum of a list of arrays that may be empty zeros to start from, or an exception.",
        resolve_empty_sums,
        levels=EVERY_LEVEL,
    ),
    Pass(
        "stabilise",
        "Replaces formulas that overflow, cancel or divide 0 by 0 by stable operators.",
        stabilise,
        levels=EVERY_LEVEL,
        repeats=True,
    ),
    Pass(
        "fold_constants",
        "Constant folding: computes operations on constants at compile time.",
        fold_constants,
        repeats=True,
    ),
    Pass(
        "flatten_raising_branches",
        "Removes the nesting behind a branch that raises: the other path needs no branch.",
        flatten_raising_branches,
        repeats=True,
    ),
    Pass(
        "merge_branches",
        "Jump threading: merges branches on the same condition.",
        merge_branches,
        repeats=True,
    ),
    Pass(
        "simplify_loop_exits",
        "Replaces the exit flag of a loop by an exit condition.",
        simplify_loop_exits,
        repeats=True,
    ),
    Pass(
        "simplify_algebra",
        "Algebraic simplification and strength reduction by pattern rewriting.",
        simplify_algebra,
        repeats=True,
    ),
    Pass(
        "reassociate_products",
        "Reassociation: multiplies small factors first, and factors them out of sums.",
        reassociate_products,
        repeats=True,
    ),
    Pass(
        "hoist_invariants",
        "Loop-invariant code motion: hoists operations whose operands no iteration changes.",
        hoist_invariants,
        repeats=True,
    ),
    Pass(
        "hoist_products",
        "Loop fission: computes the matrix products of all iterations as one product before it.",
        hoist_products,
        repeats=True,
    ),
    Pass(
        "stack_appends",
        "Scalar replacement of a list: an append in each iteration becomes a stacked loop output.",
        stack_appends,
        repeats=True,
    ),
    Pass(
        "batch_accumulations",
        "Loop fission: computes a sum of products over iterations as one product after the loop.",
        batch_accumulations,
        repeats=True,
    ),
    Pass(
        "cse",
        "Common subexpression elimination, with dominance by region.",
        cse,
        repeats=True,
    ),
    Pass(
        "dce",
        "Dead code elimination, also of the ports of loops and branches.",
        dce,
        levels=EVERY_LEVEL,
        repeats=True,
    ),
    Pass(
        "decompose",
        "Decomposes composite operators into elementwise operators and reductions.",
        decompose,
    ),
    Pass(
        "inline_element_calls",
        "Inlines calls that a loop makes for each item of an array.",
        inline_element_calls,
    ),
    Pass(
        "outline_deep_branches",
        "Outlining: moves deeply nested branches into functions of their own.",
        outline_deep_branches,
        levels=EVERY_LEVEL,
    ),
    Pass(
        "inline_calls",
        "Inlining: replaces calls by the bodies of their callees.",
        inline_calls,
        levels=EVERY_LEVEL,
    ),
    Pass(
        "inline_single_use",
        "Inlines functions that have a single caller and are differentiated, or work on large"
        " arrays.",
        inline_single_use,
    ),
    Pass(
        "reuse_forward_values",
        "Rewrites a derivative in terms of values that the forward function saves.",
        reuse_forward_values,
    ),
    Pass(
        "drop_custom_rules",
        "Removes the markers of custom derivative rules once nothing is left to differentiate.",
        drop_custom_rules,
        levels=EVERY_LEVEL,
        repeats=True,
    ),
    Pass(
        "write_disjoint_parts",
        "Turns a scatter-add into a store where the regions written are disjoint.",
        write_disjoint_parts,
        repeats=True,
    ),
    Pass(
        "copy_escaping_views",
        "Copy insertion: every returned array owns its memory.",
        copy_escaping_views,
        levels=EVERY_LEVEL,
    ),
    Pass(
        "fuse_products_and_sums",
        "Multiply-reduce fusion: a product and its sum become vdot, vecdot or einsum.",
        fuse_products_and_sums,
    ),
    Pass(
        "sink_large_results",
        "Code sinking: computes a large result just before its first use.",
        sink_large_results,
        levels=MEMORY,
    ),
    Pass(
        "preallocate_tapes",
        "Replaces a list that a loop appends to by a preallocated array.",
        preallocate_tapes,
    ),
    Pass(
        "update_lists_in_place",
        "Copy elision for lists: updates them in place.",
        update_lists_in_place,
    ),
    Pass(
        "update_arrays_in_place",
        "Copy elision for arrays: updates items and slices in place.",
        update_arrays_in_place,
    ),
    Pass(
        "overwrite_named_arrays",
        "Writes large results over dead operands that have a name: `d_x *= y`.",
        overwrite_named_arrays,
        levels=READABLE,
    ),
    Pass(
        "tile_elementwise",
        "Loop tiling with elementwise fusion, for arrays larger than the cache.",
        tile_elementwise,
        levels=MEMORY,
    ),
    Pass(
        "assemble_in_place",
        "Elides concatenations, pads and scatters: computes each part in its slice.",
        assemble_in_place,
        levels=MEMORY,
    ),
    Pass(
        "carry_in_place",
        "Aliases loop-carried arrays: the new value overwrites the buffer of the old one.",
        carry_in_place,
    ),
    Pass(
        "scan_in_place",
        "Computes cumulative sums in place, on reversed views too.",
        scan_in_place,
        levels=MEMORY,
    ),
    Pass(
        "extend_destinations",
        "Propagates the destination of a result up the chain of calls that compute it.",
        extend_destinations,
        levels=MEMORY,
    ),
    Pass(
        "materialize_copies",
        "Turns the implicit copy of a reshape into an explicit buffer.",
        materialize_copies,
        levels=MEMORY,
    ),
    Pass(
        "overlay_tapes",
        "Stores tapes in arrays that their loop has already consumed.",
        overlay_tapes,
        levels=MEMORY,
    ),
    Pass(
        "assign_buffers",
        "Buffer assignment by linear scan: large results reuse dead arrays or workspace.",
        assign_buffers,
        levels=MEMORY,
    ),
)

BY_NAME: Mapping[str, Pass] = {each.name: each for each in REGISTRY}


def at_level(names: tuple[str, ...], level: int) -> tuple[str, ...]:
    """Returns those of the passes ``names`` that run at an optimisation level."""
    return tuple(name for name in names if level in BY_NAME[name].levels)


__all__ = [
    "BY_NAME",
    "EVERY_LEVEL",
    "MEMORY",
    "OPTIMISED",
    "Pass",
    "READABLE",
    "REGISTRY",
    "at_level",
]
