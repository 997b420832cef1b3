"""What must hold for every random program: the value, the gradients, and both levels agree.

A program is run as plain Python in float64, and that is the reference: for the value directly, for
what it prints, writes to its Cell and raises, and for gradients by central differences along one
random direction of all inputs and weights together.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Tensor, api, ops, pipeline
from autodiff_compiler.common.context import PYNATIVE_MODE, get_context, set_context
from autodiff_compiler.common.parameter import replacing_stored_values
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.errors import CompileError
from autodiff_compiler.passes.simplify.resolve_empty_sums import EMPTY_SUM
from autodiff_compiler.runtime.dispatch import Runtime

COUNTS = ((2, 3), (0, 1))
STEPS = (1e-3, 1e-4, 1e-5)
#: A slope at which the rounding of an input moves the result by more than differences may err.
STEEP = 1e-5 / np.finfo(np.float64).eps
FIRST = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)
INPUTS_ONLY = ops.GradOperation(get_all=True, sens_param=True)
SECOND = ops.GradOperation(get_all=True, get_by_list=True)
SMALL = {
    "large_bytes": 1, "medium_bytes": 1, "tape_row_bytes": 1, "rematerialised_bytes": 1,
    "computed_in_row_bytes": 1, "tile_bytes": 16, "smallest_tile_bytes": 4, "cache_bytes": 48,
    "full_tiles": 1, "tiled_operations": 0,
}  # fmt: skip


class Wrong(AssertionError):
    """The compiled program differs from the plain one."""


def loaded(name: str, text: str, folder: Path) -> Any:
    """The module of this text, which is written to ``folder``."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def strict(small: bool, seed: int, items: int = 1) -> Iterator[None]:
    """Where ``small``, arrays count as large, and every stage is verified.

    Half of the seeds are compiled at level 2, where arrays run in tiles, too.

    Rows of ``items`` numbers run in some 32 tiles at most: the sum of the tiles' sums is rounded
    as often as there are tiles, and NumPy's own is not.
    """
    if not small:
        yield
        return
    tile = max(SMALL["tile_bytes"], items // 4)
    costs = {**SMALL, "tile_bytes": tile, "cache_bytes": 3 * tile}
    before = get_context("opt_level")
    set_context(opt_level=1 + seed // 2 % 2)
    try:
        with mock.patch.object(pipeline, "VERIFY", True), changed_costs(**costs):
            yield
    finally:
        set_context(opt_level=before)


def outcome(seed: int, program: type, order: int = 1, small: bool = False) -> str:
    """'ok', 'refused: …' (with a caret), or why a program could not be judged; raises Wrong."""
    try:
        with strict(small, seed), contextlib.redirect_stdout(io.StringIO()):
            return _Trial(seed, program, order).run()
    except CompileError as error:
        if any(problem.span is None for problem in error.problems):
            raise Wrong(f"refused without a place: {error}") from None
        return f"refused: {error.problems[0].cause}"
    except ValueError as error:
        return refused_when_called(error)


def refused_when_called(error: ValueError) -> str:
    """The outcome of a program that the compiled code refuses; raises other errors again."""
    if str(error) != EMPTY_SUM:
        raise error
    return "refused when called: the sum of an empty list of arrays"


class _Trial:
    def __init__(self, seed: int, program: type, order: int) -> None:
        self.rng, self.order = np.random.RandomState(seed), order
        self.cell = program()
        self.weights = self.cell.trainable_params()
        shapes = (3,), (3,), (2, 3)
        self.tensors = [Tensor(self.rng.uniform(-1, 1, shape)) for shape in shapes]
        self.integers = Tensor(self.rng.randint(0, 3, (3,)))
        parts = [*self.tensors, *self.weights]
        self.along = [self.rng.uniform(-1, 1, part.shape) for part in parts]
        self.begun = {name: getattr(self.cell, name) for name in self.cell.WRITTEN}
        self.seen = self.cell.seen.asnumpy().copy()
        self.moves: dict[int, np.ndarray] = {}
        self.held = [weight.asnumpy().copy() for weight in self.weights]
        self.plainest = Runtime(_plainest)

    def run(self) -> str:
        compiled = ms.jit(self.cell)
        for counts in COUNTS:
            inputs = (*self.tensors, *counts, self.integers)
            try:
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    plain = kept(self.plain(inputs))
            except Exception as error:
                return self.must_fail(error, compiled, inputs)
            if max((np.abs(leaf).max() for leaf in leaves(plain)), default=0.0) > 1e5:
                return "large"
            effects = said.getvalue(), *self.written()
            before = [tensor.asnumpy().copy() for tensor in inputs if isinstance(tensor, Tensor)]
            with self.affecting(effects):
                value = compiled(*inputs)
            alike("the value", value, plain, 1e-9)
            verdict = self.gradients(inputs, plain, effects)
            left = [tensor.asnumpy() for tensor in inputs if isinstance(tensor, Tensor)]
            if not all(map(np.array_equal, before, left)):
                raise Wrong("an input was changed")
            if verdict != "ok":
                return verdict
        return "ok"

    def must_fail(
        self, expected: Exception, compiled: Callable[..., Any], inputs: Sequence[Any]
    ) -> str:
        """Where Python raises, so must the compiled program, or the compiler."""
        try:
            compiled(*inputs)
        except CompileError:
            raise
        except Exception as error:
            if type(error) is not type(expected) or str(error) != str(expected):
                raise Wrong(f"raised {error!r}, but should {expected!r}") from None
            return "raises"
        raise Wrong(f"does not raise {expected!r}")

    # ---- what a run leaves behind

    def restore(self) -> None:
        """Puts back what a run wrote to the Cell."""
        vars(self.cell).update(self.begun)
        self.cell.seen._data = self.seen.copy()
        for weight, held in zip(self.weights, self.held):
            weight._data = held.copy()

    def written(self) -> list[Any]:
        parameters = [part.copy() for part in (self.cell.seen, *self.weights)]
        return [*(getattr(self.cell, name) for name in self.begun), *parameters]

    @contextlib.contextmanager
    def affecting(self, expected: Sequence[Any]) -> Iterator[None]:
        """A run in here prints and writes what the plain one does, once."""
        self.restore()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            yield
        if said.getvalue() != expected[0]:
            raise Wrong(f"printed {said.getvalue()!r}, but should {expected[0]!r}")
        for one, other in zip(self.written(), expected[1:]):
            if not np.allclose(*(getattr(v, "_data", v) for v in (one, other)), rtol=1e-9):
                raise Wrong(f"left {one} behind, but should {other}")
        self.restore()

    # ---- gradients

    def gradients(self, inputs: Sequence[Any], plain: Any, effects: Sequence[Any]) -> str:
        sens = like(plain, self.rng)
        gradient = FIRST(self.cell, self.weights)
        with self.affecting(effects):
            found = floats(gradient(*inputs, sens))
        stored = self.stored(inputs)
        verdict = self.agrees(
            "gradient", found, lambda *given: dot(self.plain_storing(stored, given), sens), inputs
        )
        with self.affecting(effects):
            level_0 = floats(self.plainest.run_gradient(gradient, (*inputs, sens), {}))
        alike("the gradient at level 0", level_0, found, 1e-8)
        if verdict != "ok" or self.order < 2:
            return verdict
        self.restore()
        moved = self.plain_storing([value + 0.125 for value in stored], inputs)
        self.restore()
        if dot(moved, sens) != dot(plain, sens):
            return "ok"  # a gradient holds still what is stored; differences of it do not
        return self.second(inputs, sens)

    def stored(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """What a run stores in Parameters, in order."""
        found: list[np.ndarray] = []
        self.restore()
        with replacing_stored_values(lambda _, value: found.append(value) or value):  # type: ignore[func-returns-value]
            self.plain(inputs)
        self.restore()
        return found

    def plain_storing(self, stored: Sequence[np.ndarray], inputs: Sequence[Any]) -> Any:
        """``plain``, storing these in the place of what it computes: no gradient passes there."""
        values = iter(stored)

        def instead(parameter: Any, value: np.ndarray) -> np.ndarray:
            # What is read after a write counts for the Parameter.
            return next(values, value) + self.moves.get(id(parameter), 0)

        with replacing_stored_values(instead):
            return self.plain(inputs)

    def second(self, inputs: Sequence[Any], sens: Any) -> str:
        first, along = INPUTS_ONLY(self.cell), [Tensor(part) for part in self.along]

        def derivative(x: Any, y: Any, m: Any, n: int, k: int, j: Any) -> Any:
            a, b, c = first(x, y, m, n, k, j, sens)[:3]
            return (a * along[0]).sum() + (b * along[1]).sum() + (c * along[2]).sum()

        self.restore()
        found = floats(SECOND(derivative, self.weights)(*inputs))
        return self.agrees(
            "second derivative", found, lambda *given: float(derivative(*given).asnumpy()), inputs
        )

    def agrees(
        self, name: str, found: Sequence[Any], function: Callable[..., float], inputs: Sequence[Any]
    ) -> str:
        got = sum(float(np.sum(g.asnumpy() * d)) for g, d in zip(found, self.along))
        if abs(got) > STEEP:
            return "steep"
        wanted = []
        for step in steps_for(got):
            wide, narrow = (self.central(function, inputs, h) for h in (step, step / 2))
            wanted.append((4 * narrow - wide) / 3)
            if abs(wanted[-1] - got) <= 5e-6 * max(1.0, abs(got)):
                return "ok"
        if abs(wanted[2]) > 5 * abs(wanted[1]) > 25 * abs(wanted[0]):
            return "jump"  # the program is not continuous here
        raise Wrong(f"the {name} is {got}, but differences say {wanted}")

    def central(self, function: Callable[..., float], inputs: Sequence[Any], h: float) -> float:
        return (self.moved(function, inputs, h) - self.moved(function, inputs, -h)) / (2 * h)

    def moved(self, function: Callable[..., float], inputs: Sequence[Any], by: float) -> float:
        """``function`` with inputs and weights moved along the direction."""
        kept, count = [weight._data for weight in self.weights], len(self.tensors)
        tensors = [Tensor(t.asnumpy() + by * d) for t, d in zip(self.tensors, self.along)]
        self.restore()
        try:
            for weight, data, d in zip(self.weights, kept, self.along[count:]):
                weight._data = data + by * d
                self.moves[id(weight)] = by * d
            return function(*tensors, *inputs[count:])
        finally:
            for weight, data in zip(self.weights, kept):
                weight._data = data
            self.moves.clear()
            self.restore()

    def plain(self, inputs: Sequence[Any]) -> Any:
        """The program run as Python, on copies."""
        mode = get_context("mode")
        set_context(mode=PYNATIVE_MODE)
        try:
            return self.cell.construct(
                *(part.copy() if isinstance(part, Tensor) else part for part in inputs)
            )
        finally:
            set_context(mode=mode)


def _plainest(fn: Any, request: Any, *rest: Any) -> Any:
    return api._compile(fn, replace(request, opt_level=0), *rest)


def steps_for(slope: float) -> list[float]:
    """The steps of differences; shorter ones, too, where the slope is steep: a program such as
    ``sin(1e8 * x)`` turns many times within a step of ``1e-5``."""
    return [*STEPS, *(step / abs(slope) for step in STEPS if abs(slope) > 1 / STEPS[0])]


def floats(gradient: tuple[tuple[Tensor, ...], ...]) -> list[Tensor]:
    """The gradients of inputs, then of weights, without those of whole numbers."""
    return [part for group in gradient for part in group if part.asnumpy().dtype.kind == "f"]


def leaves(value: Any) -> list[np.ndarray]:
    """The arrays of a result, in order."""
    if isinstance(value, Tensor):
        return [value.asnumpy()]
    items = value.values() if isinstance(value, dict) else value
    return [leaf for item in items for leaf in leaves(item)]


def kept(value: Any) -> Any:
    """A result that no later run changes, though it be a Parameter."""
    if isinstance(value, Tensor):
        return Tensor(value.asnumpy().copy())
    if isinstance(value, dict):
        return {key: kept(item) for key, item in value.items()}
    return type(value)(map(kept, value))


def structure(value: Any) -> Any:
    """A result without its numbers."""
    if isinstance(value, Tensor):
        return str(value.dtype), value.shape
    if isinstance(value, dict):
        return {key: structure(item) for key, item in value.items()}
    return type(value), [structure(item) for item in value]


def alike(name: str, found: Any, expected: Any, tolerance: float) -> None:
    """Equal structure and nearly equal numbers, or Wrong."""
    if structure(found) != structure(expected):
        raise Wrong(f"{name} is {structure(found)}, but should be {structure(expected)}")
    for one, other in zip(leaves(found), leaves(expected)):
        if not np.allclose(one, other, rtol=tolerance, atol=tolerance):
            raise Wrong(f"{name} is {one}, but should be {other}")


def like(value: Any, rng: np.random.RandomState) -> Any:
    """A random sensitivity for a result."""
    if isinstance(value, Tensor):
        signs = rng.choice([-1.0, 1.0], value.shape)
        return Tensor(np.asarray(rng.uniform(0.5, 1.5, value.shape) * signs))
    if isinstance(value, dict):
        return {key: like(item, rng) for key, item in value.items()}
    return tuple(like(item, rng) for item in value)


def dot(out: Any, sens: Any) -> float:
    return sum(float(np.sum(a * b)) for a, b in zip(leaves(out), leaves(sens)))
