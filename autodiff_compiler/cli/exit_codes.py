"""Exit codes of commands, and the error of a command that makes no sense."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit code of a command."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    FAULT = 3


class UsageError(Exception):
    """A command that makes no sense; the message is one line."""


__all__ = ["ExitCode", "UsageError"]
