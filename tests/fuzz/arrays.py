"""Random programs on NumPy arrays: views, copies and writes, run-time sizes, dtypes and objects.

A program is a plain function ``program(x, y, m, s, n, cfg)`` of two vectors (``y`` may be 0-d), a
matrix, a float, an int and a ``Settings``. ``ArrayWriter`` runs each statement on sample inputs as
it writes it: what NumPy refuses is left out, and what a name holds is known exactly. The result is
a number that depends on several of the arrays that exist at the end, and some of these arrays. The
same seed gives the same text.
"""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz import settings

ARRAY_HEAD = """import numpy as np

from tests.fuzz.settings import bump, ends_of, rows_of, spread
"""
HELPERS = ("bump", "ends_of", "rows_of", "spread")
SIGNATURE = "x, y, m, s, n, cfg"
LAYOUTS = ("plain", "plain", "strided", "reversed", "fortran", "read-only", "broadcast")
#: Lengths of a row: usual, at the ends, and large (64 KiB to 4 MiB with two to eight rows).
SIZES = (2, 3, 3, 4, 4, 5)
SMALL_SIZES = (0, 1)
LARGE_SIZES = (8192, 20000, 65536)
#: What makes of a large array one with as many rows.
SQUARES = ("outer", ".T @", "None")

