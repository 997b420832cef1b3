"""Logarithms, and the inverse hyperbolic functions, which are logarithms of sums.

x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]; log(x) = k log(2) + f + (log(1 + f) - f).
"""

from __future__ import annotations

from autodiff_compiler.emit.c.library.record import both, f32, f64, in_double

_WORDS = {
    "MANTISSA_MASK": ("0x7fffffu", "0xfffffffffffffu"),
    "MANTISSA": ("23", "52"),
    "ROOT_HALF": ("0x3f3504f3u", "0x3fe6a09e667f3bcdu"),
    "ONE_LESS_ROOT": ("0x4afb0du", "0x95f619980c433u"),
    "ONE_EXPONENT": ("127.0f", "1023.0"),
    "TWO_EXPONENTS": ("254u", "2046u"),
    "FOUR_EXPONENTS": ("256u", "2048u"),
    "ROOT_LESS_ONE": ("0.41421357f", "0.41421356237309503"),
    "NORMAL": ("0x1p-126f", "0x1p-1022"),
    "SHIFT": ("25.0f", "54.0"),
    "SMALL_NUMBER_BITS": ("0x4b000000u", "0x4330000000000000u"),
    "SMALL_NUMBER": ("0x1p23f", "0x1p52"),
    "DENORMAL_SCALE": ("0x1p25f", "0x1p54"),
    "TINY": ("0x1p-25f", "0x1p-54"),
}

SPLITTING = (
    *both("""
/* a positive number as 2^k (1 + f) */
typedef struct { double k, f; } split_result_f64;
"""),
    *both(
        """
/* splits a positive number, 1 + f from sqrt(1/2) to sqrt(2) */
static inline split_result_f64 split_f64(double x) {
  double normal = x < NORMAL ? x * DENORMAL_SCALE : x;
  double bias = x < NORMAL ? SMALL_NUMBER + (ONE_EXPONENT + SHIFT) : SMALL_NUMBER + ONE_EXPONENT;
  uint64_t bits = bits_f64(normal) + ONE_LESS_ROOT;
  double f = from_bits_f64((bits & MANTISSA_MASK) + ROOT_HALF) - 1.0;
  double exponent = from_bits_f64((bits >> MANTISSA) | SMALL_NUMBER_BITS);
  return (split_result_f64){ exponent - bias, f };
}
""",
        words=_WORDS,
    ),
    f64(
        """
/* splits high + low, of which high is positive and at least normal */
static inline split_result_f64 split_sum_f64(double high, double low) {
  uint64_t bits = bits_f64(high) + ONE_LESS_ROOT, exponent = bits >> MANTISSA;
  double f = from_bits_f64((bits & MANTISSA_MASK) + ROOT_HALF) - 1.0;
  uint64_t inverse = exponent < TWO_EXPONENTS ? TWO_EXPONENTS - exponent : 0u;
  double scale = from_bits_f64(inverse << MANTISSA);
  return (split_result_f64){ from_small_f64(exponent) - ONE_EXPONENT, f + low * scale };
}
""",
        words=_WORDS,
    ),
    f32("""
/* log(1 + f) - f */
static inline float log_rest_f32(float f) {
  POLYNOMIAL(p, log, f);
  return f * f * (f * p - 0.5f);
}
"""),
    f64("""
/* log(1 + f) - f = -s (f - R(s²)), s = f / (2 + f) */
static inline double log_rest_f64(double f) {
  double s = f / (2.0 + f), square = s * s;
  POLYNOMIAL(p, log, square);
  return -s * (f - square * p);
}
"""),
    *both(
        """
/* log(2^k (1 + f)) of x; NaN below 0 */
static inline double log_joined_f64(split_result_f64 parts, double x) {
  double rest = log_rest_f64(parts.f) + parts.k * CONSTANT(log2, 1);
  double result = parts.k * CONSTANT(log2, 0) + (parts.f + rest);
  result = x == 0.0 ? -__builtin_inf() : result;
  result = x == __builtin_inf() ? x : result;
  return x >= 0.0 ? result : __builtin_nan("");
}
"""
    ),
)

