"""Rematerialisation: ``recompute`` for a block, ``checkpointed`` for a loop.

Both change the values that are saved between forward and backward. Results stay the same.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

R = TypeVar("R")
Item = TypeVar("Item")


def recompute(
    block: Callable[..., R],
    *args: Any,
    use_reentrant: bool = True,
    output_recompute: bool = False,
    early_stop: bool = True,
    context_fn: Any = None,
    **kwargs: Any,
) -> R:
    """Computes ``block(*args, **kwargs)``; backward saves its inputs and rematerialises the rest.

    Random draws are saved, not drawn again. A block that writes to something outside saves
    its values, as any other call does. The options are MindSpore's, and change nothing here. Values
    and gradients are those of the plain call, to the last bit. Raises TypeError for what cannot be
    called.
    """
    if not callable(block):
        raise TypeError(f"recompute needs a Cell or function, but got {type(block).__name__}")
    return block(*args, **kwargs)


def checkpointed(
    iterable: Iterable[Item], *, checkpoint_every: int | None = None, kept_states: int | None = None
) -> Iterable[Item]:
    """Returns ``iterable`` for a checkpointed loop: it saves few states, and backward reruns it
    from them.

    checkpoint_every   every k-th state is saved, and then those of the k iterations in between.
    kept_states        at most so many states are saved, where the binomial schedule wants them.

    ``for i in checkpointed(range(10_000), kept_states=20)`` saves 20 states, where a plain loop
    saves 10,000, and runs each step at most four times more. Where nothing is compiled it is the
    iterable itself. Raises TypeError unless one of the two is given, ValueError for a number below
    1. A loop that draws at random, or is unrolled, is refused at compile time.
    """
    given = [
        (k, n) for k, n in (("every", checkpoint_every), ("kept", kept_states)) if n is not None
    ]
    if len(given) != 1:
        raise TypeError("checkpointed takes exactly one of checkpoint_every and kept_states")
    ((_, number),) = given
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValueError(
            f"checkpoint_every and kept_states must be an int of at least 1, not {number!r}"
        )
    return iterable


__all__ = ["checkpointed", "recompute"]
