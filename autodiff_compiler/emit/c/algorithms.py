"""The C text of algorithms on arrays: sorting, searching, and elimination in small matrices.

Each is a function on adjacent elements, for each dtype: ``argsort_f32``. Arrays that it changes
come before those that it reads alone. A matrix (n, m) has its rows one behind the other. A function
that may fail returns true if it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from autodiff_compiler.emit.c.expressions import ELEMENT_TYPES
from autodiff_compiler.ir.types import SHORT

#: Whether an element stands before another one: of floats and of whole numbers.
_PRECEDES = """\
/* whether x stands before y; a NaN is last in either order */
static inline _Bool precedes_ENDING(TYPE x, TYPE y, _Bool descending) {
  return (descending ? x > y : x < y) | ((y != y) & (x == x));
}
"""
_PRECEDES_WHOLE = """\
/* whether x stands before y */
static inline _Bool precedes_ENDING(TYPE x, TYPE y, _Bool descending) {
  return descending ? x > y : x < y;
}
"""
_SORTING = """\
/* the positions that sort n elements; equal ones keep their order. Short runs are sorted by
   insertion, and then merged, two at a time */
static void argsort_ENDING(
    int64_t n, _Bool descending, int64_t *restrict order, int64_t *restrict merged,
    const TYPE *restrict x) {
  enum { RUN = 16 };
  for (int64_t start = 0; start < n; start += RUN)
    for (int64_t i = start; i < n && i < start + RUN; i++) {
      int64_t place = i;
      for (; place > start && precedes_ENDING(x[i], x[order[place - 1]], descending); place--)
        order[place] = order[place - 1];
      order[place] = i;
    }
  for (int64_t run = RUN; run < n; run *= 2) {
    for (int64_t start = 0; start < n; start += 2 * run) {
      const int64_t middle = start + run < n ? start + run : n;
      const int64_t end = middle + run < n ? middle + run : n;
      int64_t left = start, right = middle;
      for (int64_t i = start; i < end; i++) {
        const _Bool from_right =
            right < end &&
            (left == middle || precedes_ENDING(x[order[right]], x[order[left]], descending));
        merged[i] = order[from_right ? right++ : left++];
      }
    }
    for (int64_t i = 0; i < n; i++) order[i] = merged[i];
  }
}

/* the place of each value in a sorted row of n elements: before its equals, or after them */
static void searchsorted_ENDING(
    int64_t n, int64_t count, _Bool after, int64_t *restrict places, const TYPE *restrict row,
    const TYPE *restrict values) {
  for (int64_t i = 0; i < count; i++) {
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const _Bool is_behind = after ? !precedes_ENDING(values[i], row[middle], 0)
                                    : precedes_ENDING(row[middle], values[i], 0);
      low = is_behind ? middle + 1 : low;
      high = is_behind ? high : middle;
    }
    places[i] = low;
  }
}
"""
_MATRICES = """\
/* the size of x */
static inline TYPE size_ENDING(TYPE x) {
  return x < 0 ? -x : x;
}

/* exchanges the rows i and j of x (n, m) */
static inline void exchange_ENDING(int64_t m, TYPE *x, int64_t i, int64_t j) {
  if (i == j) return;
  for (int64_t k = 0; k < m; k++) {
    const TYPE other = x[i * m + k];
    x[i * m + k] = x[j * m + k];
    x[j * m + k] = other;
  }
}

/* subtracts factor times y from x */
static inline void subtract_ENDING(
    int64_t n, TYPE *restrict x, TYPE factor, const TYPE *restrict y) {
  for (int64_t k = 0; k < n; k++) x[k] -= factor * y[k];
}

/* Gaussian elimination with partial pivoting: x (n, n) becomes its factors L and U. pivots are the
   rows that the steps exchange. Returns true if x is singular */
static _Bool eliminate_ENDING(int64_t n, TYPE *x, int64_t *pivots) {
  _Bool singular = 0;
  for (int64_t k = 0; k < n; k++) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; i++)
      if (size_ENDING(x[i * n + k]) > size_ENDING(x[best * n + k])) best = i;
    pivots[k] = best;
    exchange_ENDING(n, x, k, best);
    const TYPE *row = x + k * n;
    if (row[k] == 0) {
      singular = 1;
      continue;
    }
    for (int64_t i = k + 1; i < n; i++) {
      x[i * n + k] /= row[k];
      subtract_ENDING(n - k - 1, x + i * n + k + 1, x[i * n + k], row + k + 1);
    }
  }
  return singular;
}

/* x (n, m) becomes the solution of a @ solution = x, and a (n, n) its factors. Returns true if a is
   singular */
