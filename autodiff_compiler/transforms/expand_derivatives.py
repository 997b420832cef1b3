"""Replaces ``grad``, ``jvp`` and ``vmap`` by calls of what they stand for, the innermost first.

Afterwards nothing is left that only differentiation knows, and everything can be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from autodiff_compiler.ir.nodes import Function, Op, Region
from autodiff_compiler.ir.rewrite import map_functions, map_regions
from autodiff_compiler.operators.core.control import call
from autodiff_compiler.transforms.batching.sweep import batched_function
from autodiff_compiler.transforms.reverse.sweep import ReverseTransform
from autodiff_compiler.transforms.share_pullbacks import share_pullbacks
from autodiff_compiler.transforms.tangent.sweep import Tangents

Tidy = Callable[[Function], Function]


def expand_derivatives(
    function: Function,
    tidy: Tidy = lambda function: function,
    whole: Tidy = lambda function: function,
) -> Function:
    """``function`` without derivatives to be taken, in its callees neither; the same object if it
    had none.

    One callee with one configuration becomes one function, however often it is called. ``tidy``
    is applied to every function before it is differentiated, ``whole`` then to what a derivative
    is asked of, and not to what that calls.
    """
    expansion = _Expansion(tidy, whole)
    expansion.adjoint.reserve_names(function)
    return expansion.function(function)


class _Expansion:
    def __init__(self, tidy: Tidy, whole: Tidy) -> None:
        self.tidy = tidy
        self.adjoint = ReverseTransform(whole=whole)
        self.functions: dict[Function, Function] = {}
        self.tangents = Tangents(self.adjoint)
        self.made: dict[tuple[Any, ...], Function] = {}

    def function(self, function: Function) -> Function:
        if function not in self.functions:
            body = map_functions(function.body, self.function)
            body = self.region(share_pullbacks(body, self.adjoint))
            same = body is function.body
            self.functions[function] = self.tidy(function if same else replace(function, body=body))
        return self.functions[function]

    def region(self, region: Region) -> Region:
        ops = tuple([self.op(op) for op in region.ops])
        if all(new is old for new, old in zip(ops, region.ops)):
            return region
        return Region(region.params, ops, region.yields)

    def op(self, op: Op) -> Op:
        if op.name in MAKERS:
            return replace(op, opdef=call, attrs={"callee": MAKERS[op.name](self, op)})
        return map_regions(op, self.region)

    def gradient(self, op: Op) -> Function:
        callee, wrt = op.attrs["callee"], tuple(op.attrs["wrt"])
        sens, value = bool(op.attrs.get("sens")), bool(op.attrs.get("value"))
        outputs = op.attrs.get("outputs")
        key = (callee, wrt, sens, value, outputs)
        if key not in self.made:
            self.made[key] = self.adjoint.gradient(callee, wrt, sens, value, outputs)
        return self.made[key]

    def batch(self, op: Op) -> Function:
        attrs = op.attrs
        key = (attrs["callee"], tuple(attrs["mapped"]), attrs["size"])
        if key not in self.made:
            self.made[key] = batched_function(*key, self.adjoint.new_name)
        return self.made[key]

    def tangent(self, op: Op) -> Function:
        key = (op.attrs["callee"], tuple(op.attrs["wrt"]), op.attrs["outputs"])
        if key not in self.made:
            self.made[key] = self.tangents.function(*key)
        return self.made[key]


MAKERS = {
    "grad": _Expansion.gradient,
    "jvp": _Expansion.tangent,
    "vmap": _Expansion.batch,
}
