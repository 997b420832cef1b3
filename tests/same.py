"""``python -m tests.same [FILE]``: a digest of every generated text, to see that none changed.

A second digest is that of the code alone, without comments and docstrings. It does not move when
the lines of a library function move, whose numbers the texts quote.

The texts are those of the corpus, the golden Cells, the nets of ``tests/models`` and the examples,
each at every level. With FILE, the digest of each text is written there, one a line, so that
two files can be compared with ``diff``.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import re
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from autodiff_compiler import compile_info, get_context, ops, pipeline, set_context
from tests.corpus import test_corpus as corpus
from tests.golden.cells import FILES, GOLDEN
from tests.models.measured import NETS, answers

LEVELS = (0, 1, 2, 3)
EXAMPLES = Path(__file__).parents[1] / "examples"
#: A number of an object, which differs from run to run.
ADDRESS = re.compile(r"0x[0-9a-f]+")
#: The number of a line of a source function, or its place.
NUMBERED = re.compile(r"\b\d+\||\(\w+\.py:\d+\)")


def digest(text: str) -> str:
    """Return a short digest of ``text``."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def code(text: str) -> str:
    """Return ``text`` without comments and docstrings, if it is Python, in a layout of its own.

    >>> print(code("y = sin(  # 9| y = np.sin(x)\\n    x)"))
    y = sin(x)
    """
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return NUMBERED.sub("", text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body[:1] = [ast.Pass()]
    return ast.unparse(tree)


class Texts:
    """The digests of all texts that are compiled while it watches, by group and title."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.group = ""

    def add(self, title: str, text: str) -> None:
        text = ADDRESS.sub("0x", text)
        self.lines.append(f"{digest(text)} {digest(code(text))} {self.group} {title}")

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Every compilation in here is made at every level."""
        compile_unit = pipeline.compile_unit

        def recording(fn: Any, request: Any, *rest: Any) -> Any:
            for level in LEVELS:
                made = compile_unit(fn, replace(request, opt_level=level), *rest)
                self.add(f"{made.title} -O{level}", made.source)
            return compile_unit(fn, request, *rest)

        with mock.patch.object(pipeline, "compile_unit", recording):
            yield

    def group_of(self, name: str, run: Callable[[], Any]) -> None:
        """Record what ``run`` compiles, under a name."""
        self.group = name
        compile_info().clear()
        with contextlib.redirect_stdout(io.StringIO()), self.watching():
            run()


def _gradients(case: corpus.Case) -> None:
    fn = case.make()
    asked = ops.GradOperation(get_all=True, get_by_list=True)(fn, corpus.weights_of(fn))
    asked(*case.inputs)


def collected() -> Texts:
    """Compile everything."""
    texts = Texts()
    for case in corpus.CASES:
        texts.group_of(f"corpus/{case.name}", lambda case=case: _gradients(case))  # type: ignore[misc]
    for golden in GOLDEN:
        texts.group = f"golden/{golden.folder.name}"
        for file in FILES:
            texts.add(file, golden.fresh(file))
    with tempfile.TemporaryDirectory() as folder:
        for file, names in NETS.items():
            for name in names:
                texts.group_of(
                    f"models/{name}",
                    lambda file=file, name=name: answers(  # type: ignore[misc]
                        "autodiff_compiler", file, name, Path(folder)
                    ),
                )
    for path in sorted(EXAMPLES.glob("*.py")):
        name = f"examples/{path.stem}"
        if "start(" not in path.read_text(encoding="utf-8"):
            texts.group_of(name, lambda path=path: run_example(path))  # type: ignore[misc]
            continue
        texts.group = name
        for level in LEVELS:  # it trains: its gradient alone
            texts.add(f"-O{level}", dumped(path, level))
    return texts


def run_example(path: Path, *options: str) -> None:
    paths = mock.patch.object(sys, "path", [str(EXAMPLES), *sys.path])
    with paths, mock.patch.object(sys, "argv", [str(path), *options]):
        runpy.run_path(str(path), run_name="__main__")


def dumped(path: Path, level: int) -> str:
    before, said = get_context("opt_level"), io.StringIO()
    set_context(opt_level=level)
    try:
        with contextlib.redirect_stdout(said):
            run_example(path, "--dump")
    finally:
        set_context(opt_level=before)
    return said.getvalue()


def main(file: str | None = None) -> None:
    """Print how many texts there are, and the digests of all of them and of their code."""
    lines = collected().lines
    if file:
        Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    total, total_code = (digest("\n".join(line.split()[n] for line in lines)) for n in (0, 1))
    print(f"{len(lines)} texts, digest {total}, code {total_code}")


if __name__ == "__main__":
    main(*sys.argv[1:])
