"""The public functions besides MindSpore's names, and the compiler behind all of them.

Importing this module installs the compiler in ``common/compiler_hook.py``.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from autodiff_compiler import pipeline
from autodiff_compiler.abstract_arguments import abstract, with_layout
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.compiler_hook import install
from autodiff_compiler.common.context import set_target
from autodiff_compiler.common.mutable import Mutable
from autodiff_compiler.common.structures import skeleton_of
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import raise_all
from autodiff_compiler.faults import compiling
from autodiff_compiler.frontend.lower import place_of
from autodiff_compiler.frontend.syntax.desugar.subset import check
from autodiff_compiler.frontend.syntax.source import read_source
from autodiff_compiler.generated_source import gradient_source
from autodiff_compiler.interface.compiled import Compiled, HookedSlot, MutableSlot, Slot, StaticSlot
from autodiff_compiler.interface.request import Request
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
    fn: Any,
    request: Request,
    slots: tuple[Any, ...],
    keywords: tuple[str, ...],
    known: frozenset[int],
    shared: Sequence[Any] = (),
) -> Compiled:
    types = [StaticSlot(v) if n in known else _with_hooks(v) for n, v in enumerate(slots)]
    with _without_collection():
        compiled = pipeline.compile_unit(fn, request, types, keywords, shared)
    words = (_short(t.value) if isinstance(t, StaticSlot) else str(t) for t in types)
    return replace(compiled, title=" ".join((compiled.title, *words)))


@contextmanager
def _without_collection() -> Iterator[None]:
    """Switches the garbage collector off within a block.

    It would visit the many objects of a compilation again and again, and free almost none. At the
    end the youngest generation is collected; otherwise its size would start a full collection.
    """
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
    if isinstance(value, Mutable) and isinstance(type_, Type):
        return MutableSlot(type_, skeleton_of(value, []))
    return (
        HookedSlot(type_, hooks) if hooks and isinstance(type_, Type) else with_layout(type_, value)
    )


def _short(value: Any) -> str:
    """Returns the text of a static value, or its class if that is long."""
    text = repr(value)
    is_plain = isinstance(value, (int, float, str, tuple, type(None)))
    return text if is_plain and len(text) <= 20 else type(value).__name__


RUNTIME = Runtime(_compile, place_of)
install(RUNTIME)


# ---- running compiled code


@overload
def jit(fn: Decorated, **options: Any) -> Decorated: ...


@overload
def jit(fn: None = None, **options: Any) -> Callable[[Decorated], Decorated]: ...


def jit(fn: Any = None, *, target: str | None = None, **options: Any) -> Any:
    """Makes calls of a function or Cell run its compiled forward function.

    It is a decorator with or without parentheses, or takes a function, a Cell or a class of Cells.
    A Cell is returned itself. Arguments, results and dtypes are those of the function. Each
    signature is compiled at its first call, which raises a CompileError for unsupported code. The
    ``target`` is "numpy" or "c", as for ``set_context``; None leaves it to that. The ``options``
    are MindSpore's and have no effect.
    """
    if fn is None:
        return functools.partial(jit, target=target, **options)
    if target is not None and isinstance(fn, GradientFunction):
        raise TypeError("a target is given to the function that is differentiated, not to grad(f)")
    if target is not None and callable(fn):
        set_target(unwrapped(fn), target)
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

    marked: Any = compiled
    marked._compiled_forward = True
    return marked


class DifferentiableFunction(Protocol[P, Result]):
    """A function with the methods that ``differentiable`` adds."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...

    def gradient_source(self, *inputs: Any, **flags: Any) -> str:
        """Calls the function of that name with this function as the first argument."""
        ...

    def check_grads(self, inputs: Sequence[Any], **options: Any) -> Report:
        """Calls the function of that name with this function as the first argument."""
        ...


# A class is callable too, so that the overloads overlap; the first one that fits is taken.
@overload
def differentiable(fn: CellClass, *, target: str | None = None) -> CellClass: ...  # type: ignore[overload-overlap]


@overload
def differentiable(
    fn: Callable[P, R], *, target: str | None = None
) -> DifferentiableFunction[P, R]: ...


@overload
def differentiable(
    fn: None = None, *, target: str | None = None
) -> Callable[[Decorated], Decorated]: ...