# In the templates below {a} and {b} are any arrays, {v} and {w} vectors, {m} a matrix, {s} a
# number, {i} an index, {n} a size, {c} a counter, and {t} and {u} names to store to.
MADE = (
    "np.sin({a})", "np.tanh({a}) * {s}", "{a} * {b}", "{a} + {b}", "{a} - {b}",
    "{a} / (1.5 + {b} * {b})", "np.exp(-{a} * {a})", "np.sqrt({a} * {a} + 0.5)",
    "np.maximum({a}, {b} + 0.01)", "np.where({a} > {b}, {a}, {b} * 2)", "{s} * {a}",
    "np.float64(0.3) * {a}", "np.float32(0.3) * {a}", "{a} ** 2", "-{a}", "np.abs({a} + 0.03)",
    "{a} - ({a} * 3).astype(int) * 0.1", "np.clip({a}, -0.51, 0.52)", "np.cumsum({a})",
    "np.roll({v}, 1)", "{m} @ {v}", "np.dot({v}, {w}) + {v}", "{m}.sum(axis=0)",
    "np.mean({a}, axis=-1)", "np.concatenate([{v}, {w}])", "np.stack([{v}, {w}])",
    "np.array([{s}, 1.0, {v}[{i}]])", "{a} * np.arange({a}.size).reshape({a}.shape) * 0.2",
    "np.outer({v}[:2], {w})", "{m}.T @ {m}", "np.cos({a}) + {b}.sum()", "{a}.max() * {b}",
    "np.prod({a} * 0.5, axis=0)", "np.sum({m}, axis=1, keepdims=True)", "np.var({a})",
    "np.minimum({v}, {v}[::-1] + 0.02)", "np.diff({v})", "np.linalg.norm({a}) * {b}",
)  # fmt: skip
CREATED = (
    "np.zeros({n})", "np.ones({n}) * {s}", "np.full({n}, 0.3)", "np.zeros_like({a})",
    "np.ones_like({a}) * {s}", "np.full_like({a}, 0.2)", "np.arange({n}) * {s}",
    "np.linspace(0.1, 0.9, {n})", "np.eye({n})", "np.zeros(({n}, 2))", "np.zeros({a}.shape)",
    "np.zeros({a}.shape, {a}.dtype)", "np.zeros({n}, dtype=np.float32)",
    "np.zeros({n}, dtype=float)", "np.ones((2, {n})) * 0.3", "np.array([0.1] * 3)",
    "np.zeros({a}.shape, int) + {s}",
)  # fmt: skip
SEEN = (
    "np.array({a})", "np.asarray({a})", "+{a}", "np.positive({a})", "np.tile({a}, 1)",
    "np.conj({a})", "{a}.copy()", "np.copy({a})", "{a}.T", "{a}[...]", "{a}[:]", "{a}[1:]",
    "{a}[::-1]", "{a}[::2]", "{a}[None]", "{a}.reshape(-1)", "np.ravel({a})", "{a}.ravel()",
    "{a}.flatten()", "np.transpose({a})", "np.swapaxes({m}, 0, 1)", "np.squeeze({a}[None])",
    "np.expand_dims({a}, 0)", "np.atleast_1d({a})", "np.atleast_2d({a})", "np.diagonal({m})",
    "np.einsum('ij->ji', {m})", "np.split({v}, 1)[0]", "np.broadcast_to({a}, {a}.shape)",
    "{m}[0]", "{m}[:, 1]", "{v}[[0, 1]]", "{v}[{v} > 0]", "np.moveaxis({m}, 0, 1)", "{a}.real",
    "np.real({a})", "{a}.view()", "np.ascontiguousarray({a})", "np.asarray({a}, dtype=float)",
    "{a}.astype({a}.dtype)", "{a}.astype(float, copy=False)", "np.flip({a})", "np.fliplr({m})",
    "np.take({v}, [0, 1])", "np.diag({v})", "np.diag({m})", "np.triu({m})", "np.nan_to_num({a})",
    "np.repeat({v}, 1)", "np.append({v}, {s})", "np.array_split({v}, 2)[0]", "np.vstack([{v}])",
    "np.reshape({a}, {a}.shape)", "{a}.squeeze()", "{m}.reshape(-1)[1:]", "{m}[-1][:2]",
    "np.array({a}, dtype=np.float32)", "{a}.astype(np.float64)", "np.rot90({m})", "{m}.T[0]",
    "np.hsplit({m}, [1])[1]", "np.broadcast_to({v}, (2, {v}.size))", "{m}[:, ::-1][0]",
    "rows_of({m})[{i}]", "ends_of({v})[1]", "np.array([{v}, {w}])[0]", "np.stack(list({m}))",
)  # fmt: skip
WRITES = (
    "{v}[0] = {s}", "{v}[{i}] += {s}", "{v}[1:] = {w}[1:]", "{v}[1:] = {v}[:-1]",
    "{v}[:-1] += {v}[1:]", "{v}[::-1] = {w}", "{a} += {b}", "{a} *= 0.5", "{a} -= {s}",
    "{m}[0] = {v}", "{m}[:, 0] += {s}", "{m}[0], {m}[1] = {m}[1], {m}[0]",
    "{v}[0], {v}[1] = {v}[1], {v}[0]", "{v}[[0, 1]] += {s}", "{v}[[0, 0]] = {w}[:2]",
    "{v}[{v} > 0.1] *= 0.5", "{v}[{v} > 0.2] = {s}", "{a}.fill({s})",
    "np.add.at({v}, [0, 0, 1], {s})", "np.copyto({v}, {w})", "np.add({v}, {w}, out={v})",
    "np.sin({a}, out={a})", "{v}[0] = {t} = {v}[1] * 2", "{m}[0] = {t} = {m}[1]",
    "{m}[-1][1:] = {s}", "{m}[0, 1] -= {v}[0]", "{a}[...] = {b} * 0.5",
    "np.fill_diagonal({m}, {s})",
    "np.clip({a}, -0.7, 0.7, out={a})", "bump({a})", "{t} = spread({v}, {s})",
    "{t}, {u} = {m}[:2]", "{m}.T[0] = {s}", "{a}.reshape(-1)[0] = {s}", "np.ravel({a})[-1] = {s}",
    "{v}[{i}:] *= {v}[{i}:]", "np.multiply({a}, {s}, out={a})", "{a} /= 1.0 + {b} * {b}",
    "{v}.sort()", "np.put({v}, [0], {s})", "{a}.T[...] = {s} * {a}.T",
)  # fmt: skip
OBJECTS = (
    "{a} * cfg.scale", "cfg.act({a})", "{a} + cfg.shift", "cfg.table['w'] * {a}",
    "cfg.inner.gain * {a}", "cfg.apply({a})", "{a} * cfg.pair[0]", "{a} - sum(cfg.weights)",
    "cfg.doubled * {a}", "cfg.slope * {a}", "{a} * cfg.inner.deep['rate']", "cfg.closed({a})",
    "{a} * cfg.table['b'][-1]", "{a} * len(cfg.weights)", "{a} * getattr(cfg, 'turns')",
)  # fmt: skip
HEADS = (
    "for i in range(n):", "for i in range(3):", "for i in range(1, len({v})):",
    "for i in range(cfg.turns):", "for row in {m}:", "for i, row in enumerate({m}):",
    "for q in cfg.weights:", "if {v}[0] > 0.05:", "if cfg.flag:", "if n > 2:",
    "if np.sum({a}) > {s}:", "while {v}[0] < 0.4 and {c} < 9:", "for row, i in zip({m}, range(n)):",
    "if cfg.table['w'] > 0:", "for k in range(n - 1):",
)  # fmt: skip
#: Those for large arrays. An iteration for each item, with work on all items, takes hours.
SHORT_HEADS = tuple(
    head for head in HEADS if not re.search(r"len\({v}\)|in {m}:|enumerate\({m}\)", head)
)
LOOP_WRITES = (
    "{v}[i] = np.sin({v}[i - 1]) + {w}[i]", "{v}[i] += {v}[i - 1] * {s}", "row *= 0.9",
    "row[0] += {s}", "{m}[i] = {m}[i - 1] * {s}", "{v}[0] += 0.3", "{v} = np.sin({v} + {s})",
    "{v}[i % 2] = {s} * {v}[-1]", "{m}[i, 0] = {v}[i] * {s}", "{v} = {v} * row", "row[1:] = {s}",
    "{v}[i] = q * {v}[i]", "{v} += row", "{m}[0] += row", "{v}[:i] *= 0.8", "{v} = {v} + 0.2",
    "{v}[k] = {v}[k + 1] * {s}", "{a} *= q", "{m}[i % 2] -= row * 0.1",
)  # fmt: skip
LOOP_NAME = re.compile(r"\b(row|i|k|q)\b")


