"""Arithmetic with NumPy's rules for zeros, infinities and NaN, and piecewise linear functions."""

from __future__ import annotations

from autodiff_compiler.emit.c.library.record import CFunction, both, f32, f64

EXACT = (0.0, 0.0)

CHOICES = (
    *both(
        """
/* the larger of x and y; NaN wins */
static inline double maximum_f64(double x, double y) {
  double larger = y > x ? y : x;
  return y != y ? y : larger;
}
""",
        EXACT,
    ),
    *both(
        """
/* the smaller of x and y; NaN wins */
static inline double minimum_f64(double x, double y) {
  double smaller = y < x ? y : x;
  return y != y ? y : smaller;
}
""",
        EXACT,
    ),
    *both(
        """
/* the larger of x and y, or the one that is a number */
static inline double fmax_f64(double x, double y) {
  return x >= y || y != y ? x : y;
}
""",
        EXACT,
    ),
    *both(
        """
/* the smaller of x and y, or the one that is a number */
static inline double fmin_f64(double x, double y) {
  return x <= y || y != y ? x : y;
}
""",
        EXACT,
    ),
    *both(
        """
/* x limited to [low, high]; high where low is above it */
static inline double clip_f64(double x, double low, double high) {
  return minimum_f64(maximum_f64(x, low), high);
}
""",
        EXACT,
    ),
    *both(
        """
/* |x| */
static inline double abs_f64(double x) {
  return __builtin_fabs(x);
}
""",
        EXACT,
    ),
    *both(
        """
/* the size of x with the sign of y */
static inline double copysign_f64(double x, double y) {
  return __builtin_copysign(x, y);
}
""",
        EXACT,
    ),
    *both(
        """
/* -1, 0 or 1, and NaN */
static inline double sign_f64(double x) {
  return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == 0.0 ? 0.0 : x;
}
""",
        EXACT,
    ),
    *both(
        """
/* x where it is positive, else 0; NaN stays */
static inline double relu_f64(double x) {
  return x > 0.0 || x != x ? x : 0.0;
}
""",
        EXACT,
    ),
    *both(
        """
/* 1 / x */
static inline double reciprocal_f64(double x) {
  return 1.0 / x;
}
""",
        (0.5, 0.5),
    ),
    *both("""
/* x is not a number */
static inline _Bool isnan_f64(double x) {
  return x != x;
}
"""),
    *both("""
/* x is infinite */
static inline _Bool isinf_f64(double x) {
  return __builtin_fabs(x) == __builtin_inf();
}
"""),
    *both("""
/* x is a number and finite */
static inline _Bool isfinite_f64(double x) {
  return __builtin_fabs(x) < __builtin_inf();
}
"""),
    *both(
        """
/* the nearest integer, ties to even */
static inline double round_f64(double x) {
  return rint_f64(x);
}
""",
        EXACT,
    ),
    *both("""
/* x where it is positive, else slope x */
static inline double leaky_relu_f64(double x, double slope) {
  return x > 0.0 ? x : slope * x;
}
"""),
    *both("""
/* (x + 3) / 6, limited to [0, 1] */
static inline double hardsigmoid_f64(double x) {
  return clip_f64((x + 3.0) / 6.0, 0.0, 1.0);
}
"""),
    *both("""
/* x / (1 + |x|) */
static inline double softsign_f64(double x) {
  return x / (1.0 + __builtin_fabs(x));
}
"""),
    *both("""
/* x² / 2, but linear where |x| > delta */
static inline double huber_f64(double x, double delta) {
  double near = clip_f64(x, -delta, delta);
  return near * (x - 0.5 * near);
}
"""),
    *both("""
/* x y, and 0 where x is 0 */
static inline double zero_mul_f64(double x, double y) {
  return x * (x == 0.0 ? 1.0 : y);
}
"""),
    *both("""
/* x / y, and 0 where x is 0 */
static inline double zero_div_f64(double x, double y) {
  return x / (x == 0.0 ? 1.0 : y);
}
"""),
    *both("""
/* |x - y| <= atol + rtol |y|; NaN is close to NaN if equal_nan */
static inline _Bool isclose_f64(double x, double y, double rtol, double atol, _Bool equal_nan) {
  _Bool is_finite = __builtin_fabs(y) < __builtin_inf();
  _Bool is_near = is_finite & (__builtin_fabs(x - y) <= atol + rtol * __builtin_fabs(y));
  return is_near | (x == y) | (equal_nan & (x != x) & (y != y));
}
"""),
)

#: The remainder of C; a quotient beyond 2^53 is subtracted piece by piece, each exactly.
REMAINDERS: tuple[CFunction, ...] = (
    f64(
        """
/* x less a multiple of y, with the sign of x */
static inline double fmod_f64(double x, double y) {
  double rest = __builtin_fabs(x), size = __builtin_fabs(y);
  if (!(rest < __builtin_inf()) || size == 0.0 || y != y) return __builtin_nan("");
  while (rest >= size) {
    uint64_t shift = (bits_f64(rest) >> 52) - (bits_f64(size) >> 52);
    double part = size;
    if (size < 0x1p-1022) {
      while (part <= 0.5 * rest) part = part + part;
    } else {
      part = from_bits_f64(bits_f64(size) + (shift << 52));
      part = part > rest ? 0.5 * part : part;
    }
    rest = rest - part;
  }
  return __builtin_copysign(rest, x);
}
""",
        0.0,
    ),
    f32(
        """
/* x less a multiple of y, with the sign of x */
static inline float fmod_f32(float x, float y) {
  return (float)fmod_f64(x, y);
}
""",
        0.0,
    ),
    *both(
        """
/* x less a multiple of y, with the sign of y, as Python's % */
static inline double mod_f64(double x, double y) {
  double rest = fmod_f64(x, y);
  double result = rest != 0.0 && (rest < 0.0) != (y < 0.0) ? rest + y : rest;
  return rest == 0.0 ? __builtin_copysign(0.0, y) : result;
}
"""
    ),
    *both(
        """
/* x / y rounded down, as Python's // */
static inline double floor_div_f64(double x, double y) {
  double rest = fmod_f64(x, y), ratio = x / y;
  if (y == 0.0 || rest != rest) return y == 0.0 ? ratio : rest;
  double quotient = (x - rest) / y;
  quotient = rest != 0.0 && (rest < 0.0) != (y < 0.0) ? quotient - 1.0 : quotient;
  double below = floor_f64(quotient);
  below = quotient - below > 0.5 ? below + 1.0 : below;
  return quotient == 0.0 ? __builtin_copysign(0.0, ratio) : below;
}
"""
    ),
)

FUNCTIONS = (*CHOICES, *REMAINDERS)
