"""Uses, substitution and cloning, on a function with a branch inside a loop."""

from __future__ import annotations

import pytest

from autodiff_compiler.ir.nodes import Op, Region, Value
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.rewrite import (
    clone,
    clone_ops,
    free_values,
    map_regions,
    producers,
    substitute,
    substitute_op,
    use_counts,
    uses_of,
)
from autodiff_compiler.ir.types import FLOAT, INT
from autodiff_compiler.span import Span

HERE = Span("net.py", 3, 1, 2, "x")


def record(name: str) -> OpDef:
    """An operator that is in no table."""
    opdef = object.__new__(OpDef)
    object.__setattr__(opdef, "name", name)
    return opdef


PLUS, BOX = record("plus"), record("box")


def value(name: str) -> Value:
    return Value(FLOAT, name, has_user_name=True)


class Nest:
    """``box`` holds a region with a parameter, which uses ``a`` and ``b`` from outside."""

    def __init__(self) -> None:
        self.a, self.b, self.c = value("a"), value("b"), value("c")
        self.p, self.s, self.t, self.out = value("p"), value("s"), value("t"), value("out")
        plus = Op(PLUS, (self.p, self.b), {}, (self.s,), HERE)
        other = Op(PLUS, (self.s, self.a), {}, (self.t,), HERE)
        self.inner = Region((self.p,), (plus, other), (self.t, self.b, 1.0))
        self.box = Op(BOX, (self.c,), {}, (self.out,), HERE, regions=(self.inner,))
        self.last = Op(PLUS, (self.a, 2.0), {}, (value("last"),), HERE)
        self.body = Region((self.a, self.b, self.c), (self.box, self.last), (self.out,))


@pytest.fixture
def nest() -> Nest:
    return Nest()


def test_free_values_in_order_of_first_use(nest: Nest) -> None:
    assert list(free_values(nest.inner)) == [nest.b, nest.a]
    assert list(free_values(nest.body)) == []


def test_uses_of_an_op_include_its_regions(nest: Nest) -> None:
    assert list(uses_of(nest.box)) == [nest.c, nest.b, nest.a]


def test_use_counts_include_nested_uses_and_yields(nest: Nest) -> None:
    counts = use_counts(nest.body)
    assert (counts[nest.a], counts[nest.b], counts[nest.out]) == (2, 2, 1)
    assert nest.last.result not in counts


def test_producers_reach_into_regions(nest: Nest) -> None:
    made = producers(nest.body)
    assert made[nest.t] is nest.inner.ops[1]
    assert nest.p not in made


def test_substitute_reaches_inside_and_shares_the_rest(nest: Nest) -> None:
    new = substitute(nest.body, {nest.b: 7.0})
    inner = new.ops[0].regions[0]
    assert inner.ops[0].operands == (nest.p, 7.0)
    assert inner.yields == (nest.t, 7.0, 1.0)
    assert inner.ops[1] is nest.inner.ops[1]
    assert new.ops[1] is nest.last
    assert new.ops[0].results == (nest.out,)


def test_substitute_without_effect_is_the_same_object(nest: Nest) -> None:
    assert substitute(nest.body, {}) is nest.body
    assert substitute(nest.body, {value("stranger"): 1.0}) is nest.body
    assert substitute_op(nest.box, {value("stranger"): 1.0}) is nest.box


def test_substitute_tells_literals_apart(nest: Nest) -> None:
    new = substitute(nest.body, {nest.a: 1})
    assert [type(operand) for operand in new.ops[1].operands] == [int, float]


def test_clone_renews_every_definition(nest: Nest) -> None:
    new, mapping = clone(nest.body)
    old_values = {nest.a, nest.b, nest.c, nest.p, nest.s, nest.t, nest.out, nest.last.result}
    new_values = {*new.params, *producers(new), *new.ops[0].regions[0].params}
    assert not old_values & new_values
    assert set(mapping) == old_values
    assert not free_values(new)
    assert [(v.name, v.type, v.has_user_name) for v in new.params] == [
        (v.name, v.type, v.has_user_name) for v in nest.body.params
    ]
    assert new.ops[0].span is HERE


def test_clone_maps_outer_values(nest: Nest) -> None:
    stand_in = value("stand_in")
    new, mapping = clone(nest.inner, {nest.b: stand_in})
    assert list(free_values(new)) == [stand_in, nest.a]
    assert mapping[nest.b] is stand_in


def test_clone_ops_extends_the_mapping(nest: Nest) -> None:
    mapping = {nest.a: 5.0}
    (copy,) = clone_ops([nest.last], mapping)
    assert copy.operands == (5.0, 2.0)
    assert mapping[nest.last.result] is copy.result is not nest.last.result


def test_map_regions(nest: Nest) -> None:
    assert map_regions(nest.box, lambda region: region) is nest.box
    assert map_regions(nest.last, lambda region: Region((), (), ())) is nest.last
    emptied = map_regions(nest.box, lambda region: Region(region.params, (), ()))
    assert emptied.regions[0].ops == () and emptied.results == nest.box.results


def test_equal_values_differ_by_identity() -> None:
    left, right = Value(INT, "n"), Value(INT, "n")
    region = Region((left,), (), (left, right))
    assert list(free_values(region)) == [right]
