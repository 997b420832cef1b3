"""Gradient of Slope.construct (cell.py:24).

x: f32[3]   net_w: f32[1]
wrt: x, net_w   sens: ones

    residuals = slope_forward(x, net_w)
    d_x, d_net_w = slope_backward(residuals)
"""

import numpy as np


def slope_forward(x, net_w):
    sin_x = np.sin(x)  # 14| y = ops.sin(x) * self.w
    y = sin_x * net_w
    # 14| y = ops.sin(x) * self.w
    d_sin_x = x * net_w
    cos_x = np.cos(x)
    slope = y + d_sin_x * cos_x
    return x, net_w, sin_x, d_sin_x, cos_x, slope


def slope_backward(residuals):
    x, net_w, sin_x, d_sin_x, cos_x, slope = residuals
    # 26| return slope * slope
    d_slope = slope + slope
    # 14| y = ops.sin(x) * self.w
    d2_d_sin_x = d_slope * cos_x
    d_x_1 = -(d_slope * d_sin_x) * sin_x
    d_x_2 = d_x_1 + d2_d_sin_x * net_w
    d_net_w_1 = (d2_d_sin_x * x).sum(axis=0, keepdims=True)  # net_w was broadcast f32[1] -> f32[3]
    d_net_w = d_net_w_1 + (d_slope * sin_x).sum(axis=0, keepdims=True)
    d_x = d_x_2 + d_slope * net_w * cos_x
    return d_x, d_net_w
