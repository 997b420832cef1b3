"""Gradient of TwoLayers.construct (cell.py:24).

x: f32[2,3]   fc1_weight: f32[3,3]   fc1_bias: f32[3]   fc2_weight: f32[3,3]
fc2_bias: f32[3]
wrt: fc1_weight, fc1_bias, fc2_weight, fc2_bias   sens: given

    out, residuals = two_layers_forward(x, fc1_weight, fc1_bias, fc2_weight, fc2_bias)
    d_fc1_weight, d_fc1_bias, d_fc2_weight, d_fc2_bias = two_layers_backward(residuals, d_logits)
"""

import numpy as np


# Dense.construct (cell.py:14)
def dense_forward(x, weight, bias):
    out = np.dot(x, weight.T) + bias  # 15| return ops.matmul(x, self.weight.T) + self.bias
    return out, (x,)


# Dense.construct (cell.py:14)
def dense_forward_2(x, weight, bias):
    out = np.dot(x, weight.T) + bias  # 15| return ops.matmul(x, self.weight.T) + self.bias
    return out, (x, weight)


def two_layers_forward(x, fc1_weight, fc1_bias, fc2_weight, fc2_bias):
    out, residuals_1 = dense_forward(x, fc1_weight, fc1_bias)  # 25| hidden = ops.tanh(self.fc1(x))
    hidden = np.tanh(out)
    # 26| logits = self.fc2(hidden)
    logits, residuals_2 = dense_forward_2(hidden, fc2_weight, fc2_bias)
    return logits, (residuals_1, hidden, residuals_2)


# Dense.construct (cell.py:14)
def dense_backward_2(residuals, d_out):
    x, weight = residuals
    # 15| return ops.matmul(x, self.weight.T) + self.bias
    d_bias = d_out.sum(axis=0)  # bias was broadcast f32[3] -> f32[2,3]
    d_x = np.dot(d_out, weight)
    d_weight = np.dot(d_out.T, x)
    return d_x, d_weight, d_bias


# Dense.construct (cell.py:14)
def dense_backward(residuals, d_out):
    (x,) = residuals
    # 15| return ops.matmul(x, self.weight.T) + self.bias
    d_bias = d_out.sum(axis=0)  # bias was broadcast f32[3] -> f32[2,3]
    d_weight = np.dot(d_out.T, x)
    return d_weight, d_bias


def two_layers_backward(residuals, d_logits):
    residuals_1, hidden, residuals_2 = residuals
    # 26| logits = self.fc2(hidden)
    d_hidden, d_fc2_weight, d_fc2_bias = dense_backward_2(residuals_2, d_logits)
    # 25| hidden = ops.tanh(self.fc1(x))
    d_fc1_weight, d_fc1_bias = dense_backward(residuals_1, d_hidden * (1.0 - hidden * hidden))
    return d_fc1_weight, d_fc1_bias, d_fc2_weight, d_fc2_bias
