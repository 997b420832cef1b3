"""Sines, their inverses, and the reduction of any angle to |r| <= pi / 4.

x 2 / pi is computed modulo 4 to more digits than any number can cancel. Of 2 / pi the row counts
that begins where the products with x stop being multiples of 4.
"""

from __future__ import annotations

from autodiff_compiler.emit.c.library.coefficients import TWO_OVER_PI
from autodiff_compiler.emit.c.library.record import both, f32, f64, in_double


def _table(name: str, comment: str) -> str:
    """Returns the definition of the rows of 2 / pi."""
    rows = [*TWO_OVER_PI.values()]
    lines = ",\n".join(f"  {{ {', '.join(map(repr, row))} }}" for row in rows)
    size = f"[{len(rows)}][{len(rows[0])}]"
    return f"/* {comment} */\nstatic const double {name}{size} = {{\n{lines}\n}};"


REDUCTION = (
    f64(_table("two_over_pi_f64", "2 / pi times 2^(32 row), less multiples of 4")),
    f64("""
/* x = quarter pi / 2 + high + low */
typedef struct { double high, low; uint64_t quarter; } angle_f64;
"""),
    f32("""
/* x = quarter pi / 2 + rest */
typedef struct { double rest; uint64_t quarter; } angle_f32;
"""),
    f64("""
/* x less the nearest multiple of 4 */
static inline double modulo_four_f64(double x) {
  return x - 4.0 * rint_f64(0.25 * x);
}
"""),
    f64("""
/* an angle without its multiple of pi / 2, to 2^-120 */
static inline angle_f64 reduce_f64(double x) {
  uint64_t exponent = (bits_f64(x) >> 52) & 2047u;
  int64_t excess = (int64_t)exponent - 1075;
  uint64_t row = (uint64_t)(excess & ~(excess >> 63)) >> 5;
  double scaled = x * from_bits_f64((1023u - 32u * row) << 52);
  pair_f64 first = multiply_exactly_f64(scaled, two_over_pi_f64[row][0]);
  pair_f64 second = multiply_exactly_f64(scaled, two_over_pi_f64[row][1]);
  pair_f64 third = multiply_exactly_f64(scaled, two_over_pi_f64[row][2]);
  double last = third.low + scaled * two_over_pi_f64[row][3];
  double high = modulo_four_f64(first.high), middle = modulo_four_f64(first.low);
  pair_f64 sum = add_exactly_f64(high, middle);
  pair_f64 more = add_exactly_f64(sum.high, modulo_four_f64(second.high));
  pair_f64 less = add_exactly_f64(second.low, third.high);
  double shifted = more.high + 0x1.8p52;
  pair_f64 turn = add_exactly_f64(more.high - (shifted - 0x1.8p52), sum.low + more.low);
  pair_f64 next = add_exactly_f64(turn.high, less.high);
  double low = next.low + (turn.low + (less.low + last));
  pair_f64 product = multiply_exactly_f64(next.high, CONSTANT(half_pi, 0));
  double rest = product.low + (next.high * CONSTANT(half_pi, 1) + low * CONSTANT(half_pi, 0));
  pair_f64 result = add_in_order_f64(product.high, rest);
  return (angle_f64){ result.high, result.low, bits_f64(shifted) };
}
"""),
    f64("""
/* x less the nearest integer */
static inline double modulo_one_f64(double x) {
  return x - rint_f64(x);
}
"""),
    f32("""
/* an angle without its multiple of pi / 2: x / (2 pi) in parts whose products are exact */
static inline angle_f32 reduce_f32(float x) {
  double first = modulo_one_f64(x * CONSTANT(turn_f64, 0));
  double second = modulo_one_f64(x * CONSTANT(turn_f64, 1));
  double third = modulo_one_f64(x * CONSTANT(turn_f64, 2));
  double fourth = modulo_one_f64(x * CONSTANT(turn_f64, 3));
  double fifth = modulo_one_f64(x * CONSTANT(turn_f64, 4));
  double turns = ((first + second) + (third + fourth)) + fifth;
  double shifted = 4.0 * turns + 0x1.8p52, quarters = 0.25 * (shifted - 0x1.8p52);
  double rest = (((first - quarters) + second) + third) + fourth;
  rest = (rest + fifth) + x * CONSTANT(turn_f64, 5);
  return (angle_f32){ rest * (4.0 * CONSTANT(half_pi_f64, 0)), bits_f64(shifted) };
}
"""),
)

