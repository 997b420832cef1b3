"""Functions that are sums of series: Bessel functions, derivatives of sinc, incomplete gamma.

All have loops, so that a loop over them is not vectorised. Orders are whole numbers.
"""

from __future__ import annotations

from autodiff_compiler.emit.c.library.record import f64, in_double

FUNCTIONS = (
    f64("""
/* the modified Bessel function of the first kind, of order n: all terms have one sign */
static inline double bessel_i_f64(double x, double n) {
  double square = 0.25 * x * x, term = 1.0;
  for (double k = 1.0; k <= n; k = k + 1.0) term = term * (0.5 * x / k);
  double sum = term;
  for (double k = 1.0; __builtin_fabs(term) > 0x1p-56 * __builtin_fabs(sum); k = k + 1.0) {
    term = term * (square / (k * (k + n)));
    sum = sum + term;
  }
  return sum;
}
"""),
    f64("""
/* the n-th derivative of sinc: near 0 by the power series, beyond by recurrence */
static inline double sinc_slope_f64(double x, double n) {
  double z = CONSTANT(pi, 0) * x, result = 0.0;
  if (__builtin_fabs(x) < 1.0) {
    double odd = n - 2.0 * __builtin_floor(0.5 * n), half = 0.5 * (n + odd);
    double term = half == 2.0 * __builtin_floor(0.5 * half) ? 1.0 : -1.0;
    term = odd == 0.0 ? term : term * z;
    for (double j = odd; j < 36.0; j = j + 2.0) {
      result = result + term / (n + j + 1.0);
      term = -term * (z * z) / ((j + 1.0) * (j + 2.0));
    }
  } else {
    result = sin_pi_f64(x, 0.0) / z;
    for (double k = 1.0; k <= n; k = k + 1.0) result = (sin_pi_f64(x, k) - k * result) / z;
  }
  for (double k = 0.0; k < n; k = k + 1.0) result = result * CONSTANT(pi, 0);
  return result;
}
"""),
    f64("""
/* the size of the n-th derivative of digamma, n > 0, x >= 0: recurrence, and Stirling's series */
static inline double polygamma_positive_f64(double x, double n) {
  static const double bernoulli[8] = {
      1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0,
      -3617.0 / 510.0};
  double factorial = 1.0, sum = 0.0;
  for (double k = 2.0; k < n; k = k + 1.0) factorial = factorial * k;
  for (; x < 10.0 + n; x = x + 1.0) {
    double power = 1.0 / x;
    for (double k = 0.0; k < n; k = k + 1.0) power = power / x;
    sum = sum + power;
  }
  double inverse = 1.0 / x, tail = 1.0 + 0.5 * n * inverse, term = 1.0;
  for (int k = 0; k < 8; k++) {
    double even = 2.0 * k;
    term = term * ((even + n) * (even + n + 1.0) / ((even + 1.0) * (even + 2.0)));
    term = term * (inverse * inverse);
    tail = tail + bernoulli[k] * term;
  }
  for (double k = 0.0; k < n; k = k + 1.0) tail = tail * inverse;
  return factorial * (n * sum + tail);
}
"""),
    f64("""
/* the n-th derivative of digamma, 0 < n < 23; below 0 by reflection, with derivatives of cot */
static inline double polygamma_f64(double x, double n) {
  int count = (int)n;
  if (!(x < 0.0)) return (count % 2 ? 1.0 : -1.0) * polygamma_positive_f64(x, n);
  double cotangent = sin_pi_f64(x, 1.0) / sin_pi_f64(x, 0.0);
  cotangent = cotangent > 1e308 ? 1e308 : cotangent < -1e308 ? -1e308 : cotangent;
  double slope[25] = {0.0, 1.0}, result = 0.0;
  for (int k = 1; k <= count; k++) {
    double next[25] = {0.0};
    for (int j = 0; j < k; j++) {
      next[j] = next[j] - (j + 1) * slope[j + 1];
      next[j + 2] = next[j + 2] - (j + 1) * slope[j + 1];
    }
    for (int j = 0; j <= k + 1; j++) slope[j] = next[j];
  }
  for (int j = count + 1; j >= 0; j--) result = result * cotangent + slope[j];
  for (int k = 0; k <= count; k++) result = result * CONSTANT(pi, 0);
  return -polygamma_positive_f64(1.0 - x, n) - result;
}
"""),
    f64("""
/* where the series of gamma_p is summed: beyond, gamma_p is 1 to the last bit */
static inline double gamma_p_place_f64(double a, double x) {
  double most = a + 12.0 * sqrt_f64(a) + 60.0, place = x > most ? most : x;
  return place < 1e-300 ? 1e-300 : place;
}
"""),
    f64("""
/* the regularized lower incomplete gamma function of a > 0, given the logarithm of gamma(a) */
static inline double gamma_p_f64(double a, double x, double log_gamma) {
  if (x == 0.0 || x != x) return x;
  if (x < 0.0) return __builtin_nan("");
  double z = gamma_p_place_f64(a, x), term = 1.0 / a, sum = term;
  for (double n = 1.0; a + n < z || term > 0x1p-60 * sum; n = n + 1.0) {
    term = term * z / (a + n);
    sum = sum + term;
  }
  double result = exp_f64(a * log_f64(z) - z - log_gamma) * sum;
  return result > 1.0 ? 1.0 : result;
}
"""),
    f64("""
/* the derivative of gamma_p in a */
static inline double gamma_p_slope_f64(double a, double x, double log_gamma) {
  if (!(x >= 0.0)) return __builtin_nan("");
  double z = gamma_p_place_f64(a, x), term = 1.0 / a, terms = term;
  double total = log_f64(z) - 1.0 / a, sum = term * total;
  for (double n = 1.0; a + n < z || term > 0x1p-70 * terms; n = n + 1.0) {
    term = term * z / (a + n);
    terms = terms + term;
    total = total - 1.0 / (a + n);
    sum = sum + term * total;
  }
  return exp_f64(a * log_f64(z) - z - log_gamma) * sum;
}
"""),
    in_double("bessel_i", operands="x n", ulp=None),
    in_double("sinc_slope", operands="x n", ulp=None),
    in_double("polygamma", operands="x n", ulp=None),
    in_double("gamma_p", operands="a x log_gamma", ulp=None),
    in_double("gamma_p_slope", operands="a x log_gamma", ulp=None),
)
