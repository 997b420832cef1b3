"""Functions of whole matrices: inverse, determinant, solution of equations, Cholesky factor.

Each works on a matrix or on a stack of them, the last two axes. They compute in float32 or float64;
float16 and integers are taken in float32. The derivatives are those of M. Giles, "An extended
collection of matrix derivative results for forward and reverse mode AD" (2008), section 2. The
Cholesky factor's are those of I. Murray, "Differentiation of the Cholesky decomposition" (2016).
The pseudo-inverse's are those of G. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973).
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.errors import DTypeError, ShapeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Type
from autodiff_compiler.operators.core.declare import broadcast_shapes, zero_gradient
from autodiff_compiler.operators.core.families import floating
from autodiff_compiler.operators.core.structure import (
    expand_dims,
    sum_,
    swap_last_axes,
    unbroadcast,
)
from autodiff_compiler.operators.linalg.products import matmul
from autodiff_compiler.operators.windows.rearrange import tril


def _wide(types: Sequence[Type]) -> str | None:
    """Returns the dtype that LAPACK computes in."""
    dtype = floating(types)
    return "float32" if dtype == "float16" else dtype


def _casts(types: Sequence[Type], **attrs: Any) -> Sequence[str | None]:
    if any(isinstance(type_, ArrayType) and type_.dtype is None for type_ in types):
        return [None] * len(types)
    wide = _wide(types)
    return [
        wide if isinstance(type_, ArrayType) and type_.dtype != wide else None for type_ in types
    ]


def _matrices(type_: Type, what: str, square: bool = True) -> ArrayType:
    if not isinstance(type_, ArrayType):
        raise DTypeError(f"{what} takes a matrix, not a {type_}", "pass a Tensor or an array")
    shape = type_.shape
    if shape is not None and len(shape) < 2:
        raise ShapeError(f"{what} takes a matrix, not a tensor with {len(shape)} axes")
    if square and shape is not None and None not in shape[-2:] and shape[-1] != shape[-2]:
        raise ShapeError(f"{what} takes a square matrix, not {type_}")
    return type_


def of_matrix(
    name: str,
    doc: str,
    what: str,
    *,
    shape: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda shape: shape,
    square: bool = True,
    make: Callable[..., OpDef] = OpDef,
    **facts: Any,
) -> OpDef:
    """Declares a function of one matrix; ``shape`` computes the result's shape from the
    operand's."""

    def result(types: Sequence[Type], **attrs: Any) -> Type:
        x = _matrices(types[0], what, square)
        return ArrayType(_wide(types), None if x.shape is None else shape(x.shape))

    return make(name, doc, operands=("x",), result=result, promote=_casts, **facts)


def _scaled(ct: Value, x: Value, matrix: Any) -> Any:
    """Returns each matrix times its number in ``ct``."""
    return (ct if x.ndim == 2 else expand_dims(ct, axes=(-2, -1))) * matrix


def _total(matrix: Any, x: Value) -> Any:
    """Returns the sum of the elements of each matrix."""
    return sum_(matrix, axes=None if x.ndim == 2 else (-2, -1), keepdims=False)


def _inverse_back(ct: Value, out: Value) -> Any:
    transposed = swap_last_axes(out)
    return -matmul(matmul(transposed, ct), transposed)


inverse: OpDef = of_matrix(
    "inverse",
    "The inverse of a square matrix; NumPy's LinAlgError where there is none. "
    "d_x = -out.T @ ct @ out.T (Giles, 2.2.3).",
    "an inverse",
    numpy="np.linalg.inv({x})",
    adjoint={"x": _inverse_back},
    tangent={"x": lambda dot, out: -matmul(matmul(out, dot), out)},
    label="inverse_{x}",
)

# ---- determinants


def _cofactors_numpy(types: Sequence[Type]) -> str:
    (x,) = types
    size = x.shape[-1] if isinstance(x, ArrayType) and x.shape else None
    size = size if isinstance(size, int) else "{x}.shape[-1]"
    others = f"np.where(np.eye({size}, dtype=bool), 1.0, {{out}}.S[..., None, :])"
    return (
        "{out} = np.linalg.svd({x})\n"
        f"{{out}} = np.linalg.det({{out}}.U @ {{out}}.Vh)[..., None, None] * "
        f"({{out}}.U * np.prod({others}, axis=-1)[..., None, :]) @ {{out}}.Vh"
    )


