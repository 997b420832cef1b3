"""Operand packing: a matrix that a loop multiplies with again and again is copied to panels once.

A product copies columns of its right matrix side by side, so that its inner loop reads adjacent
memory. In a loop over time the right matrix is the same in each step. Panels of 128 bytes of
columns are copied before the loop, and each step has a product for each panel. The sums are the
same.

>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[80], w: f64[320]) -> (y: f64[2560]) {
...   for t in 0:4 {
...     y[640*t; 20x32 by 32,1] = x[t; 20x10 by 4,0] @ w[0; 10x32 by 1,10]
...   }
... }
... ''')
>>> print(print_nests(pack_operands(before)), end="")
func f(x: f64[80], w: f64[320]) -> (y: f64[2560]) {
  alloc w_panels: f64[320]
  for panel in 0:2 {
    for i in 0:10 {
      for j in 0:16 {
        w_panels[160*panel + 16*i + j] = w[i + 160*panel + 10*j]
      }
    }
  }
  for t in 0:4 {
    for panel in 0:2 {
      y[640*t + 16*panel; 20x16 by 32,1] = x[t; 20x10 by 4,0] @ w_panels[160*panel; 10x16 by 16,1]
    }
  }
}
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TypeAlias

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.types import item_size
from autodiff_compiler.loop_ir.accesses import summary_of
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Buffer,
    Function,
    Load,
    Loop,
    Matrix,
    Product,
    Scalar,
    Statement,
    Store,
    map_bodies,
    walk,
    with_body,
)
from autodiff_compiler.loop_ir.rewrite import changed_body, map_statements

#: A matrix, with the numbers of its rows and columns.
Operand: TypeAlias = tuple[Matrix, int, int]


def pack_operands(function: Function) -> Function:
    """Packs the right matrices that loops of a function multiply with in each iteration."""
    return with_body(function, _packed(function.body, frozenset()))


def _packed(body: Body, around: frozenset[Scalar]) -> Body:
    after: list[Statement] = []
    for statement in body:
        if isinstance(statement, Loop):
            panels = _panels(statement, around)
            after += [_copy(operand, buffer) for operand, buffer in panels.items()]
            statement = _with_panels(statement, panels)
        inside = around | {statement.index} if isinstance(statement, Loop) else around
        after.append(map_bodies(statement, partial(_packed, around=inside)))
    return changed_body(body, after)


def _panels(loop: Loop, around: frozenset[Scalar]) -> dict[Operand, Buffer]:
    """Returns a buffer for each operand of a loop that is worth a copy before it."""
    panels: dict[Operand, Buffer] = {}
    if not isinstance(loop.extent, int) or loop.extent < costs().packed_operand_iterations:
        return panels
    written = summary_of(loop).buffers_written
    for each in walk((loop,)):
        if not isinstance(each, Product) or each.right.buffer in written:
            continue
        is_fixed = around.issuperset(each.right.at.scalars)
        if is_fixed and _is_worth(each) and (operand := _operand(each)) not in panels:
            right = each.right.buffer
            panels[operand] = Buffer(f"{right.name}_panels", right.dtype, each.k * each.n)
    return panels


def _operand(product: Product) -> Operand:
    return product.right, product.k, product.n


def _is_worth(product: Product) -> bool:
    """True if a product would copy its right matrix, which consists of full panels."""
    terms = product.m * product.n * product.k
    is_small = terms < costs().blas_product_terms and product.k
    width = _width(product.right.buffer)
    is_copied = product.m >= costs().packed_operand_rows and product.n > width
    return bool(is_small) and is_copied and product.n % width == 0


def _width(buffer: Buffer) -> int:
    return costs().operand_panel_bytes // item_size(buffer.dtype)


def _copy(operand: Operand, to: Buffer) -> Loop:
    """Returns the loops that copy a matrix to panels."""
    matrix, rows, columns = operand
    width = _width(to)
    panel, i, j = (Scalar(name, "int64") for name in ("panel", "i", "j"))
    row, column = Affine.of(i), Affine.of(panel, width) + Affine.of(j)
    source = matrix.at + row * matrix.strides[0] + column * matrix.strides[1]
    at = Affine.of(panel, rows * width) + row * width + Affine.of(j)
    store = Store(to, at, Load(matrix.buffer, source))
    return Loop(panel, columns // width, (Loop(i, rows, (Loop(j, width, (store,)),)),))


def _with_panels(statement: Loop, panels: dict[Operand, Buffer]) -> Loop:
    """Returns a loop that multiplies with panels in place of operands."""

    def change(each: Statement) -> Statement:
        if isinstance(each, Product) and _operand(each) in panels:
            return _by_panels(each, panels[_operand(each)])
        return each

    return replace(statement, body=map_statements(statement.body, change)) if panels else statement


def _by_panels(product: Product, panels: Buffer) -> Loop:
    panel, width = Scalar("panel", "int64"), _width(panels)
    result = product.result
    part = replace(result, at=result.at + Affine.of(panel, width * result.strides[1]))
    right = Matrix(panels, Affine.of(panel, product.k * width), (width, 1))
    return Loop(
        panel,
        product.n // width,
        (replace(product, result=part, right=right, n=width),),
        span=product.span,
    )
