"""Gradient of Slope.construct (cell.py:24).

x: f32[3]   net_w: f32[1]
wrt: x, net_w   sens: ones

    residuals = slope_forward(x, net_w)
    d_x, d_net_w = slope_backward(residuals)
"""

import numpy as np


# Net.construct (cell.py:13)
def net_grad_forward(x, w):
    sin_x = np.sin(x)  # 14| y = ops.sin(x) * self.w
    y = sin_x * w
    # 14| y = ops.sin(x) * self.w
    d_sin_x = x * w
    cos_x = np.cos(x)
    d_x = y + d_sin_x * cos_x
    return d_x, (x, w, sin_x, d_sin_x, cos_x)


def slope_forward(x, net_w):
    slope, residuals = net_grad_forward(x, net_w)  # 25| slope = self.grad_op(self.net)(x)
    return slope, residuals


# Net.construct (cell.py:13)
def net_grad_backward(residuals, d2_d_x):
    x, w, sin_x, d_sin_x, cos_x = residuals
    # 14| y = ops.sin(x) * self.w
    d2_d_sin_x = d2_d_x * cos_x
    d2_x_1 = -(d2_d_x * d_sin_x) * np.sin(x)
    d2_x_2 = d2_x_1 + d2_d_sin_x * w
    d2_w_1 = (d2_d_sin_x * x).sum(axis=0, keepdims=True)  # w was stretched f32[1] -> f32[3]
    d2_w = d2_w_1 + (d2_d_x * sin_x).sum(axis=0, keepdims=True)
    d2_x = d2_x_2 + d2_d_x * w * np.cos(x)
    return d2_x, d2_w


def slope_backward(residuals):
    slope, residuals_1 = residuals
    # 26| return slope * slope
    d_slope = slope + slope
    # 25| slope = self.grad_op(self.net)(x)
    d_x, d_net_w = net_grad_backward(residuals_1, d_slope)
    return d_x, d_net_w
