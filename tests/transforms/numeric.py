"""Holds gradients of IR against central differences, to any order, and the halves against them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

import autodiff_compiler.operators  # noqa: F401  (fills OPERATORS)
from autodiff_compiler.ir.nodes import Function, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.parser import parse_functions
from autodiff_compiler.ir.printer import print_functions
from autodiff_compiler.ir.types import ArrayType, ListType, TupleType, Type
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.simplify.dce import dce
from autodiff_compiler.transforms.reverse.sweep import gradient_function, split
from autodiff_compiler.transforms.tangent.sweep import tangent_function
from tests.interpreter import run


def read(text: str) -> Function:
    """The last function of ``text``, in which the head of a loop may take two lines."""
    text = re.sub(r"\n\s+(?=carry \()", " ", text)
    return list(parse_functions(text, OPERATORS).values())[-1]


def flat(thing: Any) -> np.ndarray:
    """Every float in nested containers, in order."""
    if isinstance(thing, (tuple, list)):
        parts = [flat(item) for item in thing]
        return np.concatenate(parts) if parts else np.zeros(0)
    if isinstance(thing, dict):
        return flat(list(thing.values()))
    if isinstance(thing, float) or (isinstance(thing, (np.ndarray, np.generic)) and
                                    thing.dtype.kind == "f"):  # fmt: skip
        return np.ravel(np.asarray(thing, float))
    return np.zeros(0)


def moved(thing: Any, steps: list[float]) -> Any:
    """``thing`` with ``steps`` taken off the list and added to its floats, in order."""
    if isinstance(thing, (tuple, list)):
        return type(thing)(moved(item, steps) for item in thing)
    if isinstance(thing, dict):
        return {key: moved(item, steps) for key, item in thing.items()}
    if isinstance(thing, float):
        return thing + steps.pop(0)
    if isinstance(thing, (np.ndarray, np.generic)) and thing.dtype.kind == "f":
        return thing + np.array([steps.pop(0) for _ in range(thing.size)]).reshape(thing.shape)
    return thing


def numeric(function: Function, args: Sequence[Any], wrt: Sequence[int]) -> np.ndarray:
    """The gradient of the sum of every float that is returned."""
    total = []
    for position in wrt:
        size = len(flat(args[position]))
        for at in range(size):
            ends = []
            for step in (1e-6, -1e-6):
                steps = [step if k == at else 0.0 for k in range(size)]
                changed = list(args)
                changed[position] = moved(args[position], steps)
                ends.append(flat(run(function, changed)).sum())
            total.append((ends[0] - ends[1]) / 2e-6)
    return np.array(total)


def check(function: Function, args: Sequence[Any], wrt: Sequence[int], order: int = 2) -> None:
    """Compares gradient, halves and tangent of ``function``, then of its gradient, and so on; and
    gradient and tangent of the tangent."""
    tangent, pushed = check_tangent(function, args, wrt)
    if order > 1:
        check_tangent(tangent, pushed, [*wrt, len(args)])
        again = gradient_function(tangent, wrt)
        verify(again, "differentiated")
        found, expected = flat(run(again, pushed)), numeric(tangent, pushed, wrt)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    for number in range(order):
        if number:
            check_tangent(function, args, wrt)
        expected = numeric(function, args, wrt)
        gradient = gradient_function(function, wrt)
        verify(gradient, "differentiated")
        found = run(gradient, args)
        for position, ct in zip(wrt, found):
            same_kind(ct, args[position], function.params[position].type)
        np.testing.assert_allclose(
            flat(found), expected, rtol=1e-5, atol=1e-6, err_msg=print_functions(gradient)
        )
        for changes in ({}, {"simplify_each": dce}):
            check_split(function, args, wrt, expected, changes)
        function = gradient


def check_tangent(
    function: Function, args: Sequence[Any], wrt: Sequence[int]
) -> tuple[Function, list[Any]]:
    """Compares the tangent along one direction with a difference; gives it, and its arguments."""
    tangent = tangent_function(function, wrt)
    verify(tangent, "differentiated")
    text = print_functions(tangent)
    dots = [direction(args[position]) for position in wrt]
    count = len(function.returns)
    found = run(tangent, [*args, *dots])
    np.testing.assert_allclose(flat(found[:count]), flat(run(function, args)), err_msg=text)
    ends = []
    for step in (1e-6, -1e-6):
        changed = list(args)
        for position, dot in zip(wrt, dots):
            changed[position] = moved(args[position], [*(step * flat(dot))])
        ends.append(flat(run(function, changed)))
    expected = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(flat(found[count:]), expected, rtol=1e-5, atol=1e-6, err_msg=text)
    for value, dot, returned in zip(found, found[count:], function.returns):
        same_kind(dot, value, type_of(returned))
    return tangent, [*args, *dots]


def direction(thing: Any) -> Any:
    """A fixed direction of the structure of ``thing``."""
    size = len(flat(thing))
    wave = np.cos(1.0 + 1.7 * np.arange(size))
    return moved(thing, [float(w - x) for w, x in zip(wave, flat(thing))])


def check_split(
    function: Function, args: Sequence[Any], wrt: Sequence[int], expected: np.ndarray, changes: Any
) -> None:
    forward, backward = split(function, wrt, value=True, **changes)
    for half in (forward, backward):
        verify(half, "differentiated")
    text = print_functions(forward) + print_functions(backward)
    *values, residuals = run(forward, args)
    np.testing.assert_allclose(flat(values), flat(run(function, args)), err_msg=text)
    ones = run(backward, [residuals])
    np.testing.assert_allclose(flat(ones), expected, rtol=1e-5, atol=1e-6, err_msg=text)
    with_sens = split(function, wrt, sens=True, **changes)
    (residuals,) = run(with_sens[0], args)
    twice = [moved(v, [2.0 - x for x in flat(v)]) for v in values if flat(v).size]
    twice = twice[: len(with_sens[1].params) - 1]
    if len(twice) == len(with_sens[1].params) - 1:
        found = run(with_sens[1], [residuals, *twice])
        np.testing.assert_allclose(flat(found), 2 * expected, rtol=1e-5, atol=1e-6, err_msg=text)


def same_kind(ct: Any, primal: Any, type_: Type) -> None:
    """A cotangent has the structure, shape and dtype of its primal."""
    if isinstance(type_, TupleType):
        assert isinstance(ct, tuple) and len(ct) == len(primal)
        for one, other, item in zip(ct, primal, type_.items):
            same_kind(one, other, item)
    elif isinstance(type_, ListType):
        assert isinstance(ct, list) and len(ct) == len(primal)
        for one, other in zip(ct, primal):
            same_kind(one, other, type_.item)
    elif isinstance(type_, ArrayType):
        assert np.shape(ct) == np.shape(primal) and np.asarray(ct).dtype == primal.dtype
