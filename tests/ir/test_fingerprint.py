"""A digest changes with everything from which source is generated, and with nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autodiff_compiler.ir.fingerprint import fingerprint
from autodiff_compiler.ir.nodes import Region, Value
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.types import parse_type
from autodiff_compiler.span import Span

TEXT = """\
func @f(%x!: f32[2], %n!: int) -> (f32[2]) {
  %y!: f32[2], %count: int = for %k, %i! in (0, %n, 1) carry (%h: f32[2] = %x) {
    %a: f32[2] = mul %h, 2.0
    yield carry %a
  }
  return %y
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2.0", "2"), ("2.0", "-2.0"), ("mul", "add"), ("%a", "%b"), ("%y!", "%y"),
        ("(0, %n, 1)", "(1, %n, 1)"), ("f32[2]", "f32[3]"), ("mul %h, 2.0", "mul 2.0, %h"),
        ("yield carry %a", "yield carry %h"), ("@f", "@g"),
    ],
)  # fmt: skip
def test_different_functions_have_different_digests(old, new):
    assert fingerprint(parse_function(TEXT)) == fingerprint(parse_function(TEXT))
    assert fingerprint(parse_function(TEXT)) != fingerprint(parse_function(TEXT.replace(old, new)))


def test_the_users_lines_count():
    function = parse_function(TEXT)
    at = Span("net.py", 3, 1, 5, "y = x")
    places = [at, replace(at, line=4), replace(at, text="y = z"), replace(at, file="other.py")]
    assert len({fingerprint(replace(function, span=place)) for place in places}) == 4


def test_operands_count():
    """Two values of one name and type differ by their order, not by their identity."""
    one, two = (Value(parse_type("f32[2]"), "x", True) for _ in range(2))
    assert fingerprint(Region((one, two), (), (one,))) == fingerprint(
        Region((two, one), (), (two,))
    )
    assert fingerprint(Region((one, two), (), (one,))) != fingerprint(
        Region((one, two), (), (two,))
    )


def test_safe_magnitude_values_count_in_any_order():
    text = parse_function(TEXT)
    first, last = text.params[0], text.body.ops[-1].results[0]
    known = [frozenset(), frozenset({first}), frozenset({last}), frozenset({first, last})]
    digests = [fingerprint(replace(text, safe_magnitude=some)) for some in known]
    assert None not in digests and len(set(digests)) == 4
    assert digests[3] == fingerprint(replace(text, safe_magnitude=frozenset({last, first})))
    assert fingerprint(replace(text, safe_magnitude=frozenset({Value(parse_type("int"))}))) is None


def test_different_plain_data_has_different_digests():
    things = [
        1, 1.0, True, "1", None, (1,), [1], (1, 1), ((1,),), {"a": 1}, {"b": 1}, {"a": (1,)},
        0.0, -0.0, 1j, b"1", ..., slice(1), slice(1, None), np.dtype("f4"), np.dtype("f8"),
        ("a", "b"), ("ab",), ("a\0b",),
    ]  # fmt: skip
    assert len({fingerprint(thing) for thing in things}) == len(things)


@pytest.mark.parametrize("thing", [object(), len, {1}, np.ones(2), (1, [lambda: 0])])
def test_objects_without_a_textual_form_have_no_digest(thing):
    assert fingerprint(thing) is None
