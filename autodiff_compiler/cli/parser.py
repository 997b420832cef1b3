"""The options of every command, as ``argparse`` reads them."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from autodiff_compiler.cli.commands import check, explain, ops, passes
from autodiff_compiler.cli.dump import TRANSFORMS, dump
from autodiff_compiler.cli.exit_codes import ExitCode
from autodiff_compiler.common.context import LEVELS, TARGETS
from autodiff_compiler.generated_source import MEMORY, MODES
from autodiff_compiler.pipeline import NATIVE, PIPELINE
from autodiff_compiler.version import __version__

EPILOG = """\
exit codes:
  0  success
  1  the compiler rejected the source, or a gradient is wrong
  2  the command line, a file or a type is invalid
  3  the compiler itself failed: please report it

types of arguments, for --input:
  f32[2,3] f64[] i32[b,4]         tensors; the size b is known only at run time
  any[...]                        a tensor of any dtype and shape
  (f32[2], int) {'w': f32[2,3]}   tuples and dicts of types
  int float bool none             Python values that are known only at run time
  n=3 kind='sum'                  a literal: a compile-time constant
"""

#: The stages of the C target alone.
OF_C = tuple(name for name in NATIVE.names if name not in PIPELINE.names)
#: The values of ``--stage``. Its help does not list the table of memory.
STAGES = (*PIPELINE.names, *OF_C, MEMORY)

Run = Callable[[argparse.Namespace], ExitCode]


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line. It sets ``run`` to the function of the command."""
    parser = argparse.ArgumentParser(
        prog="autodiff-compiler",
        description="Prints and checks gradients of Cells and Python functions, as NumPy source.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, help: str, run: Run) -> argparse.ArgumentParser:
        about = f"{help[0].upper()}{help[1:]}."
        command = commands.add_parser(name, help=help, description=about)
        command.set_defaults(run=run)
        return command

    _add_dump(add("dump", "print the source of the gradient", dump))
    _add_memory(
        add("explain-memory", "list the values that are saved for the backward function", dump)
    )
    _add_check(add("check", "compare the gradient with numeric differences", check))
    add("explain", "explain an error code, with examples", explain).add_argument(
        "code",
        metavar="CODE",
        nargs="?",
        help="an error code such as AD201 (default: list all codes)",
    )
    _add_ops(add("ops", "list the operators, with all their names", ops))
    add(
        "passes", "list the passes of the compiler, with stage, levels and summary", passes
    ).add_argument(
        "--markdown",
        action="store_true",
        help="print the passes as Markdown: the page docs/passes.md",
    )
    return parser


def _add_target(command: argparse.ArgumentParser) -> None:
    """Adds the Cell or function, and its arguments."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = EPILOG
    command.add_argument(
        "target",
        metavar="FILE:NAME",
        help="a Cell class, Cell, function or method in a file, or a call that returns one, "
        "such as file.py:Block(dim=8)",
    )
    command.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]TYPE",
        help="the type of an argument, or its value as a literal; once for each argument",
    )


def _add_request(command: argparse.ArgumentParser) -> None:
    """Adds what is differentiated, and how it is compiled."""

    def flag(name: str, help: str) -> None:
        command.add_argument(name, action="store_true", help=help)

    _add_target(command)
    command.add_argument(
        "--wrt",
        metavar="NAME,...",
        help="the arguments to differentiate, by name or by position (default: the first one, "
        "or none if Parameters are given)",
    )
    command.add_argument(
        "--weights",
        metavar="NAME,...",
        help="the Parameters to differentiate, by name; or 'trainable', or 'all' (default: none)",
    )
    flag("--value", "also return the value of the function")
    flag("--has-aux", "differentiate the first output only; return the other outputs as well")
    flag("--get-all", "differentiate all arguments")
    flag("--get-by-list", "differentiate all Parameters that the function uses")
    flag(
        "--sens-param",
        "take the gradient of the output (the sensitivity) as an argument (default: ones)",
    )
    flag("--no-stabilise", "do not replace formulas that overflow or cancel by stable operators")
    command.add_argument(
        "-O",
        type=int,
        choices=LEVELS,
        default=1,
        dest="level",
        help="optimization level; 0: no optimization, 1: hand-written style, 2: reuses memory, "
        "3: also inlines calls (default: 1)",
    )
    command.add_argument(
        "--target",
        choices=TARGETS,
        default=None,
        dest="language",
        help="language of the generated source (default: numpy)",
    )


def _add_dump(command: argparse.ArgumentParser) -> None:
    _add_request(command)
    command.add_argument(
        "--mode",
        choices=MODES,
        default="reverse",
        help="reverse: a forward and a backward function; forward: one function that also returns "
        "the tangent; value: the function itself (default: reverse)",
    )
    command.add_argument(
        "--transform",
        choices=sorted(TRANSFORMS),
        help="print this transform of the function instead of its gradient",
    )
    command.add_argument(
        "--stage",
        choices=STAGES,
        metavar="STAGE",
        help=f"print the program after this stage: {', '.join(PIPELINE.names)} (default: source); "
        f"for C: {', '.join(NATIVE.names)}",
    )
    command.add_argument(
        "--dump-after",
        metavar="PASS",
        action="append",
        default=[],
        help="print the IR, or the loop nests, after each change by this pass, instead of the "
        "source; may be repeated",
    )
    command.add_argument(
        "--diff",
        action="store_true",
        help="print each change by a pass (those of --dump-after, if given) as a unified diff, "
        "instead of the source",
    )
    command.add_argument(
        "--time-passes",
        action="store_true",
        help="print for each pass its runs, changes, added operations and seconds, on standard "
        "error",
    )
    command.add_argument(
        "--out",
        metavar="FILE",
        help="write to this file (default: standard output); with --target c and a name such as "
        "net.c, also a header net.h, and a program net_main.c that tests the functions",
    )


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


def _add_ops(command: argparse.ArgumentParser) -> None:
    lists = command.add_mutually_exclusive_group()
    lists.add_argument(
        "--missing",
        action="store_true",
        help="list the names of MindSpore that this package does not have",
    )
    lists.add_argument(
        "--numpy",
        action="store_true",
        help="list the functions of NumPy and math, and the methods of arrays, for plain functions",
    )


def _add_check(command: argparse.ArgumentParser) -> None:
    _add_target(command)
    command.add_argument(
        "--order", type=int, default=2, help="the highest order of derivative to check (default: 2)"
    )
    command.add_argument(
        "--seed", type=int, default=0, help="the seed of the random inputs (default: 0)"
    )
    command.add_argument(
        "--mode",
        choices=("reverse", "forward", "both"),
        default="reverse",
        help="the mode of differentiation to check (default: reverse)",
    )


__all__ = ["STAGES", "make_parser"]
