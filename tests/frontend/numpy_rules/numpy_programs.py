"""Plain functions of one array, by the NumPy names that they call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

V = np.array([0.7, -1.3, 2.1, 0.4])
M = np.array([[2.0, 0.3, -0.5], [0.1, 1.5, 0.7], [-0.2, 0.4, 1.8]])
C = np.random.default_rng(3).normal(size=(2, 3, 4))
W = np.cos(np.arange(4.0))

#: title -> (function, where)
PROGRAMS: dict[str, tuple[Callable, np.ndarray]] = {
    "trigonometry": (lambda x: np.sin(x) * np.cos(x) + np.tan(x / 3) + np.arctan(x), V),
    "inverse": (lambda x: np.arcsin(x / 3) + np.arccos(x / 4) + np.arctan2(x, W), V),
    "hyperbolic": (lambda x: np.sinh(x) + np.cosh(x) * np.tanh(x), V),
    "inverse hyperbolic": (lambda x: np.arcsinh(x) + np.arccosh(x * x + 2) + np.arctanh(x / 4), V),
    "exponentials": (lambda x: np.exp(x) + np.exp2(x) + np.expm1(x), V),
    "logarithms": (
        lambda x: np.log(x * x) + np.log2(x**2) + np.log10(np.abs(x)) + np.log1p(x * x),
        V,
    ),
    "logaddexp": (lambda x: np.logaddexp(x, W) + np.logaddexp2(x, 1.0), V),
    "arithmetic": (
        lambda x: (
            np.add(x, 1) * np.subtract(x, W) / np.multiply(2, x + 5)
            + np.divide(x, 3)
            + np.true_divide(1, x)
            + np.negative(x)
            + np.positive(x)
        ),
        V,
    ),
    "powers": (
        lambda x: (
            np.power(x, 3)
            + np.square(x)
            + np.sqrt(x + 2)
            + np.reciprocal(x)
            + np.cbrt(x)
            + np.float_power(x, 2)
        ),
        V,
    ),
    "remainders": (lambda x: np.mod(x, 0.6) + np.remainder(x, 0.9) + np.fmod(x, 0.8), V),
    "steps": (
        lambda x: (
            x
            * (
                np.floor(x)
                + np.ceil(x)
                + np.trunc(x)
                + np.rint(x)
                + np.fix(x)
                + np.sign(x)
                + np.round(x, 1)
                + np.heaviside(x, 0.5)
            )
        ),
        V,
    ),
    "angles": (lambda x: np.deg2rad(x) + np.degrees(x) + np.radians(x) * np.rad2deg(x), V),
    "special": (lambda x: np.sinc(x) + np.hypot(x, W) + np.copysign(x, -W), V),
    "extremes of two": (
        lambda x: np.maximum(x, W) * np.minimum(x, 0.5) + np.fmax(x, W) + np.fmin(x, W),
        V,
    ),
    "clip": (lambda x: np.clip(x, -1, 1) * np.clip(x, None, a_max=2.0) + x.clip(0.5, 3), V),
    "where and select": (
        lambda x: np.where(x > 0, x * x, -x) + np.select([x > 1, x > 0], [x, x**2], 7.0),
        V,
    ),
    "logic": (
        lambda x: (
            x
            * np.where(np.logical_and(x > 0, ~np.isnan(x)) | np.isclose(x, -1.3), 2, 3)
            * np.all(np.isfinite(x))
            * np.allclose(x, x)
        ),
        V,
    ),
    "nan_to_num": (lambda x: np.nan_to_num(x) * x, V),
    "interp": (lambda x: np.interp(x, np.array([-2.0, 0.0, 3.0]), np.array([1.0, 0.5, 4.0])), V),
    "interp of values": (lambda x: np.interp(np.array([0.5, 1.5]), np.arange(4.0), x * x), V),
    "real and imaginary": (
        lambda x: np.real(x) * np.conj(x) + np.imag(x) + np.angle(x) * x.real + x.imag,
        V,
    ),
    "sums": (lambda x: np.sum(x, axis=1) + x.sum(0) + np.sum(x * x, axis=(0, 1), keepdims=True), M),
    "products": (lambda x: np.prod(x, axis=0) + x.prod() + np.cumprod(x[0]) * np.cumsum(x[1]), M),
    "running over all": (lambda x: np.cumsum(x) * np.cumprod(x / 2), M),
    "means": (
        lambda x: (
            np.mean(x)
            + x.mean(axis=1)
            + np.average(x, 1, np.array([1.0, 2.0, 3.0]))
            + np.average(x, weights=x * x)
            + np.average(x)
        ),
        M,
    ),
    "spread": (
        lambda x: np.var(x, 0) + x.std(1) + np.std(x, ddof=1) + np.var(x, axis=1, ddof=1),
        M,
    ),
    "extremes": (
        lambda x: np.max(x, 1) * np.min(x) + x.max(0) + np.amax(x) + np.amin(x, 0) + np.ptp(x, 1),
        M,
    ),
    "median": (lambda x: np.median(x) * np.median(M * x[:3], axis=0, keepdims=True), V * 2),
    "without nan": (lambda x: np.nansum(np.where(x > 1, np.nan, x)) + np.nanmean(x * x, 0), M),
    "positions": (
        lambda x: x[np.argmax(x)] * x[x.argmin()] * x[np.argsort(x)[1]] * np.count_nonzero(x),
        V,
    ),
    "sort": (lambda x: np.sort(x) * W + np.sort(x * x)[::-1], V),
    "diff": (lambda x: np.diff(x) + np.diff(x, prepend=x[:1])[1:], V),
    "gradient": (lambda x: np.gradient(x * x) + np.gradient(x, 0.5), V),
    "gradient of a matrix": (lambda x: np.gradient(x)[0] * np.gradient(x, axis=1), M),
    "trapezoid": (lambda x: np.trapezoid(x * x, dx=0.5) + np.trapezoid(x, W), V),
    "dot": (lambda x: np.dot(x, x[0]) + x.dot(x)[1] + np.dot(x[0], x[1]) + np.dot(2.0, x[2]), M),
    "matrix products": (
        lambda x: np.matmul(x, x.T) + x @ M + np.inner(x, M) + np.kron(x, M)[:3, :3],
        M,
    ),
    "vectors": (lambda x: np.outer(x, W) * np.vdot(x, W) + np.inner(x, x), V),
    "cross": (lambda x: np.cross(x[0], x[1]) + np.cross(x, M), M + 1),
    "tensordot": (
        lambda x: (
            np.tensordot(x, C, axes=([0, 2], [0, 2]))
            + np.tensordot(x, C.transpose(1, 2, 0), 2)[0, 0]
        ),
        C,
    ),
    "einsum": (lambda x: np.einsum("ij,jk->ik", x, x) + np.einsum("ii", x), M),
    "convolve": (
        lambda x: np.concatenate(
            [
                np.convolve(x, W[:3]),
                np.convolve(W[:2], x, "same"),
                np.convolve(x, x[:2], mode="valid"),
            ]
        ),
        V,
    ),
    "polynomials": (
        lambda x: (
            np.polyval([2.0, -1.0, 0.5], x)
            + np.polyval(x, 0.5)
            + np.polyval([x[0], 3.0], 2.0)
            + np.polyval(W[:3], np.sin(x))
            + np.polyval([], x)
        ),
        V,
    ),
    "linear algebra": (
        lambda x: (
            np.linalg.inv(x)
            + np.linalg.det(x)
            + np.linalg.slogdet(x)[1]
            + np.linalg.matrix_power(x, 3)
            + np.linalg.multi_dot([x, M, x])
        ),
        M,
    ),
    "solve": (lambda x: np.linalg.solve(x, M[0]) @ np.linalg.solve(M, x), M),
    "cholesky": (lambda x: np.linalg.cholesky(x @ x.T), M),
    "cholesky of a lower triangle": (lambda x: np.linalg.cholesky(np.tril(x @ x.T)), M),
    "cholesky of an upper triangle": (
        lambda x: np.linalg.cholesky(np.triu(x @ x.T), upper=True),
        M,
    ),
    "singular values": (lambda x: np.linalg.svd(x, compute_uv=False), M),
    "svd": (lambda x: (lambda u, s, vh: (u * s) @ vh * s)(*np.linalg.svd(x)), M),
    "pinv": (lambda x: np.linalg.pinv(x), M),
    "norms of vectors": (
        lambda x: (
            np.linalg.norm(x)
            + np.linalg.norm(x, 1)
            + np.linalg.norm(x, np.inf)
            + np.linalg.norm(x, -np.inf)
            + np.linalg.norm(x, 3)
            + np.linalg.norm(x, 0)
        ),
        V,
    ),
    "norms of matrices": (
        lambda x: (
            np.linalg.norm(x)
            + np.linalg.norm(x, "fro")
            + np.linalg.norm(x, 1)
            + np.linalg.norm(x, np.inf)
            + np.linalg.norm(x, "nuc")
            + np.linalg.norm(x, 2)
            + np.linalg.norm(x, axis=1)
            + np.linalg.norm(x, 1, axis=0)
        ),
        M,
    ),
    "norms over axes": (
        lambda x: np.linalg.norm(x, 1, (1, 2)) + np.linalg.norm(x, axis=1, keepdims=True).sum(),
        C,
    ),
    "shapes": (
        lambda x: np.reshape(x, (4, 6)) * np.reshape(x, 24)[:6] + x.reshape(4, -1).reshape((4, 6)),
        C,
    ),
    "rows": (lambda x: np.ravel(x) * x.flatten() + x.ravel()[0] * x.size + np.size(x, 1), C),
    "axes": (
        lambda x: (
            np.transpose(x) * x.T
            + np.transpose(x, (2, 1, 0))
            + x.transpose(2, 1, 0)
            + np.moveaxis(np.swapaxes(x, 0, 1), 2, 0)
            + np.rollaxis(x, 2).swapaxes(1, 2)
        ),
        C,
    ),
    "new axes": (
        lambda x: (
            np.expand_dims(x, 0)[0] * x[:, None, np.newaxis, ...].squeeze((1, 2))
            + np.squeeze(x[None])
            + np.atleast_3d(x)[..., 0]
            + np.atleast_1d(x[0])
            + np.atleast_2d(x)
        ),
        M,
    ),
    "turns": (
        lambda x: (
            np.flip(x)
            + np.flip(x, axis=0)
            + np.fliplr(x) * np.flipud(x)
            + np.rot90(x)
            + np.roll(x, 1) * np.roll(x, 2, axis=1)
        ),
        M,
    ),
    "repeats": (
        lambda x: np.tile(x, 2) * np.repeat(x, 2) + x.repeat(2) + np.tile(x, (2, 1)).ravel(),
        V,
    ),
    "joining": (
        lambda x: (
            np.concatenate([x, x * x], axis=1) * np.hstack((x, x))
            + np.append(x, M, 1)
            + np.vstack([x, x]).reshape(3, 6)
            + np.concatenate((x, x), None).reshape(3, 6)
        ),
        M,
    ),
    "stacking": (
        lambda x: (
            np.stack([x, x * x]) * np.stack((x, x), axis=0)
            + np.dstack([x, x]).T
            + np.column_stack((x, x))[:, :3]
            + np.vstack((x, x))[:3]
        ),
        M,
    ),
    "splitting": (
        lambda x: (
            np.split(x, 3)[1] * np.hsplit(x, [1])[1].sum()
            + np.vsplit(x, 3)[0]
            + np.array_split(x, 2)[1] * np.dsplit(x[None], 3)[1].sum()
        ),
        M,
    ),
    "triangles": (
        lambda x: (
            np.tril(x) * np.triu(x, 1).T
            + np.tril(x, -1)
            + np.diag(x)
            + np.diag(x[0], 0)
            + np.diagonal(x, 1).sum()
            + np.trace(x) * x.trace()
            + np.trace(x, 1)
            + x.diagonal()
        ),
        M,
    ),
    "padding": (
        lambda x: (
            np.pad(x, 1) * np.pad(x, ((1, 1), (2, 0)), constant_values=2.0)
            + np.pad(x, (1, 1), mode="edge")
            + np.pad(x, 1, "reflect") * np.pad(x, 1, "wrap")
            + np.pad(x, 1, "symmetric")
        ),
        M,
    ),
    "taking": (
        lambda x: (
            np.take(x, [0, 2])
            + np.take(x, np.array([1, 0]), axis=1)[0]
            + x.take([1, 1], 0)[:, 0]
            + np.take_along_axis(x, np.array([[1], [0], [2]]), 1)[0]
            + np.take_along_axis(x, np.array([[2, 1]]), 1).sum(1)[0]
            + x[[0, 1], [1, 2]]
            + x[x > 1.6].sum()
            + np.take(x, 1, axis=0)[:2]
        ),
        M,
    ),
    "rows in a list": (
        lambda x: (
            np.sum([x[0], x[1] * x[2]]) * np.mean([x[0, 0], x[1, 1]])
            + np.cumsum((x[0], x[2]), axis=0)
            + np.max([x, x * x], axis=0)[:2]
            + np.std([x[0, 1], x[1, 2], 2.0])
        ),
        M,
    ),
    "making": (
        lambda x: (
            np.array([x[0], x[1] * 2, 3.0, 4.0]) * np.zeros_like(x)
            + np.ones_like(x) * x
            + np.full_like(x, 2.0) * np.copy(x)
            + x.copy() * np.asarray(x)
            + np.linspace(x[0], x[1], 4)
            + np.eye(4)[1] * np.arange(4)
            + np.array([[x[0]], [x[1]]]).sum()
        ),
        V,
    ),
    "grids": (lambda x: np.meshgrid(x, W)[0] * np.meshgrid(x, x, indexing="ij")[1], V),
    "vander": (lambda x: np.vander(x, 3) + np.vander(x, 3, increasing=True) * 2, V),
    "broadcasting": (lambda x: np.broadcast_to(x, (3, 4)) * np.ones((3, 1)) + x[None, :], V),
    "attributes": (
        lambda x: (
            x.astype(np.float64)
            * x.ndim
            * len(x)
            * x.shape[0]
            * (x.dtype == np.float64)
            * isinstance(x, np.ndarray)
        ),
        V,
    ),
    "floats of an array": (lambda x: float(x[0]) ** 2 * x.item(1) + x[2:3].item() * x, V),
}
