"""Loop fission: hoists the matrix products of all iterations as one product before the loop.

``x[k]`` in a loop over ``k`` becomes a ``read`` port, an item for each iteration. Its adjoint is a
list of cotangents and not an array of zeros per iteration. If each iteration multiplies its item by
one matrix from outside, all of ``x`` is multiplied before the loop. The loop then reads the
product. The sum for each element is the same, in another blocking. The pass does so if the rows of
an iteration are few beside the matrix, and every row is read. The loop may read the matrix through
a view, such as its transpose.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[9,1,8], %w: f32[8,8], %h: f32[1,8]) -> (f32[1,8]) {
...   %a: f32[1,8], %n: int = for %p, %k in (0, 9, 1) carry (%c: f32[1,8] = %h) {
...     %i: f32[1,8] = index %x, %k {index=(('op', 0),)}
...     %u: f32[1,8] = matmul %i, %w
...     %s: f32[1,8] = add %u, %c
...     yield carry %s
...   }
...   return %a
... }
... ''')
>>> from autodiff_compiler.passes.simplify.dce import dce
>>> print(print_function(dce(hoist_products(before))), end='')
func @f(%x: f32[9,1,8], %w: f32[8,8], %h: f32[1,8]) -> (f32[1,8]) {
  %x_rows: f32[9,8] = reshape %x {shape=(9, 8)}
  %product: f32[9,8] = matmul %x_rows, %w
  %u: f32[9,1,8] = reshape %product {shape=(9, 1, 8)}
  %a: f32[1,8], %n: int = for %p, %k in (0, 9, 1) carry (%c: f32[1,8] = %h) \
read (%u.1: f32[1,8] = %u) {
    %s: f32[1,8] = add %u.1, %c
    yield carry %s
  }
  return %a
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.analysis.trip_count import is_worth_stacking, trip_count
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.labels import composed
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import fresh, substitute
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.structure import reshape
from autodiff_compiler.operators.linalg.products import matmul
from autodiff_compiler.passes.core.traversal import rewrite_named
from autodiff_compiler.passes.loops.hoist_invariants import is_pure

#: The attribute of an index by the single operand beside the array.
BY_POSITION = (("op", 0),)


def hoist_products(function: Function) -> Function:
    """Turns items into read ports, and hoists the products of these with one matrix."""
    return rewrite_named(function, ("for",), lambda op: _LoopFission(op).rewritten())


class _LoopFission:
    """A loop whose items become read ports and whose products leave the body."""

    def __init__(self, op: Op):
        self.op, self.loop = op, Loop(op)
        self.inside = {*self.loop.body.params}
        for inner in self.loop.body.ops:
            self.inside.update(inner.results)
        self.sources: dict[Value, AnyOperand] = dict(zip(self.loop.read_params, self.loop.reads))
        self.mapping: dict[Value, AnyOperand] = {}
        self.builder = Builder()
        #: Views that the loop takes of values outside.
        self.views: dict[Value, Op] = {}
        for inner in self.loop.body.ops if trip_count(self.loop) else ():
            if inner.opdef.views and is_pure(inner) and all(map(self.is_invariant, inner.operands)):
                self.views[inner.result] = inner

    def rewritten(self) -> Sequence[Op]:
        """Returns the products, and the loop that reads them."""
        before = len(self.sources)
        remaining = [op for op in self.loop.body.ops if not self.turn_into_port(op)]
        remaining = [op for op in remaining if not self.hoist_product(op)]
        if len(self.sources) == before and not self.mapping:
            return (self.op,)
        params = (*self.loop.body.params, *[*self.sources][before:])
        body = substitute(Region(params, tuple(remaining), self.loop.body.yields), self.mapping)
        operands = (*self.op.operands, *[*self.sources.values()][before:])
        loop = replace(self.op, operands=operands, regions=(*self.op.regions[:-1], body))
        return (*self.builder.ops, loop)

    def is_outside(self, operand: AnyOperand) -> bool:
        return not isinstance(operand, Value) or operand not in self.inside

    def is_invariant(self, operand: AnyOperand) -> bool:
        return self.is_outside(operand) or operand in self.views

    def outside_of(self, operand: AnyOperand) -> AnyOperand:
        """Returns the value of an invariant operand before the loop."""
        view = self.views.get(operand) if isinstance(operand, Value) else None
        if view is None:
            return operand
        operands = tuple([self.outside_of(each) for each in view.operands])
        hoisted = fresh(view.result)
        self.builder.add(replace(view, operands=operands, results=(hoisted,)))
        return hoisted

    def turn_into_port(self, op: Op) -> bool:
        """True if ``op`` is ``x[k]``, which is a read port from now on."""
        if op.name != "index" or op.attrs["index"] != BY_POSITION or not self.loop.starts_at_zero:
            return False
        source, place = op.operands
        if not self.is_outside(source) or place not in (self.loop.index, self.loop.position):
            return False
        self.add_port(op.result, source)
        return True

    def add_port(self, result: Value, source: AnyOperand) -> None:
        """Replaces ``result`` by a read of ``source``; equal reads share one port."""
        for param, other in self.sources.items():
            if other is source and param.type == result.type:
                self.mapping[result] = param
                return
        self.sources[result] = source

    def hoist_product(self, op: Op) -> bool:
        """True if ``op`` multiplies an item by an invariant matrix, which is hoisted now."""
        if op.name != "matmul":
            return False
        item, matrix = (self.mapping.get(o, o) if isinstance(o, Value) else o for o in op.operands)
        source = self.sources.get(item) if isinstance(item, Value) else None
        if not isinstance(source, Value) or not self.is_invariant(matrix):
            return False
        stack, factor = source.type, type_of(matrix)
        if not isinstance(stack, ArrayType) or not isinstance(factor, ArrayType):
            return False
        if not (stack.is_static and factor.is_static) or (stack.ndim, factor.ndim) != (3, 2):
            return False
        steps, rows, inner = stack.static_shape
        columns = factor.static_shape[1]
        if trip_count(self.loop) != steps or not is_worth_stacking(rows, inner, columns):
            return False
        with self.builder, self.builder.at(op.span, op.role):
            flat = reshape(source, shape=(steps * rows, inner))
            flat.name = composed(source.name, "rows")
            product = reshape(matmul(flat, self.outside_of(matrix)), shape=(steps, rows, columns))
        product.name, product.has_user_name = op.result.name, op.result.has_user_name
        self.add_port(op.result, product)
        return True
