"""Arithmetic of integers: it wraps around, and a division by zero gives 0, as in NumPy."""

from __future__ import annotations

from autodiff_compiler.emit.c.library.record import CFunction, name_of

#: Templates of every integer dtype. UNSIGNED is the unsigned type, WIDE one that does not promote
#: to a signed type, which would overflow.
_BOTH = """
/* x + y */
static inline TYPE add_ENDING(TYPE x, TYPE y) {
  return (TYPE)((WIDE)x + (WIDE)y);
}

/* x - y */
static inline TYPE sub_ENDING(TYPE x, TYPE y) {
  return (TYPE)((WIDE)x - (WIDE)y);
}

/* x y */
static inline TYPE mul_ENDING(TYPE x, TYPE y) {
  return (TYPE)((WIDE)x * (WIDE)y);
}

/* -x */
static inline TYPE neg_ENDING(TYPE x) {
  return (TYPE)(0 - (WIDE)x);
}

/* x² */
static inline TYPE square_ENDING(TYPE x) {
  return mul_ENDING(x, x);
}

/* the larger of x and y */
static inline TYPE maximum_ENDING(TYPE x, TYPE y) {
  return x > y ? x : y;
}

/* the smaller of x and y */
static inline TYPE minimum_ENDING(TYPE x, TYPE y) {
  return x < y ? x : y;
}

/* x limited to [low, high]; high where low is above it */
static inline TYPE clip_ENDING(TYPE x, TYPE low, TYPE high) {
  return minimum_ENDING(maximum_ENDING(x, low), high);
}

/* x where it is positive, else 0 */
static inline TYPE relu_ENDING(TYPE x) {
  return x > 0 ? x : 0;
}

/* x to the y, y >= 0: NumPy refuses others */
static inline TYPE pow_ENDING(TYPE x, TYPE y) {
  WIDE power = 1, factor = (WIDE)x;
  for (UNSIGNED left = (UNSIGNED)(y > 0 ? y : 0); left; left >>= 1) {
    power = left & 1 ? power * factor : power;
    factor = factor * factor;
  }
  return (TYPE)power;
}

/* x times two to the y */
static inline TYPE shift_left_ENDING(TYPE x, TYPE y) {
  return (UNSIGNED)y < BITS ? (TYPE)((WIDE)x << y) : 0;
}

/* the greatest common divisor */
static inline TYPE gcd_ENDING(TYPE x, TYPE y) {
  UNSIGNED larger = (UNSIGNED)abs_ENDING(x), smaller = (UNSIGNED)abs_ENDING(y);
  while (smaller) {
    UNSIGNED rest = larger % smaller;
    larger = smaller;
    smaller = rest;
  }
  return (TYPE)larger;
}

/* the least common multiple */
static inline TYPE lcm_ENDING(TYPE x, TYPE y) {
  UNSIGNED divisor = (UNSIGNED)gcd_ENDING(x, y);
  UNSIGNED size = (UNSIGNED)abs_ENDING(x), other = (UNSIGNED)abs_ENDING(y);
  return divisor ? (TYPE)((WIDE)(size / divisor) * (WIDE)other) : 0;
}
"""
_SIGNED = """
/* |x|; the lowest number stays */
static inline TYPE abs_ENDING(TYPE x) {
  return x < 0 ? neg_ENDING(x) : x;
}

/* -1, 0 or 1 */
static inline TYPE sign_ENDING(TYPE x) {
  return (TYPE)((x > 0) - (x < 0));
}

/* x / y rounded down, as Python's //; 0 for y = 0 */
static inline TYPE floor_div_ENDING(TYPE x, TYPE y) {
  TYPE divisor = y == 0 || y == -1 ? 1 : y;
  TYPE quotient = (TYPE)(x / divisor), rest = (TYPE)(x % divisor);
  TYPE result = (TYPE)(quotient - (rest != 0 && (rest < 0) != (divisor < 0)));
  return y == 0 ? 0 : y == -1 ? neg_ENDING(x) : result;
}

/* x less a multiple of y, with the sign of y, as Python's %; 0 for y = 0 */
static inline TYPE mod_ENDING(TYPE x, TYPE y) {
  TYPE divisor = y == 0 || y == -1 ? 1 : y, rest = (TYPE)(x % divisor);
  return rest != 0 && (rest < 0) != (divisor < 0) ? (TYPE)(rest + divisor) : rest;
}

/* x less a multiple of y, with the sign of x; 0 for y = 0 */
static inline TYPE fmod_ENDING(TYPE x, TYPE y) {
  return (TYPE)(x % (y == 0 || y == -1 ? 1 : y));
}

/* x by two to the y, rounded down */
static inline TYPE shift_right_ENDING(TYPE x, TYPE y) {
  return (UNSIGNED)y < BITS ? (TYPE)(x >> y) : (TYPE)-(x < 0);
}
"""
_UNSIGNED = """
/* x */
static inline TYPE abs_ENDING(TYPE x) {
  return x;
}

/* 0 or 1 */
static inline TYPE sign_ENDING(TYPE x) {
  return x > 0;
}

/* x / y rounded down; 0 for y = 0 */
static inline TYPE floor_div_ENDING(TYPE x, TYPE y) {
  return y == 0 ? 0 : (TYPE)(x / (y == 0 ? 1 : y));
}

/* x less a multiple of y; 0 for y = 0 */
static inline TYPE mod_ENDING(TYPE x, TYPE y) {
  return (TYPE)(x % (y == 0 ? 1 : y));
}

/* x less a multiple of y; 0 for y = 0 */
static inline TYPE fmod_ENDING(TYPE x, TYPE y) {
  return mod_ENDING(x, y);
}

/* x by two to the y, rounded down */
static inline TYPE shift_right_ENDING(TYPE x, TYPE y) {
  return y < BITS ? (TYPE)(x >> y) : 0;
}
"""


def _functions(bits: int, sign: str) -> list[CFunction]:
    """Returns the functions of one dtype."""
    words = {
        "ENDING": f"{sign}{bits}",
        "UNSIGNED": f"uint{bits}_t",
        "WIDE": f"uint{max(bits, 32)}_t",
        "TYPE": f"{'u' if sign == 'u' else ''}int{bits}_t",
        "BITS": f"{bits}u",
    }
    text = _BOTH + (_UNSIGNED if sign == "u" else _SIGNED)
    for word, new in words.items():
        text = text.replace(word, new)
    return [CFunction(name_of(each), each, 0.0) for each in text.strip("\n").split("\n\n")]


FUNCTIONS = tuple(
    function for bits in (8, 16, 32, 64) for sign in "iu" for function in _functions(bits, sign)
)
