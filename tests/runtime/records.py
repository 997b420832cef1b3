"""Compiled functions written by hand, to test the run time without the compiler."""

from __future__ import annotations

from typing import Any

from autodiff_compiler.interface.compiled import Compiled, Guard, Hoisted
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.types import Type, array
from autodiff_compiler.span import Span

PRODUCT = """\
import numpy as np


def product_forward(x, y):
    out = x * y
    return {returned}


def product_backward(residuals{sens}):
    x, y = residuals
    return {result}
"""
F32 = array("float32", 2)


def product(
    request: Request,
    guards: tuple[Guard, ...] = (),
    hoisted: tuple[Hoisted, ...] = (),
    output: Type = F32,
    dynamic: tuple[int, ...] = (0, 1),
) -> Compiled:
    """Returns ``x * y``, with a hoisted array in place of ``y`` if there is one."""
    if not request.differentiates:
        source = "def product(x, y):\n    return x * y\n"
        return Compiled(
            source, "product", None, output,
            dynamic_slots=dynamic, hoisted=hoisted, guards=guards,
        )  # fmt: skip
    given = request.sens == "given"
    seed = "d_out * " if given else ""
    names = ["y", "x"]
    positions = tuple(p for p in request.positions if p in dynamic)
    weights = tuple(item.source for item in hoisted)
    asked = [names[p] for p in positions] + ["x"] * len(weights)
    source = PRODUCT.format(
        returned="out, (x, y)" if request.value or given else "(x, y)",
        sens=", d_out" if given else "",
        result=", ".join(f"{seed}{name} + 0" for name in asked) or "()",
    )
    span = Span("net.py", 14, 5, 10, "    out = x * y")
    return Compiled(
        source, "product_forward", "product_backward", output, line_map={5: span, 10: span},
        dynamic_slots=dynamic, hoisted=hoisted, guards=guards,
        positions=positions, weights=weights, title="product f32[2]",
    )  # fmt: skip


class FakeCompiler:
    """A compiler that records its calls; ``make`` returns the compiled function."""

    def __init__(self, make: Any = product):
        self.make, self.calls = make, []

    def __call__(self, fn: Any, request: Request, slots: tuple, keywords: tuple, known: Any) -> Any:
        self.calls.append((fn, request, slots, keywords, known))
        return self.make(request)
