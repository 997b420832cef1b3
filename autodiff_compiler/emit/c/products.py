"""The C text of matrix products: small ones by tiles of vectors, large ones by the caller's BLAS.

A tile is up to six rows of the result, two vectors wide. Its sums stay in registers while a loop
runs over the inner size. Columns of the right matrix that are not adjacent are copied first. The
terms of an element are added in the order of the inner index, whatever the width of the vectors.
A dot product is summed in 32 slots. Products of few rows or columns with many terms are summed like
dot products, if the terms are adjacent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autodiff_compiler.emit.c.expressions import C_TYPES
from autodiff_compiler.ir.types import SHORT

#: Names that the text defines.
NAMES = frozenset(
    [
        *"VECTOR_BYTES CHOICE TILE_ROWS TILE_DEPTH ROW_STEP DOT_DEPTH tile_rows".split(),
        *(
            f"{name}_{short}"
            for name in (
                "Vector Four Places LANES COLUMNS SLOTS PANEL HEIGHT tile turn copy_columns"
                " copy_rows dot dots long_dots product large_product"
            ).split()
            for short in ("f32", "f64")
        ),
    ]
)
_SIZES = """\
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#if defined(__clang__)
#define CHOICE(a, b, type, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define CHOICE(a, b, type, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif
enum { TILE_ROWS = 6, TILE_DEPTH = 128, ROW_STEP = TILE_DEPTH + 4, DOT_DEPTH = 1024 };

/* the rows of the next tile, if `rest` rows are left: 6 or 5, or fewer if few are left */
static inline int64_t tile_rows(int64_t rest) {
  const int64_t beyond = rest % TILE_ROWS;
  if (!beyond) return TILE_ROWS;
  return rest >= 5 * (TILE_ROWS - beyond) ? 5 : rest >= 4 ? 4 : rest;
}
"""
_PRODUCT = """\
typedef {type} Vector_{short}
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof({type})), may_alias));
typedef {type} Four_{short}
    __attribute__((vector_size(4 * sizeof({type})), aligned(sizeof({type})), may_alias));
typedef {integer} Places_{short} __attribute__((vector_size(4 * sizeof({type}))));
enum {{
  LANES_{short} = VECTOR_BYTES / sizeof({type}),
  COLUMNS_{short} = 2 * LANES_{short},
  SLOTS_{short} = 64 / sizeof({type}),
  PANEL_{short} = 128 / sizeof({type}), /* rows that are not longer need no copy */
  HEIGHT_{short} = 288 / sizeof({type}) /* rows of a block */
}};

/* c (rows, COLUMNS) = a (rows, k) @ b (k, COLUMNS), added to it if adds; rows is a constant */
static inline __attribute__((always_inline)) void tile_{short}(
    const int rows, int64_t k, {type} *c, int64_t c0, const {type} *a, int64_t a0, int64_t a1,
    const {type} *b, int64_t b0, _Bool adds) {{
  Vector_{short} left[TILE_ROWS], right[TILE_ROWS];
  for (int r = 0; r < rows; r++) {{
    left[r] = right[r] = (Vector_{short}){{0}};
    if (adds) {{
      left[r] = *(const Vector_{short} *)(c + r * c0);
      right[r] = *(const Vector_{short} *)(c + r * c0 + LANES_{short});
    }}
  }}
  for (int64_t q = 0; q < k; q++, a += a1, b += b0) {{
    const Vector_{short} b_left = *(const Vector_{short} *)b;
    const Vector_{short} b_right = *(const Vector_{short} *)(b + LANES_{short});
    for (int r = 0; r < rows; r++) {{
      left[r] += a[r * a0] * b_left;
      right[r] += a[r * a0] * b_right;
    }}
  }}
  for (int r = 0; r < rows; r++) {{
    *(Vector_{short} *)(c + r * c0) = left[r];
    *(Vector_{short} *)(c + r * c0 + LANES_{short}) = right[r];
  }}
}}

