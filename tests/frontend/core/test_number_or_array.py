"""In-place operators on values that are arrays on one path and NumPy scalars on the other.

The rule is NumPy's: ``y += 1`` changes an array for all of its names, and a scalar for ``y`` alone.
Each program agrees with NumPy on both paths, or is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError

X = np.array([1.0, 2.0, 3.0])
#: Values on the path ``x[0] > 0`` and on the other one.
PAIRS = {
    "array and scalar": ("np.array(x[0])", "x[0] * 1.0"),
    "scalar and array": ("np.sum(x)", "np.asarray(np.array(x[1]))"),
    "two scalars": ("x[0] * 1.0", "np.max(x)"),
    "two arrays without axes": ("np.array(x[0])", "np.array(x[1])"),
    "one axis and none": ("x * 1.0", "x[0] * 1.0"),
    "one axis and an array without": ("x * 1.0", "np.array(x[0])"),
    "one axis and two": ("x * 1.0", "np.vstack([x, x])"),
    "a sum of one axis and of two": ("np.sum(x * 1.0, axis=0)", "np.sum(np.vstack([x]), axis=0)"),
    "an item of one axis and of two": ("(x * 1.0)[0]", "np.vstack([x, x])[0]"),
    "a product with rank": ("x * 1.0 + x", "np.vstack([x, x]) * x"),
    "two kept sums": ("np.sum(x * 1.0, axis=0, keepdims=True)", "np.vstack([x]) * 2.0"),
}
#: How the value is written to; ``b`` is another name of it.
WRITES = {
    "another name": "b = y\n    y += 0.5\n    return np.sum(b) + np.sum(y * x[2])",
    "a list": "b = [y]\n    y *= 2.0\n    return np.sum(b[0]) + np.sum(y * x[2])",
    "a callee": "bump(y)\n    return np.sum(y * x[2])",
    "no other name": "y += 0.5\n    y *= x[1]\n    return np.sum(y)",
}
#: Those that may be refused: there is no one program for both paths.
DIFFER = {
    "array and scalar", "scalar and array", "one axis and none", "a sum of one axis and of two",
    "an item of one axis and of two",
}  # fmt: skip
TEXT = """
import numpy as np

def bump(q):
    q += 0.5

def joined(x):
    if x[0] > 0:
        y = {one}
    else:
        y = {other}
    {write}
"""


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("write", WRITES)
def test_writes_agree_with_numpy_or_are_refused(pair: str, write: str, tmp_path: Path) -> None:
    one, other = PAIRS[pair]
    path = tmp_path / "joined.py"
    path.write_text(TEXT.format(one=one, other=other, write=WRITES[write]))
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    fn = scope["joined"]
    try:
        found = [ms.value_and_grad(fn)(sign * X) for sign in (1, -1)]
    except CompileError as error:
        assert pair in DIFFER and write != "no other name", error
        assert "NumPy scalar" in str(error)
        return
    for sign, (value, slope) in zip((1, -1), found):
        x = sign * X
        assert value == fn(x.copy())
        steps = [(fn(x + 1e-6 * e) - fn(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
        np.testing.assert_allclose(slope, steps, rtol=1e-7, atol=1e-8)


#: Ends in a write to ``y``, which has one axis or two; ``b`` is another name of it.
LONG = """
import numpy as np

def long(x):
    y = x * 1.0 if x[0] > 0 else np.vstack([x, x])
{lines}
    b = y
    y += 0.5
    return np.sum(b)
"""


def test_the_work_grows_with_the_number_of_statements(tmp_path: Path) -> None:
    """Each statement uses a value of unknown rank twice: 2 ** 200 paths lead to the first one."""
    path = tmp_path / "long.py"
    path.write_text(LONG.format(lines="    y = y * y\n" * 200))
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    assert ms.value_and_grad(scope["long"])(np.ones(3))[0] == 4.5


FILL = """
import numpy as np

def filled(x):
    y = {one} if x[0] > 0 else {other}
    y.fill(2.0)
    return np.sum(y * x)
"""


def test_fill_of_a_value_of_unknown_rank_is_for_arrays(tmp_path: Path) -> None:
    """NumPy's ``fill`` of a scalar changes nothing."""
    for number, (pair, right) in enumerate(
        ((("x * 1.0", "np.vstack([x, x])"), True), (("x * 1.0", "np.sum(x)"), False))
    ):
        path = tmp_path / f"filled{number}.py"
        path.write_text(FILL.format(one=pair[0], other=pair[1]))
        scope: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        if right:
            value, slope = ms.value_and_grad(scope["filled"])(-X)
            assert value == -24.0 and (slope == 4.0).all()
        else:
            with pytest.raises(CompileError, match="a NumPy scalar on some paths"):
                ms.grad(scope["filled"])(X)
