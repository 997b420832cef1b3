"""Every transform on every kind of argument, against differences."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.common.structures import leaves_of
from autodiff_compiler.cost_model import changed_costs
from tests.ops.nested_cases import (
    Model,
    Opaque,
    Pair,
    Params,
    Point,
    X,
    of_array,
    of_dict,
    of_float,
    of_methods,
    of_nested,
    of_object,
    of_opaque,
    of_pair,
    of_parts,
    of_tuple,
    of_two,
    with_keyword,
)

KINDS = {
    "array": (of_array, (X,)),
    "float": (of_float, (0.3,)),
    "two": (of_two, (X, 0.5)),
    "tuple": (of_tuple, ((X, 0.5),)),
    "list": (of_tuple, ([X, 0.5],)),
    "dict": (of_dict, ({"w": X, "b": 0.5},)),
    "nested": (of_nested, ({"layers": [X, X + 1], "scale": (1, {"b": 0.5})},)),
    "floats": (of_tuple, ((0.3, 0.5),)),
    "dict of floats": (of_dict, ({"w": 0.3, "b": 0.5},)),
    "dataclass": (of_object, (Params(X, 0.5),)),
    "methods": (of_methods, (Params(X, 0.5, power=3, shape=np.cos),)),
    "dataclasses": (of_pair, (Pair(Params(X, 0.5), (2.0, X * X)),)),
    "named tuple": (of_object, (Point(X, 0.5),)),
    "registered": (of_opaque, (Opaque(X, 0.5, "m"),)),
    "method": (Model().loss, (X,)),
    "partial": (functools.partial(with_keyword, k=0.5), (X,)),
    "lambda": (lambda x: np.sum(x**3), (X,)),
}


def moved(value, steps):
    """``value`` with its leaves moved along ``steps``, in order."""
    if isinstance(value, (np.ndarray, float)):
        return value + next(steps)
    if isinstance(value, Opaque):
        return Opaque(moved(value.values, steps), moved(value.scale, steps), value.unit)
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return type(value)(**{name: moved(getattr(value, name), steps) for name in names})
    if isinstance(value, dict):
        return {key: moved(item, steps) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(item, steps) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(moved(item, steps) for item in value)
    return value


def at(kind):
    """The function of one long vector, and the vector."""
    fn, args = KINDS[kind]
    leaves = [np.asarray(leaf) for leaf in leaves_of(args)]

    def of_vector(step):
        parts, place = [], 0
        for leaf in leaves:
            part = step[place : place + leaf.size].reshape(leaf.shape)
            parts.append(part if leaf.shape else float(part))
            place += leaf.size
        return float(fn(*moved(args, iter(parts))))

    return of_vector, sum(leaf.size for leaf in leaves)


def slopes(kind, step=1e-5):
    fn, size = at(kind)
    return np.array([(fn(row) - fn(-row)) / (2 * step) for row in np.eye(size) * step])


def curvature(kind, step=1e-4):
    fn, size = at(kind)
    rows = np.eye(size) * step

    def second(i, j):
        return (fn(i + j) - fn(i - j) - fn(j - i) + fn(-i - j)) / (4 * step * step)

    return np.array([[second(i, j) for j in rows] for i in rows])


def vector(value):
    """The leaves of an answer, side by side."""
    return np.concatenate([np.ravel(leaf) for leaf in leaves_of(value)])


def alike(value, other):
    """Whether two values have one structure, and are arrays and floats where they should be."""
    if isinstance(value, (np.ndarray, float)):
        assert isinstance(other, (np.ndarray, float)) and np.shape(value) == np.shape(other)
    elif dataclasses.is_dataclass(value) or isinstance(value, Opaque):
        assert type(value) is type(other) and vars(value).keys() == vars(other).keys()
        for name, part in vars(value).items():
            alike(part, getattr(other, name))
    elif isinstance(value, dict):
        assert type(other) is dict and list(value) == list(other)
        for key, part in value.items():
            alike(part, other[key])
    elif isinstance(value, (tuple, list)):
        assert type(value) is type(other) and len(value) == len(other)
        for part, its in zip(value, other):
            alike(part, its)
    else:
        assert other == (0 if type(value) is int else value)


def along(kind):
    _, args = KINDS[kind]
    leaves = [np.asarray(leaf) for leaf in leaves_of(args)]
    rng = np.random.default_rng(5)
    rows = [rng.normal(size=leaf.shape) for leaf in leaves]
    steps = [row - leaf if leaf.shape else float(row - leaf) for row, leaf in zip(rows, leaves)]
    return moved(args, iter(steps)), np.concatenate([np.ravel(row) for row in rows])


def every(args):
    return 0 if len(args) == 1 else tuple(range(len(args)))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    fn, args = KINDS[kind]
    gradient = ms.grad(fn, every(args))
    for _ in range(3):  # the second call is quick
        found = gradient(*args)
        np.testing.assert_allclose(vector(found), slopes(kind), rtol=1e-6, atol=1e-8)
        alike(args[0] if len(args) == 1 else args, found)
    both = ms.value_and_grad(fn, every(args))
    for _ in range(3):
        value, again = both(*args)
        assert value == pytest.approx(fn(*args), rel=1e-14)
        np.testing.assert_array_equal(vector(again), vector(found))


@pytest.mark.parametrize("kind", KINDS)
def test_tangents(kind):
    fn, args = KINDS[kind]
    dots, flat = along(kind)
    wanted = slopes(kind) @ flat
    for _ in range(2):
        value, dot = ms.jvp(fn, args, dots)
        assert value == pytest.approx(fn(*args), rel=1e-14)
        assert dot == pytest.approx(wanted, rel=1e-6) and not isinstance(dot, Tensor)
    if len(args) == 1 and type(args[0]) not in (tuple, list):
        assert ms.jvp(fn, args[0], dots[0])[1] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sens", [2.5, np.array(2.5)])
def test_pullbacks(kind, sens):
    fn, args = KINDS[kind]
    value, pull = ms.vjp(fn, *args)
    found = pull(sens)
    assert value == pytest.approx(fn(*args), rel=1e-14)
    np.testing.assert_allclose(vector(found), 2.5 * slopes(kind), rtol=1e-6, atol=1e-8)
    alike(args, found)


@pytest.mark.parametrize("kind", KINDS)
def test_products_with_the_hessian(kind):
    fn, args = KINDS[kind]
    dots, flat = along(kind)
    found = ms.hvp(fn, args, dots)
    np.testing.assert_allclose(vector(found), curvature(kind) @ flat, rtol=1e-5, atol=1e-6)
    alike(args, found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [ms.jacfwd, ms.jacrev, ms.jacobian])
def test_jacobians(kind, make):
    fn, args = KINDS[kind]
    for _ in range(2):
        found = make(fn, every(args))(*args)
        np.testing.assert_allclose(vector(found), slopes(kind), rtol=1e-6, atol=1e-8)
        alike(args[0] if len(args) == 1 else args, found)


@pytest.mark.parametrize("kind", KINDS)
def test_hessians(kind):
    fn, args = KINDS[kind]
    found = ms.hessian(fn, every(args))(*args)
    sizes = [np.size(leaf) for leaf in leaves_of(args)]
    blocks = [np.asarray(leaf) for leaf in leaves_of(found)]
    rows = [
        np.hstack([
            blocks[i * len(sizes) + j].reshape(rows, columns) for j, columns in enumerate(sizes)
        ])
        for i, rows in enumerate(sizes)
    ]  # fmt: skip
    np.testing.assert_allclose(np.vstack(rows), curvature(kind), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_checks(kind):
    fn, args = KINDS[kind]
    report = ms.check_grads(fn, args, modes=("reverse", "forward"), order=2)
    assert len({row.name for row in report.rows if row.order == 1 and row.what == "gradient"}) == (
        len(leaves_of(args))
    )


def test_a_check_by_keyword():
    report = ms.check_grads(with_keyword, [X], keywords={"k": 0.5})
    assert {row.name for row in report.rows} == {"x", "k"}


BATCHES = {
    "dict": (of_dict, {"w": np.outer([1.0, 2.0], X), "b": np.array([0.5, -1.0])}),
    "dataclass": (of_object, Params(np.outer([1.0, 2.0], X), np.array([0.5, -1.0]))),
    "named tuple": (of_object, Point(np.outer([1.0, 2.0], X), np.array([0.5, -1.0]))),
    "registered": (of_opaque, Opaque(np.outer([1.0, 2.0], X), np.array([0.5, -1.0]), "m")),
}


@pytest.mark.parametrize("kind", BATCHES)
def test_batches(kind):
    fn, batch = BATCHES[kind]
    wanted = [of_parts(X, 0.5), of_parts(2 * X, -1.0)]
    np.testing.assert_allclose(ms.vmap(fn)(batch), wanted, rtol=1e-12)


def test_axes_of_a_dataclass():
    batch = Params(np.outer([1.0, 2.0], X), np.array(0.5))
    found = ms.vmap(of_object, in_axes=((0, None, None, None, None),))(batch)
    np.testing.assert_allclose(found, [of_parts(X, 0.5), of_parts(2 * X, 0.5)], rtol=1e-12)


@dataclasses.dataclass
class Held:
    array: np.ndarray


@changed_costs(container_kinds=3)
def test_kinds_of_containers_are_kept_up_to_a_bound():
    gradient = ms.grad(lambda rows: sum((row.array * row.array).sum() for row in rows))
    sizes = []
    for _ in range(2):
        for count in range(1, 6):
            found = gradient([Held(np.ones(2)) for _ in range(count)])
            np.testing.assert_allclose([row.array for row in found], 2.0)
            sizes.append(len(gradient.of_leaves))
    assert sizes == [1, 2, *[3] * 8]
    assert "of_leaves" not in gradient.__getstate__()
