"""The site: every page is in its navigation, links lead somewhere, each operator has a page."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest

import autodiff_compiler as ms
import autodiff_compiler.operators  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.opdef import OPERATORS
from docs.hooks import operator_pages, site
from docs.hooks.sample_programs import PROGRAMS
from tests.docs.pages import FENCE, PAGES, ROOT

DOCS = ROOT / "docs"
WRITTEN = {path.relative_to(DOCS).as_posix() for path in PAGES if DOCS in path.parents}
SITE = WRITTEN | {*site.OUTSIDE.values()} | {f"operators/{name}.md" for name in OPERATORS}
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
#: Operators whose gradient is refused.
UNDIFFERENTIABLE = {"draw_gamma"}
#: The target of a link or a picture, without its anchor.
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def test_every_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r"^ +-(?: [\w ]+:)? (\S+\.md)$", CONFIG.partition("\nnav:\n")[2], re.M)
    assert sorted(listed) == sorted({*listed})
    assert {*listed} - WRITTEN <= {*site.OUTSIDE.values()}
    assert WRITTEN - {*listed} == set(), "give each a line in the nav of mkdocs.yml"


def source(page: str) -> str:
    """The text of a page of the site that is written, not generated."""
    outside = {target: name for name, target in site.OUTSIDE.items()}
    path = ROOT / outside[page] if page in outside else DOCS / page
    return FENCE.sub("", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", sorted(WRITTEN | {*site.OUTSIDE.values()}))
def test_links_lead_to_pages_of_the_site(page: str) -> None:
    targets = [name for name in LINK.findall(source(page)) if "://" not in name]
    found = {posixpath.normpath(posixpath.join(posixpath.dirname(page), each)) for each in targets}
    assert found - SITE - {*site.PICTURES.values()} == set()


def test_the_readme_has_no_links_to_files() -> None:
    """It is read on the pages of packages too, where a relative link leads nowhere."""
    text = FENCE.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [name for name in LINK.findall(text) if "://" not in name] == []


def test_pages_outside_the_folder_exist() -> None:
    assert all((ROOT / name).is_file() for name in [*site.OUTSIDE, *site.PICTURES])


@pytest.mark.parametrize(
    ("text", "page", "expected"),
    [
        ("`docs/start.md`", "index.md", "[`docs/start.md`](start.md)"),
        ("`start.md`", "errors/AD101.md", "[`start.md`](../start.md)"),
        ("`CHANGELOG.md`", "dtypes.md", "[`CHANGELOG.md`](changelog.md)"),
        ("`README.md`", "decisions/x.md", "[`README.md`](../index.md)"),
        ("`decisions/0006`", "differences.md", "[`decisions/0006`](decisions/0006-x.md)"),
        ("`docs/nowhere.md` `ir/types.py`", "index.md", "`docs/nowhere.md` `ir/types.py`"),
        ("```\n`start.md`\n```\n", "index.md", "```\n`start.md`\n```\n"),
        ("[`start.md`](start.md) `index.md`", "index.md", "[`start.md`](start.md) `index.md`"),
    ],
)
def test_names_of_pages_become_links(text: str, page: str, expected: str) -> None:
    assert site.link(text, page, WRITTEN, {"0006": "decisions/0006-x.md"}) == expected


def test_the_help_of_every_command_is_added() -> None:
    for command in ("dump", "check", "explain-memory"):
        assert f"\n### {command}\n\n```text\nusage: autodiff-compiler {command} " in site.options()


# ---- pages of operators


@pytest.mark.thorough
def test_every_operator_has_a_page_and_a_row() -> None:
    pages = dict(site.generated_pages())
    assert pages.keys() & WRITTEN == set()  # a page of the operator "index" is no index
    rows = operator_pages.tables()
    for name, opdef in OPERATORS.items():
        page = pages[f"operators/{name}.md"]
        assert page.startswith(f"# {name}\n\n{operator_pages.summary(opdef)}\n")
        assert f"\n| [`{name}`](operators/{name}.md) | {operator_pages.summary(opdef)} |" in rows
        assert (ROOT / operator_pages.definition_file(name)).is_file()
        gradient = page.partition("\n## Gradient\n\n")[2]
        if opdef.kind == "lowered":
            assert "it has no derivative" in gradient
        elif opdef.kind == "zero":
            assert "The derivative is zero." in gradient and "\n```python\nimport" in gradient
        elif name in UNDIFFERENTIABLE:
            assert "No operand has a derivative." in gradient
        else:
            assert re.search(r"^def \w+_backward\(", gradient, re.M), name


def test_the_sample_programs_apply_their_operators() -> None:
    for name, program in PROGRAMS.items():
        texts = [
            ms.gradient_source(program.function, *program.types, stage=stage)
            for stage in ("typed", "derivative")
        ]
        assert any(re.search(rf"(= |^ *){name}\b", text, re.M) for text in texts), name


@pytest.mark.thorough
def test_a_page_shows_the_definition() -> None:
    page = operator_pages.page("tanh")
    assert "| definition | `autodiff_compiler/operators/elementwise/activation.py` |" in page
    assert "| NumPy text | `np.tanh({x})` |" in page
    assert "x: f64[2,3] -> f64[2,3]" in page
    assert "d_x = d_tanh_x * (1.0 - tanh_x * tanh_x)" in page
    assert "`ops.tanh`" in page


def test_tags_count_from_the_first_shown_line() -> None:
    assert "# 3| y = x * x" in operator_pages.page("if")
    assert Path("sample_programs.py").name not in operator_pages.page("call")
