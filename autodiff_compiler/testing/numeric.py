"""``check_grads``: the compiled gradient against central differences of plain Python.

The function is run as Python, in float64, a little to both sides of the inputs. Two step sizes and
Richardson's formula leave an error of fourth order, far below the tolerance. Every input and every
parameter is probed by itself, along random directions and at single elements, so that a wrong sign
cannot hide. Order two does the same to the gradient.
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
from autodiff_compiler.testing.probes import Row, compared, difference, directions_in, probe
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
        return "\n".join(
            [head]
            + [
                f"{row.order:5}  {row.what:13}  {row.name:16}  {row.probe:14}  "
                f"{row.expected:18.10g}  {row.got:18.10g}  {row.error:9.1e}"
                + ("" if row.good else "  WRONG")
                for row in self.rows
            ]
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

    inputs      tensors, arrays, numbers, and containers of these; floating ones are taken to
                float64 and checked, others are passed as they are.
    keywords    the arguments that are given by keyword.
    weights     the Parameters to check; a Cell's trainable ones by default.
    modes       how the derivatives are taken: 'reverse', 'forward', each over itself up to
                ``order``; or a way of its own such as 'forward-over-reverse', whatever its order.
                Where both are checked, tangents and cotangents must agree to rounding.
                Where a Parameter is read after it was written, the first order alone is checked,
                with what is stored held still: no gradient passes through it.
    rtol, atol  the error allowed: relative to the largest term of what is compared, and beside it.
    step        how far the inputs are moved to either side, along each direction.
    directions  how many random directions each input is moved along, besides single elements.
    seed        for the directions and the sensitivity, which are drawn.

    Returns a Report of all comparisons, which prints as a table. Raises AssertionError, with that
    table, where they disagree, ValueError for a mode that there is not, and the CompileError of a
    function that does not compile. Parameters get their values back in any case.
    """
    ways = [_way(mode, order) for mode in modes]
    target = unwrapped(fn)
    if weights is None:
        weights = target.trainable_params() if isinstance(target, Cell) else ()
    weights = [weight for weight in weights if weight._data.dtype.kind == "f"]
    slots = (*inputs, *(keywords or {}).values())
    bare = is_numpy_call(target, leaves_of(slots)) and not weights
    names = _names(target, len(inputs))
    if keywords or any(leaves_of(slot) for slot in slots if not _is_bare(slot)):
        target, inputs = by_leaves(target, inputs, keywords or {})
        names = target.paths(names)
    floats = frozenset(place for place, value in enumerate(inputs) if type(value) is float)
    subject = Subject(target, weights, names, bare, floats)
    plain = not isinstance(fn, Cell) and not holds([*inputs], Tensor)
    if plain and inputs and not weights and all(map(is_whole, inputs)):
        raise whole_numbers(0)
    given = [_double(value) for value in inputs]
    rng = np.random.default_rng(seed)
    limits = (rtol, atol, step, directions)
    with _doubled(target, weights):
        if bare and not subject.runs(given):  # its operators want tensors
            subject = replace(subject, bare=False)
        rows = _check(subject, given, ways, 1, rng, limits)
    report = Report(tuple(rows))
    wrong = [row for row in rows if not row.good]
    if wrong:
        first = wrong[0]
        raise AssertionError(
            f"the {first.what} of order {first.order} in '{first.name}' is wrong "
            f"along {first.probe}: "
            f"expected {first.expected:.10g}, got {first.got:.10g} "
            f"(relative error {first.error:.1e})\n{report}"
        )
    return report