@dataclass(frozen=True)
class Form:
    """The inputs of a program: length and number of rows, dtypes, and how each array lies."""

    size: int
    rows: int
    dtypes: tuple[str, str, str]
    layouts: tuple[str, str, str]
    scalar_y: bool

    def inputs(self, seed: int, n: int) -> tuple[Any, ...]:
        """Random inputs of this form."""
        rng = np.random.RandomState(seed)
        shapes = (self.size,), () if self.scalar_y else (self.size,), (self.rows, self.size)
        arrays = []
        for shape, dtype, layout in zip(shapes, self.dtypes, self.layouts):
            arrays.append(laid_out(rng.uniform(-1, 1, shape).astype(dtype), layout))
        return *arrays, float(rng.uniform(0.2, 0.9)), n


def laid_out(numbers: np.ndarray, layout: str) -> np.ndarray:
    """Return an array of the same shape and dtype that lies in memory as ``layout`` says.

    >>> laid_out(np.arange(3.0), "strided").strides
    (16,)
    """
    if layout == "read-only":
        numbers = numbers.copy()
        numbers.flags.writeable = False
    elif layout == "broadcast" and numbers.ndim == 2:
        return np.broadcast_to(numbers[:1], numbers.shape)
    elif layout == "fortran":
        return np.asfortranarray(numbers)
    elif layout == "strided" and numbers.ndim:
        held = np.zeros((*numbers.shape[:-1], 2 * numbers.shape[-1]), numbers.dtype)
        held[..., ::2] = numbers
        return held[..., ::2]
    elif layout == "reversed" and numbers.ndim:
        return numbers[..., ::-1].copy()[..., ::-1]
    return numbers


