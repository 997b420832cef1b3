"""CTC against the sum over all sequences, written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autodiff_compiler import Tensor, nn
from autodiff_compiler.testing import check_grads

LOGS = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 2))).astype(np.float32)
TARGETS, STEPS, LENGTHS = np.array([[1, 1], [2, 0]]), np.array([4, 3]), np.array([2, 1])


def written_out() -> list[float]:
    costs = []
    for sample, (steps, length) in enumerate(zip(STEPS, LENGTHS)):
        chance = 0.0
        for path in itertools.product(range(3), repeat=steps):
            read = [label for label, _ in itertools.groupby(path) if label]
            if read == TARGETS[sample, :length].tolist():
                chance += np.exp(sum(LOGS[t, sample, label] for t, label in enumerate(path)))
        costs.append(-np.log(chance))
    return costs


def tensors() -> tuple[Tensor, ...]:
    return tuple(map(Tensor, (TARGETS, STEPS, LENGTHS)))


def test_values_and_gradients() -> None:
    want = np.array(written_out())
    loss = nn.CTCLoss(reduction="none")(Tensor(LOGS), *tensors())
    np.testing.assert_allclose(loss.asnumpy(), want, rtol=1e-5)
    mean = nn.CTCLoss()(Tensor(LOGS), *tensors())
    assert float(mean) == pytest.approx((want / LENGTHS).mean(), rel=1e-5)
    one = nn.CTCLoss(reduction="none")(
        Tensor(LOGS[:, 0]), Tensor(TARGETS[0]), Tensor(STEPS[:1]), Tensor(LENGTHS[:1])
    )
    assert float(one) == pytest.approx(want[0], rel=1e-5)
    check_grads(nn.CTCLoss(), [LOGS, *tensors()], order=1)


def test_impossible_targets() -> None:
    short = (Tensor(TARGETS), Tensor(np.array([2, 3])), Tensor(LENGTHS))
    assert nn.CTCLoss(reduction="none")(Tensor(LOGS), *short).asnumpy()[0] > 1e29
    free = nn.CTCLoss(reduction="none", zero_infinity=True)(Tensor(LOGS), *short).asnumpy()
    assert free[0] == 0.0 and free[1] == pytest.approx(written_out()[1], rel=1e-5)
