"""The three files of an exported C program: the functions, their header, and their self-test.

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
from autodiff_compiler.emit.c.self_test import RecordedCall, Saved, self_test_text
from autodiff_compiler.emit.c.signature import Port, Signature
from autodiff_compiler.emit.c.source import FIRST_ERROR, Entry, title
from autodiff_compiler.emit.outside_arrays import constant_arrays
from autodiff_compiler.errors import CallError
from autodiff_compiler.interface import Hoisted, StaticSlot
from autodiff_compiler.ir.nodes import Function, Value, type_of
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
    signatures = _signatures(native)
    arguments = _Arguments(native, given)
    recorded = _recorded(run(program.undifferentiated()), arguments)
    calls = _calls(native, signatures, arguments, recorded)
    return {
        f"{stem}.c": native.source,
        f"{stem}.h": header_text(stem, signatures),
        f"{stem}_main.c": self_test_text(stem, calls),
    }


# ---- signatures


def _signatures(program: Program) -> list[Signature]:
    """Returns the signature of each function of the C text."""
    roles = [_roles(program), *([_backward_roles(program)] if len(program.functions) > 1 else [])]
    titles = [f"{kind} of {title(nest)}" for kind, nest in zip(_kinds(program), program.nests)]
    parts = zip(program.entries, titles, program.functions, roles, program.nests, strict=True)
    signatures = [
        Signature(
            entry,
            about,
            tuple(_ports(entry, _without_constants(program, function), function, roles_)),
            tuple((FIRST_ERROR + k, _message(error)) for k, error in enumerate(nest.errors)),
        )
        for entry, about, function, roles_, nest in parts
    ]
    for second in signatures[1:]:  # at most one
        signatures[1] = replace(second, ports=tuple(_saved_ports(program, *signatures)))
    return signatures


def _message(error: Sequence[str]) -> str:
    """Returns the exception and message of an error, with the types of the numbers in it."""
    name, message, *kinds = error
    types = ", ".join(each for each in kinds if each != "%")
    return f"{name}: {message}" + (f" (details: {types})" if types else "")


def _saved_ports(program: Program, first: Signature, second: Signature) -> Iterator[Port]:
    """Yields the ports of the second function. A saved value is given by its name in the first."""
    count = _count_of_saved(program)
    for port, output in zip(second.ports, first.outputs[-count:] if count else ()):
        yield replace(port, role=f"{output.name} of {first.entry.name}")
    yield from second.ports[count:]


def _count_of_saved(program: Program) -> int:
    """Counts the arrays and numbers that the first function saves for the second."""
    return len([*leaf_types(program.functions[1].params[0].type)])


def _without_constants(program: Program, function: Function) -> list[Value]:
    return [param for param in function.params if param not in (program.constants or {})]


def _ports(
    entry: Entry, params: Sequence[Value], function: Function, roles: Mapping[Any, str]
) -> Iterator[Port]:
    """Yields the ports of a function; ``roles`` are by parameter, and by number of a return."""
    wanted = [(type_of(param), roles[param]) for param in params]
    wanted += [(type_of(value), roles[k]) for k, value in enumerate(function.returns)]
    leaves = [(leaf, role) for type_, role in wanted for leaf in leaf_types(type_)]
    for parameter, (leaf, role) in zip(entry.parameters, leaves, strict=True):
        yield Port(parameter, array_facts(leaf)[1], role)


def _kinds(program: Program) -> list[str]:
    request = program.request
    if request.tangent:
        return ["Value and tangent"]
    if not request.differentiates:
        return ["Value"]
    value = "Value and gradient" if request.value else "Gradient"
    return [value] if len(program.functions) == 1 else ["First half of the gradient", "Gradient"]


def _roles(program: Program) -> dict[Any, str]:
    """Returns the roles of the parameters of the first function, and of its returns by number."""
    request, function = program.request, program.functions[0]
    names = [param.name for param in program.primal.params]
    wanted = [names[place] for place in program.wrt]
    roles: dict[Any, str] = dict.fromkeys(function.params[: len(program.typed.places)], "argument")
    roles.update((param, _outside_role(each)) for param, each in program.outside())
    tangents = [f"tangent of {name}" for name in wanted]
    roles.update(zip([each for each in function.params if each not in roles], tangents))
    returns = ["value"] if request.returns_value or not request.differentiates else []
    returns += [f"new value of {written_name(write)}" for write in program.typed.writes]
    if request.tangent:
        returns.append("tangent of the value")
    elif len(program.functions) > 1:
        returns.append(f"saved for {program.entries[1].name}")
    elif request.differentiates:
        returns += [f"gradient of {name}" for name in wanted]
    return {**roles, **dict(enumerate(returns))}


def _backward_roles(program: Program) -> dict[Any, str]:
    """Returns the roles of the parameters of the second function, and of its returns."""
    residuals, *sensitivities = program.functions[1].params
    names = [program.primal.params[place].name for place in program.wrt]
    return {
        residuals: "saved",
        **dict.fromkeys(sensitivities, "sensitivity: the gradient of the value"),
        **{k: f"gradient of {name}" for k, name in enumerate(names)},
    }


def _outside_role(hoisted: Hoisted) -> str:
    return "Parameter" if isinstance(hoisted.source, Parameter) else "read from outside"


# ---- arguments and recorded numbers


class _Arguments:
    """The arguments of a self-test.

    leaves     the elements of the arrays and numbers in each parameter of the first function.
    seeds      the elements of the sensitivity.
    by_formula the names of parameters whose values are not given.
    """

    def __init__(self, program: Program, given: Sequence[Any]) -> None:
        self.count = 0
        self.by_formula: list[str] = []
        slots = {place: slot for slot, place in program.typed.places.items()}
        values: list[Any] = [given[slots[place]] for place in range(len(slots))]
        values += [getattr(each.source, "_data", each.source) for _, each in program.outside()]
        self.leaves: dict[Value, list[Elements]] = {}
        for k, param in enumerate(program.functions[0].params):
            if param in (program.constants or {}):
                self.leaves[param] = [np.asarray(values[k])]
                continue
            value = values[k] if k < len(values) else str(param.type)
            is_type = isinstance(value, str)
            self.leaves[param] = list(self._elements(param.type, None if is_type else value))
            if is_type and k < len(values):
                self.by_formula.append(param.name)
        last = program.functions[1].params[1:] if len(program.functions) > 1 else ()
        self.seeds = {param: list(self._elements(param.type, None)) for param in last}

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


def _arrays(types: Sequence[Type], leaves: Sequence[Elements]) -> list[Any]:
    """Returns the arguments of these types as NumPy source takes them."""
    rest = iter(leaves)

    def argument(type_: Type) -> Any:
        if isinstance(type_, TupleType):
            return tuple(map(argument, type_.items))
        elements, (dtype, shape) = next(rest), array_facts(type_)
        if isinstance(elements, Formula):
            elements = elements.array(dtype, shape)
        return elements.copy() if isinstance(type_, ArrayType) else elements.item()

    return [argument(type_) for type_ in types]


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
    leaves = [leaf for each in arguments.leaves.values() for leaf in each]
    outcome = space[forward.name](*_arrays([param.type for param in arguments.leaves], leaves))
    if not backward:
        return list(_leaves(outcome))
    front: tuple[Any, ...] = ()
    if program.request.returns_value or program.typed.writes:
        *front, outcome = outcome
    seeds = [leaf for each in arguments.seeds.values() for leaf in each]
    sens = _arrays([param.type for param in arguments.seeds], seeds)
    gradients = space[backward[0].name](outcome, *sens)
    return [*_leaves(tuple(front)), *_leaves(gradients)]


def _leaves(outcome: Any) -> Iterator[np.ndarray]:
    """Yields the arrays and numbers in nested tuples and lists."""
    if isinstance(outcome, (tuple, list)):
        for each in outcome:
            yield from _leaves(each)
    else:
        yield np.asarray(outcome)


def _calls(
    program: Program,
    signatures: Sequence[Signature],
    arguments: _Arguments,
    recorded: Sequence[np.ndarray],
) -> list[RecordedCall]:
    """Returns the calls of a self-test, with what each has to return."""
    params = _without_constants(program, program.functions[0])
    leaves = tuple(leaf for param in params for leaf in arguments.leaves[param])
    if len(signatures) == 1:
        return [RecordedCall(signatures[0], leaves, tuple(recorded))]
    first, second = signatures
    residuals = _count_of_saved(program)
    front = len(first.outputs) - residuals
    seeds = [leaf for each in arguments.seeds.values() for leaf in each]
    saved = [Saved(front + k) for k in range(residuals)]
    return [
        RecordedCall(first, leaves, (*recorded[:front], *[None] * residuals)),
        RecordedCall(second, (*saved, *seeds), tuple(recorded[front:])),
    ]


__all__ = ["c_export"]
