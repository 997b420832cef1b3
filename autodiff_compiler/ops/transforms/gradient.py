"""Transforms that compute gradients: ``GradOperation``, ``grad``, ``value_and_grad``, ``get_grad``.

Each makes a ``GradientFunction``, which remembers the request. Its methods say which slots of a
call get a gradient, and how the result is packed. They work on arguments of any kind. The run time
uses them with tensors; the front end uses them with values if it meets one inside ``construct``.

A call is a row of slots: positional arguments, then keyword arguments in the order of the call.
"""

from __future__ import annotations

__macro__ = True

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, ParamSpec, TypeVar, overload

from autodiff_compiler.common.compiler_hook import engine
from autodiff_compiler.common.context import new_request
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import CallError, PositionError
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.opdef import PRECISION
from autodiff_compiler.ops.transforms.gradient_structures import find, mirror, snapshot
from autodiff_compiler.ops.transforms.transformed import (
    Differentiable,
    Transformed,
    caller,
    check_callable,
    check_flags,
    in_words,
    takes_functions,
    unwrapped,
)

P = ParamSpec("P")
R = TypeVar("R")
First = TypeVar("First")

#: The slots of a gradient: one, several in this order, every tensor, or none.
Position = int | tuple[int, ...] | str | None
ALL = "all"


