"""The structures of requested weights, in which their gradients are returned."""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Mapping
from typing import Any

from autodiff_compiler.common.tensor import Tensor


def snapshot(weights: Any) -> Any:
    """Returns a snapshot of the weights, lists as tuples."""
    if isinstance(weights, Mapping):
        return {key: snapshot(weight) for key, weight in weights.items()}
    return tuple(map(snapshot, weights)) if isinstance(weights, (list, tuple)) else weights


def mirror(weights: Any, leaf: Callable[[Any], Any]) -> Any:
    """Returns ``leaf`` of every weight, in the structure of the weights."""
    if isinstance(weights, Tensor):
        return leaf(weights)
    if isinstance(weights, dict):
        return {key: mirror(weight, leaf) for key, weight in weights.items()}
    if isinstance(weights, tuple):
        return tuple(mirror(weight, leaf) for weight in weights)
    raise TypeError(
        "The weights you provided is expected to be a tensor, or a list or tuple. "
        f"but got {weights}"
    )


def find(gradients: Any, wanted: Any) -> Any:
    """Returns the gradient in the pair ``(wanted, gradient)``, depth first."""
    if isinstance(gradients, dict):
        gradients = tuple(gradients.values())
    if not isinstance(gradients, tuple):
        return None
    if len(gradients) == 2 and type(gradients[0]) in (int, str):
        return gradients[1] if gradients[0] == wanted else None
    return next((g for item in gradients if (g := find(item, wanted)) is not None), None)


__all__ = ["find", "mirror", "snapshot"]
