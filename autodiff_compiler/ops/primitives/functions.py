"""The operator classes of arithmetic, comparison, elementary functions, activations and norms."""

from __future__ import annotations

__macro__ = True

from typing import Any

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ops.core.primitive_base import Primitive, primitive
from autodiff_compiler.ops.core.shape_queries import rank_of
from autodiff_compiler.ops.functions import (
    activations,
    arrays,
    elementwise,
    reductions,
    scans_and_norms,
    special,
)


def _tanh_gelu(x: Any) -> Any:
    """Returns x * Phi(x), where tanh approximates the normal distribution's Phi."""
    return activations.gelu(x, "tanh")


Abs = primitive("Abs", elementwise.abs)
ACos = primitive("ACos", elementwise.acos)
Acosh = primitive("Acosh", elementwise.acosh)
Add = primitive("Add", elementwise.add)
Asin = primitive("Asin", elementwise.asin)
Asinh = primitive("Asinh", elementwise.asinh)
Atan = primitive("Atan", elementwise.atan)
Atan2 = primitive("Atan2", elementwise.atan2)
Atanh = primitive("Atanh", elementwise.atanh)
BitwiseAnd = primitive("BitwiseAnd", elementwise.bitwise_and)
BitwiseOr = primitive("BitwiseOr", elementwise.bitwise_or)
BitwiseXor = primitive("BitwiseXor", elementwise.bitwise_xor)
Cast = primitive("Cast", elementwise.cast)
Ceil = primitive("Ceil", elementwise.ceil)
Cos = primitive("Cos", elementwise.cos)
Cosh = primitive("Cosh", elementwise.cosh)
Div = primitive("Div", elementwise.div)
Equal = primitive("Equal", elementwise.equal)
Exp = primitive("Exp", elementwise.exp)
Expm1 = primitive("Expm1", elementwise.expm1)
Floor = primitive("Floor", elementwise.floor)
FloorDiv = primitive("FloorDiv", elementwise.floor_divide)
FloorMod = primitive("FloorMod", elementwise.floor_mod)
Greater = primitive("Greater", elementwise.greater)
GreaterEqual = primitive("GreaterEqual", elementwise.greater_equal)
Inv = primitive("Inv", elementwise.reciprocal)
IsFinite = primitive("IsFinite", elementwise.isfinite)
IsInf = primitive("IsInf", elementwise.isinf)
IsNan = primitive("IsNan", elementwise.isnan)
Less = primitive("Less", elementwise.less)
LessEqual = primitive("LessEqual", elementwise.less_equal)
Log = primitive("Log", elementwise.log)
Log1p = primitive("Log1p", elementwise.log1p)
LogicalAnd = primitive("LogicalAnd", elementwise.logical_and)
LogicalNot = primitive("LogicalNot", elementwise.logical_not)
LogicalOr = primitive("LogicalOr", elementwise.logical_or)
LogicalXor = primitive("LogicalXor", elementwise.logical_xor)
MaskedFill = primitive("MaskedFill", elementwise.masked_fill)
Maximum = primitive("Maximum", elementwise.maximum)
Minimum = primitive("Minimum", elementwise.minimum)
Mod = primitive("Mod", elementwise.floor_mod)
Mul = primitive("Mul", elementwise.mul)
Neg = primitive("Neg", elementwise.neg)
NotEqual = primitive("NotEqual", elementwise.not_equal)
Pow = primitive("Pow", elementwise.pow)
RealDiv = primitive("RealDiv", elementwise.div)
Reciprocal = primitive("Reciprocal", elementwise.reciprocal)
Rint = primitive("Rint", elementwise.round)
Round = primitive("Round", elementwise.round)
Rsqrt = primitive("Rsqrt", elementwise.rsqrt)
Select = primitive("Select", elementwise.where)
Sign = primitive("Sign", elementwise.sign)
Sin = primitive("Sin", elementwise.sin)
Sinh = primitive("Sinh", elementwise.sinh)
Sqrt = primitive("Sqrt", elementwise.sqrt)
Square = primitive("Square", elementwise.square)
StopGradient = primitive("StopGradient", elementwise.stop_gradient)
Sub = primitive("Sub", elementwise.sub)
Tan = primitive("Tan", elementwise.tan)
Tanh = primitive("Tanh", elementwise.tanh)
Trunc = primitive("Trunc", elementwise.trunc)

AccumulateNV2 = primitive("AccumulateNV2", special.addn)
Addcdiv = primitive("Addcdiv", special.addcdiv)
Addcmul = primitive("Addcmul", special.addcmul)
AddN = primitive("AddN", special.addn)
Digamma = primitive("Digamma", special.digamma)
DivNoNan = primitive("DivNoNan", special.div_no_nan)
Erf = primitive("Erf", special.erf)
Erfc = primitive("Erfc", special.erfc)
Erfinv = primitive("Erfinv", special.erfinv)
Fmax = primitive("Fmax", special.fmax)
Gcd = primitive("Gcd", special.gcd)
Hypot = primitive("Hypot", special.hypot)
IsClose = primitive("IsClose", special.isclose, rtol=1e-05, atol=1e-08, equal_nan=True)
Lcm = primitive("Lcm", special.lcm)
Lerp = primitive("Lerp", special.lerp)
Lgamma = primitive("Lgamma", special.lgamma)
Logit = primitive("Logit", special.logit, eps=-1.0)
MulNoNan = primitive("MulNoNan", special.mul_no_nan)
ScalarToTensor = primitive("ScalarToTensor", special.scalar_to_tensor)
Sinc = primitive("Sinc", special.sinc)
SquaredDifference = primitive("SquaredDifference", special.squared_difference)
SquareSumAll = primitive("SquareSumAll", special.square_sum_all)
TruncateDiv = primitive("TruncateDiv", special.truncate_div)
TruncateMod = primitive("TruncateMod", special.truncate_mod)
Xdivy = primitive("Xdivy", special.xdivy)
Xlogy = primitive("Xlogy", special.xlogy)

