"""Tangent of Decay.construct (cell.py:17).

x: f32[2,3]   n: int   w: f32[3,3]
wrt: x, w

    out, dot_out = decay_tangent(x, n, w, dot_x, dot_w)
"""

import numpy as np


def decay_tangent(x, n, w, dot_x, dot_w):
    h = x
    dot_h = dot_x
    for i in range(n):             # 19| for i in range(n):
        u = np.dot(h, w)           # 20| u = self.matmul(h, self.w)
        dot_u = np.dot(dot_h, w) + np.dot(h, dot_w)
        if u.sum() > 0:            # 21| if self.sum(u) > 0:
            h = np.tanh(u)         # 22| h = self.tanh(u)
            dot_h = dot_u * (1.0 - h * h)
        else:
            h = u * 0.5            # 24| h = u * 0.5
            dot_h = dot_u * 0.5
    # 19| for i in range(n):
    return h.copy(), dot_h.copy()  # copied: results share no memory
