"""``check_grads``: compares compiled gradients with central differences of plain Python.

The function runs as Python, in float64, at inputs moved a little to both sides. Two step sizes and
Richardson's formula leave an error of fourth order, far below the tolerance. Every input and every
parameter is probed by itself, along random directions and at single elements. A wrong sign
therefore cannot cancel. Order two checks the gradient in the same way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.context import PYNATIVE_MODE, get_context, set_context
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.ir.opdef import double_precision
from autodiff_compiler.ops.transforms.gradient import GradientFunction
from autodiff_compiler.ops.transforms.nested_arguments import by_leaves, leaves_of
from autodiff_compiler.ops.transforms.tangent import TangentFunction
from autodiff_compiler.ops.transforms.transformed import is_whole, unwrapped, whole_numbers
from autodiff_compiler.runtime.arguments import holds, is_numpy_call
from autodiff_compiler.testing.probes import Limits, Row, compared, difference, directions_in, probe
from autodiff_compiler.testing.subject import Subject, state


@dataclass(frozen=True)
class Report:
    """All comparisons of one check; prints as a table."""

    rows: tuple[Row, ...] = field(default=())

    def __str__(self) -> str:
        head = (
            f"{'order':5}  {'what':13}  {'of':16}  {'along':14}  "
            f"{'expected':>18}  {'got':>18}  {'error':>9}"
        )
        return "\n".join([head, *map(_line, self.rows)])

    def check(self) -> None:
        """Raises AssertionError, with the table, if a comparison fails."""
        first = next((row for row in self.rows if not row.good), None)
        if first is not None:
            raise AssertionError(
                f"the {first.what} of order {first.order} in '{first.name}' is wrong "
                f"along {first.probe}: "
                f"expected {first.expected:.10g}, got {first.got:.10g} "
                f"(relative error {first.error:.1e})\n{self}"
            )


def _line(row: Row) -> str:
    return (
        f"{row.order:5}  {row.what:13}  {row.name:16}  {row.probe:14}  "
        f"{row.expected:18.10g}  {row.got:18.10g}  {row.error:9.1e}"
        + ("" if row.good else "  WRONG")
    )


def check_grads(
    fn: Any,
    inputs: Sequence[Any],
    weights: Iterable[Parameter] | None = None,
    modes: Sequence[str] = ("reverse",),
    order: int = 2,
    *,
    rtol: float = 1e-6,
    atol: float = 1e-8,
    step: float = 1e-3,
    directions: int = 2,
    seed: int = 0,
    keywords: Mapping[str, Any] | None = None,
) -> Report:
    """Compares the compiled gradients of ``fn`` with numeric ones, up to ``order``.

    inputs      tensors, arrays, numbers, and containers of these. Floating-point ones are
                converted to float64 and checked, others are passed unchanged.
    keywords    the keyword arguments.
    weights     the Parameters to check; the trainable ones of a Cell by default.
    modes       the modes of differentiation: 'reverse' and 'forward', each nested in itself up to
                ``order``; or a nesting such as 'forward-over-reverse', of its own order.
                With both modes, tangents and cotangents must agree to rounding.
                If a Parameter is read after it was written, only the first order is checked. The
                stored values are held fixed: no gradient passes through them.
    rtol, atol  the allowed error: relative to the largest term of the compared number, and
                absolute.
    step        how far the inputs are moved to either side, along each direction.
    directions  the number of random directions for each input, besides single elements.
    seed        for the directions and the sensitivity, which are random.

    Returns a Report of all comparisons, which prints as a table. Raises AssertionError, with that
    table, if they disagree. Raises ValueError for an unknown mode, and the CompileError of a
    function that does not compile. Parameters get their values back in any case.
    """
    nestings = [_nesting(mode, order) for mode in modes]
    subject, inputs = _subject(fn, inputs, weights, keywords or {})
    plain = not isinstance(fn, Cell) and not holds([*inputs], Tensor)
    if plain and inputs and not subject.weights and all(map(is_whole, inputs)):
        raise whole_numbers(0)
    doubled = [_double(value) for value in inputs]
    rng = np.random.default_rng(seed)
    limits = Limits(rtol, atol, step, directions)
    with _in_float64(subject.fn, subject.weights):
        if subject.bare and not subject.runs(doubled):
            with_tensors = replace(subject, bare=False)  # its operators may need tensors
            subject = with_tensors if with_tensors.runs(doubled) else subject
        report = Report(tuple(_check(subject, doubled, nestings, 1, rng, limits)))
    report.check()
    return report


def _subject(
    fn: Any,
    inputs: Sequence[Any],
    weights: Iterable[Parameter] | None,
    keywords: Mapping[str, Any],
) -> tuple[Subject, Sequence[Any]]:
    """Returns the function to check and its inputs; containers among these are taken apart."""
    target = unwrapped(fn)
    if weights is None:
        weights = target.trainable_params() if isinstance(target, Cell) else ()
    weights = [weight for weight in weights if weight._data.dtype.kind == "f"]
    slots = (*inputs, *keywords.values())
    bare = is_numpy_call(target, leaves_of(slots)) and not weights
    names = _names(target, len(inputs))
    if keywords or any(leaves_of(slot) for slot in slots if not _is_single(slot)):
        target, inputs = by_leaves(target, inputs, keywords)
        names = target.paths(names)
    floats = frozenset(place for place, value in enumerate(inputs) if type(value) is float)
    return Subject(target, weights, names, bare, floats), inputs


def _nesting(mode: str, order: int) -> tuple[str, ...]:
    """Returns the modes of a nested derivative, the innermost first."""
    parts = tuple(reversed(mode.split("-over-")))
    if not all(part in ("reverse", "forward") for part in parts):
        raise ValueError(
            f"there is no mode '{mode}'; there are 'reverse' and 'forward', and one over another, "
            "such as 'forward-over-reverse'"
        )
    return parts * order if len(parts) == 1 else parts


def _check(
    subject: Subject,
    inputs: list[Any],
    nestings: Sequence[tuple[str, ...]],
    order: int,
    rng: np.random.Generator,
    limits: Limits,
) -> list[Row]:
    """Returns the comparisons of this order and of those above it."""
    sens = _like(subject.run(inputs), rng)
    places = [n for n, x in enumerate(inputs) if isinstance(x, Tensor) and _is_float(x)]
    level = _Level(subject, inputs, places, sens, order, limits)
    modes = list(dict.fromkeys(nesting[0] for nesting in nestings))
    rows: list[Row] = []
    for mode in modes:
        rows += level.reverse(rng) if mode == "reverse" else level.forward(rng)
    if len(modes) == 2:
        rows.append(level.inner_product(rng))
    if not all(row.good for row in rows) or level.reads_what_it_stores():
        return rows
    for mode in modes:
        further = [each[1:] for each in nestings if each[0] == mode and each[1:]]
        if further and level.moved:
            derivative = level.along_random_direction(mode, rng)
            rows += _check(derivative, inputs, further, order + 1, rng, limits)
    return rows


class _Level:
    """A function and its derivatives of one order.

    places  the inputs that are differentiated.
    stored  the values that the function stores in Parameters.
    moved   for each value that is moved: its name, its array, and the function of that array.
    """

    def __init__(
        self,
        subject: Subject,
        inputs: list[Any],
        places: list[int],
        sens: Any,
        order: int,
        limits: Limits,
    ):
        self.subject, self.inputs, self.places = subject, inputs, places
        self.sens, self.order, self.limits = sens, order, limits
        self.stored = subject.stored(inputs) if order == 1 else []
        self.moved = [(subject.names[n], inputs[n]._data, self._of_input(n)) for n in places]
        self.moved += [(w.name, w._data, self._of_weight(w)) for w in subject.weights]

    def _of_input(self, place: int) -> Callable[[np.ndarray], float]:
        def moved(array: np.ndarray) -> float:
            shifted = [*self.inputs[:place], wrap(array), *self.inputs[place + 1 :]]
            return _dot(self.subject.run_storing(self.stored, shifted), self.sens)

        return moved

    def _of_weight(self, weight: Parameter) -> Callable[[np.ndarray], float]:
        def moved(array: np.ndarray) -> float:
            before = weight._data
            weight._data, step = array, array - before
            try:
                out = self.subject.run_storing(
                    self.stored, self.inputs, lambda one: step if one is weight else 0.0
                )
                return _dot(out, self.sens)
            finally:
                weight._data = before

        return moved

    def reads_what_it_stores(self) -> bool:
        """True if the value depends on Parameters that the function writes before it reads them."""
        if not self.stored:
            return False

        def run(shift: float) -> float:
            out = self.subject.run_storing(self.stored, self.inputs, lambda parameter: shift)
            return _dot(out, self.sens)

        return run(0.0) != run(0.125)

    def cotangents(self) -> list[Tensor]:
        """Returns the compiled gradients in all values that are moved."""
        if not self.moved:
            return []
        gradient = GradientFunction(
            self.subject.fn,
            self.subject.weights,
            position=tuple(self.places) or None,
            by_list=True,
            sens_param=True,
            numpy=self.subject.bare,
        )
        gradients = self.subject.run_derivative(gradient, self.inputs, self.sens)
        if not self.places:
            return list(gradients)
        in_inputs, in_weights = gradients
        alone = len(self.places) == 1
        return [*((in_inputs,) if alone else in_inputs), *in_weights]

    def tangent(self, dots: Sequence[np.ndarray]) -> float:
        """Returns the inner product of ``sens`` and the compiled tangent along ``dots``."""
        fn, weights = self.subject.fn, self.subject.weights
        function = TangentFunction(fn, len(self.inputs), self.places, weights)
        return _dot(
            self.subject.run_derivative(function, self.inputs, *map(wrap, dots))[1], self.sens
        )

    def reverse(self, rng: np.random.Generator) -> Iterator[Row]:
        for (name, at, moved), gradient in zip(self.moved, self.cotangents()):
            yield from probe(self.order, name, moved, at, gradient, rng, self.limits)

    def forward(self, rng: np.random.Generator) -> Iterator[Row]:
        none = [np.zeros(at.shape) for _, at, _ in self.moved]
        for number, (name, at, moved) in enumerate(self.moved):
            for along, direction in directions_in(at, self.limits.directions, rng):
                got = self.tangent([*none[:number], direction, *none[number + 1 :]])
                expected = difference(moved, at, direction, self.limits.step)
                yield compared(self.order, name, along, expected, got, 0.0, self.limits, "tangent")

    def inner_product(self, rng: np.random.Generator) -> Row:
        """Compares the tangent along a random direction with the cotangents: the inner products
        agree."""
        along = [_random(wrap(at), rng)._data for _, at, _ in self.moved]
        terms = [float(np.sum(ct._data * dot)) for ct, dot in zip(self.cotangents(), along)]
        scale = max(map(abs, terms), default=0.0)
        to_rounding = self.limits._replace(rtol=1e-10, atol=1e-12)
        return compared(
            self.order,
            "all",
            "both ways",
            sum(terms),
            self.tangent(along),
            scale,
            to_rounding,
            "inner product",
        )

    def along_random_direction(self, mode: str, rng: np.random.Generator) -> Subject:
        """Returns the derivative along a random direction of the inputs, or of the weights if there
        are no inputs: its derivatives include those of both kinds."""
        subject = self.subject
        weights = [] if self.places else subject.weights
        moved = [*(self.inputs[place] for place in self.places), *weights]
        along = subject.as_argument(tuple(_random(each, rng) for each in moved))
        make = _gradient_along if mode == "reverse" else _tangent_along
        places, sens = tuple(self.places), subject.as_argument(self.sens)
        inner = make(subject.fn, len(self.inputs), places, weights, sens, along)
        return replace(subject, fn=inner)


def _is_float(x: Tensor) -> bool:
    return x._data.dtype.kind == "f"


def _gradient_along(
    fn: Any,
    count: int,
    places: tuple[int, ...],
    weights: Sequence[Parameter],
    sens: Any,
    along: tuple[Tensor, ...],
) -> Any:
    """Returns the derivative along ``along`` as a function of the inputs, taken by the gradient."""
    gradient = GradientFunction(
        fn, weights, position=places or None, by_list=not places, sens_param=True, numpy=True
    )
    single = len(places) == 1

    def derivative(*inputs: Any) -> Any:
        gradients = gradient(*inputs, sens)
        total = 0.0
        for part, direction in zip((gradients,) if single else gradients, along):
            total = total + (part * direction).sum()
        return total

    return derivative


def _tangent_along(
    fn: Any,
    count: int,
    places: tuple[int, ...],
    weights: Sequence[Parameter],
    sens: Any,
    along: tuple[Tensor, ...],
) -> Any:
    """Returns the derivative along ``along`` as a function of the inputs, taken by the tangent."""
    tangent = TangentFunction(fn, count, places, weights)

    def derivative(*inputs: Any) -> Any:
        return contracted(tangent(*inputs, *along)[1], sens)

    return derivative


def contracted(out: Any, sens: Any) -> Any:
    """Returns the inner product of two values of one structure."""
    if isinstance(sens, Tensor):
        return (out * sens).sum()
    total = 0.0
    if isinstance(sens, dict):
        for key in sens:
            total = total + contracted(out[key], sens[key])
    if isinstance(sens, (tuple, list)):
        for part, other in zip(out, sens):
            total = total + contracted(part, other)
    return total


@contextmanager
def _in_float64(fn: Any, weights: Sequence[Parameter]) -> Iterator[None]:
    """Converts all float32 Parameters to float64, and runs Cells as Python."""
    mode = get_context("mode")
    before = [(parameter, parameter._data) for parameter in state(fn, weights)]
    set_context(mode=PYNATIVE_MODE)
    try:
        for parameter, value in before:
            parameter._data = value.astype(np.float64) if value.dtype.kind == "f" else value.copy()
        with double_precision():
            yield
    finally:
        set_context(mode=mode)
        for parameter, value in before:
            parameter._data = value


def _is_single(value: Any) -> bool:
    """True if this is a tensor, an array or a number, and no container."""
    return isinstance(value, (Tensor, np.ndarray, np.generic, int, float, complex))


def _double(value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value._data
    if isinstance(value, float):
        value = np.array(value)
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.array(value)
        return wrap(array.astype(np.float64) if array.dtype.kind == "f" else array)
    return value


def _like(out: Any, rng: np.random.Generator) -> Any:
    """Returns a random sensitivity in the structure of ``out``."""
    if isinstance(out, Tensor):
        return _random(out, rng)
    if isinstance(out, (tuple, list)):
        return tuple(_like(item, rng) for item in out)
    if isinstance(out, dict):
        return {key: _like(item, rng) for key, item in out.items()}
    return out


def _random(like: Tensor, rng: np.random.Generator) -> Tensor:
    size, sign = rng.uniform(0.5, 1.5, like.shape), rng.choice([-1.0, 1.0], like.shape)
    tensor: Tensor = wrap(np.asarray(size * sign).astype(like._data.dtype))
    return tensor


def _dot(out: Any, sens: Any) -> float:
    if isinstance(out, Tensor):
        return float(np.sum(out._data.astype(np.float64) * sens._data))
    if isinstance(out, (tuple, list)):
        return sum(_dot(item, part) for item, part in zip(out, sens))
    if isinstance(out, dict):
        return sum(_dot(out[key], sens[key]) for key in out)
    return 0.0


def _names(fn: Any, count: int) -> list[str]:
    method = fn.construct if isinstance(fn, Cell) else fn
    try:
        parameters = list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [p.name for p in parameters if p.kind in kinds]
    return [*known, *(f"input {n}" for n in range(len(known), count))][:count]


__all__ = ["Report", "Row", "check_grads"]
