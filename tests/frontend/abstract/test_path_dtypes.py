"""Arrays that two paths leave in two dtypes: each use of them agrees with NumPy, or is refused."""

from __future__ import annotations

import itertools
import linecache
import warnings
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError

DTYPES = ("bool", "uint8", "int32", "int64", "float32", "float64", "complex128")
PAIRS = [*itertools.permutations(DTYPES, 2)]

#: What the path decides: an ``if``, a ``for`` and a ``while`` that may not run, a called function.
JOINS = {
    "if": "a = one\nif x[0] > 0:\n    a = other",
    "if expression": "a = other if x[0] > 0 else one",
    "for": "a = one\nfor k in range(n):\n    a = other",
    "while": "a = one\nwhile x[0] > k:\n    a = other\n    k = k + 3",
    "call": "a = chosen(x, one, other)",
}

#: Uses of the array whose numbers depend on its dtype, and some that do not.
USES = {
    "sum": "return np.sum(a * x)",
    "twice": "return np.sum((a + a) * x)",
    "write": "a = a * 1\na[0] = 0.75\nreturn np.sum(a * x)",
    "write to a copy": "b = a.copy()\nb[1:] = x[1:]\nreturn np.sum(b * x)",
    "write through a view": "b = a * 1\nc = b[::2]\nc[...] = x[::2]\nreturn np.sum(b * x)",
    "write to its like": "b = np.zeros_like(a)\nb[0] = 0.75\nreturn np.sum(b * x)",
    "full_like": "return np.sum(np.full_like(a, 0.75) * x)",
    "add in place": "b = a * 3\nb += 0.75\nreturn np.sum(b * x)",
    "copyto": "b = a.copy()\nnp.copyto(b, x, casting='unsafe')\nreturn np.sum(b * x)",
    "index": "return np.sum(x[a])",
    "invert": "return np.sum(~a * x)",
    "wrap": "return np.sum(a * a * 20 * x)",
    "dtype": "return np.sum(x) * np.finfo(a.dtype).eps * 1e16",
    "zeros of its dtype": "b = np.zeros(3, a.dtype)\nb[0] = 0.75\nreturn np.sum(b * x)",
    "astype": "b = a.astype(np.float64, copy=False)\nb[0] = 7.0\nreturn np.sum(a * x)",
    "asarray": "b = np.asarray(a, np.float32)\na = a * 1\nb[0] = 7.0\nreturn np.sum(b * x)",
    "asarray of a copy": "a = a * 1\nb = np.asarray(a, np.float64)\nb[0] = 7.0\n"
    "return np.sum(a * x)",
    "asarray of float32": "b = np.asarray(a * 1, np.float32)\nreturn np.sum(b * x)",
    "sqrt": "return np.sum(np.real(np.sqrt(a - 3.0)) * x)",
    "comparison": "return np.sum(np.where(a > 1, x, 2 * x))",
    "later": "b = a * 2 - 1\nb[1] = 0.75\nreturn np.sum(b * x)",
    "settled": "b = a * x\nb[1] = 0.75\nreturn np.sum(b * x)",
}
#: Uses that are refused for each two dtypes.
REFUSED = ("index", "invert", "dtype", "zeros of its dtype", "astype", "asarray of a copy")
CHOSEN = """def chosen(x, one, other):
    if x[0] > 0:
        return other
    return one
"""


def program(join: str, use: str) -> Any:
    """Returns the function that joins two arrays, and then uses the outcome."""
    lines = [f"    {line}\n" for line in f"k = 0.0\n{JOINS[join]}\n{USES[use]}".splitlines()]
    source = f"{CHOSEN}def fn(x, one, other, n):\n{''.join(lines)}"
    file = f"<paths {join} {use}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), scope)
    return scope["fn"]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("join", JOINS)
def test_each_use_agrees_with_numpy_or_is_refused(join: str, use: str) -> None:
    fn = program(join, use)
    compiled = ms.jit(fn)
    agreed = 0
    for first, second in PAIRS:
        one, other = np.array([3, 0, 1]).astype(first), np.array([200, 2, 1]).astype(second)
        for sign in (-1.0, 1.0):
            x, n = np.array([sign, 0.7, 2.1]), np.array([int(sign > 0)])[0]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wanted = fn(x.copy(), one.copy(), other.copy(), n)
                except (TypeError, ValueError, IndexError, AttributeError):
                    wanted = None
                try:
                    value = compiled(x.copy(), one.copy(), other.copy(), n)
                except (CompileError, IndexError, TypeError, ValueError):
                    continue
            if wanted is None:  # NumPy raises on this path; the other one may be compiled
                continue
            agreed += 1
            coarse = "float32" in (first, second)
            np.testing.assert_allclose(
                value, wanted, rtol=1e-6 if coarse else 1e-13, err_msg=f"{first} or {second}"
            )
    assert agreed or use in REFUSED


def test_the_message_says_which_dtypes_and_what_to_do() -> None:
    with pytest.raises(CompileError) as caught:
        ms.grad(program("while", "write"))(
            np.array([1.0, 2.0, 3.0]), np.arange(3), np.arange(3) * 0.5, 1
        )
    message = str(caught.value)
    assert "NumPy's dtype of this array is float64 or int64, which depends on the path" in message
    assert "y.astype(np.float64)" in message
