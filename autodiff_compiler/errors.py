"""Errors of compilation, each with place, caret, cause and cure.

An error holds one or more problems, so that everything wrong with a method is reported at once. It
also has the built-in class that Python users expect: ``TypeError`` for an argument count,
``NameError`` for a name.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from autodiff_compiler.span import Caller, Span, call_chain


@dataclass(frozen=True)
class Problem:
    """A fault in a program.

    kind     the class of error.
    cause    what is wrong.
    cure     what to do about it.
    span     the place.
    callers  the calls that lead there, the innermost first. They do not count for equality.
    """

    kind: type[CompileError]
    cause: str
    cure: str = ""
    span: Span | None = None
    callers: tuple[Caller, ...] = field(default=(), compare=False)

    def called_from(self, caller: Caller) -> Problem:
        """Returns the problem with a call entered, for a function that was called there."""
        return replace(self, callers=(*self.callers, caller))

    def __str__(self) -> str:
        lines = [f"{self.kind.__name__}: {self.cause}"]
        if self.span is not None:
            lines[0] = f"{self.span.place}: {lines[0]}"
            lines.append(self.span.caret())
        lines += [f"  {line}" for line in call_chain(self.span, self.callers)]
        cure = self.cure or f"see 'autodiff-compiler explain {self.kind.code}'"
        return "\n".join([*lines, f"  cure: {cure} [{self.kind.code}]"])


class CompileError(Exception):
    """A program that the compiler refuses. ``problems`` lists every fault that was found.

    Every class has a ``code``, which ends its messages. ``autodiff-compiler explain CODE`` prints
    its docstring, which shows code that is refused and code that is accepted.
    """

    code = "AD100"
    #: The exception that Python certainly raises there, so that a handler may catch it.
    meant: Exception | None = None

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

    def holding(self, problems: Sequence[Problem]) -> CompileError:
        """Returns an error of this class with other problems."""
        error = type(self)(problems=problems)
        error.meant = self.meant
        return error

    def meaning(self, error: Exception) -> CompileError:
        """Returns this error, which stands for ``error``."""
        self.meant = error
        return self


class UnsupportedSyntax(CompileError, SyntaxError):
    """Python that compiled code does not support.

    A function is compiled as a whole, into NumPy code. Most of Python is supported. Not supported
    are coroutines and generators (``async``, ``yield``), assignments to global variables
    (``global``), and code in strings (``eval``). Calls whose result changes from call to call are
    not supported either: ``time.time()``, ``open``, a new Parameter. They would be evaluated once,
    at compile time.

    Refused::

        def f(x):
            return x * eval("2.0")

    Accepted::

        def f(x):
            return x * 2.0
    """

    code = "AD101"


class UnknownName(CompileError, NameError):
    """A name that is not defined, or a variable that may be unassigned.

    Names are looked up as in Python: among the variables of the function and of the enclosing
    functions, the globals and the built-ins. The error is also raised for a variable that is not
    assigned before this line. Another cause is a variable whose type or structure differs between
    the branches before it.

    Refused::

        def f(x):
            return x * scael

    Accepted::

        def f(x, scale=2.0):
            return x * scale
    """

    code = "AD102"


class UnknownAttribute(CompileError, AttributeError):
    """An attribute, method or operator that does not exist or is not supported.

    If the name is misspelt, the message suggests a similar one. ``autodiff-compiler ops`` lists the
    operators that are supported. An attribute of ``self`` must be assigned before it is read.

    Refused::

        def f(x):
            return x.reshap(1, -1)

    Accepted::

        def f(x):
            return x.reshape(1, -1)
    """

    code = "AD103"


class SourceNotFound(CompileError, OSError):
    """The source of a function cannot be read.

    The compiler reads the source file of a function. A function that is typed at a prompt or made
    by ``exec`` has no file. If a file has changed since its import, its source is no longer the
    code that runs.

    Refused::

        scope = {}
        exec("def f(x): return x * x", scope)
        f = scope["f"]

    Accepted::

        def f(x):
            return x * x
    """

    code = "AD104"


class ShapeError(CompileError, ValueError):
    """Shapes, axes or positions that do not fit together.

    The compiler infers all shapes, so a mismatch is reported at compile time, at the line that
    causes it. Dimensions broadcast as in NumPy: counted from the right, each pair must be equal or
    contain a 1.

    Refused::

        def f(x):
            return x[:2] + x[:3]

    Accepted::

        def f(x):
            return x[:2] + x[:1]
    """

    code = "AD201"


class DTypeError(CompileError, TypeError):
    """Operands whose types or dtypes an operation does not support.

    Examples are a string in arithmetic, and two arrays whose dtypes differ where they must be
    equal. Another one is a run-time value where a compile-time constant is needed. Positions in
    lists, keys of dicts and the number of iterations of an unrolled loop are compile-time
    constants: they must be computed from shapes, attributes and Python numbers.

    Refused::

        def f(x):
            return x + "one"

    Accepted::

        def f(x):
            return x + 1
    """

    code = "AD202"


class NoDerivative(CompileError, RuntimeError):
    """The output depends on an input through an operator without a derivative.

    The compiler does not assume a zero gradient. If no gradient is wanted, use
    ``ops.stop_gradient``. If a gradient is wanted, use an operator that has a derivative, or define
    one (``bprop``, ``Function``).

    Refused::

        def f(x):
            return x * ops.gamma((3,), x[0], 1.0)

    Accepted::

        def f(x):
            return ops.stop_gradient(x) * x
    """

    code = "AD301"


class CallError(CompileError, TypeError):
    """A wrong call: arguments or keywords that are missing, too many or unknown.

    The compiler checks each call against the signature of the callee, at compile time. The error is
    also raised for a sensitivity with a wrong dtype.

    Refused::

        def scale(x, k):
            return x * k

        def f(x):
            return scale(x)

    Accepted::

        def scale(x, k=2.0):
            return x * k

        def f(x):
            return scale(x)
    """

    code = "AD401"


class SensitivityError(CallError, ValueError):
    """A sensitivity that does not have the shape or structure of the output.

    The sensitivity is the gradient of the output. It must have the shape and the dtype of the
    output. If the output is a tuple, it must be a tuple, too. It is neither broadcast nor cast.

    Refused::

        def f(x):
            square = lambda v: v * v
            return GradOperation(sens_param=True)(square)(x, x[:1])

    Accepted::

        def f(x):
            square = lambda v: v * v
            return GradOperation(sens_param=True)(square)(x, x)
    """

    code = "AD402"


class PositionError(CallError, IndexError, RuntimeError):
    """A gradient is requested for a position at which the call has no argument.

    ``grad(fn, 1)`` is the gradient with respect to the second argument: positions count from 0.

    Refused::

        def f(x):
            return grad(ops.sin, 1)(x)

    Accepted::

        def f(x):
            return grad(ops.sin, 0)(x)
    """

    code = "AD403"


class InternalError(Exception):
    """A fault of the compiler itself: no program should lead to it.

    ``span`` is the user's line that was being compiled, if it is known.
    """

    code = "AD900"
    CURE = (
        "this is a bug in autodiff_compiler, not in your program; please report it with "
        "this message and the source of the function"
    )

    def __init__(self, cause: str, span: Span | None = None):
        self.cause, self.span = cause, span
        if span is not None:
            place = f"{span.place}: InternalError: {cause}\n{span.caret()}"
            cause = f"{place}\n  cure: {self.CURE} [{self.code}]"
        super().__init__(cause)

    def __reduce__(self) -> Any:
        return type(self), (self.cause, self.span)


@contextmanager
def calling(caller: Caller, reported: list[Problem]) -> Iterator[None]:
    """Enters a call in every problem that is raised or reported within a block."""
    before = len(reported)
    try:
        yield
    except CompileError as error:
        raise error.holding([each.called_from(caller) for each in error.problems]) from None
    finally:
        reported[before:] = [each.called_from(caller) for each in reported[before:]]


def raise_all(problems: Sequence[Problem]) -> None:
    """Raises one error for all ``problems``, of the class of the first one."""
    if problems:
        raise problems[0].kind(problems=problems)


def by_code() -> dict[str, type[CompileError]]:
    """Returns every class of error by its code.

    >>> sorted(by_code())[:3]
    ['AD101', 'AD102', 'AD103']
    """
    waiting, classes = [CompileError], {}
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind is not CompileError:
            classes[kind.code] = kind
    return dict(sorted(classes.items()))


def page(kind: type[CompileError]) -> str:
    """Returns the page on a class of error: its code, its name and its docstring."""
    return f"# {kind.code}: {kind.__name__}\n\n{inspect.getdoc(kind)}\n"
