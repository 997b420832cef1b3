"""The fixture of a pass's test: its input, its output, and the interpreter's agreement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Protocol

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.types import BOOL, FLOAT, INT, ArrayType, ListType, TupleType, Type
from autodiff_compiler.ir.verify.structure import verify
from tests.interpreter import EndlessLoop, run

Pass = Callable[[Function], Function]
NUMBERS = {INT: (3, 0), FLOAT: (0.75, -1.5), BOOL: (True, False)}


class Optimised(Protocol):
    def __call__(
        self,
        before: str | Function,
        *passes: Pass,
        inputs: Sequence[Any] | None = None,
        stage: str = "typed",
        rtol: float = 0.0,
        atol: float = 0.0,
    ) -> Function: ...


@pytest.fixture
def optimised() -> Optimised:
    """Returns a function that applies passes and checks that they keep the meaning.

    It verifies the result at ``stage``, runs both versions in the interpreter on ``inputs`` (or on
    two draws by the types of the parameters), and compares them: bit for bit, or with a tolerance.
    Parameters that a pass adds, such as a workspace, get arguments with random contents.
    """

    def optimised(
        before: str | Function,
        *passes: Pass,
        inputs: Sequence[Any] | None = None,
        stage: str = "typed",
        rtol: float = 0.0,
        atol: float = 0.0,
    ) -> Function:
        function = parse_function(before) if isinstance(before, str) else before
        after = function
        for each in passes:
            after = each(after)
        verify(after, stage)
        drawn = [inputs] if inputs is not None else [arguments(function, n) for n in range(2)]
        for given in drawn:
            added = arguments(after, 0)[len(given) :]
            wanted, found = outcome(function, given), outcome(after, [*given, *added])
            assert_alike(found, wanted, rtol, atol)
        return after

    return optimised


def arguments(function: Function, number: int) -> list[Any]:
    """Returns arguments of the types of the parameters, the ``number``-th draw."""
    random = np.random.default_rng(number)
    return [draw(param.type, random, number) for param in function.params]


def draw(type_: Type, random: np.random.Generator, number: int) -> Any:
    if isinstance(type_, ArrayType):
        shape = [dim if isinstance(dim, int) else 3 for dim in type_.shape or ()]
        values = random.standard_normal(shape)
        return np.asarray(values > 0 if type_.dtype == "bool" else values).astype(type_.dtype)
    if isinstance(type_, ListType):
        return [draw(type_.item, random, number) for _ in range(3)]
    if isinstance(type_, TupleType):
        return tuple(draw(item, random, number) for item in type_.items)
    return NUMBERS[type_][number]


def outcome(function: Function, given: Sequence[Any]) -> Any:
    """Returns the results of ``function``, or the type of the exception that it raises."""
    try:
        with np.errstate(all="ignore"):
            return run(function, deepcopy(list(given)))
    except (ArithmeticError, LookupError, TypeError, ValueError, EndlessLoop) as error:
        return type(error)


def assert_alike(found: Any, wanted: Any, rtol: float, atol: float) -> None:
    """Compares results by type, shape, dtype and value."""
    if isinstance(wanted, (list, tuple)):
        assert type(found) is type(wanted) and len(found) == len(wanted)
        for one, other in zip(found, wanted):
            assert_alike(one, other, rtol, atol)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert np.shape(found) == wanted.shape and np.asarray(found).dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
    elif isinstance(wanted, float):
        assert isinstance(found, float)
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
    else:
        assert found is wanted or found == wanted
