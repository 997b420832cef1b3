"""Gradient of ViT.construct (vit.py:27).

x: f32[2,3,16,16]   y: i32[2]   patch_weight: f32[16,3,4,4]   patch_bias: f32[16]
cls: f32[1,1,16]   pos: f32[1,17,16]   blocks_0_n1_gamma: f32[16]   blocks_0_n1_beta: f32[16]
blocks_0_qkv_weight: f32[48,16]   blocks_0_qkv_bias: f32[48]
blocks_0_proj_weight: f32[16,16]   blocks_0_proj_bias: f32[16]   blocks_0_n2_gamma: f32[16]
blocks_0_n2_beta: f32[16]   blocks_0_f1_weight: f32[64,16]   blocks_0_f1_bias: f32[64]
blocks_0_f2_weight: f32[16,64]   blocks_0_f2_bias: f32[16]   blocks_1_n1_gamma: f32[16]
blocks_1_n1_beta: f32[16]   blocks_1_qkv_weight: f32[48,16]   blocks_1_qkv_bias: f32[48]
blocks_1_proj_weight: f32[16,16]   blocks_1_proj_bias: f32[16]   blocks_1_n2_gamma: f32[16]
blocks_1_n2_beta: f32[16]   blocks_1_f1_weight: f32[64,16]   blocks_1_f1_bias: f32[64]
blocks_1_f2_weight: f32[16,64]   blocks_1_f2_bias: f32[16]   blocks_2_n1_gamma: f32[16]
blocks_2_n1_beta: f32[16]   blocks_2_qkv_weight: f32[48,16]   blocks_2_qkv_bias: f32[48]
blocks_2_proj_weight: f32[16,16]   blocks_2_proj_bias: f32[16]   blocks_2_n2_gamma: f32[16]
blocks_2_n2_beta: f32[16]   blocks_2_f1_weight: f32[64,16]   blocks_2_f1_bias: f32[64]
blocks_2_f2_weight: f32[16,64]   blocks_2_f2_bias: f32[16]   blocks_3_n1_gamma: f32[16]
blocks_3_n1_beta: f32[16]   blocks_3_qkv_weight: f32[48,16]   blocks_3_qkv_bias: f32[48]
blocks_3_proj_weight: f32[16,16]   blocks_3_proj_bias: f32[16]   blocks_3_n2_gamma: f32[16]
blocks_3_n2_beta: f32[16]   blocks_3_f1_weight: f32[64,16]   blocks_3_f1_bias: f32[64]
blocks_3_f2_weight: f32[16,64]   blocks_3_f2_bias: f32[16]   blocks_4_n1_gamma: f32[16]
blocks_4_n1_beta: f32[16]   blocks_4_qkv_weight: f32[48,16]   blocks_4_qkv_bias: f32[48]
blocks_4_proj_weight: f32[16,16]   blocks_4_proj_bias: f32[16]   blocks_4_n2_gamma: f32[16]
blocks_4_n2_beta: f32[16]   blocks_4_f1_weight: f32[64,16]   blocks_4_f1_bias: f32[64]
blocks_4_f2_weight: f32[16,64]   blocks_4_f2_bias: f32[16]   blocks_5_n1_gamma: f32[16]
blocks_5_n1_beta: f32[16]   blocks_5_qkv_weight: f32[48,16]   blocks_5_qkv_bias: f32[48]
blocks_5_proj_weight: f32[16,16]   blocks_5_proj_bias: f32[16]   blocks_5_n2_gamma: f32[16]
blocks_5_n2_beta: f32[16]   blocks_5_f1_weight: f32[64,16]   blocks_5_f1_bias: f32[64]
blocks_5_f2_weight: f32[16,64]   blocks_5_f2_bias: f32[16]   blocks_6_n1_gamma: f32[16]
blocks_6_n1_beta: f32[16]   blocks_6_qkv_weight: f32[48,16]   blocks_6_qkv_bias: f32[48]
blocks_6_proj_weight: f32[16,16]   blocks_6_proj_bias: f32[16]   blocks_6_n2_gamma: f32[16]
blocks_6_n2_beta: f32[16]   blocks_6_f1_weight: f32[64,16]   blocks_6_f1_bias: f32[64]
blocks_6_f2_weight: f32[16,64]   blocks_6_f2_bias: f32[16]   blocks_7_n1_gamma: f32[16]
blocks_7_n1_beta: f32[16]   blocks_7_qkv_weight: f32[48,16]   blocks_7_qkv_bias: f32[48]
blocks_7_proj_weight: f32[16,16]   blocks_7_proj_bias: f32[16]   blocks_7_n2_gamma: f32[16]
blocks_7_n2_beta: f32[16]   blocks_7_f1_weight: f32[64,16]   blocks_7_f1_bias: f32[64]
blocks_7_f2_weight: f32[16,64]   blocks_7_f2_bias: f32[16]   blocks_8_n1_gamma: f32[16]
blocks_8_n1_beta: f32[16]   blocks_8_qkv_weight: f32[48,16]   blocks_8_qkv_bias: f32[48]
blocks_8_proj_weight: f32[16,16]   blocks_8_proj_bias: f32[16]   blocks_8_n2_gamma: f32[16]
blocks_8_n2_beta: f32[16]   blocks_8_f1_weight: f32[64,16]   blocks_8_f1_bias: f32[64]
blocks_8_f2_weight: f32[16,64]   blocks_8_f2_bias: f32[16]   blocks_9_n1_gamma: f32[16]
blocks_9_n1_beta: f32[16]   blocks_9_qkv_weight: f32[48,16]   blocks_9_qkv_bias: f32[48]
blocks_9_proj_weight: f32[16,16]   blocks_9_proj_bias: f32[16]   blocks_9_n2_gamma: f32[16]
blocks_9_n2_beta: f32[16]   blocks_9_f1_weight: f32[64,16]   blocks_9_f1_bias: f32[64]
blocks_9_f2_weight: f32[16,64]   blocks_9_f2_bias: f32[16]   blocks_10_n1_gamma: f32[16]
blocks_10_n1_beta: f32[16]   blocks_10_qkv_weight: f32[48,16]   blocks_10_qkv_bias: f32[48]
blocks_10_proj_weight: f32[16,16]   blocks_10_proj_bias: f32[16]
blocks_10_n2_gamma: f32[16]   blocks_10_n2_beta: f32[16]   blocks_10_f1_weight: f32[64,16]
blocks_10_f1_bias: f32[64]   blocks_10_f2_weight: f32[16,64]   blocks_10_f2_bias: f32[16]
blocks_11_n1_gamma: f32[16]   blocks_11_n1_beta: f32[16]   blocks_11_qkv_weight: f32[48,16]
blocks_11_qkv_bias: f32[48]   blocks_11_proj_weight: f32[16,16]
blocks_11_proj_bias: f32[16]   blocks_11_n2_gamma: f32[16]   blocks_11_n2_beta: f32[16]
blocks_11_f1_weight: f32[64,16]   blocks_11_f1_bias: f32[64]
blocks_11_f2_weight: f32[16,64]   blocks_11_f2_bias: f32[16]   norm_gamma: f32[16]
norm_beta: f32[16]   head_weight: f32[10,16]   head_bias: f32[10]
wrt: patch_weight, patch_bias, cls, pos, blocks_0_n1_gamma, blocks_0_n1_beta, blocks_0_qkv_weight,
 blocks_0_qkv_bias, blocks_0_proj_weight, blocks_0_proj_bias, blocks_0_n2_gamma, blocks_0_n2_beta,
 blocks_0_f1_weight, blocks_0_f1_bias, blocks_0_f2_weight, blocks_0_f2_bias, blocks_1_n1_gamma,
blocks_1_n1_beta, blocks_1_qkv_weight, blocks_1_qkv_bias, blocks_1_proj_weight,
blocks_1_proj_bias, blocks_1_n2_gamma, blocks_1_n2_beta, blocks_1_f1_weight, blocks_1_f1_bias,
blocks_1_f2_weight, blocks_1_f2_bias, blocks_2_n1_gamma, blocks_2_n1_beta, blocks_2_qkv_weight,
blocks_2_qkv_bias, blocks_2_proj_weight, blocks_2_proj_bias, blocks_2_n2_gamma, blocks_2_n2_beta,
blocks_2_f1_weight, blocks_2_f1_bias, blocks_2_f2_weight, blocks_2_f2_bias, blocks_3_n1_gamma,
blocks_3_n1_beta, blocks_3_qkv_weight, blocks_3_qkv_bias, blocks_3_proj_weight,
blocks_3_proj_bias, blocks_3_n2_gamma, blocks_3_n2_beta, blocks_3_f1_weight, blocks_3_f1_bias,
blocks_3_f2_weight, blocks_3_f2_bias, blocks_4_n1_gamma, blocks_4_n1_beta, blocks_4_qkv_weight,
blocks_4_qkv_bias, blocks_4_proj_weight, blocks_4_proj_bias, blocks_4_n2_gamma, blocks_4_n2_beta,
blocks_4_f1_weight, blocks_4_f1_bias, blocks_4_f2_weight, blocks_4_f2_bias, blocks_5_n1_gamma,
blocks_5_n1_beta, blocks_5_qkv_weight, blocks_5_qkv_bias, blocks_5_proj_weight,
blocks_5_proj_bias, blocks_5_n2_gamma, blocks_5_n2_beta, blocks_5_f1_weight, blocks_5_f1_bias,
blocks_5_f2_weight, blocks_5_f2_bias, blocks_6_n1_gamma, blocks_6_n1_beta, blocks_6_qkv_weight,
blocks_6_qkv_bias, blocks_6_proj_weight, blocks_6_proj_bias, blocks_6_n2_gamma, blocks_6_n2_beta,
blocks_6_f1_weight, blocks_6_f1_bias, blocks_6_f2_weight, blocks_6_f2_bias, blocks_7_n1_gamma,
blocks_7_n1_beta, blocks_7_qkv_weight, blocks_7_qkv_bias, blocks_7_proj_weight,
blocks_7_proj_bias, blocks_7_n2_gamma, blocks_7_n2_beta, blocks_7_f1_weight, blocks_7_f1_bias,
blocks_7_f2_weight, blocks_7_f2_bias, blocks_8_n1_gamma, blocks_8_n1_beta, blocks_8_qkv_weight,
blocks_8_qkv_bias, blocks_8_proj_weight, blocks_8_proj_bias, blocks_8_n2_gamma, blocks_8_n2_beta,
blocks_8_f1_weight, blocks_8_f1_bias, blocks_8_f2_weight, blocks_8_f2_bias, blocks_9_n1_gamma,
blocks_9_n1_beta, blocks_9_qkv_weight, blocks_9_qkv_bias, blocks_9_proj_weight,
blocks_9_proj_bias, blocks_9_n2_gamma, blocks_9_n2_beta, blocks_9_f1_weight, blocks_9_f1_bias,
blocks_9_f2_weight, blocks_9_f2_bias, blocks_10_n1_gamma, blocks_10_n1_beta, blocks_10_qkv_weight,
 blocks_10_qkv_bias, blocks_10_proj_weight, blocks_10_proj_bias, blocks_10_n2_gamma,
blocks_10_n2_beta, blocks_10_f1_weight, blocks_10_f1_bias, blocks_10_f2_weight, blocks_10_f2_bias,
 blocks_11_n1_gamma, blocks_11_n1_beta, blocks_11_qkv_weight, blocks_11_qkv_bias,
blocks_11_proj_weight, blocks_11_proj_bias, blocks_11_n2_gamma, blocks_11_n2_beta,
blocks_11_f1_weight, blocks_11_f1_bias, blocks_11_f2_weight, blocks_11_f2_bias, norm_gamma,
norm_beta, head_weight, head_bias   sens: ones

    residuals = vi_t_forward(
        x, y, patch_weight, patch_bias, cls, pos, blocks_0_n1_gamma, blocks_0_n1_beta,
        blocks_0_qkv_weight, blocks_0_qkv_bias, blocks_0_proj_weight, blocks_0_proj_bias,
        blocks_0_n2_gamma, blocks_0_n2_beta, blocks_0_f1_weight, blocks_0_f1_bias,
        blocks_0_f2_weight, blocks_0_f2_bias, blocks_1_n1_gamma, blocks_1_n1_beta,
        blocks_1_qkv_weight, blocks_1_qkv_bias, blocks_1_proj_weight, blocks_1_proj_bias,
        blocks_1_n2_gamma, blocks_1_n2_beta, blocks_1_f1_weight, blocks_1_f1_bias,
        blocks_1_f2_weight, blocks_1_f2_bias, blocks_2_n1_gamma, blocks_2_n1_beta,
        blocks_2_qkv_weight, blocks_2_qkv_bias, blocks_2_proj_weight, blocks_2_proj_bias,
        blocks_2_n2_gamma, blocks_2_n2_beta, blocks_2_f1_weight, blocks_2_f1_bias,
        blocks_2_f2_weight, blocks_2_f2_bias, blocks_3_n1_gamma, blocks_3_n1_beta,
        blocks_3_qkv_weight, blocks_3_qkv_bias, blocks_3_proj_weight, blocks_3_proj_bias,
        blocks_3_n2_gamma, blocks_3_n2_beta, blocks_3_f1_weight, blocks_3_f1_bias,
        blocks_3_f2_weight, blocks_3_f2_bias, blocks_4_n1_gamma, blocks_4_n1_beta,
        blocks_4_qkv_weight, blocks_4_qkv_bias, blocks_4_proj_weight, blocks_4_proj_bias,
        blocks_4_n2_gamma, blocks_4_n2_beta, blocks_4_f1_weight, blocks_4_f1_bias,
        blocks_4_f2_weight, blocks_4_f2_bias, blocks_5_n1_gamma, blocks_5_n1_beta,
        blocks_5_qkv_weight, blocks_5_qkv_bias, blocks_5_proj_weight, blocks_5_proj_bias,
        blocks_5_n2_gamma, blocks_5_n2_beta, blocks_5_f1_weight, blocks_5_f1_bias,
        blocks_5_f2_weight, blocks_5_f2_bias, blocks_6_n1_gamma, blocks_6_n1_beta,
        blocks_6_qkv_weight, blocks_6_qkv_bias, blocks_6_proj_weight, blocks_6_proj_bias,
        blocks_6_n2_gamma, blocks_6_n2_beta, blocks_6_f1_weight, blocks_6_f1_bias,
        blocks_6_f2_weight, blocks_6_f2_bias, blocks_7_n1_gamma, blocks_7_n1_beta,
        blocks_7_qkv_weight, blocks_7_qkv_bias, blocks_7_proj_weight, blocks_7_proj_bias,
        blocks_7_n2_gamma, blocks_7_n2_beta, blocks_7_f1_weight, blocks_7_f1_bias,
        blocks_7_f2_weight, blocks_7_f2_bias, blocks_8_n1_gamma, blocks_8_n1_beta,
        blocks_8_qkv_weight, blocks_8_qkv_bias, blocks_8_proj_weight, blocks_8_proj_bias,
        blocks_8_n2_gamma, blocks_8_n2_beta, blocks_8_f1_weight, blocks_8_f1_bias,
        blocks_8_f2_weight, blocks_8_f2_bias, blocks_9_n1_gamma, blocks_9_n1_beta,
        blocks_9_qkv_weight, blocks_9_qkv_bias, blocks_9_proj_weight, blocks_9_proj_bias,
        blocks_9_n2_gamma, blocks_9_n2_beta, blocks_9_f1_weight, blocks_9_f1_bias,
        blocks_9_f2_weight, blocks_9_f2_bias, blocks_10_n1_gamma, blocks_10_n1_beta,
        blocks_10_qkv_weight, blocks_10_qkv_bias, blocks_10_proj_weight, blocks_10_proj_bias,
        blocks_10_n2_gamma, blocks_10_n2_beta, blocks_10_f1_weight, blocks_10_f1_bias,
        blocks_10_f2_weight, blocks_10_f2_bias, blocks_11_n1_gamma, blocks_11_n1_beta,
        blocks_11_qkv_weight, blocks_11_qkv_bias, blocks_11_proj_weight, blocks_11_proj_bias,
        blocks_11_n2_gamma, blocks_11_n2_beta, blocks_11_f1_weight, blocks_11_f1_bias,
        blocks_11_f2_weight, blocks_11_f2_bias, norm_gamma, norm_beta, head_weight, head_bias,
    )
    (
        d_patch_weight, d_patch_bias, d_cls, d_pos, d_blocks_0_n1_gamma, d_blocks_0_n1_beta,
        d_blocks_0_qkv_weight, d_blocks_0_qkv_bias, d_blocks_0_proj_weight, d_blocks_0_proj_bias,
        d_blocks_0_n2_gamma, d_blocks_0_n2_beta, d_blocks_0_f1_weight, d_blocks_0_f1_bias,
        d_blocks_0_f2_weight, d_blocks_0_f2_bias, d_blocks_1_n1_gamma, d_blocks_1_n1_beta,
        d_blocks_1_qkv_weight, d_blocks_1_qkv_bias, d_blocks_1_proj_weight, d_blocks_1_proj_bias,
        d_blocks_1_n2_gamma, d_blocks_1_n2_beta, d_blocks_1_f1_weight, d_blocks_1_f1_bias,
        d_blocks_1_f2_weight, d_blocks_1_f2_bias, d_blocks_2_n1_gamma, d_blocks_2_n1_beta,
        d_blocks_2_qkv_weight, d_blocks_2_qkv_bias, d_blocks_2_proj_weight, d_blocks_2_proj_bias,
        d_blocks_2_n2_gamma, d_blocks_2_n2_beta, d_blocks_2_f1_weight, d_blocks_2_f1_bias,
        d_blocks_2_f2_weight, d_blocks_2_f2_bias, d_blocks_3_n1_gamma, d_blocks_3_n1_beta,
        d_blocks_3_qkv_weight, d_blocks_3_qkv_bias, d_blocks_3_proj_weight, d_blocks_3_proj_bias,
        d_blocks_3_n2_gamma, d_blocks_3_n2_beta, d_blocks_3_f1_weight, d_blocks_3_f1_bias,
        d_blocks_3_f2_weight, d_blocks_3_f2_bias, d_blocks_4_n1_gamma, d_blocks_4_n1_beta,
        d_blocks_4_qkv_weight, d_blocks_4_qkv_bias, d_blocks_4_proj_weight, d_blocks_4_proj_bias,
        d_blocks_4_n2_gamma, d_blocks_4_n2_beta, d_blocks_4_f1_weight, d_blocks_4_f1_bias,
        d_blocks_4_f2_weight, d_blocks_4_f2_bias, d_blocks_5_n1_gamma, d_blocks_5_n1_beta,
        d_blocks_5_qkv_weight, d_blocks_5_qkv_bias, d_blocks_5_proj_weight, d_blocks_5_proj_bias,
        d_blocks_5_n2_gamma, d_blocks_5_n2_beta, d_blocks_5_f1_weight, d_blocks_5_f1_bias,
        d_blocks_5_f2_weight, d_blocks_5_f2_bias, d_blocks_6_n1_gamma, d_blocks_6_n1_beta,
        d_blocks_6_qkv_weight, d_blocks_6_qkv_bias, d_blocks_6_proj_weight, d_blocks_6_proj_bias,
        d_blocks_6_n2_gamma, d_blocks_6_n2_beta, d_blocks_6_f1_weight, d_blocks_6_f1_bias,
        d_blocks_6_f2_weight, d_blocks_6_f2_bias, d_blocks_7_n1_gamma, d_blocks_7_n1_beta,
        d_blocks_7_qkv_weight, d_blocks_7_qkv_bias, d_blocks_7_proj_weight, d_blocks_7_proj_bias,
        d_blocks_7_n2_gamma, d_blocks_7_n2_beta, d_blocks_7_f1_weight, d_blocks_7_f1_bias,
        d_blocks_7_f2_weight, d_blocks_7_f2_bias, d_blocks_8_n1_gamma, d_blocks_8_n1_beta,
        d_blocks_8_qkv_weight, d_blocks_8_qkv_bias, d_blocks_8_proj_weight, d_blocks_8_proj_bias,
        d_blocks_8_n2_gamma, d_blocks_8_n2_beta, d_blocks_8_f1_weight, d_blocks_8_f1_bias,
        d_blocks_8_f2_weight, d_blocks_8_f2_bias, d_blocks_9_n1_gamma, d_blocks_9_n1_beta,
        d_blocks_9_qkv_weight, d_blocks_9_qkv_bias, d_blocks_9_proj_weight, d_blocks_9_proj_bias,
        d_blocks_9_n2_gamma, d_blocks_9_n2_beta, d_blocks_9_f1_weight, d_blocks_9_f1_bias,
        d_blocks_9_f2_weight, d_blocks_9_f2_bias, d_blocks_10_n1_gamma, d_blocks_10_n1_beta,
        d_blocks_10_qkv_weight, d_blocks_10_qkv_bias, d_blocks_10_proj_weight,
        d_blocks_10_proj_bias, d_blocks_10_n2_gamma, d_blocks_10_n2_beta, d_blocks_10_f1_weight,
        d_blocks_10_f1_bias, d_blocks_10_f2_weight, d_blocks_10_f2_bias, d_blocks_11_n1_gamma,
        d_blocks_11_n1_beta, d_blocks_11_qkv_weight, d_blocks_11_qkv_bias, d_blocks_11_proj_weight,
        d_blocks_11_proj_bias, d_blocks_11_n2_gamma, d_blocks_11_n2_beta, d_blocks_11_f1_weight,
        d_blocks_11_f1_bias, d_blocks_11_f2_weight, d_blocks_11_f2_bias, d_norm_gamma, d_norm_beta,
        d_head_weight, d_head_bias,
    ) = vi_t_backward(residuals)

Kept for backward, in bytes (744,422 in all, arguments not counted):
    residuals_1.residuals_5.x                  f32[2,17,64]  8,704  made by 18|, needed by 68|
    residuals_1.residuals_5.add_mul_x_squared  f32[2,17,64]  8,704  made by 68|, needed by 68|
    residuals_1.residuals_5.sigmoid_mul_mul_x  f32[2,17,64]  8,704  made by 68|, needed by 68|
    residuals_1.residuals_6.x                  f32[2,17,64]  8,704  made by 18|, needed by 56|
    residuals_2.residuals_5.x                  f32[2,17,64]  8,704  made by 18|, needed by 68|
    residuals_2.residuals_5.add_mul_x_squared  f32[2,17,64]  8,704  made by 68|, needed by 68|
    residuals_2.residuals_5.sigmoid_mul_mul_x  f32[2,17,64]  8,704  made by 68|, needed by 68|
    residuals_2.residuals_6.x                  f32[2,17,64]  8,704  made by 18|, needed by 56|
    and 180 smaller ones
"""

