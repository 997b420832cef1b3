"""Holds every import of the package against the list of layers.

A module imports its own layer and lower ones. Within a layer there is no order, but there is no
cycle either: neither between packages nor between modules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "autodiff_compiler"

#: The layers from the lowest to the highest: packages and single modules of the top level.
LAYERS = (
    ("version", "span", "errors", "faults", "fast_ast", "cost_model"),
    ("mindspore_names", "ir", "interface", "loop_ir"),
    ("operators",),
    ("common",),
    ("ops", "numpy", "nn", "amp"),
    ("frontend", "analysis", "loops"),
    ("transforms", "passes"),
    ("program",),
    ("emit",),
    ("runtime",),
    ("stages", "pipeline"),
    (
        "testing",
        "abstract_arguments",
        "generated_source",
        "api",
        "cli",
        "pytest_plugin",
        "mindspore_paths",
    ),
    ("__init__", "__main__"),
)
#: Pairs that never import each other although their layers would let them.
SEPARATE = (
    ("frontend", "analysis"),
    ("transforms", "passes"),
    ("runtime", "ir"),
    ("runtime", "operators"),
)
#: Third-party packages that one package alone may import.
THIRD_PARTY = {"gast": "frontend", "astunparse": "emit"}


def module_name(path: Path) -> str:
    """Return ``ir.types`` for that module's file, ``ir`` for the package's ``__init__``."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


STUBS = {f"autodiff_compiler.{module_name(path)}" for path in PACKAGE.rglob("*.pyi")}
FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def top(module: str) -> str:
    """Return the package or module of the top level that ``module`` belongs to."""
    return module.partition(".")[0]


def package(module: str) -> str:
    """Return the package of a module. A package's ``__init__``, which may re-export its
    subpackages, and a module of the top level stand for themselves."""
    if FILES[module].name == "__init__.py" or "." not in module:
        return f"{module}/__init__"
    name = module.rpartition(".")[0]
    return name


def layer(module: str) -> int | None:
    """Return the number of the layer of ``module``; None for a package that no layer lists."""
    return next((n for n, names in enumerate(LAYERS) if top(module) in names), None)


def imported(module: str, tree: ast.Module) -> set[str]:
    """Return the full names of all that ``tree`` imports, submodules told from other names."""
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
    """Return every import between two modules of the package, by their short names.

    Stub files are left out: they hold declarations, which type checkers alone read.
    """
    pairs = []
    for module, tree in TREES.items():
        for name in sorted(imported(module, tree)):
            if top(name) == "autodiff_compiler" and name not in STUBS:
                pairs.append((module, name.partition(".")[2] or "__init__"))
    return pairs


def objection(importer: str, target: str) -> str | None:
    """Return why ``importer`` may not import ``target``, or None if it may."""
    above, below = layer(importer), layer(target)
    if above is None or below is None:
        return None  # test_every_package_has_a_layer reports these
    if below > above:
        return f"layer {above} is below layer {below}"
    if (top(importer), top(target)) in SEPARATE or (top(target), top(importer)) in SEPARATE:
        return f"{top(importer)} and {top(target)} are kept apart"
    return None


def in_cycles(below: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the nodes that are left when those without edges are removed again and again.

    >>> sorted(in_cycles({"a": ["b"], "b": ["c"], "c": ["b"], "d": []}))
    ['a', 'b', 'c']
    """
    left = {name: set(targets) - {name} for name, targets in below.items()}
    while free := {name for name, targets in left.items() if not targets & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in free}
    return set(left)


def test_imports_point_to_lower_layers() -> None:
    wrong = [
        f"{importer} imports {target}: {reason}"
        for importer, target in edges()
        if (reason := objection(importer, target))
    ]
    assert not wrong, "\n".join(wrong)


def test_every_package_has_a_layer() -> None:
    missing = sorted({top(name) for name in FILES if layer(name) is None})
    assert not missing, f"add them to LAYERS and to docs/architecture.md: {missing}"


def test_every_listed_package_exists() -> None:
    tops = set(map(top, FILES))
    gone = [name for names in LAYERS for name in names if name not in tops]
    assert not gone


def test_there_is_no_cycle_between_modules() -> None:
    below: dict[str, set[str]] = {name: set() for name in FILES}
    for importer, target in edges():
        below[importer].add(target)
    assert not in_cycles(below)


def test_there_is_no_cycle_between_packages() -> None:
    below: dict[str, set[str]] = {package(name): set() for name in FILES}
    for importer, target in edges():
        below[package(importer)].add(package(target))
    assert not in_cycles(below)


def test_third_party_packages_stay_in_one_package() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, tree in TREES.items()
        for name in imported(module, tree)
        if THIRD_PARTY.get(top(name), top(module)) != top(module)
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


def test_the_architecture_page_lists_the_layers() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| (.*?) \|", page, re.MULTILINE)
    named = [tuple(re.findall(r"`([a-z_]+)", row)) for row in rows]
    assert named == list(LAYERS[:-1])  # the last one is the package's own front


@pytest.mark.parametrize(
    ("importer", "target", "allowed"),
    [
        ("ir.nodes", "ir.types", True),
        ("operators", "operators.elementwise", True),
        ("nn.layers", "ops.linalg", True),
        ("transforms.reverse", "passes.dce", False),
        ("passes.dce", "transforms.reverse", False),
        ("frontend.lower", "analysis.uses", False),
        ("runtime.loader", "ir.types", False),
        ("runtime.loader", "errors", True),
        ("ir.nodes", "operators.declare", False),
        ("api", "__init__", False),
    ],
)
def test_the_list_allows_what_it_should(importer: str, target: str, allowed: bool) -> None:
    assert (objection(importer, target) is None) == allowed
