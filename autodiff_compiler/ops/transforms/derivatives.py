"""Derivatives besides the gradient: ``jvp``, ``vjp``, Jacobians, Hessians, Taylor series.

Each is written in terms of tangents and gradients, and compiled as one function. In a source
function that is being compiled, the same lines become a part of it.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from autodiff_compiler.common.compiler_hook import engine
from autodiff_compiler.common.structures import holds_records
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.opdef import PRECISION
from autodiff_compiler.ir.types import is_floating
from autodiff_compiler.operators.core.structure import cast, ones_like
from autodiff_compiler.operators.indexing.concat_and_pad import stack
from autodiff_compiler.operators.indexing.indexing import index
from autodiff_compiler.ops.core.shape_queries import known_rank, shape_of
from autodiff_compiler.ops.transforms.gradient import ALL, GradientFunction
from autodiff_compiler.ops.transforms.jacobian import Hessian, Jacobian
from autodiff_compiler.ops.transforms.nested_arguments import (
    Flat,
    directions_like,
    flattened,
    is_active,
    leaves_of,
    plain,
)
from autodiff_compiler.ops.transforms.pullback import Pullback
from autodiff_compiler.ops.transforms.tangent import Push, TangentFunction
from autodiff_compiler.ops.transforms.transformed import (
    Differentiable,
    Transformed,
    apply,
    auxiliary,
    caller,
    check_callable,
    is_whole,
    takes_functions,
    try_fast_call,
    unwrapped,
    whole_numbers,
)

P = ParamSpec("P")
R = TypeVar("R")
Structure = TypeVar("Structure")
Array = TypeVar("Array", bound=Tensor | np.ndarray)

#: Types besides tensors that have a derivative in plain functions.
_NUMBERS = (float, complex, np.ndarray, np.inexact)


@overload
def jvp(
    fn: Callable[..., R], inputs: Any, v: Any, has_aux: Literal[False] = False
) -> tuple[R, R]: ...


@overload
def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]: ...


@takes_functions
def jvp(fn: Any, inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Returns the value of ``fn`` at ``inputs`` and its tangent along ``v``: ``(out, dot_out)``.

    ``inputs`` and ``v`` are tensors, or tuples of as many. With ``has_aux`` only the first output
    is differentiated, and the others follow: ``(out, dot_out, aux)``, a single one without a tuple.
    Tangents have the shapes and dtypes of their primals. Raises TypeError for what is no tensor,
    and ValueError for fewer or more tangents than inputs. Raises CallError for a tangent of another
    shape.
    """
    primals, dots = _row(inputs), _row(v)
    if flat_call := _flattened(fn, primals):
        flat, leaves = flat_call
        moved = _moved(flat, leaves)
        function = TangentFunction(flat, len(leaves), moved, has_aux=has_aux)
        along = _directions(primals, dots)
        value, dot = function(*leaves, *(along[place] for place in moved))
    else:
        function = TangentFunction(fn, len(primals), range(len(primals)), has_aux=has_aux)
        value, dot = _along(function, primals, dots)
    return (value[0], dot, auxiliary(value)) if has_aux else (value, dot)


@takes_functions
def linearize(fn: Callable[..., R], inputs: Any) -> tuple[R, Callable[[Any], R]]:
    """Returns the value of ``fn`` at ``inputs``, and the linear function from ``v`` to the tangent
    there.

    The linear function takes what ``jvp`` takes as ``v``.
    """
    primals = _snapshot(_row(inputs))
    _check_tensors(primals)

    def linear(v: Any) -> Any:
        return jvp(fn, primals, v)[1]

    return apply(fn, primals, {}), linear


