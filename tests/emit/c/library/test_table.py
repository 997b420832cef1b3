"""The table is closed: what a program includes is all that it needs, in an order that compiles."""

from __future__ import annotations

import re

from autodiff_compiler.emit.c.library import FUNCTIONS, functions_for, needs
from autodiff_compiler.operators import OPERATORS
from autodiff_compiler.runtime.native import Compiler
from autodiff_compiler.runtime.native.build import build
from tests.emit.c.library import test_accuracy, test_arithmetic, test_special

#: Every function that a test of this folder calls, without its dtype.
TESTED = {
    *test_accuracy.OF_ONE,
    *test_accuracy.OF_TWO,
    *test_arithmetic.OF_ONE,
    *test_arithmetic.OF_TWO,
    *test_arithmetic.OTHERS.split(),
    *test_arithmetic.FORMULAS.split(),
    *test_special.LIMITS,
}
#: Functions of a compiler that are instructions: no call is left of them.
BUILTINS = "fabs copysign sqrt inf nan rint floor ceil trunc fma"
KEYWORDS = "if while for return defined double float int uint64_t uint32_t"
#: Operators that are operators of C, too, or a choice. The printer of expressions has them.
IN_C = """
    add sub mul div neg square equal not_equal less less_equal greater greater_equal logical_and
    logical_or logical_xor logical_not invert bit_and bit_or bit_xor where
"""
#: Operators of integers alone.
OF_INTEGERS = "gcd lcm shift_left shift_right"


def test_no_function_calls_what_is_not_there() -> None:
    known = {*FUNCTIONS, *KEYWORDS.split()}
    known |= {f"__builtin_{name}{end}" for name in BUILTINS.split() for end in ("", "f")}
    types = re.compile(r"u?int\d+_t|float|double")
    for name, function in FUNCTIONS.items():
        code = re.sub(r"/\*.*?\*/", "", function.text, flags=re.DOTALL)
        assert set(re.findall(r"\b\w+_f(?:32|64)\b", code)) <= known, name
        called = set(re.findall(r"\b([A-Za-z_]\w*)\(", code))
        assert not {each for each in called - known if not types.fullmatch(each)}, name


def test_what_a_function_needs_precedes_it() -> None:
    order = list(FUNCTIONS)
    for name in order:
        assert all(order.index(each) < order.index(name) for each in needs(name)), name


def test_the_text_is_complete_and_the_same_for_any_order() -> None:
    text = functions_for(["tanh_f64", "exp_f32"])
    assert text == functions_for(["exp_f32", "tanh_f64", "exp_f32"])
    defined = re.findall(r"^static inline \w+ (\w+)\(", text, re.MULTILINE)
    assert {"tanh_f64", "exp_f32", "scale_f32"} <= set(defined)
    assert len(defined) == len(set(defined)) and "sin_f32" not in defined


def test_no_text_is_long_or_has_a_tab() -> None:
    for name, function in FUNCTIONS.items():
        assert function.text.startswith("/* ") or name.startswith("two_over_pi"), name
        assert "\t" not in function.text and not function.text.endswith("\n"), name


def test_each_kind_compiles_by_itself(c_compiler: Compiler) -> None:
    """Nothing but the integer types of <stdint.h> is needed."""
    for name in ("sin_f64", "pow_f32", "lgamma_f64", "lcm_i8", "isclose_f32"):
        build(f"#include <stdint.h>\n\n{functions_for([name])}\n", c_compiler)


def test_every_elementwise_operator_is_there() -> None:
    elementwise = {name for name, record in OPERATORS.items() if record.batch == "elements"}
    without = {*IN_C.split(), *OF_INTEGERS.split()}
    for ending in ("f32", "f64"):
        missing = {name for name in elementwise - without if f"{name}_{ending}" not in FUNCTIONS}
        assert not missing
    for ending in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"):
        assert all(f"{name}_{ending}" in FUNCTIONS for name in OF_INTEGERS.split())
