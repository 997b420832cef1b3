"""``Jacobian``: all partial derivatives, by a batch of tangents or of cotangents."""

from __future__ import annotations

__macro__ = True

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from autodiff_compiler.errors import CallError, ShapeError
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.opdef import PRECISION
from autodiff_compiler.ir.types import BOOL, INT, ArrayType
from autodiff_compiler.operators.core.declare import (
    shape_of_type,
    static_sizes,
)
from autodiff_compiler.operators.core.structure import (
    full,
    ones_like,
    reshape,
    transpose,
    zeros_like,
)
from autodiff_compiler.operators.indexing.creation import basis
from autodiff_compiler.ops.transforms.gradient import GradientFunction, checked_position
from autodiff_compiler.ops.transforms.nested_arguments import Flat, flattened, is_active
from autodiff_compiler.ops.transforms.tangent import Push
from autodiff_compiler.ops.transforms.transformed import (
    Transformed,
    apply,
    auxiliary,
    caller,
    check_flags,
    unwrapped,
)
from autodiff_compiler.ops.transforms.vmap import BatchedFunction

P = ParamSpec("P")
R = TypeVar("R")


class Jacobian(Transformed[P, R]):
    """All partial derivatives of ``fn``; ``mode`` is 'forward', 'reverse', or 'shape' for fewer
    sweeps."""

    suffix, phrase = "jacobian", "Jacobian of"

    def __init__(self, fn: Any, grad_position: Any, mode: str, has_aux: bool = False):
        if grad_position is None:
            raise TypeError("For 'F.grad', the 'grad_position' must be int or tuple.")
        check_flags("Jacobian", has_aux=has_aux)
        self.fn, self.mode, self.has_aux = unwrapped(fn), mode, has_aux
        self.position = checked_position(grad_position)
        self.double = PRECISION.double

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fast_call is None and caller() is None:
            of_leaves = self._of_leaves(args, kwargs)
            if of_leaves is not None:
                return of_leaves[0]
        return super().__call__(*args, **kwargs)

    @property
    def key(self) -> Hashable:
        """Returns the settings that decide the code, besides ``fn`` and the arguments."""
        return self.position, self.mode, self.has_aux, self.double

    def asked(self, count: int) -> Sequence[int]:
        places = self.position if isinstance(self.position, tuple) else (self.position,)
        return [place for place in places if isinstance(place, int)]

    def _of_leaves(self, args: Sequence, kwargs: Mapping[str, Any]) -> tuple[Any] | None:
        """Returns the Jacobian of a call with containers, in a tuple: one for each of their leaves,
        in their structure. Of a Jacobian of a Jacobian, in the structure of both."""
        layers: list[Jacobian] = [self]
        while isinstance(layers[-1].fn, Jacobian):
            layers.append(layers[-1].fn)
        wanted = {place for layer in layers for place in layer.asked(0)}
        flat_call = flattened(layers[-1].fn, args, kwargs, wanted)
        if flat_call is None:
            return None
        flat, leaves = flat_call
        function: Any = flat
        groups = []
        for layer in reversed(layers):
            if any(place >= len(flat.skeletons) for place in layer.asked(0)):
                raise ValueError("The element in grad_position must belong to [0, args_num).")
            moved = [
                place
                for n in layer.asked(0)
                for place in flat.places(n)
                if flat.is_leaf(n) or is_active(leaves[place])
            ]
            function = type(layer)(function, tuple(moved), layer.mode, layer.has_aux)
            groups.append((moved, layer))
        outcome = function(*leaves)
        aux = outcome[1] if self.has_aux else None
        grouped = _grouped(outcome[0] if self.has_aux else outcome, groups, flat)
        return ((grouped, aux) if self.has_aux else grouped,)

    def build(self, *args: Any) -> Any:
        places = self.asked(len(args))
        _check_arguments(args, places)
        value = apply(self.fn, args, {})
        if self.has_aux and not (isinstance(value, tuple) and len(value) > 1):
            raise ValueError("When has_aux is True, origin fn requires more than one outputs.")
        output = value[0] if self.has_aux else value
        bare = not isinstance(output, (tuple, list))
        outputs = (output,) if bare else tuple(output)
        _check_outputs(outputs, bare)
        fill = self._by_tangents if self._is_forward(args, places, outputs) else self._by_cotangents
        table = fill(args, places, outputs, bare)
        rows = tuple(row if len(places) > 1 else row[0] for row in table)
        jacobian = rows[0] if bare else rows
        return (jacobian, auxiliary(value)) if self.has_aux else jacobian

    def _is_forward(self, args: Sequence, places: Sequence, outputs: Sequence) -> bool:
        if not all(isinstance(output, Value) for output in outputs):
            return False  # a known number has no tangent
        if self.mode != "shape":
            return self.mode == "forward"
        inputs, results = _total_count([args[place] for place in places]), _total_count(outputs)
        if inputs is None or results is None:
            return inputs is not None
        return inputs <= results

    def _by_tangents(
        self, args: Sequence, places: Sequence, outputs: Sequence, bare: bool
    ) -> Sequence[tuple]:
        """Returns a row for each output, with an entry for each place, computed by tangents."""
        columns = []
        for place in places:
            x = args[place]
            tangents = _each(Push(self.fn, len(args), (place,), has_aux=self.has_aux), args, x)
            parts = (tangents,) if bare else tangents
            columns.append([_columns(part, out, x) for part, out in zip(parts, outputs)])
        return [*zip(*columns)]

    def _by_cotangents(
        self, args: Sequence, places: Sequence, outputs: Sequence, bare: bool
    ) -> Sequence[tuple]:
        """Returns the same rows, computed by cotangents."""
        table = []
        for number, output in enumerate(outputs):
            pull = Pull(self.fn, tuple(places), None if bare else number, self.has_aux)
            cotangents = _each(pull, args, output)
            table.append(tuple(_rows(part, output, args[p]) for part, p in zip(cotangents, places)))
        return table


