"""Code blocks of a documentation page: they run in order, and shown output is compared.

CONTRIBUTING.md, section "Documentation", states the rule.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import cli
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.runtime.native import NativeUnavailable, find_compiler

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.M | re.S
)
TITLE = re.compile(r'\btitle="([^"]+)"')
#: A comment on the line before a fence.
MARK = re.compile(r"^ *<!-- (output|no-run|raises)(?:: (.+))? -->\n\Z", re.M)
#: A line of shown output that stands for any lines.
ANY_LINES = "..."
#: Seconds in what pytest prints.
SECONDS = re.compile(r" in \d+\.\d+s\b")
#: What an untitled block is called.
EXAMPLE = "example.py"


class WrongPage(AssertionError):
    """A block that does not do what its page says; the message begins with page and line."""


@dataclass(frozen=True)
class Block:
    """A fenced block.

    mark    ``output``, ``no-run``, ``raises`` or empty.
    detail  the text after the mark: the reason, or the class of the exception.
    span    the position of the body in the page.
    """

    line: int
    language: str
    title: str
    mark: str
    detail: str
    body: str
    span: tuple[int, int]
    indent: str = ""

    @property
    def is_output(self) -> bool:
        """Whether the block shows what the block before it printed."""
        return self.mark == "output" or (self.language == "text" and not self.title and self.runs)

    @property
    def runs(self) -> bool:
        """Whether no mark keeps the block from running."""
        return self.mark != "no-run"


def blocks(page: str) -> list[Block]:
    """Returns the fenced blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(page):
        mark = MARK.search(page, 0, match.start())
        language, _, rest = match["info"].strip().partition(" ")
        title = TITLE.search(rest)
        found.append(
            Block(
                page.count("\n", 0, match.start()) + 1,
                language,
                title[1] if title else "",
                mark[1] if mark else "",
                (mark[2] or "") if mark else "",
                textwrap.dedent(match["body"]),
                match.span("body"),
                match["indent"],
            )
        )
    return found


@dataclass
class Run:
    """One page that is being run, in an empty folder of its own.

    printed      what the last block that ran printed; None before the first.
    corrections  the outputs that differ from the shown ones, by their positions in the page.
    """

    name: str
    folder: Path
    rewrites: bool = False
    module: types.ModuleType = field(default_factory=lambda: types.ModuleType("example"))
    count: int = 0
    printed: str | None = None
    corrections: dict[tuple[int, int], str] = field(default_factory=dict)

    def block(self, block: Block, is_shown: bool) -> None:
        """Runs a block, or compares the output that it shows.

        ``is_shown`` tells whether an output follows: a command whose output is shown may fail.
        """
        self.check(block)
        if block.title and block.runs:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8", newline="\n")
        if block.is_output:
            self.compare(block)
        elif not block.runs:
            self.printed = None
        elif block.language == "python":
            self.printed = self.python(block)
        elif block.language == "sh":
            self.printed = self.shell(block, is_shown)

    def check(self, block: Block) -> None:
        """Raises an error if the marks of a block mean nothing."""
        if block.mark == "no-run" and not block.detail:
            raise self.wrong(block, "give the reason: <!-- no-run: REASON -->")
        if block.mark == "raises" and not (block.language == "python" and block.detail):
            raise self.wrong(block, "write <!-- raises: CLASS --> before a block of Python")
        if block.is_output and self.printed is None:
            raise self.wrong(block, "no block that ran stands before this output")

    def python(self, block: Block) -> str:
        """Runs a block in the namespace of the page, and returns what it prints."""
        if block.title:
            path = self.folder / block.title
        else:
            self.count += 1
            path = self.folder / str(self.count) / EXAMPLE
            path.parent.mkdir()
            path.write_text(block.body, encoding="utf-8", newline="\n")
        linecache.checkcache(str(path))
        self.module.__file__ = str(path)
        output, raised = io.StringIO(), ""
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(block.body, str(path), "exec"), vars(self.module))
        except Exception as error:
            raised = type(error).__name__
            if raised != block.detail or block.mark != "raises":
                raise self.wrong(block, f"{raised}: {error}\n{output.getvalue()}") from error
            print(f"{raised}: {error}", file=output)
        if block.mark == "raises" and not raised:
            raise self.wrong(block, f"the block does not raise {block.detail}")
        return self.without_folders(output.getvalue())

    def shell(self, block: Block, may_fail: bool) -> str:
        """Runs the commands of a block in the folder of the page, and returns what they print."""
        output = io.StringIO()
        for name, *arguments in commands(block.body):
            if name.startswith("./"):
                status = run_made_program(self.folder, [name, *arguments], output)
            elif name in COMMANDS:
                status = COMMANDS[name](self.folder, arguments, output)
            else:
                raise self.wrong(
                    block, f"'{name}' does not run here; mark it <!-- no-run: REASON -->"
                )
            if status and not may_fail:
                raise self.wrong(block, f"the command fails:\n{output.getvalue()}")
        return self.without_folders(output.getvalue())

    def without_folders(self, text: str) -> str:
        """Returns a text in which the files of blocks have their plain names."""
        text = text.replace(str(self.folder) + os.sep, "")
        return re.sub(rf"\b\d+[/\\](?={re.escape(EXAMPLE)}\b)", "", text)

    def compare(self, block: Block) -> None:
        """Compares a shown output with the printed one; one in Python then runs, too."""
        assert self.printed is not None
        is_whole = ANY_LINES not in block.body.splitlines()
        if not matches(block.body, self.printed):
            if not (self.rewrites and is_whole):
                raise self.wrong(block, f"printed is this:\n{self.printed}")
            text = "\n".join(lines(self.printed)) + "\n"
            self.corrections[block.span] = textwrap.indent(text, block.indent)
            block = replace(block, body=text)
        if block.language == "python" and is_whole:
            self.python(block)

    def wrong(self, block: Block, problem: str) -> WrongPage:
        """Returns an error at a block."""
        return WrongPage(f"{self.name}:{block.line}: {problem}")


