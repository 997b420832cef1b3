"""Loop distribution: a vector loop with a long body becomes several loops over few elements.

A processor overlaps iterations while their instructions fit its window. An iteration with four
exponentials does not fit, and waits for each result. Here each part of the body is a loop over a
block of elements. Arrays of the size of a block have the numbers that later loops read.

>>> from autodiff_compiler.cost_model import changed_costs
>>> from autodiff_compiler.loop_ir.printer import print_nests
>>> from autodiff_compiler.loop_ir.reader import read_nests
>>> before = read_nests('''
... func f(x: f64[100]) -> (y: f64[100]) {
...   for i in 0:100 {
...     let a: f64 = x[i]
...     let b: f64 = exp(a)
...     let c: f64 = tanh(b)
...     y[i] = c * a + b
...   }
... }
... ''')
>>> with changed_costs(distributed_operations=60, operations_of_part=32):
...     print(print_nests(distribute_loops(before)), end="")
func f(x: f64[100]) -> (y: f64[100]) {
  alloc b: f64[16]
  serial for i in 0:6 {
    for slot in 0:16 {
      let a: f64 = x[16*i + slot]
      let b.1: f64 = exp(a)
      b[slot] = b.1
    }
    for slot in 0:16 {
      let a: f64 = x[16*i + slot]
      let b.1: f64 = b[slot]
      let c: f64 = tanh(b.1)
      y[16*i + slot] = c * a + b.1
    }
  }
  for i in 0:4 {
    let a: f64 = x[i + 96]
    let b.1: f64 = exp(a)
    let c: f64 = tanh(b.1)
    y[i + 96] = c * a + b.1
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.types import item_size
from autodiff_compiler.loop_ir.accesses import Access, summary_of
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Body,
    Buffer,
    Function,
    Let,
    Load,
    Loop,
    Read,
    Scalar,
    Statement,
    Store,
    expressions,
    subexpressions,
    with_body,
)
from autodiff_compiler.loop_ir.operations import FUNCTIONS_OF_FLOATS
from autodiff_compiler.loop_ir.rewrite import (
    renewed,
    rewrite_loops,
    substitute,
    with_scalars,
)

#: The instructions of an operation on a vector of floats, counted for AVX2; one if it has no row.
#: Most functions are polynomials. Some reduce an angle, or have a table.
_INSTRUCTIONS: Mapping[str, int] = {
    **dict.fromkeys(FUNCTIONS_OF_FLOATS, 30),
    **dict.fromkeys("cos erfc erfinv mod pow sin sinc tan".split(), 100),
    **dict.fromkeys(
        "abs ceil clip copysign div floor isclose isfinite isinf isnan leaky_relu maximum minimum"
        " reciprocal relu round rsqrt sign softsign sqrt trunc zero_div zero_mul".split(),
        4,
    ),
}


def distribute_loops(function: Function) -> Function:
    """Distributes the long innermost loops of a function."""
    return with_body(function, rewrite_loops(function.body, _loops))


def _loops(loop: Loop) -> Sequence[Statement]:
    """Returns the statements in place of a loop; the loop itself if it stays."""
    extent = loop.extent
    total = sum(map(_instructions, loop.body))
    if total < costs().distributed_operations or not isinstance(extent, int):
        return [loop]
    groups = _groups(loop.body)
    width = costs().sum_vector_bytes // max(_item_size(each) for each in loop.body)
    if len(groups) < 2 or extent < width or not _can_distribute(loop):
        return [loop]
    if extent < 2 * width:
        return _Parts(loop, groups).loops()
    step, slot = Scalar(loop.index.name, "int64"), Scalar("slot", "int64")
    at = Affine.of(step, width) + Affine.of(slot)
    block = replace(loop, index=slot, extent=width, body=substitute(loop.body, {loop.index: at}))
    inner = tuple(_Parts(block, _groups(block.body)).loops())
    after: list[Statement] = [Loop(step, extent // width, inner, False, loop.span)]
    if extent % width:
        index = Scalar(loop.index.name, "int64")
        moved = {loop.index: Affine.of(index) + (extent - extent % width)}
        rest = renewed(substitute(loop.body, moved))
        after.append(replace(loop, index=index, extent=extent % width, body=rest))
    return after


def _instructions(statement: Statement) -> int:
    """Returns about how many instructions a statement takes, for one vector."""
    applied = (
        each
        for expression in expressions(statement)
        for each in subexpressions(expression)
        if isinstance(each, Apply)
    )
    return sum(_INSTRUCTIONS.get(each.name, 1) for each in applied)


def _item_size(statement: Statement) -> int:
    return item_size(expressions(statement)[0].dtype) if expressions(statement) else 1


def _groups(body: Body) -> list[list[Statement]]:
    """Returns the statements as groups, each of few instructions or of one statement."""
    groups: list[list[Statement]] = []
    left = 0
    for statement in body:
        count = _instructions(statement)
        if not groups or count > left:
            groups.append([])
            left = costs().operations_of_part
        groups[-1].append(statement)
        left -= count
    return groups


def _can_distribute(loop: Loop) -> bool:
    """True if all iterations can run a statement before the next one."""
    if not loop.independent or not all(isinstance(each, (Let, Store)) for each in loop.body):
        return False
    defined = {each.scalar for each in loop.body if isinstance(each, Let)}
    if any(scalar.mutable for scalar in defined):
        return False
    accesses: dict[Buffer, list[Access]] = {}
    for access in summary_of(loop).accesses:
        accesses.setdefault(access.buffer, []).append(access)
    written = summary_of(loop).buffers_written
    return all(
        len(each) == 1 or _is_one_element(each, loop.index, defined)
        for buffer, each in accesses.items()
        if buffer in written
    )


def _is_one_element(accesses: Sequence[Access], index: Scalar, defined: set[Scalar]) -> bool:
    """True if an iteration accesses one element, and no other iteration does."""
    at = accesses[0].at
    if not at.coefficient(index) or not defined.isdisjoint(at.scalars):
        return False
    form = at.constant, frozenset(at.terms)
    return all((each.at.constant, frozenset(each.at.terms)) == form for each in accesses)


class _Parts:
    """The loops over the parts of the body of a loop, and the arrays between them."""

    def __init__(self, loop: Loop, groups: Sequence[Sequence[Statement]]) -> None:
        assert isinstance(loop.extent, int)
        self.loop, self.groups, self.extent = loop, groups, loop.extent
        self.lets = {each.scalar: each for each in loop.body if isinstance(each, Let)}
        self.places = {
            each.scalar: place
            for place, group in enumerate(groups)
            for each in group
            if isinstance(each, Let)
        }
        used = {scalar for place in range(len(groups)) for scalar in self.earlier(place)}
        self.buffers = {
            scalar: Buffer(scalar.name, scalar.dtype, self.extent)
            for scalar in self.lets
            if scalar in used and not self.is_loaded(scalar)
        }

    def earlier(self, place: int) -> list[Scalar]:
        """Returns the scalars that a part reads and an earlier one defines."""
        read = {scalar for each in self.groups[place] for scalar in summary_of(each).scalars_read}
        return [each for each in self.lets if each in read and self.places[each] < place]

    def is_loaded(self, scalar: Scalar) -> bool:
        """True for an element of an array that the loop does not change."""
        value = self.lets[scalar].value
        if not isinstance(value, Load) or value.buffer in summary_of(self.loop).buffers_written:
            return False
        return self.lets.keys().isdisjoint(value.at.scalars)

    def loops(self) -> list[Statement]:
        """Returns the loops, one for each part."""
        return [self.part(place) for place in range(len(self.groups))]

    def part(self, place: int) -> Loop:
        index = Scalar(self.loop.index.name, "int64")
        at = Affine.of(index)
        body: list[Statement] = []
        new: dict[Scalar, Scalar] = {}
        for scalar in self.earlier(place):
            let = self.lets[scalar]
            copy = new[scalar] = Scalar(scalar.name, scalar.dtype)
            loaded = Load(self.buffers[scalar], at) if scalar in self.buffers else let.value
            body.append(Let(copy, loaded, let.span))
        for each in self.groups[place]:
            body.append(with_scalars(each, new))
            if isinstance(each, Let) and each.scalar in self.buffers:
                body.append(Store(self.buffers[each.scalar], at, Read(each.scalar), "", each.span))
        return replace(self.loop, index=index, body=substitute(tuple(body), {self.loop.index: at}))
