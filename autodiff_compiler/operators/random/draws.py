"""Random draws. A generator is an operand like any other: generated code is given it.

A draw changes the state of its generator, so it has an effect: it happens once, in forward, in
program order. If backward needs the draw (a mask, a noise), it is a residual. A draw does not
depend on anything smoothly, so its derivative is zero. ``ops/functions/random.py`` and
``ops/neural/dropout.py`` scale and shift draws by values that have a derivative.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType, Shape, Type
from autodiff_compiler.operators.core.declare import zero_gradient
from autodiff_compiler.operators.core.structure import shape_text

#: Distributions that NumPy draws in float32 too, and those that it draws in float64 only.
IN_ANY_WIDTH = {"uniform": "random", "normal": "standard_normal"}
IN_DOUBLE = ("laplace", "gumbel")


def _draw(name: str, doc: str, operands: tuple[str, ...], **facts: Any) -> OpDef:
    facts.setdefault("label", "drawn")
    return zero_gradient(name, doc, operands=operands, effect=True, **facts)


def _shaped(dtype: str) -> Callable[..., Type]:
    return lambda types, *, shape, **attrs: ArrayType(
        attrs.get("dtype", dtype), None if shape is None else tuple(shape)
    )


def _standard_numpy(types: Sequence[Type], *, family: str, shape: Shape, dtype: str) -> str:
    size = shape_text(types, shape)
    if family in IN_DOUBLE:
        text = f"{{rng}}.{family}(size={size})"
        return text if dtype == "float64" else f"np.asarray({text}, np.{dtype})"
    wide = dtype if dtype in ("float32", "float64") else "float32"
    text = f"{{rng}}.{IN_ANY_WIDTH[family]}({size}, dtype=np.{wide})"
    return text if dtype == wide else f"np.asarray({text}, np.{dtype})"


draw = _draw(
    "draw",
    "Independent numbers of a standard family: 'uniform' on [0, 1), 'normal' (0, 1), 'laplace' "
    "(0, 1), 'gumbel' (0, 1). The shape is an attribute, or the last operand if unknown.",
    ("rng", "*rest"),
    numpy=_standard_numpy,
    result=_shaped("float32"),
)

draw_mask = _draw(
    "draw_mask",
    "Independent bools, each true with the probability keep: one float32 uniform draw for each.",
    ("rng", "*rest"),
    numpy=lambda types, *, shape, keep: (
        f"{{rng}}.random({shape_text(types, shape)}, dtype=np.float32) < {keep!r}"
    ),
    result=_shaped("bool"),
    label="kept",
)

draw_integers = _draw(
    "draw_integers",
    "Independent integers from low up to high, without high.",
    ("rng", "low", "high", "*rest"),
    numpy=lambda types, *, shape, dtype: (
        f"{{rng}}.integers({{low}}, {{high}}, {shape_text(types, shape, 3)}, dtype=np.{dtype})"
    ),
    result=_shaped("int64"),
)

draw_order = _draw(
    "draw_order",
    "A random permutation of the integers below count.",
    ("rng", "count"),
    numpy=lambda types, *, dtype: (
        "{rng}.permutation({count})" + ("" if dtype == "int64" else f".astype(np.{dtype})")
    ),
    result=lambda types, *, dtype: ArrayType(dtype, (None,)),
)

draw_gamma = OpDef(
    "draw_gamma",
    "Gamma variates with the shape parameters alpha and scale 1. There is no formula for their "
    "derivative with respect to alpha, so that gradient is refused.",
    operands=("rng", "alpha", "*rest"),
    numpy=lambda types, *, shape, dtype: (
        f"np.asarray({{rng}}.standard_gamma({{alpha}}, {shape_text(types, shape, 2)}), np.{dtype})"
    ),
    result=_shaped("float32"),
    effect=True,
    label="drawn",
)

draw_poisson = _draw(
    "draw_poisson",
    "Poisson variates with the given rates.",
    ("rng", "rate", "*rest"),
    numpy=lambda types, *, shape, dtype: (
        f"np.asarray({{rng}}.poisson({{rate}}, {shape_text(types, shape, 2)}), np.{dtype})"
    ),
    result=_shaped("float32"),
)
