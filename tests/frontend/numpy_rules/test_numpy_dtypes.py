"""Plain functions have NumPy's dtypes: all arrays that they make, and all ufuncs that are compiled,
for every kind of operand. Values and dtypes are compared with NumPy."""

from __future__ import annotations

import itertools
import linecache
import warnings

import numpy as np
import pytest

from autodiff_compiler import grad, jit

WHOLE = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*WHOLE, "float16", "float32", "float64", "complex64", "complex128")
NUMBERS = ("2", "1.5", "True", "2j", "np.float32(1.5)", "np.float64(1.5)", "np.int32(2)",
           "np.int64(2)", "np.bool_(True)")  # fmt: skip
_count = itertools.count()


def function(text: str, names: str, **scope):
    """Returns the function with this body."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    source = f"def fn({names}):\n{lines}"
    file = f"<dtypes {next(_count)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    room = {"np": np, **scope}
    exec(compile(source, file, "exec"), room)
    return room["fn"]


def array(dtype: str) -> np.ndarray:
    return np.array([True, False, True]) if dtype == "bool" else np.array([1, 2, 3]).astype(dtype)


def agree(found, wanted, what: str) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype, f"{what}: {found.dtype}, not NumPy's {wanted.dtype}"
    assert found.shape == wanted.shape, f"{what}: {found.shape}, not NumPy's {wanted.shape}"
    small = wanted.dtype in (np.float16, np.float32, np.complex64)
    rtol = 2e-3 if wanted.dtype == np.float16 else 1e-5 if small else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=rtol, err_msg=what)


# ---- what is made

MADE = """
np.zeros(n)
np.zeros((n, 2))
np.zeros([n, 2])
np.zeros(shape=n)
np.zeros(n, dtype=float)
np.zeros(n, dtype=None)
np.zeros(n, int)
np.zeros(n, bool)
np.zeros(n, complex)
np.zeros(n, "f4")
np.zeros(n, np.dtype("int8"))
np.zeros(n, x.dtype)
np.ones(n)
np.ones(n, dtype=float)
np.ones(n, int)
np.ones(n) * s
np.ones(n) / 3
np.zeros((n, n)) @ np.ones(n)
np.empty(n) * 0
np.empty(n, int) * 0
np.full(n, 2)
np.full(n, 2.5)
np.full(n, True)
np.full(n, 1j)
np.full(n, s)
np.full(n, x[0])
np.full(n, i[0])
np.full(n, 2, float)
np.full(n, 2.7, int)
np.full(n, x[2], dtype=int)
np.full((2, 3), x)
np.arange(n)
np.arange(n, dtype=float)
np.arange(1, n, 2)
np.arange(0.0, n)
np.arange(0, n, 0.5)
np.arange(n) * x[0]
np.arange(n, x[2] * 10, x[1])
np.arange(x[0], n)
np.arange(s, n)
np.linspace(0, 1, n)
np.linspace(0, s, 5)
np.linspace(x[0], x[1], 4)
np.linspace(0, 1, n, dtype=np.float32)
np.eye(n)
np.eye(n, 3, 1)
np.eye(n, dtype=int)
np.identity(n)
np.zeros_like(x)
np.zeros_like(i)
np.zeros_like(x, dtype=float)
np.zeros_like(x, float)
np.zeros_like(x, int)
np.zeros_like(x, shape=(n,))
np.zeros_like([x[0], x[1]])
np.ones_like(i, dtype=float)
np.ones_like(b)
np.empty_like(x, dtype=float) * 0
np.full_like(x, 2)
np.full_like(i, 2.5)
np.full_like(i, s)
np.full_like(b, 2)
np.full_like(x, i[0])
np.full_like(x, 2.7, dtype=int)
np.full_like(i, 2.7, dtype=float)
np.array([x[0], x[1]])
np.array([x[0], 1])
np.array([x[0], 1.5])
np.array([s, 1])
np.array([n, 1])
np.array([n, x[0]])
np.array([i[0], 2])
np.array([i[0], x[0]])
np.array([b[0], 2])
np.array([True, x[0]])
np.array([x[0], 1j])
np.array([np.float32(1), x[0]])
np.array([np.float64(1), x[0]])
np.array([x, i])
np.array([[x[0], 1], [2, s]])
np.array([x[0], x[1]], dtype=float)
np.array([x[0], x[1]], int)
np.array([n, 2], dtype=bool)
np.array(x, dtype=float)
np.array(i, float)
np.array(s) * x
np.array(n) * x
np.asarray(x, dtype=float)
np.asarray([n, 2], float)
np.asarray(n) * x
np.float64(x)
np.float64(s) * x
np.float32(i)
np.float16(s)
np.int64(x)
np.uint8(i)
np.bool_(x)
np.complex128(x)
x.dtype.type(s)
x.astype(float)
x.astype(int)
x.astype("f4")
x.astype(i.dtype)
(x > 1).astype(float)
(x > 1) * 1
(x > 1) * 1.0
np.sum(x, dtype=float)
np.sum(i, dtype=float)
np.mean(i)
np.mean(i, dtype=np.float32)
np.cumsum(x, dtype=float)
np.prod(i, dtype=float)
x.sum(dtype=float)
np.argsort(x)
x.argsort()
np.concatenate([x, np.zeros(n)])
np.concatenate([x, [1.5]])
np.concatenate([i, [1.5]])
np.hstack([x, s])
np.hstack([x, n])
np.append(x, s)
np.append(i, 1.5)
np.append(x, n)
np.vstack([x, i])
np.where(x > 1, x, 0.0)
np.where(x > 1, x, np.float64(0))
np.where(x > 1, np.float32(1), 0.0)
np.where(x > 1, np.float32(1), np.float64(0))
np.where(np.ones(3) > 0, np.float32(1), 0)
np.where(x > 1, i, 0.0)
np.clip(x, np.float64(0), 1)
np.clip(i, 0.5, 1.5)
np.polyval([1, 2], x)
np.vander(x, 3)
x * np.sqrt(2)
x * np.sqrt(2.0)
x / np.sqrt(len(x))
x * np.mean([1, 2])
x + np.pi
x[0] * np.float64(2)
x[1:] * np.float64(2)
np.sum(x) * np.sqrt(2)
x.sum() * 2.0
x * float(x[0])
x * x[0].item()
x * float(np.float64(3))
i * float(x[0])
x * max(s, n)
i * max(n, 1)
x * min(n, 1)
x * int(s)
x * np.int64(2)
i * np.float32(2)
s * np.float32(2)
n * np.float64(2) * x
"""


TEXTS = MADE.strip().splitlines()
NAMES = "x, i, b, n, s"


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("first", range(0, len(TEXTS), 20))
def test_created_arrays_have_numpys_dtype(first, dtype):
    x = np.array([0.5, 1.25, 2.75], dtype)
    given = (x, np.array([1, 2, 3], np.int32), np.array([True, False, True]), 4, 2.3)
    texts = TEXTS[first : first + 20]
    fn = function(f"return ({', '.join(texts)},)", NAMES)
    for text, found, wanted in zip(texts, jit(fn)(*given), fn(*given), strict=True):
        agree(found, wanted, text)
    scaled = " + ".join(f"np.sum(({text}) * x[1]).real" for text in texts)
    assert grad(function(f"return {scaled}", NAMES))(*given).dtype == x.dtype


@pytest.mark.parametrize(
    ("text", "slope"),
    (("np.arange(x[0], x[0] + 3).sum()", (3, 0)), ("np.arange(0, 2, x[1]).sum()", (0, 10)),
     ("np.arange(x[0], 3, x[1], dtype=int).sum() * x[0]", (0, 0)),
     ("np.linspace(x[0], x[1], n).sum()", (2.5, 2.5)), ("np.full(n, x[1]).sum()", (0, 5))),
)  # fmt: skip
def test_arrays_made_of_bounds_have_their_derivative(text, slope):
    fn = function(f"return {text}", "x, n")
    np.testing.assert_allclose(grad(fn)(np.array([0.0, 0.4]), 5), slope, rtol=1e-12)


@pytest.mark.parametrize("text", ("y = x\ny = y + np.float64(1)", "y = x * 1\ny += np.float64(1)"))
def test_augmented_assignment_keeps_the_dtype_of_an_array(text):
    fn = function(f"{text}\nreturn y", "x")
    for x in (np.ones(3, np.float32), np.ones(3), np.ones(3, np.float16)):
        agree(jit(fn)(x), fn(x), text)


def test_a_recursion_in_an_array_of_run_time_size_is_in_double_precision():
    fn = function(
        "a = np.zeros((n, n))\na[0] = 1 / 3\nfor k in range(1, n):\n"
        "    a[k] = a[k - 1] * x[0] / 7\nreturn a.sum()",
        "x, n",
    )
    x = np.array([1.1])
    agree(jit(fn)(x, 6), fn(x, 6), "a recursion")
    step = (fn(x + 1e-6, 6) - fn(x - 1e-6, 6)) / 2e-6
    np.testing.assert_allclose(grad(fn)(x, 6), [step], rtol=1e-8)


# ---- ufuncs of two operands

SIGNS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide,
         "%": np.remainder, "<": np.less, "==": np.equal, "&": np.bitwise_and}  # fmt: skip
UFUNCS = (
    "add", "subtract", "multiply", "divide", "floor_divide", "mod", "power", "float_power",
    "maximum", "minimum", "fmax", "fmin", "equal", "not_equal", "less", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "arctan2", "hypot", "heaviside", "copysign",
    "logaddexp", "fmod",
)  # fmt: skip
#: Refused: complex numbers have no order here, nor a truth.
REAL = {
    np.less, np.greater_equal, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and,
    np.logical_or, np.logical_xor,
}  # fmt: skip


def called(name: str, left: str, right: str) -> str:
    return f"{left} {name} {right}" if name in SIGNS else f"np.{name}({left}, {right})"


def refused(name: str, *operands) -> bool:
    """True if NumPy refuses these operands, or this package by its documentation."""
    ufunc = SIGNS.get(name) or getattr(np, name)
    if ufunc in REAL and any(np.iscomplexobj(operand) for operand in operands):
        return True
    with np.errstate(all="ignore"):
        try:
            ufunc(*operands)
        except TypeError:
            return True
    return False


STRONG = ("np.array(2, 'int32')", "np.array(2, 'float32')", "np.array(2, 'float64')")


def pairs(name: str) -> list[tuple[str, str]]:
    """Returns all pairs of dtypes, and each dtype beside numbers: as an argument, captured, or made
    inside. Sides and places alternate between pairs, and the numbers between ufuncs."""
    turn, found = (*SIGNS, *UFUNCS).index(name), []
    for i, dtype in enumerate(DTYPES):
        found += [(dtype, other) for other in DTYPES[: i + 1]]
        for k, text in enumerate((*NUMBERS, *STRONG)):
            place = ("r{}", "c{}", text if k < len(NUMBERS) else "r{}")[(i + k) // 2 % 3]
            if (turn + i + k) % 2:
                found.append((dtype, place.format(k)))
    return [pair[:: 1 if k // 2 % 2 else -1] for k, pair in enumerate(found)]


@pytest.mark.parametrize("name", (*SIGNS, *UFUNCS))
def test_a_ufunc_has_numpys_dtype(name):
    made = {dtype: array(dtype) for dtype in DTYPES}
    values = [eval(text, {"np": np}) for text in (*NUMBERS, *STRONG)]
    made |= {f"r{k}": value for k, value in enumerate(values)}
    scope = {f"c{k}": value for k, value in enumerate(values)}
    known = {**made, **scope, **dict(zip(NUMBERS, values))}
    able = [pair for pair in pairs(name) if not refused(name, *(known[side] for side in pair))]
    assert len(able) > 50
    fn = function(f"return ({', '.join(called(name, *pair) for pair in able)},)", ", ".join(made),
                  **scope)  # fmt: skip
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted, found = fn(*made.values()), jit(fn)(*made.values())
    for pair, one, other in zip(able, found, wanted, strict=True):
        agree(one, other, called(name, *pair))
