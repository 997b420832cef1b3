"""A gradient costs a constant multiple of its function, in loops that write items too.

Elements that are touched are counted, at two sizes: both halves, of the first and second order, and
forward mode. What takes time linear in the size must do so in its derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, api, nn, ops
from autodiff_compiler.runtime.dispatch import Runtime
from tests.corpus.cases import Case
from tests.corpus.test_corpus import CASES, weights_of
from tests.counting import counted_calls, touched_by_function, touched_by_text
from tests.written_loops import WRITTEN

SIZES = (128, 256)
#: By how much what is linear may grow from one size to the other.
LINEAR = 1.2 * SIZES[1] / SIZES[0]
TYPES = {"x": "f64[n]", "m": "f64[n,4]", "idx": "i64[n]", "idx2": "i64[n,2]"}

written = pytest.mark.parametrize("name", WRITTEN)


def arguments(name: str, n: int) -> list[np.ndarray]:
    random, found = np.random.default_rng(n), []
    code = WRITTEN[name].__code__
    for param in code.co_varnames[: code.co_argcount]:
        if param.startswith("idx"):
            shape = (n, 2) if param == "idx2" else (n,)
            found.append(random.integers(0, n, shape))
        else:
            found.append(random.uniform(-1, 1, (n, 4) if param == "m" else n))
    return found


def types(name: str) -> list[str]:
    code = WRITTEN[name].__code__
    return [TYPES[param] for param in code.co_varnames[: code.co_argcount]]


def assert_linear(small: list[int], large: list[int], most: float = LINEAR) -> None:
    assert len(small) == len(large) and any(small)
    assert all(b <= most * a for a, b in zip(small, large)), (small, large)


@written
def test_the_functions_themselves_are_linear(name: str) -> None:
    small, large = (touched_by_function(WRITTEN[name], arguments(name, n)) for n in SIZES)
    assert large <= LINEAR * small


@written
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_for_sizes_that_only_a_run_knows(name: str, order: int) -> None:
    fn = WRITTEN[name] if order == 1 else ms.grad(WRITTEN[name])
    source = ms.gradient_source(fn, *types(name))
    assert_linear(*(touched_by_text(source, arguments(name, n)) for n in SIZES))


@written
def test_tangents(name: str) -> None:
    source = ms.gradient_source(WRITTEN[name], *types(name), mode="forward")
    assert_linear(*(touched_by_text(source, [*(a := arguments(name, n)), a[0]]) for n in SIZES))


@written
def test_gradients_for_known_sizes(name: str) -> None:
    found = []
    for n in SIZES:
        with counted_calls() as touched:
            ms.value_and_grad(WRITTEN[name])(*arguments(name, n))
        found.append(touched)
    assert_linear(*found)


@written
def test_gradients_are_right(name: str) -> None:
    """Against central differences along a direction."""
    fn, (x, *more) = WRITTEN[name], arguments(name, 8)
    along, step = np.random.default_rng(3).normal(size=x.shape), 1e-6
    _, gradient = ms.value_and_grad(fn)(x, *more)
    ends = [fn(x + sign * step * along, *more) for sign in (1, -1)]
    expected = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(np.sum(np.asarray(gradient) * along), expected, rtol=2e-6, atol=1e-7)


def products_at(x, idx2):
    out = np.ones(len(x))
    for t in range(len(x)):
        np.multiply.at(out, idx2[t], np.cos(x[t]) + out[idx2[t, 0]] * 0.1)
    return (out * out).sum()


def smallest_at(x, idx2):
    out = np.ones(len(x))
    for t in range(len(x)):
        np.minimum.at(out, idx2[t], np.sin(x[t]) * x[t - 1] + x[idx2[t]] * 0.1)
    return (out * out).sum()


@pytest.mark.parametrize("fn", [products_at, smallest_at])
def test_values_at_several_places_are_combined_where_the_array_stands(fn: Any) -> None:
    """Forward copies no array; backward keeps the items that it reads."""
    source, found = ms.gradient_source(fn, "f64[n]", "i64[n,2]"), []
    for n in SIZES:
        rng = np.random.default_rng(n)
        given = [rng.uniform(-1, 1, n), rng.integers(0, n, (n, 2))]
        found.append(touched_by_text(source, given)[:1])
    assert_linear(*found)
    x, places = rng.uniform(-1, 1, 6), rng.integers(0, 6, (6, 2))
    along = 1e-6 * rng.normal(size=6)
    value, slope = ms.value_and_grad(fn)(x, places)
    assert value == pytest.approx(fn(x, places), rel=1e-12)
    wanted = fn(x + along, places) - fn(x - along, places)
    assert 2 * np.sum(slope * along) == pytest.approx(wanted, rel=1e-6)


#: Programs of the corpus that take time quadratic in their number, as they are written: two loops,
#: or a list or an array that is joined anew in each turn. And one whose two lists change places:
#: no proof tells them apart, so that they are copied.
SQUARE = {
    "for_loops.nested-2", "for_loops.nested_bound_by_outer", "for_loops.branch_loop_branch",
    "for_loops.branch_loop_branch-1", "for_loops.grows", "growing.kept_while_it_grows",
    "growing.a_row_in_every_iteration", "growing.lists_that_change_places",
    "growing.lists_that_change_places-1",
}  # fmt: skip
#: Of these the number is a place as well, or a size: it cannot be raised.
AS_PLACES = {
    "aliases.written_in_a_carried_tuple-1", "aliases.picked_from_a_list_and_written",
    "aliases.a_field_of_a_named_tuple_is_written_under_another_name", "for_loops.Recurrent",
    "for_loops.indexed", "for_loops.neighbours", "for_loops.steps",
    "for_loops.set_item_in_a_loop", "growing.picked_at_run_time-1",
    "list_methods.places_in_lists_of_run_time_length",
    "list_methods.places_in_lists_of_run_time_length-1",
}  # fmt: skip

counted = [
    case
    for case in CASES
    if case.name not in AS_PLACES and any(type(each) is int and each > 1 for each in case.inputs)
]


@pytest.mark.thorough
@pytest.mark.parametrize("case", counted, ids=lambda case: case.name)
def test_programs_of_the_corpus_for_more_iterations(case: Case) -> None:
    fn, found = case.make(), []
    gradient = ops.GradOperation(get_all=True, get_by_list=True)(fn, weights_of(fn))
    for n in SIZES:
        raised = [n if type(each) is int and each > 1 else each for each in case.inputs]
        with counted_calls() as touched, np.errstate(all="ignore"):
            Runtime(api._compile).run_gradient(gradient, raised, {})
        found.append(touched)
    assert_linear(*found, most=4.4 if case.name in SQUARE else LINEAR)


class Layered(nn.Cell):
    """Rows of which each is made by a Cell, that is called with a view of the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dense(4, 4)

    def construct(self, x):
        out = ops.zeros_like(x)
        for i in range(1, x.shape[0]):
            out[i] = ops.tanh(self.layer(out[i - 1 : i])[0]) + x[i]
        return (out * out).sum()


class Scattered(nn.Cell):
    """Items that are written by ``tensor_scatter_update``."""

    def construct(self, x):
        x = out = x[:, 0]
        first = Tensor(np.zeros((1, 1), np.int32))
        for i in range(1, x.shape[0]):
            new = ops.sin(out[i - 1]) + x[i]
            out = ops.tensor_scatter_update(out, first + i, new.reshape(1))
        return (out * out).sum()


class Stepping(nn.Cell):
    """Items that a Cell computes of the array."""

    def construct(self, out, i):
        return ops.sin(out[i - 1, 0] * out[i - 1])


class Stepped(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.step = Stepping()

    def construct(self, x):
        out = x * 1
        for i in range(1, x.shape[0]):
            out[i] = self.step(out, i) + out[i]
        return (out * out).sum()


@pytest.mark.parametrize("cell", [Layered, Scattered, Stepped])
def test_cells(cell: type[nn.Cell]) -> None:
    found = []
    for n in SIZES:
        net, x = cell(), Tensor(np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32))
        with counted_calls() as touched:
            ops.GradOperation(get_all=True, get_by_list=True)(net, weights_of(net))(x)
        found.append(touched)
    assert_linear(*found)