/* to (4, 4) = from (4, 4), transposed; the steps are those of rows */
static inline void turn_{short}({type} *to, int64_t t0, const {type} *from, int64_t f0) {{
  const Four_{short} a = *(const Four_{short} *)from, b = *(const Four_{short} *)(from + f0);
  const Four_{short} c = *(const Four_{short} *)(from + 2 * f0);
  const Four_{short} d = *(const Four_{short} *)(from + 3 * f0);
  const Four_{short} ac = CHOICE(a, c, Places_{short}, 0, 4, 1, 5);
  const Four_{short} bd = CHOICE(b, d, Places_{short}, 0, 4, 1, 5);
  const Four_{short} ca = CHOICE(a, c, Places_{short}, 2, 6, 3, 7);
  const Four_{short} db = CHOICE(b, d, Places_{short}, 2, 6, 3, 7);
  *(Four_{short} *)to = CHOICE(ac, bd, Places_{short}, 0, 4, 1, 5);
  *(Four_{short} *)(to + t0) = CHOICE(ac, bd, Places_{short}, 2, 6, 3, 7);
  *(Four_{short} *)(to + 2 * t0) = CHOICE(ca, db, Places_{short}, 0, 4, 1, 5);
  *(Four_{short} *)(to + 3 * t0) = CHOICE(ca, db, Places_{short}, 2, 6, 3, 7);
}}

/* copies (depth, width) elements to rows of COLUMNS; columns beyond the width are zeros */
static void copy_columns_{short}(
    int64_t depth, int64_t width, {type} *restrict to, const {type} *restrict b, int64_t b0,
    int64_t b1) {{
  if (b1 == 1 && width == COLUMNS_{short}) {{
    for (int64_t r = 0; r < depth; r++, to += COLUMNS_{short}, b += b0) {{
      *(Vector_{short} *)to = *(const Vector_{short} *)b;
      *(Vector_{short} *)(to + LANES_{short}) = *(const Vector_{short} *)(b + LANES_{short});
    }}
    return;
  }}
  if (width < COLUMNS_{short})
    for (int64_t r = 0; r < 2 * depth; r++)
      *(Vector_{short} *)(to + r * LANES_{short}) = (Vector_{short}){{0}};
  int64_t turned = 0; /* columns that are copied already */
  const int64_t fours = depth / 4 * 4;
  if (b0 == 1)
    for (; turned + 4 <= width; turned += 4)
      for (int64_t r = 0; r < fours; r += 4)
        turn_{short}(to + r * COLUMNS_{short} + turned, COLUMNS_{short}, b + r + turned * b1, b1);
  for (int64_t r = 0; r < depth; r++)
    for (int64_t s = r < fours ? turned : 0; s < width; s++)
      to[r * COLUMNS_{short} + s] = b[r * b0 + s * b1];
}}

/* copies (height, depth) elements for tiles: adjacent rows, or adjacent columns of each tile */
static void copy_rows_{short}(
    int64_t height, int64_t depth, {type} *restrict to, const {type} *restrict a, int64_t a0,
    int64_t a1) {{
  if (a1 == 1) {{
    for (int64_t i = 0; i < height; i++)
      for (int64_t q = 0; q < depth; q++) to[i * ROW_STEP + q] = a[i * a0 + q];
    return;
  }}
  int64_t rows;
  for (int64_t i = 0; i < height; i += rows, to += rows * ROW_STEP, a += rows * a0) {{
    rows = tile_rows(height - i);
    if (rows == TILE_ROWS && a0 == 1)
      for (int64_t q = 0; q < depth; q++)
        for (int r = 0; r < TILE_ROWS; r++) to[q * TILE_ROWS + r] = a[q * a1 + r];
    else
      for (int64_t q = 0; q < depth; q++)
        for (int64_t r = 0; r < rows; r++) to[q * rows + r] = a[q * a1 + r * a0];
  }}
}}

/* the dot product of two vectors of adjacent elements, summed in 32 slots */
static {type} dot_{short}(int64_t n, const {type} *a, const {type} *b) {{
  {type} slots[32] = {{0}};
  int64_t i = 0;
  for (; i + 32 <= n; i += 32)
    for (int s = 0; s < 32; s++) slots[s] += a[i + s] * b[i + s];
  for (; i < n; i++) slots[i % 32] += a[i] * b[i];
  for (int half = 16; half; half /= 2)
    for (int s = 0; s < half; s++) slots[s] += slots[s + half];
  return slots[0];
}}

/* c (rows, columns) = a (rows, k) @ b (k, columns), whose inner elements are adjacent; the sums of
   an element have 64 bytes of slots; rows and columns are constants */
