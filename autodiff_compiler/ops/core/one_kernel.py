"""``as_one_kernel``: functions of several operators that run at once as one kernel."""

from __future__ import annotations

__macro__ = True

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from autodiff_compiler.common.eager_kernels import computed
from autodiff_compiler.common.tensor import wrap
from autodiff_compiler.ir.opdef import BUILDING

P = ParamSpec("P")
R = TypeVar("R")


def as_one_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a function of Tensors that decides by types alone, and not by elements.

    Called on Tensors, it runs one generated function: values between its operators are arrays that
    nothing copies or wraps. Numbers among the arguments are constants of that function.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if BUILDING.stack:
            return function(*args, **kwargs)
        return wrap(computed(function, args, kwargs, frozenset(), _as_it_is))

    return called


def _as_it_is(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return function(*args, **kwargs)