def _way(mode: str, order: int) -> tuple[str, ...]:
    """The modes of a way to differentiate, the innermost first."""
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
    ways: Sequence[tuple[str, ...]],
    now: int,
    rng: np.random.Generator,
    limits: tuple,
) -> list[Row]:
    """The rows of this order and of those above it."""
    sens = _like(subject.run(inputs), rng)
    places = [n for n, x in enumerate(inputs) if isinstance(x, Tensor) and _is_float(x)]
    level = _Level(subject, inputs, places, sens, now, limits)
    modes = list(dict.fromkeys(way[0] for way in ways))
    rows: list[Row] = []
    for mode in modes:
        rows += level.reverse(rng) if mode == "reverse" else level.forward(rng)
    if len(modes) == 2:
        rows.append(level.inner_product(rng))
    # Along the inputs, where there are any: derivatives of both kinds are among those of that.
    weights = [] if places else subject.weights
    moved = [*(inputs[place] for place in places), *weights]
    goes_on = moved and all(row.good for row in rows) and not level.reads_what_it_stores()
    for mode in modes if goes_on else ():
        further = [way[1:] for way in ways if way[0] == mode and way[1:]]
        if further:
            along = subject.handed(tuple(_random(each, rng) for each in moved))
            make = _derivative if mode == "reverse" else _pushed
            wrt = len(inputs), tuple(places), weights
            inner = make(subject.fn, *wrt, subject.handed(sens), along)
            rows += _check(replace(subject, fn=inner), inputs, further, now + 1, rng, limits)
    return rows


class _Level:
    """One function and its derivatives of one order."""

    def __init__(
        self,
        subject: Subject,
        inputs: list[Any],
        places: list[int],
        sens: Any,
        order: int,
        limits: tuple,
    ):
        self.subject, self.inputs, self.places = subject, inputs, places
        self.sens, self.order, self.limits = sens, order, limits
        self.stored = subject.stored(inputs) if order == 1 else []
        #: What is moved: its name, its array, and the function of that array.
        self.moved = [(subject.names[n], inputs[n]._data, self._of_input(n)) for n in places]
        self.moved += [(w.name, w._data, self._of_weight(w)) for w in subject.weights]

    def _of_input(self, place: int) -> Callable[[np.ndarray], float]:
        def moved(array: np.ndarray) -> float:
            shifted = [*self.inputs[:place], wrap(array), *self.inputs[place + 1 :]]
            return _dot(self.subject.run_storing(self.stored, shifted), self.sens)

        return moved

    def _of_weight(self, weight: Parameter) -> Callable[[np.ndarray], float]:
        def moved(array: np.ndarray) -> float:
            kept = weight._data
            weight._data, step = array, array - kept
            try:
                out = self.subject.run_storing(
                    self.stored, self.inputs, lambda one: step if one is weight else 0.0
                )
                return _dot(out, self.sens)
            finally:
                weight._data = kept

        return moved

    def reads_what_it_stores(self) -> bool:
        """Whether the value depends on what is written to Parameters before it is computed."""
        if not self.stored:
            return False
        runs = (
            self.subject.run_storing(self.stored, self.inputs, lambda one, by=by: by)  # type: ignore[misc]
            for by in (0.0, 0.125)
        )
        return len({_dot(out, self.sens) for out in runs}) > 1

    def cotangents(self) -> list[Tensor]:
        """The compiled gradients in all that is moved."""
        if not self.moved:
            return []
        gradient = GradientFunction(
            self.subject.fn, self.subject.weights, position=tuple(self.places) or None,
            by_list=True, sens_param=True, numpy=self.subject.bare,
        )  # fmt: skip
        found = self.subject.derived(gradient, self.inputs, self.sens)
        if not self.places:
            return list(found)
        in_inputs, in_weights = found
        alone = len(self.places) == 1
        return [*((in_inputs,) if alone else in_inputs), *in_weights]

    def tangent(self, dots: Sequence[np.ndarray]) -> float:
        """The compiled tangent along ``dots``, for all that is moved, held against ``sens``."""
        fn, weights = self.subject.fn, self.subject.weights
        function = TangentFunction(fn, len(self.inputs), self.places, weights)
        return _dot(self.subject.derived(function, self.inputs, *map(wrap, dots))[1], self.sens)

    def reverse(self, rng: np.random.Generator) -> Iterator[Row]:
        for (name, at, moved), found in zip(self.moved, self.cotangents()):
            yield from probe(self.order, name, moved, at, found, rng, self.limits)

    def forward(self, rng: np.random.Generator) -> Iterator[Row]:
        none = [np.zeros(at.shape) for _, at, _ in self.moved]
        for number, (name, at, moved) in enumerate(self.moved):
            for along, direction in directions_in(at, self.limits[3], rng):
                got = self.tangent([*none[:number], direction, *none[number + 1 :]])
                expected = difference(moved, at, direction, self.limits[2])
                yield compared(self.order, name, along, expected, got, 0.0, self.limits, "tangent")

    def inner_product(self, rng: np.random.Generator) -> Row:
        """The tangent along a direction, and the cotangents held against it: one number."""
        along = [_random(wrap(at), rng)._data for _, at, _ in self.moved]
        terms = [float(np.sum(ct._data * dot)) for ct, dot in zip(self.cotangents(), along)]
        scale = max(map(abs, terms), default=0.0)
        got, exactly = self.tangent(along), (1e-10, 1e-12)
        return compared(
            self.order, "all", "both ways", sum(terms), got, scale, exactly, "inner product"
        )