static _Bool solve_ENDING(
    int64_t n, int64_t m, TYPE *restrict x, TYPE *restrict a, int64_t *restrict pivots) {
  if (eliminate_ENDING(n, a, pivots)) return 1;
  for (int64_t k = 0; k < n; k++) exchange_ENDING(m, x, k, pivots[k]);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < i; k++) subtract_ENDING(m, x + i * m, a[i * n + k], x + k * m);
  for (int64_t i = n - 1; i >= 0; i--) {
    for (int64_t k = i + 1; k < n; k++) subtract_ENDING(m, x + i * m, a[i * n + k], x + k * m);
    for (int64_t j = 0; j < m; j++) x[i * m + j] /= a[i * n + i];
  }
  return 0;
}

/* the determinant of x (n, n), which becomes its factors. Powers of two are split off on the way,
   so that no product of some pivots overflows */
static void det_ENDING(
    int64_t n, TYPE *restrict determinant, TYPE *restrict x, int64_t *restrict pivots) {
  double product = 1;
  int64_t scale = 0;
  eliminate_ENDING(n, x, pivots);
  for (int64_t k = 0; k < n; k++) {
    product *= pivots[k] == k ? x[k * n + k] : -x[k * n + k];
    for (; 1 < __builtin_fabs(product) && __builtin_fabs(product) < __builtin_inf(); scale++)
      product *= 0x1p-64;
    for (; 0 < __builtin_fabs(product) && __builtin_fabs(product) < 0x1p-64; scale--)
      product *= 0x1p64;
  }
  for (; scale > 0; scale--) product *= 0x1p64;
  for (; scale < 0; scale++) product *= 0x1p-64;
  *determinant = (TYPE)product;
}

/* the sign of the determinant of x (n, n) and the logarithm of its size; x becomes its factors */
static void slogdet_ENDING(
    int64_t n, TYPE *restrict sign, TYPE *restrict logarithm, TYPE *restrict x,
    int64_t *restrict pivots) {
  const _Bool singular = eliminate_ENDING(n, x, pivots);
  _Bool negative = 0;
  double sum = 0;
  for (int64_t k = 0; k < n; k++) {
    negative ^= (pivots[k] != k) ^ (x[k * n + k] < 0);
    sum += log_f64(size_ENDING(x[k * n + k]));
  }
  *sign = singular ? 0 : negative ? -1 : 1;
  *logarithm = singular ? -(TYPE)__builtin_inf() : (TYPE)sum;
}

/* exchanges the columns i and j of x (n, n) */
static inline void exchange_columns_ENDING(int64_t n, TYPE *x, int64_t i, int64_t j) {
  for (int64_t k = 0; k < n && i != j; k++) {
    const TYPE other = x[k * n + i];
    x[k * n + i] = x[k * n + j];
    x[k * n + j] = other;
  }
}

/* Gaussian elimination with complete pivoting: x (n, n) becomes L and D V, with ones on the
   diagonals of L and V. Returns the sign of the exchanges of rows and columns */
static TYPE eliminate_fully_ENDING(int64_t n, TYPE *x, int64_t *rows, int64_t *columns) {
  TYPE sign = 1;
  for (int64_t k = 0; k < n; k++) {
    rows[k] = columns[k] = k;
    for (int64_t i = k; i < n; i++)
      for (int64_t j = k; j < n; j++)
        if (size_ENDING(x[i * n + j]) > size_ENDING(x[rows[k] * n + columns[k]]))
          rows[k] = i, columns[k] = j;
    sign = (rows[k] != k) ^ (columns[k] != k) ? -sign : sign;
    exchange_ENDING(n, x, k, rows[k]);
    exchange_columns_ENDING(n, x, k, columns[k]);
    const TYPE *row = x + k * n;
    for (int64_t i = k + 1; i < n && row[k] != 0; i++) {
      x[i * n + k] /= row[k];
      subtract_ENDING(n - k - 1, x + i * n + k + 1, x[i * n + k], row + k + 1);
    }
  }
  return sign;
}

/* the element (i, j) of V, j > i */
static inline TYPE upper_ENDING(int64_t n, const TYPE *x, int64_t i, int64_t j) {
  return x[i * n + i] == 0 ? 0 : x[i * n + j] / x[i * n + i];
}

/* m (n, n) becomes inverse(L).T @ m @ inverse(V).T, with all exchanges undone: the minors of a
   product are the product of the minors, and these are the minors of L and V */