def _size(types: Sequence[Type]) -> str:
    x = types[0]
    size = x.shape[-1] if isinstance(x, ArrayType) and x.shape else None
    return str(size) if isinstance(size, int) else "{x}.shape[-1]"


def _cofactors_slope_numpy(types: Sequence[Type]) -> str:
    return (
        "u, s, v = np.linalg.svd({x})\n"
        f"same = np.eye({_size(types)}, dtype=bool)\n"
        "others = np.where(same[:, None] | same, 1.0, s[..., None, None, :])\n"
        "others = np.where(same, 0.0, np.prod(others, axis=-1))\n"
        "core = np.swapaxes(u, -1, -2) @ {y} @ np.swapaxes(v, -1, -2)\n"
        "{out} = others @ np.diagonal(core, axis1=-2, axis2=-1)[..., None]\n"
        "{out} = same * {out} - others * np.swapaxes(core, -1, -2)\n"
        "{out} = np.linalg.det(u @ v)[..., None, None] * (u @ {out} @ v)"
    )


def _third(x: Value, one: Any, other: Any) -> Any:
    """Returns the third derivative of det along two matrices, as a matrix; x is regular."""
    inverted, cofactor = swap_last_axes(inverse(x)), cofactors(x)
    product = matmul(inverted, swap_last_axes(other))
    back = matmul(matmul(cofactor, swap_last_axes(one)), inverted)
    across = matmul(matmul(other, swap_last_axes(inverted)), one)
    return (
        _scaled(_total(inverted * other, x), x, cofactors_slope(x, one))
        - _scaled(_total(one * cofactor, x), x, matmul(product, inverted))
        + matmul(product, back)
        - cofactors_slope(x, across)
    )


cofactors_slope: OpDef = OpDef(
    "cofactors_slope",
    "The derivative of cofactors along y, which is the second derivative of det and symmetric. "
    "With x = U S V, core = U.T y V.T, and P[i, j] the product of all singular values but i and "
    "j (0 where i = j), it is det(U V) U (diag(P diag(core)) - P * core.T) V. Its own derivative "
    "in x needs a regular x.",
    operands=("x", "y"),
    numpy=_cofactors_slope_numpy,
    result=lambda types: ArrayType(_wide(types[:1]), _matrices(types[0], "a cofactor").shape),
    promote=_casts,
    label="slope_{x}",
    adjoint={"x": lambda ct, x, y: _third(x, ct, y), "y": lambda ct, x: cofactors_slope(x, ct)},
    tangent={"x": lambda dot, x, y: _third(x, dot, y), "y": lambda dot, x: cofactors_slope(x, dot)},
)

cofactors: OpDef = of_matrix(
    "cofactors",
    "The signed minors of a square matrix, det(x) * inverse(x).T where x is regular, and the slope "
    "of det everywhere. From x = U S V they are det(U V) U C V, where C holds on its diagonal the "
    "products of all other singular values. d_x = cofactors_slope(x, ct).",
    "a cofactor",
    numpy=_cofactors_numpy,
    adjoint={"x": lambda ct, x: cofactors_slope(x, ct)},
    tangent={"x": lambda dot, x: cofactors_slope(x, dot)},
    label="cofactors_{x}",
)

det = of_matrix(
    "det",
    "The determinant of a square matrix. d_x = ct * cofactors(x) (Giles, 2.2.4, written so that it "
    "holds for singular matrices too).",
    "a determinant",
    shape=lambda shape: shape[:-2],
    numpy="np.linalg.det({x})",
    adjoint={"x": lambda ct, x: _scaled(ct, x, cofactors(x))},
    tangent={"x": lambda dot, x: _total(dot * cofactors(x), x)},
    label="det_{x}",
)

det_sign = of_matrix(
    "det_sign",
    "The sign of the determinant of a square matrix, as a float; 0 where it is singular.",
    "a determinant",
    shape=lambda shape: shape[:-2],
    make=zero_gradient,
    numpy="np.linalg.slogdet({x})[0]",
    label="sign_{x}",
)

logabsdet = of_matrix(
    "logabsdet",
    "log(abs(det(x))) without overflow; -inf where x is singular, which has no slope "
    "(LinAlgError). d_x = ct * inverse(x).T.",
    "a determinant",
    shape=lambda shape: shape[:-2],
    numpy="np.linalg.slogdet({x})[1]",
    adjoint={"x": lambda ct, x: _scaled(ct, x, swap_last_axes(inverse(x)))},
    tangent={"x": lambda dot, x: _total(dot * swap_last_axes(inverse(x)), x)},
    label="logdet_{x}",
)