LOGARITHMS = (
    *both(
        """
/* the natural logarithm */
static inline double log_f64(double x) {
  return log_joined_f64(split_f64(x), x);
}
""",
        (0.75, 0.9),
    ),
    f64("""
/* log(high + low), of which high is not denormal */
static inline double log_sum_f64(double high, double low) {
  return log_joined_f64(split_sum_f64(high, low), high);
}
"""),
    *both(
        """
/* log(1 + x): 1 + x = 2^k (1 + f), where f = x / 2^k + (1 / 2^k - 1) */
static inline double log1p_f64(double x) {
  uint64_t exponent = (bits_f64(1.0 + x) + ONE_LESS_ROOT) >> MANTISSA;
  double four_parts = from_bits_f64((FOUR_EXPONENTS - exponent) << MANTISSA);
  double f = 0.25 * x * four_parts + (0.25 * four_parts - 1.0);
  double k = from_bits_f64(exponent | SMALL_NUMBER_BITS) - (SMALL_NUMBER + ONE_EXPONENT);
  double rest = log_rest_f64(f) + k * CONSTANT(log2, 1);
  double result = k * CONSTANT(log2, 0) + (f + rest);
  result = x > -1.0 ? result : x == -1.0 ? -__builtin_inf() : __builtin_nan("");
  result = x == __builtin_inf() ? x : result;
  return __builtin_fabs(x) < TINY ? x : result;
}
""",
        (1.2, 1.5),
        words=_WORDS,
    ),
    *both(
        """
/* log(1 + x) for x from 0 to 1 */
static inline double log1p_of_part_f64(double x) {
  _Bool is_large = x > ROOT_LESS_ONE;
  double f = is_large ? 0.5 * x - 0.5 : x;
  double rest = log_rest_f64(f) + (is_large ? CONSTANT(log2, 1) : 0.0);
  return (is_large ? CONSTANT(log2, 0) : 0.0) + (f + rest);
}
""",
        words=_WORDS,
    ),
    f64("""
/* the logarithm to a base: k unit + log(1 + f) scale, each factor as a sum */
static inline double log_to_base_f64(double x, pair_f64 unit, pair_f64 scale) {
  split_result_f64 parts = split_f64(x);
  pair_f64 natural = add_in_order_f64(parts.f, log_rest_f64(parts.f));
  pair_f64 scaled = multiply_exactly_f64(natural.high, scale.high);
  pair_f64 sum = add_exactly_f64(parts.k * unit.high, scaled.high);
  double low = natural.low * scale.high + natural.high * scale.low + parts.k * unit.low;
  double result = sum.high + (sum.low + (scaled.low + low));
  result = x == 0.0 ? -__builtin_inf() : result;
  result = x == __builtin_inf() ? x : result;
  return x >= 0.0 ? result : __builtin_nan("");
}
"""),
    f64(
        """
/* the logarithm to base 2 */
static inline double log2_f64(double x) {
  pair_f64 unit = { 1.0, 0.0 };
  pair_f64 scale = { CONSTANT(log2_e, 0), CONSTANT(log2_e, 1) };
  return log_to_base_f64(x, unit, scale);
}
""",
        0.85,
    ),
    f64(
        """
/* the logarithm to base 10 */
static inline double log10_f64(double x) {
  pair_f64 unit = { CONSTANT(log10_2, 0), CONSTANT(log10_2, 1) };
  pair_f64 scale = { CONSTANT(log10_e, 0), CONSTANT(log10_e, 1) };
  return log_to_base_f64(x, unit, scale);
}
""",
        0.85,
    ),
    f64("""
/* log(x) of a positive number that is not denormal, to 37 bits */
static inline double log_short_f64(double x) {
  uint64_t bits = bits_f64(x) + 0x95f619980c433u;
  double f = from_bits_f64((bits & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
  double s = f / (2.0 + f), square = s * s;
  POLYNOMIAL(p, log_short, square);
  return (from_small_f64(bits >> 52) - 1023.0) * CONSTANT(log2, 2) + (f - s * (f - square * p));
}
"""),
    f64(
        """
/* log(x) unit of a float, infinity and numbers without a logarithm included */
static inline float log_of_float_f64(float x, double unit) {
  float result = (float)(log_short_f64(x) * unit);
  result = x == 0.0f ? -__builtin_inff() : result;
  result = x == __builtin_inff() ? x : result;
  return x >= 0.0f ? result : __builtin_nanf("");
}
"""
    ),
    f32(
        """
/* the logarithm to base 2 */
static inline float log2_f32(float x) {
  return log_of_float_f64(x, CONSTANT(log2_e_f64, 0));
}
""",
        0.51,
    ),
    f32(
        """
/* the logarithm to base 10 */
static inline float log10_f32(float x) {
  return log_of_float_f64(x, CONSTANT(log10_e_f64, 0));
}
""",
        0.51,
    ),
)

