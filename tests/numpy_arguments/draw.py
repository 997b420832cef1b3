"""Draws arguments for NumPy's functions: arrays of every kind, axes, numbers, and calls as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff_compiler.frontend.numpy_rules.signatures import signature_of

#: An argument that is left out.
OMIT = object()
FLOATS = ("float64",) * 4 + ("float32",)
NUMBERS = FLOATS * 2 + ("int64", "int64", "int32", "bool", "complex128")
REALS = FLOATS * 2 + ("int64", "int32", "uint8", "bool")
SIZES = (0, 1, 1, 2, 2, 3, 3, 3, 4)


class Draw:
    """A random call. ``inputs`` are the arguments of the function around it."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.inputs: dict[str, Any] = {}
        self.smooth = True

    # ---- numbers and choices

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def maybe(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def optional(self, make: Callable[[], Any], probability: float = 0.5) -> Any:
        return make() if self.maybe(probability) else OMIT

    def flag(self, probability: float = 0.5) -> Any:
        return self.optional(lambda: self.pick(True, True, False, 1), probability)

    def dtype(self, kinds: Sequence[str] = NUMBERS) -> str:
        return str(kinds[self.rng.integers(len(kinds))])

    def dtype_text(self, kinds: Sequence[str] = NUMBERS) -> Any:
        name = self.dtype(kinds)
        python = {"float64": "float", "int64": "int", "bool": "bool", "complex128": "complex"}
        return self.pick(f"np.{name if name != 'bool' else 'bool_'}", repr(name),
                         python.get(name, f"np.dtype('{name}')"))  # fmt: skip

    def number(self, low: int, high: int) -> str:
        """An int from low to high: written out, of NumPy's, or known by the run only."""
        n = int(self.rng.integers(low, high + 1))
        return self.pick(str(n), str(n), str(n), f"np.int64({n})")

    # ---- shapes and arrays

    def shape(self, low: int = 0, high: int = 3) -> tuple[int, ...]:
        rank = int(self.rng.integers(low, high + 1))
        return tuple(int(self.pick(*SIZES)) for _ in range(rank))

    def values(self, shape: tuple[int, ...], dtype: str, low: float, high: float) -> np.ndarray:
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.rng.random(shape) < 0.5
        if kind in "iu":
            first = max(int(low), 0) if kind == "u" else int(low)
            return self.rng.integers(first, max(int(high), first + 1) + 1, shape).astype(dtype)
        made = self.rng.uniform(low, high, shape)
        if kind == "c":
            made = made + 1j * self.rng.uniform(low, high, shape)
        return made.astype(dtype)

    def laid_out(self, array: np.ndarray) -> np.ndarray:
        """The same numbers, lying in memory in some other way."""
        way = self.rng.integers(8)
        if way == 0 and array.ndim:
            wide = np.repeat(array, 2, axis=-1)
            return wide[..., ::2]
        if way == 1:
            return np.asfortranarray(array) if array.ndim else array
        if way == 2 and array.ndim:
            return np.ascontiguousarray(array[::-1])[::-1]
        if way == 3 and array.ndim and array.shape[0]:
            self.smooth = False
            return np.broadcast_to(array[:1], array.shape)
        if way == 4:
            array.flags.writeable = False
        return array

    def array(
        self, shape: tuple[int, ...] | None = None, dtypes: Sequence[str] = NUMBERS,
        low: float = -3.0, high: float = 3.0,
    ) -> str:  # fmt: skip
        """The name of an input that is an array."""
        shape = self.shape() if shape is None else shape
        made = self.values(shape, self.dtype(dtypes), low, high)
        return self.given(self.laid_out(np.asarray(made)))

    def given(self, thing: Any, prefix: str = "a") -> str:
        name = f"{prefix}{len(self.inputs)}"
        self.inputs[name] = thing
        return name

    def array_like(self, *args: Any, **kwargs: Any) -> str:
        """An input, or a list of its rows, or a list of numbers, or a number."""
        name = self.array(*args, **kwargs)
        array = self.inputs[name]
        way = self.rng.integers(14)
        if way == 0 and array.ndim:
            return "[" + ", ".join(f"{name}[{k}]" for k in range(len(array))) + "]"
        if (
            way == 1
            and 0 < array.size < 12
            and array.dtype.kind in "fib"
            and (len(self.inputs) > 1)
        ):
            del self.inputs[name]
            return repr(array.tolist())
        if way == 2 and array.ndim == 0 and array.dtype.kind == "f":
            self.inputs[name] = float(array)
        if way == 3 and array.ndim == 1 and array.dtype == np.float64 and array.size:
            rest = [f"{item!r}" for item in array.tolist()]
            rest[0] = f"{name}[0]"
            return f"({', '.join(rest)},)"
        return name

    def like(self, name: str, dtypes: Sequence[str] = NUMBERS, **kwargs: Any) -> str:
        """An array that broadcasts with another, most times."""
        shape = list(self.shape_of(name))
        shape = shape[int(self.rng.integers(len(shape) + 1)) :] if self.maybe(0.3) else shape
        shape = [1 if self.maybe(0.2) else size for size in shape]
        if self.maybe(0.04) and shape:
            shape[-1] += 1
        return self.array_like(tuple(shape), dtypes, **kwargs)

    def shape_of(self, name: str) -> tuple[int, ...]:
        if name in self.inputs:
            return np.shape(self.inputs[name])
        return np.shape(eval(name, {"np": np}, dict(self.inputs)))

    def rank(self, name: str) -> int:
        return len(self.shape_of(name))

    # ---- axes

    def axis(self, name: str, wrong: float = 0.06) -> Any:
        rank = self.rank(name)
        if self.maybe(wrong) or not rank:
            return str(self.pick(rank, -rank - 1, 0, -1))
        return self.number(-rank, rank - 1)

    def axes(self, name: str, none: bool = True) -> Any:
        """Returns an axis, several, an empty tuple, or None."""
        rank, way = self.rank(name), self.rng.integers(10)
        if way == 0 and none:
            return "None"
        if way == 1:
            return "()"
        if way < 5 and rank:
            count = int(self.rng.integers(1, rank + 1))
            axes = [int(axis) for axis in self.rng.permutation(rank)[:count]]
            axes = [axis - rank if self.maybe(0.3) else axis for axis in axes]
            return repr(tuple(axes if self.maybe(0.95) else axes * 2))
        return self.axis(name)

    # ---- calls

    def call(self, name: str, *positional: Any, **named: Any) -> str:
        """The text of a call of ``np.name``, or of ``.name`` as a method; keywords stand in
        NumPy's order, and may be given by their place."""
        parts = [str(each) for each in positional]
        named = {key: thing for key, thing in named.items() if thing is not OMIT}
        if name[0] == ".":
            owner, *parts = parts
            where = signature_of(None, name[1:])
            head = f"{owner}{name}"
        else:
            theirs: Any = np
            for part in name.split("."):
                theirs = getattr(theirs, part)
            where = signature_of(theirs)
            head = f"np.{name}"
        order = [p for p in where.parameters.values() if p.kind is not p.VAR_POSITIONAL]
        place = len(parts) + (name[0] == ".")
        while place < len(order) and order[place].name in named and self.maybe(0.4):
            if order[place].kind is inspect.Parameter.KEYWORD_ONLY:
                break
            parts.append(str(named.pop(order[place].name)))
            place += 1
        parts += [f"{key}={thing}" for key, thing in named.items()]
        return f"{head}({', '.join(parts)})"
