"""What a reshape has to copy is laid out where memory is.

The windows of an image overlap, so a reshape to columns copies them: into new memory, several times
the image, in each call. As an array that is filled it can lie in a work array (``reuse``), and
backward has the memory for its own columns.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.text import parse_function, print_function
>>> before = parse_function('''
... func @f(%x: f32[9,3000]) -> (f32[18,2999]) {
...   %w: f32[9,2999,2] = windows %x {dilation=(1,), size=(2,), stride=(1,)}
...   %t: f32[9,2,2999] = transpose %w {perm=(0, 2, 1)}
...   %c: f32[18,2999] = reshape %t {shape=(18, -1)}
...   return %c
... }
... ''')
>>> print(print_function(laid_out(before)), end='')
func @f(%x: f32[9,3000]) -> (f32[18,2999]) {
  %w: f32[9,2999,2] = windows %x {dilation=(1,), size=(2,), stride=(1,)}
  %t: f32[9,2,2999] = transpose %w {perm=(0, 2, 1)}
  %c: f32[18,2999] = empty {dtype='float32', shape=(18, 2999)}
  %c_reshaped: f32[9,2,2999] = reshape %c {shape=(9, 2, 2999)}
  %into_t: f32[9,2,2999] = into %t, %c_reshaped {text='np.copyto({1}, {0})'}
  %c.1: f32[18,2999] = filled %into_t, %c
  return %c.1
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.ir.build import Builder
from autodiff_compiler.ir.nodes import Function, Op, Value, type_of
from autodiff_compiler.ir.types import ArrayType, size_of
from autodiff_compiler.operators.lowered import empty, filled, into
from autodiff_compiler.operators.structure import reshape
from autodiff_compiler.passes import reuse
from autodiff_compiler.passes.sweep import sweep_named


def laid_out(function: Function) -> Function:
    """``function`` with large columns of windows in arrays that are filled."""
    makers: dict[Value, Op] = {}

    def visit(op: Op) -> Sequence[Op]:
        for result in op.results:
            makers[result] = op
        return _filled(op) if op.name == "reshape" and _copies(op, makers) else (op,)

    if "windows" not in function.op_names:
        return function
    return sweep_named(function, ("windows", "transpose", "reshape"), visit)


def _copies(op: Op, makers: dict[Value, Op]) -> bool:
    """Whether ``op`` is a large array of windows that overlap, in another order."""
    turned = makers.get(op.operands[0]) if len(op.operands) == 1 else None  # type: ignore[arg-type]
    if turned is None or turned.name != "transpose" or size_of(op.result.type) < reuse.LARGE:
        return False
    made = makers.get(turned.operands[0])  # type: ignore[arg-type]
    if made is None or made.name != "windows":
        return False
    return size_of(op.result.type) > size_of(made.types[0]) > 0


def _filled(op: Op) -> Sequence[Op]:
    source, type_, builder = op.operands[0], op.result.type, Builder()
    inner = type_of(source)
    assert isinstance(type_, ArrayType) and isinstance(inner, ArrayType)
    with builder, builder.at(op.span, op.about):
        whole = empty(shape=type_.shape, dtype=type_.dtype)
        whole.name, whole.given = op.result.name, op.result.given
        part = into(source, reshape(whole, shape=inner.shape), text="np.copyto({1}, {0})")
        builder.make(filled, (part, whole), {})
    return [*builder.ops[:-1], replace(builder.ops[-1], results=op.results)]
