"""Loaded source is visible to linecache and tracebacks as long as its functions live."""

from __future__ import annotations

import gc
import linecache
import sys
import traceback

import pytest

from autodiff_compiler.interface.request import Request
from autodiff_compiler.runtime.loader import load
from tests.runtime.records import product

PAIR = Request(positions=(0, 1), sens="ones", value=True)


def test_functions_of_the_text():
    loaded = load(product(PAIR), "here")
    value, residuals = loaded.forward(2.0, 5.0)
    assert value == 10.0
    assert loaded.backward(residuals) == (5.0, 2.0)
    assert loaded.file == "<autodiff here>"


def test_a_forward_only_unit_has_no_backward():
    loaded = load(product(Request()), "forward")
    assert loaded.backward is None
    assert loaded.forward(2, 3) == 6


def test_linecache_shows_the_text_while_the_unit_lives():
    loaded, other = load(product(PAIR), "seen"), load(product(PAIR), "seen")
    assert other.file == "<autodiff seen #2>"
    linecache.checkcache(loaded.file)
    assert linecache.getline(loaded.file, 5) == "    out = x * y\n"
    del loaded
    gc.collect()
    assert linecache.getline("<autodiff seen>", 5) == ""
    assert linecache.getline(other.file, 5) == "    out = x * y\n"


def test_an_exception_tells_the_users_line():
    loaded = load(product(PAIR), "raising")
    with pytest.raises(TypeError) as caught:
        try:
            loaded.forward({}, {})
        except TypeError as error:
            loaded.explain(error)
            loaded.explain(error)
            raise
    text = "".join(traceback.format_exception(caught.value))
    assert text.count("in compiled code for net.py:14:5: out = x * y") == 1
    assert 'File "<autodiff raising>", line 5' in text
    assert "    out = x * y\n" in text
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ["in compiled code for net.py:14:5: out = x * y"]


def test_an_exception_from_elsewhere_is_left_alone():
    loaded = load(product(PAIR), "quiet")
    try:
        int("x")
    except ValueError as error:
        loaded.explain(error)
        assert not hasattr(error, "__notes__")
        assert error.__cause__ is None
