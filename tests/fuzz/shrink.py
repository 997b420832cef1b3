"""Makes a program that goes wrong smaller, as long as it goes wrong in the same way.

Statements are left out, blocks take the place of what they stand in, and expressions that of the
larger ones around them, until nothing more can go. What went wrong is told by the class of the
error and the first words of its message. A program that Python itself cannot run, or that does not
return what its judge needs, does not go wrong: the judges say so without an error.
"""

from __future__ import annotations

import ast
import contextlib
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.checks import loaded
from tests.fuzz.kinds import CELLS, Kind

SECONDS = 20.0
#: So many words of two messages are the same where they say the same.
WORDS = 6
TEST = '''"""Found by random programs (seed {seed}): {message}"""

{head}
from {place} import {judge}


{text}


def test_program_{seed}() -> None:
    assert {judge}({seed}, {kind.prefix}{seed}, order={order}, small={small}) == "ok"
'''


def ready_test(
    text: str, message: str, seed: int, order: int, small: bool, kind: Kind = CELLS
) -> str:
    """A test file that holds this program."""
    head, message = kind.head.strip(), message.splitlines()[0]
    place, judge = kind.outcome.__module__, kind.outcome.__name__
    return TEST.format(**locals())


def smaller(
    text: str,
    error: Exception,
    seed: int,
    order: int,
    small: bool,
    folder: Path,
    kind: Kind = CELLS,
) -> tuple[str, str]:
    """The shrunk text and how it goes wrong."""
    messages = {text: f"{type(error).__name__}: {error}"}

    def fails(tree: ast.Module) -> bool:
        try:
            text = ast.unparse(tree)
        except Exception:  # a part is missing that this version of Python asks for
            return False
        try:
            module = loaded(f"shrunk_{seed}", f"{kind.head}\n\n{text}\n", folder)
            with in_time():
                kind.outcome(seed, kind.program(module, seed), order, small)
        except Exception as other:
            messages[text] = f"{type(other).__name__}: {other}"
            return sort_of(other) == sort_of(error)
        except Late:
            pass
        return False

    shrunk = ast.unparse(shrink(ast.parse(text), fails))
    return shrunk, messages.get(shrunk, str(error))


def sort_of(error: Exception) -> tuple[str, ...]:
    """Return what two errors have in common that say the same: the class, and the first words of
    the message without its place, numbers, names in quotes and what stands in brackets.

    >>> sort_of(ValueError("a_12.py:3:4: InternalError: lowering fails, at x.py:7 (KeyError)"))
    ('ValueError', 'InternalError:', 'lowering', 'fails,', 'at', 'x.py:_', '_')
    >>> sort_of(ValueError("the gradient is -0.25, but differences say [1.0, inf]"))
    ('ValueError', 'the', 'gradient', 'is', '_,', 'but', 'differences')
    """
    told = re.sub(r"^\S+:\d+:\d+: ", "", str(error))
    told = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "_", told)
    while told != (told := re.sub(r"\[[^][()]*\]|\([^][()]*\)", "_", told)):
        pass
    told = re.sub(r"[-+]?(\d+(\.\d*)?(e[-+]?\d+)?|\binf\b|\bnan\b)", "_", told)
    return type(error).__name__, *told.split()[:WORDS]


class Late(BaseException):
    """A loop that lost its end."""


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Raises Late again and again once the time is over."""

    def ring(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def shrink(tree: ast.Module, fails: Callable[[ast.Module], bool]) -> ast.Module:
    """The smallest program found that still ``fails``; changes ``tree``.

    >>> def keeps_a_loop(tree):
    ...     return any(isinstance(node, ast.For) for node in ast.walk(tree))
    >>> program = "a = 1\\nif a > 2:\\n    for b in (a, 3):\\n        print(b)\\n        a = b"
    >>> print(ast.unparse(shrink(ast.parse(program), keeps_a_loop)))
    for b in a:
        pass
    """
    at, passed = 0, 0  # passed: how many edits in a row were of no use
    while passed < len(edits := list(_edits(tree))):
        node, field, new = edits[at % len(edits)]
        old = getattr(node, field)
        setattr(node, field, new)
        if fails(tree):
            passed = 0
        else:
            setattr(node, field, old)
            at, passed = at + 1, passed + 1
    return tree


def _edits(tree: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:
    """What may be put where, so that the program gets smaller; large parts first."""
    for node in ast.walk(tree):
        for field, held in ast.iter_fields(node):
            if isinstance(held, ast.expr):
                for new in _parts(held):
                    yield node, field, new
            elif isinstance(held, list):
                for i, item in enumerate(held):
                    before, after = held[:i], held[i + 1 :]
                    if not isinstance(item, ast.Pass):
                        empty = (
                            [ast.Pass()] if field == "body" and isinstance(item, ast.stmt) else []
                        )
                        yield node, field, before + after or empty
                    for new in _parts(item):
                        yield (
                            node,
                            field,
                            before + (new if isinstance(new, list) else [new]) + after,
                        )


def _parts(node: Any) -> list[Any]:
    """What may stand in the place of a statement or expression."""
    if isinstance(node, ast.stmt):
        blocks = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
        return [block for block in blocks if block]
    if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
        return []
    parts: list[Any] = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    return parts + [ast.Name("x")] * (not isinstance(node, (ast.Name, ast.Constant)))
