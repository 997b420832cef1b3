"""Stages and passes as text (``autodiff-compiler passes``) and as ``docs/passes.md``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from autodiff_compiler.passes.manager import Step
from autodiff_compiler.passes.nests.pipeline import NEST_PASSES, ORDER
from autodiff_compiler.passes.registry import EVERY_LEVEL, REGISTRY, Pass
from autodiff_compiler.stages.driver import Pipeline, Stage, passes_of

HEAD = ("name", "stage", "levels", "summary")

PAGE = """\
# Stages and passes

`autodiff-compiler passes --markdown` prints this page from `autodiff_compiler/pipeline.py` and \
`autodiff_compiler/passes/registry.py`.

## Stages

`autodiff-compiler dump --stage NAME` prints the program after a stage. Within a stage the steps \
run in this order. A pass runs only at its levels (`dump -O`), which the table below lists. \
*SIMPLIFY* stands for: {simplify}.

{stages}
## Passes

The stage is the first one in which the pass runs. Passes marked *repeats* run in rounds until \
none of them changes anything. `dump --dump-after PASS` prints the IR after each change that a \
pass made. `dump --diff` prints all changes, and `dump --time-passes` the cost of each pass.

| name | stage | levels | repeats | summary |
|---|---|---|---|---|
{passes}
## Passes on loop nests

They run for the C target alone, after the lowering to loop nests, in this order: {order}. \
`dump --target c --stage nests` prints the loop nests that they leave. `--dump-after PASS`, \
`--diff` and `--time-passes` show them as they show passes on IR.

| name | levels | summary |
|---|---|---|
{nest_passes}"""


def rows(pipeline: Pipeline) -> list[tuple[str, ...]]:
    """Returns the head and the rows of the table of passes, by their first stage."""
    passes = [(each.name, stage, _levels(each), each.summary) for each, stage in _passes(pipeline)]
    on_nests = [(each.name, "nests", _levels(each), each.summary) for each in NEST_PASSES]
    return [HEAD, *passes, *on_nests]


def page_text(pipeline: Pipeline, rounds: tuple[str, ...]) -> str:
    """Returns the stages and the table of passes as the Markdown page of the documentation.

    rounds   passes that run together in many steps, and are listed once.
    """
    passes = (
        f"| `{each.name}` | {stage} | {_levels(each)} | {'yes' if each.repeats else ''} |"
        f" {each.summary} |\n"
        for each, stage in _passes(pipeline)
    )
    listed = _quoted(rounds)
    stages = "\n".join(map(_stage, pipeline.stages)).replace(listed, "*SIMPLIFY*")
    on_nests = (f"| `{each.name}` | {_levels(each)} | {each.summary} |\n" for each in NEST_PASSES)
    return PAGE.format(
        simplify=listed,
        stages=stages,
        passes="".join(passes),
        order=_quoted(ORDER),
        nest_passes="".join(on_nests),
    )


def _passes(pipeline: Pipeline) -> list[tuple[Pass, str]]:
    """Returns every pass with its first stage, in the order of stages."""
    staged = [(each, pipeline.stage_of(each.name)) for each in REGISTRY]
    return sorted(staged, key=lambda row: pipeline.names.index(row[1]))


def _levels(each: Pass) -> str:
    return " ".join(map(str, sorted(each.levels)))


def _stage(stage: Stage) -> str:
    form = "" if stage.form is None else f" Verified as *{stage.form}* IR."
    steps = "".join(f"{number}. {_step(step)}\n" for number, step in enumerate(stage.steps, 1))
    return f"### {stage.name}\n\n{stage.summary}{form}\n" + (f"\n{steps}" if steps else "")


def _step(step: Any) -> str:
    if isinstance(step, Step):
        return f"{_quoted(step.names)} ({'; '.join(_conditions(step))})"
    name = step.__name__ if inspect.isfunction(step) else type(step).__name__
    summary = (inspect.getdoc(step) or "").partition("\n\n")[0].replace("\n", " ")
    inner = [] if inspect.isfunction(step) else fields(step)
    parts = [(each.name, tuple(passes_of(getattr(step, each.name)))) for each in inner]
    listed = "".join(f"\n   - `{name}`: {_quoted(names)}" for name, names in parts if names)
    return f"*{name}*: {summary.replace('``', '`')}{listed}"


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _conditions(step: Step) -> Iterator[str]:
    yield f"{step.scope.value}, in rounds" if step.repeats else step.scope.value
    for name, fact in step.facts.items():
        yield f"`{name}`: {getattr(fact, '__name__', repr(fact))}"
    if step.levels != EVERY_LEVEL:
        yield f"at {', '.join(f'`-O{level}`' for level in sorted(step.levels))} only"
    if step.flag is not None:
        yield f"if `{step.flag}` is set"


__all__ = ["page_text", "rows"]