static void multiply_minors_ENDING(
    int64_t n, TYPE *m, const TYPE *x, const int64_t *rows, const int64_t *columns) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = n - 1; j >= 0; j--)
      for (int64_t k = j + 1; k < n; k++) m[i * n + j] -= upper_ENDING(n, x, j, k) * m[i * n + k];
  for (int64_t i = n - 1; i >= 0; i--)
    for (int64_t k = i + 1; k < n; k++) subtract_ENDING(n, m + i * n, x[k * n + i], m + k * n);
  for (int64_t k = n - 1; k >= 0; k--) {
    exchange_ENDING(n, m, k, rows[k]);
    exchange_columns_ENDING(n, m, k, columns[k]);
  }
}

/* the product of the elements of D but for two of them */
static inline TYPE others_ENDING(int64_t n, const TYPE *x, int64_t i, int64_t j) {
  TYPE product = 1;
  for (int64_t k = 0; k < n; k++) product *= k == i || k == j ? 1 : x[k * n + k];
  return product;
}

/* the signed minors of x (n, n), which becomes its factors */
static void cofactors_ENDING(
    int64_t n, TYPE *restrict minors, TYPE *restrict x, int64_t *restrict rows,
    int64_t *restrict columns) {
  const TYPE sign = eliminate_fully_ENDING(n, x, rows, columns);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      minors[i * n + j] = i == j ? sign * others_ENDING(n, x, i, i) : 0;
  multiply_minors_ENDING(n, minors, x, rows, columns);
}

/* the derivative of the signed minors of x (n, n) along y (n, n). Both are changed: x becomes L and
   D V, and y becomes inverse(L) @ y @ inverse(V), along which the minors of D change */
static void cofactors_slope_ENDING(
    int64_t n, TYPE *restrict slope, TYPE *restrict x, TYPE *restrict y, int64_t *restrict rows,
    int64_t *restrict columns) {
  const TYPE sign = eliminate_fully_ENDING(n, x, rows, columns);
  for (int64_t k = 0; k < n; k++) {
    exchange_ENDING(n, y, k, rows[k]);
    exchange_columns_ENDING(n, y, k, columns[k]);
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < i; k++) subtract_ENDING(n, y + i * n, x[i * n + k], y + k * n);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t k = 0; k < j; k++) y[i * n + j] -= y[i * n + k] * upper_ENDING(n, x, k, j);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      TYPE sum = i == j ? 0 : -y[j * n + i] * others_ENDING(n, x, i, j);
      for (int64_t k = 0; k < n && i == j; k++)
        sum += k == i ? 0 : y[k * n + k] * others_ENDING(n, x, i, k);
      slope[i * n + j] = sign * sum;
    }
  multiply_minors_ENDING(n, slope, x, rows, columns);
}

/* x (n, n), of which the lower triangle is read, becomes its Cholesky factor. Returns true if it is
   not positive definite */
static _Bool cholesky_ENDING(int64_t n, TYPE *x) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i; j++) {
      TYPE rest = x[i * n + j];
      for (int64_t k = 0; k < j; k++) rest -= x[i * n + k] * x[j * n + k];
      if (j == i && rest <= 0) return 1;
      x[i * n + j] = j == i ? sqrt_ENDING(rest) : rest / x[j * n + j];
    }
    for (int64_t j = i + 1; j < n; j++) x[i * n + j] = 0;
  }
  return 0;
}
"""
_NAME = re.compile(r"^static .*?(\w+)\(", re.MULTILINE)


def _texts(dtype: str) -> Iterator[tuple[str, str]]:
    """Yields the name and the C of each function for a dtype, in an order that compiles."""
    is_float = dtype.startswith("float")
    template = (_PRECEDES if is_float else _PRECEDES_WHOLE) + "\n" + _SORTING
    if is_float:
        template += "\n" + _MATRICES
    text = template.replace("ENDING", SHORT[dtype]).replace("TYPE", ELEMENT_TYPES[dtype])
    for each in text.strip("\n").split("\n\n"):
        name = _NAME.search(each)
        assert name is not None, each
        yield name[1], each


#: The text of each function.
ALGORITHMS: Mapping[str, str] = {
    name: text for dtype in ELEMENT_TYPES for name, text in _texts(dtype)
}


def words_of(names: Iterable[str]) -> set[str]:
    """Returns the words in the C of some functions and of all that they call."""
    words: set[str] = set()
    waiting = [*names]
    while waiting:
        more = {*re.findall(r"\w+", ALGORITHMS[waiting.pop()])}
        waiting += [each for each in ALGORITHMS if each in more - words]
        words |= more
    return words


def algorithm_lines(names: Iterable[str]) -> Iterator[str]:
    """Yields the lines of some functions and of all that they call."""
    words = words_of(names)
    for name, text in ALGORITHMS.items():
        if name in words:
            yield from (*text.splitlines(), "")


__all__ = ["ALGORITHMS", "algorithm_lines", "words_of"]
