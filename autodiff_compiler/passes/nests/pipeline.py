"""The passes on loop nests, in the order in which they run."""

from __future__ import annotations

from autodiff_compiler.loop_ir.nodes import Function
from autodiff_compiler.passes.nests.contract_arrays import contract_arrays
from autodiff_compiler.passes.nests.fuse_loops import fuse_loops
from autodiff_compiler.passes.nests.promote_to_scalars import promote_to_scalars


def optimise(function: Function) -> Function:
    """Returns ``function`` with fused loops and small temporaries."""
    fused = contract_arrays(fuse_loops(function))
    return promote_to_scalars(contract_arrays(fused))
