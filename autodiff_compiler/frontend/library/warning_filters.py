"""``with np.errstate(divide="ignore"):`` and ``with warnings.catch_warnings():``.

Compilation merges the lines of such a block with others, and their backward stands elsewhere. A
warning that is silenced in one block is therefore silenced in the whole forward and backward. A
setting that raises, records or prints is refused: it would act outside its block.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff_compiler.errors import UnsupportedSyntax
from autodiff_compiler.frontend.core.compilation import Compilation
from autodiff_compiler.frontend.core.lowering import Lowering

_CURE = "put the 'with' around the call of the compiled function"


class SilencedWarnings:
    """A context that silences some kinds of NumPy's warnings, named as ``np.errstate`` does."""

    def __init__(self, compilation: Compilation, kinds: frozenset[str] = frozenset()):
        self.compilation, self.kinds = compilation, kinds

    def __enter__(self) -> None:
        self.compilation.silenced |= self.kinds

    def __exit__(self, *details: Any) -> None:
        """Does nothing: the warnings stay silenced."""


def _errstate(low: Lowering, **settings: Any) -> SilencedWarnings:
    for kind, setting in settings.items():
        if setting not in ("ignore", "warn", None):
            raise low.fail(
                UnsupportedSyntax,
                f"np.errstate({kind}={setting!r}) is not supported inside compiled code",
                _CURE,
            )
    np.errstate(**settings)  # raises for unknown kinds
    ignored = frozenset(kind for kind, setting in settings.items() if setting == "ignore")
    return SilencedWarnings(low.compilation, ignored)


def _printoptions(low: Lowering, **settings: Any) -> SilencedWarnings:
    cause = "np.printoptions is not supported inside compiled code"
    raise low.fail(UnsupportedSyntax, cause, _CURE)


def _catch_warnings(low: Lowering, *, record: bool = False, **settings: Any) -> SilencedWarnings:
    if record or settings.keys() - {"module", "category"} or settings.get("action"):
        cause = "compiled code can silence warnings, but not record them"
        raise low.fail(UnsupportedSyntax, cause, _CURE)
    return SilencedWarnings(low.compilation)


def _filter(low: Lowering, action: str, category: type[Warning]) -> None:
    if action != "ignore":
        raise low.fail(
            UnsupportedSyntax,
            f"compiled code can silence warnings, but does not support the action '{action}'",
            "set the filter before the call",
        )
    if issubclass(RuntimeWarning, category):
        low.compilation.silenced |= {"all"}


def _simplefilter(
    low: Lowering,
    action: str,
    category: type[Warning] = Warning,
    lineno: int = 0,
    append: bool = False,
) -> None:
    _filter(low, action, category)


def _filterwarnings(
    low: Lowering, action: str, message: str = "", category: type[Warning] = Warning, **rest: Any
) -> None:
    _filter(low, action, category)


#: Functions that silence warnings, or make a context that does.
SILENCING: dict[Any, Callable[..., Any]] = {
    np.errstate: _errstate,
    np.printoptions: _printoptions,
    warnings.catch_warnings: _catch_warnings,
    warnings.simplefilter: _simplefilter,
    warnings.filterwarnings: _filterwarnings,
}
