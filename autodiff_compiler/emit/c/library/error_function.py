"""The error function, its complement and its inverse."""

from __future__ import annotations

from autodiff_compiler.emit.c.library.record import both, f64, in_double

FUNCTIONS = (
    *both(
        """
/* the error function: x + x P(x²) below 1, 1 - exp(-P(x)) beyond */
static inline double erf_f64(double x) {
  double size = __builtin_fabs(x), square = x * x;
  POLYNOMIAL(p, erf, square);
  double bounded = size > LIMIT ? LIMIT : size, distance = bounded - 2.0;
  POLYNOMIAL(power, erf_tail, distance);
  double far = 1.0 - exp_f64(-power);
  return __builtin_copysign(size < 1.0 ? size + size * p : far, x);
}
""",
        (1.4, 1.5),
        words={"LIMIT": ("4.0f", "6.0")},
    ),
    f64(
        """
/* 1 - erf(x), where it is small as well */
static inline double erfc_f64(double x) {
  double size = __builtin_fabs(x), bounded = size > 28.0 ? 28.0 : size;
  double t = (bounded - 3.75) / (bounded + 3.75);
  POLYNOMIAL(p, erfc, t);
  double square = bounded * bounded, low = product_error_f64(bounded, bounded, square);
  double shifted = -square * CONSTANT(log2_e, 0) + 0x1.8p52, n = shifted - 0x1.8p52;
  double r = (-square - n * CONSTANT(log2, 0)) - (low + n * CONSTANT(log2, 1));
  POLYNOMIAL(q, exp, r);
  double power = r + r * r * q;
  double above = 1.2 + (p + (1.2 + p) * power), below = 1.0 + 2.0 * bounded;
  double lost = 1.0 - (below - 2.0 * bounded), ratio = above / below;
  ratio = ratio - ratio * (lost / below);
  uint64_t count = bits_f64(shifted) - bits_f64(0x1.8p52) + 2046u;
  double tail = scale_f64(ratio, count), own_square = x * x;
  POLYNOMIAL(near, erf, own_square);
  pair_f64 one_less = add_in_order_f64(1.0, -x);
  near = one_less.high + (one_less.low - x * near);
  tail = x < 0.0 ? 2.0 - tail : tail;
  return size < 0.5 ? near : tail;
}
""",
        1.9,
    ),
    in_double("erfc"),
    f64(
        """
/* the inverse of erf */
static inline double erfinv_f64(double x) {
  double square = x * x, under = 1.0 - square;
  double low = ((1.0 - under) - square) - product_error_f64(x, x, square);
  double w = -log_sum_f64(under, low), root = __builtin_sqrt(w);
  double middle = w - 3.0, far = root - 4.0;
  POLYNOMIAL(p, erfinv_near, middle);
  POLYNOMIAL(q, erfinv_far, far);
  double result = root - root * (w < 6.25 ? p : q);
  double size = __builtin_fabs(x);
  result = size < 0x1p-27 ? size * CONSTANT(half_root_pi, 0) : result;
  result = size == 1.0 ? __builtin_inf() : result;
  return __builtin_copysign(result, x);
}
""",
        1.95,
    ),
    in_double("erfinv"),
)
