"""The passes on loop nests: their table, and the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping

from autodiff_compiler.loop_ir.nodes import Function
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.manager import apply_pass
from autodiff_compiler.passes.nests.assign_workspace import assign_workspace
from autodiff_compiler.passes.nests.block_reductions import block_reductions
from autodiff_compiler.passes.nests.collapse_loops import collapse_loops
from autodiff_compiler.passes.nests.contract_arrays import contract_arrays
from autodiff_compiler.passes.nests.distribute_loops import distribute_loops
from autodiff_compiler.passes.nests.fuse_loops import fuse_loops
from autodiff_compiler.passes.nests.pack_operands import pack_operands
from autodiff_compiler.passes.nests.promote_to_scalars import promote_to_scalars
from autodiff_compiler.passes.nests.remove_copies import remove_copies
from autodiff_compiler.passes.nests.remove_dead_scalars import remove_dead_scalars
from autodiff_compiler.passes.nests.replace_loads import replace_loads
from autodiff_compiler.passes.nests.store_first_sums import store_first_sums
from autodiff_compiler.passes.registry import EVERY_LEVEL, OPTIMISED, Pass

#: Every pass on loop nests, for the C target alone.
NEST_PASSES: tuple[Pass, ...] = (
    Pass(
        "store_first_sums",
        "Sums on zeros: what is added to each element once is stored, and the zeros are not.",
        store_first_sums,
    ),
    Pass(
        "remove_copies",
        "Copy elimination: reads of a copy read its source; a copied temporary is its copy.",
        remove_copies,
    ),
    Pass(
        "fuse_loops",
        "Loop fusion: loops of equal length over the same elements become one loop.",
        fuse_loops,
    ),
    Pass(
        "contract_arrays",
        "Array contraction: a temporary of one iteration has room for that iteration alone.",
        contract_arrays,
    ),
    Pass(
        "promote_to_scalars",
        "Register promotion: a temporary of one element becomes a scalar.",
        promote_to_scalars,
    ),
    Pass(
        "collapse_loops",
        "Loop collapsing: nested loops over contiguous memory become one loop.",
        collapse_loops,
    ),
    Pass(
        "replace_loads",
        "Scalar replacement: an element that is read again is held in a scalar.",
        replace_loads,
    ),
    Pass(
        "block_reductions",
        "Blocked sums: a long sum of floats is a sum of sums of blocks, in a fixed order.",
        block_reductions,
    ),
    Pass(
        "pack_operands",
        "Operand packing: a matrix that a loop multiplies with is copied to panels before it.",
        pack_operands,
    ),
    Pass(
        "distribute_loops",
        "Loop distribution: a vector loop with a long body becomes several shorter ones.",
        distribute_loops,
    ),
    Pass(
        "remove_dead_scalars",
        "Dead code elimination: a scalar that no stored value depends on is not computed.",
        remove_dead_scalars,
    ),
    Pass(
        "assign_workspace",
        "Workspace assignment: large temporaries that are not live at once share bytes.",
        assign_workspace,
        levels=EVERY_LEVEL,
    ),
)
BY_NAME: Mapping[str, Pass] = {each.name: each for each in NEST_PASSES}
#: The order in which they run. A pass may run again on what the others left.
ORDER = tuple(
    "store_first_sums remove_copies fuse_loops contract_arrays contract_arrays store_first_sums"
    " promote_to_scalars collapse_loops replace_loads block_reductions pack_operands"
    " distribute_loops remove_dead_scalars assign_workspace".split()
)


def optimise(function: Function, level: int = min(OPTIMISED), verified: bool = False) -> Function:
    """Returns ``function`` after the passes of an optimisation level.

    verified   whether the function is verified before and after each pass.
    """
    if verified:
        verify_nests(function)
    for name in ORDER:
        each = BY_NAME[name]
        if level in each.levels:
            function = apply_pass(each, function)
            if verified:
                verify_nests(function, name)
    return function


__all__ = ["BY_NAME", "NEST_PASSES", "ORDER", "optimise"]
