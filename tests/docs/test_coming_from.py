"""The page for those who come from another framework: what it says to write is there."""

from __future__ import annotations

import re
from pathlib import Path

import autodiff_compiler as ms
from autodiff_compiler import ops
from tests.docs.pages import blocks

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
BLOCKS = [block for block in blocks(PAGE) if block.runs]


def test_every_block_asserts_something() -> None:
    assert len(BLOCKS) >= 9
    for block in BLOCKS[1:]:
        assert "assert " in block.body, block


def test_what_it_names_is_there() -> None:
    """The names after ``ms.`` and ``ops.``, and those in the last columns of its tables."""
    for name in set(re.findall(r"\bms\.(\w+)", PAGE)):
        assert hasattr(ms, name), name
    for name in set(re.findall(r"\bops\.(\w+)", PAGE)):
        assert hasattr(ops, name), name
    for name in ("Function", "custom_gradient", "recompute", "check_grads", "hvp", "hessian"):
        assert re.search(rf"[`@]{name}\b", PAGE) and hasattr(ms, name), name


def test_the_arguments_that_have_no_counterpart_are_told() -> None:
    told = (
        "retain_graph", "create_graph", "stop_gradients", "grad_ys", "allow_unused",
        "unconnected_gradients", "grad_outputs",
    )  # fmt: skip
    for word in told:
        assert re.search(rf"^\| `?.*{word}.* \| .+ \|$", PAGE, re.M), word
