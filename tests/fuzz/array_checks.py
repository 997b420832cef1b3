"""What must hold for every random array program, over several calls in a row.

The reference is NumPy itself: the program run as plain Python on copies that lie in memory as the
inputs do. Values, shapes and dtypes must be its own; gradients are held against central differences
of the same program in float64, along one random direction of all inputs. Between calls an object
changes, and inputs of another size and layout come. What earlier calls returned must stay as it
was, and writing to it must not show in later calls.
"""

from __future__ import annotations

import ast
import inspect
import random
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import api
from autodiff_compiler.errors import CompileError
from autodiff_compiler.runtime.dispatch import Runtime
from tests.fuzz.arrays import ArrayWriter, Form
from tests.fuzz.checks import Wrong, refused_when_called, strict
from tests.fuzz.settings import Settings, apply_change

WRT = (0, 1, 2, 3)
#: Steps of differences, the error allowed of a slope, and the rounding of a result: for programs in
#: float64 alone, for others whose differences are taken in float64, and for the rest.
EXACT = ((1e-3, 1e-4, 1e-5, 1e-6), 5e-6, 0.0)
ROUNDED = ((1e-3, 1e-5, 1e-6, 1e-7), 2e-3, 0.0)
COARSE = ((5e-2, 2e-2, 1e-2), 4e-3, 1e-6)
#: The elements of each input that a direction moves, if it moves few.
FEW = 12
#: Seconds of processor after which a program is not judged: a loop over the items of a large array
#: that computes with all of it in each turn keeps gigabytes for its gradient.
LONGEST = 0.1
#: Names of a program whose copies and dtypes may hang on the dtypes of its inputs.
DTYPES = {"astype", "dtype", "float", "float32", "float64", "('dtype',)"}


class _Skip(Exception):
    """The program cannot be judged; the message says why."""


def array_outcome(
    seed: int, program: Callable[..., Any], order: int = 1, small: bool = False
) -> str:
    """'ok', 'refused: …', or why a program could not be judged; raises Wrong."""
    try:
        form = ArrayWriter(seed).form
        with strict(small, seed, form.size), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _ArrayTrial(seed, program, order, form).run()
    except CompileError as error:
        if any(problem.span is None for problem in error.problems):
            raise Wrong(f"refused without a place: {error}") from None
        return f"refused: {error.problems[0].cause}"
    except _Skip as why:
        return str(why)
    except ValueError as error:
        return refused_when_called(error)


