"""Calls: who is called decides what happens.

A Cell or a user's function becomes a function of its own (one per text and signature); a lambda or
inner function is written out where it is called; functions of this package run now, on values, as
macros; Python's built-ins have their table; what is known altogether is computed while compiling.
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor, tensor
from autodiff_compiler.errors import CallError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.aliasing import refuse_spoilt
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.iterators import ITERATORS, named
from autodiff_compiler.frontend.abstract.numpy_names import NUMPY
from autodiff_compiler.frontend.abstract.values import (
    CallableChoice,
    Closure,
    ContainerMethod,
    CustomRule,
    HeapRef,
    InPlaceTensorMethod,
    Partial,
    State,
    SuperProxy,
    TensorMethod,
    leaves,
)
from autodiff_compiler.frontend.calls.external import Outside, is_hashable, is_numpy, stays_outside
from autodiff_compiler.frontend.calls.user_objects import is_users
from autodiff_compiler.frontend.core.assumptions import MISSING, PLAIN, is_theirs
from autodiff_compiler.frontend.core.attribute_protocol import is_written
from autodiff_compiler.frontend.core.naming import hides_values
from autodiff_compiler.frontend.derivatives.custom_rules import CONTEXT
from autodiff_compiler.frontend.derivatives.hooks import TextHandle
from autodiff_compiler.frontend.library.builtins import BUILTINS, built_in
from autodiff_compiler.frontend.library.cell_queries import answer, is_question
from autodiff_compiler.frontend.library.container_methods import heap_method
from autodiff_compiler.frontend.library.math_domains import within
from autodiff_compiler.frontend.library.numpy_arguments import call_method, call_numpy
from autodiff_compiler.frontend.library.numpy_writes import WRITERS, write_by
from autodiff_compiler.frontend.library.warning_filters import SilencedWarnings
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import effects, structure
from autodiff_compiler.operators.core.macros import is_macro
from autodiff_compiler.ops.core.primitive_base import Primitive
from autodiff_compiler.ops.transforms.gradient import GradOperation
from autodiff_compiler.ops.transforms.hooks import GradientHook, insert_grad_of
from autodiff_compiler.ops.transforms.recompute import checkpointed
from autodiff_compiler.ops.transforms.transformed import Transformed, is_cached, unwrapped

#: What takes no more items of a generator expression than it needs.
LAZY = {*ITERATORS, any, all}


class Calls(Outside):
    """Adds calls to ``Outside``."""

    def eval_Call(self, node: Any) -> Any:
        callee = self._super(node) or self.evaluate(node.func)
        if isinstance(callee, InPlaceTensorMethod) and not getattr(node, "alone", False):
            raise self.fail(
                UnsupportedSyntax,
                f"'{node.func.attr}' changes a tensor in place within a larger expression",
                "call it in a statement of its own, before this one",
            )
        return self.call_node(callee, node)

    def call_node(self, callee: Any, node: Any) -> Any:
        """The outcome of a call whose callee has been evaluated: that may have effects."""
        mark = len(self.world.memory.writes)
        handed_on = isinstance(callee, (Closure, Cell, types.FunctionType, types.MethodType))
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            part.raw = handed_on and not is_macro(callee)  # a text may ask whether it is None
            part.spot = not part.raw and not (is_hashable(callee) and callee in LAZY)
        args = self._items(node.args)
        refuse_spoilt(self, getattr(callee, "value", None), mark)
        mark = len(self.world.memory.writes)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is None:
                kwargs.update(self._keywords(value))
            else:
                kwargs[keyword.arg] = value
        refuse_spoilt(self, (getattr(callee, "value", None), *args), mark)
        if handed_on and callee is not checkpointed:  # its loop begins here
            args = [named(self, arg) for arg in args]
        return self.call(callee, args, kwargs)

    def _keywords(self, value: Any) -> dict[str, Any]:
        """The arguments that ``**value`` stands for."""
        contents = self.contents(value) if isinstance(value, (HeapRef, dict)) else value
        if not isinstance(contents, dict) or not all(isinstance(key, str) for key in contents):
            error = TypeError("argument after ** must be a mapping with strings as its keys")
            raise self.fail(
                CallError,
                f"the argument after ** is a {self.described(value)}, not a dict whose "
                "keys are strings",
                "pass the arguments by name: f(key=value)",
            ).meaning(error)
        return contents

    def _super(self, node: Any) -> Any:
        if getattr(node.func, "id", "") != "super" or node.args:
            return None
        if "__class__" not in self.frame.function.__code__.co_freevars:
            raise self.fail(
                UnsupportedSyntax,
                "super() is called outside a class",
                "call the method of the base class by name: Base.construct(self, x)",
            )
        owner = self.world.free_name(self.frame.function, "__class__", self.builder.span)
        first = next(iter(self.state.names.values()))
        return functools.partial(super, owner, first)

    def call(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: C901
        """The outcome of ``callee(*args, **kwargs)`` for compile-time values."""
        callee = self._below_jit(callee)
        self.world.know_parts(callee)
        reached = self.reached(callee, args)
        if reached is not None:
            return reached[0]
        callee = self.special(callee, "__call__") or callee
        if isinstance(callee, CallableChoice):
            left, right = callee.left, callee.right
            return self.choose(callee.test, lambda: self.call(left, args, kwargs),
                               lambda: self.call(right, args, kwargs))  # fmt: skip
        if isinstance(callee, Closure):
            return self.inline_closure(callee, args, kwargs)
        if isinstance(callee, CustomRule):
            return callee.lower(self, args)
        if isinstance(callee, ContainerMethod) and callee.ref.kind == CONTEXT:
            return self.context_method(callee, args)
        if isinstance(callee, ContainerMethod):
            return heap_method(self, callee, args, kwargs)
        if isinstance(callee, TensorMethod) and callee.function is Tensor.register_hook:
            return self.register_hook(callee.value, *args, **kwargs)
        if isinstance(getattr(callee, "__self__", None), (TextHandle, SilencedWarnings)):
            return callee(*args)
        if callee is insert_grad_of and len(args) == 2:
            return self.hooked(args[1], args[0])
        if isinstance(callee, GradientHook):
            value = args[0] if len(args) == 1 else tuple(args)
            hook = self.attribute(callee, "function")
            return self.hooked(hook, value, in_tuple=callee.in_tuple)
        if isinstance(callee, TensorMethod) and callee.name:
            return call_method(self, callee, args, kwargs)
        if isinstance(callee, TensorMethod):
            return self.macro(callee.function, [callee.value, *args], kwargs)
        if isinstance(callee, InPlaceTensorMethod):
            return self.changed(
                callee.value, self.macro(callee.function, [callee.value, *args], kwargs)
            )
        if isinstance(callee, (functools.partial, Partial)):
            if callee.func is super:
                owner, first = callee.args
                if isinstance(first, HeapRef):
                    return SuperProxy(owner, first)
                above = super(owner, first)
                self.world.know(above, f"super({self.world.path(owner)}, {self.world.path(first)})")
                return above
            return self.call(callee.func, [*callee.args, *args], {**callee.keywords, **kwargs})
        if isinstance(callee, Transformed):
            return self.call_transformed(callee, args, kwargs)
        if isinstance(callee, Cell):
            return self.call_text(callee, args, kwargs)
        if is_question(callee):
            return answer(self, callee, args, kwargs)
        if getattr(callee, "runs_while_compiling", False):
            return self.call_known(callee, args, kwargs)
        if is_users(callee):
            return self.make_object(callee, args, kwargs)
        if is_hashable(callee) and callee in BUILTINS:
            return built_in(self, callee, args, kwargs)
        if isinstance(callee, GradOperation) or getattr(callee, "takes_functions", False):
            return self.take_functions(callee, args, kwargs)
        if isinstance(getattr(callee, "__self__", None), np.ufunc) and callee.__name__ == "at":
            return self.written_at(callee.__self__, *args, **kwargs)
        if callee is Parameter or stays_outside(callee):
            return self.call_now(callee, args, kwargs)
        if (callee is Tensor or callee is tensor) and args and isinstance(args[0], Value):
            return self._tensor_of(*args, **kwargs)
        if isinstance(callee, (operator.itemgetter, operator.attrgetter)):
            found = [self._got(callee, key, *args) for key in callee.__reduce__()[1]]
            return found[0] if len(found) == 1 else tuple(found)
        if _is_of_named_tuple(callee):
            return callee(*args, **kwargs)  # its items are compile-time values
        if self.keeps_less(callee):
            return self.call_keeping_less(callee, args, kwargs)
        if is_macro(callee):
            if isinstance(callee, Primitive):
                for setting in vars(callee):  # read by the macro, so that they are guarded
                    self.world.attribute(callee, setting, self.builder.span)
            return self.macro(callee, args, kwargs)
        if self._is_librarys(callee, (*args, *kwargs.values())):
            return self.call_now(callee, args, kwargs)
        counterpart = self.counterpart(callee, args, kwargs)
        if counterpart is not None and self.world.numpy and callee in NUMPY:
            return call_numpy(self, callee, counterpart, args, kwargs)
        if counterpart is not None:
            with within(self, callee, args):
                return self.macro(counterpart, args, kwargs)
        if is_hashable(callee) and callee in WRITERS and self.world.numpy:
            return write_by(self, callee.__name__, WRITERS[callee], args, kwargs)
        if isinstance(callee, (types.FunctionType, types.MethodType)) and not is_numpy(callee):
            return self.call_text(callee, args, kwargs)
        if is_cached(callee) and self.takes_numbers(args, kwargs):
            path = self.world.path(callee)
            if path is not None:
                self.world.know(callee.__wrapped__, f"{path}.__wrapped__")
            return self.call_text(callee.__wrapped__, args, kwargs)
        method = inspect.getattr_static(type(callee), "__call__", None)
        known_class = isinstance(callee, type) and not is_written(method)  # such as an enum
        if isinstance(method, types.FunctionType) and not known_class:
            return self.call(self.attribute(callee, "__call__"), args, kwargs)
        return self.call_now(callee, args, kwargs)

    def _got(self, getter: Any, key: Any, thing: Any) -> Any:
        """What ``itemgetter`` or ``attrgetter`` gets."""
        if isinstance(getter, operator.itemgetter):
            return self.subscript(thing, key)
        return functools.reduce(self.attribute, key.split("."), thing)

    @staticmethod
    def _tensor_of(value: Value, dtype: Any = None) -> Value:
        """``Tensor(x)`` of a run-time tensor or number."""
        if dtype is None and isinstance(value.type, ArrayType):
            return value
        name = to_numpy_name(dtype) if dtype is not None else {"int": "int64", "bool": "bool"}.get(
            str(value.type), "float32")  # fmt: skip
        return value if name == value.dtype_name else structure.cast(value, dtype=name)

    def _below_jit(self, callee: Any) -> Any:
        """The function that jit or differentiable was put around: they change nothing here."""
        if is_cached(callee):
            return callee  # called with what is known, it is called once for each
        inner = unwrapped(callee)
        if inner is not callee:
            path = self.world.path(callee)
            owner = self.world.path(getattr(callee, "__self__", None))
            if owner is not None:
                path = f"{owner}.{callee.__name__}.__func__"
            if path is not None:
                self.world.know(getattr(inner, "__func__", inner), f"{path}.__wrapped__")
        return inner

    def written_at(self, function: Any, owner: Any, key: Any, value: Any) -> None:
        """``np.add.at(owner, key, value)`` and its like."""
        raise NotImplementedError

    def changed(self, owner: Value, new: Value) -> Value:
        """A tensor becomes ``new`` under every name that holds it."""
        raise NotImplementedError

    def _is_librarys(self, callee: Any, given: Sequence[Any]) -> bool:
        """Whether this is a function of Python's library that is given plain things only."""
        written = isinstance(callee, types.FunctionType) and not is_theirs(callee)
        return written and all(map(self._is_plain, given))

    def _is_plain(self, thing: Any) -> bool:
        if isinstance(thing, HeapRef) and thing.kind == "list":
            thing = self.state.heap[thing]
        if type(thing) in (tuple, list):
            return all(map(self._is_plain, thing))
        return isinstance(thing, PLAIN)

    # ---- texts

    def call_text(
        self,
        callee: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        again: bool = False,
    ) -> Any:
        """Calls a Cell, a method or a function that has a text."""
        if isinstance(callee, Cell):
            again |= bool(self.world.attribute(callee, "_recompute", self.builder.span))
        if any(hides_values(value, self.state.heap) for value in (*args, *kwargs.values())):
            return self.enter(callee, args, kwargs)
        key = (getattr(callee, "__func__", callee), id(getattr(callee, "__self__", None)))
        if key in self.world.written_out:
            return self.enter(callee, args, kwargs)
        made = self.outline(callee, args, kwargs, effects=True, throws=True)
        shown = self.world.numpy and self._shows((*args, *kwargs.values()), made)
        inside = made.wrote or shown or self._hands_on((*args, *kwargs.values()), made)
        if made.returned is MISSING or inside or made.hooks_argument:
            self.world.written_out.add(key)
            return self.enter(callee, args, kwargs)
        handed = self.world.path(made.outcome) is not None  # it is an outside container itself
        known = handed or not isinstance(made.returned, Value)
        if known and (Effects().inside(made.function.body) or made.thrown):
            self.world.written_out.add(key)
            return self.enter(callee, args, kwargs)  # nobody would read a result of the call
        if known and not made.writes:
            return made.outcome  # no call is needed
        shared = self.world.share(made.function)
        result, *news = self.builder.call(shared, made.operands, again)
        if effects.demand.name in shared.op_names:  # what the call gives may be read by nobody
            self.builder.make(effects.demand, (result,), {})
        self.write_back(made, news)
        return made.outcome if known else self.told(
            self.unpacked(result, made.outcome, made.heap, known=True), made)  # fmt: skip

    def _shows(self, args: Sequence[Any], made: Any) -> bool:
        """Return True if a called function may return an argument or a view of one. Inlining it
        then tells which."""
        given = leaves(detach(tuple(args), self.state))
        return bool(made.memory & self.world.memory.of_all(given))

    def _hands_on(self, args: Sequence[Any], made: Any) -> bool:
        """Whether a Parameter that a called text writes is itself given to it, or its outcome."""
        cells = [self.world.cells[id(w.target), None] for w in made.writes if w.name is None]
        memory = self.world.memory.of_all
        sides = (tuple(args), self.state), (made.outcome, State({}, made.heap))
        return any(
            memory(leaves(detach(things, state))) & memory(state.heap[cell] for cell in cells)
            for things, state in sides
        )


def _is_of_named_tuple(callee: Any) -> bool:
    """Whether ``callee`` is a class of named tuples, or a method that these come with."""
    kind = callee if isinstance(callee, type) else type(getattr(callee, "__self__", None))
    own = isinstance(callee, type) or getattr(callee, "__name__", "") in ("_replace", "_asdict")
    return own and issubclass(kind, tuple) and hasattr(kind, "_fields")
