"""The commands ``check``, ``explain``, ``ops`` and ``passes``."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import traceback

import numpy as np

from autodiff_compiler.abstract_arguments import required
from autodiff_compiler.cli.exit_codes import ExitCode, UsageError
from autodiff_compiler.cli.inputs import arguments, drawn
from autodiff_compiler.cli.targets import load_target, split_target
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.emit.memory_report.table import columns
from autodiff_compiler.errors import CompileError, InternalError, by_code, page
from autodiff_compiler.frontend.numpy_rules.names import supported_names
from autodiff_compiler.pipeline import PIPELINE, SIMPLIFY
from autodiff_compiler.stages import listing
from autodiff_compiler.testing import vocabulary
from autodiff_compiler.testing.numeric import check_grads


def check(options: argparse.Namespace) -> ExitCode:
    """Compares the gradient of a target with numeric differences, at random arguments."""
    fn = load_target(options.target)
    given, keywords = arguments(fn, options.input)
    missing = required(fn)[len(given) :]
    if missing := [name for name in missing if name not in keywords]:
        raise UsageError(f"a check needs a type for every argument; give --input {missing[0]}=...")
    rng, tensors = np.random.default_rng(options.seed), isinstance(fn, Cell)
    inputs = [drawn(each, rng, tensors) for each in given]
    bound = {name: drawn(each, rng, tensors) for name, each in keywords.items()}
    modes = ("reverse", "forward") if options.mode == "both" else (options.mode,)
    try:
        report = check_grads(
            fn, inputs, modes=modes, order=options.order, seed=options.seed, keywords=bound
        )
    except (CompileError, InternalError, AssertionError):
        raise
    except Exception as error:
        raise _as_usage_error(error, options.target) from error
    print(report)
    return ExitCode.OK


def _as_usage_error(error: Exception, target: str) -> Exception:
    """Returns the UsageError of an exception that the code of ``target`` raises at these inputs.

    Other exceptions are returned as they are.
    """
    path, name = split_target(target)
    frames = traceback.extract_tb(error.__traceback__)
    real = os.path.realpath(path)
    lines = [each.lineno for each in frames if os.path.realpath(each.filename) == real]
    if not lines:
        return error
    cause = f"{type(error).__name__}: {error}".splitlines()[0]
    return UsageError(f"at these inputs {name} raises {cause} ({path}, line {lines[-1]})")


def explain(options: argparse.Namespace) -> ExitCode:
    """Prints the page of an error code; without one, all codes."""
    known = by_code()
    if options.code is None:
        for code, kind in known.items():
            print(f"{code}  {kind.__name__}: {inspect.getdoc(kind)}".splitlines()[0])
        return ExitCode.OK
    code = options.code.upper()
    if code not in known:
        raise UsageError(f"there is no code {options.code}; the codes are {', '.join(known)}")
    sys.stdout.write(page(known[code]))
    return ExitCode.OK


def ops(options: argparse.Namespace) -> ExitCode:
    """Prints the operators, the missing names of MindSpore, or the supported names of NumPy."""
    if options.numpy:
        sys.stdout.writelines(f"{name}\n" for name in supported_names())
    else:
        sys.stdout.write(vocabulary.missing_text() if options.missing else vocabulary.table_text())
    return ExitCode.OK


def passes(options: argparse.Namespace) -> ExitCode:
    """Prints the table of passes, or the page of the documentation."""
    if options.markdown:
        sys.stdout.write(listing.page_text(PIPELINE, tuple(SIMPLIFY.split())))
    else:
        sys.stdout.writelines(line + "\n" for line in columns(listing.rows(PIPELINE)))
    return ExitCode.OK


__all__ = ["check", "explain", "ops", "passes"]
