"""Dependencies of values that are being lowered."""

from __future__ import annotations

from typing import Any

from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ir.nodes import Value


def parameters_behind(low: Lowering, value: Any) -> set[Value]:
    """Returns the parameters, of functions and of loops, that a value depends on."""
    parameters: set[Value] = set()
    todo, seen = [value], set()
    while todo:
        one = todo.pop()
        if not isinstance(one, Value) or one in seen:
            continue
        seen.add(one)
        maker = low.builder.producer(one)
        if maker is None:
            parameters.add(one)
            continue
        todo.extend(maker.operands)
        todo.extend(y for region in maker.regions for y in region.yields)
    return parameters