static inline __attribute__((always_inline)) void dots_{short}(
    const int rows, const int columns, int64_t k, {type} *c, int64_t c0, int64_t c1,
    const {type} *a, int64_t a0, const {type} *b, int64_t b1, _Bool adds) {{
  Vector_{short} sums[2][3][64 / VECTOR_BYTES];
  for (int r = 0; r < rows; r++)
    for (int s = 0; s < columns; s++)
      for (int v = 0; v < 64 / VECTOR_BYTES; v++) sums[r][s][v] = (Vector_{short}){{0}};
  int64_t q = 0;
  for (; q + SLOTS_{short} <= k; q += SLOTS_{short})
    for (int v = 0; v < 64 / VECTOR_BYTES; v++)
      for (int s = 0; s < columns; s++) {{
        const Vector_{short} right = *(const Vector_{short} *)(b + s * b1 + q + v * LANES_{short});
        for (int r = 0; r < rows; r++)
          sums[r][s][v] += *(const Vector_{short} *)(a + r * a0 + q + v * LANES_{short}) * right;
      }}
  for (int r = 0; r < rows; r++)
    for (int s = 0; s < columns; s++) {{
      {type} slots[SLOTS_{short}];
      for (int v = 0; v < 64 / VECTOR_BYTES; v++)
        *(Vector_{short} *)(slots + v * LANES_{short}) = sums[r][s][v];
      for (int64_t i = 0; i < k - q; i++) slots[i] += a[r * a0 + q + i] * b[s * b1 + q + i];
      for (int half = SLOTS_{short} / 2; half; half /= 2)
        for (int i = 0; i < half; i++) slots[i] += slots[i + half];
      {type} *place = c + r * c0 + s * c1;
      *place = adds ? *place + slots[0] : slots[0];
    }}
}}

/* the same for any numbers of rows, which are few, and columns */
static void long_dots_{short}(
    int64_t m, int64_t n, int64_t k, {type} *c, int64_t c0, int64_t c1, const {type} *a,
    int64_t a0, const {type} *b, int64_t b1, _Bool adds) {{
  for (int64_t q = 0; q < k; q += DOT_DEPTH, adds = 1) {{
    const int64_t depth = k - q < DOT_DEPTH ? k - q : DOT_DEPTH;
    for (int64_t j = 0, columns; j < n; j += columns) {{
      columns = n - j < 3 ? 1 : 3;
      for (int64_t i = 0, rows; i < m; i += rows) {{
        rows = m - i < 2 ? 1 : 2;
        {type} *place = c + i * c0 + j * c1;
        const {type} *left = a + i * a0 + q, *right = b + j * b1 + q;
        if (rows == 2 && columns == 3)
          dots_{short}(2, 3, depth, place, c0, c1, left, a0, right, b1, adds);
        else if (rows == 2)
          dots_{short}(2, 1, depth, place, c0, c1, left, a0, right, b1, adds);
        else if (columns == 3)
          dots_{short}(1, 3, depth, place, c0, c1, left, a0, right, b1, adds);
        else
          dots_{short}(1, 1, depth, place, c0, c1, left, a0, right, b1, adds);
      }}
    }}
  }}
}}

