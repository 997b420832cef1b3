"""The whole compiler on one page: the stages by name, in order.

    text --lower--> typed IR --stabilise, expand, optimise--> IR --split--> forward and backward
         --optimise, own--> --emit--> source

Each stage can be printed (``stage_text``), and with ``VERIFY`` set each is verified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from autodiff_compiler.analysis.activity import varied_values
from autodiff_compiler.common.context import compile_cache
from autodiff_compiler.emit.memory_report.table import memory_table
from autodiff_compiler.emit.module import Emitted, emit_module
from autodiff_compiler.emit.naming.unique_functions import with_unique_names
from autodiff_compiler.errors import CallError
from autodiff_compiler.frontend.lower import TypedProgram, lower
from autodiff_compiler.interface import Compiled, GeneratedText, Request, Slot
from autodiff_compiler.ir.effects import ends
from autodiff_compiler.ir.fingerprint import fingerprint
from autodiff_compiler.ir.nodes import Function, Op, Region, Value, type_of
from autodiff_compiler.ir.opdef import double_precision
from autodiff_compiler.ir.printer import print_functions
from autodiff_compiler.ir.rewrite import map_functions, producers
from autodiff_compiler.ir.types import holds_number, takes_sensitivity
from autodiff_compiler.ir.verify.conflicts import Placement
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.operators.core.declare import numpy_promotion
from autodiff_compiler.passes.derivative.reuse_forward_values import reuse_forward_values
from autodiff_compiler.passes.manager import run_pass, run_pass_on_all, run_until_stable
from autodiff_compiler.passes.memory.assemble_in_place import assemble_in_place
from autodiff_compiler.passes.memory.assign_buffers import BufferPlan, assign_buffers
from autodiff_compiler.passes.memory.carry_in_place import carry_in_place
from autodiff_compiler.passes.memory.copy_escaping_views import copy_escaping_views, owns
from autodiff_compiler.passes.memory.extend_destinations import extend_destinations
from autodiff_compiler.passes.memory.materialize_copies import materialize_copies
from autodiff_compiler.passes.memory.overlay_tapes import overlay_tapes
from autodiff_compiler.passes.memory.preallocate_tapes import preallocate_tapes
from autodiff_compiler.passes.memory.scan_in_place import scan_in_place
from autodiff_compiler.passes.memory.update_arrays_in_place import update_arrays_in_place
from autodiff_compiler.passes.memory.update_lists_in_place import update_lists_in_place
from autodiff_compiler.passes.registry import EVERY_LEVEL, at_level
from autodiff_compiler.passes.schedule.decompose import decompose
from autodiff_compiler.passes.schedule.fuse_products_and_sums import fuse_products_and_sums
from autodiff_compiler.passes.schedule.sink_large_results import sink_large_results
from autodiff_compiler.passes.schedule.tile_elementwise import tile_elementwise
from autodiff_compiler.passes.simplify.inline_calls import inline_calls
from autodiff_compiler.passes.simplify.inline_element_calls import inline_element_calls
from autodiff_compiler.passes.simplify.inline_single_use import inline_single_use
from autodiff_compiler.passes.simplify.outline_deep_branches import (
    may_inline,
    outline_deep_branches,
)
from autodiff_compiler.runtime.disk_cache import kept_on_disk, versions
from autodiff_compiler.span import NOWHERE
from autodiff_compiler.stages import Stages, all_constants, constant_texts, header, written_name
from autodiff_compiler.transforms.expand_derivatives import expand_derivatives
from autodiff_compiler.transforms.reverse.sweep import split
from autodiff_compiler.transforms.tangent.sweep import tangent_function

#: Whether every stage is verified: on in tests, off in use.
VERIFY = False

STAGES = ("ir", "typed", "adjoint", "optimized", "lowered", "source", "memory")

_PASSES = (
    "fold_constants", "flatten_raising_branches", "merge_branches", "simplify_loop_exits",
    "simplify_algebra", "reassociate_products", "hoist_invariants", "hoist_products",
    "stack_appends", "batch_accumulations", "cse", "dce",
)  # fmt: skip
#: The passes by optimisation level. Level 0 is the plainest text, with no memory reused; at level 3
#: calls are written out where they stand, so that the passes see through them.
LEVELS = {level: at_level(_PASSES, level) for level in sorted(EVERY_LEVEL)}
#: And what joins them when nothing will be differentiated any more.
LAST = {level: at_level(("write_disjoint_parts",), level) for level in LEVELS}
#: What runs before anything is differentiated, unless it is not wanted.
STABILISING = {level: at_level(("cse", "stabilise"), level) for level in LEVELS}
#: What orders the finished halves and updates in place, in this order.
_SCHEDULE = (
    fuse_products_and_sums,
    sink_large_results,
    preallocate_tapes,
    update_lists_in_place,
    update_arrays_in_place,
)


def compile_unit(
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str] = (),
) -> Compiled:
    """Compiles ``fn`` for slots of the given types (see ``interface``).

    Raises a CompileError that tells every problem; ``interface.NeedValues`` where the value of a
    number must be known.
    """
    lowered = _lowered(fn, request, slots, keywords)
    folder, make = compile_cache(), partial(_printed, lowered, request)
    key = fingerprint(versions(), *_facts(lowered, request)) if folder else None
    printed = kept_on_disk(folder, key, make) if folder and key else make()
    return Compiled(
        **vars(printed),
        dynamic_slots=tuple(lowered.places),
        hoisted=lowered.hoisted,
        assumptions=lowered.assumptions,
        positions=request.positions,
        weights=lowered.weights,
        structure=lowered.structure,
        writes=lowered.writes,
        title=lowered.function.title,
    )


def _facts(lowered: TypedProgram, request: Request) -> tuple[Any, ...]:
    """What the text depends on, besides the versions of all that makes it."""
    asked = {each.name: getattr(request, each.name) for each in fields(request)}
    asked["weights"] = lowered.weight_places
    written = [written_name(write) for write in lowered.writes]
    texts = [each.text for each in lowered.hoisted]
    return lowered.function, asked, lowered.places, lowered.orders, written, lowered.silenced, texts


def _printed(lowered: TypedProgram, request: Request) -> GeneratedText:
    stages = _stages(lowered, request)
    emitted = emit(stages, request)
    return GeneratedText(
        source=emitted.source,
        forward=stages.finished[0].name,
        backward=stages.finished[1].name if request.differentiates else None,
        output=type_of(stages.primal.returns[0]),
        apart=owns(stages.finished[0], stages.finished[0].returns[0]),
        unconnected=_unconnected(stages, request) if request.connections else (),
        line_map=emitted.line_map,
        work=stages.reused[-1].blocks,
        given=stages.reused[-1].given,
        lent=tuple(each.work for each in stages.reused),
    )


def build(
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str] = (),
) -> Stages:
    """Runs every stage up to the source."""
    return _stages(_lowered(fn, request, slots, keywords), request)


def _lowered(
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str],
) -> TypedProgram:
    with numpy_promotion(request.numpy), double_precision(request.double):
        lowered = lower(fn, request, slots, keywords)
        _verify(lowered.function, "typed: lower")
    return lowered


def _stages(lowered: TypedProgram, request: Request) -> Stages:
    with numpy_promotion(request.numpy), double_precision(request.double):
        return _differentiated(lowered, request)


def _prepared(typed: Function, request: Request) -> Function:
    """Return the lowered function, stable and decomposed, before anything is differentiated."""
    typed = run_until_stable(typed, ("dce",))  # what is demanded and read is not demanded
    if request.stabilise:
        typed = run_until_stable(typed, STABILISING[request.opt_level])
        _verify(typed, "typed: stabilise")
    if request.opt_level:
        typed = run_until_stable(typed, ("simplify_algebra",))
        typed = run_pass_on_all(decompose, typed, "first")
        typed = run_pass(inline_element_calls, typed)
    return run_pass(outline_deep_branches, typed)


def _differentiated(lowered: TypedProgram, request: Request) -> Stages:
    passes = LEVELS[request.opt_level]

    def clean(function: Function) -> Function:
        return run_until_stable(function, passes)

    typed = _prepared(lowered.function, request)

    def whole(function: Function) -> Function:
        if not request.opt_level:
            return function
        return clean(run_pass(inline_single_use, function, _may_go))

    tidied = expand_derivatives(typed, lambda each: clean(_written_out(each)), whole)
    expanded = _placed(tidied, typed)
    if request.opt_level == 3:
        expanded = run_pass(inline_calls, expanded, _may_go)
    primal = whole(clean(expanded))
    _verify(primal, "differentiated: optimise")
    _refuse(lowered, primal, request)
    wrt = tuple(lowered.places[p] for p in request.positions) + lowered.weight_places
    # With aux the first output stands once more after the value: that is differentiated.
    output = int(request.aux)
    writes = range(1 + output, len(primal.returns))
    halves: tuple[Function, ...]
    if request.tangent:
        halves = (_returning(tangent_function(primal, wrt, [output]), [0, *writes, -1]),)
    elif not request.differentiates:
        halves = (replace(primal, role="value"),)
    else:
        values = [*([0] if request.returns_value else []), *writes]
        given = request.sens == "given"
        changes: dict[str, Callable[[Function], Function]] = {"clean": clean}
        if request.opt_level:
            changes["together"] = partial(run_pass, reuse_forward_values)
        halves = split(primal, wrt, given, values, (output,), **changes)
    for half in halves:
        _verify(half, "differentiated: split")
    finished = [
        run_until_stable(half, ("drop_custom_rules", *passes, *LAST[request.opt_level]))
        for half in halves
    ]
    if request.opt_level:
        shared = [run_pass_on_all(decompose, half, "shared") for half in finished]
        finished = [run_until_stable(half, ("cse", "simplify_algebra", "dce")) for half in shared]
    finished[-1] = run_pass(copy_escaping_views, finished[-1])
    if request.opt_level:
        for each_pass in _SCHEDULE:
            finished = [run_pass_on_all(each_pass, half) for half in finished]
    if request.differentiates:
        _name_cotangents(finished[1], [primal.params[place].name for place in wrt])
    for half in finished:
        _verify(half, "lowered: own")
    finished = with_unique_names(finished)
    reused = _reused(finished) if request.opt_level else [BufferPlan(half) for half in finished]
    for each, before in zip(reused, [(), *(each.kept for each in reused)]):
        _verify(each.function, "lowered: reuse", before)
    return Stages(lowered, primal, halves, tuple(finished), wrt, tuple(reused))


def _refuse(lowered: TypedProgram, primal: Function, request: Request) -> None:
    """Refuses gradients of what has none, and by what has none."""
    for position in request.positions:
        if position not in lowered.places:
            raise CallError(
                f"argument {position} is used as a compile-time constant, so it has no gradient",
                "pass the constant, such as int(n), as a separate argument",
                lowered.function.span,
            )
    out = type_of(primal.returns[int(request.aux)])
    if not request.differentiates or request.tangent:
        return
    if request.sens == "given" and not takes_sensitivity(out):
        raise CallError(
            "sens_param=True needs an output with a tensor, and this output holds none",
            "omit sens_param, or return a tensor",
            primal.span,
        )
    if not holds_number(out) and not any(map(ends, primal.body.ops)):
        raise CallError(
            "the function returns no number, so there is nothing to differentiate",
            "return a tensor or a number; check for a missing 'return'",
            primal.span,
        )


def _reused(roots: Sequence[Function]) -> list[BufferPlan]:
    """The roots and all that they call, with large results in memory that is there already."""
    done: dict[Function, Function] = {}

    def called(function: Function) -> Function:
        if function not in done:
            inner = replace(function, body=map_functions(function.body, called))
            done[function] = run_pass(assign_buffers, _told(inner), lends=False).function
        return done[function]

    first, *rest = (replace(root, body=map_functions(root.body, called)) for root in roots)

    def planned(forward: BufferPlan) -> list[BufferPlan]:
        found = [forward]
        for root in rest:
            told = run_pass(materialize_copies, _told(root, found[-1].kept))
            found.append(run_pass(assign_buffers, told, forward=found[-1]))
        return found

    told = run_pass(materialize_copies, _told(first))
    sharing = run_pass(overlay_tapes, told, *rest[:1])
    found = planned(run_pass(assign_buffers, sharing))
    if sharing is told:
        return found
    forward = run_pass(assign_buffers, told)
    if sum(forward.blocks) > sum(found[-1].blocks):
        return found  # backward would only take more
    return min(planned(forward), found, key=lambda each: sum(each[-1].blocks))


def _told(function: Function, kept: Sequence[Placement] = ()) -> Function:
    """``function`` with what is made in tiles, or in its place, in loops and among parts."""
    function = run_pass(tile_elementwise, run_pass(decompose, function))
    function = run_pass(carry_in_place, run_pass(assemble_in_place, function, kept))
    return run_pass(extend_destinations, run_pass(scan_in_place, function))


def _unconnected(stages: Stages, request: Request) -> tuple[int, ...]:
    """Which of the differentiated parameters the output does not depend on."""
    output = stages.primal.returns[int(request.aux)]
    return tuple(
        number
        for number, place in enumerate(stages.wrt)
        if output not in varied_values(stages.primal, (place,))
    )


def _written_out(function: Function) -> Function:
    """``function`` with all calls written out that are in no text of the user's, and of which
    backward may keep what it likes."""

    def should(op: Op) -> bool:
        return _may_go(op) and NOWHERE in (op.span, op.attrs["callee"].span)

    return run_pass(inline_calls, function, should)


def _may_go(call: Op) -> bool:
    """Return True if a call may be inlined: it is not rematerialised, and not deep."""
    return "recompute" not in call.attrs and may_inline(call.attrs["callee"])


def _placed(function: Function, lowered: Function) -> Function:
    """``function`` with the place of the text that it was made of, if it has none of its own."""
    spans = [callee.span for callee in lowered.callees() if callee.span != NOWHERE]
    return replace(function, span=spans[-1]) if function.span == NOWHERE and spans else function


def _returning(function: Function, places: Sequence[int]) -> Function:
    """``function`` with only these of its returns."""
    body = function.body
    yields = tuple(body.yields[place] for place in places)
    return replace(function, body=Region(body.params, body.ops, yields))


def _name_cotangents(backward: Function, names: Sequence[str]) -> None:
    """A cotangent that no user's variable lent its name is called after what it belongs to."""
    made = producers(backward.body)
    for value, name in zip(backward.returns, names):
        if isinstance(value, Value) and value in made and not value.has_user_name:
            value.name, value.has_user_name = f"d_{name}", True


