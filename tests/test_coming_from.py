"""The page for those who come from another framework: what it says to write here runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import autodiff_compiler as ms
from autodiff_compiler import ops

PAGE = (Path(__file__).parents[1] / "docs" / "coming-from.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python runnable\n(.*?)^```$", PAGE, re.M | re.S)


def test_every_block_runs_and_asserts_something(tmp_path: Path) -> None:
    """As one file, because a text that is compiled must be in one."""
    assert len(BLOCKS) >= 9
    for block in BLOCKS[1:]:
        assert "assert " in block, block
    path = tmp_path / "coming_from.py"
    path.write_text("\n".join(BLOCKS), encoding="utf-8")
    runpy.run_path(str(path))


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
