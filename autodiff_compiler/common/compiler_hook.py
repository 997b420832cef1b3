"""The hook through which low layers start the compiler.

A ``Cell`` in graph mode, or a ``GradOperation``, needs the whole compiler when it is called. The
compiler is in higher layers. The call asks here; ``api`` installs the compiler, and is imported
when it is first needed.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Engine(Protocol):
    """The compiler, as lower layers see it."""

    def run_cell(self, cell: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Runs the compiled forward function of ``cell.construct``."""

    def try_fast_call(self, function: Any, args: tuple) -> Any:
        """Returns the result of a transformed function if a fast call fits; else False."""

    def compiled_titles(self, function: Any) -> list[str]:
        """Returns a title for each compiled signature of a transformed function."""

    def run_gradient(self, gradient_function: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        """Runs the compiled pair of a gradient function and packs its result."""

    def run_pullback(self, gradient_function: Any, args: tuple) -> tuple[Any, Any]:
        """Runs the forward function; returns the value, and a function that runs backward."""

    def run_tangent(self, tangent_function: Any, args: tuple) -> Any:
        """Runs the compiled tangent of a function; returns value and tangent."""


_installed: list[Engine] = []
_loaders: list[Callable[[], object]] = []


def install(engine: Engine) -> None:
    """Installs ``engine`` in place of any other."""
    _installed[:] = [engine]


def install_on_demand(load: Callable[[], object]) -> None:
    """Registers ``load``, which installs an engine when one is first needed."""
    _loaders[:] = [load]


def engine() -> Engine:
    """Returns the installed engine; raises RuntimeError if there is none."""
    for load in [] if _installed else _loaders:
        load()
    if not _installed:
        raise RuntimeError("no compiler is installed; import autodiff_compiler first")
    return _installed[0]
