"""Rematerialisation that the user asks for: ``recompute`` and ``checkpointed``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.frontend.abstract.values import Checkpointed, CustomRule
from autodiff_compiler.frontend.calls.recursion import call_function
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.ops.core.primitive_base import Primitive
from autodiff_compiler.ops.transforms.recompute import checkpointed, recompute


def is_recomputed(low: Lowering, callee: Any) -> bool:
    """True if a callee says what backward saves of it."""
    if isinstance(callee, Primitive):
        return bool(low.attribute(callee, "_recompute"))
    return callee is checkpointed or callee is recompute


def call_recomputed(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Calls ``recompute``, ``checkpointed``, or a Primitive that is recomputed."""
    if callee is checkpointed:
        return _checkpointed_iterable(low, *args, **kwargs)
    if isinstance(callee, Primitive):
        return _recompute_call(low, callee, args, kwargs)
    return _recompute_call(low, args[0], args[1:], kwargs)


def _checkpointed_iterable(low: Lowering, iterable: Any, **options: Any) -> Checkpointed:
    numbers = {key: low.static(n, f"'{key}'") for key, n in options.items()}
    try:
        checkpointed(iterable, **numbers)
    except (TypeError, ValueError) as error:
        raise low.translate(error, "this loop cannot be checkpointed") from None
    ((option, number),) = ((key, n) for key, n in numbers.items() if n is not None)
    kind = "every" if option == "checkpoint_every" else "kept"
    return Checkpointed(iterable, (kind, number))


def _recompute_call(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Calls a block of which backward saves the inputs alone."""
    options = inspect.signature(recompute).parameters
    kwargs = {key: value for key, value in kwargs.items() if key not in options}
    if isinstance(callee, Primitive):
        for setting in vars(callee):  # read by the macro, so that they are guarded
            low.compilation.read_attribute(callee, setting, low.builder.span)
        names = tuple(f"x{number}" for number in range(len(args)))

        def lower(low: Any, given: Sequence[Any]) -> Any:
            return low.macro(callee, given, {})

        return call_function(low, CustomRule(callee, names, lower), args, kwargs, True)
    return call_function(low, callee, args, kwargs, True)