class Hessian(Jacobian[P, R]):
    """The tangents of a gradient: a Jacobian of the Jacobian of a function, named after it."""

    suffix, phrase = "hessian", "Hessian of"

    @property
    def named_fn(self) -> Any:
        return self.fn.fn


def _grouped(entries: Any, groups: Sequence[tuple[list[int], Jacobian]], flat: Flat) -> Any:
    """Returns rows and columns for leaves, as they stand in containers; of several outputs,
    each."""
    deep, depth = sum(len(moved) > 1 for moved, _ in groups), 0
    first = entries
    while isinstance(first, tuple):
        first, depth = first[0], depth + 1
    if depth > deep:
        return tuple(_grouped(each, groups, flat) for each in entries)
    return _group(entries, groups, flat)


def _group(jacobian: Any, groups: Sequence[tuple[list[int], Jacobian]], flat: Flat) -> Any:
    if not groups:
        return jacobian
    (moved, layer), *rest = groups
    entries = jacobian if len(moved) > 1 else (jacobian,)
    by_place = {place: _group(each, rest, flat) for place, each in zip(moved, entries)}
    grouped = tuple(
        flat.regrouped(slot, [by_place.get(place, 0) for place in flat.places(slot)])
        for slot in layer.asked(0)
    )
    return grouped if isinstance(layer.position, tuple) and len(grouped) > 1 else grouped[0]


