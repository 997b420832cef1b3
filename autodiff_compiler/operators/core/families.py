"""Constructors for families of operators: a family's shared facts are here, not in each definition.

Broadcasting, the result's dtype, and the undoing of both for cotangents come from the operands'
types; no rule mentions them.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler.errors import DTypeError
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.opdef import OpDef, call_with_named, rule_names
from autodiff_compiler.ir.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    ArrayType,
    Type,
    is_floating,
)
from autodiff_compiler.operators.core.declare import (
    PROMOTION,
    arithmetic_dtype,
    broadcast_shapes,
    casts_for,
    one_dtype,
    shape_of_type,
)
from autodiff_compiler.operators.core.structure import unbroadcast

DTypeRule = Callable[[Sequence[Type]], Any]


def arithmetic(types: Sequence[Type]) -> str | None:
    """Returns the promoted dtype of the operands."""
    return arithmetic_dtype(types)


def floating(types: Sequence[Type]) -> str | None:
    """Returns the promoted dtype, for integers and bools float32 (in plain functions float64)."""
    dtype = arithmetic_dtype(types)
    wide = "float64" if PROMOTION.numpy else "float32"
    return wide if dtype is not None and ("int" in dtype or dtype == "bool") else dtype


def signed(types: Sequence[Type]) -> str | None:
    """Returns the promoted dtype; refuses operands that are all bools."""
    dtype = arithmetic_dtype(types)
    if dtype == "bool":
        raise DTypeError(
            "this operation does not take bools", "cast the bools to a number: x.astype(float)"
        )
    return dtype


def boolean(types: Sequence[Type]) -> str | None:
    """Returns bool for all operands."""
    return "bool"


def integral(types: Sequence[Type]) -> str | None:
    """Returns the promoted dtype of integers and bools; refuses floats."""
    for type_ in types:
        if type_ == FLOAT or isinstance(type_, ArrayType) and type_.dtype and is_floating(type_):
            raise DTypeError(
                f"bitwise operations do not take a {type_}",
                "use integers or bools, or cast first: x.astype(int)",
            )
    return arithmetic_dtype(types) if _arrays(types) else None


def _is_whole(type_: Type) -> bool:
    known = isinstance(type_, ArrayType) and type_.dtype is not None
    return known and not is_floating(type_)


def _arrays(types: Sequence[Type]) -> bool:
    return any(isinstance(type_, ArrayType) for type_ in types)


def elementwise(
    name: str,
    doc: str,
    *,
    numpy: str | Callable[..., str],
    partials: Mapping[str, Callable[..., Any]] | None = None,
    dtype: DTypeRule = arithmetic,
    operands: tuple[str, ...] = ("x",),
    promote: Callable[..., Sequence[str | None]] | None = None,
    **facts: Any,
) -> OpDef:
    """Declares an operator that works element by element, with NumPy broadcasting.

    ``partials`` gives for each operand the partial derivative, ``lambda x, out: …``. Where better
    source exists, it gives the scaling itself, ``lambda ct, x, y: ct / y``. A single entry serves
    both modes, because the Jacobian is diagonal. Without ``partials`` the derivative is zero.
    """

    def casts(types: Sequence[Type], **attrs: Any) -> Sequence[str | None]:
        if not _arrays(types):
            return [None] * len(types)
        common = arithmetic_dtype(types) if dtype is boolean else dtype(types)
        wanted_casts = casts_for(types, common)
        if dtype is not floating:
            return wanted_casts
        # A template may compute with one operand alone: NumPy's logarithm of a byte is float16.
        return [common if _is_whole(each) else cast for each, cast in zip(types, wanted_casts)]

    def result(types: Sequence[Type], **attrs: Any) -> Type:
        shape = broadcast_shapes([shape_of_type(type_) for type_ in types])
        if _arrays(types):
            return ArrayType(dtype(types), shape)
        if "np." in (numpy if isinstance(numpy, str) else numpy(types, **attrs)):
            return ArrayType(_number_dtype(types, dtype), ())
        return _scalar_result(types, dtype)

    rules = {key: _scaling(partial) for key, partial in (partials or {}).items()}
    return OpDef(
        name,
        doc,
        operands,
        numpy,
        result,
        promote=promote or casts,
        adjoint={key: _adjoint(key, scale) for key, scale in rules.items()},
        tangent={key: _tangent(scale) for key, scale in rules.items()},
        batch="elements",
        kind="zero" if partials is None else "elementwise",
        **facts,
    )


def real_function(
    name: str,
    doc: str,
    numpy: str | Callable[..., str],
    rule: Callable[..., Any],
    decompose: Callable[..., Any] | None = None,
) -> OpDef:
    """Declares a function of one float operand; integers and bools are cast to float32."""
    return elementwise(
        name,
        doc,
        numpy=numpy,
        dtype=floating,
        label=f"{name}_{{x}}",
        partials={"x": rule},
        decompose=decompose,
    )


def no_casts(types: Sequence[Type], **attrs: Any) -> Sequence[str | None]:
    """Returns no cast for any operand: the ``promote`` of an operator that takes every dtype."""
    return [None] * len(types)


def _scalar_result(types: Sequence[Type], dtype: DTypeRule) -> Type:
    """Returns the type that Python's arithmetic on numbers has."""
    kind = np.dtype(_number_dtype(types, dtype)).kind
    if kind == "b" and dtype not in (boolean, integral):
        return INT
    return {"b": BOOL, "i": INT, "f": FLOAT, "c": COMPLEX}[kind]


