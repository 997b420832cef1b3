"""Each threshold has a unit and a reason, and something reads it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import autodiff_compiler
from autodiff_compiler.cost_model import Costs, record

FIELDS = list(Costs.__annotations__)
#: The last words of a name that say what is counted.
UNITS = {
    "bytes", "elements", "operations", "steps", "rounds", "ratio", "share", "tiles", "levels",
    "terms", "characters", "values", "items", "iterations", "trials", "calls", "objects", "units",
    "kinds", "pairs", "products", "rows", "functions", "fraction", "columns", "programs",
}  # fmt: skip
#: A phrase that comes between a unit and the end of a name.
WHERE = re.compile(r"_of_\w+$")


def test_each_name_says_what_is_counted() -> None:
    silent = [name for name in FIELDS if WHERE.sub("", name).rpartition("_")[2] not in UNITS]
    assert not silent


def test_each_field_says_why() -> None:
    """A comment stands before each field; it has more than one sentence."""
    source = inspect.getsource(record)
    told = dict(re.findall(r"((?:^    #: .*\n)+)    (\w+): (?:int|float) = ", source, re.MULTILINE))
    reasons = {name: " ".join(re.findall(r"#: (.*)", text)) for text, name in told.items()}
    assert [*reasons] == FIELDS
    short = [name for name, text in reasons.items() if len(re.findall(r"\.(?: |$)", text)) < 2]
    assert not short


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_is_read(name: str) -> None:
    package = Path(autodiff_compiler.__file__).parent
    paths = [path for path in package.rglob("*.py") if path.parent.name != "cost_model"]
    asked = re.compile(rf"\.{name}\b")
    assert any(asked.search(path.read_text(encoding="utf-8")) for path in paths)


def test_the_thresholds_are_those_that_texts_were_measured_with() -> None:
    """A change of one of these changes texts of ordinary programs."""
    costs = Costs()
    assert costs.large_bytes == costs.reported_bytes == 64 * 1024
    assert costs.tape_row_bytes <= costs.medium_bytes <= costs.large_bytes < costs.tile_bytes
    assert costs.smallest_tile_bytes <= costs.tile_bytes <= costs.cache_bytes
