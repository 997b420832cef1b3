"""Every operator in C, on its samples: value, dtype, shape and gradient are those of its rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler.operators  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS, value_type
from autodiff_compiler.ir.types import ArrayType, is_floating
from autodiff_compiler.loops.core.values import NoNativeText
from autodiff_compiler.loops.lower import RULES, lower_to_loops
from autodiff_compiler.runtime.native import Compiler
from autodiff_compiler.span import NOWHERE
from autodiff_compiler.testing.samples import SAMPLES, Sample
from autodiff_compiler.transforms.reverse.sweep import ReverseTransform
from tests.interpreter import run
from tests.loops.native import compiled

#: Operators without a rule, or without a sample that gives an array, by the reason. The table may
#: only shrink.
MISSING: dict[str, str] = {
    "a result whose size values decide": "nonzero unique first_occurrences",
    "a random generator": "draw draw_mask draw_integers draw_order draw_gamma draw_poisson",
    "complex numbers": "imag conj real",
    "a factorisation of matrices": "singular_values left_vectors right_vectors"
    " orthogonal_factor triangular_factor pinv",
    "a run-time list in place of an array": "list_item list_zeros list_ones list_add list_append"
    " list_head list_set list_add_at list_slice list_unslice list_repeat list_unrepeat list_sum"
    " list_sum_from list_broadcast list_sum_items list_concat list_split list_copy list_as list_own"
    " list_pad list_trim list_rows list_join",
    "a sample with a shape, or without a value": "expand_dims_where unbroadcast_to shape_of"
    " shape_item undefined is_unset zeros_if_set",
}
WITHOUT = {name for names in MISSING.values() for name in names.split()}
#: Writes at an index.
WRITES = ("scatter", "add_at", "set_item", "increment_at")
#: The samples that are refused, of operators with a rule.
REFUSED = {
    "index": 8,  # a result whose size values decide
    **dict.fromkeys(WRITES, 4),  # a slice with run-time bounds
    "repeat": 2,  # counts at run time
}
#: The samples whose gradient is refused. Operators in it have no rule, or values decide its sizes.
NO_GRADIENT = {**dict.fromkeys(WRITES, 6)}
#: The dtypes of whole numbers that are tried.
WHOLE = ("int64", "int32", "uint8", "bool")
#: The samples of whole numbers that are refused.
WHOLE_REFUSED = {
    "repeat": 4,  # counts at run time
    "index": 12,  # a result whose size values decide
    **dict.fromkeys(WRITES, 4),  # a slice with run-time bounds
}
TOLERANCE = {"float32": 2e-5, "float64": 1e-11}
NAMES = [name for name in SAMPLES if name not in WITHOUT]


class Joined:
    """One function that applies an operator to several samples."""

    def __init__(self) -> None:
        self.params: list[Value] = []
        self.args: list[Any] = []
        self.ops: list[Any] = []
        self.returns: list[Any] = []

    def function(self) -> Function:
        region = Region(tuple(self.params), tuple(self.ops), tuple(self.returns))
        return Function("f", region, NOWHERE)

    def add(self, other: Joined) -> None:
        self.params += other.params
        self.args += other.args
        self.ops += other.ops
        self.returns += other.returns


def applied(name: str, sample: Sample, dtype: str, numbers: bool) -> Joined:
    """Applies an operator to a sample; ``numbers`` makes parameters of its numbers, too."""
    joined = Joined()

    def param(given: Any) -> Value:
        if isinstance(given, np.ndarray) and given.dtype.kind == "f":
            is_float = dtype.startswith("float")
            given = np.asarray(given if is_float else np.round(3 * given), dtype)
        joined.params.append(Value(value_type(given), f"x{len(joined.params)}"))
        joined.args.append(given)
        return joined.params[-1]

    def operand(given: Any) -> Any:
        if isinstance(given, list):
            return OPERATORS["make_list"](*map(operand, given))
        is_number = numbers and isinstance(given, (int, float))
        return param(given) if isinstance(given, np.ndarray) or is_number else given

    builder = Builder()
    with builder:
        out = OPERATORS[name](*map(operand, sample.operands), **sample.attrs)
    joined.ops, joined.returns = [*builder.ops], [out]
    return joined


def gradients(name: str, sample: Sample, dtype: str) -> Joined | None:
    """Applies the adjoint of an operator; None if the sample has no gradient."""
    joined = applied(name, sample, dtype, False)
    (out,) = joined.returns
    if not getattr(out.type, "is_static", False):
        return None
    floats = [p for p in joined.params if isinstance(p.type, ArrayType) and is_floating(p.type)]
    if not floats or not isinstance(out.type, ArrayType) or not is_floating(out.type):
        return None
    wrt = tuple(joined.params.index(p) for p in floats)
    function = ReverseTransform().gradient(joined.function(), wrt, True, False, (0,))
    joined.params, joined.ops = [*function.params], [*function.body.ops]
    joined.returns = [each for each in function.returns if isinstance(each, Value)]
    joined.returns = [each for each in joined.returns if each not in joined.params]
    if not joined.returns:
        return None
    sensitivity = [p for p in joined.params if p not in floats][-1:]
    for param in sensitivity:
        shape, result = param.type.static_shape, param.type.dtype
        joined.args.append(np.cos(np.arange(np.prod(shape))).reshape(shape).astype(result))
    return joined


def split(parts: list[Joined]) -> tuple[Joined, int]:
    """Joins the parts that can be lowered; returns the number of the others, too."""
    joined, refused = Joined(), 0
    for part in parts:
        try:
            lower_to_loops(part.function())
        except NoNativeText:
            refused += 1
        else:
            joined.add(part)
    return joined, refused


def assert_agrees(joined: Joined) -> None:
    with np.errstate(all="ignore"):
        wanted = run(joined.function(), joined.args)
    call, text = compiled(joined.function())
    results = call(*joined.args)
    results = results if isinstance(results, tuple) and len(wanted) > 1 else (results,)
    for number, (one, other) in enumerate(zip(results, wanted, strict=True)):
        where = f"result {number} of\n{text}"
        assert np.shape(one) == np.shape(other), where
        assert np.asarray(one).dtype == np.asarray(other).dtype, where
        rtol = TOLERANCE.get(str(np.asarray(other).dtype), 0.0)
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol, err_msg=where)


def parts_of(name: str) -> list[Joined]:
    parts = []
    for sample in SAMPLES[name]:
        for dtype in ("float64", "float32"):
            for numbers in (False, True):
                has_numbers = any(isinstance(each, (int, float)) for each in sample.operands)
                if not numbers or has_numbers:
                    try:
                        parts.append(applied(name, sample, dtype, numbers))
                    except Exception:
                        assert numbers
    return parts


def whole_parts(name: str) -> list[Joined]:
    """Applies an operator to integers and bools, where it takes them."""
    parts = []
    for sample in SAMPLES[name]:
        for dtype in WHOLE:
            try:
                part = applied(name, sample, dtype, False)
                with np.errstate(all="ignore"):
                    run(part.function(), part.args)
            except Exception:  # the operator refuses this dtype, or NumPy does
                continue
            parts.append(part)
    return parts


def test_every_operator_has_a_rule_or_a_reason() -> None:
    assert {*SAMPLES} - WITHOUT <= {*RULES}
    assert {*SAMPLES} >= WITHOUT


@pytest.mark.parametrize("name", NAMES)
def test_value(name: str, c_compiler: Compiler) -> None:
    joined, refused = split(parts_of(name))
    assert refused == REFUSED.get(name, 0)
    if joined.returns:
        assert_agrees(joined)


@pytest.mark.parametrize("name", NAMES)
def test_whole_numbers(name: str, c_compiler: Compiler) -> None:
    joined, refused = split(whole_parts(name))
    assert refused == WHOLE_REFUSED.get(name, 0)
    if joined.returns:
        assert_agrees(joined)


@pytest.mark.parametrize("name", NAMES)
def test_gradient(name: str, c_compiler: Compiler) -> None:
    parts = [gradients(name, sample, d) for sample in SAMPLES[name] for d in TOLERANCE]
    joined, refused = split([part for part in parts if part is not None])
    assert refused == NO_GRADIENT.get(name, 0)
    if joined.returns:
        assert_agrees(joined)
