"""The C text of matrix products: small ones by tiles of vectors, large ones by the caller's BLAS.

A tile is up to six rows of the result, two vectors wide. Its sums stay in registers while a loop
runs over the inner size. Columns of the right matrix that are not adjacent are copied first. The
terms of an element are added in the order of the inner index, whatever the width of the vectors.
A dot product is summed in 32 slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autodiff_compiler.emit.c.expressions import C_TYPES
from autodiff_compiler.ir.types import SHORT

#: Names that the text defines.
NAMES = frozenset(
    [
        *"VECTOR_BYTES TILE_ROWS TILE_DEPTH".split(),
        *(
            f"{name}_{short}"
            for name in "Vector LANES COLUMNS tile dot product large_product".split()
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
enum { TILE_ROWS = 6, TILE_DEPTH = 128 };
"""
_PRODUCT = """\
typedef {type} Vector_{short}
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof({type})), may_alias));
enum {{ LANES_{short} = VECTOR_BYTES / sizeof({type}), COLUMNS_{short} = 2 * LANES_{short} }};

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

/* c (m, n) = a (m, k) @ b (k, n), added to it if adds; the second number is the step of an axis */
static void product_{short}(
    int64_t m, int64_t n, int64_t k, {type} *restrict c, int64_t c0, int64_t c1,
    const {type} *restrict a, int64_t a0, int64_t a1, const {type} *restrict b, int64_t b0,
    int64_t b1, _Bool adds) {{
  {type} columns[TILE_DEPTH * COLUMNS_{short}], part[TILE_ROWS * COLUMNS_{short}];
  if (n > 1 ? b1 != 1 && (a0 == 1 || m < n) : a1 != 1) {{ /* transposed, it copies less */
    const {type} *other = a;
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
  for (int64_t q = 0; q < k || q == 0; q += TILE_DEPTH) {{
    const int64_t depth = k - q < TILE_DEPTH ? k - q : TILE_DEPTH;
    const _Bool further = adds || q;
    for (int64_t j = 0; j < n; j += COLUMNS_{short}) {{
      const int64_t width = n - j < COLUMNS_{short} ? n - j : COLUMNS_{short};
      const {type} *right = b + q * b0 + j * b1;
      int64_t step = b0;
      if (b1 != 1 || width < COLUMNS_{short}) {{
        for (int64_t r = 0; r < depth; r++)
          for (int64_t s = 0; s < COLUMNS_{short}; s++)
            columns[r * COLUMNS_{short} + s] = s < width ? right[r * b0 + s * b1] : 0;
        right = columns, step = COLUMNS_{short};
      }}
      const _Bool in_place = c1 == 1 && width == COLUMNS_{short};
      int64_t rows;
      for (int64_t i = 0; i < m; i += rows) {{
        const int64_t rest = m - i;
        rows = rest >= 10 || rest == 6 || rest == 7 ? 6 : rest >= 4 ? 4 : 1;
        const {type} *left = a + i * a0 + q * a1;
        {type} *target = in_place ? c + i * c0 + j : part;
        const int64_t target_step = in_place ? c0 : COLUMNS_{short};
        const _Bool to_target = in_place && further;
        if (rows == 6)
          tile_{short}(6, depth, target, target_step, left, a0, a1, right, step, to_target);
        else if (rows == 4)
          tile_{short}(4, depth, target, target_step, left, a0, a1, right, step, to_target);
        else
          tile_{short}(1, depth, target, target_step, left, a0, a1, right, step, to_target);
        if (!in_place)
          for (int64_t r = 0; r < rows; r++)
            for (int64_t s = 0; s < width; s++) {{
              {type} *place = c + (i + r) * c0 + (j + s) * c1;
              const {type} sum = part[r * COLUMNS_{short} + s];
              *place = further ? *place + sum : sum;
            }}
      }}
    }}
  }}
}}
"""
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
        for text in (_PRODUCT, *[_LARGE] * is_large):
            yield from (*text.format(short=SHORT[dtype], type=C_TYPES[dtype]).splitlines(), "")


__all__ = ["NAMES", "product_lines"]
