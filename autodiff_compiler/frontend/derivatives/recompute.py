"""Calls and loops of which backward keeps less: ``recompute`` and ``checkpointed``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from autodiff_compiler.frontend.abstract.values import Checkpointed, CustomRule
from autodiff_compiler.frontend.derivatives.transforms import Derivatives
from autodiff_compiler.ops.core.primitive_base import Primitive
from autodiff_compiler.ops.transforms.recompute import checkpointed, recompute


class Keeping(Derivatives):
    """Adds what keeps less to ``Derivatives``."""

    def keeps_less(self, callee: Any) -> bool:
        """Whether a callee says what backward keeps."""
        if isinstance(callee, Primitive):
            return bool(self.attribute(callee, "_recompute"))
        return callee is checkpointed or callee is recompute

    def call_keeping_less(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls such a callee."""
        if callee is checkpointed:
            return self._checkpointed_iterable(*args, **kwargs)
        if isinstance(callee, Primitive):
            return self._call_recomputed(callee, args, kwargs)
        return self._call_recomputed(args[0], args[1:], kwargs)

    def call_text(
        self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], again: bool = False
    ) -> Any:
        """Calls a text, of which backward keeps the inputs alone if ``again``."""
        raise NotImplementedError

    def _checkpointed_iterable(self, iterable: Any, **options: Any) -> Checkpointed:
        numbers = {key: self.static(n, f"'{key}'") for key, n in options.items()}
        try:
            checkpointed(iterable, **numbers)
        except (TypeError, ValueError) as error:
            raise self.translate(error, "this loop cannot be checkpointed") from None
        ((option, number),) = ((key, n) for key, n in numbers.items() if n is not None)
        kind = "every" if option == "checkpoint_every" else "kept"
        return Checkpointed(iterable, (kind, number))

    def _call_recomputed(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls a block of which backward keeps the inputs alone."""
        options = inspect.signature(recompute).parameters
        kwargs = {key: value for key, value in kwargs.items() if key not in options}
        if isinstance(callee, Primitive):
            for setting in vars(callee):  # read by the macro, so that they are guarded
                self.world.attribute(callee, setting, self.builder.span)
            names = tuple(f"x{number}" for number in range(len(args)))

            def lower(low: Any, given: Sequence[Any]) -> Any:
                return low.macro(callee, given, {})

            return self.call_text(CustomRule(callee, names, lower), args, kwargs, True)
        return self.call_text(callee, args, kwargs, True)
