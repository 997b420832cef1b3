"""The options of every command, as ``argparse`` reads them."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from autodiff_compiler.cli.commands import check, explain, ops, passes
from autodiff_compiler.cli.dump import TRANSFORMS, dump
from autodiff_compiler.cli.exit_codes import ExitCode
from autodiff_compiler.common.context import LEVELS
from autodiff_compiler.generated_source import FORMER_STAGES, MEMORY, MODES
from autodiff_compiler.pipeline import PIPELINE
from autodiff_compiler.version import __version__

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

#: The values of ``--stage``. Its help lists neither former names nor the table of memory.
STAGES = (*PIPELINE.names, *FORMER_STAGES, MEMORY)

Run = Callable[[argparse.Namespace], ExitCode]


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line. It sets ``run`` to the function of the command."""
    parser = argparse.ArgumentParser(
        prog="autodiff-compiler",
        description="Prints and checks the gradients of Cells and functions.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help: str, run: Run) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help)
        command.set_defaults(run=run)
        return command

    _add_dump(add("dump", "print the source of the gradient", dump))
    _add_memory(add("explain-memory", "list what is kept for backward", dump))
    _add_check(add("check", "compare the gradient with numeric differences", check))
    add("explain", "what an error code means, with examples", explain).add_argument(
        "code", metavar="CODE", nargs="?", help="such as AD201; without, all"
    )
    add("ops", "list the operators, by all their names", ops).add_argument(
        "--missing", action="store_true", help="list the names of MindSpore that are missing here"
    )
    add("passes", "list the passes: stage, levels, summary", passes).add_argument(
        "--markdown", action="store_true", help="print the page docs/passes.md instead"
    )
    return parser


def _add_target(command: argparse.ArgumentParser) -> None:
    """Adds the Cell or function, and its arguments."""
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


def _add_request(command: argparse.ArgumentParser) -> None:
    """Adds what is differentiated, and how it is compiled."""

    def flag(name: str, help: str) -> None:
        command.add_argument(name, action="store_true", help=help)

    _add_target(command)
    command.add_argument(
        "--wrt", metavar="NAME,...", help="what is differentiated: arguments, or positions"
    )
    command.add_argument(
        "--weights",
        metavar="NAME,...",
        help="the gradients of these Parameters; 'trainable' or 'all'",
    )
    flag("--value", "forward returns the value, too")
    flag("--has-aux", "differentiate the first output only")
    flag("--get-all", "gradients of all inputs")
    flag("--get-by-list", "gradients of the parameters")
    flag("--sens-param", "the caller gives a sensitivity")
    flag("--no-stabilise", "leave formulas that overflow as they are")
    command.add_argument(
        "-O",
        type=int,
        choices=LEVELS,
        default=1,
        dest="level",
        help="0: plainest text; 2: results reuse memory; 3: calls are inlined, too (default: 1)",
    )


def _add_dump(command: argparse.ArgumentParser) -> None:
    _add_request(command)
    command.add_argument(
        "--mode",
        choices=MODES,
        default="reverse",
        help="cotangents backward, tangents forward, or the value of the function itself",
    )
    command.add_argument(
        "--transform", choices=sorted(TRANSFORMS), help="print this transform of the function"
    )
    command.add_argument(
        "--stage",
        choices=STAGES,
        metavar="STAGE",
        help=f"print the program after a stage: {', '.join(PIPELINE.names)} (default: source)",
    )
    command.add_argument(
        "--dump-after",
        metavar="PASS",
        action="append",
        default=[],
        help="print instead the IR after each change that this pass made; may be repeated",
    )
    command.add_argument(
        "--diff",
        action="store_true",
        help="print instead each change of a pass, or of those of --dump-after, as a unified diff",
    )
    command.add_argument(
        "--time-passes",
        action="store_true",
        help="print runs, changes, operations added and seconds of each pass on standard error",
    )
    command.add_argument("--out", metavar="FILE", help="write to a file instead")


def _add_memory(command: argparse.ArgumentParser) -> None:
    _add_request(command)
    command.set_defaults(
        mode="reverse",
        transform=None,
        stage=MEMORY,
        out=None,
        dump_after=[],
        diff=False,
        time_passes=False,
    )


def _add_check(command: argparse.ArgumentParser) -> None:
    _add_target(command)
    command.add_argument("--order", type=int, default=2, help="check up to this derivative")
    command.add_argument("--seed", type=int, default=0, help="for the inputs that are drawn")
    command.add_argument(
        "--mode",
        choices=("reverse", "forward", "both"),
        default="reverse",
        help="how the derivatives are taken",
    )


__all__ = ["STAGES", "make_parser"]
