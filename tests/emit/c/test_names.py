"""Names in C text are unique, and are no words of C, C++ or their libraries."""

from __future__ import annotations

from autodiff_compiler.emit.c.names import LINKED, RESERVED, Names
from autodiff_compiler.loop_ir.nodes import Scalar


def test_each_object_has_one_name() -> None:
    names = Names(["taken"])
    things = [Scalar(name, "int64") for name in ("x", "x", "taken", "for", "int64_t", "a.b")]
    given = [names(each) for each in things]
    assert given == ["x", "x_1", "taken_1", "for_", "int64_t_", "a_b"]
    assert [names(each) for each in things] == given


def test_names_of_the_library_of_maths_are_not_used() -> None:
    names = Names()
    assert names.new("exp_f64") == "exp_f64_1" and names.new("product_f32") == "product_f32_1"
    assert names.new("exp_f64") == "exp_f64_2"


def test_the_lists_have_the_words_that_users_write() -> None:
    assert {"restrict", "volatile", "services", "Services", "uint8_t"} <= RESERVED
    assert {"new", "class", "this", "bool", "template"} <= RESERVED
    assert {"main", "exp", "expf", "y1", "gamma", "read", "malloc"} <= LINKED