@overload
def vjp(
    fn: Callable[..., R], *inputs: Any, weights: Any = None, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...


@overload
def vjp(
    fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False
) -> tuple[Any, ...]: ...


@takes_functions
def vjp(fn: Any, *inputs: Any, weights: Any = None, has_aux: bool = False) -> tuple[Any, ...]:
    """Returns the value of ``fn`` at ``inputs``, and its pullback: a function from the output's
    sensitivity to the gradients. These are a tuple of the inputs' gradients; with ``weights``, a
    pair of it and the gradients of the weights.

    The outputs' sensitivities are given one by one, or as one tuple. With ``has_aux`` only the
    first output has one, and the others come last: ``(out, pull, aux)``.
    """
    if flat_call := _flattened(fn, inputs):
        return _vjp_of_leaves(*flat_call, inputs, weights, has_aux)
    _check_tensors(inputs)
    gradient = GradientFunction(
        fn,
        weights,
        position=ALL,
        by_list=weights is not None,
        sens_param=True,
        has_aux=has_aux,
        value=True,
        numpy=True,
    )
    if caller() is None:
        check_callable(gradient.fn)
        value, back = engine().run_pullback(gradient, inputs)
    else:
        value, back = Pullback(gradient)(*inputs)

    def pull(*v: Any) -> Any:
        given = v[0] if len(v) == 1 else v
        if holds_records(given):
            given = plain(given)
            _check_tensors(leaves_of(given))
        else:
            _check_tensors((*inputs, *_row(given)), len(inputs))
        return back(given)

    return (value[0], pull, auxiliary(value)) if has_aux else (value, pull)


@takes_functions
def hvp(fn: Callable[..., Any], inputs: Structure, v: Structure) -> Structure:
    """Returns the Hessian of ``fn``, summed over its outputs, times ``v``: the tangent of its
    gradient.

    ``inputs`` and ``v`` are tensors, and so is the result, or all are tuples of as many.
    """
    primals, dots = _row(inputs), _row(v)
    several = _is_row(inputs)
    outcome: Any
    grouped: Any
    if flat_call := _flattened(fn, primals):
        flat, leaves = flat_call
        _check_tensors(leaves)
        function = HessianProduct(flat, len(leaves), True)
        outcome = function(*leaves, *_directions(primals, dots))
        grouped = flat.grouped(outcome)
        return grouped if several else grouped[0]
    function = HessianProduct(fn, len(primals), several)
    return _along(function, primals, dots)


@takes_functions
def derivative(fn: Callable[..., R], primals: Any, order: int) -> tuple[R, R]:
    """Returns the value of ``fn``, and its derivative of an order, all inputs moving at the same
    speed.

    The derivative has the shape of the value; integer inputs are taken in float32. Raises TypeError
    or ValueError for an order that is no int of at least 1. Raises TypeError for what is no tensor.
    """
    if not isinstance(order, int) or isinstance(order, bool):
        raise TypeError("For `F.derivative`, the type of order must be int.")
    if order < 1:
        raise ValueError(
            f"For `F.derivative`, value of order should not be less than 1, but got {order}."
        )
    inputs = _row(primals)
    _check_tensors(inputs)
    return Taylor(fn, len(inputs), order)(*inputs)


@takes_functions
def jet(fn: Callable[..., R], primals: Any, series: Any) -> tuple[R, Any]:
    """Returns the value of ``fn``, and the derivatives of its output where the inputs move on
    curves.

    ``series`` holds the derivatives of the input's curve, first to n-th, along its first axis. Its
    shape is ``(n, *input.shape)``. If ``primals`` is a tuple, it is a tuple of tensors like this.
    The derivatives of the output have the same form. Raises TypeError or ValueError where the two
    do not match.
    """
    if isinstance(primals, (tuple, list)) != isinstance(series, (tuple, list)):
        raise TypeError("For 'F.jet', the 'primals' and `series` must be both Tensor or tuple.")
    inputs, curves = _row(primals), _row(series)
    _check_tensors((*inputs, *curves), len(inputs))
    if len(inputs) != len(curves):
        raise ValueError("In series, there must be one element for each of the primals.")
    orders = {_order_of(curve, x) for x, curve in zip(inputs, curves)}
    if len(orders) != 1 or orders == {0}:
        raise ValueError("In series, every element must give as many derivatives, at least one.")
    return Taylor(fn, len(inputs), orders.pop())(*inputs, *curves)


@overload
def jacfwd(
    fn: Differentiable[P, Array, Array | float],
    grad_position: Literal[0] = 0,
    has_aux: Literal[False] = False,
) -> Jacobian[P, Array]: ...


@overload
def jacfwd(
    fn: Callable[P, Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Jacobian[P, Any]: ...


@takes_functions
def jacfwd(
    fn: Any, grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Jacobian[..., Any]:
    """Returns the Jacobian of ``fn`` by tangents, one for each element of an input: for few inputs.

    Its shape is that of the output and then that of the input. Several outputs give a tuple, and
    several positions a tuple of these in each. With ``has_aux`` only the first output has one, and
    the others follow.
    """
    return Jacobian(fn, grad_position, "forward", has_aux)


@overload
def jacrev(
    fn: Differentiable[P, Array, Array | float],
    grad_position: Literal[0] = 0,
    has_aux: Literal[False] = False,
) -> Jacobian[P, Array]: ...


@overload
def jacrev(
    fn: Callable[P, Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Jacobian[P, Any]: ...


@takes_functions
def jacrev(
    fn: Any, grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Jacobian[..., Any]:
    """Returns the Jacobian of ``fn`` by cotangents, one for each element of an output: for few
    outputs.

    Shapes as with ``jacfwd``.
    """
    return Jacobian(fn, grad_position, "reverse", has_aux)


@overload
def jacobian(
    fn: Differentiable[P, Array, Array | float],
    grad_position: Literal[0] = 0,
    has_aux: Literal[False] = False,
) -> Jacobian[P, Array]: ...


@overload
def jacobian(
    fn: Callable[P, Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Jacobian[P, Any]: ...


@takes_functions
def jacobian(
    fn: Any, grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Jacobian[..., Any]:
    """Returns the Jacobian of ``fn``, as ``jacfwd`` or ``jacrev`` give it: whichever takes fewer
    sweeps."""
    return Jacobian(fn, grad_position, "shape", has_aux)


@overload
def hessian(
    fn: Differentiable[P, Array, Array | float], grad_position: Literal[0] = 0
) -> Jacobian[P, Array]: ...


@overload
def hessian(fn: Callable[P, Any], grad_position: int | tuple[int, ...] = 0) -> Jacobian[P, Any]: ...


@takes_functions
def hessian(fn: Any, grad_position: int | tuple[int, ...] = 0) -> Jacobian[..., Any]:
    """Returns the second derivatives of ``fn``, the tangents of its gradient: for a 0-d output of
    the shape of the input twice."""
    return Hessian(Jacobian(fn, grad_position, "reverse"), grad_position, "forward")


class HessianProduct(Transformed):
    """The Hessian of ``fn`` times a direction, as a function of the inputs and of the direction.

    It is the tangent of the gradient, a tuple if ``several`` are requested.
    """

    suffix, phrase = "hvp", "tangent of gradient of"
    takes_its_arguments = False

    def __init__(self, fn: Any, inputs: int, several: bool):
        self.fn, self.inputs, self.several = unwrapped(fn), inputs, several
        self.double = PRECISION.double

    @property
    def key(self) -> Hashable:
        """Returns the settings that decide the code, besides ``fn`` and the arguments."""
        return self.inputs, self.several, self.double

    def names(self, inner: Sequence[str]) -> list[str]:
        names = inner[: self.inputs]
        return [*names, *(f"dot_{name}" for name in names)]

    def asked(self, count: int) -> Sequence[int]:
        return range(self.inputs)

    def build(self, *args: Any) -> Any:
        gradient = GradientFunction(self.fn, position=ALL if self.several else 0, numpy=True)
        return Push(gradient, self.inputs, range(self.inputs))(*args)


class Taylor(Transformed):
    """Derivatives of ``fn`` along a curve.

    Called with inputs, it returns the value, and the derivative of this order for inputs that move
    at speed one. Called with the derivatives of the inputs' curves, too, it returns the value and
    all derivatives, first to last.
    """

    suffix, phrase = "taylor", "Taylor series of"
    takes_its_arguments = False

    def __init__(self, fn: Any, inputs: int, order: int):
        self.fn, self.inputs, self.order = unwrapped(fn), inputs, order
        self.double = PRECISION.double

    @property
    def key(self) -> Hashable:
        """Returns the settings that decide the code, besides ``fn`` and the arguments."""
        return self.inputs, self.order, self.double

    def asked(self, count: int) -> Sequence[int]:
        return range(self.inputs)

    def build(self, *args: Any) -> Any:
        primals, curves = [*map(_floating, args[: self.inputs])], args[self.inputs :]
        if not curves:
            speeds = [ones_like(x) for x in primals]
            value, *derivatives = Prolonged(self.fn, self.inputs, self.order, False)(
                *primals, *speeds
            )
            return value, derivatives[-1]
        rows = [index(curve, index=(k,)) for k in range(self.order) for curve in curves]
        value, *derivatives = Prolonged(self.fn, self.inputs, self.order, True)(*primals, *rows)
        if isinstance(value, (tuple, list)):
            return value, tuple(stack(*parts, axis=0) for parts in zip(*derivatives))
        return value, stack(*derivatives, axis=0)


class Prolonged(Transformed):
    """The value of ``fn`` and its derivatives up to an order along curves.

    Its arguments are the inputs and the derivatives of their curves, those of order one first. It
    is the repeated tangent, where every derivative of a curve moves along the next one. Without
    ``curved`` only the first derivatives are given.
    """

    suffix, phrase = "prolonged", "derivatives of"
    takes_its_arguments = False

    def __init__(self, fn: Any, inputs: int, order: int, curved: bool):
        self.fn, self.inputs, self.order, self.curved = fn, inputs, order, curved

    @property
    def key(self) -> Hashable:
        """Returns the settings that decide the code, besides ``fn`` and the arguments."""
        return self.inputs, self.order, self.curved

    def names(self, inner: Sequence[str]) -> list[str]:
        names, rows = inner[: self.inputs], range(1, self.order + 1)
        dots = [f"dot{k if k > 1 else ''}_{name}" for k in rows for name in names]
        return [*names, *dots]

    def build(self, *args: Any) -> tuple:
        if self.order == 0:
            return (apply(self.fn, args, {}),)
        inner = Prolonged(self.fn, self.inputs, self.order - 1, self.curved)
        rows = self.order if self.curved else min(self.order, 2)
        count = rows * self.inputs
        moving = range(count if self.curved else self.inputs)
        dots = args[self.inputs : self.inputs + len(moving)]
        value, tangents = TangentFunction(inner, count, moving)(*args[:count], *dots)
        return (value[0], *tangents)


def _order_of(curve: Any, x: Any) -> int:
    """Returns the number of derivatives of ``x`` that a curve holds along its first axis."""
    known_rank(curve, "jet")
    shape = shape_of(curve)
    if not shape or shape[1:] != shape_of(x):
        raise ValueError("In series, the shape of each element must be the same as the primals.")
    if not isinstance(shape[0], int):
        raise ValueError("In series, the number of derivatives must be known at compile time.")
    return shape[0]


def _is_row(things: Any) -> bool:
    """True if this is a tuple of arguments, not a single named tuple."""
    return isinstance(things, (tuple, list)) and not hasattr(things, "_fields")


def _row(things: Any) -> tuple:
    return tuple(things) if _is_row(things) else (things,)


def _flattened(fn: Any, primals: Sequence) -> tuple[Flat, tuple] | None:
    """Returns the function of leaves, and the leaves, if containers are among the arguments."""
    return flattened(fn, primals, wanted=range(len(primals)))


def _moved(flat: Flat, leaves: Sequence) -> list[int]:
    """Returns the places of the leaves that have tangents."""
    _check_tensors(leaves)
    return [place for place, leaf in enumerate(leaves) if is_active(leaf)]


def _directions(primals: Sequence, dots: Sequence) -> list[Any]:
    """Returns a tangent for each leaf of the arguments."""
    if len(dots) != len(primals):
        raise ValueError(f"v has invalid length: should be {len(primals)}, but got {len(dots)}")
    return [leaf for like, dot in zip(primals, dots) for leaf in directions_like(like, dot)]


def _vjp_of_leaves(flat: Flat, leaves: tuple, inputs: tuple, weights: Any, has_aux: bool) -> tuple:
    """Computes ``vjp`` for arguments that were flattened."""
    moved, by_list = _moved(flat, leaves), weights is not None
    gradient = GradientFunction(
        flat,
        weights,
        position=tuple(moved),
        by_list=by_list,
        sens_param=True,
        has_aux=has_aux,
        value=True,
        numpy=True,
    )
    check_callable(flat.fn)
    run = engine().run_pullback if caller() is None else None
    value, back = run(gradient, leaves) if run else Pullback(gradient)(*leaves)

    def pull(*v: Any) -> Any:
        gradients = back(plain(v[0] if len(v) == 1 else v))
        first, *rest = gradients if by_list else (gradients,)
        row = dict(zip(moved, first if len(moved) > 1 else (first,)))
        grouped = flat.grouped([row.get(place, 0) for place in range(len(leaves))])
        return (grouped, *rest) if by_list else grouped

    return (value[0], pull, auxiliary(value)) if has_aux else (value, pull)


def _along(function: Transformed, primals: tuple, dots: tuple) -> Any:
    """Calls ``function`` with inputs and a tangent for each, which must match them one by one."""
    outcome = try_fast_call(function, (*primals, *dots)) if caller() is None else False
    if outcome is not False:
        return outcome
    _check_tensors((*primals, *dots), len(primals))
    if len(dots) != len(primals):
        raise ValueError(f"v has invalid length: should be {len(primals)}, but got {len(dots)}")
    return function(*primals, *dots)


def _snapshot(primals: Sequence) -> tuple:
    """Returns a snapshot of the inputs: later writes do not change it."""
    return tuple(x.copy() if isinstance(x, Tensor) and caller() is None else x for x in primals)


def _check_tensors(things: Sequence, inputs: int | None = None) -> None:
    """Refuses what is no tensor; of plain arrays and floats, what is neither. The first ``inputs``
    (None: all) are what is differentiated in."""
    if {*map(type, things)} == {Tensor}:  # the usual case, tested in every call
        return
    numbers = () if any(isinstance(x, Tensor) for x in things) else _NUMBERS
    if not all(isinstance(x, (Tensor, Value, *numbers)) for x in things):
        if numbers and caller() is None:
            for place in (place for place, x in enumerate(things[:inputs]) if is_whole(x)):
                raise whole_numbers(place)
        raise TypeError("The inputs type must be Tensor.")


def _floating(x: Any) -> Any:
    type_ = type_of(x)
    return x if is_floating(type_) else cast(x, dtype="float32")


__all__ = [
    "derivative",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jvp",
    "linearize",
    "vjp",
]
