"""The command ``autodiff-compiler``: prints the gradient of a Cell in a file, or checks it.

autodiff-compiler dump  net.py:Net --input "x=f32[2,3]" --input "y=f32[3,3]" --get-all
autodiff-compiler dump  net.py:Net --dump-after cse --diff --time-passes
autodiff-compiler explain-memory net.py:Net --input "x=f32[b,3]" --input "y=f32[3,3]"
autodiff-compiler check net.py:Net --input "f32[2,3]" --input "f32[3,3]"
autodiff-compiler ops --missing
autodiff-compiler passes
autodiff-compiler --version
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from enum import IntEnum
from typing import Any

import numpy as np

from autodiff_compiler.cli_arguments import UsageError, drawn, load_target
from autodiff_compiler.cli_arguments import arguments as told
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.context import LEVELS
from autodiff_compiler.common.files.atomic_files import written_whole
from autodiff_compiler.emit.memory_report.table import columns
from autodiff_compiler.errors import CompileError, InternalError, by_code, page
from autodiff_compiler.generated_source import (
    FORMER_STAGES,
    MEMORY,
    MODES,
    argument_names,
    export_source,
    gradient_source,
    required,
)
from autodiff_compiler.mindspore_names.suggestions import nearest
from autodiff_compiler.ops.transforms.derivatives import hessian, jacfwd, jacobian, jacrev
from autodiff_compiler.ops.transforms.gradient import grad
from autodiff_compiler.ops.transforms.vmap import vmap
from autodiff_compiler.passes.log import PassLog
from autodiff_compiler.passes.manager import observed
from autodiff_compiler.passes.registry import BY_NAME
from autodiff_compiler.pipeline import PIPELINE, SIMPLIFY
from autodiff_compiler.stages import listing
from autodiff_compiler.testing import vocabulary
from autodiff_compiler.testing.numeric import check_grads
from autodiff_compiler.version import __version__

#: What ``dump --transform`` knows: each of a function and the positions of what is differentiated.
TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "hessian": hessian,
    "jacobian": jacobian,
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "vmap": lambda fn, place: vmap(fn),
    "vmap-grad": lambda fn, place: vmap(grad(fn, place)),
}


#: What ``--stage`` takes; former names and the table of memory are not advertised.
STAGES = (*PIPELINE.names, *FORMER_STAGES, MEMORY)


class ExitCode(IntEnum):
    """How a command ends."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    FAULT = 3