def _is_float(x: Tensor) -> bool:
    return x._data.dtype.kind == "f"


def _derivative(
    fn: Any,
    count: int,
    places: tuple[int, ...],
    weights: Sequence[Parameter],
    sens: Any,
    along: tuple[Tensor, ...],
) -> Any:
    """The function from inputs to the derivative along ``along``: itself to be differentiated."""
    gradient = GradientFunction(
        fn, weights, position=places or None, by_list=not places, sens_param=True, numpy=True
    )
    single = len(places) == 1

    def derivative(*inputs: Any) -> Any:
        found = gradient(*inputs, sens)
        total = 0.0
        for part, direction in zip((found,) if single else found, along):
            total = total + (part * direction).sum()
        return total

    return derivative


def _pushed(
    fn: Any,
    count: int,
    places: tuple[int, ...],
    weights: Sequence[Parameter],
    sens: Any,
    along: tuple[Tensor, ...],
) -> Any:
    """As ``_derivative``, by the tangent."""
    tangent = TangentFunction(fn, count, places, weights)

    def pushed(*inputs: Any) -> Any:
        return contracted(tangent(*inputs, *along)[1], sens)

    return pushed


def contracted(out: Any, sens: Any) -> Any:
    """The inner product of two values of one structure."""
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
def _doubled(fn: Any, weights: Sequence[Parameter]) -> Iterator[None]:
    """Whatever is float32 in float64, and Cells called as Python."""
    mode = get_context("mode")
    kept = [(parameter, parameter._data) for parameter in state(fn, weights)]
    set_context(mode=PYNATIVE_MODE)
    try:
        for parameter, value in kept:
            parameter._data = value.astype(np.float64) if value.dtype.kind == "f" else value.copy()
        with double_precision():
            yield
    finally:
        set_context(mode=mode)
        for parameter, value in kept:
            parameter._data = value


def _is_bare(value: Any) -> bool:
    """Whether this is a tensor, an array or a number, and no container."""
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
    """A random sensitivity in the structure of ``out``."""
    if isinstance(out, Tensor):
        return _random(out, rng)
    if isinstance(out, (tuple, list)):
        return tuple(_like(item, rng) for item in out)
    if isinstance(out, dict):
        return {key: _like(item, rng) for key, item in out.items()}
    return out


def _random(like: Tensor, rng: np.random.Generator) -> Tensor:
    return wrap(np.asarray(rng.uniform(0.5, 1.5, like.shape) * rng.choice([-1.0, 1.0], like.shape))
                .astype(like._data.dtype))  # fmt: skip


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
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [p.name for p in parameters if p.kind in kinds]
    return [*known, *(f"input {n}" for n in range(len(known), count))][:count]


__all__ = ["Report", "Row", "check_grads"]
