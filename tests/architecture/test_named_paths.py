"""Every path that a document names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "README.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    ROOT / "benchmarks" / "README.md",
    ROOT / "examples" / "README.md",
]
#: A word in code quotes that has a slash, such as ``ir/types.py``, ``docs/decisions/``,
#: ``decisions/0006`` or ``ir/types.is_floating``.
PATH = re.compile(r"`([\w.-]+/[\w./-]*)`")
#: Names of files that the reader writes, in place of NAME.
OF_THE_READER = re.compile("NAME")


def is_there(name: str, document: Path) -> bool:
    """Return True if ``name`` is a path in one of the folders that documents leave out."""
    folders = (ROOT, ROOT / "autodiff_compiler", ROOT / "docs", document.parent)
    last = name.rstrip("/").rpartition("/")[2]
    stem = name.rstrip("/").removesuffix(last)
    found = [folder / name for folder in folders]
    if "." in last:  # the attribute of a module
        found += [folder / stem / f"{last.partition('.')[0]}.py" for folder in folders]
    numbered = last.isdigit() and any([*folder.glob(f"{name}-*")] for folder in folders)
    return numbered or any(path.exists() for path in found)


def missing(document: Path, text: str) -> list[str]:
    """Return the paths in ``text`` that are not there."""
    named = [name for name in PATH.findall(text) if not OF_THE_READER.search(name)]
    return [name for name in named if not is_there(name, document)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_paths_that_exist(document: Path) -> None:
    assert missing(document, document.read_text(encoding="utf-8")) == []


def test_a_path_that_is_gone_is_found() -> None:
    text = "`ir/types.py` `ir/typos.py` `docs/decisions/` `docs/errers/` `decisions/0001`"
    text += " `decisions/9999` `ir/types.is_floating` `ir/typos.is_floating` `tests/test_NAME.py`"
    gone = ["ir/typos.py", "docs/errers/", "decisions/9999", "ir/typos.is_floating"]
    assert missing(ROOT / "README.md", text) == gone


def test_the_table_of_contributing_has_every_package() -> None:
    """A reader finds each package of the compiler in the table of places."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in ROOT.glob("autodiff_compiler/*/__init__.py")}
    named = set(re.findall(r"`autodiff_compiler/(\w+)/?`", text))
    assert packages <= named
