"""Common subexpression elimination, with dominance by region.

Two operations without effect compute the same value if their operator, operands and attributes are
equal. The later one is eliminated if the earlier one dominates it: it stands in the same region or
in one around it. Of the two names the one that the user gave stays. A reduction that differs from
an earlier one in ``keepdims`` only becomes a reshape of that.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: float, %go: bool) -> (float, float) {
...   %neg_x: float = neg %x
...   %y!: float = neg %x
...   %z: float = if %go {
...     %w: float = neg %x
...     yield %w
...   } else {
...     yield %x
...   }
...   return %y, %z
... }
... ''')
>>> print(print_function(cse(before)), end='')
func @f(%x: float, %go: bool) -> (float, float) {
  %y!: float = neg %x
  %z: float = if %go {
    yield %y
  } else {
    yield %x
  }
  return %y, %z
}
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, rename, substitute_operands
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.structure import reshape
from autodiff_compiler.passes.core.traversal import with_body, with_ops


def cse(function: Function) -> Function:
    """Eliminates the operations of ``function`` whose value is already computed."""
    search = _Search()
    body = search.region(function.body)
    return with_body(function, rename(body, search.names) if search.names else body)


class _Search:
    """The elimination in one function: ``available`` are the operations by what they compute."""

    def __init__(self) -> None:
        self.effects = Effects()
        self.mapping: dict[Value, AnyOperand] = {}
        #: Results that stay, with the eliminated result that has the better name.
        self.names: dict[Value, Value] = {}
        self.available: dict[Hashable, Op] = {}

    def region(self, region: Region) -> Region:
        ops, entered = [], []
        for op in region.ops:
            operands = substitute_operands(op.operands, self.mapping)
            now = op if operands is op.operands else replace(op, operands=operands)
            now = map_regions(now, self.region)
            key = None if now.regions or self.effects.has(now) else _key(now)
            earlier = None if key is None else self.available.get(key)
            if earlier is None and (reshaped := self.reshaped_reduction(now)) is not None:
                now, key = reshaped, _key(reshaped)
                earlier = self.available.get(key)
            if earlier is not None:
                self.merge(now, earlier)
                continue
            if key is not None:
                self.available[key] = now
                entered.append(key)
            ops.append(now)
        for key in entered:
            del self.available[key]
        return with_ops(region, ops, substitute_operands(region.yields, self.mapping))

    def reshaped_reduction(self, op: Op) -> Op | None:
        """Returns ``op`` as a reshape of a reduction that differs in ``keepdims`` only."""
        type_ = op.result.type if len(op.results) == 1 and "keepdims" in op.attrs else None
        if not isinstance(type_, ArrayType) or not type_.is_static or op.attrs.get("axes") is None:
            return None
        twin = replace(op, attrs={**op.attrs, "keepdims": not op.attrs["keepdims"]})
        earlier = self.available.get(_key(twin))
        if earlier is None:
            return None
        shape = {"shape": type_.shape}
        return replace(op, opdef=reshape, operands=(earlier.result,), attrs=shape)

    def merge(self, later: Op, earlier: Op) -> None:
        for removed, remaining in zip(later.results, earlier.results):
            self.mapping[removed] = remaining
            if removed.has_user_name and not remaining.has_user_name:
                self.names.setdefault(remaining, removed)


def _key(op: Op) -> Hashable:
    """Returns a key that is equal for equal results, also of reshapes to a size of -1."""
    type_ = op.result.type if op.name == "reshape" else None
    if isinstance(type_, ArrayType) and type_.is_static and len(op.operands) == 1:
        op = replace(op, attrs={"shape": type_.shape})
    return op.value_key
