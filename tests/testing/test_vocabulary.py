"""The table of operators, and the messages about names that are not in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autodiff_compiler import Tensor, grad, nn, ops
from autodiff_compiler.cli import main
from autodiff_compiler.errors import UnknownAttribute
from autodiff_compiler.mindspore_names.suggestions import names
from autodiff_compiler.mindspore_names.supported import TIERS
from autodiff_compiler.testing.vocabulary import bound, entries, missing

#: Names that need no mark to have no slope: steps, and what gives back its argument.
STEPS = {
    "ops.floor", "ops.Floor", "Tensor.floor", "ops.sign", "Tensor.sign", "ops.Trunc", "ops.eye",
    "ops.Eye", "ops.stop_gradient",
}  # fmt: skip


def test_a_name_is_missing_where_the_api_does_not_have_it() -> None:
    owners = {"function": ops, "primitive": ops, "method": Tensor, "layer": nn}
    for surface, owner in owners.items():
        for tier in (1, 2):
            absent = {n.rstrip("°") for words in missing(surface, tier).values() for n in words}
            assert absent == {n for n in names(surface, tier) if not hasattr(owner, n)}


def test_missing_names_are_explained() -> None:
    page = (Path(__file__).parents[2] / "docs" / "differences.md").read_text(encoding="utf-8")
    section = page.partition("## Not supported")[2].partition("\n## ")[0]
    absent = [
        name.rstrip("°")
        for surface in ("function", "primitive", "method")
        for tier in (1, 2)
        for words in missing(surface, tier).values()
        for name in words
    ]
    assert len(absent) <= 25
    assert [name for name in absent if f"`{name}`" not in section] == []
    assert not any(missing(surface, 1) for surface in ("function", "primitive", "method"))


def test_every_name_that_calculus_is_about_has_a_derivative() -> None:
    flat = [name for row in entries() if row.derivative == "zero" for name in row.names]
    shown = {"function": "ops.", "primitive": "ops.", "method": "Tensor.", "layer": "nn."}
    smooth = {
        shown[surface] + name
        for surface, tiers in TIERS.items()
        for families in tiers.values()
        for text in families.values()
        for name in text.split()
        if name[-1] != "°"
    }
    assert smooth.intersection(flat) == STEPS


def test_names_of_one_thing_are_one_entry() -> None:
    (row,) = [row for row in entries() if "ops.abs" in row.names]
    assert row.names == ("ops.abs", "ops.absolute", "ops.Abs", "Tensor.abs", "Tensor.absolute")
    assert (row.tier, row.derivative, row.operators) == (1, "elementwise", ("abs",))
    assert row.samples >= 2
    (row,) = [row for row in entries() if "ops.logaddexp2" in row.names]
    assert (row.derivative, "logaddexp" in row.operators) == ("composed", True)


def test_every_record_is_listed() -> None:
    listed = {name for row in entries() for name in row.operators}
    assert {"mul", "if", "list_append", "print"} <= listed
    assert bound("method", "T") and bound("function", "no_such_thing") is None


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("1     elementwise") and "ops.tanh" in line for line in lines)
    assert main(["ops", "--missing"]) == 0
    assert "functions of tier 1: 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("look", "told"),
    [
        (lambda: ops.lu_unpack, "MindSpore's ops.lu_unpack is not part of this package"),
        (lambda: ops.operations.STFT, "MindSpore's ops.STFT is not part of this package"),
        (lambda: ops.functional.matmull, "did you mean 'matmul'?"),
        (lambda: nn.Dens, "did you mean 'Dense'?"),
        (lambda: Tensor(1.0).cauchy, "MindSpore's Tensor.cauchy is not part of this package"),
    ],
)
def test_a_name_that_is_not_there(look: Callable[[], Any], told: str) -> None:
    with pytest.raises(UnknownAttribute) as error:
        look()
    assert told in str(error.value)


def test_the_names_of_a_tensor() -> None:
    assert {"reshape", "init", "cauchy"} & set(dir(Tensor(1.0))) == {"reshape", "init"}
    assert not hasattr(Tensor, "cauchy")
    with pytest.raises(AttributeError) as error:
        Tensor(1.0).resahpe  # noqa: B018
    # Of these Python makes its own "Did you mean: 'reshape'?".
    assert error.value.name == "resahpe" and isinstance(error.value.obj, Tensor)


def test_a_name_that_is_not_there_while_compiling() -> None:
    def left_out(x):
        return ops.lu_unpack(x, x)

    with pytest.raises(UnknownAttribute) as error:
        grad(left_out)(Tensor(1.0))
    text = str(error.value)
    assert "MindSpore's ops.lu_unpack is not part of this package" in text
    assert "    return ops.lu_unpack(x, x)\n           ^^^^^^^^^^^^^" in text
    assert error.value.problems[0].span.line == left_out.__code__.co_firstlineno + 1