class GradientFunction(Transformed[P, R]):
    """The gradient of ``fn``; it is called with the arguments of ``fn``.

    position    the slots to differentiate; ``"all"`` promises a tuple, whatever its length.
    optional    a missing slot 0 gives ``()`` instead of an error.
    by_list     whether ``weights`` are differentiated; None stands for all that take part.
    unconnected what stands for the gradient in what the output does not depend on: ``"zero"``,
                ``"none"`` (None), or ``"error"`` (it is refused).
    numpy       whether arrays and floats count as tensors where no argument is a tensor.
    """

    # Every call reads these two first: slots make that fast.
    __slots__ = ("fn", "fast_call")

    suffix, phrase = "grad", "gradient of"
    #: As in other transformed functions, but called with ``fn``.
    fast_call: Callable[[Any, tuple], Any] | None
    #: Computed lazily, and constant.
    _key: tuple | None = None
    _template: Request | None = None

    def __init__(
        self: GradientFunction[..., Any],
        fn: Any,
        weights: Any = None,
        *,
        position: Position = 0,
        optional: bool = False,
        by_list: bool = False,
        sens_param: bool = False,
        value: bool = False,
        has_aux: bool = False,
        return_ids: bool = False,
        numpy: bool = False,
        unconnected: str = "zero",
    ):
        self.numpy, self.unconnected = numpy, unconnected
        self.fn, self.fast_call = unwrapped(fn), None
        # A snapshot: a list that changes later makes another request.
        self.weights = snapshot(weights) if by_list else None
        self.position = position
        self.optional = optional
        self.by_list = by_list
        self.sens_param = sens_param
        self.value = value
        self.has_aux = has_aux
        self.return_ids = return_ids
        self.double = PRECISION.double
        #: The settings when the gradient was requested.
        self.settings = new_request(self.double, self.fn)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        fast_call = self.fast_call
        if fast_call is not None and not kwargs:
            outcome: Any = fast_call(self.fn, args)
            if outcome is not False:
                return outcome
        call = caller()
        if call is not None:
            return call(self, args, kwargs)
        check_callable(self.fn)
        return engine().run_gradient(self, args, kwargs)

    def held_objects(self) -> Sequence[Any]:
        return self.weight_list() or ()

    def question(self) -> str:
        places = None if self.position == ALL else self.wanted()
        return in_words(places, self.weight_list())

    @property
    def key(self) -> tuple:
        """Returns the settings that decide the code, besides ``fn`` and the arguments; weights by
        identity."""
        if self._key is None:
            settings = (self.position, self.optional, self.numpy, self.unconnected, self.by_list)
            self._key = (*settings, self.value, self.template.key)
        return self._key

    @property
    def entry(self) -> tuple[Any, Hashable]:
        return self.fn, self.key

    def of(self, fn: Any, position: tuple[int, ...]) -> GradientFunction[..., Any]:
        """Returns a transformation of another function with the same settings, at these
        positions."""
        other = copy.copy(self)
        other.fn, other.fast_call, other._key, other.position = fn, None, None, position or None
        vars(other).pop("of_leaves", None)
        return other

    # ---- the question

    def split_sens(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple, dict[str, Any], Any]:
        """Returns the arguments of ``fn``, and the sensitivity: keyword ``sens``, or the last
        argument."""
        args, kwargs = tuple(args), dict(kwargs)
        if not self.sens_param:
            return args, kwargs, None
        for keyword in ("sens", "sens_param"):
            if keyword in kwargs:
                return args, kwargs, kwargs.pop(keyword)
        if not args:
            raise CallError(
                "the sensitivity is missing: with sens_param=True it is the last argument",
                "pass the gradient of the output last, or as sens=...",
            )
        return args[:-1], kwargs, args[-1]

    def positions(self, is_tensor: Sequence[bool]) -> tuple[int, ...]:
        """Returns the slots whose gradient is wanted; those that hold no tensor drop out."""
        if self.position is None:
            return ()
        if self.position == ALL:
            return tuple(slot for slot, tensor in enumerate(is_tensor) if tensor)
        wanted = self.wanted()
        if not wanted:
            raise RuntimeError("grad_position should not be empty when grad by position!")
        for slot in wanted:
            if slot >= len(is_tensor) and not self.optional:
                raise PositionError(
                    f"Position index {slot} is exceed input size.",
                    f"positions count from 0, and the last argument is at {len(is_tensor) - 1}",
                )
        return tuple(s for s in wanted if s < len(is_tensor) and is_tensor[s])

    def wanted(self) -> tuple[int, ...]:
        """Returns the positions that were named, in their order."""
        if self.position is None or isinstance(self.position, str):
            return ()
        return self.position if isinstance(self.position, tuple) else (self.position,)

    def asked(self, count: int) -> Sequence[int]:
        return range(count) if self.position == ALL else self.wanted()

    def weight_list(self) -> tuple[Any, ...] | None:
        """Returns the weights to differentiate, each once; None for every trainable that takes
        part."""
        if not self.by_list:
            return ()
        if self.weights is None:
            return None
        weights: list[Any] = []
        mirror(self.weights, weights.append)
        return tuple({id(weight): weight for weight in weights}.values())

    def request(self, is_tensor: Sequence[bool]) -> Request:
        """Returns the request to compile for a call with these slots."""
        return replace(self.template, positions=self.positions(is_tensor))

    @property
    def template(self) -> Request:
        """Returns the request without the fields that the arguments of a call decide."""
        if self._template is None:
            self._template = replace(
                self.settings,
                weights=self.weight_list(),
                sens="given" if self.sens_param else "ones",
                value=self.value or self.has_aux,
                aux=self.has_aux,
                connections=self.unconnected != "zero",
            )
        return self._template

    # ---- the answer

    def pack(
        self,
        value: Any,
        input_gradients: Sequence[Any],
        weight_gradients: Sequence[Any],
        positions: Sequence[int] | None = None,
    ) -> Any:
        """Returns the promised structure. ``positions`` are the slots of ``input_gradients``, for
        ids."""
        parts = []
        if self.position is not None:
            given = tuple(input_gradients)
            if self.return_ids:
                given = tuple(zip(self.wanted() if positions is None else positions, given))
            parts.append(given if self.position == ALL or len(given) != 1 else given[0])
        if self.by_list:
            parts.append(self._pack_weights(tuple(weight_gradients)))
        packed = parts[0] if len(parts) == 1 else tuple(parts)
        if self.value:
            return value, packed
        return (packed, tuple(value[1:])) if self.has_aux else packed

    @property
    def packs_plainly(self) -> bool:
        """True if the backward function's result has the promised structure but for a tuple's
        brackets."""
        if self.unconnected != "zero" or self.return_ids:
            return False
        return not self.by_list or self._weights_are_plain

    @cached_property
    def _weights_are_plain(self) -> bool:
        """True if the tuple of the weights' gradients is the promised structure: the usual case."""
        if self.weights is None:
            return True
        if self.return_ids or not isinstance(self.weights, tuple):
            return False
        return [*map(id, self.weights)] == [*map(id, self.weight_list() or ())]

    def _pack_weights(self, gradients: tuple) -> Any:
        if self._weights_are_plain:
            return gradients
        wanted = self.weight_list() or ()
        by_id = {id(weight): gradient for weight, gradient in zip(wanted, gradients)}
        if self.return_ids:
            return mirror(self.weights, lambda weight: (weight.name, by_id[id(weight)]))
        return mirror(self.weights, lambda weight: by_id[id(weight)])


