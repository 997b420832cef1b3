"""Gradients in C, written by hand in the form that the compiler prints, with their descriptions."""

from __future__ import annotations

from dataclasses import replace

from autodiff_compiler.runtime.native import Array, Description, ErrorRow, Number, Scalar

HEAD = """\
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

"""
SERVICES = """\
typedef struct Services Services;
struct Services {
    void *(*reallocate)(const Services *services, void *memory, int64_t bytes);
    int32_t (*poll)(const Services *services);
    void (*product_f32)(const Services *services, int32_t transpose_a, int32_t transpose_b,
                        int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                        const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
    void (*product_f64)(const Services *services, int32_t transpose_a, int32_t transpose_b,
                        int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                        int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                        int64_t ldc);
    int64_t *details;
};

"""

#: value = sum(x * x * y), with d_x = 2 * x * y and d_y = sum(x * x).
SQUARES = (
    HEAD
    + """\
static int32_t squares(const float *x, double y, float *value, float *d_x, double *d_y) {
    double sum = 0;
    for (int64_t i = 0; i < 6; i++) {
        sum += (double)x[i] * x[i];
        d_x[i] = (float)(2 * x[i] * y);
    }
    *value = (float)(sum * y);
    *d_y = sum;
    return 0;
}
int32_t squares_call(void **p) { return squares(p[0], *(double *)p[1], p[2], p[3], p[4]); }
"""
)
MATRIX = Array("float32", (2, 3))
CALL_SQUARES = Description(
    "squares",
    "squares_call",
    (MATRIX, Number("float")),
    (Scalar("float32"), MATRIX, Number("float")),
    packing=(0, (1, 2)),
)

#: The same for any number of rows, with a workspace for the squares.
ROWS = (
    HEAD
    + """\
int32_t rows_call(void **p) {
    const double *x = p[0];
    int64_t n = *(int64_t *)p[1];
    double *value = p[2], *d_x = p[3], *work = p[4];
    if ((uintptr_t)work % 64) return 16;
    for (int64_t i = 0; i < 3 * n; i++) work[i] = x[i] * x[i];
    *value = 0;
    for (int64_t i = 0; i < 3 * n; i++) {
        *value += work[i];
        d_x[i] = 2 * x[i];
    }
    return 0;
}
int32_t rows_sizes(int64_t *sizes) {
    sizes[1] = 3 * sizes[0] * 8;
    return sizes[0] == 13;
}
"""
)
TALL = Array("float64", ("n", 3))
CALL_ROWS = Description(
    "rows",
    "rows_call",
    (TALL,),
    (Array("float64", ()), TALL),
    errors=(ErrorRow(AssertionError, "the workspace is not aligned"),),
    least_size=2,
    derived=("bytes",),
    derive_sizes="rows_sizes",
    workspace="bytes",
)

#: a @ b for a transposed or plain, by the product of the services.
PRODUCT = (
    HEAD
    + SERVICES
    + """\
int32_t product_call(void **p) {
    const Services *services = p[7];
    int64_t m = *(int64_t *)p[3], k = *(int64_t *)p[4], n = *(int64_t *)p[5];
    if (!services->product_TYPE) return 16;
    bool transposed = *(bool *)p[2];
    services->product_TYPE(services, transposed, 0, transposed ? k : m, n, transposed ? m : k, 2,
                           p[0], k, p[1], n, 0, p[6], n);
    return 0;
}
"""
)


def product(dtype: str, transposed: bool) -> tuple[str, Description]:
    """Returns the C text and the description of ``2 * a @ b``, or with the transpose of ``a``."""
    shapes = (("m", "k"), ("m" if transposed else "k", "n"), ("k" if transposed else "m", "n"))
    a, b, c = (Array(dtype, shape) for shape in shapes)
    text = PRODUCT.replace("TYPE", {"float32": "f32", "float64": "f64"}[dtype])
    rows = (ErrorRow(AssertionError, "there is no product"),)
    inputs = (a, b, Number("bool"))
    about = Description("product", "product_call", inputs, (c,), errors=rows, services=True)
    return text, about


#: A tape that doubles: the sum of 0, 1, ... count - 1 by way of memory; -1 wants too much memory.
TAPE = (
    HEAD
    + SERVICES
    + """\
int32_t tape_call(void **p) {
    int64_t count = *(int64_t *)p[0], *sum = p[1], capacity = 1, *tape = NULL, *other = NULL;
    const Services *services = p[2];
    other = services->reallocate(services, NULL, 100);
    if (!other || (uintptr_t)other % 64) return 16;
    other[0] = 77;
    if (count < 0) return services->reallocate(services, other, INT64_MAX / 2) ? 16 : 1;
    tape = services->reallocate(services, NULL, capacity * 8);
    if (!tape) return 1;
    for (int64_t i = 0; i < count; i++) {
        if (i == capacity) {
            capacity *= 2;
            tape = services->reallocate(services, tape, capacity * 8);
            if (!tape) return 1;
            if ((uintptr_t)tape % 64) return 16;
        }
        tape[i] = i;
    }
    *sum = 0;
    for (int64_t i = count - 1; i >= 0; i--) *sum += tape[i];
    if (count % 2) services->reallocate(services, tape, 0);
    return other[0] == 77 ? 0 : 16;
}
"""
)
CALL_TAPE = Description(
    "tape",
    "tape_call",
    (Number("int"),),
    (Number("int"),),
    errors=(ErrorRow(AssertionError, "memory is not aligned, or was changed"),),
    services=True,
)

#: x[k], with Python's exception for a place outside.
ITEM = (
    HEAD
    + SERVICES
    + """\
int32_t item_call(void **p) {
    int64_t k = *(int64_t *)p[1];
    const Services *services = p[3];
    if (k == 99) return 16;
    if (k == 98) return 40;
    if (k < 0 || k >= 4) {
        services->details[0] = k;
        services->details[1] = 4;
        return 17;
    }
    *(int64_t *)p[2] = ((int64_t *)p[0])[k];
    return 0;
}
"""
)
CALL_ITEM = Description(
    "item",
    "item_call",
    (Array("int64", (4,)), Number("int")),
    (Scalar("int64"),),
    errors=(
        ErrorRow(ZeroDivisionError, "{a brace}"),
        ErrorRow(IndexError, "index {0} is out of bounds for axis 0 with size {1}", True),
    ),
    services=True,
)

#: Counts until the flag is set or an exception is waiting. Returns whether the flag was set.
WAIT = (
    HEAD
    + SERVICES
    + """\
int32_t wait_call(void **p) {
    const volatile int32_t *flag = p[0];
    const Services *services = p[2];
    for (int64_t k = 0; k < 20000000000; k++) {
        if (*flag) {
            *(bool *)p[1] = true;
            return 0;
        }
        if (k % 1000 == 0 && services->poll(services)) return 2;
    }
    *(bool *)p[1] = false;
    return 0;
}
"""
)
CALL_WAIT = Description(
    "wait", "wait_call", (Array("int32", (1,)),), (Number("bool"),), services=True
)
CALL_WAIT_LONG = replace(CALL_WAIT, is_long=True)
