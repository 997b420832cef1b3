"""The logarithm of the gamma function and its derivative.

Both have branches: a loop over them is not vectorised. Below 0 they are exact beside 1, not beside
their own values, which cross 0 between any two poles.
"""

from __future__ import annotations

from autodiff_compiler.emit.c.library.record import f64, in_double

FUNCTIONS = (
    f64("""
/* log(gamma(x)), x >= 8: Stirling's series */
static inline double lgamma_large_f64(double x) {
  double inverse = 1.0 / x, square = inverse * inverse;
  if (x > 1e290) return x > 2.6e305 ? __builtin_inf() : x * (log_f64(x) - 1.0);
  POLYNOMIAL(p, stirling, square);
  pair_f64 power = log_exactly_f64(x);
  pair_f64 product = multiply_exactly_f64(x - 0.5, power.high - 1.0);
  double rest = product.low + (x - 0.5) * power.low;
  return product.high + (rest + (CONSTANT(half_log_two_pi, 0) - 0.5 + inverse * p));
}
"""),
    f64("""
/* log(gamma(x)), x >= 0 */
static inline double lgamma_positive_f64(double x) {
  if (x >= 8.0) return lgamma_large_f64(x);
  if (x < 1.5) {
    double u = x < 0.5 ? x : x - 1.0;
    POLYNOMIAL(p, lgamma_one, u);
    return x < 0.5 ? u * p - log_f64(x) : u * p + 0.0;
  }
  double product = 1.0;
  while (x >= 2.5) {
    x = x - 1.0;
    product = product * x;
  }
  double u = x - 2.0;
  POLYNOMIAL(p, lgamma_two, u);
  return product == 1.0 ? u * p + 0.0 : log_f64(product) + u * p;
}
"""),
    f64("""
/* log(|gamma(x)|) */
static inline double lgamma_f64(double x) {
  double size = __builtin_fabs(x);
  if (x != x || size == __builtin_inf()) return size;
  if (size < 0x1p-60) return -log_f64(size);
  if (x > 0.0) return lgamma_positive_f64(x);
  double wave = __builtin_fabs(sin_pi_f64(x, 0.0));
  if (wave == 0.0 || size >= 0x1p52) return __builtin_inf();
  return (CONSTANT(log_pi, 0) - log_f64(size * wave)) - lgamma_positive_f64(size);
}
"""),
    f64("""
/* the derivative of log(gamma(x)), x > 0 */
static inline double digamma_positive_f64(double x) {
  double sum = 0.0, inverse = 1.0 / x;
  if (x >= 8.0) {
    double square = inverse * inverse;
    POLYNOMIAL(p, digamma, square);
    return log_f64(x) - (0.5 * inverse + square * p);
  }
  while (x >= 3.0) {
    x = x - 1.0;
    sum = sum + 1.0 / x;
  }
  double from_two = x < 1.0 ? x - 1.0 : x - 2.0;
  double zero = x < 1.0 ? CONSTANT(digamma_zero, 0) - 1.0 : CONSTANT(digamma_zero, 0);
  POLYNOMIAL(p, digamma_middle, from_two);
  double middle = ((x - zero) - CONSTANT(digamma_zero, 1)) * p;
  return x < 1.0 ? middle - inverse : sum + middle;
}
"""),
    f64("""
/* the derivative of log(|gamma(x)|) */
static inline double digamma_f64(double x) {
  if (x > 0.0 || x != x) return digamma_positive_f64(x);
  if (x == 0.0) return -1.0 / x;
  double wave = sin_pi_f64(x, 0.0);
  if (wave == 0.0 || x <= -0x1p52) return __builtin_nan("");
  return digamma_positive_f64(1.0 - x) - CONSTANT(pi, 0) * (sin_pi_f64(x, 1.0) / wave);
}
"""),
    in_double("lgamma", ulp=None),
    in_double("digamma", ulp=None),
)
