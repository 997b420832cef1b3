"""Imports point down: reads every import of the package and holds it against one table.

A file imports floors below its own and, inside its package, files to its left. A room that is not
in the table has no floor yet: give it one here and in ``docs/architecture.md``.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "autodiff_compiler"

# Floors from the ground up; on each, rooms from left to right: a name alone is a module, a name
# with a colon is a package and its files in order. Files that are not named stand where the star
# is (else on the right), and may import each other as long as there is no cycle.
FLOORS = (
    ("version", "span", "errors", "faults", "trees"),
    (
        "vocabulary: tiers others missing",
        "ir: types opdef nodes effects digest build read text rewrite memory lanes conflicts "
        "writes verify",
        "plan",
    ),
    ("operators: declare structure families control containers",),
    (
        "common: hooks context dtype engine convert printing indexing eager tensor seed "
        "files initializer mutable structures parameter tree cell containers checkpoint",
    ),
    ("ops:", "numpy:", "nn:", "amp"),
    (
        "frontend: source make recipes looking matching testing contexts enclosing trying exits "
        "subset desugar complaints numpy_signatures numpy_calls values layouts packing nothing "
        "meeting heap memory views sharing numpy_writes numpy_arguments naming quieting "
        "recording reaching resolve items lists iterators deciding copying asking stepping "
        "expressions arithmetic comparisons subscripts access wording texts outlines attributes "
        "objects fitting rules hooks precision batches derivatives keeping classes domains "
        "builtin_calls heap_methods outside calls recursion writes branches carried sameness "
        "rolling loops raising storing statements lowering lower",
        "analysis:",
    ),
    (
        "adjoint: cotangents picked residuals control loops checkpoints rules zeros reverse shares "
        "forward_loops forward examples spread batching pulls expand",
        "passes: * runner",
    ),
    (
        "emit: apart literals templates unparse wrap lines uses tapes statements loops compose "
        "names to_numpy sizes readers origins kept account",
    ),
    (
        "runtime: known disk debugger load overlaps guards slots sensitivity workspace cache quick "
        "unit invoke",
    ),
    ("stages", "pipeline"),
    ("testing:", "signatures", "sources", "api", "targets", "cli", "plugin", "paths"),
    ("__init__", "__main__"),
)
# Rooms of one floor that never import each other, and rooms that are closed to others below.
STRANGERS = {("frontend", "analysis"), ("adjoint", "passes")}
CLOSED = {("runtime", "ir"), ("runtime", "operators")}
# Who may import a package that is not ours.
GUESTS = {"gast": {"frontend"}, "astunparse": {"emit"}}


@dataclass(frozen=True)
class Place:
    """Where a module stands: its floor, its room on that floor, its shelf in that room."""

    floor: int
    seat: int
    room: str
    shelf: int


def place(module: str) -> Place | None:
    """The place of ``ir.types``; None for a room that the table does not know."""
    head, _, rest = module.partition(".")
    for floor, rooms in enumerate(FLOORS):
        for seat, text in enumerate(rooms):
            room, _, files = text.partition(":")
            if room != head:
                continue
            names = files.split()
            name = rest.partition(".")[0]
            # The package itself (its __init__) imports its files, so it comes after all of them.
            shelf = [*names, "*", ""].index(name if name in (*names, "") else "*")
            return Place(floor, seat, room, shelf)
    return None


def module_name(path: Path) -> str:
    """``ir.types`` for the file of that module, ``ir`` for the package's ``__init__``."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def imported(module: str, tree: ast.Module) -> set[str]:
    """Full names of all that ``tree`` imports; a name imported from a package may be a module."""
    found: set[str] = set()
    is_package = FILES[module].name == "__init__.py"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = ["autodiff_compiler", *("" if module == "__init__" else module).split(".")]
                here = [part for part in here if part]
                up = node.level - is_package
                base = ".".join([*here[: len(here) - up], *([base] if base else [])])
            inner = base.removeprefix("autodiff_compiler").lstrip(".")
            for alias in node.names:
                submodule = f"{inner}.{alias.name}".lstrip(".")
                known = base.startswith("autodiff_compiler") and submodule in FILES
                found.add(f"{base}.{alias.name}" if known else base)
    return found


