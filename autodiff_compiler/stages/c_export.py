"""The three files of an exported C program: the function, its header, and its self-test.

The numbers of the self-test are those of the NumPy source of the same program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.cost_model import costs
from autodiff_compiler.emit.c.formula import Formula, formula_for, formula_like
from autodiff_compiler.emit.c.header import header_text
from autodiff_compiler.emit.c.return_codes import FIRST_ERROR
from autodiff_compiler.emit.c.self_test import RecordedCall, self_test_text
from autodiff_compiler.emit.c.signature import Port, Signature
from autodiff_compiler.emit.c.source import title
from autodiff_compiler.emit.outside_arrays import constant_arrays
from autodiff_compiler.errors import CallError
from autodiff_compiler.interface.compiled import Hoisted, StaticSlot
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ScalarType, TupleType, Type
from autodiff_compiler.loops.core.state import array_facts
from autodiff_compiler.loops.lower import leaf_types
from autodiff_compiler.program import Program, written_name

#: The elements of an argument: given ones, or a formula.
Elements: TypeAlias = "np.ndarray | Formula"
#: The numbers that stand for those of Python whose values are not given.
_NUMBERS: Mapping[Type, int | float] = {FLOAT: 0.75, INT: 3}


def c_export(
    program: Program, stem: str, given: Sequence[Any], run: Callable[..., Program]
) -> dict[str, str]:
    """Returns the contents of the files ``stem``.c, ``stem``.h and ``stem``_main.c, by name.

    given   for each slot its value, or a type as a string.
    run     ``run(program, stage, target)`` runs the stages of a target.

    Raises NoNativeText where a function has no C text. Raises CallError if the NumPy source has no
    result for the arguments of the self-test.
    """
    native = run(program, "nests", "c")
    native = run(replace(native, constants=constant_arrays(native)), "c", "c")
    signature = _signature(native)
    arguments = _Arguments(native, given)
    recorded = _recorded(run(program.undifferentiated()), arguments)
    call = RecordedCall(signature, arguments.without(native.constants or {}), tuple(recorded))
    return {
        f"{stem}.c": native.source,
        f"{stem}.h": header_text(stem, [signature]),
        f"{stem}_main.c": self_test_text(stem, [call]),
    }


# ---- the signature


def _signature(program: Program) -> Signature:
    """Returns the signature of the function of the C text."""
    (entry,), (nest,) = program.entries, program.nests
    return Signature(
        entry,
        f"{_kind(program)} of {title(nest)}",
        tuple(_ports(program)),
        tuple((FIRST_ERROR + k, _message(error)) for k, error in enumerate(nest.errors)),
    )


def _message(error: Sequence[str]) -> str:
    """Returns the exception and message of an error, with the types of the numbers in it."""
    name, message, *kinds = error
    types = ", ".join(each for each in kinds if each != "%")
    return f"{name}: {message}" + (f" (details: {types})" if types else "")


def _ports(program: Program) -> Iterator[Port]:
    """Yields the ports of the function."""
    function, (entry,), roles = program.function, program.entries, _roles(program)
    params = [param for param in function.params if param not in (program.constants or {})]
    wanted = [(type_of(param), roles[param]) for param in params]
    wanted += [(type_of(value), roles[k]) for k, value in enumerate(function.returns)]
    leaves = [(leaf, role) for type_, role in wanted for leaf in leaf_types(type_)]
    for parameter, (leaf, role) in zip(entry.parameters, leaves, strict=True):
        yield Port(parameter, array_facts(leaf)[1], role)


def _kind(program: Program) -> str:
    request = program.request
    if request.tangent:
        return "Value and tangent"
    if not request.differentiates:
        return "Value"
    return "Value and gradient" if request.value else "Gradient"


def _roles(program: Program) -> dict[Any, str]:
    """Returns the roles of the parameters, and of the returns by number."""
    request, function = program.request, program.function
    names = [param.name for param in program.primal.params]
    wanted = [names[place] for place in program.wrt]
    roles: dict[Any, str] = dict.fromkeys(function.params[: len(program.typed.places)], "argument")
    roles.update((param, _outside_role(each)) for param, each in program.outside())
    further = ["sensitivity: the gradient of the value"]
    if request.tangent:
        further = [f"tangent of {name}" for name in wanted]
    roles.update(zip([each for each in function.params if each not in roles], further))
    returns = ["value"] if request.returns_value or not request.differentiates else []
    returns += [f"new value of {written_name(write)}" for write in program.typed.writes]
    if request.tangent:
        returns.append("tangent of the value")
    elif request.differentiates:
        returns += [f"gradient of {name}" for name in wanted]
    return {**roles, **dict(enumerate(returns))}


def _outside_role(hoisted: Hoisted) -> str:
    return "Parameter" if isinstance(hoisted.source, Parameter) else "read from outside"


# ---- arguments and recorded numbers


class _Arguments:
    """The arguments of a self-test.

    leaves     the elements of the arrays and numbers in each parameter, the sensitivity last.
    by_formula the names of parameters whose values are not given.
    """

    def __init__(self, program: Program, given: Sequence[Any]) -> None:
        self.count = 0
        self.by_formula: list[str] = []
        slots = {place: slot for slot, place in program.typed.places.items()}
        values: list[Any] = [given[slots[place]] for place in range(len(slots))]
        values += [getattr(each.source, "_data", each.source) for _, each in program.outside()]
        self.leaves: dict[Value, list[Elements]] = {}
        for k, param in enumerate(program.function.params):
            if param in (program.constants or {}):
                self.leaves[param] = [np.asarray(values[k])]
                continue
            value = values[k] if k < len(values) else str(param.type)
            is_type = isinstance(value, str)
            self.leaves[param] = list(self._elements(param.type, None if is_type else value))
            if is_type and k < len(values):
                self.by_formula.append(param.name)

    def without(self, constants: Mapping[Value, Any]) -> tuple[Elements, ...]:
        """Returns the elements of all parameters that are not constants."""
        rows = (row for param, row in self.leaves.items() if param not in constants)
        return tuple(elements for row in rows for elements in row)

    def _elements(self, type_: Type, value: Any) -> Iterator[Elements]:
        """Yields the elements of each array and number of a type; None is a value not given."""
        if isinstance(type_, TupleType):
            items = [None] * len(type_.items) if value is None else [*value]
            for item, part in zip(type_.items, items, strict=True):
                yield from self._elements(item, part)
            return
        self.count += 1
        dtype, shape = array_facts(type_)
        if isinstance(value, StaticSlot):
            value = value.value
        if value is None and isinstance(type_, ScalarType):
            value = _NUMBERS.get(type_, True)
        if value is None:
            yield formula_for(dtype, self.count)
            return
        array = np.asarray(getattr(value, "_data", value), dtype)
        is_large = math.prod(shape) > costs().recorded_elements
        yield formula_like(array, self.count) if is_large else array


def _array(type_: Type, leaves: Iterator[Elements]) -> Any:
    """Returns the argument of a type as NumPy source takes it. It takes its elements."""
    if isinstance(type_, TupleType):
        return tuple(_array(item, leaves) for item in type_.items)
    elements, (dtype, shape) = next(leaves), array_facts(type_)
    if isinstance(elements, Formula):
        elements = elements.array(dtype, shape)
    return elements.copy() if isinstance(type_, ArrayType) else elements.item()


def _recorded(program: Program, arguments: _Arguments) -> list[np.ndarray]:
    """Returns the arrays and numbers that NumPy source returns, without residuals."""
    try:
        with np.errstate(all="ignore"):
            outcome = _run_numpy(program, arguments)
    except Exception as error:
        problem = f"NumPy raises {type(error).__name__}: {error}"
        raise _no_numbers(problem, arguments) from error
    if arguments.by_formula and any(np.isnan(x).any() for x in outcome if x.dtype.kind == "f"):
        raise _no_numbers("NumPy returns NaN", arguments)
    return outcome


def _no_numbers(problem: str, arguments: _Arguments) -> CallError:
    names = ", ".join(arguments.by_formula)
    cure = f"instead of types, give values of {names}" if names else "give other values"
    return CallError(f"the self-test of the exported file has no numbers: {problem}", cure)


def _run_numpy(program: Program, arguments: _Arguments) -> list[np.ndarray]:
    space: dict[str, Any] = {"__name__": "exported"}
    exec(compile(program.source, "<exported>", "exec", dont_inherit=True), space)
    forward, *backward = program.functions
    given = [_array(param.type, iter(leaves)) for param, leaves in arguments.leaves.items()]
    sens = [given.pop() for _ in range(program.request.takes_sens)]
    outcome = space[forward.name](*given)
    if not backward:
        return list(_leaves(outcome))
    front: tuple[Any, ...] = ()
    if program.request.returns_value or program.typed.writes:
        *front, outcome = outcome
    gradients = space[backward[0].name](outcome, *sens)
    return [*_leaves(tuple(front)), *_leaves(gradients)]


def _leaves(outcome: Any) -> Iterator[np.ndarray]:
    """Yields the arrays and numbers in nested tuples and lists."""
    if isinstance(outcome, (tuple, list)):
        for each in outcome:
            yield from _leaves(each)
    else:
        yield np.asarray(outcome)


__all__ = ["c_export"]