class Pull(Transformed):
    """The tuple of cotangents of some inputs.

    It is called with the inputs and the cotangent of the output, or of output number ``output``.
    """

    suffix, phrase = "pull", "cotangents of"
    takes_its_arguments = False

    def __init__(self, fn: Any, places: tuple[int, ...], output: int | None, has_aux: bool):
        self.fn, self.places, self.output, self.has_aux = fn, places, output, has_aux

    def names(self, inner: Sequence[str]) -> list[str]:
        return [*inner[:-1], "d_out"]

    def build(self, *args: Any) -> tuple:
        inputs, sens = args[:-1], args[-1]
        if self.output is not None:
            value = apply(self.fn, inputs, {})
            several = value[0] if self.has_aux else value
            rest = [zeros_like(other) for other in several]
            sens = (*rest[: self.output], sens, *rest[self.output + 1 :])
        gradient = GradientFunction(
            self.fn, position=self.places, sens_param=True, has_aux=self.has_aux, numpy=True
        )
        cotangents = gradient(*inputs, sens)
        cotangents = cotangents[0] if self.has_aux else cotangents
        return cotangents if len(self.places) > 1 else (cotangents,)


def _check_arguments(args: Sequence, places: Sequence[int]) -> None:
    """Refuses places without an argument, and arguments that are no tensors of floats."""
    if any(place >= len(args) for place in places):
        raise ValueError("The element in grad_position must belong to [0, args_num).")
    for place in places:
        x = args[place]
        if not isinstance(x, Value) or x.type in (INT, BOOL):
            raise CallError(
                f"argument {place} holds no tensor", "pass a Tensor or an array of floats"
            )


def _check_outputs(outputs: Sequence, bare: bool) -> None:
    """Refuses containers among the outputs; ``bare`` says that there is one, not in a tuple."""
    for each in outputs:
        if isinstance(each, (tuple, list, dict)):
            raise CallError(
                "a Jacobian needs a function that returns a tensor or a tuple of "
                f"tensors, and this {'returns' if bare else 'also returns'} a "
                f"{type(each).__name__}",
                "return the tensors side by side",
            )


def _total_count(values: Sequence) -> int | None:
    """Returns the number of elements of all values, or None if one is unknown."""
    shapes = [static_sizes(shape_of_type(type_of(x))) for x in values]
    counts = [math.prod(shape) for shape in shapes if shape is not None]
    return sum(counts) if len(counts) == len(shapes) else None


def _shape(x: Any) -> tuple[int, ...]:
    shape = static_sizes(shape_of_type(type_of(x)))
    if shape is None:
        raise ShapeError(
            "a Jacobian needs the number of elements of each argument, and that of a "
            f"{type_of(x)} is not known",
            "give the shapes as numbers in the signature",
        )
    return shape


def _each(function: Transformed, args: Sequence, like: Any) -> Any:
    """Maps ``function(*args, e)`` over the basis vectors ``e`` of the space of ``like``.

    A single basis vector gets no axis.
    """
    shape, type_ = _shape(like), type_of(like)
    count = math.prod(shape)
    if count == 1:
        return function(*args, ones_like(like))
    dtype = type_.dtype if isinstance(type_, ArrayType) else "float64"
    directions = reshape(basis(count=count, dtype=dtype), shape=(count, *shape))
    return BatchedFunction(function, (*([None] * len(args)), 0))(*args, directions)


def _columns(part: Value, output: Value, x: Value) -> Any:
    """Returns a Jacobian from tangents of ``output``, one for each element of ``x`` along the first
    axis."""
    rows, columns = _shape(output), _shape(x)
    if math.prod(columns) != 1:
        rank = len(rows)
        part = transpose(part, perm=(*range(1, rank + 1), 0))
    return _as(part, (*rows, *columns))


def _rows(part: Value, output: Value, x: Value) -> Any:
    """Returns a Jacobian from cotangents of ``x``, one for each element of ``output`` along the
    first axis."""
    return _as(part, (*_shape(output), *_shape(x)))


def _as(part: Value, shape: tuple[int, ...]) -> Any:
    if not isinstance(part, Value) or not isinstance(part.type, ArrayType):
        return part if shape == () else full(shape=shape, dtype="float64", value=part)
    return part if part.type.shape == shape else reshape(part, shape=shape)


__all__ = ["Jacobian"]