def edges() -> list[tuple[str, str]]:
    """Every import between two modules of the package, by their short names."""
    pairs = []
    for module, tree in TREES.items():
        for name in sorted(imported(module, tree)):
            if name.partition(".")[0] == "autodiff_compiler":
                pairs.append((module, name.partition(".")[2] or "__init__"))
    return pairs


def objection(importer: str, target: str) -> str | None:
    """Why ``importer`` may not import ``target``, or None where it may."""
    above, below = place(importer), place(target)
    if above is None or below is None:
        return None  # test_every_room_has_a_floor speaks of these
    if (above.room, below.room) in CLOSED:
        return f"{above.room} never sees {below.room}"
    if below.floor != above.floor:
        return "imports point down" if below.floor > above.floor else None
    if above.room == below.room:
        return "imports point left" if below.shelf > above.shelf else None
    if {(above.room, below.room), (below.room, above.room)} & STRANGERS:
        return f"{above.room} and {below.room} never import each other"
    return "imports point left" if below.seat > above.seat else None


def test_imports_point_down_and_left() -> None:
    wrong = [
        f"{importer} imports {target}: {reason}"
        for importer, target in edges()
        if (reason := objection(importer, target))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_room_has_a_floor() -> None:
    homeless = sorted({name.partition(".")[0] for name in FILES if place(name) is None})
    assert not homeless, f"give them a floor in FLOORS and in docs/architecture.md: {homeless}"


def test_there_is_no_cycle() -> None:
    below: dict[str, set[str]] = {name: set() for name in FILES}
    for importer, target in edges():
        if target in FILES and target != importer:
            below[importer].add(target)
    while free := {name for name, targets in below.items() if not targets & below.keys()}:
        below = {name: targets for name, targets in below.items() if name not in free}
    assert not below, f"these import each other in a ring: {sorted(below)}"


def test_guests_stay_in_their_rooms() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, tree in TREES.items()
        for name in imported(module, tree)
        if module.partition(".")[0]
        not in GUESTS.get(name.partition(".")[0], {module.partition(".")[0]})
    ]
    assert not wrong, "\n".join(wrong)


def test_no_import_hides_in_a_function() -> None:
    hidden = [
        f"{FILES[module].relative_to(ROOT)}:{node.lineno}"
        for module, tree in TREES.items()
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not hidden, "imports inside functions: " + ", ".join(hidden)


def test_the_page_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d.*", page, re.MULTILINE)
    assert len(rows) == len(FLOORS) - 1  # the front door goes without saying
    for row, rooms in zip(rows, FLOORS):
        for text in rooms:
            room = text.partition(":")[0]
            known = any(name.partition(".")[0] == room for name in FILES)
            assert f"`{room}" in row or not known, f"{room} is missing from: {row}"
            order = " ".join(text.partition(":")[2].replace("*", " ").split())
            assert f"`{order}`" in row or not order, f"the files of {room} differ in: {row}"


def test_the_table_names_no_file_that_is_gone() -> None:
    named = {
        f"{text.partition(':')[0]}.{name}"
        for rooms in FLOORS
        for text in rooms
        for name in text.partition(":")[2].split()
    }
    gone = sorted(name for name in named if not name.endswith("*") and name not in FILES)
    assert not gone, f"no such files: {gone}"


@pytest.mark.parametrize(
    ("importer", "target", "allowed"),
    [
        ("ir.nodes", "ir.types", True),
        ("ir.types", "ir.nodes", False),
        ("ir.types", "ir", False),
        ("operators", "operators.elementwise", True),
        ("operators.elementwise", "operators.declare", True),
        ("operators.declare", "operators.elementwise", False),
        ("frontend.lower", "frontend.calls", True),
        ("frontend.calls", "frontend.lower", False),
        ("frontend.calls", "frontend.expressions", True),
        ("nn.layers", "ops.linalg", True),
        ("ops.linalg", "nn.layers", False),
        ("adjoint.reverse", "passes.dce", False),
        ("passes.dce", "adjoint.reverse", False),
        ("frontend.lower", "analysis.uses", False),
        ("runtime.load", "ir.types", False),
        ("runtime.load", "errors", True),
        ("ir.nodes", "operators.declare", False),
        ("api", "__init__", False),
    ],
)
def test_the_table_says_what_it_should(importer: str, target: str, allowed: bool) -> None:
    assert (objection(importer, target) is None) == allowed
