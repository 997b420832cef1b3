"""Shares one forward pass between a call and the pullbacks at its operands.

``out, pull = vjp(f, x)`` is lowered as a call of ``f``. Each use of ``pull`` is a ``grad`` of ``f``
at ``x`` with a sensitivity. Here the call becomes one of the forward function, which returns
residuals. Each ``grad`` becomes a call of the backward function, which takes them. Then ``f`` is
computed once and prints once, and its value and gradients use the same random numbers. If that
matters, call and ``grad`` have the same attribute ``pull``; it tells them from other calls with the
same operands.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.transforms.reverse.sweep import ReverseTransform
>>> from autodiff_compiler.ir.opdef import OPERATORS
>>> from autodiff_compiler.ir.parser import parse_functions
>>> from autodiff_compiler.ir.printer import print_function
>>> text = '''
... func @f(%x: f32[2]) -> (f32[2]) {
...   %y: f32[2] = exp %x
...   return %y
... }
... func @g(%x: f32[2]) -> (f32[2]) {
...   %out: f32[2] = call @f(%x)
...   %d_x: f32[2] = grad @f(%x, %out) {wrt=(0,), sens=True}
...   return %d_x
... }
... '''
>>> function = parse_functions(text, OPERATORS)["g"]
>>> shared = share_pullbacks(function.body, ReverseTransform())
>>> print(print_function(replace(function, body=shared)), end="")
func @g(%x: f32[2]) -> (f32[2]) {
  %out: f32[2], %residuals: (f32[2],) = call @f_forward(%x)
  %d_x: f32[2] = call @f_backward(%residuals, %out)
  return %d_x
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import map_regions, substitute
from autodiff_compiler.operators.core.control import call
from autodiff_compiler.transforms.reverse.sweep import ReverseTransform, typed_gradients

#: The key of a forward/backward pair: the function, and the positions of inputs and returns.
Key = tuple[Function, tuple[int, ...], Any]


def share_pullbacks(region: Region, adjoint: ReverseTransform) -> Region:
    """Replaces such calls and gradients by forward and backward calls; the same object if none."""
    sharing = _PullbackSharing(adjoint)
    return substitute(sharing.region(region), sharing.values)


class _PullbackSharing:
    """The rewrite of one region; ``values`` maps the values that a ``grad`` returned besides its
    gradients to those of the call."""

    def __init__(self, adjoint: ReverseTransform):
        self.adjoint = adjoint
        self.values: dict[Value, AnyOperand] = {}
        self.around: list[list[Op]] = []
        self.pairs: dict[Key, tuple[Function, Function]] = {}
        self.forward: dict[Op, tuple[Key, Value]] = {}

    def region(self, region: Region) -> Region:
        ops: list[Op] = []
        self.around.append(ops)
        for op in region.ops:
            ops.append(self.op(op))
        self.around.pop()
        if all(new is old for new, old in zip(ops, region.ops)):
            return region
        return Region(region.params, tuple(ops), region.yields)

    def op(self, op: Op) -> Op:
        if op.name == "grad" and op.attrs.get("sens"):
            key = op.attrs["callee"], tuple(op.attrs["wrt"]), op.attrs.get("outputs")
            for ops in reversed(self.around):
                for place, earlier in enumerate(ops):
                    if self.is_same_call(earlier, op, key):
                        return self.call_backward(op, key, ops, place)
        return map_regions(op, self.region)

    def is_same_call(self, earlier: Op, op: Op, key: Key) -> bool:
        """True if ``earlier`` calls, with the same operands, the function or its forward
        function."""
        if earlier.name != "call" or "recompute" in earlier.attrs:
            return False
        if earlier.attrs.get("pull") != op.attrs.get("pull"):
            return False
        if (
            self.forward[earlier][0] != key
            if earlier in self.forward
            else earlier.attrs["callee"] != key[0]
        ):
            return False
        return _alike(earlier.operands, op.operands[:-1])

    def call_backward(self, op: Op, key: Key, ops: list[Op], place: int) -> Op:
        """Returns the call of backward; the call at ``place`` in ``ops`` becomes one of forward."""
        if key not in self.pairs:
            callee, wrt, outputs = key
            forward, backward = self.adjoint.split(callee, wrt, True, True, outputs)
            self.pairs[key] = forward, typed_gradients(backward, callee, wrt)
        forward, backward = self.pairs[key]
        forward_call = ops[place]
        if forward_call not in self.forward:
            residuals = Value(type_of(forward.returns[-1]), "residuals")
            results = (*forward_call.results, residuals)
            attrs = {**forward_call.attrs, "callee": forward}
            ops[place] = forward_call = replace(forward_call, attrs=attrs, results=results)
            self.forward[forward_call] = key, residuals
        values = op.results[: len(op.results) - len(key[1])]
        self.values.update(zip(values, forward_call.results))
        operands = (self.forward[forward_call][1], op.operands[-1])
        results = op.results[len(values) :]
        attrs = {"callee": backward}
        return replace(op, opdef=call, attrs=attrs, results=results, operands=operands)


def _alike(left: Sequence[AnyOperand], right: Sequence[AnyOperand]) -> bool:
    """True if these are the same values, and equal literals of the same types."""
    return len(left) == len(right) and all(
        a is b or not isinstance(a, Value) and a == b and type_of(a) == type_of(b)
        for a, b in zip(left, right)
    )
