"""Products and decompositions of matrices."""

from autodiff_compiler.operators.linalg import (
    einsum,
    joined_products,
    matrix_functions,
    products,
    qr,
    svd,
)

__all__ = [
    "einsum",
    "joined_products",
    "matrix_functions",
    "products",
    "qr",
    "svd",
]