SINES = (
    f64("""
/* sin(high + low) */
static inline double sin_near_f64(double high, double low) {
  double square = high * high;
  POLYNOMIAL(p, sin, square);
  return high + (high * (square * p) + low * (1.0 - 0.5 * square));
}
"""),
    f64("""
/* cos(high + low) */
static inline double cos_near_f64(double high, double low) {
  double square = high * high, half = 0.5 * square, near = 1.0 - half;
  POLYNOMIAL(p, cos, square);
  return near + (((1.0 - near) - half) + (square * square * p - high * low));
}
"""),
    f32("""
/* sin(x) for |x| <= pi / 4 */
static inline float sin_near_f32(float x) {
  float square = x * x;
  POLYNOMIAL(p, sin, square);
  return x + x * (square * p);
}
"""),
    f32("""
/* cos(x) for |x| <= pi / 4 */
static inline float cos_near_f32(float x) {
  float square = x * x;
  POLYNOMIAL(p, cos, square);
  return 1.0f + square * (square * p - 0.5f);
}
"""),
    f64(
        """
/* the sine */
static inline double sin_f64(double x) {
  angle_f64 angle = reduce_f64(x);
  double sine = sin_near_f64(angle.high, angle.low);
  double cosine = cos_near_f64(angle.high, angle.low);
  double result = angle.quarter & 1u ? cosine : sine;
  result = angle.quarter & 2u ? -result : result;
  return choose_f64(__builtin_fabs(x) < 0x1p-27, x, result);
}
""",
        0.8,
    ),
    f64(
        """
/* the cosine */
static inline double cos_f64(double x) {
  angle_f64 angle = reduce_f64(x);
  double sine = sin_near_f64(angle.high, angle.low);
  double cosine = cos_near_f64(angle.high, angle.low);
  double result = angle.quarter & 1u ? sine : cosine;
  return (angle.quarter + 1u) & 2u ? -result : result;
}
""",
        0.8,
    ),
    f32(
        """
/* the sine */
static inline float sin_f32(float x) {
  angle_f32 angle = reduce_f32(x);
  float sine = sin_near_f32((float)angle.rest), cosine = cos_near_f32((float)angle.rest);
  float result = angle.quarter & 1u ? cosine : sine;
  result = angle.quarter & 2u ? -result : result;
  return __builtin_fabsf(x) < 0x1p-13f ? x : result;
}
""",
        1.6,
    ),
    f32(
        """
/* the cosine */
static inline float cos_f32(float x) {
  angle_f32 angle = reduce_f32(x);
  float sine = sin_near_f32((float)angle.rest), cosine = cos_near_f32((float)angle.rest);
  float result = angle.quarter & 1u ? sine : cosine;
  return (angle.quarter + 1u) & 2u ? -result : result;
}
""",
        1.6,
    ),
    f64(
        """
/* the tangent: the quotient of sine and cosine, each as a sum */
static inline double tan_f64(double x) {
  angle_f64 angle = reduce_f64(x);
  double square = angle.high * angle.high, half = 0.5 * square;
  POLYNOMIAL(p, sin, square);
  POLYNOMIAL(q, cos, square);
  double sine_rest = angle.high * (square * p) + angle.low * (1.0 - half);
  pair_f64 sine = add_in_order_f64(angle.high, sine_rest);
  pair_f64 cosine = add_in_order_f64(1.0, -half);
  cosine.low += square * square * q - angle.high * angle.low
    - 0.5 * product_error_f64(angle.high, angle.high, square);
  cosine = add_in_order_f64(cosine.high, cosine.low);
  int is_odd = angle.quarter & 1u;
  double above = is_odd ? cosine.high : sine.high, above_low = is_odd ? cosine.low : sine.low;
  double below = is_odd ? -sine.high : cosine.high, below_low = is_odd ? -sine.low : cosine.low;
  double ratio = above / below;
  double left = -product_error_f64(ratio, below, above) + (above_low - ratio * below_low);
  double result = ratio + left / below;
  return choose_f64(__builtin_fabs(x) < 0x1p-27, x, result);
}
""",
        0.95,
    ),
    f32(
        """
/* the tangent */
static inline float tan_f32(float x) {
  angle_f32 angle = reduce_f32(x);
  double square = angle.rest * angle.rest;
  POLYNOMIAL(p, sin_f64, square);
  POLYNOMIAL(q, cos_f64, square);
  double sine = angle.rest + angle.rest * (square * p);
  double cosine = 1.0 + square * (square * q - 0.5);
  double result = angle.quarter & 1u ? -cosine / sine : sine / cosine;
  return __builtin_fabsf(x) < 0x1p-13f ? x : (float)result;
}
""",
        0.51,
    ),
    f64("""
/* sin(pi x + quarter pi / 2) */
static inline double sin_pi_f64(double x, double quarter) {
  double n = rint_f64(x + x), rest = x - 0.5 * n, high = rest * CONSTANT(pi, 0);
  double low = product_error_f64(rest, CONSTANT(pi, 0), high) + rest * CONSTANT(pi, 1);
  double turned = modulo_four_f64(n) + quarter, half = rint_f64(0.5 * turned - 0.25);
  int is_odd = turned - 2.0 * half != 0.0, is_below = half != 2.0 * rint_f64(0.5 * half);
  double wave = is_odd ? cos_near_f64(high, low) : sin_near_f64(high, low);
  return is_below ? -wave : wave;
}
"""),
    f64(
        """
/* sin(pi x) / (pi x), and 1 at 0 */
static inline double sinc_f64(double x) {
  double size = __builtin_fabs(x), below = x * CONSTANT(pi, 0);
  double low = product_error_f64(x, CONSTANT(pi, 0), below) + x * CONSTANT(pi, 1);
  double ratio = sin_pi_f64(x, 0.0) / below;
  double result = size >= 0x1p53 ? 0.0 : ratio - ratio * (low / below);
  return size < 0x1p-30 ? 1.0 : result;
}
""",
        1.9,
    ),
    in_double("sinc"),
)

