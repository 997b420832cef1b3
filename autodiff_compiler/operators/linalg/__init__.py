"""Products and decompositions of matrices."""

from autodiff_compiler.operators.linalg import einsum, matrix_functions, products, qr, svd

__all__ = [
    "einsum",
    "matrix_functions",
    "products",
    "qr",
    "svd",
]
