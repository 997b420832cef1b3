"""The front door: what is ours besides MindSpore's names, and the compiler behind those.

Importing this file plugs the compiler into ``common/compiler_hook.py``.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from autodiff_compiler import pipeline
from autodiff_compiler.abstract_arguments import abstract, laid
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.compiler_hook import install
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import raise_all
from autodiff_compiler.faults import compiling
from autodiff_compiler.frontend.lower import place_of
from autodiff_compiler.frontend.syntax.desugar.subset import check
from autodiff_compiler.frontend.syntax.source import read_source
from autodiff_compiler.generated_source import gradient_source
from autodiff_compiler.interface import Compiled, HookedSlot, Request, Slot, StaticSlot
from autodiff_compiler.ir.types import (
    Type,
)
from autodiff_compiler.ops.transforms.gradient import GradientFunction
from autodiff_compiler.ops.transforms.transformed import unwrapped
from autodiff_compiler.runtime.dispatch import Runtime
from autodiff_compiler.testing.numeric import Report, check_grads

P = ParamSpec("P")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
CellClass = TypeVar("CellClass", bound=type[Cell])
R = TypeVar("R")
Result = TypeVar("Result", covariant=True)


def _compile(
    fn: Any, request: Request, slots: tuple, keywords: tuple[str, ...], known: frozenset[int]
) -> Compiled:
    types = [StaticSlot(v) if n in known else _with_hooks(v) for n, v in enumerate(slots)]
    with _without_collection():
        compiled = pipeline.compile_unit(fn, request, types, keywords)
    words = (_short(t.value) if isinstance(t, StaticSlot) else str(t) for t in types)
    return replace(compiled, title=" ".join((compiled.title, *words)))


@contextmanager
def _without_collection() -> Iterator[None]:
    """Python does not look for cycles in here: it would go through all that is being made, again
    and again, and find next to nothing. What is left at the end is looked through by itself: to
    Python it looks like much, for which it would go through everything that was ever imported."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.collect(0)
            gc.enable()


def _with_hooks(value: Any) -> Slot:
    type_ = abstract(value)
    hooks = getattr(value, "_hooks", ()) if isinstance(value, Tensor) else ()
    return HookedSlot(type_, hooks) if hooks and isinstance(type_, Type) else laid(type_, value)


def _short(value: Any) -> str:
    text = repr(value)
    return (
        text
        if len(text) <= 20 and isinstance(value, (int, float, str, tuple, type(None)))
        else (type(value).__name__)
    )


RUNTIME = Runtime(_compile, place_of)
install(RUNTIME)


# ---- running compiled code


@overload
def jit(fn: Decorated, **options: Any) -> Decorated: ...


@overload
def jit(fn: None = None, **options: Any) -> Callable[[Decorated], Decorated]: ...


def jit(fn: Any = None, **options: Any) -> Any:
    """Makes calls of a function or Cell run its compiled forward half.

    Stands before a ``def`` with or without parentheses, or takes a function, a Cell or a class of
    Cells; a Cell is given back itself. Arguments, results and dtypes are those of the function. It
    is compiled when it is called, once for each signature, and what cannot be compiled is a
    CompileError then. The ``options`` are MindSpore's, and change nothing here.
    """
    if fn is None:
        return functools.partial(jit, **options)
    if isinstance(fn, Cell):
        fn.__dict__["_compiled_forward"] = True
        return fn
    if isinstance(fn, type) and issubclass(fn, Cell):
        fn._compiled_forward = True
        return fn
    if isinstance(fn, GradientFunction):
        return fn
    if not callable(fn):
        raise TypeError(f"the function to compile should be callable, but got {fn!r}")
    return _running_compiled(fn)


def _running_compiled(fn: Callable[..., Any]) -> Any:
    fn = unwrapped(fn)

    @functools.wraps(fn)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return RUNTIME.run_cell(fn, args, kwargs)

    compiled._compiled_forward = True  # type: ignore[attr-defined]
    return compiled