def emit(stages: Stages, request: Request, constants: Mapping[Value, str] | None = None) -> Emitted:
    """Return the source of the finished functions, callees first. ``constants`` are the texts of
    what the parameters have for values; without them, of what the user's text makes."""
    if constants is None:
        constants = constant_texts(stages)
    functions: dict[str, Function] = {}
    for root in stages.emitted:
        for function in (*root.callees(), root):
            functions.setdefault(function.name, function)
    with numpy_promotion(request.numpy):
        return emit_module(
            list(functions.values()),
            lambda printed: header(stages, request, printed, constants),
            {root.name: stages.lowered.silenced for root in stages.emitted},
            constants,
        )


def stage_text(
    fn: Callable[..., Any],
    request: Request,
    slots: Sequence[Slot],
    keywords: Sequence[str],
    stage: str,
) -> str:
    """The text of one stage: ``ir`` as the front end gives it, ``typed`` after optimising the
    primal, ``adjoint`` the halves, ``optimized`` after optimising them, ``lowered`` with memory
    reused, as they are emitted, ``source``; and of that, ``memory``: what is kept for backward."""
    if stage not in STAGES:
        raise CallError(f"there is no stage '{stage}'", f"use one of {', '.join(STAGES)}")
    stages = build(fn, request, slots, keywords)
    if stage == "source":
        return emit(stages, request).source
    if stage == "memory":
        if not request.differentiates:
            raise CallError(
                "there is no backward half, so nothing is kept for it", "compile a gradient"
            )
        return memory_table(stages.emitted, emit(stages, request).names)
    chosen = {
        "ir": (stages.lowered.function,), "typed": (stages.primal,), "adjoint": stages.halves,
        "optimized": stages.finished, "lowered": stages.emitted,
    }[stage]  # fmt: skip
    return "\n".join(print_functions(function).rstrip("\n") + "\n" for function in chosen)


def standalone_text(
    fn: Callable[..., Any], request: Request, slots: Sequence[Slot], keywords: Sequence[str]
) -> tuple[str, dict[str, np.ndarray]]:
    """Return the source with the values of all outside arrays but Parameters, and the arrays that
    are to be stored beside it."""
    stages = build(fn, request, slots, keywords)
    constants, stored = all_constants(stages)
    return emit(stages, request, constants).source, stored


def _verify(function: Function, stage: str, kept: Sequence[Placement] = ()) -> None:
    if VERIFY:
        verify(function, stage, kept)
