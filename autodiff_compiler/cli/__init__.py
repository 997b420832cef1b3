"""The command ``autodiff-compiler``: prints the gradient of a Cell in a file, or checks it.

Examples::

    autodiff-compiler dump  net.py:Net --input "x=f32[2,3]" --input "y=f32[3,3]" --get-all
    autodiff-compiler dump  net.py:Net --dump-after cse --diff --time-passes
    autodiff-compiler explain-memory net.py:Net --input "x=f32[b,3]" --input "y=f32[3,3]"
    autodiff-compiler check net.py:Net --input "f32[2,3]" --input "f32[3,3]"
    autodiff-compiler ops --missing
    autodiff-compiler passes
    autodiff-compiler --version
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from autodiff_compiler.cli.exit_codes import ExitCode, UsageError
from autodiff_compiler.cli.parser import make_parser
from autodiff_compiler.errors import CompileError, InternalError


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command with these arguments (None: those of the process). Returns its exit code.

    Results go to standard output, complaints to standard error. An unknown option ends the process
    with code 2, as argparse does.
    """
    try:
        options = make_parser().parse_args(argv)
        sys.path.insert(0, os.getcwd())
        return int(options.run(options))
    except UsageError as error:
        print(f"autodiff-compiler: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except (CompileError, AssertionError) as error:
        print(error, file=sys.stderr)
        return ExitCode.REFUSED
    except InternalError as error:
        print(error, file=sys.stderr)
        return ExitCode.FAULT


__all__ = ["ExitCode", "main"]
