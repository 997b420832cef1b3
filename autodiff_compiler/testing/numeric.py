"""``check_grads``: the compiled gradient against central differences of plain Python.

The function is run as Python, in float64, a little to both sides of the inputs. Two step sizes and
Richardson's formula leave an error of fourth order, far below the tolerance. Every input and every
parameter is probed by itself, along random directions and at single elements, so that a wrong sign
cannot hide. Order two does the same to the gradient.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autodiff_compiler.common.cell import Cell
from autodiff_compiler.common.context import PYNATIVE_MODE, get_context, set_context
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.seed import replayed
from autodiff_compiler.common.tensor import Tensor, wrap
from autodiff_compiler.ir.opdef import double_precision
from autodiff_compiler.ops.gradient import GradientFunction, GradOperation
from autodiff_compiler.ops.transform import unwrapped

#: Inputs with no more elements than this are probed at each of them.
EACH_ELEMENT = 6


@dataclass(frozen=True)
class Row:
    """One comparison: of which order, in what, along which direction, and both numbers."""

    order: int
    name: str
    probe: str
    expected: float
    got: float
    error: float
    good: bool


@dataclass(frozen=True)
class Report:
    """All comparisons of one check; prints as a table."""

    rows: tuple[Row, ...] = field(default=())

    def __str__(self) -> str:
        head = f"{'order':5}  {'of':16}  {'along':14}  {'expected':>18}  {'got':>18}  {'error':>9}"
        return "\n".join(
            [head]
            + [
                f"{row.order:5}  {row.name:16}  {row.probe:14}  {row.expected:18.10g}  "
                f"{row.got:18.10g}  {row.error:9.1e}" + ("" if row.good else "  WRONG")
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
) -> Report:
    """Compares the compiled gradients of ``fn`` with numeric ones, up to ``order``.

    inputs      tensors, arrays and numbers; floating ones are taken to float64 and checked,
                others are passed as they are.
    weights     the Parameters to check; a Cell's trainable ones by default.
    rtol        the error allowed, relative to the largest term of what is compared.

    Raises AssertionError where they disagree. Parameters get their values back in any case.
    """
    if set(modes) != {"reverse"}:
        raise ValueError(f"the only mode is 'reverse', but modes is {tuple(modes)}")
    target = unwrapped(fn)
    if weights is None:
        weights = target.trainable_params() if isinstance(target, Cell) else ()
    weights = [weight for weight in weights if weight._data.dtype.kind == "f"]
    given = [_double(value) for value in inputs]
    rng = np.random.default_rng(seed)
    limits = (rtol, atol, step, directions)
    with _doubled(target, weights):
        rows = _check(target, given, weights, order, 1, rng, limits)
    report = Report(tuple(rows))
    wrong = [row for row in rows if not row.good]
    if wrong:
        first = wrong[0]
        raise AssertionError(
            f"the gradient of order {first.order} in '{first.name}' is wrong along {first.probe}: "
            f"expected {first.expected:.10g}, got {first.got:.10g} "
            f"(relative error {first.error:.1e})\n{report}"
        )
    return report


def _check(
    fn: Any,
    inputs: list[Any],
    weights: list[Parameter],
    order: int,
    now: int,
    rng: np.random.Generator,
    limits: tuple,
) -> list[Row]:
    """The rows of this order and of those above it."""
    out = _run(fn, inputs, weights)
    sens = _like(out, rng)
    gradient = GradOperation(get_all=True, get_by_list=True, sens_param=True)(fn, weights)
    with _kept(fn, weights), replayed():
        in_inputs, in_weights = gradient(*inputs, sens)
    tensors = [(place, x) for place, x in enumerate(inputs) if isinstance(x, Tensor)]
    names = _names(fn, len(inputs))
    rows: list[Row] = []
    for (place, x), found in zip(tensors, in_inputs):
        if x._data.dtype.kind == "f":

            def moved(array: np.ndarray, place: int = place) -> float:
                shifted = [*inputs[:place], wrap(array), *inputs[place + 1 :]]
                return _dot(_run(fn, shifted, weights), sens)

            rows += _probe(now, names[place], moved, x._data, found, rng, limits)
    for weight, found in zip(weights, in_weights):
        value = weight._data

        def moved_weight(array: np.ndarray, weight: Parameter = weight) -> float:
            kept = weight._data
            weight._data = array
            try:
                return _dot(_run(fn, inputs, weights), sens)
            finally:
                weight._data = kept

        rows += _probe(now, weight.name, moved_weight, value, found, rng, limits)
    if now < order and tensors and all(row.good for row in rows):
        first = GradOperation(get_all=True, sens_param=True)(fn)
        along = tuple(_random(x, rng) for _, x in tensors)
        rows += _check(
            _derivative(first, sens, along), inputs, weights, order, now + 1, rng, limits
        )
    return rows


def _derivative(gradient: GradientFunction, sens: Any, along: tuple[Tensor, ...]) -> Any:
    """The function from inputs to the derivative along ``along``: itself to be differentiated."""

    def derivative(*inputs: Any) -> Any:
        total = 0.0
        for part, direction in zip(gradient(*inputs, sens), along):
            total = total + (part * direction).sum()
        return total

    return derivative


def _probe(
    order: int,
    name: str,
    function: Callable[[np.ndarray], float],
    at: np.ndarray,
    gradient: Tensor,
    rng: np.random.Generator,
    limits: tuple,
) -> Iterator[Row]:
    rtol, atol, step, directions = limits
    found = gradient.asnumpy()
    if found.shape != at.shape:
        raise AssertionError(
            f"the gradient of order {order} in '{name}' has the shape {found.shape}, "
            f"but '{name}' has {at.shape}"
        )
    for probe, direction in _directions(at, directions, rng):
        terms = found * direction
        got = float(terms.sum())
        expected = _difference(function, at, direction, step)
        scale = max(abs(expected), float(np.abs(terms).max(initial=0.0)))
        distance = abs(got - expected)
        good = bool(distance <= atol + rtol * scale)
        yield Row(order, name, probe, expected, got, distance / max(scale, atol), good)


def _directions(
    at: np.ndarray, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray]]:
    for number in range(count if at.size > 1 else 0):
        yield (
            f"direction {number + 1}",
            rng.choice([-1.0, 1.0], at.shape) * (0.5 + rng.random(at.shape)),
        )
    few = min(at.size, EACH_ELEMENT)
    for flat in sorted(rng.choice(at.size, few, replace=False)) if few else ():
        place = np.unravel_index(flat, at.shape)
        unit = np.zeros(at.shape)
        unit[place] = 1.0
        yield f"element {[int(k) for k in place]}", unit


def _difference(
    function: Callable[[np.ndarray], float], at: np.ndarray, direction: np.ndarray, step: float
) -> float:
    """The derivative along ``direction``: Richardson's formula on two central differences."""

    def central(h: float) -> float:
        return (function(at + h * direction) - function(at - h * direction)) / (2.0 * h)

    return (4.0 * central(step / 2.0) - central(step)) / 3.0


def _run(fn: Any, inputs: Sequence[Any], weights: Sequence[Parameter]) -> Any:
    """``fn`` as plain Python. State that it changes, that of generators too, is put back."""
    method = fn.construct if isinstance(fn, Cell) else fn
    copies = [wrap(x._data.copy()) if isinstance(x, Tensor) else x for x in inputs]
    with _kept(fn, weights), replayed():
        return method(*copies)


@contextmanager
def _kept(fn: Any, weights: Sequence[Parameter]) -> Iterator[None]:
    """Parameters have the values again afterwards that they had before."""
    kept = [(parameter, parameter._data) for parameter in _state(fn, weights)]
    try:
        yield
    finally:
        for parameter, value in kept:
            parameter._data = value


def _state(fn: Any, weights: Sequence[Parameter]) -> list[Parameter]:
    found = list(fn.get_parameters()) if isinstance(fn, Cell) else []
    return list({id(p): p for p in (*found, *weights)}.values())


@contextmanager
def _doubled(fn: Any, weights: Sequence[Parameter]) -> Iterator[None]:
    """Whatever is float32 in float64, and Cells called as Python."""
    mode = get_context("mode")
    kept = [(parameter, parameter._data) for parameter in _state(fn, weights)]
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
