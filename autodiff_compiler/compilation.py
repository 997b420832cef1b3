"""One compilation, from a function and the types of its arguments to code that can be called.

A function that has no C text is compiled to NumPy source instead, and ``fallback`` says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler import pipeline
from autodiff_compiler.common.context import compile_cache
from autodiff_compiler.interface import Compiled, Request, Slot
from autodiff_compiler.loops.core.values import NoNativeText
from autodiff_compiler.program import Program
from autodiff_compiler.runtime.native import NativeUnavailable, find_compiler
from autodiff_compiler.stages.native import native_text
from autodiff_compiler.stages.outcome import compiled, printed

_warned: set[str] = set()


def compile_unit(
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str] = (),
    shared: Sequence[Program] = (),
) -> Compiled:
    """Compiles ``fn`` for slots of the given types (see ``interface``).

    ``shared`` are programs of other requests for the same call, not yet differentiated. The first
    that serves this request too is continued. Raises a CompileError that tells every problem;
    ``interface.NeedValues`` where the value of a number must be known.
    """
    known = (each.for_request(request) for each in shared)
    program = next(filter(None, known), None) or pipeline.start(fn, request, slots, keywords)
    if request.target == "numpy":
        return compiled(*printed(program, pipeline.run))
    try:
        find_compiler(compile_cache())
        finished = pipeline.run(program, target="c")
        return compiled(finished, native_text(finished))
    except NoNativeText as reason:
        fallback = str(reason)
    except NativeUnavailable as reason:
        fallback = str(reason)
        _warn_once(fallback)
    program, text = printed(program, pipeline.run)
    return compiled(program, replace(text, fallback=fallback))


def _warn_once(reason: str) -> None:
    """Warns that there is no C compiler, once for each reason."""
    if reason not in _warned:
        _warned.add(reason)
        warnings.warn(
            f"{reason}; NumPy source runs instead of C. 'pip install autodiff-compiler[native]' "
            "brings a compiler",
            stacklevel=2,
        )


__all__ = ["compile_unit"]