import numpy as np


# Conv2d.construct (convolution.py:163)
def conv2d_forward(x, weight, bias):
    # 167| out = self.conv2d(x, weight)
    x_windows = np.lib.stride_tricks.sliding_window_view(x, (4, 4), (-2, -1))[..., ::4, ::4, :, :]
    columns = x_windows.transpose(1, 4, 5, 0, 2, 3).reshape((48, -1))
    convolved = np.dot(weight.reshape((16, -1)), columns).reshape((16, -1, 4, 4))
    out = convolved.transpose(1, 0, 2, 3)
    out_1 = out + bias.reshape((-1, 1, 1))  # 169| out = self.bias_add(out, self.bias)
    return out_1, (columns,)


# LayerNorm.construct (normalization.py:246)
def layer_norm_forward(input_x, gamma, beta):
    # 247| return self.layer_norm(input_x, self.gamma, self.beta)[0]
    sqrt_add_var_input_x = np.sqrt(input_x.var(axis=2, keepdims=True) + 1e-07)
    div_sub_input_x = (input_x - input_x.sum(axis=2, keepdims=True) / 16) / sqrt_add_var_input_x
    out = div_sub_input_x * gamma + beta
    return out, (input_x, gamma, sqrt_add_var_input_x, div_sub_input_x)


