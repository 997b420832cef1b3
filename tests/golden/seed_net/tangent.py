"""Tangent of Net.construct (cell.py:14).

x: f32[2,3]   y: f32[3,3]   z: f32[1]
wrt: x, y, z

    out, dot_out = net_tangent(x, y, z, dot_x, dot_y, dot_z)
"""

import numpy as np


def net_tangent(x, y, z, dot_x, dot_y, dot_z):
    x_1 = x * z           # 15| x = x * self.z
    dot_x_1 = dot_x * z + dot_z * x
    out = np.dot(x_1, y)  # 16| out = self.matmul(x, y)
    dot_out = np.dot(dot_x_1, y) + np.dot(x_1, dot_y)
    return out, dot_out