INVERSES = (
    *both("""
/* asin(size) for size <= 1/2, else asin(sqrt((1 - size) / 2)) */
static inline pair_f64 asin_part_f64(double size) {
  double square = size > 0.5 ? 0.5 * (1.0 - size) : size * size;
  double root = size > 0.5 ? __builtin_sqrt(square) : size;
  POLYNOMIAL(p, asin, square);
  return (pair_f64){ root, root * (square * p) };
}
"""),
    *both(
        """
/* the inverse sine */
static inline double asin_f64(double x) {
  double size = __builtin_fabs(x);
  pair_f64 part = asin_part_f64(size);
  double high = CONSTANT(half_pi, 0) - 2.0 * part.high;
  double low = (CONSTANT(half_pi, 0) - high) - 2.0 * part.high;
  double far = high + (low - (2.0 * part.low - CONSTANT(half_pi, 1)));
  return __builtin_copysign(size > 0.5 ? far : part.high + part.low, x);
}
""",
        (1.2, 1.3),
    ),
    *both(
        """
/* the inverse cosine */
static inline double acos_f64(double x) {
  double size = __builtin_fabs(x);
  pair_f64 part = asin_part_f64(size);
  double angle = part.high + part.low;
  double near = CONSTANT(half_pi, 0) - (__builtin_copysign(angle, x) - CONSTANT(half_pi, 1));
  double left = 2.0 * (CONSTANT(half_pi, 0) - (angle - CONSTANT(half_pi, 1)));
  return size > 0.5 ? x < 0.0 ? left : 2.0 * angle : near;
}
""",
        (1.1, 1.3),
    ),
    *both("""
/* the angle of the point (below, above), neither of them negative */
static inline pair_f64 first_angle_f64(double above, double below) {
  int is_low = above < 0.5 * below, is_high = below < 0.5 * above;
  double top = is_low ? above : is_high ? -below : above - below;
  double bottom = is_low ? below : is_high ? above : above + below;
  double ratio = top / bottom, square = ratio * ratio;
  POLYNOMIAL(p, atan, square);
  double rest = ratio * (square * p);
  double base = is_low ? 0.0 : is_high ? CONSTANT(half_pi, 0) : CONSTANT(quarter_pi, 0);
  double base_low = is_low ? 0.0 : is_high ? CONSTANT(half_pi, 1) : CONSTANT(quarter_pi, 1);
  double sum = base + ratio;
  double low = is_low ? rest : (ratio - (sum - base)) + (rest + base_low);
  return (pair_f64){ sum, low };
}
"""),
    *both(
        """
/* the inverse tangent */
static inline double atan_f64(double x) {
  double size = __builtin_fabs(x);
  double bounded = size > LARGE ? LARGE : size;
  pair_f64 angle = first_angle_f64(bounded, 1.0);
  return __builtin_copysign(angle.high + angle.low, x);
}
""",
        (1.1, 1.4),
        words={"LARGE": ("0x1p60f", "0x1p60")},
    ),
    *both(
        """
/* the angle of the point (x, y), in [-pi, pi] */
static inline double atan2_f64(double y, double x) {
  double above = __builtin_fabs(y), below = __builtin_fabs(x);
  double larger = above > below ? above : below;
  double scale = larger > LARGE ? SHRINK : larger < SMALL ? GROW : 1.0;
  int is_equal = above == below;
  above = is_equal ? larger == 0.0 ? 0.0 : 1.0 : above * scale;
  below = is_equal ? 1.0 : below * scale;
  pair_f64 angle = first_angle_f64(above, below);
  double sum = angle.high + angle.low;
  pair_f64 turned = { CONSTANT(pi, 0) - angle.high, 0.0 };
  turned.low = ((CONSTANT(pi, 0) - turned.high) - angle.high) + (CONSTANT(pi, 1) - angle.low);
  int is_left = __builtin_copysign(1.0, x) < 0.0;
  double result = is_left ? turned.high + turned.low : sum;
  return __builtin_copysign(result, y);
}
""",
        (1.8, 1.9),
        words={
            "LARGE": ("0x1p100f", "0x1p1000"),
            "SHRINK": ("0x1p-8f", "0x1p-8"),
            "SMALL": ("0x1p-60f", "0x1p-900"),
            "GROW": ("0x1p30f", "0x1p100"),
        },
    ),
)

FUNCTIONS = (*REDUCTION, *SINES, *INVERSES)