class ArrayWriter:
    """Writes one program, running it as it goes."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.count = 0
        self.form = self._form()
        self.lines: list[str] = []
        self.env: dict[str, Any] = {}
        self._run_again()

    def _form(self) -> Form:
        roll = self.random.random()
        sizes = LARGE_SIZES if roll < 0.03 else SMALL_SIZES if roll < 0.08 else SIZES
        size = self.random.choice(sizes)
        floats = self.random.choice(
            (("f8",) * 3, ("f8",) * 3, ("f4",) * 3, ("f4", "f8", "f8"), ("f8", "f4", "f4"))
        )
        layouts = tuple(self.random.choice(LAYOUTS) for _ in range(3))
        rows = self.random.choice((2, 3) if size < 100 else (2, 8))
        return Form(size, rows, floats, layouts, self.random.random() < 0.15)

    def text(self) -> str:
        """The whole function."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for _ in range(self.random.randint(4, 12)):
                self._statement()
            self._result()
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def program{self.seed}({SIGNATURE}):\n{body}"

    def _statement(self) -> None:
        for _ in range(8):
            lines = self._candidate()
            if lines is not None and self._runs(lines):
                self.lines += lines
                return

    def _candidate(self) -> list[str] | None:
        kind = self.random.choices(
            ("made", "created", "seen", "write", "object", "block"), (4, 2, 5, 6, 2, 3)
        )[0]
        try:
            if kind == "write":
                return self._filled(WRITES).split("\n")
            if kind == "block":
                return self._block()
            table = {"made": MADE, "created": CREATED, "seen": SEEN, "object": OBJECTS}[kind]
            return [f"{self._target()} = {self._filled(table)}"]
        except IndexError:  # there is no name of a kind
            return None

    def _block(self) -> list[str]:
        head = self._filled(SHORT_HEADS if self.form.size > 1000 else HEADS)
        lines = [head]
        made = set(re.findall(r"\w+", head.partition(" in ")[0])) | {"a", "b", "m", "s", "v", "w"}
        written = tuple(each for each in LOOP_WRITES if set(LOOP_NAME.findall(each)) <= made)
        for _ in range(self.random.randint(1, 3)):
            if self.random.random() < 0.7:
                lines.append(f"    {self._filled(written)}")
            elif self.random.random() < 0.5:
                lines += [f"    {line}" for line in self._filled(WRITES).split("\n")]
            else:
                name = self.random.choice(self._names(0, 1, 2))
                lines.append(f"    {name} = {self._filled(MADE + SEEN + OBJECTS)}")
        if head.startswith("while"):
            held, counter = re.findall(r"\w+(?=\[| < 9)", head)
            lines = [f"{counter} = 0", *lines, f"    {held} = {held} + 0.3"]
            lines.append(f"    {counter} += 1")
        elif head.startswith("if") and self.random.random() < 0.5:
            lines += ["else:", f"    {self._filled(WRITES)}"]
        return lines

    def _names(self, *ranks: int) -> list[str]:
        return [
            name for name, held in self.env.items()
            if isinstance(held, np.ndarray) and held.ndim in ranks and held.dtype.kind == "f"
            and name not in ("row", "q")
        ]  # fmt: skip

    def _target(self) -> str:
        old = [name for name in self._names(0, 1, 2) if name not in ("x", "y", "m")]
        if old and self.random.random() < 0.3:
            return self.random.choice(old)
        return self._new()

    def _new(self) -> str:
        self.count += 1
        return f"a{self.count}"

    def _filled(self, table: tuple[str, ...]) -> str:
        template = self.random.choice(table)
        number = self.random.choice(("s", "0.5", "-0.7", "1.1", "s * 0.3"))
        makers = {
            "a": lambda: self.random.choice(self._names(1, 2) * 4 + self._names(0)),
            "b": lambda: self.random.choice(self._names(0, 1, 2)),
            "v": lambda: self.random.choice(self._names(1)),
            "w": lambda: self.random.choice(self._names(1)),
            "m": lambda: self.random.choice(self._names(2)),
            "s": lambda: number,
            "i": lambda: str(self.random.randint(-2, 1)),
            "n": lambda: self.random.choice(("n", "n", "n + 1", "3", "len(x)")),
            "c": self._new,
            "t": self._new,
            "u": self._new,
        }
        holes = {name: make() for name, make in makers.items() if "{" + name + "}" in template}
        return template.format(**holes)

    def _runs(self, lines: list[str]) -> bool:
        """Run these lines after those before them; whether NumPy takes them."""
        if self.form.size > 1000 and any(word in line for word in SQUARES for line in lines):
            return False
        try:
            exec("\n".join(lines), self.env)
        except Exception:
            self._run_again()
            return False
        arrays = [held for held in self.env.values() if isinstance(held, np.ndarray)]
        if all(_small(array) for array in arrays):
            return True
        self._run_again()
        return False

    def _run_again(self) -> None:
        """Run the program so far on fresh inputs."""
        self.env = {"np": np, **{name: getattr(settings, name) for name in HELPERS}}
        given = (*self.form.inputs(self.seed, 3), settings.Settings())
        self.env |= dict(zip(SIGNATURE.split(", "), given))
        exec("\n".join(self.lines), self.env)

    def _result(self) -> None:
        names = self._names(0, 1, 2)
        chosen = self.random.sample(names, min(len(names), 6))
        terms = [
            f"np.sum(np.sin({name})) * {self.random.choice(('0.7', '-1.3', '0.4'))}"
            for name in chosen
        ]
        aux = "".join(f", {name}" for name in chosen[:3])
        self.lines.append(f"return {' + '.join(terms)}{aux}")


def _small(array: np.ndarray) -> bool:
    """Whether an array is of moderate size and holds moderate numbers."""
    if array.size > 600_000:
        return False
    return array.dtype.kind != "f" or not array.size or bool(np.abs(array).max() < 1e3)
