"""The table of passes as text (``autodiff-compiler passes``) and as ``docs/passes.md``."""

from __future__ import annotations

from autodiff_compiler.passes.registry import REGISTRY, Pass

HEAD = ("name", "stage", "levels", "summary")

PAGE = """\
# Passes

Rewrites of the IR, in the order of the stages in which they run. `autodiff-compiler passes \
--markdown` prints this page from `autodiff_compiler/passes/registry.py`.

The stage is the first one of `autodiff-compiler dump --stage` in whose text the pass may show; \
the levels are those of `dump -O`. Passes marked *repeats* run in rounds until none of them \
changes anything. `dump --dump-after PASS` prints the IR after each change that a pass made, \
`dump --diff` prints all changes, and `dump --time-passes` what each pass cost.

| name | stage | levels | repeats | summary |
|---|---|---|---|---|
"""


def rows() -> list[tuple[str, ...]]:
    """Returns the head and the rows of the table of passes."""
    return [HEAD, *((each.name, each.stage, _levels(each), each.summary) for each in REGISTRY)]


def page_text() -> str:
    """Returns the table of passes as the Markdown page of the documentation."""
    lines = (
        f"| `{each.name}` | {each.stage} | {_levels(each)} | {'yes' if each.repeats else ''} |"
        f" {each.summary} |\n"
        for each in REGISTRY
    )
    return PAGE + "".join(lines)


def _levels(each: Pass) -> str:
    return " ".join(map(str, sorted(each.levels)))


__all__ = ["page_text", "rows"]