# ---- commands of blocks in the language of the shell


def commands(body: str) -> Iterator[list[str]]:
    """Yields the commands of a block, as lists of words.

    >>> list(commands("# a comment\\nautodiff-compiler dump \\\\\\n  net.py:Net\\n"))
    [['autodiff-compiler', 'dump', 'net.py:Net']]
    """
    for line in body.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def run_compiler(folder: Path, arguments: list[str], output: io.StringIO) -> int:
    """Runs the command line of the compiler in this process."""
    before = set(sys.modules)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            return int(cli.main(arguments))
        except SystemExit as stop:
            return int(stop.code or 0)
        finally:
            forget_modules(folder, before)


def run_program(folder: Path, arguments: list[str], output: io.StringIO) -> int:
    """Runs Python in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
    for name in ("CI", "BUILD_NUMBER"):  # with which pytest prints its summary in full
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
    )
    output.write(done.stdout)
    return done.returncode


def run_pytest(folder: Path, arguments: list[str], output: io.StringIO) -> int:
    """Runs pytest; the seconds that it prints are left out."""
    text = io.StringIO()
    status = run_program(folder, ["-m", "pytest", "-p", "no:cacheprovider", *arguments], text)
    output.write(SECONDS.sub("", text.getvalue()))
    return status


def print_files(folder: Path, arguments: list[str], output: io.StringIO) -> int:
    """Prints files."""
    for name in arguments:
        output.write((folder / name).read_text(encoding="utf-8"))
    return 0


def run_c_compiler(folder: Path, arguments: list[str], output: io.StringIO) -> int:
    """Runs the C compiler of this machine. Where there is none, the test of the page ends."""
    try:
        compiler = find_compiler()
    except NativeUnavailable as missing:
        pytest.skip(str(missing))
    done = subprocess.run(
        [*compiler.command, *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )
    output.write(done.stdout + done.stderr)
    return done.returncode


def run_made_program(folder: Path, command: list[str], output: io.StringIO) -> int:
    """Runs a program that was compiled in the folder of the page."""
    program = [str(folder / command[0]), *command[1:]]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=120)
    output.write(done.stdout + done.stderr)
    return done.returncode


COMMANDS: dict[str, Callable[[Path, list[str], io.StringIO], int]] = {
    "autodiff-compiler": run_compiler,
    "python": run_program,
    "pytest": run_pytest,
    "cat": print_files,
    "cc": run_c_compiler,
}


# ---- comparison


def lines(text: str) -> list[str]:
    """Returns the lines of a text without blanks at their ends, and without last empty lines."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def matches(shown: str, printed: str) -> bool:
    """Decides whether a page shows what was printed; a line ``...`` stands for any lines.

    >>> matches("a\\n...\\nd\\n", "a\\nb\\nc\\nd\\n"), matches("a\\n", "a\\nb\\n")
    (True, False)
    """
    pattern = "".join(
        r"(?:.*\n)*?" if line == ANY_LINES else re.escape(line) + r"\n" for line in lines(shown)
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines(printed))) is not None


# ---- whole pages


def forget_modules(folder: Path, before: set[str]) -> None:
    """Forgets the modules that were imported from ``folder``, as it may change."""
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@contextlib.contextmanager
def surroundings(folder: Path, module: types.ModuleType) -> Iterator[None]:
    """Opens a block in which ``folder`` is the working directory, and restores what a page sets."""
    here, path, before = os.getcwd(), sys.path[:], set(sys.modules)
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    operators = dict(OPERATORS)
    settings = {name: ms.get_context(name) for name in ("mode", "opt_level", "stabilise")}
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    try:
        with np.printoptions(), np.errstate():
            yield
    finally:
        os.chdir(here)
        sys.path[:] = path
        sys.modules.pop(module.__name__)
        forget_modules(folder, before)
        sys.dont_write_bytecode = writes_bytecode
        for name in OPERATORS.keys() - operators.keys():
            del OPERATORS[name]
        ms.set_context(**settings)


def run_page(name: str, page: str, folder: Path, rewrites: bool = False) -> str:
    """Runs the blocks of a page, and returns the page, with outputs as printed if ``rewrites``."""
    run = Run(name, folder.resolve(), rewrites)
    with surroundings(run.folder, run.module):
        found = blocks(page)
        for block, following in zip_longest(found, found[1:]):
            run.block(block, is_shown=following is not None and following.is_output)
    for (start, end), text in sorted(run.corrections.items(), reverse=True):
        page = page[:start] + text + page[end:]
    return page
