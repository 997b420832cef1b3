"""Steps of recurrent nets. They are inlined, so that a loop of steps is one loop of products, which
passes can fuse."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.operators.elementwise import arithmetic as records
from autodiff_compiler.ops.functions.arrays import chunk
from autodiff_compiler.ops.neural.dense import dense


def tanh_step(x: Any, state: Any, weight: Any, bias: Any) -> Any:
    """Returns tanh(x + W h + b); x is the input's part. A state is a tuple, here (h,)."""
    return (records.tanh(x + dense(state[0], weight, bias)),)


def relu_step(x: Any, state: Any, weight: Any, bias: Any) -> Any:
    """Returns relu(x + W h + b); x is the input's part."""
    return (records.relu(x + dense(state[0], weight, bias)),)


def lstm_step(x: Any, state: Any, weight: Any, bias: Any) -> Any:
    """Returns the next (h, c); x is the input's part of the gates."""
    hidden, cell = state
    gates = x + dense(hidden, weight, bias)
    enter, forget, candidate, out = chunk(gates, 4, -1)
    cell = records.sigmoid(forget) * cell + records.sigmoid(enter) * records.tanh(candidate)
    return records.sigmoid(out) * records.tanh(cell), cell


def gru_step(x: Any, state: Any, weight: Any, bias: Any) -> Any:
    """Returns the next (h,); x is the input's part of the gates."""
    hidden = state[0]
    reset_x, update_x, new_x = chunk(x, 3, -1)
    reset_h, update_h, new_h = chunk(dense(hidden, weight, bias), 3, -1)
    new = records.tanh(new_x + records.sigmoid(reset_x + reset_h) * new_h)
    return (new + records.sigmoid(update_x + update_h) * (hidden - new),)


#: The step of a plain recurrent net by its nonlinearity.
RNN_STEPS = {"tanh": tanh_step, "relu": relu_step}