# Dense.construct (basic.py:55)
def dense_forward(x, weight, bias):
    out = np.matmul(x, weight.T) + bias  # 56| out = ops.dense(x, self.weight, self.bias)
    return out, (x, weight)


# Dense.construct (basic.py:55)
def dense_1_forward(x, weight, bias):
    out = np.matmul(x, weight.T) + bias  # 56| out = ops.dense(x, self.weight, self.bias)
    return out, (x, weight)


# Dense.construct (basic.py:55)
def dense_2_forward(x, weight, bias):
    out = np.matmul(x, weight.T) + bias  # 56| out = ops.dense(x, self.weight, self.bias)
    return out, (x, weight)


# GELU.construct (activation.py:67)
def gelu_forward(x):
    # 68| return ops.gelu(x, "tanh" if self.approximate else "none")
    add_mul_x_squared = 1.0 + 0.044715 * np.square(x)
    mul_mul_x = 1.5957691216057308 * x * add_mul_x_squared
    sigmoid_mul_mul_x = np.exp(np.minimum(mul_mul_x, 0.0)) / (1.0 + np.exp(-np.abs(mul_mul_x)))
    out = x * sigmoid_mul_mul_x
    return out, (x, add_mul_x_squared, sigmoid_mul_mul_x)


# Dense.construct (basic.py:55)
def dense_3_forward(x, weight, bias):
    out = np.matmul(x, weight.T) + bias  # 56| out = ops.dense(x, self.weight, self.bias)
    return out, (x, weight)


