"""A network that solves u'' = -u with u(0) = 0 and u'(0) = 1: it learns the sine.

The loss holds the second derivative of the network in its input, the tangent of a tangent. To
train, the gradient of that loss in the parameters is needed: a reverse sweep over two tangent
sweeps. Its text stands at the end; it is what runs, and every line of it can be stepped through.
"""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops


class Solution(nn.Cell):
    """u(t) for a column of times; u(0) = 0 and u'(0) = 1 whatever the network says."""

    def __init__(self, width: int = 16):
        super().__init__()
        rng = np.random.default_rng(3)
        self.w = Parameter(Tensor(rng.normal(size=(1, width)).astype(np.float32)), name="w")
        self.b = Parameter(Tensor(rng.normal(size=(width,)).astype(np.float32)), name="b")
        self.v = Parameter(Tensor(np.zeros((width, 1), np.float32)), name="v")

    def construct(self, t):
        h = ops.tanh(t * self.w + self.b)
        network = ops.matmul(h, self.v)
        return t + t * t * network


class Residual(nn.Cell):
    """How far u'' + u is from zero, over all times."""

    def __init__(self, u: nn.Cell):
        super().__init__()
        self.u = u

    def construct(self, t):
        one = ops.ones_like(t)
        _, second = ms.jvp(lambda s: ms.jvp(self.u, s, one)[1], t, one)
        error = second + self.u(t)
        return (error * error).mean()


def main(steps: int = 1500) -> float:
    """Trains; gives the largest distance from the sine."""
    residual = Residual(Solution())
    t = Tensor(np.linspace(0.0, 3.0, 24, dtype=np.float32).reshape(-1, 1))
    weights = residual.trainable_params()

    loss_and_gradient = ms.value_and_grad(residual, None, weights)
    moments = [(np.zeros(w.shape, np.float32), np.zeros(w.shape, np.float32)) for w in weights]
    for step in range(1, steps + 1):  # Adam, written out
        loss, gradients = loss_and_gradient(t)
        for weight, gradient, (m, v) in zip(weights, gradients, moments):
            g = gradient.asnumpy()
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            unbiased = (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
            weight.set_data(Tensor(weight.asnumpy() - 0.01 * unbiased))
        if step == 1 or step % 500 == 0:
            print(f"step {step}: loss {float(loss.asnumpy()):.2e}")
    farthest = float(np.abs(residual.u(t).asnumpy() - np.sin(t.asnumpy())).max())
    print(f"farthest from the sine: {farthest:.4f}")
    return farthest


#: What runs. Kept as the compiler prints it by ``make golden``.
SHOWN = '''\
"""Gradient of Residual.construct (physics_informed.py:37).

t: f32[24,1]   u_w: f32[1,16]   u_b: f32[16]   u_v: f32[16,1]
wrt: u_w, u_b, u_v   sens: ones

    residuals = residual_forward(t, u_w, u_b, u_v)
    d_u_w, d_u_b, d_u_v = residual_backward(residuals)
"""

import numpy as np


def residual_forward(t, u_w, u_b, u_v):
    h = np.tanh(t * u_w + u_b)  # 25| h = ops.tanh(t * self.w + self.b)
    difference = 1.0 - h * h
    dot2_h = u_w * difference
    product = -2.0 * u_w
    product_1 = product * dot2_h
    dot2_dot_h = product_1 * h
    network = np.dot(h, u_v)    # 26| network = ops.matmul(h, self.v)
    dot2_network = np.dot(dot2_h, u_v)
    dot2_dot_network = np.dot(dot2_dot_h, u_v)
    t_times_t = t * t           # 27| return t + t * t * network
    dot2_t_times_t = t + t
    dot2_product = dot2_dot_network * t_times_t + dot2_t_times_t * dot2_network
    dot2_product_1 = 2.0 * (network + dot2_network * t)
    second = dot2_product_1 + dot2_product
    out = t + t_times_t * network
    error = second + out        # 40| error = second + self.u(t)
    return (
        t, u_w, u_v, h, difference, dot2_h, product, product_1, dot2_dot_h, t_times_t,
        dot2_t_times_t, error,
    )


def residual_backward(residuals):
    (
        t, u_w, u_v, h, difference, dot2_h, product, product_1, dot2_dot_h, t_times_t,
        dot2_t_times_t, error,
    ) = residuals
    # 41| return (error * error).mean()
    d_error = error / 12
    # 27| return t + t * t * network
    d_network = d_error * t_times_t
    d3_dot2_network = d_error * dot2_t_times_t
    d_total = d_error * 2.0
    d_network_1 = d_network + d_total
    d3_dot2_network_1 = d3_dot2_network + d_total * t
    # 26| network = ops.matmul(h, self.v)
    u_v_t = u_v.T
    d3_dot2_dot_h = np.dot(d_network, u_v_t)
    d_u_v_1 = np.dot(dot2_dot_h.T, d_network)
    d3_dot2_h = np.dot(d3_dot2_network_1, u_v_t)
    d_u_v_2 = d_u_v_1 + np.dot(dot2_h.T, d3_dot2_network_1)
    d_h = np.dot(d_network_1, u_v_t)
    d_u_v = d_u_v_2 + np.dot(h.T, d_network_1)
    # 25| h = ops.tanh(t * self.w + self.b)
    d_product = d3_dot2_dot_h * h
    d_h_1 = d_h + d3_dot2_dot_h * product_1
    d3_dot2_h_1 = d3_dot2_h + d_product * product
    d_u_w_1 = (d_product * dot2_h).sum(axis=0, keepdims=True) * -2.0
    d_u_w_2 = d_u_w_1 + (d3_dot2_h_1 * difference).sum(axis=0, keepdims=True)
    product_2 = u_w * 2.0 * d3_dot2_h_1 * h
    d_h_2 = d_h_1 - product_2
    d_total_1 = d_h_2 * difference
    d_u_b = d_total_1.sum(axis=0)  # u_b was broadcast f32[16] -> f32[24,16]
    d_u_w = d_u_w_2 + (d_total_1 * t).sum(axis=0, keepdims=True)
    return d_u_w, d_u_b, d_u_v
'''


if __name__ == "__main__":
    main()
