"""Gradient of Net.construct (cell.py:14).

x: f32[2,3]   y: f32[3,3]   z: f32[1]
wrt: x   sens: ones

    residuals = net_forward(x, y, z)
    d_x = net_backward(residuals)
"""

import numpy as np


def net_forward(x, y, z):
    return y, z


def net_backward(residuals):
    y, z = residuals
    # 16| out = self.matmul(x, y)
    d_out = np.ones((2, 3), np.float32)
    d_x_1 = np.dot(d_out, y.T)
    # 15| x = x * self.z
    d_x = d_x_1 * z
    return d_x
