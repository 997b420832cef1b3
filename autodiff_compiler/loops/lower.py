"""Lowers a function of typed IR to a function of loop nests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from autodiff_compiler.ir.nodes import Function, Op, Region, Value, type_of
from autodiff_compiler.ir.types import ScalarType, TupleType, Type
from autodiff_compiler.loop_ir import nodes
from autodiff_compiler.loop_ir.nodes import Affine, Buffer, Expression, Read, Scalar
from autodiff_compiler.loops.core.liveness import tested_values
from autodiff_compiler.loops.core.state import Lowering, array_facts
from autodiff_compiler.loops.core.values import (
    Array,
    Items,
    Joined,
    NoNativeText,
    Representation,
    Rows,
    Text,
    Unset,
    row_major,
)
from autodiff_compiler.loops.rules import (
    along,
    contractions,
    creation,
    elementwise,
    indexing,
    lists,
    matrices,
    moving,
    numbers,
    reductions,
    scans,
    shapes,
    windows,
)
from autodiff_compiler.loops.rules.control_flow import ControlFlow
from autodiff_compiler.loops.rules.inlined import inlined_rules

Rule = Callable[[Lowering, Op], None]


def _lower_region(low: Lowering, region: Region, is_branch: bool = False) -> None:
    with low.region(region, is_branch) as frame:
        for frame.place, op in enumerate(region.ops):
            rule = RULES.get(op.name)
            if rule is None:
                raise NoNativeText(op.name)
            low.span = op.span
            rule(low, op)


#: The rule of each operator that has one.
RULES: Mapping[str, Rule] = {
    **elementwise.RULES,
    **shapes.RULES,
    **indexing.RULES,
    **along.RULES,
    **contractions.RULES,
    **creation.RULES,
    **scans.RULES,
    **moving.RULES,
    **numbers.RULES,
    **windows.RULES,
    **reductions.RULES,
    **matrices.RULES,
    **lists.RULES,
    **ControlFlow(_lower_region).rules(),
    **inlined_rules(_lower_region),
}


def lower_to_loops(function: Function, names: Mapping[int, str] | None = None) -> nodes.Function:
    """Returns ``function`` as loop nests. ``names`` are those of returns, by number.

    Its parameters are arrays of known shapes, numbers and tuples of these; so are its returns.
    Raises NoNativeText where an operator or a type has no loops.
    """
    low = Lowering({})
    inputs: list[Buffer | Scalar] = []
    for param in function.params:
        low.bind(param, _parameter(low, inputs, param.name, param.type))
    outputs, places = [], {}
    for number, value in enumerate(function.returns):
        if not isinstance(value, Value):
            raise NoNativeText("a constant result")
        name = (names or {}).get(number, value.name)
        for type_ in leaf_types(value.type):
            outputs.append(_array(name, *array_facts(type_), "output"))
        is_array = not isinstance(value.type, TupleType) and outputs[-1].shape
        if is_array and value not in places and value not in function.params:
            places[value] = outputs[-1]
    low.destinations = places
    low.tested = tested_values(function.body)
    _lower_region(low, function.body)
    leaves = [leaf for value in function.returns for leaf in _leaves(low.represent(value))]
    for leaf, output in zip(leaves, outputs, strict=True):
        _return(low, leaf, output)
    return nodes.Function(
        function.name,
        tuple(inputs),
        tuple(output.buffer for output in outputs),
        tuple(low.blocks[0]),
        errors=tuple(low.errors),
        title=function.title,
        span=function.span,
    )


def _parameter(
    low: Lowering, inputs: list[Buffer | Scalar], name: str, type_: Type
) -> Representation:
    """Adds the inputs for a parameter, and returns what stands for it."""
    if isinstance(type_, TupleType):
        items = enumerate(type_.items)
        return Items(tuple(_parameter(low, inputs, f"{name}_{k}", item) for k, item in items))
    dtype, shape = array_facts(type_)
    if isinstance(type_, ScalarType):
        scalar = Scalar(name, dtype)
        inputs.append(scalar)
        return Read(scalar)
    array = _array(name, dtype, shape, "input")
    inputs.append(array.buffer)
    return array if shape else low.let(name, array.load(()))


def leaf_types(type_: Type) -> Iterator[Type]:
    """Yields the types of the arrays and numbers in a tuple, in order."""
    if isinstance(type_, TupleType):
        for item in type_.items:
            yield from leaf_types(item)
    else:
        yield type_


def packing_of(function: Function) -> Any:
    """Returns what the compiled function returns: the number of an output, or a tuple of such.

    The outputs of ``lower_to_loops`` are the leaves of all returned values, in order.
    """
    count = itertools.count()

    def packed(type_: Type) -> Any:
        return tuple(map(packed, type_.items)) if isinstance(type_, TupleType) else next(count)

    values = tuple(packed(type_of(value)) for value in function.returns)
    return values[0] if len(values) == 1 else values


def _leaves(value: Representation) -> Iterator[Array | Expression]:
    if isinstance(value, Items):
        for item in value.items:
            yield from _leaves(item)
    elif isinstance(value, (Rows, Joined, Text, Unset)):
        raise NoNativeText("a list as a result")
    else:
        yield value


def _return(low: Lowering, value: Array | Expression, output: Array) -> None:
    """Copies a returned array or number to its output, unless it is there."""
    if isinstance(value, Array):
        if value != output:
            low.nest(output.shape, lambda at: low.store(output, at, value.load(at)))
    else:
        low.store(output, (), value)


def _array(name: str, dtype: str, shape: tuple[int, ...], role: str) -> Array:
    size = 1
    for each in shape:
        size *= each
    return Array(Buffer(name, dtype, size, role), Affine(), shape, row_major(shape))
