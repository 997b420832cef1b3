"""One step of recurrent networks. Gates are stacked along axis 0 of the weights."""

from __future__ import annotations

import math
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.cell import Cell
from autodiff_compiler.common.initializer import Uniform, initializer
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.nn.basic import positive


class _RecurrentCell(Cell):
    """The weights of a step: from the input and from the state, each with a bias."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        self.input_size = positive(input_size, "input_size", type(self).__name__)
        self.hidden_size = positive(hidden_size, "hidden_size", type(self).__name__)
        self.has_bias = has_bias
        rows, start = self.gates * hidden_size, Uniform(1 / math.sqrt(hidden_size))
        self.weight_ih = Parameter(initializer(start, (rows, input_size), dtype))
        self.weight_hh = Parameter(initializer(start, (rows, hidden_size), dtype))
        if has_bias:
            self.bias_ih = Parameter(initializer(start, (rows,), dtype))
            self.bias_hh = Parameter(initializer(start, (rows,), dtype))

    def from_input(self, x: Any) -> Any:
        """What the input adds to the gates."""
        out = ops.matmul(x, self.weight_ih.T)
        return out + self.bias_ih if self.has_bias else out

    def from_state(self, hx: Any) -> Any:
        """What the state adds to the gates."""
        out = ops.matmul(hx, self.weight_hh.T)
        return out + self.bias_hh if self.has_bias else out


class RNNCell(_RecurrentCell):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: mstype.Type = mstype.float32,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                "For 'RNNCell', the 'nonlinearity' must be in ['tanh', 'relu'], but got "
                f"{nonlinearity}."
            )
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self.nonlinearity = nonlinearity

    def construct(self, x: Any, hx: Any) -> Any:
        gate = self.from_input(x) + self.from_state(hx)
        return ops.tanh(gate) if self.nonlinearity == "tanh" else ops.relu(gate)


class LSTMCell(_RecurrentCell):
    """Gates i, f, g, o: c' = f * c + i * g; h' = o * tanh(c'). Returns (h', c')."""

    gates = 4

    def construct(self, x: Any, hx: Any) -> Any:
        hidden, cell = hx
        gates = self.from_input(x) + self.from_state(hidden)
        enter, forget, candidate, out = ops.chunk(gates, 4, -1)
        cell = ops.sigmoid(forget) * cell + ops.sigmoid(enter) * ops.tanh(candidate)
        return ops.sigmoid(out) * ops.tanh(cell), cell


class GRUCell(_RecurrentCell):
    """Gates r, z, n: n = tanh(x_n + r * h_n); h' = n + z * (h - n)."""

    gates = 3

    def construct(self, x: Any, hx: Any) -> Any:
        reset_x, update_x, new_x = ops.chunk(self.from_input(x), 3, -1)
        reset_h, update_h, new_h = ops.chunk(self.from_state(hx), 3, -1)
        new = ops.tanh(new_x + ops.sigmoid(reset_x + reset_h) * new_h)
        return new + ops.sigmoid(update_x + update_h) * (hx - new)


__all__ = ["GRUCell", "LSTMCell", "RNNCell"]
