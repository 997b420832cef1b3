"""Copy insertion: the owner of the memory of a result."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.memory.copy_escaping_views import copy_escaping_views, owns
from tests import interpreter


@pytest.mark.parametrize(
    ("first", "owned"), [("neg %x", True), ("transpose %x {perm=(0,)}", False)]
)
def test_paths_that_part_and_meet_many_times_are_followed_once(first: str, owned: bool) -> None:
    lines = [f"%v0: f32[2] = {first}"]
    for n in range(60):
        lines += [f"%v{n + 1}: f32[2] = if %go {{", f"yield %v{n}", "} else {", f"yield %v{n}", "}"]
    body = "\n".join(lines)
    text = f"func @f(%x: f32[2], %go: bool) -> (f32[2]) {{\n{body}\nreturn %v60\n}}\n"
    function = parse_function(text)
    assert owns(function, function.returns[0]) is owned


def looped(body: str, steps: object = 3, more: str = "") -> Function:
    """Returns a function that returns the result of a loop on its parameter ``x``."""
    return parse_function(
        f"""
func @f(%x: f32[4], %y: f32[4], %n: int) -> (f32[4], f32[4]) {{
  %a: f32[4], %b: f32[4], %m: int = for %p, %i in (0, {steps}, 1) \
carry (%c: f32[4] = %x, %d: f32[4] = %y) {{
{body}
  }}
  return %a, %a
}}
""".replace("return %a, %a", more or "return %a, %b")
    )


def copies(function: Function) -> list[str]:
    """Returns the copies in the outermost region, with their place before or after the loop."""
    names = [op.name for op in copy_escaping_views(function).body.ops]
    return [name if name == "for" else "copy" for name in names]


ADDED = """
    %e: f32[4] = add %c, %d
    %g: f32[4] = mul %d, 2.0
    yield carry %e, %g
"""


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (looped(ADDED), ["copy", "copy", "for"]),
        # What may not run at all may carry what is not set, or hand on what it was given.
        (looped(ADDED, "%n"), ["for", "copy", "copy"]),
        (looped(ADDED, 0), ["for", "copy", "copy"]),
        # A parameter comes back by another way than that into the loop.
        (looped("%e: f32[4] = add %c, %d\nyield carry %x, %e"), ["copy", "for", "copy"]),
        # One result is what the other was.
        (looped("%e: f32[4] = add %c, %d\nyield carry %d, %e"), ["for", "copy", "copy"]),
        # One array is returned twice.
        (looped(ADDED, more="return %a, %a"), ["copy", "for", "copy"]),
    ],
)
def test_the_initial_value_of_a_loop_is_copied_before_it(
    function: Function, wanted: list[str]
) -> None:
    assert copies(function) == wanted


@pytest.mark.parametrize("steps", (0, 1, 3))
def test_no_result_lies_in_an_argument(steps: int) -> None:
    for body in (ADDED, "%e: f32[4] = add %c, %d\nyield carry %d, %c"):
        function = copy_escaping_views(looped(body, steps))
        x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
        given = x.copy(), y.copy()
        found = interpreter.run(function, [x, y, 3])
        for one, wanted in zip(found, interpreter.run(looped(body, steps), [*given, 3])):
            np.testing.assert_array_equal(one, wanted)
        for k, one in enumerate(found):
            assert not any(np.shares_memory(one, other) for other in (x, y, *found[k + 1 :]))
