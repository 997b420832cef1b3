"""Gradient of Decay.construct (cell.py:17).

x: f32[2,3]   n: int   w: f32[3,3]
wrt: x, w   sens: given

    out, residuals = decay_forward(x, n, w)
    d_x, d_w = decay_backward(residuals, d_h)
"""

import numpy as np


def decay_forward(x, n, w):
    h = x
    h_tape, branch_tape = [h], []
    for i in range(n):        # 19| for i in range(n):
        u = np.dot(h, w)      # 20| u = self.matmul(h, self.w)
        branch = u.sum() > 0  # 21| if self.sum(u) > 0:
        if branch:
            h = np.tanh(u)    # 22| h = self.tanh(u)
        else:
            h = u * 0.5       # 24| h = u * 0.5
        h_tape.append(h)
        branch_tape.append(branch)
    return h, (n, w, branch_tape, h_tape)


def decay_backward(residuals, d_h):
    n, w, branch_tape, h_tape = residuals
    # 19| for i in range(n):
    d_w = np.zeros((3, 3), np.float32)
    for i in reversed(range(n)):
        h, branch, h_1 = h_tape[i], branch_tape[i], h_tape[i + 1]
        if branch:    # 21| if self.sum(u) > 0:
            # 22| h = self.tanh(u)
            d_u = d_h * (1.0 - h_1 * h_1)
        else:
            # 24| h = u * 0.5
            d_u = d_h * 0.5
        # 20| u = self.matmul(h, self.w)
        d_h = np.dot(d_u, w.T)
        d_w = d_w + np.dot(h.T, d_u)
    # 19| for i in range(n):
    d_x = d_h.copy()  # copied: results share no memory
    return d_x, d_w