# Block.construct (vit.py:11)
def block_forward(
    x,
    n1_gamma,
    n1_beta,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    n2_gamma,
    n2_beta,
    f1_weight,
    f1_bias,
    f2_weight,
    f2_bias,
):
    # 13| qkv=self.qkv(self.n1(x)).reshape(b,n,3,self.h,d//self.h).transpose(2,0,3,1,4)
    out_1, residuals = layer_norm_forward(x, n1_gamma, n1_beta)
    out_2, residuals_1 = dense_forward(out_1, qkv_weight, qkv_bias)
    out_reshaped = out_2.reshape((2, 17, 3, 2, 8))
    qkv = out_reshaped.transpose(2, 0, 3, 1, 4)
    q = qkv[0]  # 14| q,k,v=qkv[0],qkv[1],qkv[2]
    k = qkv[1]
    v = qkv[2]
    # 15| a=ops.softmax(ops.matmul(q,k.swapaxes(-1,-2))*self.scale,-1)
    mul_q_matmul_k_t = np.matmul(q, k.transpose(0, 1, 3, 2)) * 0.3535533905932738
    a = np.exp(mul_q_matmul_k_t - mul_q_matmul_k_t.max(axis=3, keepdims=True))
    a = a / a.sum(axis=3, keepdims=True)
    # 16| y=ops.matmul(a,v).transpose(0,2,1,3).reshape(b,n,d)
    y = np.matmul(a, v).transpose(0, 2, 1, 3).reshape((2, 17, 16))
    out_3, residuals_2 = dense_1_forward(y, proj_weight, proj_bias)  # 17| x=x+self.proj(y)
    x_1 = x + out_3
    # 18| return x+self.f2(self.gelu(self.f1(self.n2(x))))
    out_4, residuals_3 = layer_norm_forward(x_1, n2_gamma, n2_beta)
    out_5, residuals_4 = dense_2_forward(out_4, f1_weight, f1_bias)
    out_6, residuals_5 = gelu_forward(out_5)
    out_7, residuals_6 = dense_3_forward(out_6, f2_weight, f2_bias)
    out = x_1 + out_7
    return (
        out,
        (
            residuals,
            residuals_1,
            out_reshaped,
            a,
            residuals_2,
            residuals_3,
            residuals_4,
            residuals_5,
            residuals_6,
        ),
    )


# Dense.construct (basic.py:55)
def dense_4_forward(x, weight, bias):
    out = np.dot(x, weight.T) + bias  # 56| out = ops.dense(x, self.weight, self.bias)
    return out, (x, weight)


