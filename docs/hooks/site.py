"""The hooks of MkDocs: pages that are generated, and links between pages.

Generated are the pages of operators, copies of pages that stand outside ``docs/``, and the ends of
two pages. A page may name another one by its path in code quotes; in the site this is a link.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autodiff_compiler.cli.parser import make_parser
from autodiff_compiler.ir.opdef import OPERATORS
from docs.hooks import operator_pages

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[2]

#: Pages outside ``docs/``, and what they are called in the site.
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks/results/peers.md": "benchmarks/results/peers.md",
    "examples/README.md": "examples.md",
}
#: Pictures of these pages.
PICTURES = {"benchmarks/results/peers.png": "benchmarks/results/peers.png"}

#: The name of a page in code quotes, outside a link.
NAMED = re.compile(r"(?<![\[`])`((?:[\w.-]+/)*[\w-]+\.md|(?:docs/)?decisions/\d{4})`(?![\]`])")
FENCED = re.compile(r"^ *```.*?^ *```+ *$", re.M | re.S)
#: An example on the page of an error, as the command line prints it.
LITERAL = re.compile(r"^(\w+)::\n\n((?:    .*\n|\n)+)", re.M)


def generated_pages() -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each page that is generated."""
    for name in OPERATORS:
        yield f"operators/{name}.md", operator_pages.page(name)
    for source, page in OUTSIDE.items():
        yield page, (ROOT / source).read_text(encoding="utf-8")


def link(text: str, page: str, pages: Container[str], decisions: dict[str, str]) -> str:
    """Makes the names of pages in code quotes links, outside fenced blocks.

    page       the path of the page that has the text.
    pages      the paths of all pages.
    decisions  the paths of the pages of decisions, by number.

    >>> link("See `docs/a.md` and `b/c.py`.", "tutorials/t.md", {"a.md"}, {})
    'See [`docs/a.md`](../a.md) and `b/c.py`.'
    """

    def linked(found: re.Match[str]) -> str:
        target = target_of(found[1], page, pages, decisions)
        if target is None or target == page:
            return found[0]
        return f"[{found[0]}]({posixpath.relpath(target, posixpath.dirname(page) or '.')})"

    parts, end = [], 0
    for block in FENCED.finditer(text):
        parts += [NAMED.sub(linked, text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, NAMED.sub(linked, text[end:])])


def target_of(name: str, page: str, pages: Container[str], decisions: dict[str, str]) -> str | None:
    """Returns the page of the site that a path names, or None."""
    if name in OUTSIDE:
        return OUTSIDE[name]
    if name == "README.md":
        return "index.md"
    inner = name.removeprefix("docs/")
    if inner.startswith("decisions/") and inner[-4:].isdigit():
        return decisions.get(inner[-4:])
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
    return next((each for each in (inner, beside) if each in pages), None)


def fence_examples(text: str) -> str:
    """Makes the examples of an error's page fenced blocks.

    >>> print(fence_examples("Refused::\\n\\n    x = 1\\n"), end="")
    Refused:
    <BLANKLINE>
    ```python
    x = 1
    ```
    <BLANKLINE>
    """

    def fenced(found: re.Match[str]) -> str:
        body = re.sub(r"^    ", "", found[2], flags=re.M).strip("\n")
        return f"{found[1]}:\n\n```python\n{body}\n```\n\n"

    return LITERAL.sub(fenced, text)


def options() -> str:
    """Returns the help of every command, each in a block."""
    os.environ["COLUMNS"] = "100"  # the width of argparse's text
    commands = make_parser()._subparsers._group_actions[0].choices
    return "".join(
        f"\n### {name}\n\n{operator_pages.fenced('text', parser.format_help())}"
        for name, parser in commands.items()
    )


# ---- what MkDocs calls


#: What the site adds at the end of a page.
ADDED: dict[str, Callable[[], str]] = {
    "operators.md": operator_pages.tables,
    "command-line.md": options,
}


def on_files(files: Files, config: Any) -> Files:
    """Adds the generated pages."""
    from mkdocs.structure.files import File, InclusionLevel

    for path, text in generated_pages():
        files.append(
            File.generated(config, path, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
        )
    for source, path in PICTURES.items():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Adds links between pages."""
    path = page.file.src_uri
    if path.startswith("errors/"):
        markdown = fence_examples(markdown + "\n")
    if path in ADDED:
        markdown += "\n" + ADDED[path]()
    pages = set(files.src_uris)
    decisions = {Path(each).name[:4]: each for each in pages if each.startswith("decisions/")}
    return link(markdown, path, pages, decisions)
