"""The gradient leaves home: a file is exported, and training goes on with NumPy alone.

``train.py`` is written beside the exported gradient and run by an interpreter of its own, which
never imports this package: only NumPy and the exported file, which is the text at the end.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from autodiff_compiler import Parameter, Tensor, export_source, nn, ops


class Loss(nn.Cell):
    """The mean squared error of a small network."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        self.w = Parameter(Tensor(rng.normal(size=(2, 8)).astype(np.float32)), name="w")
        self.b = Parameter(Tensor(rng.normal(size=(8,)).astype(np.float32)), name="b")
        self.v = Parameter(Tensor(rng.normal(size=(8, 1)).astype(np.float32)), name="v")

    def construct(self, x, y):
        h = ops.tanh(ops.matmul(x, self.w) + self.b)
        error = ops.matmul(h, self.v) - y
        return (error * error).mean()


#: What is shipped besides the gradient. It knows this package as little as the gradient does.
TRAIN = """\
import sys

import numpy as np
from loss_gradient import loss_backward, loss_forward

weights = dict(np.load("weights.npz"))
rng = np.random.default_rng(1)
for step in range(1, 1001):
    x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
    y = x[:, :1] * x[:, 1:]  # what is to be learnt: the product
    for name, gradient in zip("wbv", loss_backward(loss_forward(x, y, **weights))):
        weights[name] -= 0.1 * gradient
    if step == 1 or step % 500 == 0:
        error = np.tanh(x @ weights["w"] + weights["b"]) @ weights["v"] - y
        print(f"step {step}: loss {(error * error).mean():.4f}")
assert "autodiff_compiler" not in sys.modules
"""


def export(loss: Loss, folder: Path) -> None:
    """Writes the gradient for batches of any size, the weights, and the script."""
    export_source(
        loss, folder / "loss_gradient.py", "f32[n,2]", "f32[n,1]", get_by_list=True,
        weights=loss.trainable_params(),
    )  # fmt: skip
    np.savez(folder / "weights.npz", **{p.name: p.asnumpy() for p in loss.get_parameters()})
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")


def main() -> str:
    """Exports, trains elsewhere, and gives what was printed there."""
    with tempfile.TemporaryDirectory() as folder:
        export(Loss(), Path(folder))
        print((Path(folder) / "loss_gradient.py").read_text(encoding="utf-8"))
        there = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        ran = subprocess.run(
            [sys.executable, "train.py"], cwd=folder, env=there, text=True, capture_output=True,
            check=True,
        )  # fmt: skip
    print(ran.stdout, end="")
    return ran.stdout


#: The file that is exported. Kept as the compiler prints it by ``make golden``.
SHOWN = '''\
"""Gradient of Loss.construct (shipped_gradient.py:28).

x: f32[n,2]   y: f32[n,1]   w: f32[2,8]   b: f32[8]   v: f32[8,1]
wrt: w, b, v   sens: ones

    residuals = loss_forward(x, y, w, b, v)
    d_w, d_b, d_v = loss_backward(residuals)
"""

import numpy as np


def loss_forward(x, y, w, b, v):
    h = np.tanh(np.dot(x, w) + b)      # 29| h = ops.tanh(ops.matmul(x, self.w) + self.b)
    error = np.dot(h, v) - y           # 30| error = ops.matmul(h, self.v) - y
    error_times_error = error * error  # 31| return (error * error).mean()
    return x, v, h, error, error_times_error


def loss_backward(residuals):
    x, v, h, error, error_times_error = residuals
    # 31| return (error * error).mean()
    d_error = error / error_times_error.size
    d_error_1 = d_error + d_error
    # 30| error = ops.matmul(h, self.v) - y
    d_h = np.dot(d_error_1, v.T)
    d_v = np.dot(h.T, d_error_1)
    # 29| h = ops.tanh(ops.matmul(x, self.w) + self.b)
    d_total = d_h * (1.0 - h * h)
    d_b = d_total.sum(axis=0)  # b was broadcast f32[8] -> f32[n,8]
    d_w = np.dot(x.T, d_total)
    return d_w, d_b, d_v
'''


if __name__ == "__main__":
    main()
