"""Compares a call as compiled with NumPy's own: value, dtype, shape, exception and gradient."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError
from tests.numpy_arguments.draw import Draw

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4}


class Wrong(AssertionError):
    """The compiled call differs from NumPy's."""


def compiled_text(text: str, number: list[int] = [0]) -> Callable[..., Any]:  # noqa: B006
    """The function ``f`` of a text, whose source Python finds again."""
    number[0] += 1
    name = f"<numpy arguments {number[0]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def leaves(thing: Any) -> list[Any]:
    if isinstance(thing, (tuple, list)):
        return [leaf for item in thing for leaf in leaves(item)]
    return [thing]


def copied(thing: Any) -> Any:
    return thing.copy() if isinstance(thing, np.ndarray) else thing


class Case:
    """A text that calls NumPy, with its inputs."""

    def __init__(
        self, draw: Draw, expression: str, unknown: bool = False, written: str = ""
    ) -> None:  # fmt: skip
        self.inputs = dict(draw.inputs)
        self.expression, self.smooth = expression, draw.smooth
        lines = []
        if unknown:
            for name, thing in draw.inputs.items():
                if isinstance(thing, np.ndarray) and thing.ndim:
                    self.inputs[f"m_{name}"] = np.ones(len(thing), bool)
                    lines.append(f"    {name} = {name}[m_{name}]\n")
        if written:
            name = written.partition("[")[0]
            lines += [f"    {name} = {name}.copy()\n", f"    {written}\n"]
        self.head = "".join(lines)
        self.text = f"def f({', '.join(self.inputs)}):\n{self.head}    return {expression}\n"

    def __str__(self) -> str:
        told = [
            f"{name} = np.array({thing.tolist()!r}, {thing.dtype.name!r})  # {thing.shape}, "
            f"{thing.strides}" if isinstance(thing, np.ndarray) else f"{name} = {thing!r}"
            for name, thing in self.inputs.items()
        ]  # fmt: skip
        return "\n".join([*told, self.text])

    def run(self) -> str:
        """'ok', 'raises', or 'refused: why'. Raises Wrong."""
        plain = compiled_text(self.text)
        args = list(self.inputs.values())
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = plain(*map(copied, args))
            except Exception as error:
                return self.must_raise(error, plain, args)
            try:
                found = ms.jit(plain)(*map(copied, args))
            except CompileError as error:
                self.placed(error)
                return f"refused: {error.problems[0].cause}"
            except Exception as error:
                raise Wrong(f"raised {error!r}, but NumPy gives {expected!r}") from error
            self.same(found, expected)
            return self.gradient(expected)

    @staticmethod
    def placed(error: CompileError) -> None:
        if any(problem.span is None for problem in error.problems):
            raise Wrong(f"refused without a place: {error}")
        if "this is a mistake" in str(error).lower() or type(error).__name__ == "InternalError":
            raise Wrong(f"an internal error: {error}")

    def must_raise(self, expected: Exception, plain: Callable[..., Any], args: list[Any]) -> str:
        try:
            found = ms.jit(plain)(*map(copied, args))
        except CompileError as error:
            self.placed(error)
            return "raises"
        except Exception as error:
            if not isinstance(error, type(expected)) and not isinstance(expected, type(error)):
                raise Wrong(f"raised {error!r}, but NumPy raises {expected!r}") from error
            return "raises"
        raise Wrong(f"gives {found!r}, but NumPy raises {expected!r}")

    def same(self, found: Any, expected: Any) -> None:
        if (
            isinstance(expected, (tuple, list)) != isinstance(found, (tuple, list))
            or isinstance(expected, tuple)
            and not isinstance(found, tuple)
        ):
            raise Wrong(f"a {type(found).__name__} for a {type(expected).__name__}")
        ours, theirs = leaves(found), leaves(expected)
        if len(ours) != len(theirs):
            raise Wrong(f"{len(ours)} results, not {len(theirs)}")
        for one, other in zip(ours, theirs):
            a, b = np.asarray(one), np.asarray(other)
            if a.shape != b.shape:
                raise Wrong(f"shape {a.shape}, not {b.shape}")
            if a.dtype != b.dtype:
                raise Wrong(f"dtype {a.dtype}, not {b.dtype}")
            if "empty_like" in self.expression:
                continue
            bound = TOLERANCE.get(b.dtype.name, 0.0)
            if "float32" in {
                getattr(x, "dtype", None) and x.dtype.name for x in self.inputs.values()
            }:
                bound = max(bound, 1e-4) if bound else 0.0
            if not np.allclose(a, b, rtol=bound, atol=bound, equal_nan=True):
                raise Wrong(f"value {a!r}, not {b!r}")

    # ---- gradients

    def gradient(self, expected: Any) -> str:
        names = [
            name for name, thing in self.inputs.items()
            if isinstance(thing, float) or getattr(thing, "dtype", None) == np.float64
        ]  # fmt: skip
        results = leaves(expected)
        kinds = {np.asarray(result).dtype.name for result in results}
        inputs = {
            thing.dtype.name for thing in self.inputs.values()
            if isinstance(thing, np.ndarray) and thing.dtype.kind in "fc"
        }  # fmt: skip
        if not names or not self.smooth or kinds != {"float64"} or not inputs <= {"float64"}:
            return "ok"
        if not all(np.isfinite(result).all() for result in results):
            return "ok"
        rng = np.random.default_rng(5)
        weights = [rng.uniform(0.5, 1.5, np.shape(result)) for result in results]
        terms = " + ".join(
            f"np.sum({'r' if not isinstance(expected, (tuple, list)) else f'r[{k}]'} * w{k})"
            for k in range(len(results))
        )
        head = ", ".join([*self.inputs, *(f"w{k}" for k in range(len(results)))])
        text = f"def f({head}):\n{self.head}    r = {self.expression}\n    return {terms}\n"
        plain = compiled_text(text)
        args = [*map(copied, self.inputs.values()), *weights]
        places = [list(self.inputs).index(name) for name in names]
        along = [rng.uniform(-1.0, 1.0, np.shape(args[place])) for place in places]

        def slope(step: float) -> float:
            ends = []
            for sign in (1, -1):
                moved = list(args)
                for place, way in zip(places, along):
                    shifted = args[place] + sign * step * way
                    moved[place] = float(shifted) if np.isscalar(args[place]) else shifted
                ends.append(plain(*moved))
            return float((ends[0] - ends[1]) / (2 * step))

        first, second = slope(1e-5), slope(1e-6)
        if abs(first - second) > 1e-4 * max(1.0, abs(first)):
            return "ok"  # a kink, or a jump
        try:
            found = ms.grad(plain, tuple(places))(*map(copied, args))
        except CompileError as error:
            self.placed(error)
            return f"refused: no gradient: {error.problems[0].cause}"
        except Exception as error:
            raise Wrong(f"the gradient raised {error!r}") from error
        total = float(sum(np.sum(one * way) for one, way in zip(leaves(found), along)))
        for one, place in zip(leaves(found), places):
            if np.shape(one) != np.shape(args[place]):
                raise Wrong(f"a gradient of shape {np.shape(one)} for {np.shape(args[place])}")
        if not abs(total - first) <= 2e-5 * max(1.0, abs(first)):
            raise Wrong(f"slope {total}, but differences give {first}")
        return "ok"
