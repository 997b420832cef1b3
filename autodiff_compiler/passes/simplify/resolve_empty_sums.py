"""Gives the sum of a list of arrays that may be empty one shape: by a start, or by an exception.

Python's ``sum`` of an empty list is the int 0. Each use of the sum may broadcast it with an array
of the shape of the items. Then zeros of that shape have the same result: the sum gets them as its
start. Elsewhere the shape of 0 would show, as in ``np.sum(sum(items) + y)``: an empty list raises.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f64[3], %items: list[f64[3]]) -> (f64[3], f64[]) {
...   %a: f64[3] = list_sum %items {may_be_empty=True}
...   %b: f64[3] = sin %a
...   %c: f64[3] = add %x, %b
...   %d: f64[3] = list_sum %items {may_be_empty=True}
...   %e: f64[] = sum %d {axes=None, keepdims=False}
...   return %c, %e
... }
... ''')
>>> print(print_function(resolve_empty_sums(before)), end='')
func @f(%x: f64[3], %items: list[f64[3]]) -> (f64[3], f64[]) {
  %filled: f64[3] = full {dtype='float64', shape=(3,), value=0}
  %a: f64[3] = list_sum_from %items, %filled
  %b: f64[3] = sin %a
  %c: f64[3] = add %x, %b
  %list_length_items: int = list_length %items
  %is_equal: bool = equal %list_length_items, 0
  if %is_equal {
    raise 'the sum of an empty list of arrays has no shape: set a start' {error='ValueError'}
    yield
  } else {
    yield
  }
  %d: f64[3] = list_sum %items {may_be_empty=False}
  %e: f64[] = sum %d {axes=None, keepdims=False}
  return %c, %e
}
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, array_type, type_of
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import containers, effects
from autodiff_compiler.operators.core.declare import broadcast_shapes
from autodiff_compiler.operators.core.structure import full
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.operators.lists.runtime_lists import list_sum_from
from autodiff_compiler.passes.core.traversal import rewrite_named

EMPTY_SUM = "the sum of an empty list of arrays has no shape: set a start"
#: Operators on each element that are of another kind.
OF_ELEMENTS = ("cast", "copy", "conj", "real", "imag", "stop_gradient")


def resolve_empty_sums(function: Function) -> Function:
    """Replaces each ``list_sum`` of ``function`` whose list may be empty."""
    if "list_sum" not in function.op_names:
        return function
    exposed = _exposed_sums(function.body)
    return rewrite_named(function, ("list_sum",), lambda op: _resolved(op, op.result in exposed))


def _resolved(op: Op, raises: bool) -> Sequence[Op]:
    if not op.attrs["may_be_empty"]:
        return (op,)
    (items,), (result,) = op.operands, op.results
    with Builder() as builder, builder.at(op.span, op.role):
        if raises:
            empty = comparisons.equal(containers.list_length(items), 0)
            with builder.block() as failure:
                builder.make(effects.raise_error, (EMPTY_SUM,), {"error": "ValueError"})
            builder.branch(empty, Region((), tuple(failure), ()), Region((), (), ()))
            return (*builder.ops, replace(op, attrs={"may_be_empty": False}))
        type_ = array_type(result)
        zeros = full(shape=type_.shape, dtype=type_.dtype, value=0)
        sum_ = Op(list_sum_from, (items, zeros), {}, op.results, op.span, op.role)
        return (*builder.ops, sum_)


def _exposed_sums(body: Region) -> set[AnyOperand]:
    """Returns the sums whose shape shows: it is not sure that they are broadcast to the full one.

    A value is ``open`` to some sums if it has another shape where their lists are empty.
    """
    open_to: dict[AnyOperand, set[AnyOperand]] = {}
    exposed: set[AnyOperand] = set()

    def visit(region: Region) -> None:
        for op in region.ops:
            if op.name == "list_sum" and op.attrs["may_be_empty"]:
                open_to[op.result] = {op.result}
                continue
            sums = set().union(*(open_to.get(operand, ()) for operand in op.operands))
            if sums and op.opdef.batch != "elements" and op.name not in OF_ELEMENTS:
                exposed.update(sums)
            elif sums and not _is_full(op, open_to):
                open_to[op.result] = sums
            for inner in op.regions:
                visit(inner)
        exposed.update(*(open_to.get(operand, ()) for operand in region.yields))

    visit(body)
    return exposed


def _is_full(op: Op, open_to: Collection[AnyOperand]) -> bool:
    """True if the operands whose shape is sure are broadcast to the shape of the result."""
    others = [
        type_
        for operand in op.operands
        if operand not in open_to and isinstance(type_ := type_of(operand), ArrayType)
    ]
    shape = array_type(op.result).shape
    return shape is not None and broadcast_shapes([type_.shape for type_ in others]) == shape
