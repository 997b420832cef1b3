"""Texts: a user's function written out where it is called."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.errors import (
    CallError,
    SourceNotFound,
    UnknownAttribute,
    raise_all,
)
from autodiff_compiler.frontend.abstract.values import Closure, Frame
from autodiff_compiler.frontend.core.assumptions import is_theirs
from autodiff_compiler.frontend.core.error_translation import usage_of
from autodiff_compiler.frontend.core.naming import bind_tree
from autodiff_compiler.frontend.expressions.strings import Wording
from autodiff_compiler.frontend.syntax.desugar.early_exits import desugared
from autodiff_compiler.frontend.syntax.source import read_source, span_of_class
from autodiff_compiler.frontend.syntax.subset import check
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ops.transforms.transformed import unwrapped


class Texts(Wording):
    """Adds user's texts to ``Wording``."""

    #: The frames of this function that wait for a call to end.
    waiting: list[Frame]
    #: The arguments' tensors, as the caller sees them, and those that the text writes to.
    taken: dict[Value, Any]
    wrote: set[Any]
    #: How many branches and loops are open.
    depth = 0

    def enter(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Writes a text out here: its variables are its own, the heap is shared."""
        self.world.know_parts(callee)
        wrapped = False
        if isinstance(callee, Cell):
            kind: Any = type(callee)
            if kind.construct is Cell.construct:
                name = kind.__name__
                raise UnknownAttribute(
                    f"the Cell '{name}' has no method 'construct'",
                    f"define 'def construct(self, ...)' in the class {name}",
                    self.place or span_of_class(kind),
                )
            method = self._construct_of(callee)
            callee = unwrapped(method)
            wrapped = callee is not method
        if not isinstance(callee, (types.FunctionType, types.MethodType)):
            return self.call(callee, args, kwargs)
        function = getattr(callee, "__func__", callee)
        owner = getattr(callee, "__self__", None)
        path = self.world.path(owner) if owner is not None else None
        if path is not None and not isinstance(owner, types.ModuleType):
            inside = ".__wrapped__" if wrapped else ""
            self.world.know(function, f"{path}.{function.__name__}.__func__{inside}")
        try:
            source = read_source(function)
        except SourceNotFound as error:
            raise self.builder.placed(error) from None
        self.world.assume_text(function)
        bound = self._bind(callee, args, kwargs)
        return self.inline(Frame(source, function), bound)

    def _construct_of(self, cell: Cell) -> Any:
        """The ``construct`` of a Cell: that of its class, or one of its own."""
        method: Any = cell.construct
        own = getattr(method, "__self__", None) is cell
        if own and is_theirs(method):
            self.world.assume_method(cell, "construct", method.__func__, known=True)
        elif own:
            self.world.assume_method(cell, "construct", method.__func__)
        elif (path := self.world.path(cell)) is not None:
            self.world.assume(f"{path}.construct", method)
        return method

    def _bind(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The callee's variables by name; a wrong call is refused in Python's words."""
        # Bound with its object: that may be the first of '*args'.
        owner = getattr(callee, "__self__", None)
        first = () if owner is None else (owner,)
        signature = inspect.signature(getattr(callee, "__func__", callee), follow_wrapped=False)
        try:
            bound = signature.bind(*first, *args, **kwargs)
        except TypeError as error:
            name = getattr(callee, "__qualname__", getattr(callee, "__name__", "the function"))
            name = name.removesuffix(".__init__")
            raise self.fail(
                CallError, f"{name}(): {error}", f"call it as {usage_of(callee, name)}"
            ) from None
        given = set(bound.arguments)
        bound.apply_defaults()
        self._assume_defaults(callee, signature, given)
        names: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if value is owner is not None:
                names[name] = owner
            elif signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                names[name] = self.allocate("dict", dict(value))
            else:
                names[name] = self.lifted(value)
        return names

    def _assume_defaults(self, callee: Any, signature: inspect.Signature, given: set[str]) -> None:
        """Records the defaults that arguments which were not given take."""
        path = self.world.path(getattr(callee, "__func__", callee))
        having = [p for p in signature.parameters.values() if p.default is not p.empty]
        positional = [p for p in having if p.kind is not p.KEYWORD_ONLY][::-1]
        for parameter in having if path is not None else ():
            if parameter.name in given:
                continue
            if parameter.kind is parameter.KEYWORD_ONLY:
                place = f"__kwdefaults__[{parameter.name!r}]"
            else:
                place = f"__defaults__[{-1 - positional.index(parameter)}]"
            self.world.assume(f"{path}.{place}", parameter.default)

    def inline_closure(
        self, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        names = bind_tree(self, closure, args, kwargs)
        outer = closure.frame
        return self.inline(Frame(outer.source, outer.function, outer, tree=closure.tree), names)

    def inline(self, frame: Frame, names: dict[str, Any]) -> Any:
        """Lowers a text here and now in a frame of its own."""
        caller = self.call_site()
        text = frame.tree or frame.source.tree
        name = getattr(text, "name", "<lambda>")
        with self.world.depths.inside(text, name, caller), self.world.calling(caller):
            if frame.tree is None:
                raise_all(check(frame.source))
                frame.tree = desugared(frame.source)
            with self.inside(frame, names):
                return self.run_body(frame.tree)

    @contextmanager
    def inside(self, frame: Frame, names: dict[str, Any]) -> Iterator[None]:
        """``frame`` is the present one, with these variables, until the end of the block."""
        waiting = self.frame
        waiting.names, waiting.depth = self.state.names, self.depth
        self.waiting.append(waiting)
        self.frame, self.state.names = frame, names
        try:
            with self.under(self.handlers):
                yield
        finally:
            frame.names, frame.ended = self.state.names, True  # closures may outlive the call
            self.frame, self.state.names = self.waiting.pop(), waiting.names

    def adopted(self, result: Any) -> Any:
        """The outcome of library code as a compile-time value."""
        raise NotImplementedError

    def run_body(self, tree: Any) -> Any:
        """Lowers a function's body in the present frame; gives what it returns."""
        raise NotImplementedError
