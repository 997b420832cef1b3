"""Replaces ``grad`` operations by calls of gradient functions, the innermost first.

Afterwards nothing is left that only differentiation knows, and everything can be differentiated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autodiff_compiler.adjoint.reverse import Adjoint
from autodiff_compiler.ir.nodes import Function, Op, Region
from autodiff_compiler.ir.rewrite import map_functions, map_regions
from autodiff_compiler.operators.control import call


def expand_gradients(function: Function) -> Function:
    """``function`` without ``grad``, in its callees neither; the same object if it had none.

    One callee with one configuration becomes one function, however often it is called.
    """
    expansion = _Expansion()
    expansion.adjoint.reserve_names(function)
    return expansion.function(function)


class _Expansion:
    def __init__(self) -> None:
        self.adjoint = Adjoint()
        self.functions: dict[Function, Function] = {}
        self.gradients: dict[tuple[Any, ...], Function] = {}

    def function(self, function: Function) -> Function:
        if function not in self.functions:
            body = self.region(map_functions(function.body, self.function))
            same = body is function.body
            self.functions[function] = function if same else replace(function, body=body)
        return self.functions[function]

    def region(self, region: Region) -> Region:
        ops = tuple([self.op(op) for op in region.ops])
        if all(new is old for new, old in zip(ops, region.ops)):
            return region
        return Region(region.params, ops, region.yields)

    def op(self, op: Op) -> Op:
        if op.name == "grad":
            return replace(op, opdef=call, attrs={"callee": self.gradient(op)})
        return map_regions(op, self.region)

    def gradient(self, op: Op) -> Function:
        callee, wrt = op.attrs["callee"], tuple(op.attrs["wrt"])
        sens, value = bool(op.attrs.get("sens")), bool(op.attrs.get("value"))
        outputs = op.attrs.get("outputs")
        key = (callee, wrt, sens, value, outputs)
        if key not in self.gradients:
            self.gradients[key] = self.adjoint.gradient(callee, wrt, sens, value, outputs)
        return self.gradients[key]
