"""``Transformed``: a function derived from another one, called and compiled like any function.

Called on tensors, it runs compiled. Called while a source function is compiled, it becomes a part
of that function. Each transform can therefore be written in terms of the others, in Python, for
both cases.
"""

from __future__ import annotations

__macro__ = True

import functools
import sys
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from autodiff_compiler.common.compiler_hook import engine
from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import CallError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import BUILDING
from autodiff_compiler.ir.types import ArrayType, ScalarType, is_floating
from autodiff_compiler.ops.core.marks import mark

Maker = TypeVar("Maker")
P = ParamSpec("P")
R = TypeVar("R")
First = TypeVar("First", contravariant=True)
Result = TypeVar("Result", covariant=True)
#: The attributes that calls set; copies of a transformed function lack them.
FOUND = frozenset(
    ["fast_call", "fast_unit", "last_run", "of_leaves", "_key", "_template", "_weights_are_plain"]
)


class Differentiable(Protocol[P, First, Result]):
    """The type of a function: its arguments, the type of the first one, and its result.

    It is for type checkers alone: two signatures of one call tell them all three.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...

    @overload
    def __call__(self, first: First, /, *args: Any, **kwargs: Any) -> Result: ...


class Transformed(Generic[P, R]):
    """The result of a transform of ``fn``.

    key      what, besides ``fn`` and the arguments, decides the code.
    suffix   what its source is called after ``fn``; ``phrase`` stands before the title of ``fn``.
    """

    suffix, phrase = "", ""
    #: True if it takes the arguments of ``fn``.
    takes_its_arguments = True
    #: Set by the engine: serves a call ``(self, args)`` that is like the last one, or gives False.
    fast_call: Callable[[Any, tuple], Any] | None = None
    fn: Any
    #: True if float32 means float64 in it.
    double = False
    #: Set by the engine, by weak references. The first is the unit whose fast path serves calls.
    #: The second is the unit that served the last other call, with the number of fast calls before
    #: it.
    fast_unit: Any = None
    last_run: Any = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if caller() is None:
            fast_call = self.fast_call
            outcome: Any = False if fast_call is None or kwargs else fast_call(self, args)
            if outcome is not False:
                return outcome
            check_callable(self.fn)
        return apply(self, args, kwargs)

    @property
    def key(self) -> Hashable:
        """Returns the settings that decide the code, besides ``fn`` and the arguments."""
        return ()

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Builds the result for the arguments of a call from other functions."""
        raise NotImplementedError

    @property
    def entry(self) -> tuple[Any, Hashable]:
        """Returns the function whose compiled code serves a call, and the request; None: run it."""
        return self, None

    def names(self, inner: Sequence[str]) -> list[str]:
        """Returns the names of its arguments; those of ``fn`` are ``inner``."""
        return [*inner]

    def asked(self, count: int) -> Sequence[int]:
        """Returns the positions, of ``count`` arguments, in which it is a derivative."""
        return ()

    @functools.cached_property
    def of_leaves(self) -> dict[Any, Any]:
        """Returns the requests for the leaves of containers, by the structure of the containers."""
        return {}

    def keep_leaves(self, kind: Hashable, request: Any) -> None:
        """Saves the request for the leaves of containers of this structure; drops the oldest beyond
        a limit."""
        self.of_leaves[kind] = request
        for old in [*self.of_leaves][: -costs().container_kinds]:
            self.of_leaves.pop(old, None)

    def held_objects(self) -> Sequence[Any]:
        """Returns the objects, besides ``fn``, whose ids stand in ``key``."""
        return ()

    @property
    def source(self) -> str:
        """Returns the generated source that ran last. Raises CallError if nothing has run yet."""
        return str(self._last().compiled.source)

    @property
    def forward(self) -> Callable[..., Any]:
        """Returns the generated function that ran last: the forward function if there are two.
        Raises as ``source``."""
        function: Callable[..., Any] = self._last().loaded.forward
        return function

    @property
    def backward(self) -> Callable[..., Any] | None:
        """Returns the generated backward function that ran last, or None. Raises as ``source``."""
        function: Callable[..., Any] | None = self._last().loaded.backward
        return function

    def _last(self) -> Any:
        """Returns the compiled function that ran last."""
        fast = self.fast_unit and self.fast_unit()
        unit, before = self.last_run or (lambda: None, -1)
        last = fast if fast is not None and fast.calls > before else unit()
        if last is None or last.retired:
            raise CallError(
                f"nothing has been compiled for {self!r} yet",
                "call it first, or use gradient_source(fn, 'f32[2,3]')",
            )
        return last

    @property
    def named_fn(self) -> Any:
        """Returns the function whose name stands after ``phrase`` and before ``suffix``."""
        return self.fn

    def question(self) -> str:
        """Returns the request in words, for ``repr``."""
        return ""

    def description(self) -> str:
        """Returns a description in words."""
        fn = self.named_fn
        name = getattr(fn, "__qualname__", type(fn).__name__)
        inner = fn.description() if isinstance(fn, Transformed) else name
        return f"{self.phrase} {inner}{self.question()}"

    def __repr__(self) -> str:
        ran = self.last_run is not None or self.fast_unit is not None
        titles = engine().compiled_titles(self) if ran else []
        state = f"compiled: {'; '.join(titles)}" if titles else "not compiled yet"
        return f"<{self.description()}, {state}>"

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in FOUND}
        return state | {"fn": _importable(self.fn)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.fn, self.fast_call = unwrapped(state["fn"]), None


def apply(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Calls ``fn(*args, **kwargs)``: compiled, or inside the function that is being compiled."""
    call = caller()
    return engine().run_cell(fn, tuple(args), kwargs) if call is None else call(fn, args, kwargs)


def try_fast_call(function: Transformed, args: tuple) -> Any:
    """Returns the answer of a call that is like an earlier one, or False. It may be asked before
    anything is looked at: only what was found right once is like an earlier call."""
    return engine().try_fast_call(function, args)


def caller() -> Any:
    """Returns the function that lowers a call inside the function being compiled; None outside of
    one."""
    return BUILDING.stack[-1].call_inside if BUILDING.stack else None


def check_callable(fn: Any) -> None:
    """Refuses what cannot be differentiated because it cannot be called."""
    if not callable(fn):
        raise TypeError(f"The fn should be callable, but got {type(fn).__name__}")


def is_whole(value: Any) -> bool:
    """True if this is an integer or a bool, an array of them, or the type of these."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biu"
    type_ = value.type if isinstance(value, Value) else value
    if isinstance(type_, (ScalarType, ArrayType)):
        return not is_floating(type_)
    return isinstance(value, int)


def whole_numbers(place: int) -> CallError:
    """Returns the refusal of a derivative in integers or bools, which would be cut off to
    integers."""
    return CallError(
        f"argument {place} holds integers, and a gradient needs floating-point numbers",
        "pass a float, such as 3.0, or array.astype(float)",
    )


def in_words(places: Sequence[int] | None, weights: Sequence[Any] | None) -> str:
    """Returns in words the arguments and weights of a gradient; None for all of them.

    >>> in_words((0, 2), None)
    ' in arguments 0, 2 and all weights'
    """
    parts = ["all arguments"] if places is None else []
    if places:
        parts.append(f"argument{'s'[: len(places) - 1]} {', '.join(map(str, places))}")
    if weights is None:
        parts.append("all weights")
    elif weights:
        names = (str(getattr(weight, "name", weight)) for weight in weights)
        parts.append(f"the weights {', '.join(names)}")
    return f" in {' and '.join(parts)}" if parts else ""


def _importable(fn: Any) -> Any:
    """Returns ``fn``, or the compiled function under its name in its module: that can be
    imported."""
    if not isinstance(fn, types.FunctionType):
        return fn
    thing: Any = sys.modules.get(fn.__module__)
    for name in fn.__qualname__.split("."):
        thing = getattr(thing, name, None)
    return thing if thing is not fn and unwrapped(thing) is fn else fn


def takes_functions(maker: Maker) -> Maker:
    """Marks a function that the front end runs at compile time, on its arguments themselves and not
    on IR values.
    """
    return mark(maker, takes_functions=True)


def unwrapped(fn: Any) -> Any:
    """Returns the function below ``jit``, ``differentiable`` and ``lru_cache``, which only change
    how it is run."""
    while hasattr(fn, "__wrapped__") and (
        getattr(fn, "_compiled_forward", False) is True or is_cached(getattr(fn, "__func__", fn))
    ):
        inner = fn.__wrapped__
        fn = types.MethodType(inner, fn.__self__) if isinstance(fn, types.MethodType) else inner
    return fn


def auxiliary(outputs: Sequence[Any]) -> Any:
    """Returns the outputs after the first: a tuple, or the only one itself.

    >>> auxiliary((1, 2)), auxiliary((1, 2, 3))
    (2, (2, 3))
    """
    return outputs[1] if len(outputs) == 2 else tuple(outputs[1:])


def is_cached(fn: Any) -> bool:
    """True if this is what ``lru_cache`` made of a function."""
    return isinstance(fn, functools._lru_cache_wrapper)


def check_flags(owner: str, **flags: Any) -> None:
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(
                f"For '{owner}', the '{name}' should be bool, but got {type(flag).__name__}"
            )


__all__ = [
    "Differentiable",
    "Transformed",
    "apply",
    "auxiliary",
    "caller",
    "check_callable",
    "check_flags",
    "is_cached",
    "is_whole",
    "takes_functions",
    "try_fast_call",
    "unwrapped",
    "whole_numbers",
]