def _number_dtype(types: Sequence[Type], dtype: DTypeRule) -> str:
    """Returns the dtype that NumPy's functions of Python numbers have."""
    if dtype is floating:
        return "complex128" if COMPLEX in types else "float64"
    if dtype is signed:
        types = [INT if type_ == BOOL else type_ for type_ in types]
    wide: dict[Type, str] = {BOOL: "bool", INT: "int64", FLOAT: "float64", COMPLEX: "complex128"}
    return dtype([ArrayType(wide[type_], ()) for type_ in types])


def _scaling(partial: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a partial derivative as a scaling of ``ct``. A rule that names ``ct`` is one
    already."""
    if "ct" in rule_names(partial):
        return lambda ct, facts: call_with_named(partial, {**facts, "ct": ct})
    return lambda ct, facts: ct * call_with_named(partial, facts)


def _adjoint(operand: str, scale: Callable[..., Any]) -> Callable[..., Any]:
    def rule(ct: Value, facts: Mapping[str, Any]) -> Any:
        scaled, x = scale(ct, facts), facts[operand]
        others = [facts[name] for name in facts["operands"] if name != operand]
        if isinstance(scaled, Value) and _keeps_shape(x, others, scaled):
            return scaled
        return unbroadcast(scaled, x)

    return rule


def _keeps_shape(x: Any, others: Sequence[Any], scaled: Value) -> bool:
    """True if ``x`` was surely not broadcast: every other operand is a number or 0-d."""
    if not isinstance(x, Value) or scaled.dtype_name != x.dtype_name:
        return False
    return isinstance(x.type, ArrayType) and all(
        not isinstance(other, Value) or other is x or shape_of_type(other.type) == ()
        for other in others
    )


def _tangent(scale: Callable[..., Any]) -> Callable[..., Any]:
    return lambda dot, facts: scale(dot, facts)


def bilinear(
    name: str,
    doc: str,
    *,
    numpy: str | Callable[..., str],
    result: Callable[..., Any],
    adjoint: Mapping[str, Callable[..., Any]],
    operands: tuple[str, ...] = ("a", "b"),
    **facts: Any,
) -> OpDef:
    """Declares an operator that is linear in each of two operands.

    Its tangent is the sum of two applications.
    """
    facts = {"promote": one_dtype, **facts}
    return OpDef(name, doc, operands, numpy, result, adjoint=adjoint, kind="bilinear", **facts)
