"""What is documented is there, and no file knows our machines."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import autodiff_compiler
from autodiff_compiler import operators
from autodiff_compiler.ir.opdef import OPERATORS

ROOT = Path(__file__).parents[2]
# Written so that this file does not find itself.
MACHINE = re.compile(
    r"(?<![\w.:/])/(?:" + "|".join(("root", "home", "work", "Users", "tmp")) + ")/"
)


def test_every_operator_is_documented() -> None:
    for module in pkgutil.walk_packages(operators.__path__, operators.__name__ + "."):
        importlib.import_module(module.name)
    silent = [name for name, record in OPERATORS.items() if not record.doc.strip()]
    assert not silent, f"operators without a sentence: {silent}"


def test_every_module_says_what_it_is() -> None:
    paths = sorted(Path(autodiff_compiler.__file__).parent.rglob("*.py"))
    silent = [
        str(path.relative_to(ROOT))
        for path in paths
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent, f"modules without a docstring: {silent}"


def test_the_architecture_page_fits_on_one_screen() -> None:
    """A screen has 60 lines of 140 columns here."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    wrapped = [textwrap.wrap(line, 140) or [""] for line in page.splitlines()]
    assert sum(map(len, wrapped)) <= 60


def test_decisions_are_numbered_in_a_row() -> None:
    pages = sorted((ROOT / "docs" / "decisions").iterdir())
    assert [page.name[:4] for page in pages] == [f"{n:04}" for n in range(1, len(pages) + 1)]
    heads = [page.read_text(encoding="utf-8")[:6] for page in pages]
    assert heads == [f"# {page.name[:4]}" for page in pages]


def tracked_files() -> list[Path]:
    """What git tracks; of a copy without git, everything that is not hidden."""
    if shutil.which("git") and (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z"]
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        return [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(part[0] == "." for part in path.relative_to(ROOT).parts)
    ]


def test_only_the_project_is_tracked() -> None:
    foreign = {path.relative_to(ROOT).parts[0] for path in tracked_files()} & {".venv", "build"}
    assert not foreign, f"not ours to keep: {foreign}; git rm -r --cached removes them"


def test_no_file_knows_our_machines() -> None:
    found = []
    for path in tracked_files():
        if ".venv" in path.parts or not path.is_file():
            continue  # the test above refuses the first; the second was just deleted
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
            for number, line in enumerate(text.splitlines(), 1)
            if MACHINE.search(line)
        ]
    assert not found, "\n".join(found)
