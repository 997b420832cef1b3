"""Methods of lists and dicts that compiled code makes: results, and calls that Python refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError
from tests.frontend.written_programs import X, problem, program

LIST, DICT = "c = [x[0], 2.0, 3, 2.0]", "c = {'a': x[0], 'b': 2.0}"
CALLS = {
    "append": ("c.append(x[1])", "c[-1]"),
    "clear": ("c.clear()", "len(c) + x[0]"),
    "copy": ("d = c.copy()", "(d is c) + d[0]"),
    "count": ("n = [1, 2, 2].count(2)", "n * x[0]"),
    "extend": ("c.extend((x[2], 1))", "c[-2] * len(c)"),
    "index": ("n = ['p', 'q', 'q'].index('q', 2)", "n * x[0]"),
    "insert": ("c.insert(1, x[3])", "c[1] * c[2]"),
    "pop": ("d = c.pop(0)", "d * len(c)"),
    "remove": ("n = ['p', 'q']", "n.remove('p')", "len(n) * x[0]"),
    "reverse": ("c.reverse()", "c[-1] * c[0]"),
    "sort": ("n = [3, 1, 2]", "n.sort(reverse=True)", "n[0] * x[0]"),
}
DICT_CALLS = {
    "clear": ("c.clear()", "len(c) + x[0]"),
    "copy": ("d = c.copy()", "(d is c) + d['a']"),
    "get": ("d = c.get('z', x[1])", "d * c.get('a')"),
    "items": ("n = 0.0", "for k, v in c.items():", "    n = n + len(k) * v", "n * x[0]"),
    "keys": ("n = len(list(c.keys()))", "n * c['a']"),
    "pop": ("d = c.pop('a')", "d * len(c)"),
    "setdefault": ("c.setdefault('z', x[1])", "c['z'] * c.setdefault('a', 9.0)"),
    "update": ("c.update({'a': x[1]}, z=x[2])", "c['a'] * c['z']"),
    "values": ("n = sum(c.values())", "n * x[0]"),
}
PROGRAMS = [(LIST, *lines) for lines in CALLS.values()]
PROGRAMS += [(DICT, *lines) for lines in DICT_CALLS.values()]
_LIST_CALLS = """append() append(1,2) clear(1) copy(1) count() count(1,2) extend() extend([1],[2])
    index() index(1,2,3,4) insert(0) pop(0,1) remove() reverse(1) sort(1) append(item=1)"""
_DICT_CALLS = """clear(1) copy(1) get() items(1) keys(1) pop() setdefault() update({},{}) values(1)
    get(key=1)"""
WRONG = [(LIST, f"c.{call}") for call in _LIST_CALLS.split()]
WRONG += [(DICT, f"c.{call}") for call in _DICT_CALLS.split()]


@pytest.mark.parametrize("lines", PROGRAMS, ids=" ".join)
def test_value_and_gradient(lines: tuple[str, ...]) -> None:
    assert problem(program(*lines[:-1], f"return {lines[-1]}")) == ""


@pytest.mark.parametrize("made, call", WRONG, ids=" ".join)
def test_a_call_that_python_refuses_is_refused_with_its_message(made: str, call: str) -> None:
    names: dict[str, Any] = {"x": X}
    exec(made, names)
    with pytest.raises(TypeError) as wanted:
        eval(call, names)
    with pytest.raises(CompileError) as found:
        ms.value_and_grad(program(made, call, "return x.sum()"))(X.copy())
    assert isinstance(found.value, TypeError) and call in str(found.value)
    assert "argument" in str(wanted.value) and "argument" in str(found.value)


def test_a_missing_item_is_refused_with_pythons_message() -> None:
    with pytest.raises(CompileError, match=r"list.remove\(x\): x not in list"):
        ms.value_and_grad(program("c = [1, 2]", "c.remove(3)", "return x.sum()"))(np.ones(2))
