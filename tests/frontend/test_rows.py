"""Python that must compile: each row's value and gradients against plain Python's."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import nn
from autodiff_compiler.testing import check_grads
from tests.corpus.test_corpus import assert_alike
from tests.frontend.rows.rows import ROWS, Row

for path in sorted((Path(__file__).parent / "rows").glob("*.py")):
    import_module(f"tests.frontend.rows.{path.stem}")


def named(row: Row) -> str:
    return f"{row.program.__module__.rpartition('.')[2]}.{row.program.__name__}"


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_value_and_gradient(row: Row) -> None:
    program = row.make()
    plain = program.construct if isinstance(program, nn.Cell) else program
    copies = [ms.Tensor(x) if isinstance(x, ms.Tensor) else x for x in row.inputs]
    expected = plain(*copies)
    assert_alike(ms.jit(row.make())(*row.inputs), expected, 2e-6)
    if row.gradient is None:
        assert check_grads(row.make(), row.inputs, order=1).rows
        return
    arrays: list[Any] = [x.asnumpy() if isinstance(x, ms.Tensor) else x for x in row.inputs]
    (found,) = ms.ops.GradOperation(get_all=True)(row.make())(*row.inputs)
    np.testing.assert_allclose(found.asnumpy(), row.gradient(*arrays), rtol=1e-5)


def test_a_result_without_numbers_has_a_value() -> None:
    """Its gradient is refused (``tests/errors``)."""
    x = ms.Tensor([1.5, 2.5])
    assert ms.jit(lambda x: "three")(x) == "three"
    assert ms.jit(lambda x: None)(x) is None


def test_the_table_has_all_kinds_of_rows() -> None:
    """The table has programs that MindSpore runs in both modes, in one, and with different
    results."""
    assert len({row.title for row in ROWS}) >= 205
