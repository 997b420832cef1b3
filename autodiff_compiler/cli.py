"""The command ``autodiff-compiler``: prints the gradient of a Cell in a file, or checks it.

autodiff-compiler dump  net.py:Net --input "x=f32[2,3]" --input "y=f32[3,3]" --get-all
autodiff-compiler explain-memory net.py:Net --input "x=f32[b,3]" --input "y=f32[3,3]"
autodiff-compiler check net.py:Net --input "f32[2,3]" --input "f32[3,3]"
autodiff-compiler ops --missing
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from autodiff_compiler import pipeline
from autodiff_compiler.api import gradient_source, required
from autodiff_compiler.common.cell import Cell
from autodiff_compiler.common.files import written_whole
from autodiff_compiler.common.tensor import wrap
from autodiff_compiler.errors import CompileError, by_code, page
from autodiff_compiler.ir.types import BOOL, FLOAT, INT, NONE, ArrayType, parse_type
from autodiff_compiler.testing.numeric import check_grads
from autodiff_compiler.testing.vocabulary import missing_text, table_text

#: The size that a named dimension gets where arrays are drawn.
SYMBOL_SIZE = 3


class ExitCode(IntEnum):
    """How a command ends."""

    OK = 0
    REFUSED = 1
    USAGE = 2


EPILOG = """\
exit codes:
  0  done
  1  the compiler refused the source, or a gradient is wrong
  2  the command, the file or a type could not be understood

types:
  f32[2,3] f64[] i32[b,4] any[...]   tensors; a name is a size known at run time only
  int float bool none                plain Python values