INVERSE_HYPERBOLIC = (
    f64(
        """
/* the inverse hyperbolic sine: log(|x| + sqrt(x² + 1)) */
static inline double asinh_f64(double x) {
  double size = __builtin_fabs(x), square = size * size;
  POLYNOMIAL(p, asinh, square);
  double near = size + size * (square * p);
  double bounded = size > 0x1p30 ? 0x1p30 : size;
  pair_f64 power = multiply_exactly_f64(bounded, bounded);
  pair_f64 under = add_exactly_f64(power.high, 1.0);
  double root = __builtin_sqrt(under.high);
  double left = -product_error_f64(root, root, under.high) + (under.low + power.low);
  pair_f64 sum = add_exactly_f64(root, bounded);
  double far = log_sum_f64(sum.high, sum.low + 0.5 * left / root);
  double beyond = log_f64(size) + CONSTANT(log2, 2);
  far = size > 0x1p30 ? beyond : far;
  return __builtin_copysign(size < 0.5 ? near : far, x);
}
""",
        1.2,
    ),
    f64(
        """
/* the inverse hyperbolic cosine: log(x + sqrt(x² - 1)) */
static inline double acosh_f64(double x) {
  double bounded = x > 0x1p30 ? 0x1p30 : x;
  pair_f64 power = multiply_exactly_f64(bounded, bounded);
  pair_f64 under = add_exactly_f64(power.high, -1.0);
  under = add_in_order_f64(under.high, under.low + power.low);
  double root = __builtin_sqrt(under.high);
  double left = under.low - product_error_f64(root, root, under.high);
  pair_f64 sum = add_exactly_f64(bounded, root);
  double far = log_sum_f64(sum.high, sum.low + (x > 1.0 ? 0.5 * left / root : 0.0));
  double beyond = log_f64(x) + CONSTANT(log2, 2);
  far = x > 0x1p30 ? beyond : far;
  return x >= 1.0 ? far : __builtin_nan("");
}
""",
        1.5,
    ),
    f64(
        """
/* the inverse hyperbolic tangent: log((1 + x) / (1 - x)) / 2 */
static inline double atanh_f64(double x) {
  double size = __builtin_fabs(x), square = size * size;
  POLYNOMIAL(p, atanh, square);
  double near = size + size * (square * p);
  double far = 0.5 * log1p_f64(2.0 * size / (1.0 - size));
  far = size > 1.0 ? __builtin_nan("") : far;
  return __builtin_copysign(size < 0.5 ? near : far, x);
}
""",
        1.2,
    ),
    in_double("asinh"),
    in_double("acosh"),
    in_double("atanh"),
)

FUNCTIONS = (*SPLITTING, *LOGARITHMS, *INVERSE_HYPERBOLIC)
