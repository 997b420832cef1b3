"""Lowers a function of typed IR to a function of loop nests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value
from autodiff_compiler.loop_ir import nodes
from autodiff_compiler.loop_ir.nodes import Affine, Buffer, Read, Scalar
from autodiff_compiler.loops.core.state import Lowering, array_facts
from autodiff_compiler.loops.core.values import Array, NoNativeText, row_major
from autodiff_compiler.loops.rules import (
    along,
    contractions,
    creation,
    elementwise,
    indexing,
    lists,
    moving,
    products,
    reductions,
    scans,
    shapes,
    windows,
)
from autodiff_compiler.loops.rules.control_flow import ControlFlow

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
    **windows.RULES,
    **reductions.RULES,
    **products.RULES,
    **lists.RULES,
    **ControlFlow(_lower_region).rules(),
}


def lower_to_loops(function: Function) -> nodes.Function:
    """Returns ``function`` as loop nests.

    Its parameters are arrays of known shapes, and numbers; so are its returns. Raises NoNativeText
    where an operator or a type has no loops.
    """
    low = Lowering({})
    inputs: list[Buffer | Scalar] = []
    for param in function.params:
        dtype, shape = array_facts(param.type)
        if not shape and not _is_array(param):
            scalar = Scalar(param.name, dtype)
            inputs.append(scalar)
            low.bind(param, Read(scalar))
            continue
        array = _array(param.name, dtype, shape, "input")
        inputs.append(array.buffer)
        low.bind(param, array if shape else low.let(param.name, array.load(())))
    outputs, places = [], {}
    for value in function.returns:
        dtype, shape = array_facts(value.type) if isinstance(value, Value) else ("float64", ())
        if not isinstance(value, Value):
            raise NoNativeText("a constant result")
        outputs.append(_array(value.name, dtype, shape, "output"))
        if shape and value not in places and value not in function.params:
            places[value] = outputs[-1]
    low.destinations = places
    _lower_region(low, function.body)
    for value, output in zip(function.returns, outputs):
        _return(low, value, output)
    return nodes.Function(
        function.name,
        tuple(inputs),
        tuple(output.buffer for output in outputs),
        tuple(low.blocks[0]),
        errors=tuple(low.errors),
        title=function.title,
        span=function.span,
    )


def _return(low: Lowering, value: AnyOperand, output: Array) -> None:
    """Copies a returned value to its output, unless it is there."""
    if low.represent(value) != output:
        low.nest(output.shape, lambda at: low.store(output, at, low.element(value, at)))


def _is_array(param: Value) -> bool:
    return hasattr(param.type, "shape")


def _array(name: str, dtype: str, shape: tuple[int, ...], role: str) -> Array:
    size = 1
    for each in shape:
        size *= each
    return Array(Buffer(name, dtype, size, role), Affine(), shape, row_major(shape))
