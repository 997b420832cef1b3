"""Expressions: a gast expression and a ``State`` to a compile-time value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import gast

from autodiff_compiler.common.tensor_data import is_foreign
from autodiff_compiler.errors import (
    CompileError,
    DTypeError,
    ShapeError,
    UnknownName,
)
from autodiff_compiler.frontend.abstract import optional
from autodiff_compiler.frontend.abstract.aliasing import refuse_spoilt
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.packing import pack
from autodiff_compiler.frontend.abstract.runtime_lists import is_long
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    DictView,
    Frame,
    HeapRef,
    MaybeNone,
    MaybeUnset,
    NeedsKnownValue,
    Own,
    Poison,
    Unset,
    UsesPoison,
    leaves,
)
from autodiff_compiler.frontend.core.assumptions import is_array
from autodiff_compiler.frontend.core.compilation import Compilation
from autodiff_compiler.frontend.core.error_translation import translated
from autodiff_compiler.frontend.core.naming import NAMELESS, variables
from autodiff_compiler.frontend.core.outside_items import without_dict
from autodiff_compiler.frontend.core.unwinding import Stepping
from autodiff_compiler.frontend.syntax.source import Source
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import Region, Value, type_of
from autodiff_compiler.ir.types import ArrayType, ListType
from autodiff_compiler.operators.core import containers, effects
from autodiff_compiler.operators.core.control import is_unset
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.span import NOWHERE, Caller, Span


class Expressions(Stepping):
    """Evaluates expressions. ``calls.py`` adds calls, ``branches.py`` and ``loops.py`` control."""

    world: Compilation
    frame: Frame

    @property
    def source(self) -> Source:
        """The text that is being lowered now."""
        return self.frame.source

    def evaluate(self, node: Any) -> Any:
        """The compile-time value of an expression, with its problems placed at ``node``."""
        method = getattr(self, f"eval_{type(node).__name__}")
        span = self.source.span(node)
        with self.builder.at(span):
            try:
                value = self.once(node, lambda: method(node)) if self.handlers else method(node)
                if isinstance(value, MaybeNone) and not getattr(node, "raw", False):
                    return self.present(value, getattr(node, "id", ""))
                return value
            except CompileError as error:
                raise self.builder.placed(error) from None

    def present(self, value: MaybeNone, name: str = "") -> Any:
        """What is not None, as forward checks; ``name`` is not None from here on."""
        found = optional.certain(self, value, f"'{name}'" if name else "this")
        if self.state.names.get(name) is value:
            self.state.names[name] = found
        return found

    def evaluate_all(self, nodes: Sequence[Any]) -> list[Any]:
        """The values of several expressions; what is wrong with each of them is reported."""
        values, marks, hurt = [], [], False
        for node in nodes:
            try:
                values.append(self.evaluate(node))
                marks.append(len(self.world.memory.writes))
            except CompileError as error:
                self.poison(error)
                hurt = True
            except UsesPoison:
                hurt = True
        if hurt:
            raise UsesPoison
        for value, mark in zip(values, marks):
            refuse_spoilt(self, value, mark)
        return values

    def fail(self, error: type[CompileError], cause: str, cure: str = "") -> CompileError:
        """An error at the expression being evaluated."""
        return error(cause, cure, self.place)

    @property
    def place(self) -> Span | None:
        """Where the text being lowered is; None in what only library code does."""
        return None if self.builder.span == NOWHERE else self.builder.span

    def call_site(self) -> Caller | None:
        """Where the text that is lowered next is called; None for the outermost one."""
        return Caller(self.place, self.frame.title) if self.place else None

    def translate(self, error: Exception, doing: str, called: Any = None) -> CompileError:
        """An exception of library code run while compiling, in the user's terms."""
        return translated(error, doing, called, self.place)

    def lift(self, thing: Any, name: str = "") -> Value:
        """A tensor, parameter or ndarray from outside, as an input of the function."""
        raise NotImplementedError

    def parameter(self, value: Value) -> Any:
        """The Parameter from outside that ``value`` is, be it passed as an argument; or None."""
        raise NotImplementedError

    def refuse_foreign(self, *things: Any, installed: bool = False) -> None:
        """Raises where what is no array, but can be made one, is computed with; ``installed``:
        where it is of an installed package."""
        for thing in things:
            if isinstance(thing, (list, tuple)):
                self.refuse_foreign(*thing, installed=installed)
            if is_foreign(thing, installed):
                name = type(thing).__name__
                cure = f"convert it before the call: np.asarray(x), of the {name}"
                raise self.fail(DTypeError, f"a {name} is not supported in compiled code", cure)

    def lifted(self, thing: Any) -> Any:
        """``thing`` with every outside array in it made a value."""
        if is_array(thing):
            cell = self.world.cell_of(self.state.heap, thing)
            return self.lift(thing) if cell is None else self.state.heap[cell]
        if isinstance(thing, (tuple, list, dict)) and _holds_array(thing):
            if self.world.holds_written(thing):
                return thing
            self.world.assume_held(thing)
            if isinstance(thing, dict):
                made = {key: self.lifted(item) for key, item in thing.items()}
                self.world.sources[id(made)] = (made, thing)
                return made
            return type(thing)(self.lifted(item) for item in thing)
        return thing

    # ---- names and literals

    def eval_Constant(self, node: Any) -> Any:
        return node.value

    def eval_Name(self, node: Any) -> Any:
        name = node.id
        if hasattr(node, "known"):
            return node.known
        if name in self.state.names:
            held = self.state.names[name]
            value = self.certainly(held, getattr(node, "guarded", False))
            if value is not held:
                self.state.names[name] = value  # known to be set from here on
            return value
        return self.free_name(name)

    def certainly(self, value: Any, guarded: bool = False) -> Any:
        """What a variable holds. If it is set on some ways to here only, forward checks."""
        if isinstance(value, MaybeUnset):
            if not guarded:
                self._check_set(value)
            value = value.value
        if isinstance(value, Unset):
            raise self.fail(UnknownName, value.cause, value.cure)
        if isinstance(value, Poison):
            raise UsesPoison
        return value

    def _check_set(self, held: MaybeUnset) -> None:
        """Raises at run time where the way that was taken did not set a variable."""
        if held.flag is None:
            test = is_unset(next(leaves(detach(held.value, self.state))))
        else:
            test = comparisons.logical_not(held.flag)
        with self.builder.block() as ops:
            self._fail_unset(held.unset.cause)
        self.builder.branch(test, Region((), tuple(ops), ()), Region((), (), ()))

    def _fail_unset(self, cause: str) -> None:
        self.builder.make(effects.fail, (cause,), {"error": "UnboundLocalError"})

    def free_name(self, name: str) -> Any:
        """A name that is not a variable of this frame: of a frame around it, or from outside."""
        frame: Frame | None = self.frame
        while frame is not None:
            if frame is not self.frame and name in frame.names:
                return self.certainly(frame.names[name])
            if name in frame.awaited and frame is self.frame:
                self._fail_unset(f"'{name}' is not assigned here")
                raise Unreached
            if name in variables(frame.tree):
                raise self.fail(
                    UnknownName, f"the variable '{name}' is not assigned here",
                    f"assign '{name}' before this line",
                )  # fmt: skip
            frame = frame.outer
        return self.lifted(self.world.free_name(self.frame.function, name, self.builder.span))

    def bind(self, name: str, value: Any) -> None:
        """Sets a variable; a value that nobody named yet takes its name."""
        new = isinstance(value, Value) and not value.has_user_name
        if new and (self.builder.producer(value) or value.name == NAMELESS):
            value.name, value.has_user_name = name, True
        self.state.names[name] = value

    # ---- truth and choice

    def truth(self, value: Any) -> Any:
        """``bool(value)``: a bool known now, or a value that is one at run time."""
        for name in ("__bool__", "__len__"):
            method = self.special(value, name)
            if method is not None:
                return self.truth(self.call(method, (), {}))
        if isinstance(value, HeapRef):
            value = self.state.heap[value] if value.kind != "iterator" else True
        if isinstance(value, DictView):
            value = self.contents(value)
        if not isinstance(value, Value):
            self.world.assume_truth(value)
            return bool(value)
        type_ = value.type
        self.one_element(value, "the condition", "reduce it first: x.all() or x.any()")
        if isinstance(type_, ListType):
            return containers.list_length(value) > 0
        return value

    def one_element(self, value: Value, what: str, cure: str = "select one element: x[0]") -> None:
        """Refuses a tensor that is known to have no element, or several."""
        type_ = value.type
        if isinstance(type_, ArrayType) and type_.has_static_shape:
            size = math.prod(dim for dim in type_.shape or () if isinstance(dim, int))
            if size != 1:
                raise self.fail(
                    ShapeError,
                    f"{what} needs one element, and this has {size}: it is {type_}",
                    cure,
                )

    def eval_BoolOp(self, node: Any) -> Any:
        result = self.evaluate(node.values[0])
        for right in node.values[1:]:
            result = self._both(type(node.op).__name__ == "And", result, right)
        return result

    def _both(self, conjunction: bool, left: Any, right: Any) -> Any:
        """``left and right`` (or ``or``); the right side is evaluated only where Python would."""
        truth = self.truth(left)
        if isinstance(truth, bool):
            return self.evaluate(right) if truth == conjunction else left
        rest = gast.copy_location(gast.Expr(value=right), right)
        if conjunction:
            return self.choose(truth, lambda: self.evaluate(rest.value), lambda: left)
        return self.choose(truth, lambda: left, lambda: self.evaluate(rest.value))

    def eval_IfExp(self, node: Any) -> Any:
        test = self.truth(self.evaluate(node.test))
        if isinstance(test, bool):
            return self.evaluate(node.body if test else node.orelse)
        return self.choose(
            test, lambda: self.evaluate(node.body), lambda: self.evaluate(node.orelse)
        )

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name``."""
        raise NotImplementedError

    def special(self, thing: Any, name: str) -> Any:
        """A method such as ``__add__`` that the class of an object has, or None."""
        raise NotImplementedError

    def call(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The outcome of ``callee(*args, **kwargs)`` for compile-time values."""
        raise NotImplementedError

    def compare(self, sign: str, left: Any, right: Any) -> Any:
        """One comparison, by the name of its sign."""
        raise NotImplementedError

    # ---- containers

    def new_list(self, items: Sequence[Any]) -> HeapRef:
        """A fresh list of the heap."""
        return self.allocate("list", tuple(items))

    def allocate(self, kind: str, contents: Any) -> HeapRef:
        """A fresh cell of the heap."""
        ref = HeapRef(kind, next(self.world.refs))
        self.state.heap[ref] = contents
        return ref

    def contents(self, value: Any) -> Any:
        """The items of a container known now: a tuple, or a dict."""
        if isinstance(value, Own):
            raise without_dict(self, self.state.heap[value.ref]["__class__"])
        self.world.assume_held(value)
        if isinstance(value, HeapRef):
            if value.kind == "object":
                name = self.state.heap[value]["__class__"].__name__
                raise self.fail(
                    DTypeError,
                    f"an object of class '{name}' cannot be unpacked",
                    "read the attributes one by one",
                )
            value = self.state.heap[value]
            if is_long(value):
                raise self.fail(
                    DTypeError,
                    "this needs a list whose length is a compile-time constant, but a "
                    "loop appends to this one",
                    "index the list, or loop over it",
                )
        if isinstance(value, DictView):
            return tuple(getattr(self.dict_of(value), value.kind)())
        return value

    def dict_of(self, value: HeapRef | DictView) -> Any:
        """What is in a dict now, or in that which a view shows."""
        return self.state.heap[value.ref if isinstance(value, DictView) else value]

    def static(self, value: Any, purpose: str) -> Any:
        """``value`` if it is known while compiling; otherwise the compilation is begun again with
        the number it depends on made known, or refused."""
        if isinstance(value, Value):
            raise NeedsKnownValue(value, self.builder.span, purpose)
        for part in value if type(value) is tuple else ():
            self.static(part, purpose)
        self.world.assume_held(value)
        return value

    def packed(self, value: Any) -> Any:
        """One operand that holds ``value``."""
        self.world.assume_held(value)
        return pack(value, self.state.heap)

    def poison(self, problem_of: CompileError) -> None:
        """Keeps an error's problems for the report."""
        for problem in problem_of.problems:
            self.world.report(problem)

    @staticmethod
    def described(value: Any) -> str:
        """A compile-time value in an error's words."""
        if isinstance(value, HeapRef):
            return value.kind
        plain = isinstance(value, (Value, *NUMBERS, str)) or value is None
        return str(type_of(value)) if plain else type(value).__name__


def _holds_array(thing: Any) -> bool:
    """Whether a plain container has an outside array anywhere inside."""
    if type(thing) in (tuple, list):
        return any(_holds_array(item) for item in thing)
    if type(thing) is dict:
        return any(_holds_array(item) for item in thing.values())
    return is_array(thing)