def vi_t_forward(
    x,
    y,
    patch_weight,
    patch_bias,
    cls,
    pos,
    blocks_0_n1_gamma,
    blocks_0_n1_beta,
    blocks_0_qkv_weight,
    blocks_0_qkv_bias,
    blocks_0_proj_weight,
    blocks_0_proj_bias,
    blocks_0_n2_gamma,
    blocks_0_n2_beta,
    blocks_0_f1_weight,
    blocks_0_f1_bias,
    blocks_0_f2_weight,
    blocks_0_f2_bias,
    blocks_1_n1_gamma,
    blocks_1_n1_beta,
    blocks_1_qkv_weight,
    blocks_1_qkv_bias,
    blocks_1_proj_weight,
    blocks_1_proj_bias,
    blocks_1_n2_gamma,
    blocks_1_n2_beta,
    blocks_1_f1_weight,
    blocks_1_f1_bias,
    blocks_1_f2_weight,
    blocks_1_f2_bias,
    blocks_2_n1_gamma,
    blocks_2_n1_beta,
    blocks_2_qkv_weight,
    blocks_2_qkv_bias,
    blocks_2_proj_weight,
    blocks_2_proj_bias,
    blocks_2_n2_gamma,
    blocks_2_n2_beta,
    blocks_2_f1_weight,
    blocks_2_f1_bias,
    blocks_2_f2_weight,
    blocks_2_f2_bias,
    blocks_3_n1_gamma,
    blocks_3_n1_beta,
    blocks_3_qkv_weight,
    blocks_3_qkv_bias,
    blocks_3_proj_weight,
    blocks_3_proj_bias,
    blocks_3_n2_gamma,
    blocks_3_n2_beta,
    blocks_3_f1_weight,
    blocks_3_f1_bias,
    blocks_3_f2_weight,
    blocks_3_f2_bias,
    blocks_4_n1_gamma,
    blocks_4_n1_beta,
    blocks_4_qkv_weight,
    blocks_4_qkv_bias,
    blocks_4_proj_weight,
    blocks_4_proj_bias,
    blocks_4_n2_gamma,
    blocks_4_n2_beta,
    blocks_4_f1_weight,
    blocks_4_f1_bias,
    blocks_4_f2_weight,
    blocks_4_f2_bias,
    blocks_5_n1_gamma,
    blocks_5_n1_beta,
    blocks_5_qkv_weight,
    blocks_5_qkv_bias,
    blocks_5_proj_weight,
    blocks_5_proj_bias,
    blocks_5_n2_gamma,
    blocks_5_n2_beta,
    blocks_5_f1_weight,
    blocks_5_f1_bias,
    blocks_5_f2_weight,
    blocks_5_f2_bias,
    blocks_6_n1_gamma,
    blocks_6_n1_beta,
    blocks_6_qkv_weight,
    blocks_6_qkv_bias,
    blocks_6_proj_weight,
    blocks_6_proj_bias,
    blocks_6_n2_gamma,
    blocks_6_n2_beta,
    blocks_6_f1_weight,
    blocks_6_f1_bias,
    blocks_6_f2_weight,
    blocks_6_f2_bias,
    blocks_7_n1_gamma,
    blocks_7_n1_beta,
    blocks_7_qkv_weight,
    blocks_7_qkv_bias,
    blocks_7_proj_weight,
    blocks_7_proj_bias,
    blocks_7_n2_gamma,
    blocks_7_n2_beta,
    blocks_7_f1_weight,
    blocks_7_f1_bias,
    blocks_7_f2_weight,
    blocks_7_f2_bias,
    blocks_8_n1_gamma,
    blocks_8_n1_beta,
    blocks_8_qkv_weight,
    blocks_8_qkv_bias,
    blocks_8_proj_weight,
    blocks_8_proj_bias,
    blocks_8_n2_gamma,
    blocks_8_n2_beta,
    blocks_8_f1_weight,
    blocks_8_f1_bias,
    blocks_8_f2_weight,
    blocks_8_f2_bias,
    blocks_9_n1_gamma,
    blocks_9_n1_beta,
    blocks_9_qkv_weight,
    blocks_9_qkv_bias,
    blocks_9_proj_weight,
    blocks_9_proj_bias,
    blocks_9_n2_gamma,
    blocks_9_n2_beta,
    blocks_9_f1_weight,
    blocks_9_f1_bias,
    blocks_9_f2_weight,
    blocks_9_f2_bias,
    blocks_10_n1_gamma,
    blocks_10_n1_beta,
    blocks_10_qkv_weight,
    blocks_10_qkv_bias,
    blocks_10_proj_weight,
    blocks_10_proj_bias,
    blocks_10_n2_gamma,
    blocks_10_n2_beta,
    blocks_10_f1_weight,
    blocks_10_f1_bias,
    blocks_10_f2_weight,
    blocks_10_f2_bias,
    blocks_11_n1_gamma,
    blocks_11_n1_beta,
    blocks_11_qkv_weight,
    blocks_11_qkv_bias,
    blocks_11_proj_weight,
    blocks_11_proj_bias,
    blocks_11_n2_gamma,
    blocks_11_n2_beta,
    blocks_11_f1_weight,
    blocks_11_f1_bias,
    blocks_11_f2_weight,
    blocks_11_f2_bias,
    norm_gamma,
    norm_beta,
    head_weight,
    head_bias,
):
    x_1, residuals = conv2d_forward(x, patch_weight, patch_bias)  # 28| x=self.patch(x)
    x_2 = x_1.reshape((2, 16, -1)).transpose(0, 2, 1)  # 30| x=x.reshape(b,d,-1).transpose(0,2,1)
    # 31| x=ops.concat((ops.broadcast_to(self.cls,(b,1,d)),x),1)+self.pos
    x_3 = np.concatenate([np.broadcast_to(cls, (2, 1, 16)), x_2], axis=1) + pos
    # 32| for blk in self.blocks: x=blk(x)
    x_4, residuals_1 = block_forward(
        x_3,
        blocks_0_n1_gamma,
        blocks_0_n1_beta,
        blocks_0_qkv_weight,
        blocks_0_qkv_bias,
        blocks_0_proj_weight,
        blocks_0_proj_bias,
        blocks_0_n2_gamma,
        blocks_0_n2_beta,
        blocks_0_f1_weight,
        blocks_0_f1_bias,
        blocks_0_f2_weight,
        blocks_0_f2_bias,
    )
    x_5, residuals_2 = block_forward(
        x_4,
        blocks_1_n1_gamma,
        blocks_1_n1_beta,
        blocks_1_qkv_weight,
        blocks_1_qkv_bias,
        blocks_1_proj_weight,
        blocks_1_proj_bias,
        blocks_1_n2_gamma,
        blocks_1_n2_beta,
        blocks_1_f1_weight,
        blocks_1_f1_bias,
        blocks_1_f2_weight,
        blocks_1_f2_bias,
    )
    x_6, residuals_3 = block_forward(
        x_5,
        blocks_2_n1_gamma,
        blocks_2_n1_beta,
        blocks_2_qkv_weight,
        blocks_2_qkv_bias,
        blocks_2_proj_weight,
        blocks_2_proj_bias,
        blocks_2_n2_gamma,
        blocks_2_n2_beta,
        blocks_2_f1_weight,
        blocks_2_f1_bias,
        blocks_2_f2_weight,
        blocks_2_f2_bias,
    )
    x_7, residuals_4 = block_forward(
        x_6,
        blocks_3_n1_gamma,
        blocks_3_n1_beta,
        blocks_3_qkv_weight,
        blocks_3_qkv_bias,
        blocks_3_proj_weight,
        blocks_3_proj_bias,
        blocks_3_n2_gamma,
        blocks_3_n2_beta,
        blocks_3_f1_weight,
        blocks_3_f1_bias,
        blocks_3_f2_weight,
        blocks_3_f2_bias,
    )
    x_8, residuals_5 = block_forward(
        x_7,
        blocks_4_n1_gamma,
        blocks_4_n1_beta,
        blocks_4_qkv_weight,
        blocks_4_qkv_bias,
        blocks_4_proj_weight,
        blocks_4_proj_bias,
        blocks_4_n2_gamma,
        blocks_4_n2_beta,
        blocks_4_f1_weight,
        blocks_4_f1_bias,
        blocks_4_f2_weight,
        blocks_4_f2_bias,
    )
    x_9, residuals_6 = block_forward(
        x_8,
        blocks_5_n1_gamma,
        blocks_5_n1_beta,
        blocks_5_qkv_weight,
        blocks_5_qkv_bias,
        blocks_5_proj_weight,
        blocks_5_proj_bias,
        blocks_5_n2_gamma,
        blocks_5_n2_beta,
        blocks_5_f1_weight,
        blocks_5_f1_bias,
        blocks_5_f2_weight,
        blocks_5_f2_bias,
    )
    x_10, residuals_7 = block_forward(
        x_9,
        blocks_6_n1_gamma,
        blocks_6_n1_beta,
        blocks_6_qkv_weight,
        blocks_6_qkv_bias,
        blocks_6_proj_weight,
        blocks_6_proj_bias,
        blocks_6_n2_gamma,
        blocks_6_n2_beta,
        blocks_6_f1_weight,
        blocks_6_f1_bias,
        blocks_6_f2_weight,
        blocks_6_f2_bias,
    )
    x_11, residuals_8 = block_forward(
        x_10,
        blocks_7_n1_gamma,
        blocks_7_n1_beta,
        blocks_7_qkv_weight,
        blocks_7_qkv_bias,
        blocks_7_proj_weight,
        blocks_7_proj_bias,
        blocks_7_n2_gamma,
        blocks_7_n2_beta,
        blocks_7_f1_weight,
        blocks_7_f1_bias,
        blocks_7_f2_weight,
        blocks_7_f2_bias,
    )
    x_12, residuals_9 = block_forward(
        x_11,
        blocks_8_n1_gamma,
        blocks_8_n1_beta,
        blocks_8_qkv_weight,
        blocks_8_qkv_bias,
        blocks_8_proj_weight,
        blocks_8_proj_bias,
        blocks_8_n2_gamma,
        blocks_8_n2_beta,
        blocks_8_f1_weight,
        blocks_8_f1_bias,
        blocks_8_f2_weight,
        blocks_8_f2_bias,
    )
    x_13, residuals_10 = block_forward(
        x_12,
        blocks_9_n1_gamma,
        blocks_9_n1_beta,
        blocks_9_qkv_weight,
        blocks_9_qkv_bias,
        blocks_9_proj_weight,
        blocks_9_proj_bias,
        blocks_9_n2_gamma,
        blocks_9_n2_beta,
        blocks_9_f1_weight,
        blocks_9_f1_bias,
        blocks_9_f2_weight,
        blocks_9_f2_bias,
    )
    x_14, residuals_11 = block_forward(
        x_13,
        blocks_10_n1_gamma,
        blocks_10_n1_beta,
        blocks_10_qkv_weight,
        blocks_10_qkv_bias,
        blocks_10_proj_weight,
        blocks_10_proj_bias,
        blocks_10_n2_gamma,
        blocks_10_n2_beta,
        blocks_10_f1_weight,
        blocks_10_f1_bias,
        blocks_10_f2_weight,
        blocks_10_f2_bias,
    )
    x_15, residuals_12 = block_forward(
        x_14,
        blocks_11_n1_gamma,
        blocks_11_n1_beta,
        blocks_11_qkv_weight,
        blocks_11_qkv_bias,
        blocks_11_proj_weight,
        blocks_11_proj_bias,
        blocks_11_n2_gamma,
        blocks_11_n2_beta,
        blocks_11_f1_weight,
        blocks_11_f1_bias,
        blocks_11_f2_weight,
        blocks_11_f2_bias,
    )
    # 33| return ops.cross_entropy(self.head(self.norm(x)[:,0]),y)
    out, residuals_13 = layer_norm_forward(x_15, norm_gamma, norm_beta)
    out_1, residuals_14 = dense_4_forward(out[:, 0], head_weight, head_bias)
    log_softmax_out = out_1 - out_1.max(axis=1, keepdims=True)
    log_softmax_out = log_softmax_out - np.log(np.exp(log_softmax_out).sum(axis=1, keepdims=True))
    not_equal_y = y != -100
    where_not_equal_y = np.where(not_equal_y, y, 0)
    sum_not_equal_y = not_equal_y.astype(np.float32).sum()
    return (
        residuals,
        residuals_1,
        residuals_2,
        residuals_3,
        residuals_4,
        residuals_5,
        residuals_6,
        residuals_7,
        residuals_8,
        residuals_9,
        residuals_10,
        residuals_11,
        residuals_12,
        residuals_13,
        residuals_14,
        log_softmax_out,
        not_equal_y,
        where_not_equal_y,
        sum_not_equal_y,
    )


