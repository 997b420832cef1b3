"""Calls of products of arrays, and of ``np.linalg``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.numpy_arguments.draw import FLOATS, OMIT, Draw
from tests.numpy_arguments.reductions import ALL, Make

INEXACT = (*FLOATS, "complex128", "int64")


def size(d: Draw) -> int:
    return int(d.pick(0, 1, 2, 2, 3, 3, 4)) if d.maybe(0.3) else int(d.pick(1, 2, 3))


def product(name: str, *shapes: tuple[str, str]) -> Make:
    """A product of two arrays whose shapes are drawn of ``shapes``: letters stand for sizes."""

    def call(d: Draw) -> str:
        first, second = d.pick(*shapes)
        sizes = {letter: size(d) for letter in "ijkl"}
        wrong = d.maybe(0.04)
        a, b = (
            d.array_like(tuple(sizes[letter] for letter in letters), ALL)
            for letters in (first, second + "l" * wrong)
        )
        return d.call(name, a, b)

    return call


def tensordot(d: Draw) -> str:
    first, second, axes = d.pick(
        ("ij", "jk", "1"), ("ijk", "jkl", "2"), ("ij", "kl", "0"),
        ("ijk", "kj", "([1, 2], [1, 0])"),
        ("ij", "kj", "(1, 1)"), ("ij", "kj", "(-1, -1)"), ("ij", "jk", "((-1,), (0,))"),
        ("ij", "ij", "2"), ("i", "i", "np.int64(1)"), ("ij", "jk", "[1, 0]"), ("jk", "jk", OMIT),
    )  # fmt: skip
    sizes = {letter: size(d) for letter in "ijkl"}
    a, b = (d.array_like(tuple(sizes[k] for k in letters), ALL) for letters in (first, second))
    return d.call("tensordot", a, b, axes=axes)


def einsum(d: Draw) -> str:
    text, *letters = d.pick(
        ("ij,jk->ik", "ij", "jk"), ("ij,jk", "ij", "jk"), ("ii", "ii"), ("ii->i", "ii"),
        ("ij->ji", "ij"), ("...i,...i->...", "jki", "ki"), ("i,j->ij", "i", "j"), ("i,i", "i", "i"),
        ("ij,j", "ij", "j"), (" ij , jk -> ik", "ij", "jk"), ("ijk->k", "ijk"), ("ba", "ij"),
        ("ij,ij,ij->", "ij", "ij", "ij"), ("i...->...", "ijk"), (",ij->ij", "", "ij"),
    )  # fmt: skip
    sizes = {letter: size(d) for letter in "ijkl"}
    operands = [d.array_like(tuple(sizes[k] for k in each), ALL) for each in letters]
    optimize = d.optional(lambda: d.pick("True", "False", "'greedy'"), 0.2)
    text = d.call("einsum", repr(text), *operands)
    return text if optimize is OMIT else f"{text[:-1]}, optimize={optimize})"


def cross(d: Draw) -> str:
    shape = d.pick((3,), (2, 3), (2,), (3, 3), (4, 2))
    other = shape if d.maybe(0.6) else (*shape[:-1], int(d.pick(2, 3)))
    a, b = d.array_like(shape, ALL), d.array_like(other, ALL)
    named: dict[str, Any] = {}
    if d.maybe(0.3):
        named["axis"] = d.axis(a)
    elif d.maybe(0.3):
        named = {"axisa": d.axis(a), "axisb": d.axis(b), "axisc": d.pick("-1", "0")}
    text = d.call("cross", a, b)
    for key, thing in named.items():
        text = f"{text[:-1]}, {key}={thing})"
    return text


def convolve(d: Draw) -> str:
    a, v = (d.array_like((size(d) + d.pick(0, 2),), ALL) for _ in range(2))
    mode = d.optional(lambda: d.pick("'full'", "'same'", "'valid'", "'bad'"))
    return d.call("convolve", a, v, mode=mode)


def polyval(d: Draw) -> str:
    return d.call("polyval", d.array_like((size(d),), ALL), d.array_like(dtypes=ALL))


def multi_dot(d: Draw) -> str:
    sizes = [int(d.pick(1, 2, 3)) for _ in range(int(d.rng.integers(2, 6)))]
    shapes = [(n, m) for n, m in zip(sizes, sizes[1:])]
    ends: list[tuple[int, ...]] = list(shapes)
    if len(shapes) > 1 and d.maybe(0.3):
        ends[0] = ends[0][1:]
    names = [d.array(shape, FLOATS) for shape in ends]
    return d.call("linalg.multi_dot", f"[{', '.join(names)}]")


def square(d: Draw, dtypes: Any = INEXACT, positive: bool = False) -> str:
    n = int(d.pick(1, 2, 3, 3))
    shape = (*(d.shape(0, 1) if d.maybe(0.4) else ()), n, n if d.maybe(0.96) else n + 1)
    name = d.array(shape, dtypes)
    array = d.inputs[name]
    eye = 4 * np.eye(*shape[-2:])
    if positive and shape[-1] == shape[-2]:
        array = array @ np.swapaxes(array.conj(), -1, -2)
    d.inputs[name] = (array + eye).astype(array.dtype)
    return name


def solve(d: Draw) -> str:
    a = square(d)
    n = d.shape_of(a)[-1]
    b = d.array(d.pick((n,), (n, 2), (*d.shape_of(a)[:-2], n, 2)), INEXACT)
    return d.call("linalg.solve", a, b)


def of_matrix(name: str, positive: bool = False, **settings: Callable[[Draw], Any]) -> Make:
    def call(d: Draw) -> str:
        a = square(d, positive=positive)
        named = {key: d.optional(lambda make=make: make(d)) for key, make in settings.items()}
        return d.call(f"linalg.{name}", a, **named)

    return call


def svd(d: Draw) -> str:
    a = square(d)
    named = {
        "full_matrices": d.optional(lambda: "False"),
        "compute_uv": d.optional(lambda: "False", 0.6),
    }
    text = d.call("linalg.svd", a, **named)
    d.smooth = "compute_uv=False" in text or text.endswith("False, False)")
    return text if not d.smooth else text


def norm(d: Draw) -> str:
    rank = int(d.rng.integers(0, 4))
    a = d.array_like(tuple(size(d) for _ in range(rank)), INEXACT)
    ord_ = d.optional(lambda: d.pick("1", "2", "0", "3", "-1", "-2", "0.5", "np.inf", "-np.inf",
                                     "'fro'", "'nuc'", "None", "'bad'", "2.0"), 0.7)  # fmt: skip
    axis = d.optional(lambda: d.pick(d.axis(a), d.axes(a), "(0, 1)", "(-1, 0)"), 0.6)
    return d.call("linalg.norm", a, ord=ord_, axis=axis, keepdims=d.flag(0.3))


PAIRS = (("ij", "jk"), ("ij", "j"), ("i", "ij"), ("i", "i"), ("", "ij"), ("ij", ""), ("lij", "jk"),
         ("", ""), ("ij", "ljk"))  # fmt: skip
SAME_LAST = (("ij", "kj"), ("j", "j"), ("ij", "j"), ("", "ij"), ("lij", "kj"))
ANY = (("i", "j"), ("ij", "k"), ("ij", "kl"), ("", "i"), ("ijk", "l"))
CALLS: dict[str, Make] = {
    "dot": product("dot", *PAIRS), ".dot": lambda d: product("dot", *PAIRS[:4])(d),
    "matmul": product("matmul", *PAIRS, ("lij", "ljk"), ("j", "ljk")),
    "inner": product("inner", *SAME_LAST), "outer": product("outer", *ANY),
    "vdot": product("vdot", ("ij", "ij"), ("i", "i"), ("", "")),
    "kron": product("kron", *ANY, ("ij", "ij")), "tensordot": tensordot, "einsum": einsum,
    "cross": cross, "convolve": convolve, "polyval": polyval, "linalg.multi_dot": multi_dot,
    "linalg.solve": solve, "linalg.svd": svd, "linalg.norm": norm,
    **{f"linalg.{name}": of_matrix(name) for name in ("det", "inv", "slogdet")},
    "linalg.cholesky": of_matrix("cholesky", True, upper=lambda d: d.pick("True", "False")),
    "linalg.pinv": of_matrix("pinv", rcond=lambda d: d.pick("1e-10", "None", "1e-6"),
                             hermitian=lambda d: d.pick("False", "False", "True")),
    "linalg.matrix_power": lambda d: d.call("linalg.matrix_power", square(d), d.number(-2, 3)),
}  # fmt: skip