class GradOperation:
    """A maker of gradient functions: of the first input, of all inputs, of weights, or of both.

    get_all       a tuple with the gradient of every tensor input.
    get_by_list   the gradients of the weights given with the function.
    sens_param    the last argument of the gradient function is the gradient of the output, in its
                  structure, shapes and dtypes; otherwise ones are taken.

    ``GradOperation(...)(fn, weights)`` is called like ``fn``. Each gradient has the shape and dtype
    of its input or weight; with both flags the answer is ``(inputs, weights)``. Raises TypeError
    for a flag that is no bool, a CompileError in the call for what cannot be differentiated.
    """

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False):
        check_flags(
            "GradOperation", get_all=get_all, get_by_list=get_by_list, sens_param=sens_param
        )
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> GradientFunction[..., Any]:
        first = None if self.get_by_list else 0
        return GradientFunction(
            fn,
            weights,
            position=ALL if self.get_all else first,
            optional=True,
            by_list=self.get_by_list,
            sens_param=self.sens_param,
        )

    def __repr__(self) -> str:
        flags = (self.get_all, self.get_by_list, self.sens_param)
        return "GradOperation(get_all={}, get_by_list={}, sens_param={})".format(*flags)


@overload
def grad(
    fn: Differentiable[P, First, Any],
    grad_position: Literal[0] = 0,
    weights: None = None,
    has_aux: Literal[False] = False,
    return_ids: Literal[False] = False,
    sens_param: Literal[False] = False,
    *,
    unconnected: Literal["zero", "error"] = "zero",
) -> GradientFunction[P, First]: ...


@overload
def grad(
    fn: Callable[P, Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: Literal[False] = False,
    *,
    unconnected: str = "zero",
) -> GradientFunction[P, Any]: ...


@overload
def grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
    *,
    unconnected: str = "zero",
) -> GradientFunction[..., Any]: ...


@takes_functions
def grad(
    fn: Any,
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
    *,
    unconnected: str = "zero",
) -> GradientFunction[..., Any]:
    """Returns the gradient of ``fn`` in the inputs at ``grad_position`` and in ``weights``.

    fn            a Cell, function, method or lambda. Outputs of any shape are summed, unless a
                  sensitivity is given.
    grad_position a position (the gradient itself), several (a tuple of them), or None.
    weights       a Parameter, or any structure of them; then the answer has the same, and comes
                  second where positions are asked for as well.
    has_aux       only the first output is differentiated: ``(gradient, (other outputs))``.
    return_ids    each gradient comes as a pair with its position or name; see ``get_grad``.
    sens_param    the last argument is the sensitivity: as the output in structure, shape, dtype.
    unconnected   what stands for the gradient in what the output does not depend on: ``"zero"``,
                  ``"none"``, or ``"error"`` for a CallError.

    A gradient has the shape and dtype of its input. Raises TypeError or ValueError for invalid
    settings. The call raises a CompileError for a function that cannot be compiled or has no
    derivative. It raises PositionError and SensitivityError for positions and sensitivities that do
    not fit.
    """
    return _asked(fn, grad_position, weights, has_aux, return_ids, sens_param, False, unconnected)


