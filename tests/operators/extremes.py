"""The bank of extreme cases: where a plain formula overflows, cancels or divides 0 by 0.

Each case is a text in our names and one in exact arithmetic; its values and gradients to 50 digits
are in ``extremes.json``, which ``python -m benchmarks.exact`` writes (it needs the
package mpmath). The texts of the rivals are for ``python -m benchmarks.extremes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INF = float("inf")
WIDE = ("float64", "float32")
HALF = ("float16",)


@dataclass(frozen=True)
class Case:
    """One function at one point.

    ours, exact, torch, jax   expressions over ``x``, ``y``, ``z``, the ``inputs`` in order;
                no torch or jax text means that it has no such function.
    gradients   those of the inputs where a limit must be chosen (kinks), else computed. The outputs
                are weighted 1, 1.5, 2 …
    ulps        how far a number may be off, in units of the dtype's precision.
    floor       a size below which an error counts absolutely, for functions whose rule is the
                textbook's ``1 - out * out`` or ``out * (1 - out)``.
    """

    ours: str
    exact: str
    inputs: tuple[Any, ...]
    torch: str = ""
    jax: str = ""
    dtypes: tuple[str, ...] = WIDE
    gradients: tuple[Any, ...] | None = None
    ulps: int = 16
    floor: float = 0.0

    @property
    def name(self) -> str:
        """``ops.norm(x) x=[0.0, 0.0]``."""
        rows = (f"{name}={row}" for name, row in zip("xyz", self.inputs))
        return f"{self.ours} {' '.join(rows)}"


SIDES = [-1e4, -100.0, -50.0, -1.0, 0.0, 1.0, 50.0, 100.0, 1e4]
TINY = [1e-30, -1e-20, 1e-10, -1e-5, 0.25]

CASES: tuple[Case, ...] = (
    # Logits far apart, masked, all alike
    *(
        Case(f"ops.{name}(x)", f"{name}(x)", (row,), f"F.{name}(x, -1)", f"jax.nn.{name}(x)")
        for name in ("softmax", "log_softmax")
        for row in ([1e4, 0.0, -1e4], [-1e4, -1e4, -9999.0], [-INF, 0.0, 1.0], [3e38, 3e38])
    ),
    *(
        Case("ops.logsumexp(x, 0)", "logsumexp(x)", (row,), "torch.logsumexp(x, 0)",
             "jax.nn.logsumexp(x)")
        for row in ([1e4, 1e4], [-1e4, -1e4, -9999.0], [-INF, 0.0, 1.0], [1e4, -1e4])
    ),
    *(
        Case("ops.logcumsumexp(x, 0)", "logcumsumexp(x)", (row,), "torch.logcumsumexp(x, 0)",
             "jax.lax.cumlogsumexp(x)", ulps=ulps)  # x - out has as few digits as x
        for row, ulps in (
            ([1e4, 0.0, -1e4], 10000), ([-1e4, -9999.0, 1e4], 10000), ([0.0, -INF, 1.0], 16),
        )
    ),
    Case("ops.logaddexp(x, y)", "log(exp(x) + exp(y))", ([1e4, -1e4, -INF], [-1e4, -1e4, 0.0]),
         "torch.logaddexp(x, y)", "jnp.logaddexp(x, y)"),
    # Both sides of the sigmoid
    Case("ops.sigmoid(x)", "1 / (1 + exp(-x))", (SIDES,), "torch.sigmoid(x)", "jax.nn.sigmoid(x)",
         floor=1.0),
    Case("ops.tanh(x)", "tanh(x)", (SIDES,), "torch.tanh(x)", "jnp.tanh(x)", floor=1.0),
    Case("ops.softplus(x)", "log1p(exp(x))", (SIDES,), "F.softplus(x)", "jax.nn.softplus(x)"),
    Case("ops.logsigmoid(x)", "-log1p(exp(-x))", (SIDES,), "F.logsigmoid(x)",
         "jax.nn.log_sigmoid(x)"),
    Case("ops.silu(x)", "x / (1 + exp(-x))", (SIDES,), "F.silu(x)", "jax.nn.silu(x)",
         floor=1e-37),
    Case("ops.mish(x)", "x * tanh(log1p(exp(x)))", (SIDES,), "F.mish(x)", "jax.nn.mish(x)",
         floor=1e-37),
    Case("ops.gelu(x)", "x * erfc(-x / sqrt(2)) / 2", ([-30.0, -10.0, -5.0, 1e-20, 10.0, 1e4],),
         "F.gelu(x)", "jax.nn.gelu(x, approximate=False)", ulps=1000),
    Case("ops.gelu(x, 'tanh')",
         "x / (1 + exp(-2 * sqrt(2 / pi) * (x + num('0.044715') * x ** 3)))",
         ([-10.0, -5.0, 1e-20, 10.0, 1e4],), "F.gelu(x, approximate='tanh')", "jax.nn.gelu(x)",
         ulps=1000),
    Case("ops.elu(x)", "where(x > 0, x, expm1(x))", ([-1e4, -50.0, -1e-20, 1e4],), "F.elu(x)",
         "jax.nn.elu(x)"),
    # Losses
    *(
        Case(
            "ops.binary_cross_entropy_with_logits(x, y, reduction='none')",
            "y * log1p(exp(-x)) + (1 - y) * log1p(exp(x))",
            ([-1e4, 1e4, -50.0, 50.0, 0.0], labels),
            "F.binary_cross_entropy_with_logits(x, y, reduction='none')",
            "jax_bce(x, y)",
        )
        for labels in ([0.0, 1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.5, 0.5, 0.0])
    ),
    *(
        Case("ops.cross_entropy(x, y)", "-sum(y * log_softmax(x))", (row, labels),
             "F.cross_entropy(x, y)", "-(y * jax.nn.log_softmax(x)).sum()")
        for row, labels in (
            ([1e4, -1e4, 0.0], [0.0, 1.0, 0.0]), ([-1e4, -1e4, -1e4], [0.25, 0.25, 0.5]),
        )
    ),
    Case("ops.kl_div(x, y, 'sum')", "sum(xlogy(y, y) - where(y == 0, 0, y * x))",
         ([-1e4, -INF, -1.0], [0.5, 0.0, 0.25]), "F.kl_div(x, y, reduction='sum')",
         "jnp.sum(jax.scipy.special.xlogy(y, y) - y * x)",
         gradients=([-0.5, 0.0, -0.25], ["10000.30685281944005469058276787854", 0.0,
         "0.61370563888010938116553575708"])),
    Case("ops.huber_loss(x, y, 'none', 1.0)", "where(abs(x - y) < 1, (x - y) ** 2 / 2, "
         "abs(x - y) - num('0.5'))", ([1e25, -INF, 1e-18, 3.0], [0.0] * 4),
         "F.huber_loss(x, y, reduction='none')", "jax_huber(x, y)"),
    Case("ops.smooth_l1_loss(x, y, 0.5)", "where(abs(x - y) < num('0.5'), (x - y) ** 2, "
         "abs(x - y) - num('0.25'))", ([1e25, -INF, 1e-18, 3.0], [0.0] * 4),
         "F.smooth_l1_loss(x, y, reduction='none', beta=0.5)", ""),
    # Small differences
    Case("ops.expm1(x)", "expm1(x)", ([*TINY, -50.0, -1e4, 80.0],), "torch.expm1(x)",
         "jnp.expm1(x)"),
    Case("ops.log1p(x)", "log1p(x)", ([*TINY, 1e30, -0.99999],), "torch.log1p(x)", "jnp.log1p(x)"),
    Case("ops.erf(x)", "erf(x)", ([*TINY, -1.0, 3.0, -30.0],), "torch.erf(x)",
         "jax.scipy.special.erf(x)"),
    Case("ops.erfc(x)", "erfc(x)", ([*TINY, -30.0, 3.0, 9.0],), "torch.erfc(x)",
         "jax.scipy.special.erfc(x)", ulps=100),
    Case("ops.sinc(x)", "sinc(x)", ([1e-20, -1e-5, 1e-3, 0.25, 0.75, -2.5],), "torch.sinc(x)",
         "jnp.sinc(x)", floor=1.0),
    Case("ops.asin(x)", "asin(x)", ([1 - 2.0**-20, -1 + 2.0**-23, 1e-30],), "torch.asin(x)",
         "jnp.arcsin(x)"),
    Case("ops.acos(x)", "acos(x)", ([1 - 2.0**-20, 1 - 2.0**-23, -0.5],), "torch.acos(x)",
         "jnp.arccos(x)"),
    Case("ops.atanh(x)", "atanh(x)", ([1 - 2.0**-20, -1 + 2.0**-23, 1e-30],), "torch.atanh(x)",
         "jnp.arctanh(x)"),
    Case("ops.acosh(x)", "acosh(x)", ([1 + 2.0**-20, 1 + 2.0**-22, 1e30],), "torch.acosh(x)",
         "jnp.arccosh(x)"),
    Case("ops.asinh(x)", "asinh(x)", ([1e30, -1e30, 1e-30],), "torch.asinh(x)", "jnp.arcsinh(x)"),
    # Squares that leave the range, and roots at 0
    Case("ops.norm(x)", "sqrt(sum(x * x))", ([0.0, 0.0],), "torch.linalg.vector_norm(x)",
         "jnp.linalg.norm(x)", gradients=([0.0, 0.0],)),
    Case("ops.norm(x)", "sqrt(sum(x * x))", ([3e15, -4e15],), "torch.linalg.vector_norm(x)",
         "jnp.linalg.norm(x)"),
    Case("ops.norm(x)", "sqrt(sum(x * x))", ([3e-15, 4e-15],), "torch.linalg.vector_norm(x)",
         "jnp.linalg.norm(x)"),
    Case("ops.norm(x, 3)", "sum(abs(x) ** 3) ** (num(1) / 3)", ([0.0, 0.0],),
         "torch.linalg.vector_norm(x, 3)", "jnp.linalg.norm(x, 3)", gradients=([0.0, 0.0],)),
    Case("ops.hypot(x, y)", "sqrt(x * x + y * y)", ([3e30, 3e-30, 0.0], [4e30, -4e-30, -2.0]),
         "torch.hypot(x, y)", "jnp.hypot(x, y)"),
    Case("ops.atan2(x, y)", "atan2(x, y)", ([1e30, 1e-30, -1.0], [2e30, -1e-30, -1e30]),
         "torch.atan2(x, y)", "jnp.arctan2(x, y)"),
    Case("ops.cosine_similarity(x, y, 0)", "sum(x * y) / sqrt(sum(x * x) * sum(y * y))",
         ([1e10, 2e10], [3e10, -1e10]), "F.cosine_similarity(x, y, 0)", ""),
    Case("ops.std(x)", "sqrt(var(x))", ([2.0, 2.0, 2.0],), "torch.std(x, correction=0)",
         "jnp.std(x)", gradients=([0.0, 0.0, 0.0],)),
    Case("ops.var(x)", "var(x)", ([1e8 - 1, 1e8, 1e8 + 2],),
         "torch.var(x, correction=0)", "jnp.var(x)", ("float64",), ulps=2**29),
    Case("ops.var(x)", "var(x)", ([4095.0, 4096.0, 4098.0],), "torch.var(x, correction=0)",
         "jnp.var(x)", ulps=2**16),
    Case("ops.std(x)", "sqrt(var(x))", ([1e6, 1e6 + 1, 1e6 + 2],), "torch.std(x, correction=0)",
         "jnp.std(x)", ulps=2**20),
    Case("ops.layer_norm(x, (3,), eps=1e-5)", "(x - mean(x)) / sqrt(var(x) + num('1e-5'))",
         ([4095.0, 4096.0, 4098.0],), "F.layer_norm(x, (3,))", "", ulps=2**20),
    # Denormals and ends of the range
    Case("ops.log(x)", "log(x)", ([1e-40, 1.0, 1e38],), "torch.log(x)", "jnp.log(x)"),
    Case("ops.sqrt(x)", "sqrt(x)", ([1e-40, 1e-30, 1e38],), "torch.sqrt(x)", "jnp.sqrt(x)"),
    Case("ops.exp(x)", "exp(x)", ([-100.0, -80.0, 1e-30, 80.0],), "torch.exp(x)", "jnp.exp(x)"),
    Case("ops.rsqrt(x)", "1 / sqrt(x)", ([1e-20, 1e20],), "torch.rsqrt(x)", "jax.lax.rsqrt(x)"),
    Case("ops.pow(x, y)", "x ** y", ([1e-30, 1e30, 0.5, 1e5], [1.0, 1.0, 100.0, -6.0]),
         "torch.pow(x, y)", "jnp.power(x, y)"),
    Case("ops.pow(x, y)", "x ** y", ([0.0, 0.0, 0.0], [0.0, 1.0, 2.0]), "torch.pow(x, y)",
         "jnp.power(x, y)", gradients=([0.0, 1.5, 0.0], [0.0, 0.0, 0.0])),
    Case("ops.xlogy(x, y)", "xlogy(x, y)", ([0.0, 1e-30, 2.0], [1e-30, 1e-30, 1e30]),
         "torch.xlogy(x, y)", "jax.scipy.special.xlogy(x, y)"),
    Case("ops.softsign(x)", "x / (1 + abs(x))", ([1e15, -1e15, 1e-30],), "F.softsign(x)",
         "jax.nn.soft_sign(x)"),
    # The gamma function
    Case("ops.lgamma(x)", "lgamma(x)", ([1e-30, 0.5, 3.0, 1e10, 1e30],), "torch.lgamma(x)",
         "jax.scipy.special.gammaln(x)", ulps=64),
    Case("ops.digamma(x)", "digamma(x)", ([1e-15, 0.5, 3.0, 1e10, 1e30],), "torch.digamma(x)",
         "jax.scipy.special.digamma(x)", ulps=64),
    # Half precision: results that fit, between numbers that do not
    Case("ops.softmax(x)", "softmax(x)", ([65504.0, 0.0, -65504.0],), "F.softmax(x, -1)",
         "jax.nn.softmax(x)", HALF),
    Case("ops.log_softmax(x)", "log_softmax(x)", ([12.0, 0.0, -12.0],), "F.log_softmax(x, -1)",
         "jax.nn.log_softmax(x)", HALF, ulps=4),
    Case("ops.logsumexp(x, 0)", "logsumexp(x)", ([12.0] * 4,), "torch.logsumexp(x, 0)",
         "jax.nn.logsumexp(x)", HALF),
    Case("ops.norm(x)", "sqrt(sum(x * x))", ([300.0, 400.0],), "torch.linalg.vector_norm(x)",
         "jnp.linalg.norm(x)", HALF),
    Case("ops.norm(x)", "sqrt(sum(x * x))", ([3e-5, 4e-5],), "torch.linalg.vector_norm(x)",
         "jnp.linalg.norm(x)", HALF, ulps=64),
    Case("ops.mean(x)", "mean(x)", ([6e4, 5e4, 4e4],), "torch.mean(x)", "jnp.mean(x)", HALF),
    Case("ops.var(x)", "var(x)", ([200.0, -200.0, 100.0],), "torch.var(x, correction=0)",
         "jnp.var(x)", HALF),
    Case("ops.huber_loss(x, y, 'none', 1.0)", "where(abs(x - y) < 1, (x - y) ** 2 / 2, "
         "abs(x - y) - num('0.5'))", ([300.0, -1000.0], [0.0, 0.0]),
         "F.huber_loss(x, y, reduction='none')", "jax_huber(x, y)", HALF),
    Case("ops.softplus(x)", "log1p(exp(x))", ([-17.0, -5.0, 11.0, 65504.0],), "F.softplus(x)",
         "jax.nn.softplus(x)", HALF),
)  # fmt: skip