/* c (m, n) = a (m, k) @ b (k, n), added to it if adds; the second number is the step of an axis */
static void product_{short}(
    int64_t m, int64_t n, int64_t k, {type} *restrict c, int64_t c0, int64_t c1,
    const {type} *restrict a, int64_t a0, int64_t a1, const {type} *restrict b, int64_t b0,
    int64_t b1, _Bool adds) {{
  {type} columns[TILE_DEPTH * COLUMNS_{short}], part[TILE_ROWS * COLUMNS_{short}];
  {type} block[HEIGHT_{short} * ROW_STEP];
  /* about the cycles for each q, as it is and transposed */
  const int64_t across =
      (n + COLUMNS_{short} - 1) / COLUMNS_{short} * m + (b1 == 1 ? 0 : n / 2);
  const int64_t along =
      (m + COLUMNS_{short} - 1) / COLUMNS_{short} * n + (a0 == 1 ? 0 : m / 2);
  const _Bool is_row = m == 1 && a1 == 1 && b0 == 1;
  if (n == 1 ? a1 != 1 : is_row || 4 * along < 3 * across) {{
    const {type} *other = a; /* the transposed product */
    int64_t swap = m;
    m = n, n = swap;
    swap = c0, c0 = c1, c1 = swap;
    a = b, b = other;
    swap = a0, a0 = b1, b1 = swap;
    swap = a1, a1 = b0, b0 = swap;
  }}
  if (n == 1 && a1 == 1 && b0 == 1) {{
    for (int64_t i = 0; i < m; i++) {{
      const {type} sum = dot_{short}(k, a + i * a0, b);
      c[i * c0] = adds ? c[i * c0] + sum : sum;
    }}
    return;
  }}
  if (a1 == 1 && b0 == 1 && k >= DOT_DEPTH / 4 && (m <= 8 || n <= 8)) {{
    if (m <= n)
      long_dots_{short}(m, n, k, c, c0, c1, a, a0, b, b1, adds);
    else
      long_dots_{short}(n, m, k, c, c1, c0, b, b1, a, a0, adds);
    return;
  }}
  const _Bool copies_rows = n > 8 * COLUMNS_{short};
  const int64_t most = copies_rows ? HEIGHT_{short} : m;
  for (int64_t q = 0; q < k || q == 0; q += TILE_DEPTH) {{
    const int64_t depth = k - q < TILE_DEPTH ? k - q : TILE_DEPTH;
    const _Bool further = adds || q;
    for (int64_t first = 0; first < m; first += most) {{
      const int64_t height = m - first < most ? m - first : most;
      const {type} *left = a + first * a0 + q * a1;
      if (copies_rows) copy_rows_{short}(height, depth, block, left, a0, a1);
      for (int64_t j = 0; j < n; j += COLUMNS_{short}) {{
        const int64_t width = n - j < COLUMNS_{short} ? n - j : COLUMNS_{short};
        const {type} *right = b + q * b0 + j * b1;
        int64_t step = b0;
        if (b1 != 1 || width < COLUMNS_{short} || (height > 2 * TILE_ROWS && b0 > PANEL_{short})) {{
          copy_columns_{short}(depth, width, columns, right, b0, b1);
          right = columns, step = COLUMNS_{short};
        }}
        const _Bool in_place = c1 == 1 && width == COLUMNS_{short};
        const _Bool to_target = in_place && further;
        int64_t rows;
        for (int64_t i = 0; i < height; i += rows) {{
          rows = tile_rows(height - i);
          const {type} *from = copies_rows ? block + i * ROW_STEP : left + i * a0;
          const int64_t f0 = !copies_rows ? a0 : a1 == 1 ? ROW_STEP : 1;
          const int64_t f1 = !copies_rows || a1 == 1 ? a1 : rows;
          {type} *target = in_place ? c + (first + i) * c0 + j : part;
          const int64_t t0 = in_place ? c0 : COLUMNS_{short};
          switch (rows) {{
{cases}
          }}
          if (!in_place)
            for (int64_t r = 0; r < rows; r++)
              for (int64_t s = 0; s < width; s++) {{
                {type} *place = c + (first + i + r) * c0 + (j + s) * c1;
                const {type} sum = part[r * COLUMNS_{short} + s];
                *place = further ? *place + sum : sum;
              }}
        }}
      }}
    }}
  }}
}}
"""
_CASE = """\
            case {rows}:
              tile_{short}({rows}, depth, target, t0, from, f0, f1, right, step, to_target);
              break;"""
_LARGE = """\
/* the same product by the BLAS of the caller, if there is one that takes these steps */
static void large_product_{short}(
    const Services *services, int64_t m, int64_t n, int64_t k, {type} *restrict c, int64_t c0,
    int64_t c1, const {type} *restrict a, int64_t a0, int64_t a1, const {type} *restrict b,
    int64_t b0, int64_t b1, _Bool adds) {{
  const _Bool a_turned = a1 != 1, b_turned = b1 != 1;
  const int64_t lda = a_turned ? a1 : a0, ldb = b_turned ? b1 : b0;
  const _Bool fits = (a_turned ? a0 == 1 && lda >= m : lda >= k) &&
                     (b_turned ? b0 == 1 && ldb >= k : ldb >= n) && c1 == 1 && c0 >= n;
  if (fits && services->product_{short})
    services->product_{short}(services, a_turned, b_turned, m, n, k, 1, a, lda, b, ldb, adds,
                              c, c0);
  else
    product_{short}(m, n, k, c, c0, c1, a, a0, a1, b, b0, b1, adds);
}}
"""


def product_lines(wanted: Mapping[str, bool]) -> Iterator[str]:
    """Yields the lines of the functions for the products of each wanted dtype.

    The value of a dtype is True if some of its products are large.
    """
    if wanted:
        yield from (*_SIZES.splitlines(), "")
    for dtype, is_large in wanted.items():
        names = {
            "short": SHORT[dtype],
            "type": C_TYPES[dtype],
            "integer": C_TYPES[dtype.replace("float", "int")],
        }
        names["cases"] = "\n".join(_CASE.format(rows=rows, **names) for rows in range(6, 0, -1))
        for text in (_PRODUCT, *[_LARGE] * is_large):
            yield from (*text.format(**names).splitlines(), "")


__all__ = ["NAMES", "product_lines"]
