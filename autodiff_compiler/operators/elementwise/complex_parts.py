"""Complex numbers: their parts, and which operators take them.

A gradient with respect to a complex number points where the result grows: for a real result L and
z = x + iy it is dL/dx + i dL/dy, as in MindSpore and torch (jax gives the conjugate). For an
operator that is a complex function f this means d_z = ct * conj(f'(z)). Rules are written for
f'(z); the sweep hands them conjugates, which comes to the same, as f' has real coefficients.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.ir.opdef import FOR_COMPLEX, OpDef
from autodiff_compiler.ir.types import FLOAT, ArrayType, Type, is_complex
from autodiff_compiler.operators.core.declare import linear, same_type, shape_of_type
from autodiff_compiler.operators.core.structure import cast_like


def real_dtype(dtype: str | None) -> str | None:
    """Returns the dtype of the parts of complex numbers; other dtypes stay.

    >>> real_dtype("complex64"), real_dtype("complex128"), real_dtype("float16")
    ('float32', 'float64', 'float16')
    """
    return {"complex64": "float32", "complex128": "float64"}.get(dtype or "", dtype)


def _part_type(types: Sequence[Type]) -> Type:
    (x,) = types
    return ArrayType(real_dtype(x.dtype), shape_of_type(x)) if isinstance(x, ArrayType) else FLOAT


def _part_text(part: str) -> Callable[..., str]:
    """Returns the text of a part: of a Python number, which is to stay one, its attribute."""
    return lambda types: f"np.{part}({{x}})" if isinstance(types[0], ArrayType) else f"{{x}}.{part}"


conj: OpDef = linear(
    "conj",
    "The complex conjugate. d_x = conj(ct).",
    numpy="np.conj({x})",
    result=same_type,
    label="conj_{x}",
    batch="trailing",
    adjoint={"x": lambda ct: conj(ct)},
)

real = linear(
    "real",
    "The real part. d_x = ct, without imaginary part.",
    numpy=_part_text("real"),
    result=_part_type,
    label="real_{x}",
    views=("x",),
    batch="trailing",
    adjoint={"x": lambda ct, x: cast_like(ct, x)},
)

imag = linear(
    "imag",
    "The imaginary part, of real numbers 0. d_x = ct times the imaginary unit.",
    numpy=_part_text("imag"),
    result=_part_type,
    label="imag_{x}",
    views=("x",),
    batch="trailing",
    adjoint={"x": lambda ct, x: cast_like(ct, x) * 1j if is_complex(x.type) else None},
)

#: Operators whose rules take complex operands unconjugated: their factors are real.
AS_THEY_STAND = frozenset(
    """
    abs add broadcast_to cast concat conj cumsum diagonal expand_dims expand_dims_where flip imag
    index mean neg pad put_along put_diagonal real repeat reshape roll increment_at scatter set_item
    squeeze stack sub sum swap_last_axes take_along tile transpose tril triu unbroadcast_to where
    """.split()
)
#: Complex functions, and operators without a slope. All other operators refuse complex numbers.
FOR_COMPLEX.update(
    AS_THEY_STAND,
    """
    acos acosh asin asinh atan atanh cos cosh cumprod div einsum exp expm1 inverse log log1p log2
    log10 matmul mul outer pow prod reciprocal rsqrt sin sinh solve sqrt square tan tanh tensordot
    """.split(),
    """
    all any copy dim equal not_equal isfinite isinf isnan full full_like shape_of size_of
    stop_gradient to_number
    """.split(),
)


def conjugates(values: Sequence[Any], known: dict[Any, Any]) -> list[Any]:
    """Returns the conjugates of complex values and numbers; other things as they are."""

    def conjugate(value: Any) -> Any:
        if isinstance(value, complex):
            return value.conjugate()
        if not is_complex(getattr(value, "type", None)):
            return value
        if value not in known:
            known[value] = conj(value)
        return known[value]

    return list(map(conjugate, values))
