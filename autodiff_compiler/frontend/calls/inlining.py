"""Inlining: a source function is lowered where it is called."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import gast

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.errors import CallError, SourceNotFound, UnknownAttribute, raise_all
from autodiff_compiler.frontend.abstract.outcomes import Diverged, Returned
from autodiff_compiler.frontend.abstract.values import Closure, Frame
from autodiff_compiler.frontend.core.error_translation import usage_of
from autodiff_compiler.frontend.core.guards import is_user_code
from autodiff_compiler.frontend.core.lowering import Lowering, call_site
from autodiff_compiler.frontend.core.naming import bind_closure_arguments
from autodiff_compiler.frontend.core.unwinding import handling, resumable
from autodiff_compiler.frontend.syntax.desugar.steps import desugared
from autodiff_compiler.frontend.syntax.desugar.subset import check
from autodiff_compiler.frontend.syntax.source import read_source, span_of_class
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ops.transforms.transformed import unwrapped


def inline_callee(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Inlines a callee. Its variables are its own, the heap is shared."""
    low.compilation.register_callee_parts(callee)
    is_wrapped = False
    if isinstance(callee, Cell):
        kind: Any = type(callee)
        if kind.construct is Cell.construct:
            name = kind.__name__
            raise UnknownAttribute(
                f"the Cell '{name}' has no method 'construct'",
                f"define 'def construct(self, ...)' in the class {name}",
                low.place or span_of_class(kind),
            )
        method = _construct_of(low, callee)
        callee = unwrapped(method)
        is_wrapped = callee is not method
    if not isinstance(callee, (types.FunctionType, types.MethodType)):
        return low.call(callee, args, kwargs)
    function = getattr(callee, "__func__", callee)
    owner = getattr(callee, "__self__", None)
    path = low.compilation.path(owner) if owner is not None else None
    if path is not None and not isinstance(owner, types.ModuleType):
        inside = ".__wrapped__" if is_wrapped else ""
        low.compilation.register_path(function, f"{path}.{function.__name__}.__func__{inside}")
    try:
        source = read_source(function)
    except SourceNotFound as error:
        raise low.builder.with_span(error) from None
    low.compilation.guard_code(function)
    bound = _bind(low, callee, args, kwargs)
    return inline(low, Frame(source, function), bound)


def _construct_of(low: Lowering, cell: Cell) -> Any:
    """Returns the ``construct`` of a Cell, guarded: that of its class, or one of its own."""
    method: Any = cell.construct
    is_bound_here = getattr(method, "__self__", None) is cell
    if is_bound_here and is_user_code(method):
        low.compilation.guard_method(cell, "construct", method.__func__, known=True)
    elif is_bound_here:
        low.compilation.guard_method(cell, "construct", method.__func__)
    elif (path := low.compilation.path(cell)) is not None:
        low.compilation.add_guard(f"{path}.construct", method)
    return method


def _bind(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the callee's parameters by name. Refuses a wrong call with Python's message."""
    # The object is bound, too: a method may take it as the first of '*args'.
    owner = getattr(callee, "__self__", None)
    first = () if owner is None else (owner,)
    signature = inspect.signature(getattr(callee, "__func__", callee), follow_wrapped=False)
    try:
        bound = signature.bind(*first, *args, **kwargs)
    except TypeError as error:
        name = getattr(callee, "__qualname__", getattr(callee, "__name__", "the function"))
        name = name.removesuffix(".__init__")
        raise low.fail(
            CallError, f"{name}(): {error}", f"call it as {usage_of(callee, name)}"
        ) from None
    given = set(bound.arguments)
    bound.apply_defaults()
    _assume_defaults(low, callee, signature, given)
    names: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if value is owner is not None:
            names[name] = owner
        elif signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            names[name] = low.allocate("dict", dict(value))
        else:
            names[name] = low.lifted(value)
    return names


def _assume_defaults(
    low: Lowering, callee: Any, signature: inspect.Signature, given: set[str]
) -> None:
    """Guards the defaults of parameters without an argument."""
    path = low.compilation.path(getattr(callee, "__func__", callee))
    with_default = [p for p in signature.parameters.values() if p.default is not p.empty]
    positional = [p for p in with_default if p.kind is not p.KEYWORD_ONLY][::-1]
    for parameter in with_default if path is not None else ():
        if parameter.name in given:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            place = f"__kwdefaults__[{parameter.name!r}]"
        else:
            place = f"__defaults__[{-1 - positional.index(parameter)}]"
        low.compilation.add_guard(f"{path}.{place}", parameter.default)


def inline_closure_once(
    low: Lowering, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Inlines an inner function, without a test for recursion."""
    names = bind_closure_arguments(low, closure, args, kwargs)
    outer = closure.frame
    return inline(low, Frame(outer.source, outer.function, outer, tree=closure.tree), names)


def inline(low: Lowering, frame: Frame, names: dict[str, Any]) -> Any:
    """Lowers a source function in a frame of its own."""
    caller = call_site(low)
    tree = frame.tree or frame.source.tree
    name = getattr(tree, "name", "<lambda>")
    with low.compilation.depths.entering(tree, name, caller), low.compilation.calling(caller):
        if frame.tree is None:
            raise_all(check(frame.source))
            frame.tree = desugared(frame.source)
        with in_frame(low, frame, names):
            return _execute_body(low, frame.tree)


@contextmanager
def in_frame(low: Lowering, frame: Frame, names: dict[str, Any]) -> Iterator[None]:
    """Enters a block in which ``frame`` is the current frame, with these variables."""
    waiting = low.frame
    waiting.names, waiting.depth = low.state.names, low.depth
    low.waiting_frames.append(waiting)
    low.frame, low.state.names = frame, names
    try:
        with handling(low, low.catching):
            yield
    finally:
        frame.names, frame.ended = low.state.names, True  # closures may outlive the call
        low.frame, low.state.names = low.waiting_frames.pop(), waiting.names


def _execute_body(low: Lowering, tree: Any) -> Any:
    """Lowers a function's body. Returns its result."""
    if isinstance(tree, gast.Lambda):
        return resumable(low, lambda: low.evaluate(tree.body))
    low.started = low.started or low.span(tree)
    outcome = low.block(tree.body)
    if isinstance(outcome, Diverged):
        raise Unreached
    return low.certainly(outcome.value) if isinstance(outcome, Returned) else None
