"""Every generated text obeys the rules of ``text_rules``: of layers, nets, examples and the corpus,
at every level."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import autodiff_compiler as ms
from autodiff_compiler import compile_info, get_context, ops, pipeline, set_context
from autodiff_compiler.cost_model import changed_costs
from tests.corpus.test_corpus import CASES, USER_NAMES, Case, weights_of
from tests.models.measured import NETS, answers
from tests.nn.measured import Run, cases
from tests.same import EXAMPLES, LEVELS, dumped, run_example
from tests.text_rules import broken_rules

HERE = Path(__file__).parent
NET_FILES = {name: file for file, names in NETS.items() for name in names}


def words_in(*paths: Path) -> set[str]:
    """The words of files: the names that their texts may have."""
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return {word for text in texts for word in re.findall(r"\w+", text)}


LAYER_NAMES = words_in(*(Path(ms.__file__).parent / "nn").rglob("*.py"))

each_level = pytest.mark.parametrize("level", LEVELS)


@contextmanager
def compiled_at(level: int) -> Iterator[list[str]]:
    """Compiles at ``level``, and collects the texts."""
    texts: list[str] = []
    run: Callable[..., Any] = pipeline.run

    def recording(*arguments: Any, **named: Any) -> Any:
        program = run(*arguments, **named)
        texts.extend([program.source] if program.source else [])
        return program

    before = get_context("opt_level")
    set_context(opt_level=level)
    compile_info().clear()
    try:
        with mock.patch.object(pipeline, "run", recording), redirect_stdout(StringIO()):
            yield texts
    finally:
        set_context(opt_level=before)


def assert_rules(texts: list[str], names: set[str], level: int) -> None:
    """Level 0 does not remove copies, and level 3 has those of inlined functions: no reasons."""
    assert texts
    broken = [rule for text in texts for rule in broken_rules(text, names, level)]
    if level in (0, 3):
        broken = [rule for rule in broken if not rule.startswith("a copy without a reason")]
    assert not broken


@each_level
@pytest.mark.parametrize("case", cases())
def test_layer(case: str, level: int) -> None:
    with compiled_at(level) as texts:
        Run("autodiff_compiler", case).answers()
    assert_rules(texts, LAYER_NAMES | set(re.findall(r"\w+", case)), level)


@pytest.mark.parametrize("level", (0, 1))
@pytest.mark.parametrize("case", cases())
def test_layer_of_large_arrays(case: str, level: int) -> None:
    """Levels 0 and 1 plan no memory, of large arrays neither."""
    with changed_costs(large_bytes=0), compiled_at(level) as texts:
        Run("autodiff_compiler", case).answers()
    assert_rules(texts, LAYER_NAMES | set(re.findall(r"\w+", case)), level)


@each_level
@pytest.mark.parametrize("name", NET_FILES)
def test_net(name: str, level: int, tmp_path: Path) -> None:
    file = NET_FILES[name]
    with compiled_at(level) as texts:
        answers("autodiff_compiler", file, name, tmp_path)
    assert_rules(texts, LAYER_NAMES | words_in(HERE / "models" / f"{file}.py"), level)


@each_level
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example(path: Path, level: int) -> None:
    if "start(" in path.read_text(encoding="utf-8"):  # it trains: its gradient alone
        texts = [dumped(path, level)]
    else:
        with compiled_at(level) as texts:
            run_example(path)
    if path.stem != "running":  # the part that all examples share
        assert_rules(texts, LAYER_NAMES | words_in(path), level)


@each_level
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_program(case: Case, level: int) -> None:
    function = case.make()
    gradient = ops.GradOperation(get_all=True, get_by_list=True)(function, weights_of(function))
    with compiled_at(level) as texts:
        gradient(*case.inputs)
    assert_rules(texts, USER_NAMES, level)
