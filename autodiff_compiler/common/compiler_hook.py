"""The hook through which low layers start the compiler.

A ``Cell`` called in graph mode, or a ``GradOperation`` called at all, needs the whole compiler,
which is in higher layers. It asks here; ``api`` installs the compiler, and is imported when it is
first needed.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Engine(Protocol):
    """What the compiler does for those below it."""

    def run_cell(self, cell: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Runs the compiled forward half of ``cell.construct``."""

    def try_fast_call(self, function: Any, args: tuple) -> Any:
        """What a transformed function answers, if the call is like an earlier one; else False."""

    def compiled_titles(self, function: Any) -> list[str]:
        """What of a transformed function is compiled: a title for each signature."""

    def run_gradient(self, gradient_function: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Runs the compiled pair of a gradient function and packs its result."""

    def run_pullback(self, gradient_function: Any, args: tuple) -> tuple[Any, Any]:
        """Runs the forward half; gives the value, and what runs the backward half."""

    def run_tangent(self, tangent_function: Any, args: tuple) -> Any:
        """Runs the compiled tangent of a function; gives value and tangent."""


_installed: list[Engine] = []
_loaders: list[Callable[[], object]] = []


def install(engine: Engine) -> None:
    """Makes ``engine`` the one that serves from now on."""
    _installed[:] = [engine]


def install_on_demand(load: Callable[[], object]) -> None:
    """``load`` is called when an engine is first asked for, and installs one."""
    _loaders[:] = [load]


def engine() -> Engine:
    """The engine that serves."""
    for load in [] if _installed else _loaders:
        load()
    if not _installed:
        raise RuntimeError("no compiler is installed; import autodiff_compiler first")
    return _installed[0]
