"""The front door: what is ours besides MindSpore's names, and the compiler behind those.

Importing this file plugs the compiler into ``common/engine.py``.
"""

from __future__ import annotations

import functools
import gc
import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from autodiff_compiler import pipeline
from autodiff_compiler.common.cell import Cell
from autodiff_compiler.common.engine import install
from autodiff_compiler.common.files import written_whole
from autodiff_compiler.common.mutable import plain_kind
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import CallError, raise_all
from autodiff_compiler.frontend.source import read_source
from autodiff_compiler.frontend.subset import check
from autodiff_compiler.ir.types import (
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    SHORT,
    ArrayType,
    DictType,
    TupleType,
    Type,
    parse_type,
    type_of_array,
    type_of_literal,
)
from autodiff_compiler.ops.gradient import GradientFunction, GradOperation
from autodiff_compiler.ops.transform import unwrapped
from autodiff_compiler.plan import Compiled, Hooked, NeedValues, Request, Slot, Static
from autodiff_compiler.runtime.invoke import Runtime
from autodiff_compiler.runtime.known import with_known_numbers
from autodiff_compiler.runtime.slots import holds, is_numpy_call
from autodiff_compiler.testing.numeric import Report, check_grads

Decorated = TypeVar("Decorated")

_NUMBERS = {int: INT, float: FLOAT, complex: COMPLEX}


# ---- types of arguments


def abstract(value: Any) -> Type | Static:
    """What the compiler is told of an argument: a type, or the value where that must be known.

    >>> print(abstract(np.ones((2, 3))), abstract(4), abstract("same"))
    f64[2,3] int Static(value='same')
    """
    if isinstance(value, Tensor):
        return type_of_array(value._data)
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.name not in SHORT:
            raise CallError(
                f"an array of {value.dtype} is given, and arrays of it are not compiled",
                "pass numbers or bools: array.astype(float)",
            )
        return type_of_array(value)
    if plain_kind(value) in _NUMBERS:
        return _NUMBERS[plain_kind(value)]
    return _container(value) if holds(value, Tensor, np.ndarray) else Static(value)


def _container(value: Any) -> Type:
    """The type of a container with arrays in it; other items must be numbers, strings or None."""
    if isinstance(value, dict):
        return DictType(tuple(value), tuple(map(_item, value.values())))
    return TupleType(tuple(map(_item, value)))


def _item(value: Any) -> Type:
    type_ = abstract(value)
    if isinstance(type_, Static):
        try:
            return type_of_literal(type_.value)
        except TypeError:
            kind, numbers = type(value).__name__, holds(value, int, float, complex)
            raise CallError(
                f"a {kind} {'of numbers ' if numbers else ''}stands in a container together with "
                "tensors",
                "make an array of it" if numbers else "pass it as an argument of its own",
            ) from None
    return type_


def slot_of(given: Any) -> Type | Static:
    """As ``abstract``; a string is the text of a type."""
    if not isinstance(given, str):
        return abstract(given)
    try:
        type_ = parse_type(given)
    except ValueError as error:
        cure = "a string that the function takes is bound before: functools.partial(f, name='…')"
        raise ValueError(f"{error}; {cure}") from None
    return Static(None) if type_ == NONE else type_


def _compile(
    fn: Any, request: Request, slots: tuple, keywords: tuple[str, ...], known: frozenset[int]
) -> Compiled:
    types = [Static(v) if n in known else _with_hooks(v) for n, v in enumerate(slots)]
    with _without_collection():
        compiled = pipeline.compile_unit(fn, request, types, keywords)
    words = (_short(t.value) if isinstance(t, Static) else str(t) for t in types)
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
    return Hooked(type_, hooks) if hooks and isinstance(type_, Type) else type_


def _short(value: Any) -> str:
    text = repr(value)
    return (
        text
        if len(text) <= 20 and isinstance(value, (int, float, str, tuple, type(None)))
        else (type(value).__name__)
    )


RUNTIME = Runtime(_compile)
install(RUNTIME)


# ---- running compiled code


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
        raise_all(check(read_source(unwrapped(target.construct))))
        target._compiled_forward = True
        target.gradient_source = _source_method  # type: ignore[attr-defined]
        target.check_grads = _check_method  # type: ignore[attr-defined]
        return target
    if not callable(target):
        raise TypeError(f"differentiable is for Cells and functions, not for {target!r}")
    target = unwrapped(target)
    raise_all(check(read_source(target)))
    compiled = _running_compiled(target)
    compiled.gradient_source = functools.partial(gradient_source, target)
    compiled.check_grads = functools.partial(_check_method, target)
    return compiled