def differentiable(fn: Any = None, *, target: str | None = None) -> Any:
    """Checks the source of a Cell class or function, and makes its calls run compiled.

    Adds the methods ``gradient_source(*inputs, **flags)`` and ``check_grads(*inputs, **options)``,
    which call the functions of those names with the object as the first argument.

    It is a decorator with or without parentheses. The ``target`` is "numpy" or "c", as for
    ``set_context``; None leaves it to that.

    Raises a CompileError for unsupported Python, TypeError for an argument that is neither a class
    of Cells nor a function.
    """
    if fn is None:
        return functools.partial(differentiable, target=target)
    if isinstance(fn, type):
        if not issubclass(fn, Cell):
            raise TypeError(f"differentiable is for Cells and functions, not for {fn.__name__}")
        cls: Any = fn
        _check_text(unwrapped(cls.construct))
        if target is not None:
            set_target(cls, target)
        cls._compiled_forward = True
        cls.gradient_source = _source_method
        cls.check_grads = _check_method
        return cls
    if not callable(fn):
        raise TypeError(f"differentiable is for Cells and functions, not for {fn!r}")
    fn = unwrapped(fn)
    _check_text(fn)
    if target is not None:
        set_target(fn, target)
    compiled = _running_compiled(fn)
    compiled.gradient_source = functools.partial(gradient_source, fn)
    compiled.check_grads = functools.partial(_check_method, fn)
    return compiled


def _check_text(fn: Any) -> None:
    """Refuses Python that cannot be compiled."""
    compiling(lambda: raise_all(check(read_source(fn))), lambda: place_of(fn))


def _source_method(self: Any, *inputs: Any, **flags: Any) -> str:
    """Returns the source of the gradient."""
    return gradient_source(self, *inputs, **flags)


def _check_method(self: Any, *inputs: Any, **options: Any) -> Report:
    """Compares the gradient with numeric differences."""
    return check_grads(self, inputs, **options)


# ---- what is cached


@dataclass(frozen=True)
class CachedUnit:
    """A compiled function in the cache.

    title       the source function and the types of its arguments.
    request     the requested derivative.
    reason      the reason for which it was compiled.
    calls       the number of its calls.
    source      its text.
    work_bytes  the bytes of buffers that are kept between calls.
    from_disk   True if the text was found in the cache on disk.
    target      "numpy" or "c": the language of the text.
    fallback    why it is NumPy though C was asked for.
    """

    title: str
    request: str
    reason: str
    calls: int
    source: str
    work_bytes: int = 0
    from_disk: bool = False
    target: str = "numpy"
    fallback: str = ""


@dataclass(frozen=True)
class CompileInfo:
    """A snapshot of the cache, least recently used first. ``str`` makes a table of it."""

    units: tuple[CachedUnit, ...]

    def clear(self) -> None:
        """Empties the cache itself."""
        RUNTIME.cache.clear()

    def __len__(self) -> int:
        return len(self.units)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("compiled", "request", "reason", "calls")]
        rows += [(u.title, u.request, u.reason, str(u.calls)) for u in self.units]
        if any(u.target == "c" or u.fallback for u in self.units):
            targets = [u.target + (f": {u.fallback}" if u.fallback else "") for u in self.units]
            rows = [(*row, word) for row, word in zip(rows, ["target", *targets])]
        widths = [max(map(len, column)) for column in zip(*rows)]
        cells = ([text.ljust(width) for text, width in zip(row, widths)] for row in rows)
        return "\n".join("  ".join(row).rstrip() for row in cells)


def compile_info() -> CompileInfo:
    """Returns a snapshot of the cache: each compiled function, its signature, why it was compiled.

    ``print`` shows it as a table. Its ``clear()`` empties the cache itself.
    """
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
                "c" if u.compiled.native else "numpy",
                u.compiled.fallback,
            )
            for u in RUNTIME.cache.all()
        )
    )


def _asked(request: Request) -> str:
    if not request.differentiates and not request.tangent:
        return "forward"
    parts: Sequence[str] = [f"inputs {list(request.positions)}"]
    weights = "all" if request.weights is None else [w.name for w in request.weights]
    text = ", ".join([*parts, f"weights {weights}"] if weights else parts)
    return text + (", sens given" if request.takes_sens else ", tangent" * request.tangent)


__all__ = ["CompileInfo", "compile_info", "differentiable", "jit"]
