"""Exponentials and what is made of them: hyperbolic functions, sigmoids.

x = n log(2) + r with |r| <= log(2) / 2; exp(x) = 2^n (1 + r + r² P(r)).
"""

from __future__ import annotations

from autodiff_compiler.emit.c.library.record import both, f64, in_double

#: Bits of the exponent of 1, twice that less the shift, the number that rounds to an integer.
_WORDS = {
    "MANTISSA": ("23", "52"),
    "ONE_EXPONENT": ("127u", "1023u"),
    "TWO_EXPONENTS": ("254u", "2046u"),
    "ROUNDER": ("0x1.8p23f", "0x1.8p52"),
    "LOWEST": ("-105.0f", "-746.0"),
    "HIGHEST": ("89.0f", "710.0"),
    "LARGE": ("20.0f", "45.0"),
    "TINY": ("0x1p-25f", "0x1p-54"),
}

SCALING = (
    *both(
        """
/* x 2^n, rounded once where it is denormal; count = n + TWO_EXPONENTS */
static inline double scale_f64(double x, uint64_t count) {
  uint64_t half = count >> 1;
  return x * from_bits_f64(half << MANTISSA) * from_bits_f64((count - half) << MANTISSA);
}
""",
        words=_WORDS,
    ),
    f64("""
/* exp(high + low) for |high| <= log(2) / 2, to 0.6 units */
static inline double exp_near_f64(double high, double low) {
  double r = high + low, lost = (high - r) + low, sum = 1.0 + r;
  POLYNOMIAL(p, exp, r);
  return sum + ((r - (sum - 1.0)) + (r * r * p + lost));
}
"""),
)

EXPONENTIALS = (
    *both(
        """
/* e to the x */
static inline double exp_f64(double x) {
  double bounded = x < LOWEST ? LOWEST : x;
  bounded = bounded > HIGHEST ? HIGHEST : bounded;
  double shifted = bounded * CONSTANT(log2_e, 0) + ROUNDER;
  double n = shifted - ROUNDER;
  double r = (bounded - n * CONSTANT(log2, 0)) - n * CONSTANT(log2, 1);
  POLYNOMIAL(p, exp, r);
  uint64_t count = bits_f64(shifted) - bits_f64(ROUNDER) + TWO_EXPONENTS;
  return scale_f64(1.0 + (r + r * r * p), count);
}
""",
        (1.0, 1.1),
        words=_WORDS,
    ),
    *both(
        """
/* 2 to the x */
static inline double exp2_f64(double x) {
  double bounded = x < LOWEST ? LOWEST : x;
  bounded = bounded > HIGHEST ? HIGHEST : bounded;
  double shifted = bounded + ROUNDER;
  double r = (bounded - (shifted - ROUNDER)) * CONSTANT(log2, 2);
  POLYNOMIAL(p, exp, r);
  uint64_t count = bits_f64(shifted) - bits_f64(ROUNDER) + TWO_EXPONENTS;
  return scale_f64(1.0 + (r + r * r * p), count);
}
""",
        (1.0, 1.2),
        words={**_WORDS, "LOWEST": ("-151.0f", "-1076.0"), "HIGHEST": ("129.0f", "1025.0")},
    ),
    *both(
        """
/* exp(x) - 1 */
static inline double expm1_f64(double x) {
  double bounded = x < -LARGE ? -LARGE : x;
  bounded = bounded > HIGHEST ? HIGHEST : bounded;
  double shifted = bounded * CONSTANT(log2_e, 0) + ROUNDER;
  double n = shifted - ROUNDER;
  double high = bounded - n * CONSTANT(log2, 0), low = -n * CONSTANT(log2, 1);
  double r = high + low;
  POLYNOMIAL(p, exp, r);
  double rest = r * r * p + ((high - r) + low);
  uint64_t count = bits_f64(shifted) - bits_f64(ROUNDER) + (ONE_EXPONENT - 1);
  double half_power = from_bits_f64(count << MANTISSA);
  double first = half_power - 0.5, second = half_power * r, sum = first + second;
  double result = 2.0 * (sum + ((second - (sum - first)) + half_power * rest));
  return __builtin_fabs(x) < TINY ? x : result;
}
""",
        (1.3, 1.3),
        words=_WORDS,
    ),
    f64("""
/* exp(high + low) 2^(count - 2046) */
static inline double exp_sum_f64(double high, double low, uint64_t count) {
  double shifted = high * CONSTANT(log2_e, 0) + 0x1.8p52;
  double n = shifted - 0x1.8p52;
  double r = high - n * CONSTANT(log2, 0), rest = low - n * CONSTANT(log2, 1);
  return scale_f64(exp_near_f64(r, rest), bits_f64(shifted) - bits_f64(0x1.8p52) + count);
}
"""),
    f64("""
/* exp(x) for x from -700 to 700, to 28 bits */
static inline double exp_short_f64(double x) {
  double shifted = x * CONSTANT(log2_e, 0) + 0x1.8p52;
  double r = x - (shifted - 0x1.8p52) * CONSTANT(log2, 2);
  POLYNOMIAL(p, exp_short, r);
  uint64_t power = (bits_f64(shifted) - bits_f64(0x1.8p52) + 1023u) << 52;
  return (1.0 + (r + r * r * p)) * from_bits_f64(power);
}
"""),
)