CeLU = primitive("CeLU", activations.celu, alpha=1.0)
Elu = primitive("Elu", activations.elu, alpha=1.0)
FastGeLU = primitive("FastGeLU", activations.fast_gelu)
GeLU = primitive("GeLU", _tanh_gelu)
GLU = primitive("GLU", activations.glu, axis=-1)
HShrink = primitive("HShrink", activations.hardshrink, lambd=0.5)
HSigmoid = primitive("HSigmoid", activations.hardsigmoid)
HSwish = primitive("HSwish", activations.hardswish)
Mish = primitive("Mish", activations.mish)
PReLU = primitive("PReLU", activations.prelu)
ReLU = primitive("ReLU", elementwise.relu)
ReLU6 = primitive("ReLU6", activations.relu6)
SeLU = primitive("SeLU", activations.selu)
Sigmoid = primitive("Sigmoid", elementwise.sigmoid)
Softplus = primitive("Softplus", elementwise.softplus)
SoftShrink = primitive("SoftShrink", activations.softshrink, lambd=0.5)
Softsign = primitive("Softsign", activations.softsign)

Cummax = primitive("Cummax", scans_and_norms.cummax, axis=0)
Cummin = primitive("Cummin", scans_and_norms.cummin, axis=0)
L2Normalize = primitive("L2Normalize", scans_and_norms.l2_normalize, axis=0, epsilon=1e-4)
LpNorm = primitive("LpNorm", scans_and_norms.lp_norm, axis=0, p=2, keep_dims=False, epsilon=1e-12)


class CumProd(Primitive):
    """Running products along an axis; optionally exclusive, or from the end."""

    def __init__(self, exclusive: bool = False, reverse: bool = False):
        super().__init__()
        self.exclusive, self.reverse = exclusive, reverse

    def __call__(self, x: Any, axis: int) -> Tensor:
        x = reductions.flip(x, axis) if self.reverse else x
        product = scans_and_norms.cumprod(x, axis)
        product = scans_and_norms.shifted(product, axis) if self.exclusive else product
        return reductions.flip(product, axis) if self.reverse else product


class Median(Primitive):
    """The median along an axis, the lower of two, and its position; or the median of all elements,
    and 0.

    If an element is NaN the median is NaN, or NaNs are ignored.
    """

    def __init__(
        self,
        global_median: bool = False,
        axis: int = 0,
        keep_dims: bool = False,
        ignore_nan: bool = False,
    ):
        super().__init__()
        self.global_median, self.axis, self.keep_dims = global_median, axis, keep_dims
        self.ignore_nan = ignore_nan

    def __call__(self, x: Any) -> Any:
        median = scans_and_norms.nanmedian if self.ignore_nan else scans_and_norms.median
        if self.global_median:
            value, place = median(arrays.reshape(x, (-1,)) if rank_of(x) != 1 else x)
            return value, place * 0
        return median(x, self.axis, self.keep_dims)


__all__ = [
    "ACos",
    "Abs",
    "AccumulateNV2",
    "Acosh",
    "Add",
    "AddN",
    "Addcdiv",
    "Addcmul",
    "Asin",
    "Asinh",
    "Atan",
    "Atan2",
    "Atanh",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Cast",
    "CeLU",
    "Ceil",
    "Cos",
    "Cosh",
    "CumProd",
    "Cummax",
    "Cummin",
    "Digamma",
    "Div",
    "DivNoNan",
    "Elu",
    "Equal",
    "Erf",
    "Erfc",
    "Erfinv",
    "Exp",
    "Expm1",
    "FastGeLU",
    "Floor",
    "FloorDiv",
    "FloorMod",
    "Fmax",
    "GLU",
    "Gcd",
    "GeLU",
    "Greater",
    "GreaterEqual",
    "HShrink",
    "HSigmoid",
    "HSwish",
    "Hypot",
    "Inv",
    "IsClose",
    "IsFinite",
    "IsInf",
    "IsNan",
    "L2Normalize",
    "Lcm",
    "Lerp",
    "Less",
    "LessEqual",
    "Lgamma",
    "Log",
    "Log1p",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "LogicalXor",
    "Logit",
    "LpNorm",
    "MaskedFill",
    "Maximum",
    "Median",
    "Minimum",
    "Mish",
    "Mod",
    "Mul",
    "MulNoNan",
    "Neg",
    "NotEqual",
    "PReLU",
    "Pow",
    "ReLU",
    "ReLU6",
    "RealDiv",
    "Reciprocal",
    "Rint",
    "Round",
    "Rsqrt",
    "ScalarToTensor",
    "SeLU",
    "Select",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinc",
    "Sinh",
    "SoftShrink",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Square",
    "SquareSumAll",
    "SquaredDifference",
    "StopGradient",
    "Sub",
    "Tan",
    "Tanh",
    "Trunc",
    "TruncateDiv",
    "TruncateMod",
    "Xdivy",
    "Xlogy",
]
