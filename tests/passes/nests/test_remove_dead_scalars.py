"""Scalars go exactly when no store, condition, size, position or error depends on them."""

from __future__ import annotations

import pytest

from autodiff_compiler.loop_ir.nodes import Let, Loop, walk
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.passes.nests.distribute_loops import distribute_loops
from autodiff_compiler.passes.nests.remove_dead_scalars import remove_dead_scalars

HEAD = "func f(x: f64[9], n: i64) -> (y: f64[9]) {\n"
#: A body, and the names of the scalars that remain.
CASES = {
    "let a: f64 = x[0]\n y[0] = 1.0": "",
    "let a: f64 = x[0]\n let b: f64 = a * a\n y[0] = 1.0": "",
    "let a: f64 = x[0]\n let b: f64 = a * a\n y[0] = b": "a b",
    "let a: f64 = x[0]\n let b: f64 = a * a\n y[0] = a": "a",
    "let k: i64 = 3\n y[k] = 1.0": "k",
    "let k: i64 = 3\n y[0] = x[k]": "k",
    "let k: i64 = n\n for i in 0:k {\n y[i] = 1.0\n }": "k",
    "let a: f64 = x[0]\n if a > 1.0 {\n y[0] = 1.0\n }": "a",
    "var s: f64 = 0.0\n for i in 0:9 {\n s += x[i]\n }\n y[0] = s": "s",
    "var s: f64 = 0.0\n for i in 0:9 {\n s += x[i]\n }\n y[0] = 1.0": "",
    "var s: f64 = 0.0\n var t: f64 = 0.0\n for i in 0:9 {\n s = t\n t = s\n }\n y[0] = 1.0": "",
    "var s: f64 = 0.0\n var t: f64 = 0.0\n for i in 0:9 {\n s = t\n t = s\n }\n y[0] = t": "s t",
}


@pytest.mark.parametrize("body", CASES)
def test_the_scalars_that_remain(body: str) -> None:
    function = read_nests(f"{HEAD}{body}\n}}")
    after = remove_dead_scalars(function)
    assert " ".join(e.scalar.name for e in walk(after.body) if isinstance(e, Let)) == CASES[body]
    before = [each for each in walk(function.body) if isinstance(each, Let)]
    assert (after is function) == (len(CASES[body].split()) == len(before))


def test_a_loop_of_dead_scalars_alone_goes() -> None:
    text = "var s: f64 = 0.0\n for i in 0:9 {\n s += x[i]\n }\n y[0] = 1.0\n}"
    after = remove_dead_scalars(read_nests(HEAD + text))
    assert not any(isinstance(each, Loop) for each in walk(after.body))


def test_parts_of_a_loop_load_no_element_in_vain() -> None:
    first = "".join(f"let t{k}: f64 = exp(x[i] + {k}.0)\n" for k in range(12))
    total = " + ".join(f"t{k}" for k in range(12))
    text = f"for i in 0:20 {{\n let late: f64 = x[i]\n {first} y[i] = late * ({total})\n }}\n}}"
    parts = distribute_loops(read_nests(HEAD.replace("9", "20") + text))
    assert sum(isinstance(each, Loop) for each in walk(parts.body)) > 2
    lates = [
        sum(isinstance(e, Let) and e.scalar.name == "late" for e in walk(function.body))
        for function in (parts, remove_dead_scalars(parts))
    ]
    assert lates == [2, 1]
