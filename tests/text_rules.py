"""What every generated text obeys: short names, none of Python's own, lines that fit, copies with a
reason."""

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


def broken_rules(source: str, known: Iterable[str] = ()) -> list[str]:
    """Return a line for each rule that ``source`` breaks. ``known`` are the user's names.

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
    return [*hidden, *long, *wide, *_copies_without_reason(source)]


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


def names_in(*things: Any) -> set[str]:
    """The words of the files in which functions or classes are defined."""
    files = {inspect.getsourcefile(inspect.unwrap(thing)) for thing in things}
    texts = (Path(file).read_text(encoding="utf-8") for file in files if file)
    return {word for text in texts for word in re.findall(r"\w+", text)}
