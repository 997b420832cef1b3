"""Training with a scaled loss, against the recurrences that define it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops

#: First elements of the inputs; those that are not finite overflow.
FED = [1, 1, 1, 1, np.inf, 1, 1, 1, 1, np.nan, np.inf, np.inf, np.inf, np.inf]
#: The scales after these steps in MindSpore 2.10, from 8 with factor 2 and window 3.
SCALES = [8, 8, 16, 16, 8, 8, 8, 16, 16, 8, 4, 2, 1, 1]


class Sum(nn.Cell):
    def __init__(self, dtype: ms.Type = ms.float32):
        super().__init__()
        self.w = Parameter(Tensor(np.array([1.0, 2.0]), dtype), name="w")

    def construct(self, x):
        return (self.w * x).sum()


def fed(first: float, dtype: type = np.float32) -> Tensor:
    return Tensor(np.array([first, 1.0], dtype))


@pytest.fixture(autouse=True, params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=before)


def made(scale: nn.Cell | Tensor) -> tuple[Sum, nn.TrainOneStepWithLossScaleCell]:
    net = Sum()
    momentum = nn.Momentum(net.trainable_params(), 0.1, 0.0)
    return net, nn.TrainOneStepWithLossScaleCell(net, momentum, scale).set_train()


def test_the_scale_follows_overflows() -> None:
    manager = nn.DynamicLossScaleUpdateCell(8.0, 2, 3)
    assert manager.get_loss_scale() == 8.0
    net, step = made(manager)
    names = [parameter.name for parameter in step.get_parameters()]
    assert names[0] == "w" and {"scale_sense", "global_step", "moments.w"} < set(names)
    assert names[-2:] == ["current_iterator_step", "last_overflow_iterator_step"]
    weight = np.array([1.0, 2.0])
    for first, after in zip(FED, SCALES):
        loss, overflow, scale = step(fed(first))
        assert overflow.dtype == ms.bool_ and overflow.shape == scale.shape == loss.shape == ()
        np.testing.assert_allclose(float(loss), weight @ [first, 1.0], rtol=1e-5)
        if np.isfinite(first):
            weight -= 0.1 * np.array([first, 1.0])
        assert bool(overflow) is not bool(np.isfinite(first))
        assert float(scale) == float(step.scale_sense) == after
        np.testing.assert_allclose(net.w.asnumpy(), weight, rtol=1e-5)
    assert int(step.optimizer.global_step) == 8


def test_the_update_cell_alone() -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE)  # it is handed the Parameter that it changes
    update = nn.DynamicLossScaleUpdateCell(4.0, 4, 1000)
    scale = Parameter(Tensor(4.0, ms.float32), name="scale")
    assert bool(update(scale, Tensor(True))) and float(scale) == 1.0
    assert not bool(update(scale, Tensor(False))) and float(scale) == 1.0
    assert int(update.cur_iter) == 3 and int(update.last_overflow_iter) == 1


class Inverted(nn.DynamicLossScaleUpdateCell):
    """A rule of the user's own, without effects."""

    def construct(self, loss_scale, overflow):
        return ops.logical_not(overflow)


