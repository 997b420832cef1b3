"""Whose memory a result lies in."""

from __future__ import annotations

import pytest

from autodiff_compiler.ir.text import parse_function
from autodiff_compiler.passes.own import owns


@pytest.mark.parametrize(
    ("first", "owned"), [("neg %x", True), ("transpose %x {perm=(0,)}", False)]
)
def test_ways_that_part_and_meet_many_times_are_gone_once(first: str, owned: bool) -> None:
    lines = [f"%v0: f32[2] = {first}"]
    for n in range(60):
        lines += [f"%v{n + 1}: f32[2] = if %go {{", f"yield %v{n}", "} else {", f"yield %v{n}", "}"]
    body = "\n".join(lines)
    text = f"func @f(%x: f32[2], %go: bool) -> (f32[2]) {{\n{body}\nreturn %v60\n}}\n"
    function = parse_function(text)
    assert owns(function, function.returns[0]) is owned
