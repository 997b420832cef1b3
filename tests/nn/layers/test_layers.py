"""Dense, Embedding, activations, losses and recurrent cells: values by NumPy, gradients, names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.testing import check_grads

A = np.array([[0.3, -1.2, 2.1], [-0.7, 1.6, -2.4]], np.float32)
B = np.array([[1.4, 0.65, -0.8], [2.2, -1.1, 0.9]], np.float32)
CLASS = np.array([2, 0], np.int32)
UNIT = np.array([[0.3, 0.15, 0.8], [0.7, 0.6, 0.4]], np.float32)
SIGNS = np.array([[1, -1, 1], [-1, -1, 1]], np.float32)
ROWS = np.array([1, -1], np.float32)
SIG = 1 / (1 + np.exp(-A))
LOGS = A - np.log(np.exp(A).sum(1, keepdims=True))


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got.asnumpy(), want, rtol=2e-5, atol=1e-6)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_dense() -> None:
    net = nn.Dense(3, 2)
    assert [(p.name, p.shape) for p in net.get_parameters()] == [("weight", (2, 3)), ("bias", (2,))]
    weight, bias = weights_of(net)
    close(net(Tensor(A)), A @ weight.T + bias)
    bound = 1 / np.sqrt(3)
    assert max(abs(p.asnumpy()).max() for p in net.get_parameters()) <= bound
    check_grads(nn.Dense(3, 2, activation="tanh"), [A])
    check_grads(nn.Dense(3, 2, has_bias=False), [np.stack([A, B])])


def test_dense_by_hand() -> None:
    """Rows of the weight belong to outputs: 1 * 1 + 2 * 2 + 3 * 3 - 20 = -6, and -6 + 26 = 20."""
    weight = Tensor(np.array([[1, 2, 3], [-1, -1, -1]], np.float32))
    net = nn.Dense(3, 2, weight, Tensor(np.array([-20, 26], np.float32)), activation=nn.ReLU())
    close(net(Tensor(np.array([[1, 2, 3]], np.float32))), [[0, 20]])


def test_printing_of_dense_and_embedding() -> None:
    assert repr(nn.Dense(1, 1)) == "Dense(input_channels=1, output_channels=1, has_bias=True)"
    assert repr(nn.Dense(1, 1, has_bias=False)) == "Dense(input_channels=1, output_channels=1)"
    start = "Embedding(vocab_size=3, embedding_size=2, use_one_hot=False, embedding_table=Parameter"
    assert repr(nn.Embedding(3, 2)).startswith(start)


def test_embedding() -> None:
    net = nn.Embedding(4, 2, padding_idx=1)
    ids = np.array([[0, 1], [3, 3]], np.int32)
    table = net.embedding_table.asnumpy()
    assert not table[1].any() and table[0].any()
    close(net(Tensor(ids)), table[ids])
    weights = ms.ParameterTuple(net.trainable_params())
    (gradient,) = ops.GradOperation(get_by_list=True)(net, weights)(Tensor(ids))
    close(gradient, [[1, 1], [1, 1], [0, 0], [2, 2]])


def test_flatten_and_identity() -> None:
    cube = Tensor(np.zeros((2, 3, 4), np.float32))
    assert nn.Flatten()(cube).shape == (2, 12)
    assert nn.Flatten(0, 1)(cube).shape == (6, 4)
    close(nn.Identity()(Tensor(A)), A)


ACTIVATIONS: list[tuple[nn.Cell, Any]] = [
    (nn.CELU(2.0), np.where(A > 0, A, 2 * np.expm1(A / 2))),
    (nn.ELU(0.5), np.where(A > 0, A, 0.5 * np.expm1(A))),
    (nn.FastGelu(), A * sigmoid(1.702 * A)),
    (nn.GELU(), A / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (A + 0.044715 * A**3)))),
    (nn.GLU(0), A[:1] * SIG[1:]),
    (nn.HShrink(), A * (abs(A) > 0.5)),
    (nn.HSigmoid(), np.clip(A / 6 + 0.5, 0, 1)),
    (nn.HSwish(), A * np.clip(A / 6 + 0.5, 0, 1)),
    (nn.Hardtanh(-1, 2), np.clip(A, -1, 2)),
    (nn.LeakyReLU(), np.where(A > 0, A, 0.2 * A)),
    (nn.LogSigmoid(), np.log(SIG)),
    (nn.LogSoftmax(), LOGS),
    (nn.Mish(), A * np.tanh(np.log1p(np.exp(A)))),
    (nn.PReLU(), np.where(A > 0, A, 0.25 * A)),
    (nn.PReLU(3, [0.1, 0.2, 0.3]), np.where(A > 0, A, A * np.array([0.1, 0.2, 0.3]))),
    (nn.ReLU(), np.maximum(A, 0)),
    (nn.ReLU6(), np.clip(A, 0, 6)),
    (nn.SeLU(), 1.0507010 * np.where(A > 0, A, 1.6732632 * np.expm1(A))),
    (nn.SiLU(), A * SIG),
    (nn.Sigmoid(), SIG),
    (nn.SoftShrink(), np.sign(A) * np.maximum(abs(A) - 0.5, 0)),
    (nn.Softmax(0), np.exp(A) / np.exp(A).sum(0)),
    (nn.Softmin(0), np.exp(-A) / np.exp(-A).sum(0)),
    (nn.Softsign(), A / (1 + abs(A))),
    (nn.Tanh(), np.tanh(A)),
    (nn.Tanhshrink(), A - np.tanh(A)),
    (nn.Threshold(0.4, 20.0), np.where(A > 0.4, A, 20)),
]


@pytest.mark.parametrize("net, expected", ACTIVATIONS, ids=lambda x: type(x).__name__)
def test_activations(net: nn.Cell, expected: Any) -> None:
    close(net(Tensor(A)), expected)
    check_grads(net, [A], order=1)


def test_activations_by_name() -> None:
    assert isinstance(nn.get_activation("leakyrelu"), nn.LeakyReLU)
    assert nn.get_activation(None) is None
    assert [p.name for p in nn.PReLU().get_parameters()] == ["a"]
    with pytest.raises(KeyError, match="sine"):
        nn.get_activation("sine")


LOSSES: list[tuple[nn.Cell, tuple[Any, ...], Any]] = [
    (nn.MSELoss(), (A, B), ((A - B) ** 2).mean()),
    (nn.L1Loss("sum"), (A, B), abs(A - B).sum()),
    (nn.MAELoss(), (A, B), abs(A - B).mean()),
    (nn.RMSELoss(), (A, B), np.sqrt(((A - B) ** 2).mean())),
    (nn.SmoothL1Loss(2.0), (A, B),
     np.where(abs(A - B) < 2, (A - B) ** 2 / 4, abs(A - B) - 1)),
    (nn.HuberLoss(delta=10.0), (A, B), ((A - B) ** 2).mean() / 2),
    (nn.CrossEntropyLoss(), (A, CLASS), -(LOGS[0, 2] + LOGS[1, 0]) / 2),
    (nn.CrossEntropyLoss(ignore_index=0), (A, CLASS), -LOGS[0, 2]),
    (nn.NLLLoss(reduction="sum"), (A, CLASS), -(2.1 - 0.7)),
    (nn.BCELoss(), (SIG, UNIT), -(UNIT * np.log(SIG) + (1 - UNIT) * np.log(1 - SIG)).mean()),
    (nn.BCEWithLogitsLoss("none"), (A, UNIT),
     -(UNIT * np.log(SIG) + (1 - UNIT) * np.log(1 - SIG))),
    (nn.SoftmaxCrossEntropyWithLogits(), (A, UNIT), -(LOGS * UNIT).sum(1)),
    (nn.SoftmaxCrossEntropyWithLogits(sparse=True), (A, CLASS), [-LOGS[0, 2], -LOGS[1, 0]]),
    (nn.KLDivLoss(), (A, UNIT), (UNIT * (np.log(UNIT) - A)).mean()),
    (nn.SoftMarginLoss(), (A, SIGNS), np.log1p(np.exp(-A * SIGNS)).mean()),
    (nn.HingeEmbeddingLoss(0.9), (A, SIGNS),
     np.where(SIGNS > 0, A, np.maximum(0, 0.9 - A)).mean()),
    (nn.MarginRankingLoss(0.35), (A, B, SIGNS), np.maximum(0, 0.35 - SIGNS * (A - B)).mean()),
    (nn.MultiLabelSoftMarginLoss(), (A, UNIT),
     -(UNIT * np.log(SIG) + (1 - UNIT) * np.log(1 - SIG)).mean()),
    (nn.GaussianNLLLoss(), (A, B, UNIT), ((np.log(UNIT) + (A - B) ** 2 / UNIT) / 2).mean()),
    (nn.CosineEmbeddingLoss(), (A, A, ROWS), 0.5),
]  # fmt: skip


@pytest.mark.parametrize("net, inputs, expected", LOSSES, ids=lambda x: type(x).__name__)
def test_losses(net: nn.Cell, inputs: tuple[Any, ...], expected: Any) -> None:
    close(net(*(Tensor(each) for each in inputs)), expected)
    check_grads(net, inputs, order=1)


def test_a_loss_of_another_reduction_is_refused() -> None:
    with pytest.raises(ValueError, match="For 'MSELoss', the 'reduction'"):
        nn.MSELoss("average")


def weights_of(net: Any) -> list[np.ndarray]:
    return [parameter.asnumpy() for parameter in net.get_parameters()]


X, H, C = (np.random.default_rng(5).normal(size=(2, n)).astype(np.float32) for n in (3, 2, 2))


def test_recurrent_parameters() -> None:
    shapes = [(p.name, p.shape) for p in nn.LSTMCell(3, 2).get_parameters()]
    assert shapes == [
        ("weight_ih", (8, 3)), ("weight_hh", (8, 2)), ("bias_ih", (8,)), ("bias_hh", (8,)),
    ]  # fmt: skip
    assert [p.shape for p in nn.GRUCell(3, 2, has_bias=False).get_parameters()] == [(6, 3), (6, 2)]
    with pytest.raises(ValueError, match="nonlinearity"):
        nn.RNNCell(3, 2, nonlinearity="sine")


def test_rnn_cell() -> None:
    net = nn.RNNCell(3, 2)
    wi, wh, bi, bh = weights_of(net)
    close(net(Tensor(X), Tensor(H)), np.tanh(X @ wi.T + bi + H @ wh.T + bh))
    check_grads(net, [X, H])
    check_grads(nn.RNNCell(3, 2, nonlinearity="relu", has_bias=False), [X, H])


class Both(nn.Cell):
    """An LSTM step with two plain inputs for the state."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(3, 2)

    def construct(self, x: Any, h: Any, c: Any) -> Any:
        return self.cell(x, (h, c))


def test_lstm_cell() -> None:
    net = Both()
    wi, wh, bi, bh = weights_of(net)
    i, f, g, o = np.split(X @ wi.T + bi + H @ wh.T + bh, 4, 1)
    cell = sigmoid(f) * C + sigmoid(i) * np.tanh(g)
    hidden, new = net(Tensor(X), Tensor(H), Tensor(C))
    close(new, cell)
    close(hidden, sigmoid(o) * np.tanh(cell))
    check_grads(net, [X, H, C], order=1)


def test_gru_cell() -> None:
    net = nn.GRUCell(3, 2)
    wi, wh, bi, bh = weights_of(net)
    (xr, xz, xn), (hr, hz, hn) = np.split(X @ wi.T + bi, 3, 1), np.split(H @ wh.T + bh, 3, 1)
    r, z = sigmoid(xr + hr), sigmoid(xz + hz)
    close(net(Tensor(X), Tensor(H)), (1 - z) * np.tanh(xn + r * hn) + z * H)
    check_grads(net, [X, H], order=1)