class ByHand(nn.TrainOneStepWithLossScaleCell):
    """A step as users write it, of the parts of its class."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        filled = ops.ones_like(loss) * ops.cast(scale, loss.dtype)
        gradients = self.grad(self.network, self.weights)(*inputs, filled)
        gradients = tuple(gradient / scale for gradient in self.grad_reducer(gradients))
        overflow = self.get_overflow_status(status, gradients)
        overflow = self.process_loss_scale(overflow)
        if not overflow:
            self.optimizer(gradients)
        return loss, overflow, scale


def test_steps_and_rules_of_the_users_own() -> None:
    net = Sum()
    momentum = nn.Momentum(net.trainable_params(), 0.1, 0.0)
    step = ByHand(net, momentum, nn.DynamicLossScaleUpdateCell(8.0, 2, 3))
    for first, after in zip(FED[:6], SCALES):
        _, overflow, _ = step(fed(first))
        assert bool(overflow) is (first == np.inf) and float(step.scale_sense) == after
    np.testing.assert_allclose(net.w.asnumpy(), [0.5, 1.5], rtol=1e-5)
    net, step = made(Inverted(8.0, 2, 3))
    step(fed(1.0))
    np.testing.assert_array_equal(net.w.asnumpy(), [1, 2])  # the rule says no


@pytest.mark.parametrize("scale", ["fixed", "number", "vector"])
def test_a_scale_that_stays(scale: str) -> None:
    given = {"fixed": nn.FixedLossScaleUpdateCell(8.0), "number": Tensor(8.0, ms.float32),
             "vector": Tensor([8.0], ms.float32)}[scale]  # fmt: skip
    net, step = made(given)
    for first in (3.0, np.inf, 1.0):
        _, overflow, found = step(fed(first))
        assert bool(overflow) is (first == np.inf)
        np.testing.assert_array_equal(found.asnumpy(), [8.0] if scale == "vector" else 8.0)
    np.testing.assert_allclose(net.w.asnumpy(), [1 - 0.4, 2 - 0.2], rtol=1e-6)
    step.set_sense_scale(Tensor(np.full(found.shape, 4.0, np.float32)))
    assert float(step(fed(1.0))[2]) == 4.0
    with pytest.raises(TypeError, match="must be Tensor"):
        step.set_sense_scale(3.0)


class Small(Sum):
    """A product in float16 whose cotangent is below its smallest number unless it is scaled."""

    def construct(self, x):
        half = (self.w.astype(ms.float16) * x.astype(ms.float16)).astype(ms.float32)
        return half.sum() * 1e-9


def test_scaling_keeps_small_gradients_and_finds_large_ones() -> None:
    for scale, gradient, too_large in ((1.0, 0.0, False), (2.0**20, 1e-9, False),
                                       (2.0**50, 0.0, True)):  # fmt: skip
        net = Small()
        sgd = nn.SGD(net.trainable_params(), 1e8)
        step = nn.TrainOneStepWithLossScaleCell(net, sgd, Tensor(scale, ms.float32))
        with np.errstate(over="ignore"):
            _, overflow, _ = step(fed(1.0))
        assert bool(overflow) is too_large
        np.testing.assert_allclose(net.w.asnumpy(), np.array([1, 2]) - 1e8 * gradient, rtol=1e-3)


def test_a_scale_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="must be Cell or Tensor"):
        made(3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"must be \(1,\) or \(\), but got \(2,\)"):
        made(Tensor([1.0, 2.0], ms.float32))


def test_parts_of_a_batch_add_up() -> None:
    net = nn.GradAccumulationCell(Sum(), 2)
    assert [parameter.name for parameter in net.get_parameters()] == ["w"]
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    assert float(net(Tensor(x))) == (x * [1, 2]).sum()
    (found,) = ms.grad(net, None, net.trainable_params())(Tensor(x))
    np.testing.assert_array_equal(found.asnumpy(), x.sum(0))

    class Squared(Sum):
        def construct(self, x, y):
            return ((self.w * x).sum() - y.sum()) ** 2

    squared = nn.GradAccumulationCell(Squared(), 2)
    y = np.array([1, 5, 2, 9], np.float32)
    errors = [(part * [1, 2]).sum() - ys.sum() for part, ys in ((x[:2], y[:2]), (x[2:], y[2:]))]
    assert float(squared(Tensor(x), Tensor(y))) == sum(error**2 for error in errors)
    (found,) = ms.grad(squared, None, squared.trainable_params())(Tensor(x), Tensor(y))
    want = 2 * (errors[0] * x[:2].sum(0) + errors[1] * x[2:].sum(0))
    np.testing.assert_allclose(found.asnumpy(), want)
    with pytest.raises(ValueError, match=r"input\(4\) must be divided by micro size\(3\)"):
        nn.GradAccumulationCell(Sum(), 3)(Tensor(x))


@pytest.mark.parametrize("given, kind", [((3, 2), TypeError), ((Sum(), 2.0), TypeError),
                                         ((Sum(), 0), ValueError)])  # fmt: skip
def test_wrong_micro_batches_are_refused(given: tuple, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="For 'GradAccumulationCell'"):
        nn.GradAccumulationCell(*given)
