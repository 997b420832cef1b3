"""Gradient of Net.construct (cell.py:14).

x: f32[2,3]   y: f32[3,3]   z: f32[1]
wrt: x, y, z   sens: given

    out, residuals = net_forward(x, y, z)
    d_x, d_y, d_z = net_backward(residuals, d_out)
"""

import numpy as np


def net_forward(x, y, z):
    x_1 = x * z           # 15| x = x * self.z
    out = np.dot(x_1, y)  # 16| out = self.matmul(x, y)
    return out, (x, y, z, x_1)


def net_backward(residuals, d_out):
    x, y, z, x_1 = residuals
    # 16| out = self.matmul(x, y)
    d_x_1 = np.dot(d_out, y.T)
    d_y = np.dot(x_1.T, d_out)
    # 15| x = x * self.z
    d_x = d_x_1 * z
    d_z = (d_x_1 * x).sum(axis=(0, 1)).reshape(1)  # z was broadcast f32[1] -> f32[2,3]
    return d_x, d_y, d_z
