"""Parts that the other functions share: bits of numbers, exact products and sums, rounding."""

from __future__ import annotations

from autodiff_compiler.emit.c.library.record import CFunction, both, f64

_BITS = {
    "MANTISSA": ("23", "52"),
    "SMALL_NUMBER_BITS": ("0x4b000000u", "0x4330000000000000u"),
    "SMALL_NUMBER": ("0x1p23f", "0x1p52"),
}

#: Numbers as bits, and the error of a product.
BITS = (
    *both("""
/* the bits of a number */
static inline uint64_t bits_f64(double x) {
  union { double number; uint64_t bits; } view = { x };
  return view.bits;
}
"""),
    *both("""
/* the number of given bits */
static inline double from_bits_f64(uint64_t bits) {
  union { uint64_t bits; double number; } view = { bits };
  return view.number;
}
"""),
    f64(
        """
/* an integer from 0 to 2^MANTISSA as a number */
static inline double from_small_f64(uint64_t integer) {
  return from_bits_f64(integer | SMALL_NUMBER_BITS) - SMALL_NUMBER;
}
""",
        words=_BITS,
    ),
    f64("""
/* test ? x : y without a branch, so that loads from tables stay unconditional */
static inline double choose_f64(int test, double x, double y) {
  uint64_t mask = -(uint64_t)test;
  return from_bits_f64((bits_f64(x) & mask) | (bits_f64(y) & ~mask));
}
"""),
    *both("""
/* a number as the unrounded sum of two */
typedef struct { double high, low; } pair_f64;
"""),
    f64("""
/* x y - product, exactly, for the rounded product */
static inline double product_error_f64(double x, double y, double product) {
#if defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__aarch64__)
  return __builtin_fma(x, y, -product);
#else
  double c = 0x1.0000002p27 * x, d = 0x1.0000002p27 * y;
  double x_high = c - (c - x), y_high = d - (d - y);
  double x_low = x - x_high, y_low = y - y_high;
  return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
#endif
}
"""),
    f64("""
/* x y without rounding */
static inline pair_f64 multiply_exactly_f64(double x, double y) {
  double product = x * y;
  return (pair_f64){ product, product_error_f64(x, y, product) };
}
"""),
    f64("""
/* x + y without rounding */
static inline pair_f64 add_exactly_f64(double x, double y) {
  double sum = x + y, part = sum - x;
  return (pair_f64){ sum, (x - (sum - part)) + (y - part) };
}
"""),
    f64("""
/* x + y without rounding, |x| >= |y| */
static inline pair_f64 add_in_order_f64(double x, double y) {
  double sum = x + y;
  return (pair_f64){ sum, y - (sum - x) };
}
"""),
)

_ROUND = """
/* {doc} */
static inline double {name}_f64(double x) {{
#if defined(__SSE4_1__) || defined(__aarch64__)
  return __builtin_{name}(x);
#else
  double size = __builtin_fabs(x);
  double nearest = __builtin_copysign((size + SMALL_NUMBER) - SMALL_NUMBER, x);
  {correct}
  return size < SMALL_NUMBER ? __builtin_copysign(nearest, x) : x;
#endif
}}
"""


def _rounding(name: str, doc: str, correct: str) -> tuple[CFunction, CFunction]:
    """Returns the functions that round; ``correct`` turns the nearest integer into theirs."""
    text = _ROUND.format(name=name, doc=doc, correct=correct)
    return both(text.replace("  \n", ""), (0.0, 0.0), _BITS)


ROUNDING = (
    *_rounding(
        "rint", "the nearest integer, ties to even", "nearest = size <= 0.5 ? 0.0 : nearest;"
    ),
    *_rounding(
        "floor", "the largest integer up to x", "nearest = nearest > x ? nearest - 1.0 : nearest;"
    ),
    *_rounding(
        "ceil", "the smallest integer from x on", "nearest = nearest < x ? nearest + 1.0 : nearest;"
    ),
    *_rounding(
        "trunc",
        "x without its fraction",
        "nearest = __builtin_fabs(nearest) > size ? __builtin_fabs(nearest) - 1.0 : nearest;",
    ),
)

FUNCTIONS = (*BITS, *ROUNDING)
