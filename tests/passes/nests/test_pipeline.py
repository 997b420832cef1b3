"""The table of passes on loop nests: one name each, and an order that uses all of them."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

from autodiff_compiler.common.context import LEVELS
from autodiff_compiler.errors import InternalError
from autodiff_compiler.loop_ir.nodes import Function
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.passes import nests
from autodiff_compiler.passes.log import PassLog
from autodiff_compiler.passes.manager import observed
from autodiff_compiler.passes.nests.pipeline import BY_NAME, NEST_PASSES, ORDER, optimise
from autodiff_compiler.passes.registry import Pass

TESTS = Path(__file__).parent
CHAIN = """\
func chain(x: f64[9]) -> (out: f64[9]) {
  alloc t: f64[9]
  for i in 0:9 {
    t[i] = exp(x[i])
  }
  for i in 0:9 {
    out[i] = t[i] * 2.0
  }
}
"""


def public_rewrites() -> list[str]:
    """Returns the functions from a Function alone to a Function, in the modules of the package."""
    names = []
    for module in map(import_module, modules()):
        for name, each in inspect.getmembers(module, inspect.isfunction):
            hints = inspect.get_annotations(each, eval_str=True)
            is_here = each.__module__ == module.__name__ and name[0] != "_"
            if is_here and hints == {"function": Function, "return": Function}:
                names.append(name)
    return names


def modules() -> list[str]:
    return [f"{nests.__name__}.{each.name}" for each in pkgutil.iter_modules(nests.__path__)]


def test_every_pass_is_in_the_table_and_runs() -> None:
    assert sorted(public_rewrites()) == sorted(BY_NAME)
    assert {*ORDER} == {*BY_NAME}


@pytest.mark.parametrize("each", NEST_PASSES, ids=lambda each: each.name)
def test_a_pass_has_one_name_and_an_example(each: Pass) -> None:
    assert each.rewrite.__name__ == each.name
    module = import_module(each.rewrite.__module__)
    assert module.__name__.rpartition(".")[2] == each.name
    assert f"print_nests({each.name}(before))" in str(module.__doc__)
    assert (TESTS / f"test_{each.name}.py").is_file()
    assert each.summary[0].isupper() and each.summary.endswith(".") and len(each.summary) <= 95
    assert each.levels <= set(LEVELS)


def test_an_observer_sees_each_pass() -> None:
    log = PassLog()
    with observed(log):
        optimise(read_nests(CHAIN))
    assert [each.name for each in log.applications] == [*ORDER]
    assert "-    t[0] = exp(x[i])" in log.diff({"promote_to_scalars"})
    assert "fuse_loops" in log.times()


def test_level_0_optimises_nothing() -> None:
    log = PassLog()
    with observed(log):
        optimise(read_nests(CHAIN), 0)
    assert {each.name for each in log.applications} == {
        each.name for each in NEST_PASSES if 0 in each.levels
    }


def test_an_illegal_function_is_refused_at_the_pass() -> None:
    illegal = read_nests(CHAIN.replace("x[i]", "x[i + 1]"))
    with pytest.raises(InternalError, match="nests: @chain.*outside"):
        optimise(illegal, verified=True)
