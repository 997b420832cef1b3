"""``with np.errstate(divide="ignore"):`` and ``with warnings.catch_warnings():`` around text.

The lines inside are merged with others, and their backward stands elsewhere; so what is silenced
somewhere in a text is silenced in all of its forward and backward. Only silence can be had so: a
setting that raises, records or prints would be seen outside its block.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_compiler.errors import UnsupportedSyntax

_CURE = "put the 'with' around the call of the compiled function"


class SilencedWarnings:
    """A context that silences these kinds of NumPy's warnings: those that ``np.errstate`` takes."""

    def __init__(self, world: Any, kinds: frozenset[str] = frozenset()):
        self.world, self.kinds = world, kinds

    def __enter__(self) -> None:
        self.world.silenced |= self.kinds

    def __exit__(self, *told: Any) -> None:
        """Nothing is to be undone."""


def _errstate(low: Any, **settings: Any) -> SilencedWarnings:
    for kind, setting in settings.items():
        if setting not in ("ignore", "warn", None):
            raise low.fail(
                UnsupportedSyntax,
                f"np.errstate({kind}={setting!r}) is not supported inside compiled code",
                _CURE,
            )
    np.errstate(**settings)  # knows which kinds there are
    ignored = frozenset(kind for kind, setting in settings.items() if setting == "ignore")
    return SilencedWarnings(low.compilation, ignored)


def _printoptions(low: Any, **settings: Any) -> SilencedWarnings:
    cause = "np.printoptions is not supported inside compiled code"
    raise low.fail(UnsupportedSyntax, cause, _CURE)


def _catch_warnings(low: Any, *, record: bool = False, **settings: Any) -> SilencedWarnings:
    if record or settings.keys() - {"module", "category"} or settings.get("action"):
        cause = "compiled code can silence warnings, but not record them"
        raise low.fail(UnsupportedSyntax, cause, _CURE)
    return SilencedWarnings(low.compilation)


def _filter(low: Any, action: str, category: type[Warning]) -> None:
    if action != "ignore":
        raise low.fail(
            UnsupportedSyntax,
            f"compiled code can silence warnings, but does not support the action '{action}'",
            "set the filter before the call",
        )
    if issubclass(RuntimeWarning, category):
        low.compilation.silenced |= {"all"}


def _simplefilter(
    low: Any, action: str, category: type[Warning] = Warning, lineno: int = 0, append: bool = False
) -> None:
    _filter(low, action, category)


def _filterwarnings(
    low: Any, action: str, message: str = "", category: type[Warning] = Warning, **rest: Any
) -> None:
    _filter(low, action, category)


#: What silences, and makes contexts that do.
QUIETING: dict[Any, Callable[..., Any]] = {
    np.errstate: _errstate,
    np.printoptions: _printoptions,
    warnings.catch_warnings: _catch_warnings,
    warnings.simplefilter: _simplefilter,
    warnings.filterwarnings: _filterwarnings,
}
