"""Steps of recurrent nets. They are inlined, so that a loop of steps is one loop of products, which
passes can fuse."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.ir.labels import named
from autodiff_compiler.operators.elementwise import activation, arithmetic
from autodiff_compiler.ops.functions.arrays import chunk
from autodiff_compiler.ops.neural.dense import dense


def tanh_step(x: Any, state: Any, weight: Any, bias: Any) -> Any:
    """Returns tanh(x + W h + b); x is the input's part. A state is a tuple, here (h,)."""
    return (named("h", activation.tanh(x + dense(state[0], weight, bias))),)


def relu_step(x: Any, state: Any, weight: Any, bias: Any) -> Any:
    """Returns relu(x + W h + b); x is the input's part."""
    return (named("h", arithmetic.relu(x + dense(state[0], weight, bias))),)


def lstm_step(x: Any, state: Any, weight: Any, bias: Any) -> Any:
    """Returns the next (h, c); x is the input's part of the gates."""
    h, c = state
    gates = named("gates", x + named("h_proj", dense(h, weight, bias)))
    i, f, g, o = chunk(gates, 4, -1)
    i, f = named("i", activation.sigmoid(i)), named("f", activation.sigmoid(f))
    g, o = named("g", activation.tanh(g)), named("o", activation.sigmoid(o))
    c = named("c", f * c + i * g)
    return named("h", o * named("tanh_c", activation.tanh(c))), c


def gru_step(x: Any, state: Any, weight: Any, bias: Any) -> Any:
    """Returns the next (h,); x is the input's part of the gates."""
    h = state[0]
    r_x, z_x, n_x = chunk(x, 3, -1)
    r_h, z_h, n_h = chunk(named("h_proj", dense(h, weight, bias)), 3, -1)
    r = named("r", activation.sigmoid(r_x + r_h))
    n = named("n", activation.tanh(n_x + r * n_h))
    z = named("z", activation.sigmoid(z_x + z_h))
    return (named("h", n + z * (h - n)),)


#: The step of a plain recurrent net by its nonlinearity.
RNN_STEPS = {"tanh": tanh_step, "relu": relu_step}
