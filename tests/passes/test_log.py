"""The log of passes: runs, changes, and the same text without the log."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from autodiff_compiler import gradient_source
from autodiff_compiler.common.context import LEVELS, TARGETS
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.parser import parse_function, parse_functions
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.loop_ir.nodes import Function as Nests
from autodiff_compiler.passes.log import PassLog
from autodiff_compiler.passes.manager import observed, on_functions, run_pass, run_until_stable
from autodiff_compiler.passes.nests.pipeline import BY_NAME as NESTS
from autodiff_compiler.passes.nests.pipeline import ORDER
from autodiff_compiler.passes.registry import BY_NAME, REGISTRY

TEXT = """
func @leaf(%a: f32[2]) -> (f32[2]) {
  %b: f32[2] = neg %a
  %c: f32[2] = sin %a
  return %c
}

func @f(%x: f32[2]) -> (f32[2]) {
  %y: f32[2] = call @leaf(%x)
  %u: f32[2] = cos %x
  return %y
}
"""


def scaled(x):
    return np.tanh(x) * 2.0


def recurrent(x, w):
    state = x
    for _ in range(4):
        state = scaled(state @ w)
        if np.sum(state) > 10.0:
            state = state / 2.0
    return np.sum(state * state)


def straight(x, w):
    return np.sum(np.exp(x @ w) * x)


def log_of(fn, level: int, target: str = "numpy") -> tuple[PassLog, str]:
    log = PassLog()
    with observed(log):
        text = gradient_source(fn, "f64[4,4]", "f64[4,4]", opt_level=level, target=target)
    return log, text


def parsed() -> Function:
    return parse_functions(TEXT, OPERATORS)["f"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("fn", [recurrent, straight])
def test_passes_run_at_their_levels_alone(fn, level: int) -> None:
    log, text = log_of(fn, level)
    ran = {each.name for each in log.applications}
    assert all(level in BY_NAME[name].levels for name in ran)
    assert text == gradient_source(fn, "f64[4,4]", "f64[4,4]", opt_level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_every_pass_of_a_level_runs(level: int) -> None:
    log, _ = log_of(recurrent, level)
    wanted = {each.name for each in REGISTRY if level in each.levels}
    assert {each.name for each in log.applications} == wanted


@pytest.mark.parametrize("level", LEVELS)
def test_one_log_has_the_passes_on_ir_and_on_nests(level: int) -> None:
    log, _ = log_of(straight, level, "c")
    names = [each.name for each in log.applications]
    wanted = [name for name in ORDER if level in NESTS[name].levels]
    assert names[-len(wanted) :] == wanted and "dce" in names[: -len(wanted)]
    before, after = (
        [type(form) for form in forms]
        for forms in zip(*((each.before, each.after) for each in log.applications))
    )
    assert before == after == [Function] * (len(names) - len(wanted)) + [Nests] * len(wanted)


def test_a_pass_is_timed_and_counted() -> None:
    log, _ = log_of(recurrent, 1)
    assert all(each.seconds > 0 for each in log.applications)
    head, *rows = [line.split() for line in log.times().splitlines()]
    assert head == ["pass", "runs", "changed", "ops", "+/-", "seconds"]
    for name, runs, changed, added, _ in rows[:-1]:
        mine = [each for each in log.applications if each.name == name]
        assert int(runs) == len(mine) and int(changed) == sum(each.changed for each in mine)
        assert int(added) == sum(each.added for each in mine)
    assert rows[-1][:2] == ["total", str(len(log.applications))]
    seconds = [float(row[-1]) for row in rows[:-1]]
    assert seconds == sorted(seconds, reverse=True)


def test_only_functions_that_changed_are_shown() -> None:
    log = PassLog()
    with observed(log):
        run_until_stable(parsed(), ("dce",))
    first, second = [each for each in log.applications if each.changed]
    assert "%b" in first.texts()[0][0] and "%u" in second.texts()[0][0]
    assert [len(side) for side in (*first.texts(), *second.texts())] == [1, 1, 1, 1]
    assert [each.added for each in log.applications if each.changed] == [-1, -1]


def test_callees_that_a_pass_changes_are_shown() -> None:
    log = PassLog()
    with observed(log):
        result = on_functions("dce").on(parsed(), Request())
    assert [each.name for each in log.applications] == ["dce", "dce"]
    texts = [print_function(each) for each in (*result.callees(), result)]
    parts = [part.partition("\n")[2] for part in log.dump({"dce"}).split("# application")[1:]]
    assert [part.strip("\n") for part in parts] == [text.strip("\n") for text in texts]


@pytest.mark.parametrize("target", TARGETS)
def test_a_diff_leads_from_before_to_after(target: str) -> None:
    log, _ = log_of(recurrent, 1, target)
    shown = list(log.changes())
    assert len(shown) > len([*log.changes(BY_NAME)]) or target == "numpy"
    assert shown
    for each, before, after in shown:
        assert each.changed and before != after
        changes = PassLog()
        changes.applications.append(each)
        lines = changes.diff().splitlines()[2:]
        gone = [line[1:] for line in lines if line[0] == "-"]
        new = [line[1:] for line in lines if line[0] == "+"]
        assert Counter(after.splitlines()) == (
            Counter(before.splitlines()) - Counter(gone) + Counter(new)
        )
    titles = [line for line in log.diff().splitlines() if line.startswith("--- before")]
    assert titles == [f"--- before {each.title}" for each, _, _ in shown]


def test_passes_without_a_change_are_not_shown() -> None:
    function, log = (
        parse_function(TEXT.partition("\n\n")[0].replace("return %c", "return %b")),
        PassLog(),
    )
    with observed(log):
        assert run_pass("cse", function) is function
    assert len(log.applications) == 1 and not log.applications[0].changed
    assert log.dump() == log.diff() == ""


def test_nothing_is_recorded_outside_of_the_block() -> None:
    log = PassLog()
    with observed(log), observed(inner := PassLog()):
        run_pass("dce", parsed())
    run_pass("dce", parsed())
    assert log.applications == [] and len(inner.applications) == 1
