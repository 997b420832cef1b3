"""Names of arrays where paths join. A cast there keeps the array one with its source. A name that
was lost before a loop counts as set before it. A write to an array without axes changes the
array."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError
from autodiff_compiler.frontend.abstract.values import (
    INTERNAL_VARIABLES,
    internal_kind,
    internal_name,
)
from tests.fuzz.checks import strict


def rebound_in_a_loop(x, m, n):
    a = x
    for _ in range(n):
        a = m
    m[1] = 1.1
    return np.sum(a * 1), a


def rebound_and_written(x, m, n):
    a = x
    for _ in range(n):
        a = m
    a[1] = 1.1
    return np.sum(m) + np.sum(x), a


def rebound_each_turn(x, m, n):
    a = x
    for i in range(n):
        a[1] = i + 1.5
        a = m
    return np.sum(x) * 2 + np.sum(m), a


@pytest.mark.parametrize("dtypes", ["dd", "df", "fd", "ff"])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_an_array_that_a_loop_casts_stays_the_same_array(dtypes, n):
    given = given_of(dtypes)
    wanted = rebound_each_turn(*map(np.copy, given), n)
    found = ms.value_and_grad(rebound_each_turn, (0, 1), None, has_aux=True)(*given, n)[0]
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6)


@pytest.mark.parametrize("program", [rebound_in_a_loop, rebound_and_written])
@pytest.mark.parametrize("dtypes", ["dd", "df", "fd", "ff"])
def test_a_write_to_an_array_that_a_loop_may_have_rebound_is_refused(program, dtypes):
    with pytest.raises(CompileError, match="may share memory"):
        ms.grad(program, (0, 1), None, has_aux=True)(*given_of(dtypes), 1)


def given_of(dtypes):
    return [(np.arange(3) + 3 * place).astype(dtype) for place, dtype in enumerate(dtypes)]


def read_before_it_is_set_again(x, m, n):
    a = x
    if np.sum(x) > 0:
        a = m
    m[0] = 0.5
    for _ in range(n):
        a = a * x
    return np.sum(a)


def set_again_at_once(x, m, n):
    a = x if np.sum(x) > 0 else 3
    if np.sum(x) > 0:
        a = "text"
    for _ in range(n):
        a = m * x
    return np.sum(a)


@pytest.mark.parametrize("program, n", [
    (read_before_it_is_set_again, 0), (read_before_it_is_set_again, 2), (set_again_at_once, 0),
])  # fmt: skip
def test_a_lost_name_is_refused_while_compiling(program, n):
    with pytest.raises(CompileError):
        ms.grad(program, (0, 1))(np.arange(1.0, 4), np.arange(4.0, 7), n)


def test_a_lost_name_that_every_run_of_the_loop_sets_has_its_value():
    given = np.arange(1.0, 4), np.arange(4.0, 7)
    value, slopes = ms.value_and_grad(set_again_at_once, (0, 1))(*given, 2)
    assert value == set_again_at_once(*given, 2)
    np.testing.assert_allclose(slopes[0], given[1])


def filled(y):
    y.fill(0.5)
    return np.sum(y * 2), y


def assigned(y):
    z = y * y
    y[...] = z
    return np.sum(y * 3), y


def added(y):
    y += 2.0
    y[()] *= y
    return np.sum(y), y


def copied_onto(y):
    np.copyto(y, y * 2)
    return np.sum(y) + 1, y


@pytest.mark.parametrize("program", [filled, assigned, added, copied_onto])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_writes_to_arrays_without_axes(program, level):
    before = ms.get_context("opt_level")
    ms.set_context(opt_level=level)
    try:
        value, slope = ms.value_and_grad(program, 0, None, has_aux=True)(np.array(0.7))
    finally:
        ms.set_context(opt_level=before)
    assert value[0] == program(np.array(0.7))[0]
    step = 1e-6
    ends = [program(np.array(0.7 + side * step))[0] for side in (1, -1)]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)


def test_the_second_derivative_of_a_repetition_by_one():
    def twice(x):
        return np.sum(ms.grad(lambda q: np.sum(np.sin(np.repeat(q, 1))))(x) * np.arange(3.0))

    x = np.array([0.3, 0.7, 1.1])
    np.testing.assert_allclose(ms.grad(twice)(x), -np.sin(x) * np.arange(3.0))


def test_a_gradient_has_the_rank_of_its_input_where_the_value_has_none_that_is_known():
    def either(x, m):
        if np.sum(m) > 0:
            x = m
        return np.sum(x * x)

    def both(x, m):
        slopes = ms.grad(either, (0, 1))(x, m)
        return np.sum(slopes[0] * np.arange(3.0)) + np.sum(slopes[1] * 2)

    x, m = np.ones(3), np.ones((2, 3))
    with strict(True, seed=0):
        found = [ms.grad(both, (0, 1))(x, side * m) for side in (1, -1)]
    np.testing.assert_allclose(found[0][1], np.full((2, 3), 4.0))
    np.testing.assert_allclose(found[0][0], np.zeros(3))
    np.testing.assert_allclose(found[1][0], 2 * np.arange(3.0))
    np.testing.assert_allclose(found[1][1], np.zeros((2, 3)))


OUTSIDE = np.array([1.0, 2.0, 3.0])


def writes_to_a_global_later(x, n):
    y = x * 1
    for _ in range(n):
        y[0] = 5.0
        y = OUTSIDE
    return np.sum(y * x)


class WritesToItsParameterLater(ms.nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(OUTSIDE), name="w")

    def construct(self, y, n):
        for _ in range(n):
            y[0] = 5.0
            y = self.w
        return y * y


def test_an_array_from_outside_that_a_loop_takes_over_is_not_written_to():
    cell = WritesToItsParameterLater()
    for program, given in ((writes_to_a_global_later, OUTSIDE * 2), (cell, ms.Tensor(OUTSIDE))):
        with pytest.raises(CompileError, match="made outside of the function"):
            ms.grad(program)(given, 3)
    assert OUTSIDE[0] == 1 and cell.w.asnumpy()[0] == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_a_value_of_higher_rank_is_written_to_a_place(seed):
    def program(x, m):
        y = x * 1
        y[...] = np.sin(m)[None]
        y[1:] = x[None, None, :2] * y[0]
        return np.sum(y * x)

    rng = np.random.default_rng(seed)
    given = rng.normal(size=3), rng.normal(size=3)
    value, slopes = ms.value_and_grad(program, (0, 1))(*given)
    assert value == pytest.approx(program(*given))
    for place, slope in enumerate(slopes):
        along, step = rng.normal(size=3), 1e-6
        ends = []
        for side in (step, -step):
            moved = list(given)
            moved[place] = moved[place] + side * along
            ends.append(program(*moved))
        assert np.sum(slope * along) == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)


def part_made_contiguous(x):
    y = x.copy()
    part = np.ascontiguousarray(y[0, ...])
    part += 1.0
    return y.sum() * x[1]


def plus_of_a_part(x):
    y = x.copy()
    part = +y[0, ...]
    part += 1.0
    return y.sum() * x[1] * part


def array_without_axes_made_contiguous(x):
    total = np.zeros(())
    same = np.ascontiguousarray(total)
    same += x[0]
    return total * x[1]


def scalar_made_contiguous(x):
    one = np.ascontiguousarray(x[0])
    same = one
    one += x[1]
    return same.sum() * x[1] + x[0]


@pytest.mark.parametrize(
    "program",
    [
        part_made_contiguous, plus_of_a_part, array_without_axes_made_contiguous,
        scalar_made_contiguous,
    ],
)  # fmt: skip
def test_a_value_without_axes_is_a_view_or_a_scalar_as_in_numpy(program):
    x, along, step = np.array([0.3, 0.4, 0.5]), np.array([0.2, -0.7, 0.4]), 1e-6
    value, slope = ms.value_and_grad(program)(x)
    assert value == pytest.approx(program(x))
    ends = [program(x + side * step * along) for side in (1, -1)]
    assert np.sum(slope * along) == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)


def test_an_item_of_an_array_of_unknown_rank_may_be_a_row():
    def program(x, rows):
        m = rows
        for _ in x:
            m = rows.reshape(-1)
        m[0], m[1] = 1.0, m[0]
        return np.sum(m * m)

    rows = np.arange(6.0).reshape(2, 3) + 7
    assert ms.grad(program, 1)(np.zeros(2), rows).shape == (2, 3)
    with pytest.raises(CompileError, match="a value on the right side may share memory"):
        ms.grad(program, 1)(np.zeros(0), rows)


def test_only_names_of_the_compilers_own_variables_have_a_kind():
    for kind in INTERNAL_VARIABLES:
        assert internal_kind(internal_name(kind)) == internal_kind(internal_name(kind, 12)) == kind
        assert not internal_name(kind).isidentifier()
    assert not any(
        map(internal_kind, ("x", "waiting", "<lambda>", "<genexpr>", "<waitings 3>", ""))
    )


LIKE = ("full_like(m, 0.2)", "zeros_like(m)", "ones_like(m)", "empty_like(m) * 0.0",
        "full_like(m, 0.2, dtype=np.float32)")  # fmt: skip


@pytest.mark.parametrize("text", LIKE)
@pytest.mark.parametrize("layout", ["C", "F", "strided", "broadcast"])
def test_an_array_like_another_lies_in_memory_as_that_one_does(text, layout, program_of):
    program = program_of(f"a = np.{text}\n    a.reshape(-1)[0] = 1.5\n    return a * np.sum(m)")
    base = np.arange(6.0).reshape(2, 3)
    given = {
        "C": base, "F": np.asfortranarray(base), "strided": np.repeat(base, 2, 1)[:, ::2],
        "broadcast": np.broadcast_to(base[:1], (2, 3)),
    }[layout]  # fmt: skip
    try:
        found = ms.jit(program)(given)
    except CompileError as error:
        assert "may share memory" in str(error)
        return
    np.testing.assert_allclose(found, program(given))


@pytest.fixture
def program_of(tmp_path):
    """Returns a function of ``m`` with this body."""

    def made(body):
        file = tmp_path / "made.py"
        file.write_text(f"import numpy as np\n\n\ndef made(m):\n    {body}\n")
        return runpy.run_path(str(file))["made"]

    return made


def test_the_size_of_an_array_of_unknown_rank():
    def program(m, y, limit):
        a = m
        if np.sum(m) > limit:
            a = np.diff(y)
        return np.sum(a * np.arange(a.size).reshape(a.shape)) * a.size

    m, y = np.ones((2, 3)), np.array([1.0, 3.0, 2.0])
    for limit in (0.0, 9.0):
        value, slopes = ms.value_and_grad(program, (0, 1))(m, y, limit)
        assert value == program(m, y, limit)
        wanted = ((m * 0, [0, -2, 2]), (6 * np.arange(6.0).reshape(2, 3), y * 0))[limit > 6]
        np.testing.assert_allclose(slopes[0], wanted[0])
        np.testing.assert_allclose(slopes[1], wanted[1])