"""


class UsageError(Exception):
    """A command that makes no sense, told in one line."""


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autodiff-compiler",
        description="Prints and checks the gradients of Cells and functions.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    dump = commands.add_parser("dump", help="print the source of the gradient")
    memory = commands.add_parser("explain-memory", help="list what is kept for backward")
    check = commands.add_parser("check", help="hold the gradient against numeric differences")
    for command in (dump, memory, check):
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        command.epilog = EPILOG
        command.add_argument(
            "target", metavar="FILE:NAME", help="a Cell class, a Cell or a function"
        )
        command.add_argument(
            "--input", action="append", default=[], metavar="[NAME=]TYPE", help="one per argument"
        )
    for command in (dump, memory):
        add = command.add_argument
        add("--get-all", action="store_true", help="gradients of all inputs")
        add("--get-by-list", action="store_true", help="gradients of the parameters")
        add("--sens-param", action="store_true", help="the caller gives a sensitivity")
        add("--no-stabilise", action="store_true", help="leave formulas that overflow as they are")
        add("-O", type=int, choices=sorted(pipeline.LEVELS), default=1, dest="level",
            help="0: the plainest text; 3: calls written out (default: 1)")  # fmt: skip
    dump.add_argument(
        "--mode", choices=("reverse", "forward"), default="reverse",
        help="cotangents backward, or tangents forward",
    )  # fmt: skip
    dump.add_argument("--stage", choices=pipeline.STAGES, default="source", help="what to print")
    dump.add_argument("--out", metavar="FILE", help="write to a file instead")
    dump.set_defaults(run=_dump)
    memory.set_defaults(run=_dump, mode="reverse", stage="memory", out=None)
    check.add_argument("--order", type=int, default=2, help="check up to this derivative")
    check.add_argument("--seed", type=int, default=0, help="for the inputs that are drawn")
    check.set_defaults(run=_check)
    explain = commands.add_parser("explain", help="what an error code means, with examples")
    explain.add_argument("code", metavar="CODE", nargs="?", help="such as AD201; without, all")
    explain.set_defaults(run=_explain)
    listing = commands.add_parser("ops", help="list the operators, by all their names")
    listing.add_argument(
        "--missing", action="store_true", help="list instead the names of MindSpore's not here"
    )
    listing.set_defaults(run=_ops)
    return parser


def _dump(arguments: argparse.Namespace) -> ExitCode:
    fn = _load(arguments.target)
    text = gradient_source(
        fn,
        *_in_order(fn, arguments.input),
        get_all=arguments.get_all,
        get_by_list=arguments.get_by_list,
        sens_param=arguments.sens_param,
        mode=arguments.mode,
        stage=arguments.stage,
        opt_level=arguments.level,
        stabilise=False if arguments.no_stabilise else None,
    )
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        try:
            with written_whole(arguments.out) as file:
                file.write(text.encode("utf-8"))
        except OSError as error:
            raise UsageError(f"{arguments.out} cannot be written: {error.strerror}") from None
    return ExitCode.OK


def _check(arguments: argparse.Namespace) -> ExitCode:
    fn = _load(arguments.target)
    specs = _in_order(fn, arguments.input)
    missing = required(fn)[len(specs) :]
    if missing:
        raise UsageError(f"a check needs a type for every argument; give --input {missing[0]}=...")
    rng = np.random.default_rng(arguments.seed)
    print(check_grads(fn, [_drawn(spec, rng) for spec in specs], order=arguments.order,
                      seed=arguments.seed))  # fmt: skip
    return ExitCode.OK


def _ops(arguments: argparse.Namespace) -> ExitCode:
    sys.stdout.write(missing_text() if arguments.missing else table_text())
    return ExitCode.OK


def _explain(arguments: argparse.Namespace) -> ExitCode:
    known = by_code()
    if arguments.code is None:
        for code, kind in known.items():
            print(f"{code}  {kind.__name__}: {inspect.getdoc(kind)}".splitlines()[0])
        return ExitCode.OK
    code = arguments.code.upper()
    if code not in known:
        raise UsageError(f"there is no code {arguments.code}; there are {', '.join(known)}")
    sys.stdout.write(page(known[code]))
    return ExitCode.OK


def _load(target: str) -> Any:
    """The Cell or function that ``FILE:NAME`` means; a class is called without arguments."""
    file, colon, name = target.rpartition(":")
    if not colon or not file or not name:
        raise UsageError(f"'{target}' names no target; write FILE.py:NAME")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"there is no file {file}")
    found: Any = _module(path)
    for part in name.split("."):
        if not hasattr(found, part):
            known = [n for n, v in vars(found).items() if _is_target(v) and n[0] != "_"]
            raise UsageError(
                f"{file} has no '{name}'" + (f"; it has {', '.join(known)}" if known else "")
            )
        found = getattr(found, part)
    if isinstance(found, type):
        return _instance(found, file)
    if not callable(found):
        raise UsageError(f"'{name}' in {file} is a {type(found).__name__}, not a Cell or function")
    return found


def _is_target(thing: Any) -> bool:
    if isinstance(thing, type):
        return issubclass(thing, Cell) and not thing.__module__.startswith("autodiff_compiler")
    return isinstance(thing, Cell) or inspect.isfunction(thing)


def _module(path: Path) -> Any:
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except CompileError:
        raise
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__)
                 if f.filename == str(path)]  # fmt: skip
        where = f"{path}:{lines[-1]}" if lines else str(path)
        raise UsageError(f"{where} cannot be imported: {type(error).__name__}: {error}") from None
    return module


def _instance(found: type, file: str) -> Any:
    if not issubclass(found, Cell):
        raise UsageError(f"'{found.__name__}' in {file} is a class, but not a Cell")
    needed = [
        p.name for p in list(inspect.signature(found.__init__).parameters.values())[1:]
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]  # fmt: skip
    if needed:
        raise UsageError(
            f"'{found.__name__}' needs arguments ({', '.join(needed)}); "
            f"make one in {file} (net = {found.__name__}(...)) and name that"
        )
    return found()


def _in_order(fn: Any, given: Sequence[str]) -> list[str]:
    """The types in the order of the arguments; a name before '=' says which one is meant."""
    names = _argument_names(fn)
    found: dict[str, str] = {}
    for position, text in enumerate(given):
        name, equals, type_text = text.partition("=")
        if not equals:
            name, type_text = (names[position] if position < len(names) else f"#{position}"), text
        name = name.strip()
        if name not in names and not name.startswith("#"):
            raise UsageError(f"there is no argument '{name}'; there are {', '.join(names)}")
        if name.startswith("#"):
            raise UsageError(f"{len(given)} types are given, but there are {len(names)} arguments")
        if name in found:
            raise UsageError(f"the argument '{name}' is given twice")
        try:
            parse_type(type_text)
        except ValueError as error:
            raise UsageError(f"the type of '{name}': {error}") from None
        found[name] = type_text.strip()
    gap = next((k for k, name in enumerate(names) if name not in found), len(names))
    late = [name for name in names[gap:] if name in found]
    if late:
        raise UsageError(f"'{late[0]}' is given, but '{names[gap]}' before it is not")
    return [found[name] for name in names[:gap]]


def _argument_names(fn: Any) -> list[str]:
    method = fn.construct if isinstance(fn, Cell) else fn
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in inspect.signature(method).parameters.values() if p.kind in kinds]


def _drawn(spec: str, rng: np.random.Generator) -> Any:
    """A random argument of a type."""
    type_ = parse_type(spec)
    plain = {INT: 3, FLOAT: 0.75, BOOL: True, NONE: None}
    if type_ in plain:
        return plain[type_]
    if not isinstance(type_, ArrayType) or type_.shape is None or None in type_.shape:
        raise UsageError(f"no argument of the type {spec} can be drawn; give its shape")
    shape = [size if isinstance(size, int) else SYMBOL_SIZE for size in type_.shape]
    dtype = np.dtype(type_.dtype or "float32")
    if dtype.kind == "f":
        return wrap(np.asarray(rng.uniform(0.3, 1.7, shape)).astype(dtype))
    return wrap(np.asarray(rng.integers(0, 2, shape)).astype(dtype))


if __name__ == "__main__":
    sys.exit(main())
