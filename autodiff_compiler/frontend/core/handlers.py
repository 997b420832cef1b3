"""The functions that lowering chooses by kind, or that stand in packages above ``core``.

``frontend/dispatch.py`` fills the record in. ``Lowering`` calls it, so a package never imports a
higher one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Takes the lowering and a node of the syntax tree.
NodeHandler = Callable[[Any, Any], Any]
Handler = Callable[..., Any]


@dataclass(frozen=True)
class Handlers:
    """The handlers by kind, and the functions behind ``Lowering``'s methods."""

    expressions: Mapping[type, NodeHandler]
    statements: Mapping[type, NodeHandler]
    #: By the kind of the owner, and of the left operand; ``object`` for all other kinds.
    attributes: Mapping[type | str, Handler]
    operators: Mapping[type, Handler]

    evaluate: Handler
    execute: Handler
    block: Handler
    assign: Handler
    call: Handler
    enter: Handler
    macro: Handler
    special: Handler
    truth: Handler
    sequence: Handler
    unpacked: Handler
    choose: Handler
    heap_ownership: Handler
    may_raise: Handler
    outline: Handler

    # Called by one lower package each, as ``low.handlers.NAME(low, …)``.
    call_inside: Handler
    throw_if_caught: Handler
    iteration_space: Handler
    becomes_loop: Handler
    evaluate_generator: Handler
    generate_items: Handler
    add_outside_hooks: Handler
    cast_to_cell_precision: Handler
