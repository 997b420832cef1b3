"""The error family. All of it is raised while compiling, and all of it draws a caret.

A problem is a cause and a cure at a span; an error holds one or more of them, so that everything
wrong with a method is told at once. Where Python users expect a built-in class (``TypeError`` for
an argument count, ``NameError`` for a name), the error is one of those as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autodiff_compiler.span import Span


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: what, where, and what to do about it."""

    kind: type[CompileError]
    cause: str
    cure: str = ""
    span: Span | None = None

    def __str__(self) -> str:
        lines = [f"{self.kind.__name__}: {self.cause}"]
        if self.span is not None:
            lines[0] = f"{self.span.where}: {lines[0]}"
            lines.append(self.span.caret())
        if self.cure:
            lines.append(f"  cure: {self.cure}")
        return "\n".join(lines)


class CompileError(Exception):
    """What the compiler refuses. ``problems`` lists everything that was found."""

    def __init__(
        self,
        cause: str = "",
        cure: str = "",
        span: Span | None = None,
        problems: Sequence[Problem] = (),
    ):
        self.problems: tuple[Problem, ...] = tuple(problems) or (
            Problem(type(self), cause, cure, span),
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UnsupportedSyntax(CompileError, SyntaxError):
    """A syntax kind outside the subset."""


class UnknownName(CompileError, NameError):
    """A name that nothing defines."""


class UnknownAttribute(CompileError, AttributeError):
    """An attribute, method or operator that nothing defines."""


class ShapeError(CompileError, ValueError):
    """Shapes that do not fit together."""


class DTypeError(CompileError, TypeError):
    """Dtypes or kinds of value that do not fit together."""


class NoDerivative(CompileError, RuntimeError):
    """An operator without a derivative lies on the way to the output."""


class CallError(CompileError, TypeError):
    """A wrong call: argument count, keyword, sensitivity."""


class SensitivityError(CallError, ValueError):
    """A sensitivity whose shape is not the output's."""


class SourceNotFound(CompileError, OSError):
    """The text of a function cannot be had (typed at a prompt, or built by ``exec``)."""


class CompilerBug(Exception):
    """Our own fault: the IR broke an invariant. Names the stage."""


def raise_all(problems: Sequence[Problem]) -> None:
    """Raises one error for all ``problems``; its class is that of the first one."""
    if problems:
        raise problems[0].kind(problems=problems)