def _source_method(self: Any, *inputs: Any, **flags: Any) -> str:
    """The source of the gradient, as text."""
    return gradient_source(self, *inputs, **flags)


def _check_method(self: Any, *inputs: Any, **options: Any) -> Report:
    """Holds the gradient against numeric differences."""
    return check_grads(self, inputs, **options)


# ---- printing generated code


def gradient_source(
    fn: Any,
    *inputs: Any,
    get_all: bool = False,
    get_by_list: bool = False,
    sens_param: bool = False,
    weights: Any = None,
    mode: str = "reverse",
    stage: str = "source",
    opt_level: int | None = None,
    stabilise: bool | None = None,
) -> str:
    """The source of the compiled pair of ``fn``, as text.

    inputs      tensors, arrays, numbers, or texts of types: ``"f32[2,3]"``, ``"f32[b,3]"``,
                ``"any[...]"``, ``"int"``. Without any, each required one is ``any[...]``.
                What is itself a string is bound before: ``functools.partial(f, mode="sum")``.
    get_all, get_by_list, sens_param, weights   as for ``GradOperation``.
    mode        ``reverse``: a forward and a backward half; ``forward``: one function, which takes
                the tangents of what is differentiated and returns that of the value, too.
    opt_level   0, 1 or 3 (None: as ``set_context`` says, which is 1 if it says nothing).
    stage       ``ir``, ``typed``, ``adjoint``, ``optimized``, ``lowered`` or ``source``, or
                ``memory`` for a table of what is kept; see ``pipeline.stage_text``.
    stabilise   whether formulas that overflow or cancel are replaced by operators that do not
                (None: as ``set_context`` says, which is yes if it says nothing).

    Raises a CompileError with every problem of the text, in place and with a cure; a CallError,
    which is one, where a setting is unknown; a ValueError where the text of a type is no type.
    """
    gradient = GradOperation(get_all, get_by_list, sens_param)(fn, weights)
    target = gradient.fn
    slots = tuple(map(slot_of, inputs)) or tuple(ArrayType() for _ in required(target))
    # A plain function with a float among its arguments is NumPy's: floats have gradients there.
    floats = (FLOAT,) if not isinstance(target, Cell) and not holds(inputs, Tensor) else ()
    numpy = FLOAT in floats and (FLOAT in slots or is_numpy_call(target, inputs))
    active = [isinstance(slot, ArrayType) or numpy and slot == FLOAT for slot in slots]
    request = replace(gradient.request(active), numpy=numpy)
    if opt_level is not None:
        if opt_level not in pipeline.LEVELS:
            raise CallError(f"there is no level {opt_level}", "use 0, 1 or 3")
        request = replace(request, opt_level=opt_level)
    if mode not in ("reverse", "forward"):
        raise CallError(f"there is no mode '{mode}'", "use 'reverse' or 'forward'")
    if mode == "forward":
        if sens_param:
            raise CallError("a tangent takes no sensitivity", "leave out sens_param")
        request = replace(request, sens="none", value=True, tangent=True)
    if stabilise is not None:
        request = replace(request, stabilise=stabilise)

    def text(known: frozenset[int]) -> str:
        given = [Static(inputs[n]) if n in known else slot for n, slot in enumerate(slots)]
        try:
            return pipeline.stage_text(target, request, given, (), stage)
        except NeedValues as need:
            if all(n < len(inputs) and not isinstance(inputs[n], str) for n in need.positions):
                raise
            raise CallError(str(need), "give the number itself in place of its type") from None

    return with_known_numbers(text, inputs)[0]


def export_source(fn: Any, path: str | os.PathLike, *inputs: Any, **flags: Any) -> None:
    """Writes ``gradient_source(fn, *inputs, **flags)`` to a file, whole or not at all.

    ``inputs`` and ``flags`` are those of ``gradient_source``, and so are the errors; besides, an
    OSError where the file cannot be written. What was in it stays if there is an error.
    """
    text = gradient_source(fn, *inputs, **flags)
    with written_whole(path) as file:
        file.write(text.encode("utf-8"))


def required(fn: Any) -> list[str]:
    """The names of the arguments that ``fn`` must be given by position."""
    method = unwrapped(fn.construct if isinstance(fn, Cell) else fn)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(method).parameters.values()
    return [p.name for p in parameters if p.kind in kinds and p.default is p.empty]


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
    "CompileInfo", "abstract", "compile_info", "differentiable", "export_source",
    "gradient_source", "jit", "required", "slot_of",
]  # fmt: skip
