"""Records for the run time, made of a program: ``GeneratedText`` and ``Compiled``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from autodiff_compiler.analysis.activity import varied_values
from autodiff_compiler.common.context import compile_cache
from autodiff_compiler.interface.compiled import Compiled, GeneratedText, NoNativeText
from autodiff_compiler.ir.fingerprint import fingerprint
from autodiff_compiler.ir.nodes import type_of
from autodiff_compiler.passes.memory.copy_escaping_views import owns
from autodiff_compiler.program import Program
from autodiff_compiler.runtime.disk_cache import cached_on_disk, versions
from autodiff_compiler.runtime.late_imports import imported_late

#: Returns a program and its C text; raises NoNativeText if it has none.
native_text = imported_late("autodiff_compiler.stages.native", "native_text")
#: Returns why this machine has no C compiler, which is warned of once; empty if it has one.
missing_compiler = imported_late("autodiff_compiler.stages.native", "missing_compiler")
#: Finishes a program. It returns the program, and its text.
Finish: TypeAlias = Callable[[Program], tuple[Program, GeneratedText]]


def printed(program: Program, finish: Finish, target: str) -> tuple[Program, GeneratedText]:
    """Returns the text of a program for a target, from the cache on disk if it is there.

    Where it is not, ``finish`` makes it. The finished program is returned, too.
    """

    def make() -> GeneratedText:
        nonlocal program
        program, text = finish(program)
        return text

    folder = compile_cache()
    key = fingerprint(versions(), target, *program.facts()) if folder else None
    text = cached_on_disk(folder, key, make) if folder and key else make()
    return program, text


def for_target(program: Program, run: Callable[..., Program]) -> Compiled:
    """Returns a program that is typed, compiled for the target of its request.

    ``run(program, target=…)`` runs all stages of a target. A function without a C text is compiled
    to NumPy source, and ``fallback`` says why.
    """

    def numpy_text(program: Program) -> tuple[Program, GeneratedText]:
        program = run(program)
        return program, generated_text(program)

    def c_text(program: Program) -> tuple[Program, GeneratedText]:
        text: GeneratedText
        try:
            program, text = native_text(program, run)
        except NoNativeText as error:
            program, text = numpy_text(program)
            text = replace(text, fallback=str(error))
        return program, text

    if program.request.target == "numpy":
        return compiled(*printed(program, numpy_text, "numpy"))
    if not (reason := missing_compiler()):
        return compiled(*printed(program, c_text, "c"))
    program, text = printed(program, numpy_text, "numpy")
    return compiled(program, replace(text, fallback=reason))


def generated_text(program: Program) -> GeneratedText:
    """Returns the source of a program that has run through all stages, with what calls it."""
    request, scheduled = program.request, program.after["scheduled"][0]
    return GeneratedText(
        source=program.source,
        forward=program.functions[0].name,
        backward=program.functions[1].name if request.differentiates else None,
        output=type_of(program.primal.returns[0]),
        owns_memory=owns(scheduled, scheduled.returns[0]),
        unconnected=unconnected(program),
        line_map=program.line_map,
        allocations=program.plans[-1].allocations,
        donated=program.plans[-1].donated,
        work_arrays=tuple(plan.work for plan in program.plans),
    )


def compiled(program: Program, text: GeneratedText) -> Compiled:
    """Returns the generated text with the inputs, guards and writes that the front end recorded."""
    typed = program.typed
    return Compiled(
        **vars(text),
        dynamic_slots=tuple(typed.places),
        hoisted=typed.hoisted,
        guards=typed.guards,
        positions=program.request.positions,
        weights=typed.weights,
        structure=typed.structure,
        writes=typed.writes,
        title=typed.function.title,
        undifferentiated=program.undifferentiated(),
    )


def unconnected(program: Program) -> tuple[int, ...]:
    """Returns the cotangents, by place, that are zero because their parameters have no effect.

    Returns none unless the request asks for them.
    """
    if not program.request.connections:
        return ()
    return tuple(
        number
        for number, place in enumerate(program.wrt)
        if program.output not in varied_values(program.primal, (place,))
    )


__all__ = ["compiled", "for_target", "generated_text", "printed", "unconnected"]
