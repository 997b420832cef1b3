"""Gradient of Root.construct (cell.py:13).

a: f32[2]
wrt: a   sens: given

    out, residuals = root_forward(a)
    d_a = root_backward(residuals, d_x)
"""

import numpy as np


def root_forward(a):
    x = a
    count = 0
    x_tape = []
    while True:                # 15| while ops.sum(ops.abs(x * x - a)) > self.tolerance:
        abs_difference = np.abs(x * x - a)
        if not abs_difference.sum() > 0.001:
            break
        x_tape.append(x)
        x = 0.5 * (x + a / x)  # 16| x = 0.5 * (x + a / x)
        count += 1
    return x, (a, x_tape, count)


def root_backward(residuals, d_x):
    a, x_tape, count = residuals
    # 15| while ops.sum(ops.abs(x * x - a)) > self.tolerance:
    d_a_1 = np.zeros(2, np.float32)
    for k in reversed(range(count)):
        x = x_tape[k]
        # 16| x = 0.5 * (x + a / x)
        d_total = d_x * 0.5
        d_a_1 = d_a_1 + d_total / x
        ratio = d_total * (a / x) / x
        d_x = d_total - ratio
    # 15| while ops.sum(ops.abs(x * x - a)) > self.tolerance:
    d_a = d_a_1 + d_x
    return d_a
