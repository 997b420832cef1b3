"""Every code block of the documentation runs, and prints what the page shows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, WrongPage, blocks, run_page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_blocks_of_a_page_run(path: Path, tmp_path: Path) -> None:
    page, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
    new = run_page(name, page, tmp_path, rewrites=bool(os.environ.get("REWRITE_GOLDEN")))
    if new != page:
        path.write_text(new, encoding="utf-8", newline="\n")


# ---- the runner itself

NET = """```python title="net.py"
def loss(x):
    return x * x
```
"""


def run(page: str, folder: Path, rewrites: bool = False) -> str:
    return run_page("page.md", page, folder, rewrites)


def fenced(language: str, body: str, mark: str = "") -> str:
    return (mark and f"<!-- {mark} -->\n") + f"```{language}\n{body}\n```\n"


def test_blocks_share_a_namespace_and_output_is_compared(tmp_path: Path) -> None:
    page = fenced("python", "x = 2") + "prose\n" + fenced("python", "print(x)")
    run(page + fenced("text", "2"), tmp_path / "a")
    with pytest.raises(WrongPage, match=r"page\.md:8: printed is this:\n2"):
        run(page + fenced("text", "3"), tmp_path / "b")


@pytest.fixture(autouse=True)
def folders(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()


def test_a_title_makes_a_file_for_commands(tmp_path: Path) -> None:
    command = fenced("sh", "autodiff-compiler dump net.py:loss --input f64[3]")
    shown = fenced("python", "...\ndef loss_backward(residuals):\n...", "output")
    run(NET + command + shown, tmp_path / "a")
    assert (tmp_path / "a" / "net.py").exists()
    with pytest.raises(WrongPage, match="printed is this"):
        run(NET + command + shown.replace("loss_b", "los_b"), tmp_path / "b")


def test_shown_source_runs_and_has_lines_from_one(tmp_path: Path) -> None:
    source = "import autodiff_compiler as ms\nprint(ms.gradient_source(loss, 'f64[3]'))"
    page = NET.replace(' title="net.py"', "") + fenced("python", source)
    page += fenced("python", "?", "output")
    page += fenced("python", "assert loss_backward(loss_forward(3.0)) == 6.0")
    with pytest.raises(WrongPage, match="printed is this"):
        run(page, tmp_path / "a")
    new = run(page, tmp_path / "b", rewrites=True)
    assert "(example.py:1)" in new and "2|" in new
    (tmp_path / "c").mkdir()
    assert run(new, tmp_path / "c") == new


def test_exceptions_are_announced(tmp_path: Path) -> None:
    page = fenced("python", "print(1)\n1 / 0", "raises: ZeroDivisionError")
    run(page + fenced("text", "1\nZeroDivisionError: division by zero"), tmp_path / "a")
    with pytest.raises(WrongPage, match="does not raise ValueError"):
        run(fenced("python", "1", "raises: ValueError"), tmp_path / "b")


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (fenced("python", "1 / 0"), "ZeroDivisionError"),
        (fenced("sh", "pip install x"), "'pip' does not run here"),
        (fenced("sh", "autodiff-compiler dump nothing.py:f"), "the command fails"),
        (fenced("text", "1"), "no block that ran"),
        (fenced("python", "1", "no-run"), "give the reason"),
        (fenced("text", "1", "raises: ValueError"), "before a block of Python"),
    ],
)
def test_a_page_that_is_wrong_fails(page: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(WrongPage, match=problem):
        run(page, tmp_path / "a")


def test_what_is_marked_does_not_run(tmp_path: Path) -> None:
    run(fenced("python", "1 / 0", "no-run: another language") + fenced("", "?"), tmp_path / "a")


def test_a_failing_command_shows_its_output(tmp_path: Path) -> None:
    page = fenced("sh", "autodiff-compiler explain AD999") + fenced("text", "...")
    run(page, tmp_path / "a")


@pytest.mark.thorough
def test_programs_and_pytest_run(tmp_path: Path) -> None:
    test = '```python title="test_net.py"\ndef test_it():\n    assert True\n```\n'
    page = NET + fenced("sh", "python net.py\ncat net.py") + fenced("text", "...\n    return x * x")
    run(page + test + fenced("sh", "pytest -q") + fenced("text", "...\n1 passed"), tmp_path / "a")


def test_every_page_is_found() -> None:
    assert sum(len(blocks(path.read_text(encoding="utf-8"))) for path in PAGES) > 20