HYPERBOLIC = (
    *both(
        """
/* the hyperbolic tangent: x + x³ P(x²) near 0, 1 - 2 / (exp(2 x) + 1) beyond */
static inline double tanh_f64(double x) {
  double size = __builtin_fabs(x), square = x * x;
  POLYNOMIAL(p, tanh, square);
  double near = size + size * (square * p);
  double bounded = size > LARGE ? LARGE : size;
  double shifted = bounded * (2.0 * CONSTANT(log2_e, 0)) + ROUNDER;
  double n = shifted - ROUNDER;
  double r = 2.0 * bounded - n * CONSTANT(log2, 2);
  POLYNOMIAL(q, exp, r);
  uint64_t count = bits_f64(shifted) - bits_f64(ROUNDER) + ONE_EXPONENT;
  double power = (1.0 + (r + r * r * q)) * from_bits_f64(count << MANTISSA);
  double far = 1.0 - 2.0 / (power + 1.0);
  return __builtin_copysign(size < 0.625 ? near : far, x);
}
""",
        (1.3, 1.5),
        words={**_WORDS, "LARGE": ("10.0f", "20.0")},
    ),
    f64("""
/* exp(x) / 2 for x >= 0, also where exp(x) is too large */
static inline double half_exp_f64(double x) {
  return exp_sum_f64(x > 711.0 ? 711.0 : x, 0.0, 2045u);
}
"""),
    f64(
        """
/* the hyperbolic sine */
static inline double sinh_f64(double x) {
  double size = __builtin_fabs(x), square = x * x;
  POLYNOMIAL(p, sinh, square);
  double near = size + size * (square * p);
  double power = half_exp_f64(size);
  return __builtin_copysign(size < 1.0 ? near : power - 0.25 / power, x);
}
""",
        1.7,
    ),
    f64(
        """
/* the hyperbolic cosine */
static inline double cosh_f64(double x) {
  double power = half_exp_f64(__builtin_fabs(x));
  return power + 0.25 / power;
}
""",
        1.4,
    ),
    in_double("sinh"),
    in_double("cosh"),
)

SIGMOIDS = (
    *both(
        """
/* 1 / (1 + exp(-x)) */
static inline double sigmoid_f64(double x) {
  double power = exp_f64(-__builtin_fabs(x));
  return (x < 0.0 ? power : 1.0) / (1.0 + power);
}
""",
        (1.8, 2.3),
    ),
    *both(
        """
/* the slope of sigmoid: exp(-|x|) / (1 + exp(-|x|))² */
static inline double sigmoid_slope_f64(double x) {
  double power = exp_f64(-__builtin_fabs(x));
  return power / (1.0 + power * (2.0 + power));
}
""",
        (2.0, 2.3),
    ),
    *both(
        """
/* the slope of tanh: 4 exp(-2 |x|) / (1 + exp(-2 |x|))² */
static inline double tanh_slope_f64(double x) {
  double power = exp_f64(-2.0 * __builtin_fabs(x));
  return 4.0 * power / (1.0 + power * (2.0 + power));
}
""",
        (2.1, 2.4),
    ),
    *both(
        """
/* log(1 + exp(x)) */
static inline double softplus_f64(double x) {
  double power = log1p_of_part_f64(exp_f64(-__builtin_fabs(x)));
  return (x > 0.0 ? x : 0.0) + power;
}
""",
        (1.6, 1.9),
    ),
    *both(
        """
/* log(exp(x) + exp(y)) */
static inline double logaddexp_f64(double x, double y) {
  double larger = x >= y ? x : y, distance = x == y ? 0.0 : x - y;
  return larger + log1p_of_part_f64(exp_f64(-__builtin_fabs(distance)));
}
"""
    ),
    *both(
        """
/* -(y log(p) + (1 - y) log(1 - p)), p = sigmoid(x) */
static inline double logistic_loss_f64(double x, double y) {
  double above = x > 0.0 ? x : 0.0, below = x < 0.0 ? x : 0.0;
  return above * (1.0 - y) - below * y + log1p_of_part_f64(exp_f64(-__builtin_fabs(x)));
}
"""
    ),
    *both(
        """
/* x where it is positive, else alpha (exp(x) - 1) */
static inline double elu_f64(double x, double alpha) {
  double below = x > 0.0 ? 0.0 : x;
  return (x > 0.0 ? x : 0.0) + alpha * expm1_f64(below);
}
"""
    ),
)

FUNCTIONS = (*SCALING, *EXPONENTIALS, *HYPERBOLIC, *SIGMOIDS)
