"""Replaces ``grad``, ``jvp`` and ``vmap`` by calls of derived functions, the innermost first.

Afterwards no operator is left that only a transform knows, so everything can be differentiated.
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

Rewrite = Callable[[Function], Function]


def expand_derivatives(
    function: Function,
    simplify_function: Rewrite = lambda function: function,
    prepare_callee: Rewrite = lambda function: function,
) -> Function:
    """Replaces the derivatives in ``function`` and its callees; the same object if it has none.

    Equal derivatives of one callee become one function, however often they are called.

    simplify_function  rewrites every function before it is differentiated.
    prepare_callee     then rewrites the functions whose derivative is taken, not their callees.
    """
    expansion = _Expansion(simplify_function, prepare_callee)
    expansion.adjoint.reserve_names(function)
    return expansion.function(function)


class _Expansion:
    def __init__(self, simplify_function: Rewrite, prepare_callee: Rewrite) -> None:
        self.simplify_function = simplify_function
        self.adjoint = ReverseTransform(prepare_callee=prepare_callee)
        self.functions: dict[Function, Function] = {}
        self.tangents = Tangents(self.adjoint)
        self.derived: dict[tuple[Any, ...], Function] = {}

    def function(self, function: Function) -> Function:
        if function not in self.functions:
            body = map_functions(function.body, self.function)
            body = self.region(share_pullbacks(body, self.adjoint))
            changed = function if body is function.body else replace(function, body=body)
            self.functions[function] = self.simplify_function(changed)
        return self.functions[function]

    def region(self, region: Region) -> Region:
        ops = tuple([self.op(op) for op in region.ops])
        if all(new is old for new, old in zip(ops, region.ops)):
            return region
        return Region(region.params, ops, region.yields)

    def op(self, op: Op) -> Op:
        if op.name in TRANSFORMS:
            return replace(op, opdef=call, attrs={"callee": TRANSFORMS[op.name](self, op)})
        return map_regions(op, self.region)

    def gradient(self, op: Op) -> Function:
        callee, wrt = op.attrs["callee"], tuple(op.attrs["wrt"])
        sens, value = bool(op.attrs.get("sens")), bool(op.attrs.get("value"))
        outputs = op.attrs.get("outputs")
        key = (callee, wrt, sens, value, outputs)
        if key not in self.derived:
            self.derived[key] = self.adjoint.gradient(callee, wrt, sens, value, outputs)
        return self.derived[key]

    def batch(self, op: Op) -> Function:
        attrs = op.attrs
        key = (attrs["callee"], tuple(attrs["mapped"]), attrs["size"])
        if key not in self.derived:
            self.derived[key] = batched_function(*key, self.adjoint.new_name)
        return self.derived[key]

    def tangent(self, op: Op) -> Function:
        key = (op.attrs["callee"], tuple(op.attrs["wrt"]), op.attrs["outputs"])
        if key not in self.derived:
            self.derived[key] = self.tangents.function(*key)
        return self.derived[key]


#: The operators that are replaced, with the method that makes the derived function.
TRANSFORMS = {
    "grad": _Expansion.gradient,
    "jvp": _Expansion.tangent,
    "vmap": _Expansion.batch,
}