# Dense.construct (basic.py:55)
def dense_4_backward(residuals, d_out):
    x, weight = residuals
    # 56| out = ops.dense(x, self.weight, self.bias)
    d_bias = d_out.sum(axis=0)  # bias was stretched f32[10] -> f32[2,10]
    d_x = np.dot(d_out, weight)
    d_weight = np.dot(d_out.T, x)
    return d_x, d_weight, d_bias


# LayerNorm.construct (normalization.py:246)
def layer_norm_backward(residuals, d_out):
    input_x, gamma, sqrt_add_var_input_x, div_sub_input_x = residuals
    # 247| return self.layer_norm(input_x, self.gamma, self.beta)[0]
    d_beta = d_out.sum(axis=(0, 1))  # beta was stretched f32[16] -> f32[2,17,16]
    d_div_sub_input_x = d_out * gamma
    # gamma was stretched f32[16] -> f32[2,17,16]
    d_gamma = (d_out * div_sub_input_x).sum(axis=(0, 1))
    d_sub_input_x = d_div_sub_input_x / sqrt_add_var_input_x
    mul_d_div_sub_input_x = np.multiply(d_div_sub_input_x, div_sub_input_x, out=d_div_sub_input_x)
    div = np.divide(mul_d_div_sub_input_x, sqrt_add_var_input_x, out=mul_d_div_sub_input_x)
    mul = -div.sum(axis=2, keepdims=True) * 0.5
    sub_input_x = input_x - input_x.sum(axis=2, keepdims=True) / 16
    div_1 = mul / sqrt_add_var_input_x * 2.0 / 16
    d_mean_input_x = -d_sub_input_x.sum(axis=2, keepdims=True)
    d_input_x_1 = np.add(d_sub_input_x, div_1 * sub_input_x, out=d_sub_input_x)
    d_input_x = np.add(d_input_x_1, d_mean_input_x / 16, out=d_input_x_1)
    return d_input_x, d_gamma, d_beta


# Dense.construct (basic.py:55)
def dense_3_backward(residuals, d_out):
    x, weight = residuals
    # 56| out = ops.dense(x, self.weight, self.bias)
    d_bias = d_out.sum(axis=(0, 1))  # bias was stretched f32[16] -> f32[2,17,16]
    d_x = np.matmul(d_out, weight)
    d_weight_t = np.matmul(x.swapaxes(-1, -2), d_out).sum(axis=0)
    d_weight = d_weight_t.T
    return d_x, d_weight, d_bias


# GELU.construct (activation.py:67)
def gelu_backward(residuals, d_out):
    x, add_mul_x_squared, sigmoid_mul_mul_x = residuals
    # 68| return ops.gelu(x, "tanh" if self.approximate else "none")
    d_x_1 = d_out * sigmoid_mul_mul_x
    d_mul_mul_x = d_out * x * (sigmoid_mul_mul_x * (1.0 - sigmoid_mul_mul_x))
    d_mul_x = d_mul_mul_x * add_mul_x_squared
    d_add_mul_x_squared = np.multiply(d_mul_mul_x, 1.5957691216057308 * x, out=d_mul_mul_x)
    d_x_squared = np.multiply(d_add_mul_x_squared, 0.044715, out=d_add_mul_x_squared)
    d_x_squared_times_mul_x = np.multiply(d_x_squared, 2.0 * x, out=d_x_squared)
    d_x_2 = np.add(d_x_1, d_x_squared_times_mul_x, out=d_x_1)
    mul_d_mul_x = np.multiply(d_mul_x, 1.5957691216057308, out=d_mul_x)
    d_x = np.add(d_x_2, mul_d_mul_x, out=d_x_2)
    return d_x


# Dense.construct (basic.py:55)
def dense_2_backward(residuals, d_out):
    x, weight = residuals
    # 56| out = ops.dense(x, self.weight, self.bias)
    d_bias = d_out.sum(axis=(0, 1))  # bias was stretched f32[64] -> f32[2,17,64]
    d_x = np.matmul(d_out, weight)
    d_weight_t = np.matmul(x.swapaxes(-1, -2), d_out).sum(axis=0)
    d_weight = d_weight_t.T
    return d_x, d_weight, d_bias


# Dense.construct (basic.py:55)
def dense_1_backward(residuals, d_out):
    x, weight = residuals
    # 56| out = ops.dense(x, self.weight, self.bias)
    d_bias = d_out.sum(axis=(0, 1))  # bias was stretched f32[16] -> f32[2,17,16]
    d_x = np.matmul(d_out, weight)
    d_weight_t = np.matmul(x.swapaxes(-1, -2), d_out).sum(axis=0)
    d_weight = d_weight_t.T
    return d_x, d_weight, d_bias


# Dense.construct (basic.py:55)
def dense_backward(residuals, d_out):
    x, weight = residuals
    # 56| out = ops.dense(x, self.weight, self.bias)
    d_bias = d_out.sum(axis=(0, 1))  # bias was stretched f32[48] -> f32[2,17,48]
    d_x = np.matmul(d_out, weight)
    d_weight_t = np.matmul(x.swapaxes(-1, -2), d_out).sum(axis=0)
    d_weight = d_weight_t.T
    return d_x, d_weight, d_bias


# Block.construct (vit.py:11)
def block_backward(residuals, d_out):
    (
        residuals_1,
        residuals_2,
        out_reshaped,
        a,
        residuals_3,
        residuals_4,
        residuals_5,
        residuals_6,
        residuals_7,
    ) = residuals
    # 13| qkv=self.qkv(self.n1(x)).reshape(b,n,3,self.h,d//self.h).transpose(2,0,3,1,4)
    qkv = out_reshaped.transpose(2, 0, 3, 1, 4)
    # 14| q,k,v=qkv[0],qkv[1],qkv[2]
    q = qkv[0]
    k = qkv[1]
    v = qkv[2]
    # 18| return x+self.f2(self.gelu(self.f1(self.n2(x))))
    d_out_1, d_f2_weight, d_f2_bias = dense_3_backward(residuals_7, d_out)
    d_out_2 = gelu_backward(residuals_6, d_out_1)
    d_out_3, d_f1_weight, d_f1_bias = dense_2_backward(residuals_5, d_out_2)
    d_input_x, d_n2_gamma, d_n2_beta = layer_norm_backward(residuals_4, d_out_3)
    d_x_1 = d_out + d_input_x
    # 17| x=x+self.proj(y)
    d_y, d_proj_weight, d_proj_bias = dense_1_backward(residuals_3, d_x_1)
    # 16| y=ops.matmul(a,v).transpose(0,2,1,3).reshape(b,n,d)
    d_a_matmul_v = d_y.reshape((2, 17, 2, 8)).transpose(0, 2, 1, 3)
    d_a = np.matmul(d_a_matmul_v, v.swapaxes(-1, -2))
    d_v = np.matmul(a.swapaxes(-1, -2), d_a_matmul_v)
    # 15| a=ops.softmax(ops.matmul(q,k.swapaxes(-1,-2))*self.scale,-1)
    sub_d_a = np.subtract(d_a, (d_a * a).sum(axis=3, keepdims=True), out=d_a)
    d_mul_q_matmul_k_t = np.multiply(a, sub_d_a, out=sub_d_a)
    d_q_matmul_k_t = np.multiply(d_mul_q_matmul_k_t, 0.3535533905932738, out=d_mul_q_matmul_k_t)
    d_q = np.matmul(d_q_matmul_k_t, k)
    d_k = np.matmul(q.swapaxes(-1, -2), d_q_matmul_k_t).transpose(0, 1, 3, 2)
    # 14| q,k,v=qkv[0],qkv[1],qkv[2]
    d_qkv = np.zeros((3, 2, 2, 17, 8), np.float32)
    d_qkv[2] = d_v
    d_qkv[1] += d_k
    d_qkv[0] += d_q
    # 13| qkv=self.qkv(self.n1(x)).reshape(b,n,3,self.h,d//self.h).transpose(2,0,3,1,4)
    d_out_4, d_qkv_weight, d_qkv_bias = dense_backward(
        residuals_2, d_qkv.transpose(1, 3, 0, 2, 4).reshape((2, 17, 48))
    )
    d_input_x_1, d_n1_gamma, d_n1_beta = layer_norm_backward(residuals_1, d_out_4)
    d_x = d_x_1 + d_input_x_1
    return (
        d_x,
        d_n1_gamma,
        d_n1_beta,
        d_qkv_weight,
        d_qkv_bias,
        d_proj_weight,
        d_proj_bias,
        d_n2_gamma,
        d_n2_beta,
        d_f1_weight,
        d_f1_bias,
        d_f2_weight,
        d_f2_bias,
    )


