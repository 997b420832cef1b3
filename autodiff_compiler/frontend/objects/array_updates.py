"""In-place updates of arrays: a new value replaces the old one under every name."""

from __future__ import annotations

from typing import Any

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract import numpy_views
from autodiff_compiler.frontend.abstract.in_place_writes import copy_suffix, record_write
from autodiff_compiler.frontend.abstract.path_dtypes import refuse_write_of_kinds
from autodiff_compiler.frontend.abstract.values import leaves
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.objects.outside_writes import parameter_behind, store_parameter
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ops.methods.in_place import as_before


def replace_array(low: Lowering, owner: Value, new: Value) -> Value:
    """Writes a new value to an array or Parameter. Returns the array as it is now."""
    parameter = parameter_behind(low, owner)
    new = as_before(owner, new)
    if parameter is not None:
        stored: Value = store_parameter(low, parameter, new)
        return stored
    refuse_write(low, owner)
    return owner if new is owner else replace_everywhere(low, owner, new)


def replace_everywhere(low: Lowering, owner: Value, new: Value) -> Value:
    """Replaces ``owner`` by a new value under every name. Returns that value."""
    memory = low.compilation.aliases.of(owner)
    low.written_arrays |= {
        low.caller_values[value] for value in memory if value in low.caller_values
    }
    new.name, new.has_user_name = owner.name, owner.has_user_name
    changes = numpy_views.updated_views(low, owner, new) if low.compilation.numpy else {owner: new}
    record_write(low, memory, changes)
    return changes[owner]


def refuse_write(low: Lowering, owner: Value) -> None:
    """Refuses a write to an outside Tensor, a read-only view, or an array whose kind is not known.

    Also refuses one that changes a variable which this function cannot rebind.
    """
    memory = low.compilation.aliases.of(owner)
    things = ((value, low.original(value)) for value in memory)
    if any(
        thing is not value and id(thing) not in low.compilation.created_arrays
        for value, thing in things
    ):
        raise low.fail(
            UnsupportedSyntax,
            "compiled code cannot write in place to a Tensor made outside of the function",
            f"make a copy first: x = x{copy_suffix(low)}",
        )
    if owner in low.compilation.aliases.read_only:
        raise low.fail(
            UnsupportedSyntax,
            "this array is a read-only view (np.broadcast_to, np.diagonal, ...), and NumPy "
            "raises ValueError on a write to it",
            "write to a copy: x.copy()",
        )
    if low.compilation.numpy:
        refuse_write_of_kinds(low, owner)
    else:
        _refuse_views(low, owner)
    _refuse_outer(low, memory)


def _refuse_outer(low: Lowering, memory: frozenset[Any]) -> None:
    """Refuses a write that changes a variable of an enclosing function."""
    within = {id(frame) for frame in (low.frame, *low.waiting_frames)}
    frame = low.frame.outer
    while frame is not None:
        if id(frame) not in within:
            for name, thing in frame.names.items():
                if memory & low.compilation.aliases.of_all(leaves(thing)):
                    raise low.fail(
                        UnsupportedSyntax,
                        f"this writes in place to '{name}', a variable of the enclosing function",
                        "write to a copy, and return the copy",
                    )
        frame = frame.outer


def _refuse_views(low: Lowering, owner: Value) -> None:
    """Refuses a write to a Tensor that is a view of a live Tensor, or that has a live view."""
    referenced = low.heap_ownership(low.state).count  # without lists that nothing refers to
    live = [low.state.heap[ref] for ref in referenced]
    for names in (low.state.names, *(frame.names for frame in low.waiting_frames)):
        live += names.values()
    for value in (leaf for thing in live for leaf in leaves(thing)):
        for view, base in ((value, owner), (owner, value)):
            maker = low.builder.producer(view)
            if maker is not None and any(each is base for each in maker.viewed):
                raise low.fail(
                    UnsupportedSyntax,
                    f"this writes in place to '{owner.name}', which shares its memory "
                    "with another variable (a view)",
                    "make the view a copy first: view * 1",
                )
