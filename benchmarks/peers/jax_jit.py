"""JAX: value and gradient in one function, compiled by ``jax.jit``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from benchmarks.workloads import attention, batch, newton, norm
from benchmarks.workloads.workload import Workload

#: Iterations of what is a ``while`` elsewhere; a finished one keeps its value.
BOUND = 64


def seed_net(x, y, z):  # type: ignore[no-untyped-def]
    return (x * z) @ y


def line(x, w, b):  # type: ignore[no-untyped-def]
    return w * x + b


def _cross_entropy(logits, labels):  # type: ignore[no-untyped-def]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -jnp.mean(picked)


def mlp_small(w1, b1, w2, b2, x, labels):  # type: ignore[no-untyped-def]
    h = jax.nn.relu(x @ w1 + b1)
    return _cross_entropy(h @ w2 + b2, labels)


def mlp_large(w1, b1, w2, b2, w3, b3, w4, b4, x):  # type: ignore[no-untyped-def]
    h = jnp.tanh(x @ w1 + b1)
    h = jnp.tanh(h @ w2 + b2)
    h = jnp.tanh(h @ w3 + b3)
    h = jnp.tanh(h @ w4 + b4)
    return jnp.mean(h * h)


def chain(x):  # type: ignore[no-untyped-def]
    v = jnp.sin(x * 1.5)
    t = jnp.tanh(jnp.exp((v + x) * 0.1))
    q = jax.nn.sigmoid(t) * x
    return jnp.sum((jnp.log1p(q**2) + v) * t)


def rnn(w_in, w, b, x):  # type: ignore[no-untyped-def]
    def step(h, x_k):  # type: ignore[no-untyped-def]
        return jnp.tanh(x_k @ w_in + h @ w + b), None

    h, _ = lax.scan(step, jnp.zeros_like(x[0]), x)
    return jnp.mean(h * h)


def root(a):  # type: ignore[no-untyped-def]
    def step(x, _):  # type: ignore[no-untyped-def]
        goes_on = jnp.sum(jnp.abs(x * x - a)) > newton.TOLERANCE
        return jnp.where(goes_on, 0.5 * (x + a / x), x), None

    x, _ = lax.scan(step, jnp.full_like(a, newton.START), None, BOUND)
    return jnp.sum(x)


def _convolved(x, weight, bias, padding):  # type: ignore[no-untyped-def]
    return lax.conv(x, weight, (1, 1), padding) + bias[:, None, None]


def _pooled(x):  # type: ignore[no-untyped-def]
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def lenet(k1, c1, k2, c2, w1, b1, w2, b2, w3, b3, x, labels):  # type: ignore[no-untyped-def]
    x = _pooled(jax.nn.relu(_convolved(x, k1, c1, "SAME")))
    x = _pooled(jax.nn.relu(_convolved(x, k2, c2, "VALID")))
    x = x.reshape(len(x), -1)
    x = jax.nn.relu(x @ w1 + b1)
    x = jax.nn.relu(x @ w2 + b2)
    return _cross_entropy(x @ w3 + b3, labels)


def attend(x, w, w_out):  # type: ignore[no-untyped-def]
    batch, steps, wide = x.shape
    split = (batch, steps, 3, attention.HEADS, attention.WIDTH)
    q, k, v = (x @ w).reshape(split).transpose(2, 0, 3, 1, 4)
    p = jax.nn.softmax((q @ k.swapaxes(-1, -2)) * attention.SCALE)
    y = (p @ v).transpose(0, 2, 1, 3).reshape((batch, steps, wide))
    out = y @ w_out
    return jnp.mean(out * out)


def norm_gelu(x, scale, shift):  # type: ignore[no-untyped-def]
    c = x - jnp.mean(x, axis=-1, keepdims=True)
    y = c * lax.rsqrt(jnp.mean(c * c, axis=-1, keepdims=True) + norm.TINY) * scale + shift
    return jnp.sum(0.5 * y * (1 + jnp.tanh(norm.SLOPE * (y + norm.CUBE * y**3))))


def batch_norm(x, scale, shift):  # type: ignore[no-untyped-def]
    c = x - jnp.mean(x, axis=(0, 2, 3), keepdims=True)
    r = lax.rsqrt(jnp.mean(c * c, axis=(0, 2, 3), keepdims=True) + batch.TINY)
    y = c * r * scale[:, None, None] + shift[:, None, None]
    y = jax.nn.relu(y)
    return jnp.mean(y * y)


def cross_entropy(logits, labels, shares):  # type: ignore[no-untyped-def]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)[:, 0]
    return -jnp.sum(picked * shares[labels]) / jnp.sum(shares[labels])


def valley(x):  # type: ignore[no-untyped-def]
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return jnp.sum(100 * a**2 + b**2)


def _of(
    function: Callable[..., Any], first: str = "all", sens: bool = False
) -> Callable[[Workload], Callable[[], Any]]:
    """The value (unless a sensitivity is given), and the gradients in what stands first: the
    weights, or all."""

    def make(work: Workload) -> Callable[[], Any]:
        inputs, weights = (list(map(jnp.asarray, row)) for row in (work.inputs, work.weights))
        seed = inputs.pop() if sens else jnp.ones(())
        given = [*weights, *inputs] if first == "weights" else [*inputs, *weights]
        count = len(weights) if first == "weights" else len(given)

        @jax.jit
        def gradient(seed: Any, *given: Any) -> Any:
            wanted, rest = given[:count], given[count:]
            out, backward = jax.vjp(lambda *wanted: function(*wanted, *rest), *wanted)
            gradients = backward(jnp.broadcast_to(seed, out.shape))
            return gradients if sens else (out, *gradients)

        return lambda: jax.block_until_ready(gradient(seed, *given))

    return make


CALLS: Mapping[str, Callable[[Workload], Callable[[], Any]]] = {
    "seed_net": _of(seed_net, sens=True),
    "line": _of(line),
    "mlp_small": _of(mlp_small, "weights"),
    "mlp_large": _of(mlp_large, "weights"),
    "chain_1e3": _of(chain),
    "chain_1e5": _of(chain),
    "chain_1e7": _of(chain),
    "rnn": _of(rnn, "weights"),
    "while": _of(root),
    "lenet": _of(lenet, "weights"),
    "attention": _of(attend),
    "norm_gelu": _of(norm_gelu),
    "batch_norm": _of(batch_norm),
    "cross_entropy": _of(cross_entropy, "weights"),
    "rosenbrock": _of(valley),
}


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order."""
    return list(map(np.asarray, answer))


def forget() -> None:
    """A maker's function is a new one, which JAX compiles again."""
