"""Loops over the rows of an array, with a carried variable that becomes a view of the array.

The rule is NumPy's: a write through the variable changes the array, and a write to a row changes
what the variable shows. Each program agrees with NumPy, or is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError

LOOPS = ("for row in a:", "for k, row in enumerate(a):", "for row, other in zip(a, x):")
#: Writes to a row, then to the variable; the last statement binds the variable.
ROWS = ("pass", "row[0] += s", "a[0, 0] = s", "row[:] = y")
WRITES = ("pass", "y += row", "y[0] = s")
BINDINGS = ("pass", "y = a[0]", "y = row", "y = a[0] * 1")
RESULTS = ("np.sum(y)", "np.sum(a * a) + 2 * np.sum(y)")
TEXT = """
import numpy as np

def f(x, y, s):
    a = np.tanh(x)
    {}
        {}
        {}
        {}
    return {}
"""


def arguments() -> tuple[Any, ...]:
    return np.linspace(-1.0, 1.0, 9).reshape(3, 3), np.array([0.1, 0.2, 0.3]), 0.5


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("result", RESULTS)
def test_writes_through_a_carried_view(result: str, loop: str, row: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    refused = []
    for write in WRITES:
        for binding in BINDINGS:
            path.write_text(TEXT.format(loop, row, write, binding, result))
            scope: dict[str, Any] = {}
            exec(compile(path.read_text(), str(path), "exec"), scope)
            try:
                value = ms.jit(scope["f"])(*arguments())
            except CompileError:
                refused.append(write)
                continue
            wanted = scope["f"](*arguments())
            np.testing.assert_allclose(value, wanted, rtol=1e-12, err_msg=f"{write}; {binding}")
    assert "pass" not in refused or row == "row[:] = y"
    assert len(refused) < len(WRITES) * len(BINDINGS) // 2
