"""Displays of containers: tuples, lists, dicts and sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gast

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.abstract.iterators import as_variable
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.parameters import as_parameter
from autodiff_compiler.frontend.expressions.evaluation import evaluate_all
from autodiff_compiler.ir.nodes import Value


def evaluate_items(low: Lowering, nodes: Sequence[Any]) -> list[Any]:
    """Returns the items of a display or of positional arguments, starred ones in their place."""
    plain = [node.value if isinstance(node, gast.Starred) else node for node in nodes]
    items: list[Any] = []
    for node, value in zip(nodes, evaluate_all(low, plain)):
        items.extend(low.sequence(value) if isinstance(node, gast.Starred) else [value])
    return items


def evaluate_tuple(low: Lowering, node: Any) -> Any:
    return tuple(as_variable(low, item) for item in evaluate_items(low, node.elts))


def evaluate_list(low: Lowering, node: Any) -> Any:
    return low.new_list([as_variable(low, item) for item in evaluate_items(low, node.elts)])


def evaluate_dict(low: Lowering, node: Any) -> Any:
    items: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values):
        if key is None:
            items.update(low.contents(low.evaluate(value)))
        else:
            items[_dict_key(low, low.evaluate(key))] = as_variable(low, low.evaluate(value))
    return low.allocate("dict", items)


def _dict_key(low: Lowering, key: Any) -> Any:
    if isinstance(key, Value) and as_parameter(low, key) is not None:
        raise low.fail(
            UnsupportedSyntax,
            "a Parameter cannot be a dict key in compiled code",
            "use the Parameter's name as the key; a bprop returns gradients of its "
            "inputs only, so there pass the Parameter as an input",
        )
    return low.static(key, "a dict key")


def evaluate_set(low: Lowering, node: Any) -> Any:
    return frozenset(
        low.static(item, "an item of a set") for item in evaluate_items(low, node.elts)
    )