@overload
def value_and_grad(
    fn: Differentiable[P, First, R],
    grad_position: Literal[0] = 0,
    weights: None = None,
    has_aux: Literal[False] = False,
    return_ids: Literal[False] = False,
    sens_param: Literal[False] = False,
    *,
    unconnected: Literal["zero", "error"] = "zero",
) -> GradientFunction[P, tuple[R, First]]: ...


@overload
def value_and_grad(
    fn: Callable[P, R],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: Literal[False] = False,
    *,
    unconnected: str = "zero",
) -> GradientFunction[P, tuple[R, Any]]: ...


@overload
def value_and_grad(
    fn: Callable[..., R],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
    *,
    unconnected: str = "zero",
) -> GradientFunction[..., tuple[R, Any]]: ...


@takes_functions
def value_and_grad(
    fn: Any,
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
    *,
    unconnected: str = "zero",
) -> GradientFunction[..., Any]:
    """Returns the function that computes ``(out, gradient)``; its arguments are those of ``grad``.

    With ``has_aux`` ``out`` is the tuple of all outputs.
    """
    return _asked(fn, grad_position, weights, has_aux, return_ids, sens_param, True, unconnected)


@takes_functions
def get_grad(gradients: Any, identifier: Any) -> Any:
    """Returns the gradient of one position or Parameter, out of a result with ``return_ids=True``.

    Raises TypeError for anything else to look for, RuntimeError where it is not in the result.

    >>> get_grad(((0, "d_x"), (1, "d_y")), 1)
    'd_y'
    """
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        wanted: Any = identifier
    elif isinstance(identifier, Tensor) and hasattr(identifier, "name"):
        wanted = identifier.name
    else:
        raise TypeError(
            f"For `get_grad`, the `x` should be an integer or a Parameter, but got {identifier}"
        )
    gradient = find(gradients, wanted)
    if gradient is None:
        raise RuntimeError(f"Can not find the gradient for position or Parameter {identifier}")
    return gradient


def _asked(
    fn: Any,
    position: Any,
    weights: Any,
    has_aux: bool,
    return_ids: bool,
    sens_param: bool,
    value: bool,
    unconnected: str,
) -> GradientFunction[..., Any]:
    if unconnected not in ("zero", "none", "error"):
        raise ValueError(f"unconnected must be 'zero', 'none' or 'error', but got {unconnected}")
    if position is None and weights is None:
        raise ValueError("`grad_position` and `weight` can not be None at the same time.")
    check_flags("_Grad", has_aux=has_aux, return_ids=return_ids, sens_param=sens_param)
    return GradientFunction(
        fn,
        weights,
        position=checked_position(position),
        by_list=weights is not None,
        sens_param=sens_param,
        value=value,
        has_aux=has_aux,
        return_ids=return_ids,
        numpy=True,
        unconnected=unconnected,
    )


def checked_position(position: Any) -> Position:
    if position is None:
        return None
    if not isinstance(position, (int, tuple)):
        raise TypeError("For 'F.grad', the 'grad_position' must be int or tuple.")
    several = position if isinstance(position, tuple) else (position,)
    if not all(isinstance(slot, int) for slot in several):
        raise TypeError("For 'F.grad', the element in 'grad_position' must be int.")
    if any(slot < 0 for slot in several):
        raise ValueError("grad_position must be >= 0.")
    if len(set(several)) < len(several):
        raise ValueError("There are duplicate positions in `grad_position`, please check it")
    return tuple(map(int, position)) if isinstance(position, tuple) else int(position)


__all__ = ["GradOperation", "GradientFunction", "get_grad", "grad", "value_and_grad"]
