"""Dropout and random activations; the mask or noise is drawn once, in the forward function.

The gradient goes through what is kept, scaled as in forward: d_x = ct * kept / (1 - p).
"""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.elementwise import arithmetic
from autodiff_compiler.operators.random import draws
from autodiff_compiler.ops.core.shape_queries import (
    axis_of,
    dtype_of,
    in_dtype,
    known_rank,
    known_sizes,
    shape_and_operands,
    unaliased,
)
from autodiff_compiler.ops.functions import arrays, masks, reductions
from autodiff_compiler.ops.functions.random import drawn, drawn_like, generator_of


def _mask_of_kept(x: Any, p: Any, seed: Any, lead: int | None = None) -> Any:
    """Returns the mask of kept elements: one bool for each, or for each entry of the first ``lead``
    axes."""
    shape = arrays.shape(x)
    if lead is not None:
        shape = (*shape[:lead], *(1,) * (known_rank(x, "dropout") - lead))
    known, operands = shape_and_operands(shape)
    keep = round(1.0 - p, 12)
    return wrap(draws.draw_mask(generator_of(seed), *operands, shape=known, keep=keep))


def _probability(p: Any) -> float:
    if not isinstance(p, (int, float)) or not 0 <= p < 1:
        raise ValueError(f"the probability to drop must be in [0, 1), but got {p}")
    return float(p)


def _dropped(x: Any, p: Any, seed: Any = None, lead: int | None = None) -> tuple[Any, Any]:
    """Returns x with parts zeroed and the rest scaled up, and the mask of kept elements."""
    p = _probability(p)
    dtype = dtype_of(x)
    if dtype is not None and "float" not in dtype:
        raise TypeError(f"dropout takes floats, but got a Tensor of {dtype}")
    mask = _mask_of_kept(x, p, seed, lead)
    return x * mask / round(1.0 - p, 12), mask


def dropout(input: Any, p: float = 0.5, training: bool = True, seed: Any = None) -> Tensor:
    """Returns each element zeroed with the probability p in [0, 1), else divided by 1 - p."""
    if not training:
        return input
    return structure.copy(input) if _probability(p) == 0.0 else _dropped(input, p, seed)[0]


@unaliased
def _of_channels(x: Any, p: float, training: bool, ranks: tuple[int, ...], what: str) -> Any:
    rank = known_rank(x, what)
    if rank not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ValueError(f"{what} takes a Tensor of {wanted} dimensions, but got one of {rank}")
    if not training or _probability(p) == 0.0:
        return x
    return _dropped(x, p, None, rank - (ranks[-1] - 2))[0]


def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """Returns whole channels of (N, C, L) or (C, L) zeroed with the probability p, else scaled."""
    return _of_channels(input, p, training, (2, 3), "dropout1d")


def dropout2d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """Returns whole channels of (N, C, H, W) zeroed with the probability p, else scaled."""
    return _of_channels(input, p, training, (4,), "dropout2d")


def dropout3d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """Returns whole channels of (N, C, D, H, W) zeroed with the probability p, else scaled."""
    return _of_channels(input, p, training, (5,), "dropout3d")


def dropped_with_mask(x: Any, keep_prob: float, seed: Any = None) -> tuple[Any, Any]:
    """Returns the result of the operator class ``Dropout``: the output, and the mask in its
    dtype."""
    if keep_prob == 1.0:
        return structure.copy(x), structure.full_like(x, value=1)
    out, mask = _dropped(x, round(1.0 - keep_prob, 12), seed)
    return out, structure.cast(mask, dtype=dtype_of(out) or "float32")


def channels_with_mask(x: Any, keep_prob: float) -> tuple[Any, Any]:
    """Returns the result of ``Dropout2D`` and ``Dropout3D``: the output, and the mask as bools."""
    out, mask = _dropped(x, round(1.0 - keep_prob, 12), None, 2)
    return out, arrays.broadcast_to(mask, arrays.shape(x))


def rrelu(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> Tensor:
    """Returns input where it is not below 0, else scaled by a slope drawn evenly from [lower,
    upper)."""
    if not lower <= upper:
        raise ValueError(f"rrelu needs lower <= upper, but got {lower} and {upper}")
    slope = drawn_like("uniform", input, None) * (upper - lower) + lower
    return arithmetic.where(input >= 0, input, input * slope)


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """Returns the softmax of (logits + Gumbel noise) / tau along an axis.

    With ``hard`` the value is one-hot at its largest element. The gradient is that of the soft one
    (straight through).
    """
    if tau <= 0:
        raise ValueError(f"the temperature tau must be above 0, but got {tau}")
    noise = drawn("gumbel", arrays.shape(logits), None, dtype_of(logits))
    soft = reductions.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    axis = axis_of(dim, known_rank(logits, "gumbel_softmax"))
    depth = known_sizes(logits, "gumbel_softmax")[axis]
    winner = masks.one_hot(reductions.argmax(soft, axis), depth, 1.0, 0.0, axis)
    return soft + arithmetic.stop_gradient(in_dtype(winner, dtype_of(soft)) - soft)


__all__ = ["dropout", "dropout1d", "dropout2d", "dropout3d", "gumbel_softmax", "rrelu"]
