"""Queries of a Cell's Parameters and Cells in compiled code."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops


def penalty(parameters, factor=1.0):
    total = 0.0
    for p in parameters:
        if "bias" not in p.name and p.requires_grad:
            total = total + factor * ops.square(p).sum()
    return total


def stepped(parameters, gradients, rate):
    return [p - rate * g for p, g in zip(parameters, gradients)]


def doubled_if_trained(p):
    return p.sum() * (2.0 if isinstance(p, Parameter) else 1.0)


def looped(self):
    loss = 0.0
    for p in self.trainable_params():
        loss = loss + ops.square(p).sum()
    return loss


def summed(self):
    return sum((p**3).sum() for p in self.get_parameters())


def added(self):
    return ops.addn([ops.square(p).sum() for p in self.trainable_params()])


def by_path(self):
    loss = 0.0
    for path, p in self.parameters_and_names():
        loss = loss + (len(path) * p * p if path.endswith("weight") else p).sum()
    return loss


def by_name(self):
    named = self.parameters_dict()
    total = named["scale"].sum() * len(named)
    for name, p in named.items():
        total = total + (p * p if "inner" in name else p).sum()
    return total


def own_ones(self):
    return sum((p * p).sum() for p in self.trainable_params(recurse=False))


def frozen_ones(self):
    return sum((p * p).sum() for p in self.untrainable_params()) * self.scale.sum()


def through_children(self):
    x = self.scale * 1.0
    for cell in self.cells():
        x = cell(x)
    for name, cell in self.name_cells().items():
        x = x + len(name) * cell.weight.sum()
    return (x * x).sum() * len(self.cells())


def by_class(self):
    found = [cell.weight for _, cell in self.cells_and_names() if isinstance(cell, nn.Dense)]
    return sum((w * w).sum() for w in found)


def helped(self):
    some = [p for p in self.inner.get_parameters() if p.ndim > 1]
    return penalty(self.trainable_params(), 0.5) + penalty(some)


def moved(self):
    held = self.trainable_params()
    return sum((p * p).sum() for p in stepped(held, [3 * p * p for p in held], 0.1))


def first_one(self):
    return (next(self.get_parameters()) ** 2).sum()


def by_kind(self):
    return sum(doubled_if_trained(p) for p in self.trainable_params()) + doubled_if_trained(
        ops.ones((2,))
    )


def largest(self):
    held = self.trainable_params()
    return (max(held, key=lambda p: p.size) ** 2).sum() + min(held, key=lambda p: p.name).sum()


WAYS = [
    looped, summed, added, by_path, by_name, own_ones, frozen_ones, through_children, by_class,
    helped, moved, first_one, by_kind, largest,
]  # fmt: skip


class Asked(nn.Cell):
    def __init__(self, way):
        super().__init__()
        draws = np.random.default_rng(3)

        def drawn(*shape):
            return Tensor(draws.normal(size=shape).astype(np.float32))

        self.scale = Parameter(drawn(3), name="scale")
        self.inner = nn.Dense(3, 2, weight_init=drawn(2, 3), bias_init=drawn(2))
        self.outer = nn.Dense(2, 2, weight_init=drawn(2, 2), bias_init=drawn(2))
        self.outer.bias.requires_grad = False
        self.way = way

    def construct(self, x):
        return self.way(self) + x.sum()


X = Tensor(np.array([0.5, -1.0], np.float32))


def difference(net, parameter, at, step=1e-2):
    """Returns the derivative with respect to one number of a Parameter, by differences in plain
    Python."""
    sides = []
    for sign in (1, -1):
        moved = np.array(parameter.asnumpy())
        moved.flat[at] += sign * step
        kept = Tensor(parameter.asnumpy().copy())
        parameter.set_data(Tensor(moved))
        sides.append(float(net.construct(X).asnumpy()))
        parameter.set_data(kept)
    return (sides[0] - sides[1]) / (2 * step)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_parameters_found_are_the_cells_own(way):
    net = Asked(way)
    weights = ms.ParameterTuple(net.get_parameters())
    value, gradients = ops.value_and_grad(net, None, weights)(X)
    np.testing.assert_allclose(value.asnumpy(), net.construct(X).asnumpy(), rtol=1e-5)
    for parameter, gradient in zip(weights, gradients):
        wanted = [difference(net, parameter, at) for at in range(parameter.size)]
        np.testing.assert_allclose(gradient.asnumpy().ravel(), wanted, rtol=2e-2, atol=2e-2)


def squares(net):
    return sum(
        float((p.asnumpy() ** 2).sum()) for p in net.trainable_params() if "bias" not in p.name
    )


class Penalised(Asked):
    def construct(self, x):
        return penalty(self.trainable_params()) + 0.0 * x.sum()


def freeze(net):
    net.scale.requires_grad = False


def rename(net):
    net.outer.weight.name = "outer.bias"


def add_parameter(net):
    net.inner.more = Parameter(Tensor([2.0]), name="more")


def add_cell(net):
    net.another = nn.Dense(2, 2)


def remove_cell(net):
    del net.inner


def exchange(net):
    net.inner.weight = Parameter(Tensor(np.full((2, 3), 3.0, np.float32)), name="w")


@pytest.mark.parametrize(
    "change", [freeze, rename, add_parameter, add_cell, remove_cell, exchange],
    ids=lambda change: change.__name__,
)  # fmt: skip
def test_a_changed_cell_is_queried_again(change):
    net = Penalised(None)
    before, gradient_of = squares(net), ops.value_and_grad(net, 0, None)
    value, _ = gradient_of(X)
    np.testing.assert_allclose(value.asnumpy(), before, rtol=1e-5)
    change(net)
    value, _ = gradient_of(X)
    assert abs(squares(net) - before) > 1e-2
    np.testing.assert_allclose(value.asnumpy(), squares(net), rtol=1e-5)


def test_an_unchanged_cell_is_not_compiled_again():
    ms.compile_info().clear()
    net = Penalised(None)
    step = ops.value_and_grad(net, 0, None)
    step(X)
    compiled = len(ms.compile_info())
    net.scale.set_data(Tensor(np.array([1.0, 2.0, 4.0], np.float32)))
    value, _ = step(X)
    np.testing.assert_allclose(value.asnumpy(), squares(net), rtol=1e-5)
    assert len(ms.compile_info()) == compiled


class OwnAnswer(Asked):
    """A Cell that overrides a query and calls the base class."""

    def trainable_params(self, recurse=True):
        return [p for p in super().trainable_params(recurse) if p.ndim == 2]

    def construct(self, x):
        return sum((p * p).sum() for p in self.trainable_params()) + 0.0 * x.sum()


def test_an_overridden_query_is_compiled():
    net = OwnAnswer(None)
    weights = ms.ParameterTuple(net.get_parameters())
    gradients = ops.grad(net, None, weights)(X)
    for parameter, gradient in zip(weights, gradients):
        wanted = 2 * parameter.asnumpy() * (parameter.ndim == 2)
        np.testing.assert_allclose(gradient.asnumpy(), wanted, rtol=1e-5)
