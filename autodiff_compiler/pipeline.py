"""The compiler on one page: its stages, and the passes of each in the order in which they run.

``docs/passes.md`` is printed from it. ``dump --stage NAME`` prints the IR after a stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.emit.source import emit_program
from autodiff_compiler.frontend.lower import lower
from autodiff_compiler.interface.compiled import Compiled, Slot
from autodiff_compiler.interface.request import Request
from autodiff_compiler.passes.manager import on_functions, on_last_root, on_roots, until_stable
from autodiff_compiler.passes.registry import MEMORY, OPTIMISED, READABLE
from autodiff_compiler.program import Program
from autodiff_compiler.stages import buffers, derivatives, names
from autodiff_compiler.stages.driver import Pipeline, Stage, native_step, numeric_rules
from autodiff_compiler.stages.outcome import for_target

#: Whether the IR is verified after each stage: on in tests, off in use.
VERIFY = False

SIMPLIFY = """
    fold_constants flatten_raising_branches merge_branches simplify_loop_exits simplify_algebra
    reassociate_products hoist_invariants hoist_products stack_appends batch_accumulations cse dce
"""
INLINE_AND_SIMPLIFY = (
    on_roots("inline_single_use", may=derivatives.may_inline_call),
    until_stable(SIMPLIFY, levels=OPTIMISED),
)

PIPELINE = Pipeline(
    Stage("typed", "typed", "The source function as typed IR, with its loops and branches."),
    Stage(
        "stable",
        "typed",
        "Formulas that overflow or cancel are replaced by stable operators.",
        until_stable("dce"),
        on_functions("resolve_empty_sums"),
        until_stable("cse stabilise", flag="stabilise"),
        until_stable("simplify_algebra"),
        on_functions("decompose", when="first"),
        on_roots("inline_element_calls outline_deep_branches"),
    ),
    Stage(
        "primal",
        "differentiated",
        "`grad`, `jvp` and `vmap` are replaced by functions; all of them are simplified.",
        derivatives.ExpandDerivatives(
            simplify_function=(
                on_roots("inline_calls", should=derivatives.may_inline_generated_call),
                until_stable(SIMPLIFY),
            ),
            prepare_callee=INLINE_AND_SIMPLIFY,
        ),
        on_roots("inline_calls", should=derivatives.may_inline_call, levels=frozenset({3})),
        until_stable(SIMPLIFY),
        *INLINE_AND_SIMPLIFY,
    ),
    Stage(
        "derivative",
        "differentiated",
        "The forward and the backward function; or the tangent; or the value alone.",
        derivatives.check_differentiable,
        derivatives.Differentiate(
            simplify_each=(until_stable(SIMPLIFY),),
            simplify_jointly=(on_roots("reuse_forward_values"),),
        ),
    ),
    Stage(
        "simplified",
        "lowered",
        "Nothing is differentiated from here on; results own their memory.",
        until_stable(f"drop_custom_rules {SIMPLIFY} write_disjoint_parts"),
        on_functions("decompose", when="shared"),
        until_stable("cse simplify_algebra dce", levels=OPTIMISED),
        on_last_root("copy_escaping_views"),
    ),
    Stage(
        "scheduled",
        "lowered",
        "Operations are ordered so that few bytes are live, and update arrays in place.",
        on_functions("fuse_products_and_sums preallocate_tapes", levels=READABLE, readable=True),
        on_functions("fuse_products_and_sums sink_large_results preallocate_tapes", levels=MEMORY),
        on_functions("update_lists_in_place update_arrays_in_place"),
        names.name_cotangents,
        names.unique_function_names,
    ),
    Stage(
        "buffers",
        "lowered",
        "Large results are written into dead arrays; from level 2 on, into workspace buffers too.",
        on_functions("decompose carry_in_place", levels=READABLE, readable=True),
        on_functions("overwrite_named_arrays"),
        buffers.PlanBuffers(
            functions="decompose tile_elementwise assemble_in_place carry_in_place scan_in_place"
            " extend_destinations",
            roots="materialize_copies",
            trial="overlay_tapes",
            assign="assign_buffers",
        ),
    ),
    Stage("source", None, "The NumPy text.", emit_program),
)

NATIVE = Pipeline(
    *PIPELINE.stages[:3],
    Stage(
        "gradient",
        "lowered",
        "Value and gradient are one function; a value and its pullback are two.",
        derivatives.check_differentiable,
        derivatives.Differentiate(jointly=True),
        on_roots("inline_calls", should=derivatives.may_inline_call),
        until_stable(SIMPLIFY),
        on_functions("decompose", when="shared"),
        until_stable("cse simplify_algebra dce"),
    ),
    Stage("nests", None, "Loop nests.", native_step("lower_nests"), native_step("optimise_nests")),
    Stage("c", None, "The C text.", native_step("emit_c_file")),
)
PIPELINES = {"numpy": PIPELINE, "c": NATIVE}


def start(
    fn: Callable[..., Any], request: Request, slots: Sequence[Slot], keywords: Sequence[str] = ()
) -> Program:
    """Returns the program of ``fn`` for arguments of the given types: the first stage."""
    with numeric_rules(request):
        typed = lower(fn, request, slots, keywords)
    return run(Program(request, typed, (typed.function,)), "typed")


def run(program: Program, until: str | None = None, target: str = "numpy") -> Program:
    """Returns the program after the stage ``until`` of a target, or after all its stages."""
    return PIPELINES[target].run(program, until, verified=VERIFY)


def compile_unit(
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str] = (),
    shared: Sequence[Program] = (),
) -> Compiled:
    """Compiles ``fn`` for these slots; raises a CompileError that tells every problem."""
    known = (each.for_request(request) for each in shared)
    return for_target(next(filter(None, known), None) or start(fn, request, slots, keywords), run)
