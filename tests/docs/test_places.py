"""The files and folders that tutorials name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
#: A file of the repository, or a folder, in code quotes.
PLACE = re.compile(r"`([\w./-]+(?:\.(?:pyi?|md|toml)|/))`")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_named_places_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)
    named = set(PLACE.findall(prose)) - {block.title for block in blocks(text)}
    starts = ROOT, ROOT / "autodiff_compiler"
    missing = [place for place in named if not any((start / place).exists() for start in starts)]
    assert not missing, f"{page.name} names places that are not there: {missing}"
