"""The gradient of every example of a batch, at the cost of one batched pass.

``grad`` of the loss of one example gives the gradient for one; ``vmap`` makes of that the function
for a batch. What runs is the text at the end: no loop over the examples, and products that keep
their axis.
"""

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops


class Loss(nn.Cell):
    """The squared error of a small network on one example."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        self.w = Parameter(Tensor(rng.normal(size=(3, 4)).astype(np.float32)), name="w")
        self.v = Parameter(Tensor(rng.normal(size=(4, 2)).astype(np.float32)), name="v")

    def construct(self, x, y):
        h = ops.tanh(ops.matmul(x, self.w))
        error = ops.matmul(h, self.v) - y
        return (error * error).sum()


def main() -> None:
    loss = Loss()
    rng = np.random.default_rng(1)
    x = Tensor(rng.normal(size=(5, 3)).astype(np.float32))
    y = Tensor(rng.normal(size=(5, 2)).astype(np.float32))

    each = ms.vmap(ms.grad(loss, None, loss.trainable_params()))
    d_w, d_v = each(x, y)
    print(f"d_w {d_w.shape}, d_v {d_v.shape}: one gradient for each of {x.shape[0]} examples")
    norms = np.sqrt((d_w.asnumpy() ** 2).sum((1, 2)) + (d_v.asnumpy() ** 2).sum((1, 2)))
    print("their norms:", norms.round(2))
    print(ms.compile_info().units[-1].source)


#: What runs. Kept as the compiler prints it by ``make golden``.
SHOWN = '''\
"""Batch of gradient of Loss.construct (per_example_gradients.py:23).

x: f32[5,3]   y: f32[5,2]   w: f32[3,4]   v: f32[4,2]

    out = loss_grad_batched(x, y, w, v)
"""

import numpy as np


def loss_grad_batched(x, y, w, v):
    h = np.tanh(np.dot(x, w))  # 24| h = ops.tanh(ops.matmul(x, self.w))
    error = np.dot(h, v) - y   # 25| error = ops.matmul(h, self.v) - y
    # 26| return (error * error).sum()
    d_error = error + error
    # 25| error = ops.matmul(h, self.v) - y
    d_h = np.dot(d_error, v.T)
    d_v = h[..., None] * d_error[:, None]
    # 24| h = ops.tanh(ops.matmul(x, self.w))
    d_x_matmul_w = d_h * (1.0 - h * h)
    d_w = x[..., None] * d_x_matmul_w[:, None]
    out = d_w, d_v
    return out
'''


if __name__ == "__main__":
    main()