# Conv2d.construct (convolution.py:163)
def conv2d_backward(residuals, d_out):
    (columns,) = residuals
    # 169| out = self.bias_add(out, self.bias)
    sum_d_out = d_out.sum(axis=(0, 2, 3))
    # 167| out = self.conv2d(x, weight)
    d_kernel = np.dot(d_out.transpose(1, 0, 2, 3).reshape((16, 32)), columns.T)
    d_weight = d_kernel.reshape((16, 3, 4, 4))
    return d_weight, sum_d_out


def vi_t_backward(residuals):
    (
        residuals_1,
        residuals_2,
        residuals_3,
        residuals_4,
        residuals_5,
        residuals_6,
        residuals_7,
        residuals_8,
        residuals_9,
        residuals_10,
        residuals_11,
        residuals_12,
        residuals_13,
        residuals_14,
        residuals_15,
        log_softmax_out,
        not_equal_y,
        where_not_equal_y,
        sum_not_equal_y,
    ) = residuals
    # 33| return ops.cross_entropy(self.head(self.norm(x)[:,0]),y)
    d_out = np.float32(1)
    d_squeeze = -np.where(not_equal_y, d_out / sum_not_equal_y, 0.0)
    d_log_softmax_out_taken = d_squeeze.reshape((2, 1))
    expand_dims = where_not_equal_y[:, None]
    d_log_softmax_out = np.zeros((2, 10), np.float32)
    d_log_softmax_out[np.arange(2)[:, None], expand_dims] = d_log_softmax_out_taken
    d_out_item, d_head_weight, d_head_bias = dense_4_backward(
        residuals_15, d_log_softmax_out - np.exp(log_softmax_out) * d_log_softmax_out_taken
    )
    d_out_1 = np.zeros((2, 17, 16), np.float32)
    d_out_1[:, 0] = d_out_item
    d_x, d_norm_gamma, d_norm_beta = layer_norm_backward(residuals_14, d_out_1)
    # 32| for blk in self.blocks: x=blk(x)
    (
        d_x_1,
        d_blocks_11_n1_gamma,
        d_blocks_11_n1_beta,
        d_blocks_11_qkv_weight,
        d_blocks_11_qkv_bias,
        d_blocks_11_proj_weight,
        d_blocks_11_proj_bias,
        d_blocks_11_n2_gamma,
        d_blocks_11_n2_beta,
        d_blocks_11_f1_weight,
        d_blocks_11_f1_bias,
        d_blocks_11_f2_weight,
        d_blocks_11_f2_bias,
    ) = block_backward(residuals_13, d_x)
    (
        d_x_2,
        d_blocks_10_n1_gamma,
        d_blocks_10_n1_beta,
        d_blocks_10_qkv_weight,
        d_blocks_10_qkv_bias,
        d_blocks_10_proj_weight,
        d_blocks_10_proj_bias,
        d_blocks_10_n2_gamma,
        d_blocks_10_n2_beta,
        d_blocks_10_f1_weight,
        d_blocks_10_f1_bias,
        d_blocks_10_f2_weight,
        d_blocks_10_f2_bias,
    ) = block_backward(residuals_12, d_x_1)
    (
        d_x_3,
        d_blocks_9_n1_gamma,
        d_blocks_9_n1_beta,
        d_blocks_9_qkv_weight,
        d_blocks_9_qkv_bias,
        d_blocks_9_proj_weight,
        d_blocks_9_proj_bias,
        d_blocks_9_n2_gamma,
        d_blocks_9_n2_beta,
        d_blocks_9_f1_weight,
        d_blocks_9_f1_bias,
        d_blocks_9_f2_weight,
        d_blocks_9_f2_bias,
    ) = block_backward(residuals_11, d_x_2)
    (
        d_x_4,
        d_blocks_8_n1_gamma,
        d_blocks_8_n1_beta,
        d_blocks_8_qkv_weight,
        d_blocks_8_qkv_bias,
        d_blocks_8_proj_weight,
        d_blocks_8_proj_bias,
        d_blocks_8_n2_gamma,
        d_blocks_8_n2_beta,
        d_blocks_8_f1_weight,
        d_blocks_8_f1_bias,
        d_blocks_8_f2_weight,
        d_blocks_8_f2_bias,
    ) = block_backward(residuals_10, d_x_3)
    (
        d_x_5,
        d_blocks_7_n1_gamma,
        d_blocks_7_n1_beta,
        d_blocks_7_qkv_weight,
        d_blocks_7_qkv_bias,
        d_blocks_7_proj_weight,
        d_blocks_7_proj_bias,
        d_blocks_7_n2_gamma,
        d_blocks_7_n2_beta,
        d_blocks_7_f1_weight,
        d_blocks_7_f1_bias,
        d_blocks_7_f2_weight,
        d_blocks_7_f2_bias,
    ) = block_backward(residuals_9, d_x_4)
    (
        d_x_6,
        d_blocks_6_n1_gamma,
        d_blocks_6_n1_beta,
        d_blocks_6_qkv_weight,
        d_blocks_6_qkv_bias,
        d_blocks_6_proj_weight,
        d_blocks_6_proj_bias,
        d_blocks_6_n2_gamma,
        d_blocks_6_n2_beta,
        d_blocks_6_f1_weight,
        d_blocks_6_f1_bias,
        d_blocks_6_f2_weight,
        d_blocks_6_f2_bias,
    ) = block_backward(residuals_8, d_x_5)
    (
        d_x_7,
        d_blocks_5_n1_gamma,
        d_blocks_5_n1_beta,
        d_blocks_5_qkv_weight,
        d_blocks_5_qkv_bias,
        d_blocks_5_proj_weight,
        d_blocks_5_proj_bias,
        d_blocks_5_n2_gamma,
        d_blocks_5_n2_beta,
        d_blocks_5_f1_weight,
        d_blocks_5_f1_bias,
        d_blocks_5_f2_weight,
        d_blocks_5_f2_bias,
    ) = block_backward(residuals_7, d_x_6)
    (
        d_x_8,
        d_blocks_4_n1_gamma,
        d_blocks_4_n1_beta,
        d_blocks_4_qkv_weight,
        d_blocks_4_qkv_bias,
        d_blocks_4_proj_weight,
        d_blocks_4_proj_bias,
        d_blocks_4_n2_gamma,
        d_blocks_4_n2_beta,
        d_blocks_4_f1_weight,
        d_blocks_4_f1_bias,
        d_blocks_4_f2_weight,
        d_blocks_4_f2_bias,
    ) = block_backward(residuals_6, d_x_7)
    (
        d_x_9,
        d_blocks_3_n1_gamma,
        d_blocks_3_n1_beta,
        d_blocks_3_qkv_weight,
        d_blocks_3_qkv_bias,
        d_blocks_3_proj_weight,
        d_blocks_3_proj_bias,
        d_blocks_3_n2_gamma,
        d_blocks_3_n2_beta,
        d_blocks_3_f1_weight,
        d_blocks_3_f1_bias,
        d_blocks_3_f2_weight,
        d_blocks_3_f2_bias,
    ) = block_backward(residuals_5, d_x_8)
    (
        d_x_10,
        d_blocks_2_n1_gamma,
        d_blocks_2_n1_beta,
        d_blocks_2_qkv_weight,
        d_blocks_2_qkv_bias,
        d_blocks_2_proj_weight,
        d_blocks_2_proj_bias,
        d_blocks_2_n2_gamma,
        d_blocks_2_n2_beta,
        d_blocks_2_f1_weight,
        d_blocks_2_f1_bias,
        d_blocks_2_f2_weight,
        d_blocks_2_f2_bias,
    ) = block_backward(residuals_4, d_x_9)
    (
        d_x_11,
        d_blocks_1_n1_gamma,
        d_blocks_1_n1_beta,
        d_blocks_1_qkv_weight,
        d_blocks_1_qkv_bias,
        d_blocks_1_proj_weight,
        d_blocks_1_proj_bias,
        d_blocks_1_n2_gamma,
        d_blocks_1_n2_beta,
        d_blocks_1_f1_weight,
        d_blocks_1_f1_bias,
        d_blocks_1_f2_weight,
        d_blocks_1_f2_bias,
    ) = block_backward(residuals_3, d_x_10)
    (
        d_x_12,
        d_blocks_0_n1_gamma,
        d_blocks_0_n1_beta,
        d_blocks_0_qkv_weight,
        d_blocks_0_qkv_bias,
        d_blocks_0_proj_weight,
        d_blocks_0_proj_bias,
        d_blocks_0_n2_gamma,
        d_blocks_0_n2_beta,
        d_blocks_0_f1_weight,
        d_blocks_0_f1_bias,
        d_blocks_0_f2_weight,
        d_blocks_0_f2_bias,
    ) = block_backward(residuals_2, d_x_11)
    # 31| x=ops.concat((ops.broadcast_to(self.cls,(b,1,d)),x),1)+self.pos
    d_pos = d_x_12.sum(axis=0, keepdims=True)  # pos was stretched f32[1,17,16] -> f32[2,17,16]
    d_x_13 = d_x_12[:, 1:17]
    d_cls = d_x_12[:, :1].sum(axis=0, keepdims=True)  # cls was stretched f32[1,1,16] -> f32[2,1,16]
    # 30| x=x.reshape(b,d,-1).transpose(0,2,1)
    d_x_14 = d_x_13.transpose(0, 2, 1).reshape((2, 16, 4, 4))
    # 28| x=self.patch(x)
    d_patch_weight, d_patch_bias = conv2d_backward(residuals_1, d_x_14)
    return (
        d_patch_weight,
        d_patch_bias,
        d_cls,
        d_pos,
        d_blocks_0_n1_gamma,
        d_blocks_0_n1_beta,
        d_blocks_0_qkv_weight,
        d_blocks_0_qkv_bias,
        d_blocks_0_proj_weight,
        d_blocks_0_proj_bias,
        d_blocks_0_n2_gamma,
        d_blocks_0_n2_beta,
        d_blocks_0_f1_weight,
        d_blocks_0_f1_bias,
        d_blocks_0_f2_weight,
        d_blocks_0_f2_bias,
        d_blocks_1_n1_gamma,
        d_blocks_1_n1_beta,
        d_blocks_1_qkv_weight,
        d_blocks_1_qkv_bias,
        d_blocks_1_proj_weight,
        d_blocks_1_proj_bias,
        d_blocks_1_n2_gamma,
        d_blocks_1_n2_beta,
        d_blocks_1_f1_weight,
        d_blocks_1_f1_bias,
        d_blocks_1_f2_weight,
        d_blocks_1_f2_bias,
        d_blocks_2_n1_gamma,
        d_blocks_2_n1_beta,
        d_blocks_2_qkv_weight,
        d_blocks_2_qkv_bias,
        d_blocks_2_proj_weight,
        d_blocks_2_proj_bias,
        d_blocks_2_n2_gamma,
        d_blocks_2_n2_beta,
        d_blocks_2_f1_weight,
        d_blocks_2_f1_bias,
        d_blocks_2_f2_weight,
        d_blocks_2_f2_bias,
        d_blocks_3_n1_gamma,
        d_blocks_3_n1_beta,
        d_blocks_3_qkv_weight,
        d_blocks_3_qkv_bias,
        d_blocks_3_proj_weight,
        d_blocks_3_proj_bias,
        d_blocks_3_n2_gamma,
        d_blocks_3_n2_beta,
        d_blocks_3_f1_weight,
        d_blocks_3_f1_bias,
        d_blocks_3_f2_weight,
        d_blocks_3_f2_bias,
        d_blocks_4_n1_gamma,
        d_blocks_4_n1_beta,
        d_blocks_4_qkv_weight,
        d_blocks_4_qkv_bias,
        d_blocks_4_proj_weight,
        d_blocks_4_proj_bias,
        d_blocks_4_n2_gamma,
        d_blocks_4_n2_beta,
        d_blocks_4_f1_weight,
        d_blocks_4_f1_bias,
        d_blocks_4_f2_weight,
        d_blocks_4_f2_bias,
        d_blocks_5_n1_gamma,
        d_blocks_5_n1_beta,
        d_blocks_5_qkv_weight,
        d_blocks_5_qkv_bias,
        d_blocks_5_proj_weight,
        d_blocks_5_proj_bias,
        d_blocks_5_n2_gamma,
        d_blocks_5_n2_beta,
        d_blocks_5_f1_weight,
        d_blocks_5_f1_bias,
        d_blocks_5_f2_weight,
        d_blocks_5_f2_bias,
        d_blocks_6_n1_gamma,
        d_blocks_6_n1_beta,
        d_blocks_6_qkv_weight,
        d_blocks_6_qkv_bias,
        d_blocks_6_proj_weight,
        d_blocks_6_proj_bias,
        d_blocks_6_n2_gamma,
        d_blocks_6_n2_beta,
        d_blocks_6_f1_weight,
        d_blocks_6_f1_bias,
        d_blocks_6_f2_weight,
        d_blocks_6_f2_bias,
        d_blocks_7_n1_gamma,
        d_blocks_7_n1_beta,
        d_blocks_7_qkv_weight,
        d_blocks_7_qkv_bias,
        d_blocks_7_proj_weight,
        d_blocks_7_proj_bias,
        d_blocks_7_n2_gamma,
        d_blocks_7_n2_beta,
        d_blocks_7_f1_weight,
        d_blocks_7_f1_bias,
        d_blocks_7_f2_weight,
        d_blocks_7_f2_bias,
        d_blocks_8_n1_gamma,
        d_blocks_8_n1_beta,
        d_blocks_8_qkv_weight,
        d_blocks_8_qkv_bias,
        d_blocks_8_proj_weight,
        d_blocks_8_proj_bias,
        d_blocks_8_n2_gamma,
        d_blocks_8_n2_beta,
        d_blocks_8_f1_weight,
        d_blocks_8_f1_bias,
        d_blocks_8_f2_weight,
        d_blocks_8_f2_bias,
        d_blocks_9_n1_gamma,
        d_blocks_9_n1_beta,
        d_blocks_9_qkv_weight,
        d_blocks_9_qkv_bias,
        d_blocks_9_proj_weight,
        d_blocks_9_proj_bias,
        d_blocks_9_n2_gamma,
        d_blocks_9_n2_beta,
        d_blocks_9_f1_weight,
        d_blocks_9_f1_bias,
        d_blocks_9_f2_weight,
        d_blocks_9_f2_bias,
        d_blocks_10_n1_gamma,
        d_blocks_10_n1_beta,
        d_blocks_10_qkv_weight,
        d_blocks_10_qkv_bias,
        d_blocks_10_proj_weight,
        d_blocks_10_proj_bias,
        d_blocks_10_n2_gamma,
        d_blocks_10_n2_beta,
        d_blocks_10_f1_weight,
        d_blocks_10_f1_bias,
        d_blocks_10_f2_weight,
        d_blocks_10_f2_bias,
        d_blocks_11_n1_gamma,
        d_blocks_11_n1_beta,
        d_blocks_11_qkv_weight,
        d_blocks_11_qkv_bias,
        d_blocks_11_proj_weight,
        d_blocks_11_proj_bias,
        d_blocks_11_n2_gamma,
        d_blocks_11_n2_beta,
        d_blocks_11_f1_weight,
        d_blocks_11_f1_bias,
        d_blocks_11_f2_weight,
        d_blocks_11_f2_bias,
        d_norm_gamma,
        d_norm_beta,
        d_head_weight,
        d_head_bias,
    )
