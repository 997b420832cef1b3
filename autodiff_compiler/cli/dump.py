"""The commands ``dump`` and ``explain-memory``: the source of a gradient, or an earlier stage."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from autodiff_compiler.abstract_arguments import argument_names
from autodiff_compiler.cli.exit_codes import ExitCode, UsageError
from autodiff_compiler.cli.inputs import arguments
from autodiff_compiler.cli.targets import load_target
from autodiff_compiler.common.files.atomic_files import atomic_write
from autodiff_compiler.generated_source import export_source, gradient_source
from autodiff_compiler.mindspore_names.suggestions import nearest
from autodiff_compiler.ops.transforms.derivatives import hessian, jacfwd, jacobian, jacrev
from autodiff_compiler.ops.transforms.gradient import grad
from autodiff_compiler.ops.transforms.vmap import vmap
from autodiff_compiler.passes.log import PassLog
from autodiff_compiler.passes.manager import observed
from autodiff_compiler.passes.nests.pipeline import NEST_PASSES
from autodiff_compiler.passes.registry import REGISTRY, Pass
from autodiff_compiler.pipeline import PIPELINES

#: The values of ``--transform``: each takes a function and the positions to differentiate.
TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "hessian": hessian,
    "jacobian": jacobian,
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "vmap": lambda fn, place: vmap(fn),
    "vmap-grad": lambda fn, place: vmap(grad(fn, place)),
}
#: The passes on IR and those on loop nests.
ALL_PASSES: Mapping[str, Pass] = {each.name: each for each in (*REGISTRY, *NEST_PASSES)}


def dump(options: argparse.Namespace) -> ExitCode:
    """Prints the source of a gradient, the program after a stage, or the changes of passes."""
    fn = load_target(options.target)
    given, keywords = arguments(fn, options.input)
    fn, flags = _request(options, fn, keywords)
    log, names = PassLog(), _passes_named(options)
    with observed(log) if names or options.time_passes else nullcontext():
        if names:
            gradient_source(fn, *given, **flags)
            _write(log.diff(names) if options.diff else log.dump(names), options.out)
            _note_unchanged(options, log)
        elif options.out is not None and options.stage in (None, "source"):
            with _writing(options.out):
                export_source(fn, options.out, *given, **flags)
        else:
            stage = options.stage or "source"
            _write(gradient_source(fn, *given, stage=stage, **flags), options.out)
    if options.time_passes:
        sys.stderr.write(log.times())
    return ExitCode.OK


def _request(
    options: argparse.Namespace, fn: Any, keywords: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Returns the function to compile, and the keyword arguments of ``gradient_source``."""
    position, mode = _position(options.wrt), options.mode
    if options.transform is not None:
        if mode != "reverse":
            raise UsageError("--transform and --mode cannot both be given")
        fn, mode, position = _transformed(options.transform, fn, position), "value", None
    return fn, {
        "keywords": keywords,
        "get_all": options.get_all,
        "get_by_list": options.get_by_list,
        "sens_param": options.sens_param,
        "position": position,
        "weights": _weights(options.weights),
        "value": options.value,
        "has_aux": options.has_aux,
        "mode": mode,
        "opt_level": options.level,
        "stabilise": False if options.no_stabilise else None,
        "target": options.language,
    }


def _passes_named(options: argparse.Namespace) -> Sequence[str]:
    """Returns the passes whose changes are printed; none if the text of a stage is."""
    for name in options.dump_after:
        if name not in ALL_PASSES:
            within = (one for one in ALL_PASSES if name in one)
            like = nearest(name, ALL_PASSES) or next(within, None)
            hint = f"; did you mean '{like}'?" if like else "."
            listed = ", ".join(ALL_PASSES)
            raise UsageError(f"there is no pass '{name}'{hint} The passes are {listed}")
    names = options.dump_after or (tuple(ALL_PASSES) if options.diff else ())
    if names and options.stage is not None:
        option = "--dump-after" if options.dump_after else "--diff"
        raise UsageError(f"--stage and {option} cannot both be given")
    return names


def _note_unchanged(options: argparse.Namespace, log: PassLog) -> None:
    """Reports on standard error the passes of ``--dump-after`` that have nothing to print."""
    ran = {each.name for each in log.applications}
    changed = {each.name for each, _, _ in log.changes()}
    for name in options.dump_after:
        if options.level not in ALL_PASSES[name].levels:
            print(f"{name} does not run at -O{options.level}", file=sys.stderr)
        elif name not in ran and len(targets := _targets_of(name)) == 1:
            print(f"{name} runs for --target {targets[0]} alone", file=sys.stderr)
        elif name not in changed:
            print(f"{name} changed nothing", file=sys.stderr)


def _targets_of(name: str) -> list[str]:
    """Returns the targets for which a pass runs."""
    if any(each.name == name for each in NEST_PASSES):
        return ["c"]
    return [target for target, pipeline in PIPELINES.items() if pipeline.has_pass(name)]


def _write(text: str, out: str | None) -> None:
    """Writes to a file; without one, to standard output."""
    if out is None:
        sys.stdout.write(text)
        return
    with _writing(out), atomic_write(out) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def _writing(out: str) -> Iterator[None]:
    """Reports a file that cannot be written as an error of usage."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from None


def _position(wrt: str | None) -> Any:
    """Returns the numbers and names of ``--wrt``, which commas separate."""
    if wrt is None:
        return None
    parts = [part.strip() for part in wrt.split(",")]
    positions = [int(part) if part.isdecimal() else part for part in parts if part]
    if not positions:
        raise UsageError("--wrt is empty; write --wrt x or --wrt 0,2")
    return positions[0] if len(positions) == 1 else tuple(positions)


def _weights(named: str | None) -> Any:
    if named is None or named in ("all", "trainable"):
        return named
    parts = tuple(part.strip() for part in named.split(",") if part.strip())
    return parts[0] if len(parts) == 1 else parts


def _transformed(transform: str, fn: Any, position: Any) -> Any:
    """Returns the transform of ``fn`` that ``--transform`` names."""
    several = position if isinstance(position, tuple) else (position,)
    names = argument_names(fn)
    for each in several:
        if isinstance(each, str) and each not in names:
            raise UsageError(f"there is no argument '{each}'; the arguments are {', '.join(names)}")
    positions = tuple(names.index(each) if isinstance(each, str) else each for each in several)
    place = 0 if position is None else positions if isinstance(position, tuple) else positions[0]
    return TRANSFORMS[transform](fn, place)


__all__ = ["TRANSFORMS", "dump"]
