"""Recurrent layers: cells over sequences, stacked, in one direction or in both.

The input's part of the gates is one product for all steps, hoisted out of the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Tensor
from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.initializer import Uniform, initializer
from autodiff_compiler.common.parameter import Parameter, ParameterTuple
from autodiff_compiler.nn.layers.basic import positive_int
from autodiff_compiler.nn.layers.dropout import Dropout
from autodiff_compiler.ops.neural.recurrent_steps import RNN_STEPS, gru_step, lstm_step


class _Recurrent(Cell):
    """Base of recurrent layers: ``layer(x, hx, seq_length)`` returns (outputs, final hx).

    x is (L, N, C), with ``batch_first`` (N, L, C). A state is (layers * directions, N, hidden),
    zeros if hx is None. Sample n has ``seq_length[n]`` steps: after them its outputs are zero,
    and its state stays.
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: mstype.Type = mstype.float32,
    ):
        super().__init__()
        name = type(self).__name__
        self.input_size = positive_int(input_size, "input_size", name)
        self.hidden_size = positive_int(hidden_size, "hidden_size", name)
        self.num_layers = positive_int(num_layers, "num_layers", name)
        flags = {
            "has_bias": has_bias,
            "batch_first": batch_first,
            "bidirectional": bidirectional,
        }
        for argument, flag in flags.items():
            if not isinstance(flag, bool):
                raise TypeError(f"For '{name}', the '{argument}' must be bool, but got {flag!r}.")
        if not 0 <= dropout < 1:
            raise ValueError(f"For '{name}', the 'dropout' must be in [0, 1), but got {dropout}.")
        self.has_bias, self.batch_first, self.bidirectional = has_bias, batch_first, bidirectional
        self.dropout_op = Dropout(p=float(dropout))
        directions = ("", "_reverse") if bidirectional else ("",)
        rows, init = self.gates * hidden_size, Uniform(1 / math.sqrt(hidden_size))
        layers = [(layer, way) for layer in range(num_layers) for way in directions]
        outputs = hidden_size * len(directions)

        def parameters(kind: str, shape: Callable[[int], tuple[int, ...]]) -> ParameterTuple:
            return ParameterTuple(
                Parameter(initializer(init, shape(layer), dtype), f"{kind}_l{layer}{way}")
                for layer, way in layers
            )

        self.w_ih_list = parameters(
            "weight_ih", lambda layer: (rows, outputs if layer else input_size)
        )
        self.w_hh_list = parameters("weight_hh", lambda _: (rows, hidden_size))
        self.b_ih_list = self.b_hh_list = (None,) * len(layers)
        if has_bias:
            self.b_ih_list = parameters("bias_ih", lambda _: (rows,))
            self.b_hh_list = parameters("bias_hh", lambda _: (rows,))

    def run_direction(self, step: Any, x: Any, state: Any, weights: Any, seq_length: Any) -> Any:
        """Runs a layer in one direction: outputs (L, N, hidden), and the final state."""
        w_ih, w_hh, b_ih, b_hh = weights
        x_proj = ops.dense(x, w_ih, b_ih)
        outputs = []
        for t in range(x_proj.shape[0]):
            new_state = step(x_proj[t], state, w_hh, b_hh)
            if seq_length is None:
                state = new_state
                outputs.append(new_state[0])
            else:
                active = seq_length > t
                pairs = zip(new_state, state)
                state = tuple(ops.where(active, new, old) for new, old in pairs)
                outputs.append(ops.where(active, new_state[0], 0.0))
        return ops.stack(outputs), state

    def run_layers(self, step: Any, x: Any, states: Any, seq_length: Any) -> Any:
        """Runs all layers: outputs (N, L, ...) or (L, N, ...), and the final states."""
        for state in states:
            if state.shape[0] != len(self.w_ih_list):
                raise ValueError(
                    f"For '{type(self).__name__}', the first axis of a state must have the size "
                    f"{len(self.w_ih_list)} (layers times directions), but it has {state.shape[0]}."
                )
        if self.batch_first:
            x = ops.transpose(x, (1, 0, 2))
        lengths = None if seq_length is None else ops.reshape(seq_length, (-1, 1))
        final_states = []
        forward_out = None
        lists = (self.w_ih_list, self.w_hh_list, self.b_ih_list, self.b_hh_list)
        for k, weights in enumerate(zip(*lists)):
            is_reverse = self.bidirectional and k % 2 == 1
            if k and not is_reverse:
                x = self.dropout_op(x)
            state = tuple(one[k] for one in states)
            inputs = reverse_sequences(x, seq_length) if is_reverse else x
            out, final_state = self.run_direction(step, inputs, state, weights, lengths)
            final_states.append(final_state)
            if is_reverse:
                x = ops.concat((forward_out, reverse_sequences(out, seq_length)), 2)
            elif self.bidirectional:
                forward_out = out
            else:
                x = out
        if self.batch_first:
            x = ops.transpose(x, (1, 0, 2))
        return x, tuple(ops.stack(list(parts)) for parts in zip(*final_states))

    def initial_state(self, x: Any) -> Any:
        """Returns an initial state of zeros."""
        batch = x.shape[0] if self.batch_first else x.shape[1]
        count = self.num_layers * (2 if self.bidirectional else 1)
        return ops.zeros((count, batch, self.hidden_size), x.dtype)


def reverse_sequences(x: Any, seq_length: Any) -> Any:
    """Reverses sequences (L, N, C), each within its length."""
    if seq_length is None:
        return ops.flip(x, (0,))
    return ops.reverse_sequence(x, seq_length, 0, 1)


class RNN(_Recurrent):
    """Elman network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu for tanh."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: mstype.Type = mstype.float32,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"For 'RNN', the 'nonlinearity' must be in ['tanh', 'relu'], but got "
                f"{nonlinearity!r}."
            )
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            has_bias,
            batch_first,
            dropout,
            bidirectional,
            dtype,
        )
        self.nonlinearity = nonlinearity

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> tuple[Tensor, Tensor]:
        states = (self.initial_state(x) if hx is None else hx,)
        out, states = self.run_layers(RNN_STEPS[self.nonlinearity], x, states, seq_length)
        return out, states[0]


class GRU(_Recurrent):
    """Gated recurrent units: n = tanh(x_n + r * h_n); h' = n + z * (h - n), with gates r, z, n."""

    gates = 3

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> tuple[Tensor, Tensor]:
        states = (self.initial_state(x) if hx is None else hx,)
        out, states = self.run_layers(gru_step, x, states, seq_length)
        return out, states[0]


class LSTM(_Recurrent):
    """Long short-term memory: c' = f * c + i * g; h' = o * tanh(c'), with gates i, f, g, o.

    Its state is a pair (h, c).
    """

    gates = 4

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> tuple[Tensor, Any]:
        states = (self.initial_state(x), self.initial_state(x)) if hx is None else hx
        return self.run_layers(lstm_step, x, states, seq_length)


__all__ = ["GRU", "LSTM", "RNN"]