class _ArrayTrial:
    def __init__(self, seed: int, program: Callable[..., Any], order: int, form: Form) -> None:
        self.seed, self.program, self.order, self.form = seed, program, order, form
        self.random = random.Random(seed)
        self.gradient = ms.value_and_grad(program, WRT, None, has_aux=True)
        self.cfg = Settings()
        self.kept: list[tuple[np.ndarray, np.ndarray]] = []
        self.plainest = Runtime(_plainest)
        self.takes_long = False
        tree = ast.parse(inspect.getsource(program))
        self.blocks = any(isinstance(node, (ast.For, ast.If, ast.While)) for node in ast.walk(tree))
        self.sorts = any(isinstance(n, ast.Attribute) and n.attr == "sort" for n in ast.walk(tree))

    def run(self) -> str:
        first = self.call(self.form, 1, 3)
        self.value_only(self.form, 2, 3)
        name = apply_change(self.cfg, self.random)
        try:
            self.call(self.form, 1, 3)
        except Wrong as wrong:
            raise Wrong(f"after a change of {name}: {wrong}") from None
        if self.form.size < 100:
            longer = replace(self.form, size=self.form.size + 1, layouts=("plain",) * 3)
            self.call(longer, 3, 2)
        for result in first:
            if result.flags.writeable:
                result[...] = 7
        self.kept = [(array, copy) for array, copy in self.kept if id(array) not in map(id, first)]
        self.value_only(self.form, 1, 3)
        return "ok" if self.order < 2 or self.form.size > 100 else self.second()

    # ---- one call

    def call(self, form: Form, seed: int, n: int) -> list[np.ndarray]:
        """Call for value and gradient, and judge both; the arrays that came back."""
        inputs, own = (form.inputs(self.seed + seed, n) for _ in range(2))
        expected = self.plain(own)
        value, slopes = self.unchanged(self.gradient, inputs)
        self.value_agrees("the value", value, expected, form, seed, n)
        for slope, given in zip(slopes, inputs):
            number = isinstance(given, float)  # weak: its gradient is as wide as what it joins
            if np.shape(slope) != np.shape(given) or _dtype(slope) != _dtype(given) and not number:
                shapes = f"{_dtype(slope)}{np.shape(slope)}", f"{_dtype(given)}{np.shape(given)}"
                raise Wrong(f"a gradient is {shapes[0]}, but its input {shapes[1]}")
        self.stays()
        self.agrees("gradient", slopes, self.loss, form, seed, n)
        if self.seed % 4 == 1:
            _, level_0 = self.plainest.run_gradient(self.gradient, (*inputs, self.cfg), {})
            level_0 = [
                np.asarray(part, _dtype(slope)) if isinstance(given, float) else part
                for part, slope, given in zip(level_0, slopes, inputs)
            ]
            same("the gradient at level 0", level_0, slopes, self.tolerance(form))
        found = [part for part in (*value, *slopes) if isinstance(part, np.ndarray)]
        self.kept += [(part, part.copy()) for part in found]
        return found

    def value_only(self, form: Form, seed: int, n: int) -> None:
        inputs, own = (form.inputs(self.seed + seed, n) for _ in range(2))
        expected = self.plain(own)
        value, _ = self.unchanged(self.gradient, inputs)
        self.value_agrees("the value of a later call", value, expected, form, seed, n)
        self.stays()

    def value_agrees(
        self, name: str, value: Any, expected: Any, form: Form, seed: int, n: int
    ) -> None:
        """Hold a value against NumPy's. A variable that has two dtypes on two paths has the wider
        one after them, so a comparison near the rounding may turn out as in float64."""
        try:
            same(name, value, expected, self.tolerance(form), self.blocks)
        except Wrong:
            if not self.blocks or len(set(form.dtypes)) < 2 or not self.widens():
                raise
            inputs = form.inputs(self.seed + seed, n)
            wide = [laid_as(x, np.float64) if isinstance(x, np.ndarray) else x for x in inputs]
            expected = self.plain(wide)
            found = [np.asarray(part, _dtype(other)) for part, other in zip(value, expected)]
            same(name, found, expected, self.tolerance(form))
            raise _Skip("a comparison near the rounding") from None

    def unchanged(self, gradient: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """What the gradient function answers; it must not write to its inputs."""
        before = [np.array(part) for part in inputs]
        shift = self.cfg.shift.copy()
        try:
            answer = gradient(*inputs, self.cfg)
        except CompileError:
            raise
        except MemoryError:
            if self.takes_long:
                raise _Skip("keeps gigabytes") from None
            raise Wrong("needs more memory than its function has time to touch") from None
        except Exception as error:
            raise Wrong(f"raised {type(error).__name__}: {error}") from error
        if not all(map(np.array_equal, before, inputs)) or not np.array_equal(
            shift, self.cfg.shift
        ):
            raise Wrong("an input was changed")
        return answer

    def stays(self) -> None:
        if not all(np.array_equal(array, copy, equal_nan=True) for array, copy in self.kept):
            raise Wrong("a later call changed what an earlier one returned")

    def plain(self, inputs: Sequence[Any]) -> Any:
        """The program run by Python, on inputs that are its own."""
        begun = time.process_time()
        try:
            value = self.program(*inputs, self.cfg)
        except Exception as error:
            raise _Skip(f"raises {type(error).__name__}") from None
        if not isinstance(value, tuple) or not value or np.ndim(value[0]):
            raise _Skip("does not return a number first")
        self.takes_long = time.process_time() - begun > LONGEST
        if self.form.size > 1000 and self.takes_long:
            raise _Skip("takes long")
        if not all(np.all(np.abs(np.asarray(part)) < 1e4) for part in value):
            raise _Skip("large")
        return value

    def tolerance(self, form: Form) -> float:
        return 1e-9 if self.exact(form) else 2e-3

    def exact(self, form: Form) -> bool:
        """Return True if the program computes in float64 alone."""
        return set(form.dtypes) == {"f8"} and "float32" not in self.program.__code__.co_names

    def widens(self) -> bool:
        """Return True if the program does the same, in float64, when its inputs are float64."""
        code = self.program.__code__
        return DTYPES.isdisjoint({*code.co_names, *map(str, code.co_consts)})

    # ---- gradients

    def loss(self, inputs: Sequence[Any]) -> float:
        return float(self.plain(inputs)[0])

    def agrees(
        self,
        name: str,
        slopes: Sequence[Any],
        function: Callable[[Sequence[Any]], float],
        form: Form,
        seed: int,
        n: int,
        moves_few: bool = False,
    ) -> None:
        """Hold slopes against differences along one direction of all inputs.

        With ``moves_few`` the direction moves a few elements of each input. Of many thousands some
        cross the bound of a mask in every step, however small, and differences count their jumps.
        """
        if self.sorts and form.size > 1000:
            raise _Skip("sorted items change places within a step")
        rng = np.random.RandomState(self.seed)
        along = [rng.uniform(-1, 1, np.shape(slope)) for slope in slopes]
        if moves_few:
            along = [few_of(direction, rng) for direction in along]
        if form.layouts[2] == "broadcast":
            along[2] = np.broadcast_to(along[2][:1], along[2].shape)
        got = sum(float(np.sum(slope * d)) for slope, d in zip(slopes, along))

        def at(h: float) -> float:
            inputs = list(form.inputs(self.seed + seed, n))
            for place, direction in enumerate(along):
                inputs[place] = moved(inputs[place], h * direction, self.widens())
            return function(inputs)

        rounded = ROUNDED if self.widens() else COARSE
        steps, allowed, rounding = EXACT if self.exact(form) else rounded
        wanted, sides = [], []
        for h in steps:
            up, down, middle = at(h), at(-h), at(0.0)
            wide, narrow = (up - down) / (2 * h), (at(h / 2) - at(-h / 2)) / h
            wanted.append((4 * narrow - wide) / 3)
            sides.append(abs(up - 2 * middle + down) / h)
            scale = max(1.0, abs(got), abs(wanted[-1]))
            noise = rounding * max(1.0, abs(up), abs(down)) / h
            if abs(wanted[-1] - got) <= allowed * scale + noise:
                return
        explained = min(10 * (allowed + noise), 0.5 * abs(wanted[-1] - got))
        if sides[-1] > 0.3 * sides[0] and sides[-1] > explained:
            raise _Skip("jump or kink")
        if max(wanted) - min(wanted) > 0.25 * abs(wanted[-1] - got):
            raise _Skip("differences do not converge")
        if form.size > 1000 and not moves_few:
            self.agrees(name, slopes, function, form, seed, n, moves_few=True)
            raise _Skip("elements cross the bound of a mask in every step")
        wider = replace(form, dtypes=("f8",) * 3)
        if self.widens() and form.dtypes != wider.dtypes and name == "gradient":
            # The differences were taken in float64. So is the gradient of inputs in float64; that
            # of float32 may be off by the rounding of sums that cancel.
            _, exact = self.unchanged(self.gradient, wider.inputs(self.seed + seed, n))
            total = sum(float(np.sum(slope * d)) for slope, d in zip(exact, along))
            near = abs(total - got) < 0.1 * max(1.0, abs(got))
            if near or not self.is_same_loss(form, wider, seed, n):
                self.agrees(name, exact, function, wider, seed, n)
                raise _Skip("rounding of float32" if near else "a comparison near the rounding")
        raise Wrong(f"the {name} is {got}, but differences say {wanted}")

    def is_same_loss(self, form: Form, wider: Form, seed: int, n: int) -> bool:
        """Return True if inputs of float64 give the same loss, but for rounding.

        They do not if rounding decides a comparison, such as that of a float32 array with the
        float64 array that was written to it.
        """
        one, other = (self.loss(each.inputs(self.seed + seed, n)) for each in (form, wider))
        return abs(one - other) <= self.tolerance(form) * max(1.0, abs(other))

    def second(self) -> str:
        """Hold the gradient of a direction of the gradient against differences of it."""
        form = replace(self.form, dtypes=("f8",) * 3)
        first = ms.grad(self.program, WRT, None, has_aux=True)
        rng = np.random.RandomState(self.seed + 9)
        shapes = [np.shape(part) for part in form.inputs(self.seed, 3)[:4]]
        a, b, c, d = (rng.uniform(-1, 1, shape) for shape in shapes)

        def derivative(x, y, m, s, n, cfg):
            x_, y_, m_, s_ = first(x, y, m, s, n, cfg)[0]
            return np.sum(x_ * a) + np.sum(y_ * b) + np.sum(m_ * c) + s_ * float(d)

        slopes = ms.grad(derivative, WRT)(*form.inputs(self.seed + 1, 3), self.cfg)

        def at(inputs: Sequence[Any]) -> float:
            return float(derivative(*inputs, self.cfg))

        self.agrees("second derivative", slopes, at, form, 1, 3)
        return "ok"


def _plainest(fn: Any, request: Any, *rest: Any) -> Any:
    return api._compile(fn, replace(request, opt_level=0), *rest)


def few_of(direction: Any, rng: np.random.RandomState) -> np.ndarray:
    """Return a direction with only a few elements; a number, which may move all, has none."""
    direction = np.asarray(direction)
    few = rng.permutation(direction.size).reshape(direction.shape) < FEW * bool(direction.ndim)
    return direction * few


def moved(given: Any, by: Any, widen: bool = False) -> Any:
    """Return ``given + by``, lying in memory as ``given`` does; with ``widen``, in float64."""
    if isinstance(given, float):
        return given + float(by)
    if widen and given.dtype != np.float64:
        given = laid_as(given, np.float64)
    total = np.asarray(given + by, given.dtype)
    if given.flags.writeable:
        given[...] = total
        return given
    if 0 in given.strides and given.size:
        return np.broadcast_to(total[:1], total.shape)
    total.flags.writeable = False
    return total


def laid_as(given: np.ndarray, dtype: Any) -> np.ndarray:
    """Return ``given`` cast to ``dtype``, with the same strides in items, and as writable."""
    if 0 in given.strides and given.size:
        return np.broadcast_to(given[:1].astype(dtype), given.shape)
    if any(stride < 0 for stride in given.strides):
        return laid_as(given[..., ::-1], dtype)[..., ::-1]
    if not given.flags.forc:
        held = np.zeros((*given.shape[:-1], 2 * given.shape[-1]), dtype)
        held[..., ::2] = given
        return held[..., ::2]
    cast = given.astype(dtype, order="K")
    cast.flags.writeable = given.flags.writeable
    return cast


def _dtype(value: Any) -> np.dtype:
    return np.asarray(value).dtype


def same(name: str, found: Any, expected: Any, tolerance: float, widens: bool = False) -> None:
    """Equal count, shapes and dtypes, and nearly equal numbers, or Wrong; with ``widens``, a dtype
    may be wider."""
    if len(found) != len(expected):
        raise Wrong(f"{name} has {len(found)} parts, but should have {len(expected)}")
    for number, (one, other) in enumerate(zip(found, expected)):
        widened = np.result_type(_dtype(one), _dtype(other)) if widens else _dtype(other)
        if _dtype(one) != widened or np.shape(one) != np.shape(other):
            told = f"{_dtype(one)}{np.shape(one)}", f"{_dtype(other)}{np.shape(other)}"
            raise Wrong(f"{name} has {told[0]} as part {number}, but should have {told[1]}")
        if not np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True):
            raise Wrong(f"{name} has {one} as part {number}, but should have {other}")
