"""Recurrent cells: a single step of a recurrent network.

The gates are stacked along axis 0 of the weights.
"""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import Uniform, initializer
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.nn.layers.basic import positive_int
from autodiff_compiler.ops.neural.recurrent_steps import RNN_STEPS, gru_step, lstm_step


class _RecurrentCell(Cell):
    """Base of recurrent cells: weights of the input and of the state, each with a bias."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.input_size = positive_int(input_size, "input_size", type(self).__name__)
        self.hidden_size = positive_int(hidden_size, "hidden_size", type(self).__name__)
        self.has_bias = has_bias
        rows, start = self.gates * hidden_size, Uniform(1 / math.sqrt(hidden_size))
        self.weight_ih = Parameter(initializer(start, (rows, input_size), dtype))
        self.weight_hh = Parameter(initializer(start, (rows, hidden_size), dtype))
        self.bias_ih = self.bias_hh = None
        if has_bias:
            self.bias_ih = Parameter(initializer(start, (rows,), dtype))
            self.bias_hh = Parameter(initializer(start, (rows,), dtype))

    def next_state(self, step: Any, x: Any, state: Any) -> Any:
        """Returns the state after a step."""
        x_proj = ops.dense(x, self.weight_ih, self.bias_ih)
        return step(x_proj, state, self.weight_hh, self.bias_hh)


class RNNCell(_RecurrentCell):
    """Elman cell: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu for tanh."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: mstype.Type = mstype.float32,
    ):
        if nonlinearity not in RNN_STEPS:
            raise ValueError(
                "For 'RNNCell', the 'nonlinearity' must be in ['tanh', 'relu'], but got "
                f"{nonlinearity}."
            )
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self.nonlinearity = nonlinearity

    def construct(self, x: Any, hx: Any) -> Tensor:
        return self.next_state(RNN_STEPS[self.nonlinearity], x, (hx,))[0]


class LSTMCell(_RecurrentCell):
    """Long short-term memory cell: ``cell(x, (h, c))`` returns (h', c').

    With the gates i, f, g, o: c' = f * c + i * g; h' = o * tanh(c').
    """

    gates = 4

    def construct(self, x: Any, hx: Any) -> tuple[Tensor, Tensor]:
        return self.next_state(lstm_step, x, hx)


class GRUCell(_RecurrentCell):
    """Gated recurrent unit: n = tanh(x_n + r * h_n); h' = n + z * (h - n), with gates r, z, n."""

    gates = 3

    def construct(self, x: Any, hx: Any) -> Tensor:
        return self.next_state(gru_step, x, (hx,))[0]


__all__ = ["GRUCell", "LSTMCell", "RNNCell"]
