"""What every generated text obeys: short names, none of Python's own, lines that fit, copies with a
reason, one name for a saved value."""

from __future__ import annotations

import ast
import inspect
import keyword
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from autodiff_compiler.emit.naming.identifiers import BUILTINS
from autodiff_compiler.ir.labels import words

#: Names that modules of generated texts bind by their imports.
IMPORTED = {"np", "ml_dtypes"}
NUMBERED = re.compile(r"(_\d+)+$")
COPY = re.compile(r"\.copy\(\)|np\.array\(\w+\)|np\.copy\(")
WIDTH = 100


def broken_rules(source: str, known: Iterable[str] = (), level: int = 2) -> list[str]:
    """Return a line for each rule that ``source`` breaks. ``known`` are the user's names.

    Levels 0 and 1 obey more rules: no workspace, and ``out=`` is a name.

    >>> text = "def f(x):\\n    sum = x.copy()\\n    a_b_c_d = x\\n"
    >>> broken_rules(text)
    ["hides Python's sum", 'a long name: a_b_c_d', 'a copy without a reason: sum = x.copy()']
    """
    tree = ast.parse(source)
    bound = dict.fromkeys(bound_names(tree))
    hidden = [
        f"hides Python's {name}"
        for name in bound
        if name in BUILTINS or keyword.iskeyword(name) or name in IMPORTED
    ]
    exempt = {*known, *(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))}
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    long = [
        f"a long name: {name}"
        for name in bound
        if name not in functions and len(words(name)) > 3 and not _is_made_of(name, exempt)
    ]
    wide = [f"a long line: {line}" for line in source.splitlines() if len(line) > WIDTH]
    planned = _planned_memory(tree) if level < 2 else ()
    return [
        *hidden, *long, *wide, *_copies_without_reason(source), *_renamed_residuals(tree), *planned
    ]  # fmt: skip


def bound_names(tree: ast.AST) -> Iterator[str]:
    """The names that the functions of a text bind: variables, parameters, functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef):
            yield node.name


def _is_made_of(name: str, exempt: set[str]) -> bool:
    """True for a user's name, with a prefix of derivatives and numbers."""
    plain = NUMBERED.sub("", name)
    own = "_".join(words(plain))
    return bool({name, plain, own} & exempt) or any("_".join(words(e)) == own for e in exempt)


def _copies_without_reason(source: str) -> Iterator[str]:
    above = ""
    for line in source.splitlines():
        code, comment = line.partition("  #")[::2]
        if COPY.search(code) and not comment and not above.strip().startswith("#"):
            yield f"a copy without a reason: {line.strip()}"
        above = line


def _planned_memory(tree: ast.Module) -> Iterator[str]:
    """Yields each workspace, and each ``out=`` into anything but a named array.

    >>> text = "def f(x, work=None):\\n    np.exp(x, out=x[1:])\\n    np.exp(x, out=x)"
    >>> list(_planned_memory(ast.parse(text)))
    ['f has a workspace', 'out= into x[1:]']
    """
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    takers = [each.name for each in functions if "work" in (arg.arg for arg in each.args.args)]
    yield from (f"{name} has a workspace" for name in takers)
    outs = [each for each in ast.walk(tree) if isinstance(each, ast.keyword) and each.arg == "out"]
    others = [each.value for each in outs if not isinstance(each.value, ast.Name)]
    yield from (f"out= into {ast.unparse(each)}" for each in others)


def _renamed_residuals(tree: ast.Module) -> Iterator[str]:
    """Yields the values that a backward function calls otherwise than its forward function."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, backward in functions.items():
        before, _, number = name.rpartition("_backward")
        forward = functions.get(f"{before}_forward{number}")
        saved = forward and _packed(forward)
        for there, here in zip(saved or (), _unpacked(backward, len(saved or ()))):
            if isinstance(there, ast.Name) and there.id != here != "_":
                yield f"{name} renames {there.id} to {here}"


def _packed(forward: ast.FunctionDef) -> list[ast.expr]:
    """Returns the residuals that a forward function returns as a tuple."""
    last = forward.body[-1]
    tree = last.value if isinstance(last, ast.Return) else None
    if not isinstance(tree, ast.Tuple):
        return []
    return tree.elts[-1].elts if tree.elts and isinstance(tree.elts[-1], ast.Tuple) else tree.elts


def _unpacked(backward: ast.FunctionDef, count: int) -> list[str]:
    """Returns the names of so many residuals in a backward function."""
    for node in backward.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == "residuals":
            (target,) = node.targets
            names = target.elts if isinstance(target, ast.Tuple) else []
            return [ast.unparse(name) for name in names] if len(names) == count else []
    return []


def names_in(*things: Any) -> set[str]:
    """The words of the files in which functions or classes are defined."""
    files = {inspect.getsourcefile(inspect.unwrap(thing)) for thing in things}
    texts = (Path(file).read_text(encoding="utf-8") for file in files if file)
    return {word for text in texts for word in re.findall(r"\w+", text)}
