"""Exceptions of library code as compile errors: their class, words and cure."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from autodiff_compiler.errors import CompileError
from autodiff_compiler.frontend.abstract.values import HeapRef
from autodiff_compiler.frontend.core.error_translation import (
    KINDS_RAISED,
    failed_check,
    translate_error,
    usage_of,
)
from autodiff_compiler.span import NOWHERE


def scale(x: int, *rest: int, k: float = 2.0) -> float:
    return k


@pytest.mark.parametrize("kind", KINDS_RAISED)
def test_a_mistake_becomes_a_compile_error_that_python_users_expect(kind: type) -> None:
    error = translate_error(kind("bad thing"), "this call fails", None, NOWHERE)
    (problem,) = error.problems
    assert isinstance(error, CompileError) and "bad thing" in problem.cause
    assert problem.cause.startswith("this call fails: ") and problem.cure


def test_other_exceptions_are_raised_again() -> None:
    """No mistake of the user's ends in one of these."""
    for error in (MemoryError(), RecursionError("deep"), AssertionError("inside")):
        if not isinstance(error, KINDS_RAISED):
            with pytest.raises(type(error)):
                translate_error(error, "this call fails", None, NOWHERE)


def test_words_of_the_inside_are_replaced() -> None:
    inside = TypeError(f"'Value' and {HeapRef.__name__}(kind='list', number=3) do not add up")
    (problem,) = translate_error(inside, "this fails", None, NOWHERE).problems
    assert problem.cause == "this fails: 'Tensor' and <a list> do not add up"


def test_a_wrong_argument_shows_the_signature() -> None:
    wrong = TypeError("scale() got an unexpected keyword argument 'z'")
    (problem,) = translate_error(wrong, "this call fails", scale, NOWHERE).problems
    assert problem.cure == "call it as scale(x, *rest, k=2.0)"
    anything = functools.wraps(scale)(lambda *args, **kwargs: None)
    (problem,) = translate_error(wrong, "this call fails", anything, NOWHERE).problems
    assert "call it as" not in problem.cure


@pytest.mark.parametrize(
    ("called", "usage"),
    [(scale, "scale(x, *rest, k=2.0)"), (functools.partial(scale, 1), "partial(*rest, k=2.0)"),
     (3, "")],
)  # fmt: skip
def test_signatures(called: Any, usage: str) -> None:
    assert usage_of(called) == usage
    assert not usage or usage_of(called, "f") == "f" + usage[usage.index("(") :]


def test_an_exception_of_the_users_own_code_is_no_check() -> None:
    try:
        raise ValueError("mine")
    except ValueError as error:
        assert failed_check(error, NOWHERE) is None
