"""The page of stages: one list of names for the command, the verifier and the documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import cli, pipeline
from autodiff_compiler.cli.parser import STAGES
from autodiff_compiler.common.context import LEVELS
from autodiff_compiler.errors import CallError
from autodiff_compiler.generated_source import MEMORY
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.types import parse_type
from autodiff_compiler.ir.verify.structure import FORMS
from autodiff_compiler.passes.derivative.write_disjoint_parts import write_disjoint_parts
from autodiff_compiler.passes.registry import BY_NAME
from autodiff_compiler.passes.simplify.dce import dce
from autodiff_compiler.pipeline import NATIVE, PIPELINE
from autodiff_compiler.stages import driver

ROOT = Path(__file__).parents[1]
X = parse_type("f64[300,300]")


def recurrent(x, w):
    state = x
    for _ in range(3):
        state = np.tanh(state @ w)
    return np.sum(state * state)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)


def requests() -> Iterator[Request]:
    for level in LEVELS:
        yield Request((0, 1), sens="ones", numpy=True, opt_level=level)
        yield Request((0,), tangent=True, numpy=True, opt_level=level)
        yield Request(numpy=True, opt_level=level)


def test_the_page_is_short() -> None:
    assert len(Path(pipeline.__file__).read_text(encoding="utf-8").splitlines()) <= 150


def test_the_documents_name_the_stages() -> None:
    internals = (ROOT / "docs" / "internals.md").read_text(encoding="utf-8")
    section = internals.partition("\n## Stages\n")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == PIPELINE.names
    page = (ROOT / "docs" / "passes.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == PIPELINE.names
    architecture = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = architecture.partition("```\n")[2].partition("```")[0]
    words = re.sub(r"Python source|--\w+-->|->|values and gradients", " ", picture).split()
    assert tuple(words) == PIPELINE.names


def test_the_command_names_the_stages(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(STAGES) == [*PIPELINE.names, "gradient", "nests", "c", MEMORY]
    assert {*STAGES} == {*PIPELINE.names, *NATIVE.names, MEMORY}
    with pytest.raises(SystemExit):
        cli.main(["dump", "--help"])
    help = " ".join(capsys.readouterr().out.split())
    assert ", ".join(PIPELINE.names) in help and ", ".join(NATIVE.names) in help
    doc = " ".join(str(ms.gradient_source.__doc__).split())
    named = doc.partition("stage a stage")[2].partition("(see")[0]
    assert tuple(re.findall(r"``(\w+)``", named)) == PIPELINE.names
    named = doc.partition("C has the stages")[2].partition("(or")[0]
    assert tuple(re.findall(r"``(\w+)``", named)) == NATIVE.names


def test_the_verifier_sees_every_stage() -> None:
    assert {stage.form for stage in PIPELINE.stages} == {*FORMS, None}
    request = Request((0,), sens="ones", numpy=True)
    with mock.patch.object(driver, "verify", wraps=driver.verify) as verify:
        pipeline.run(pipeline.start(recurrent, request, [X, X]))
    seen = dict.fromkeys(call.args[1] for call in verify.call_args_list)
    assert list(seen) == [f"{each.form}: {each.name}" for each in PIPELINE.stages if each.form]


def test_the_verifier_takes_what_the_passes_of_a_stage_make() -> None:
    """``write_disjoint_parts`` makes ``subtract_at``, which has no derivative."""
    (stage,) = (each for each in PIPELINE.stages if each.name == "simplified")
    text = """func @f(%p: f64[2], %q: f64[2]) -> (f64[3]) {
  %n: f64[2] = neg %p
  %z: f64[3] = scatter %q {index=(('slice', None, -1, None),), shape=(3,)}
  %s: f64[3] = add_at %z, %n {index=(('slice', 1, None, None),)}
  return %s
}
"""
    found = dce(write_disjoint_parts(parse_function(text)))
    assert [op.name for op in found.body.ops] == ["scatter", "subtract_at"]
    driver.verify(found, f"{stage.form}: {stage.name}")


@pytest.mark.parametrize("request_", [*requests()], ids=str)
def test_stopping_at_a_stage_changes_nothing(request_: Request) -> None:
    whole = pipeline.run(pipeline.start(recurrent, request_, [X, X]))
    assert tuple(whole.after) == PIPELINE.names
    program = pipeline.start(recurrent, request_, [X, X])
    for number, name in enumerate(PIPELINE.names, 1):
        program = pipeline.run(program, name)
        assert tuple(program.after) == PIPELINE.names[:number]
        assert bool(program.source) == (name == "source")
        assert pipeline.run(program, name) == program
    assert program.source == whole.source


@pytest.mark.parametrize("stage", PIPELINE.names)
def test_each_stage_has_a_text(stage: str) -> None:
    text = ms.gradient_source(recurrent, "f64[2,2]", "f64[2,2]", stage=stage)
    assert ("func @recurrent" in text) == (stage != "source") == ("def recurrent" not in text)
    assert ("_backward" in text) == (PIPELINE.names.index(stage) >= 3)


def test_unknown_stages_are_refused_with_the_list() -> None:
    with pytest.raises(CallError, match="use one of typed, stable, primal, derivative") as caught:
        ms.gradient_source(recurrent, stage="late")
    assert "adjoint" not in str(caught.value)


def test_a_stage_is_shown_although_a_later_one_refuses() -> None:
    def nothing(x: Any) -> None:
        print(x)

    assert "func @nothing" in ms.gradient_source(nothing, "f64[2]", stage="primal")
    with pytest.raises(CallError, match="returns no number"):
        ms.gradient_source(nothing, "f64[2]", stage="derivative")


def test_every_pass_has_a_first_stage() -> None:
    found = {name: PIPELINE.stage_of(name) for name in BY_NAME}
    assert found["stabilise"] == "stable" and found["reuse_forward_values"] == "derivative"
    assert found["fold_constants"] == "primal" and found["overlay_tapes"] == "buffers"
    assert set(found.values()) <= set(PIPELINE.names)