EPILOG = """\
exit codes:
  0  done
  1  the compiler refused the source, or a gradient is wrong
  2  the command, the file or a type could not be understood
  3  the compiler itself failed: please report it

types:
  f32[2,3] f64[] i32[b,4] any[...]   tensors; a name is a size known at run time only
  (f32[2], int) {'w': f32[2,3]}      tuples and dicts of these
  int float bool none                plain Python values, known at run time only
  n=3 kind='sum'                     a literal is a value that is known
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command with these arguments (None: those of the process); returns its exit code.

    What was asked for goes to standard output, complaints to standard error. An unknown option ends
    the process with code 2, as argparse does.
    """
    try:
        arguments = _parser().parse_args(argv)
        sys.path.insert(0, os.getcwd())
        return int(arguments.run(arguments))
    except UsageError as error:
        print(f"autodiff-compiler: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except (CompileError, AssertionError) as error:
        print(error, file=sys.stderr)
        return ExitCode.REFUSED
    except InternalError as error:
        print(error, file=sys.stderr)
        return ExitCode.FAULT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autodiff-compiler",
        description="Prints and checks the gradients of Cells and functions.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    dump = commands.add_parser("dump", help="print the source of the gradient")
    memory = commands.add_parser("explain-memory", help="list what is kept for backward")
    check = commands.add_parser("check", help="hold the gradient against numeric differences")
    for command in (dump, memory, check):
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        command.epilog = EPILOG
        command.add_argument(
            "target",
            metavar="FILE:NAME",
            help="a Cell class, a Cell, a function or a method; or a call: file.py:Block(dim=8)",
        )
        command.add_argument(
            "--input",
            action="append",
            default=[],
            metavar="[NAME=]TYPE",
            help="one per argument: its type, or its value",
        )
    for command in (dump, memory):
        add = command.add_argument
        add("--wrt", metavar="NAME,...", help="what is differentiated: arguments, or positions")
        add("--weights", metavar="NAME,...",
            help="the gradients of these Parameters; 'trainable' or 'all'")  # fmt: skip
        add("--value", action="store_true", help="forward returns the value, too")
        add("--has-aux", action="store_true", help="differentiate the first output only")
        add("--get-all", action="store_true", help="gradients of all inputs")
        add("--get-by-list", action="store_true", help="gradients of the parameters")
        add("--sens-param", action="store_true", help="the caller gives a sensitivity")
        add("--no-stabilise", action="store_true", help="leave formulas that overflow as they are")
        add("-O", type=int, choices=LEVELS, default=1, dest="level",
            help="0: the plainest text; 3: calls written out (default: 1)")  # fmt: skip
    dump.add_argument(
        "--mode", choices=MODES, default="reverse",
        help="cotangents backward, tangents forward, or the value of the function itself",
    )  # fmt: skip
    dump.add_argument(
        "--transform", choices=sorted(TRANSFORMS), help="print this transform of the function"
    )
    dump.add_argument(
        "--stage",
        choices=STAGES,
        metavar="STAGE",
        help=f"what to print: {', '.join(PIPELINE.names)} (default: source)",
    )
    dump.add_argument(
        "--dump-after",
        metavar="PASS",
        action="append",
        default=[],
        help="print instead the IR after each change that this pass made; may be repeated",
    )
    dump.add_argument(
        "--diff",
        action="store_true",
        help="print instead each change of a pass, or of those of --dump-after, as a unified diff",
    )
    dump.add_argument(
        "--time-passes",
        action="store_true",
        help="print runs, changes, operations added and seconds of each pass on standard error",
    )
    dump.add_argument("--out", metavar="FILE", help="write to a file instead")
    dump.set_defaults(run=_dump)
    memory.set_defaults(
        run=_dump,
        mode="reverse",
        transform=None,
        stage=MEMORY,
        out=None,
        dump_after=[],
        diff=False,
        time_passes=False,
    )
    check.add_argument("--order", type=int, default=2, help="check up to this derivative")
    check.add_argument("--seed", type=int, default=0, help="for the inputs that are drawn")
    check.add_argument(
        "--mode", choices=("reverse", "forward", "both"), default="reverse",
        help="how the derivatives are taken",
    )  # fmt: skip
    check.set_defaults(run=_check)
    explain = commands.add_parser("explain", help="what an error code means, with examples")
    explain.add_argument("code", metavar="CODE", nargs="?", help="such as AD201; without, all")
    explain.set_defaults(run=_explain)
    operators = commands.add_parser("ops", help="list the operators, by all their names")
    operators.add_argument(
        "--missing", action="store_true", help="list the names of MindSpore that are missing here"
    )
    operators.set_defaults(run=_ops)
    passes = commands.add_parser("passes", help="list the passes: stage, levels, summary")
    passes.add_argument(
        "--markdown", action="store_true", help="print the page docs/passes.md instead"
    )
    passes.set_defaults(run=_passes)
    return parser


def _dump(arguments: argparse.Namespace) -> ExitCode:
    fn = load_target(arguments.target)
    given, keywords = told(fn, arguments.input)
    position, mode = _position(arguments.wrt), arguments.mode
    if arguments.transform is not None:
        if mode != "reverse":
            raise UsageError("--transform and --mode cannot both be given")
        fn, mode = _transformed(arguments, fn, position), "value"
        position = None
    flags = {
        "keywords": keywords,
        "get_all": arguments.get_all,
        "get_by_list": arguments.get_by_list,
        "sens_param": arguments.sens_param,
        "position": position,
        "weights": _weights(arguments.weights),
        "value": arguments.value,
        "has_aux": arguments.has_aux,
        "mode": mode,
        "opt_level": arguments.level,
        "stabilise": False if arguments.no_stabilise else None,
    }
    log, names = PassLog(), _passes_named(arguments)
    with observed(log) if names or arguments.time_passes else nullcontext():
        if arguments.out is not None and not names and arguments.stage in (None, "source"):
            with _writing(arguments.out):
                export_source(fn, arguments.out, *given, **flags)
        else:
            stage = "buffers" if names else arguments.stage or "source"
            text = gradient_source(fn, *given, stage=stage, **flags)
            if names:
                text = log.diff(names) if arguments.diff else log.dump(names)
                _note_unchanged(arguments, log)
            _write(text, arguments.out)
    if arguments.time_passes:
        sys.stderr.write(log.times())
    return ExitCode.OK


def _passes_named(arguments: argparse.Namespace) -> Sequence[str]:
    """Return the passes whose changes are to be printed, none if the text of a stage is."""
    for name in arguments.dump_after:
        if name not in BY_NAME:
            like = nearest(name, BY_NAME) or next((one for one in BY_NAME if name in one), None)
            hint = f"; did you mean '{like}'?" if like else "."
            raise UsageError(f"there is no pass '{name}'{hint} The passes are {', '.join(BY_NAME)}")
    names = arguments.dump_after or (tuple(BY_NAME) if arguments.diff else ())
    if names and arguments.stage is not None:
        option = "--dump-after" if arguments.dump_after else "--diff"
        raise UsageError(f"--stage and {option} cannot both be given")
    return names


def _note_unchanged(arguments: argparse.Namespace, log: PassLog) -> None:
    """Says on standard error which passes of ``--dump-after`` have nothing to print, and why."""
    changed = {each.name for each, _, _ in log.changes(BY_NAME)}
    for name in arguments.dump_after:
        if arguments.level not in BY_NAME[name].levels:
            print(f"{name} does not run at -O{arguments.level}", file=sys.stderr)
        elif name not in changed:
            print(f"{name} changed nothing", file=sys.stderr)


def _write(text: str, out: str | None) -> None:
    """Writes to a file; without one, to standard output."""
    if out is None:
        sys.stdout.write(text)
        return
    with _writing(out), written_whole(out) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def _writing(out: str) -> Iterator[None]:
    """Reports a file that cannot be written as an error of usage."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from None


def _position(wrt: str | None) -> Any:
    """Return what ``--wrt`` names: numbers and names, divided by commas."""
    if wrt is None:
        return None
    parts = [part.strip() for part in wrt.split(",")]
    found = [int(part) if part.isdecimal() else part for part in parts if part]
    if not found:
        raise UsageError("--wrt is empty; write --wrt x or --wrt 0,2")
    return found[0] if len(found) == 1 else tuple(found)


def _weights(named: str | None) -> Any:
    if named is None or named in ("all", "trainable"):
        return named
    parts = tuple(part.strip() for part in named.split(",") if part.strip())
    return parts[0] if len(parts) == 1 else parts


def _transformed(arguments: argparse.Namespace, fn: Any, position: Any) -> Any:
    """Return ``fn`` as ``--transform`` wants it."""
    several = position if isinstance(position, tuple) else (position,)
    names = argument_names(fn)
    for each in several:
        if isinstance(each, str) and each not in names:
            raise UsageError(f"there is no argument '{each}'; the arguments are {', '.join(names)}")
    found = tuple(names.index(each) if isinstance(each, str) else each for each in several)
    place = 0 if position is None else found if isinstance(position, tuple) else found[0]
    return TRANSFORMS[arguments.transform](fn, place)


def _check(arguments: argparse.Namespace) -> ExitCode:
    fn = load_target(arguments.target)
    specs, keywords = told(fn, arguments.input)
    missing = required(fn)[len(specs) :]
    if missing := [name for name in missing if name not in keywords]:
        raise UsageError(f"a check needs a type for every argument; give --input {missing[0]}=...")
    rng, tensors = np.random.default_rng(arguments.seed), isinstance(fn, Cell)
    inputs = [drawn(spec, rng, tensors) for spec in specs]
    bound = {name: drawn(spec, rng, tensors) for name, spec in keywords.items()}
    modes = ("reverse", "forward") if arguments.mode == "both" else (arguments.mode,)
    print(check_grads(fn, inputs, modes=modes, order=arguments.order, seed=arguments.seed,
                      keywords=bound))  # fmt: skip
    return ExitCode.OK


def _ops(arguments: argparse.Namespace) -> ExitCode:
    sys.stdout.write(vocabulary.missing_text() if arguments.missing else vocabulary.table_text())
    return ExitCode.OK


def _passes(arguments: argparse.Namespace) -> ExitCode:
    table = (line + "\n" for line in columns(listing.rows(PIPELINE)))
    sys.stdout.write(
        listing.page_text(PIPELINE, tuple(SIMPLIFY.split()))
        if arguments.markdown
        else "".join(table)
    )
    return ExitCode.OK


def _explain(arguments: argparse.Namespace) -> ExitCode:
    known = by_code()
    if arguments.code is None:
        for code, kind in known.items():
            print(f"{code}  {kind.__name__}: {inspect.getdoc(kind)}".splitlines()[0])
        return ExitCode.OK
    code = arguments.code.upper()
    if code not in known:
        raise UsageError(f"there is no code {arguments.code}; the codes are {', '.join(known)}")
    sys.stdout.write(page(known[code]))
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
