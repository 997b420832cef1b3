"""Powers and roots.

x^y = exp(y log(x)): the logarithm is a sum of two numbers, exact to 2^-66 of its size.
"""

from __future__ import annotations

from autodiff_compiler.emit.c.library.record import both, f32, f64, in_double

_WORDS = {"TINY": ("0x1p-126f", "0x1p-1022")}

ROOTS = (
    *both(
        """
/* the square root */
static inline double sqrt_f64(double x) {
  return __builtin_sqrt(x);
}
""",
        (0.5, 0.5),
    ),
    *both(
        """
/* 1 / sqrt(x) */
static inline double rsqrt_f64(double x) {
  return 1.0 / __builtin_sqrt(x);
}
""",
        (1.5, 1.5),
    ),
    f64(
        """
/* the cube root: a polynomial, a step of Halley's and one of Newton's */
static inline double cbrt_f64(double x) {
  double size = __builtin_fabs(x), normal = size < 0x1p-1022 ? size * 0x1p54 : size;
  uint64_t bits = bits_f64(normal), exponent = (bits >> 52) + 2049u;
  uint64_t third = (exponent * 21846u) >> 16, rest = exponent - 3u * third;
  double fraction = from_bits_f64((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  POLYNOMIAL(y, cbrt, fraction);
  y = rest == 0u ? y : rest == 1u ? y * 1.2599210498948732 : y * 1.5874010519681994;
  fraction = rest == 0u ? fraction : rest == 1u ? 2.0 * fraction : 4.0 * fraction;
  double cube = y * y * y;
  y = y * (cube + 2.0 * fraction) / (2.0 * cube + fraction);
  pair_f64 square = multiply_exactly_f64(y, y);
  pair_f64 power = multiply_exactly_f64(square.high, y);
  y = y - ((power.high - fraction) + (power.low + square.low * y)) / (3.0 * square.high);
  uint64_t bias = size < 0x1p-1022 ? 19u : 1u;
  double result = y * from_bits_f64((third - bias) << 52);
  result = size == __builtin_inf() || x == 0.0 || x != x ? x : result;
  return __builtin_copysign(result, x);
}
""",
        0.55,
    ),
    in_double("cbrt"),
    f64(
        """
/* sqrt(x² + y²), also where the squares would be too large or too small */
static inline double hypot_f64(double x, double y) {
  double first = __builtin_fabs(x), second = __builtin_fabs(y);
  double larger = first > second ? first : second, smaller = first > second ? second : first;
  double scale = larger > 0x1p510 ? 0x1p-600 : larger < 0x1p-450 ? 0x1p600 : 1.0;
  double back = larger > 0x1p510 ? 0x1p600 : larger < 0x1p-450 ? 0x1p-600 : 1.0;
  larger = larger * scale;
  smaller = smaller * scale;
  double result = __builtin_sqrt(larger * larger + smaller * smaller) * back;
  return first == __builtin_inf() || second == __builtin_inf() ? __builtin_inf() : result;
}
""",
        1.2,
    ),
    f32(
        """
/* sqrt(x² + y²), also where the squares would be too large or too small */
static inline float hypot_f32(float x, float y) {
  double first = x, second = y;
  float result = (float)__builtin_sqrt(first * first + second * second);
  result = __builtin_fabsf(x) == __builtin_inff() ? __builtin_inff() : result;
  return __builtin_fabsf(y) == __builtin_inff() ? __builtin_inff() : result;
}
""",
        0.51,
    ),
)

POWERS = (
    f64("""
/* log(x) of a positive finite number as a sum, exact to 2^-66 */
static inline pair_f64 log_exactly_f64(double x) {
  split_result_f64 parts = split_f64(x);
  pair_f64 below = add_in_order_f64(2.0, parts.f);
  double s = parts.f / below.high;
  double s_low = (-product_error_f64(s, below.high, parts.f) - s * below.low) / below.high;
  pair_f64 square = multiply_exactly_f64(s, s);
  square.low += 2.0 * s * s_low;
  POLYNOMIAL(p, pow, square.high);
  pair_f64 third = multiply_exactly_f64(square.high, CONSTANT(third, 0));
  third.low += square.high * CONSTANT(third, 1) + square.low * CONSTANT(third, 0);
  third = add_in_order_f64(third.high, third.low + square.high * square.high * p);
  pair_f64 rest = multiply_exactly_f64(s, third.high);
  rest.low += s * third.low + s_low * third.high;
  pair_f64 sum = add_in_order_f64(s, rest.high);
  double low = 2.0 * (sum.low + (rest.low + s_low)), high = 2.0 * sum.high;
  pair_f64 whole = add_exactly_f64(parts.k * CONSTANT(log2, 0), high);
  return add_in_order_f64(whole.high, whole.low + (low + parts.k * CONSTANT(log2, 1)));
}
"""),
    *both(
        """
/* x^y, given the power of |x| */
static inline double signed_power_f64(double x, double y, double power) {
  double size = __builtin_fabs(x);
  double at_zero = y < 0.0 ? __builtin_inf() : 0.0, at_infinity = y < 0.0 ? 0.0 : __builtin_inf();
  int is_whole = rint_f64(y) == y && __builtin_fabs(y) != __builtin_inf();
  int is_odd = is_whole && 2.0 * rint_f64(0.5 * y) != y;
  double result = size == 0.0 ? at_zero : size == __builtin_inf() ? at_infinity : power;
  result = y != y ? y : result;
  int is_negative = __builtin_copysign(1.0, x) < 0.0, is_finite = size < __builtin_inf();
  int has_value = is_whole || __builtin_fabs(y) == __builtin_inf() || y != y;
  result = x < 0.0 && is_finite && !has_value ? __builtin_nan("") : result;
  result = is_odd && is_negative ? -result : result;
  result = x != x ? x : result;
  return x == 1.0 || y == 0.0 ? 1.0 : result;
}
"""
    ),
    f64(
        """
/* x to the y */
static inline double pow_f64(double x, double y) {
  double exponent = y > 0x1p80 ? 0x1p80 : y < -0x1p80 ? -0x1p80 : y;
  pair_f64 base = log_exactly_f64(__builtin_fabs(x));
  pair_f64 power = multiply_exactly_f64(exponent, base.high);
  double low = power.low + exponent * base.low;
  double high = power.high < -750.0 ? -750.0 : power.high > 720.0 ? 720.0 : power.high;
  low = high == power.high ? low : 0.0;
  return signed_power_f64(x, y, exp_sum_f64(high, low, 2046u));
}
""",
        0.8,
    ),
    f32(
        """
/* x to the y */
static inline float pow_f32(float x, float y) {
  float exponent = y > 0x1p40f ? 0x1p40f : y < -0x1p40f ? -0x1p40f : y;
  double power = exponent * log_short_f64(__builtin_fabsf(x));
  power = power < -200.0 ? -200.0 : power > 200.0 ? 200.0 : power;
  return signed_power_f32(x, y, (float)exp_short_f64(power));
}
""",
        0.6,
    ),
    *both(
        """
/* x log(y), and 0 where x is 0 */
static inline double xlogy_f64(double x, double y) {
  return x == 0.0 ? 0.0 : x * log_f64(y);
}
"""
    ),
)

FUNCTIONS = (*ROOTS, *POWERS)