class DifferentiableFunction(Protocol[P, Result]):
    """A function with the methods that ``differentiable`` adds."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...

    def gradient_source(self, *inputs: Any, **flags: Any) -> str:
        """As the function of that name."""
        ...

    def check_grads(self, inputs: Sequence[Any], **options: Any) -> Report:
        """As the function of that name."""
        ...


@overload
def differentiable(target: CellClass) -> CellClass: ...  # type: ignore[overload-overlap]


@overload
def differentiable(target: Callable[P, R]) -> DifferentiableFunction[P, R]: ...


def differentiable(target: Any) -> Any:
    """Checks the source of a Cell class or function at once, and runs it compiled from then on.

    It gains ``gradient_source(*inputs, **flags)`` and ``check_grads(*inputs, **options)``, the
    functions of those names with itself as the first argument.

    Raises a CompileError for Python that cannot be compiled, TypeError for what is neither a class
    of Cells nor a function.
    """
    if isinstance(target, type):
        if not issubclass(target, Cell):
            raise TypeError(f"differentiable is for Cells and functions, not for {target.__name__}")
        cls: Any = target
        _check_text(unwrapped(cls.construct))
        cls._compiled_forward = True
        cls.gradient_source = _source_method
        cls.check_grads = _check_method
        return cls
    if not callable(target):
        raise TypeError(f"differentiable is for Cells and functions, not for {target!r}")
    target = unwrapped(target)
    _check_text(target)
    compiled = _running_compiled(target)
    compiled.gradient_source = functools.partial(gradient_source, target)
    compiled.check_grads = functools.partial(_check_method, target)
    return compiled


def _check_text(fn: Any) -> None:
    """Refuse Python that cannot be compiled."""
    compiling(lambda: raise_all(check(read_source(fn))), lambda: place_of(fn))


def _source_method(self: Any, *inputs: Any, **flags: Any) -> str:
    """The source of the gradient, as text."""
    return gradient_source(self, *inputs, **flags)


def _check_method(self: Any, *inputs: Any, **options: Any) -> Report:
    """Holds the gradient against numeric differences."""
    return check_grads(self, inputs, **options)


# ---- what is cached


@dataclass(frozen=True)
class CachedUnit:
    """One compiled unit: what it is of, what was asked, why it was compiled, how often it ran, how
    many bytes one call works in that are kept for the next, and whether its text was on disk."""

    title: str
    request: str
    reason: str
    calls: int
    source: str
    work_bytes: int = 0
    from_disk: bool = False


@dataclass(frozen=True)
class CompileInfo:
    """What is cached, the least lately used first."""

    units: tuple[CachedUnit, ...]

    def clear(self) -> None:
        """Forgets all compiled code."""
        RUNTIME.cache.clear()

    def __len__(self) -> int:
        return len(self.units)

    def __str__(self) -> str:
        rows = [("compiled", "asked for", "because", "calls")]
        rows += [(u.title, u.request, u.reason, str(u.calls)) for u in self.units]
        widths = [max(map(len, column)) for column in zip(*rows)]
        cells = ([text.ljust(width) for text, width in zip(row, widths)] for row in rows)
        return "\n".join("  ".join(row).rstrip() for row in cells)


def compile_info() -> CompileInfo:
    """What is cached, for which signature, and why it was compiled: printed, a table. It is a
    snapshot, but its ``clear()`` empties the cache itself."""
    return CompileInfo(
        tuple(
            CachedUnit(
                u.title,
                _asked(u.request),
                u.reason,
                u.calls,
                u.compiled.source,
                u.workspace.bytes,
                u.compiled.from_disk,
            )  # fmt: skip
            for u in RUNTIME.cache.all()
        )
    )


def _asked(request: Request) -> str:
    if not request.differentiates and not request.tangent:
        return "forward"
    parts: Sequence[str] = [f"inputs {list(request.positions)}"]
    weights = "all" if request.weights is None else [w.name for w in request.weights]
    text = ", ".join([*parts, f"weights {weights}"] if weights else parts)
    return text + (", sens given" if request.sens == "given" else ", tangent" * request.tangent)


__all__ = [
    "CompileInfo", "compile_info", "differentiable", "jit",
]  # fmt: skip
