"""The errors on the way from C text to a callable. The caller runs the NumPy source instead."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence

from autodiff_compiler.errors import InternalError
from autodiff_compiler.interface.compiled import NoNativeText

_warned: set[str] = set()


class NativeUnavailable(NoNativeText):
    """This machine cannot compile C or load the result. The message says why."""


def warn_once(reason: str, *cures: str) -> None:
    """Warns that NumPy source runs although C was asked for, once for each reason."""
    if reason not in _warned:
        _warned.add(reason)
        sentences = (f"{reason}; NumPy source runs instead of C", *cures)
        warnings.warn(". ".join(sentences), stacklevel=2)


class CompilerRefused(InternalError):
    """The C compiler refused a printed file, which is a fault of this package.

    text      the C text.
    stderr    what the compiler said.
    """

    def __init__(self, command: Sequence[str], text: str, stderr: str):
        self.command, self.text, self.stderr = tuple(command), text, stderr
        super().__init__(
            f"the C compiler refuses the printed C\n  command: {shlex.join(command)}\n"
            f"{stderr.strip()}\n  cure: {self.CURE} [{self.code}]"
        )

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...], str, str]]:
        return type(self), (self.command, self.text, self.stderr)


__all__ = ["CompilerRefused", "NativeUnavailable", "warn_once"]