# ---- equations


def _solve_type(types: Sequence[Type]) -> Type:
    a, b = _matrices(types[0], "a solution"), _matrices(types[1], "a right side", square=False)
    if a.shape is None or b.shape is None:
        return ArrayType(_wide(types), None)
    if None not in (a.shape[-1], b.shape[-2]) and a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"{types[0]} and {types[1]} do not fit: {a.shape[-1]} is not {b.shape[-2]}",
            "give the right side as many rows as the matrix",
        )
    batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]]) or ()
    rows = b.shape[-2] if a.shape[-1] is None else a.shape[-1]
    return ArrayType(_wide(types), (*batch, rows, b.shape[-1]))


def _solve_left(ct: Value, a: Value, out: Value) -> Any:
    right = solve(swap_last_axes(a), ct)
    return unbroadcast(-matmul(right, swap_last_axes(out)), a)


solve: OpDef = OpDef(
    "solve",
    "The matrix x with a @ x = b, for a square a; NumPy's LinAlgError where a is singular. Batch "
    "axes broadcast. d_b = solve(a.T, ct), d_a = -d_b @ out.T (Giles, 2.3.1).",
    operands=("a", "b"),
    numpy="np.linalg.solve({a}, {b})",
    result=_solve_type,
    promote=_casts,
    adjoint={
        "a": _solve_left,
        "b": lambda ct, a, b: unbroadcast(solve(swap_last_axes(a), ct), b),
    },
    tangent={
        "a": lambda dot, a, out: -solve(a, matmul(dot, out)),
        "b": lambda dot, a: solve(a, dot),
    },
    label="{a}_solved",
)


def _lower_half(matrix: Any) -> Any:
    """Returns the lower triangle with half of the diagonal."""
    return 0.5 * (tril(matrix, offset=0) + tril(matrix, offset=-1))


def _cholesky_back(ct: Value, out: Value) -> Any:
    upper = swap_last_axes(out)
    left = solve(upper, _lower_half(matmul(upper, ct)))
    both = solve(upper, swap_last_axes(left))
    return _lower_half(both + swap_last_axes(both))


def _cholesky_forward(dot: Value, out: Value) -> Any:
    lower = tril(dot, offset=0)
    left = solve(out, lower + swap_last_axes(tril(dot, offset=-1)))
    return matmul(out, _lower_half(solve(out, swap_last_axes(left))))


cholesky = of_matrix(
    "cholesky",
    "The lower triangle L with L @ L.T = x, for a positive definite x (else NumPy's LinAlgError), "
    "of which only the lower triangle is read. With S = L^-T half(L.T @ ct) L^-1, where half takes "
    "the lower triangle with half of the diagonal, d_x = half(S + S.T) (Murray, eq. 9).",
    "a Cholesky factor",
    numpy="np.linalg.cholesky({x})",
    adjoint={"x": _cholesky_back},
    tangent={"x": _cholesky_forward},
    label="cholesky_{x}",
)


def _pinv_back(ct: Value, x: Value, out: Value) -> Any:
    out_t, side = swap_last_axes(out), swap_last_axes(ct)
    right = matmul(side, matmul(out, out_t))
    left = matmul(matmul(out_t, out), side)
    through = matmul(matmul(out_t, ct), out_t)
    right = right - matmul(x, matmul(out, right))
    return right + (left - matmul(matmul(left, out), x)) - through


def _pinv_forward(dot: Value, x: Value, out: Value) -> Any:
    out_t, side = swap_last_axes(out), swap_last_axes(dot)
    left = matmul(matmul(out, out_t), side)
    right = matmul(side, matmul(out_t, out))
    through = matmul(matmul(out, dot), out)
    right = right - matmul(out, matmul(x, right))
    return left - matmul(matmul(left, x), out) + right - through


pinv = of_matrix(
    "pinv",
    "The pseudo-inverse P of a matrix; singular values below rtol (None: the larger size times the "
    "dtype's epsilon) times the largest one count as 0. Where the rank does not change, dP = "
    "-P dx P + P P.T dx.T (1 - x P) + (1 - P x) dx.T P.T P (Golub and Pereyra, eq. 4.12).",
    "a pseudo-inverse",
    shape=lambda shape: (*shape[:-2], shape[-1], shape[-2]),
    square=False,
    numpy="np.linalg.pinv({x}, rtol={rtol})",
    adjoint={"x": _pinv_back},
    tangent={"x": _pinv_forward},
    label="pinv_{x}",
)
