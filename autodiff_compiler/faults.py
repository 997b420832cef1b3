"""The outermost frame of a compilation: faults of the compiler, and programs that nest deeply.

Every entry point runs the compiler through ``compiling``. Refusals, and exceptions of user code
that ran (a property, a ``__getattr__``), pass as they are. Any other exception is a fault of the
compiler, and becomes an ``InternalError`` that names the user's line.

The compiler walks expressions and chains of values by recursion. A program may be too long for the
stack of the calling thread. It is compiled once more, in a thread with a large stack.
"""

from __future__ import annotations

import contextvars
import ctypes
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from opcode import opname
from types import TracebackType
from typing import Any, TypeVar

from autodiff_compiler.errors import (
    CallError,
    CompileError,
    InternalError,
    SourceNotFound,
    UnsupportedSyntax,
)
from autodiff_compiler.span import Span

Made = TypeVar("Made")

#: The package and its dependencies: an exception raised there is a fault of the compiler.
OURS = "autodiff_compiler"
BUILT_ON = frozenset({OURS, "numpy", "gast", "astunparse"})
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_LIBRARY = sysconfig.get_path("stdlib")

#: The activity that a fault report names, by the package of the innermost frame.
ACTIVITIES = {
    "frontend": "lowering",
    "analysis": "analysis",
    "transforms": "differentiation",
    "passes": "optimisation",
    "emit": "emission",
    "runtime": "loading",
    "stages": "compiling",
    "pipeline.py": "compiling",
}
#: Errors of a call or of a file, not of a line of the function.
ELSEWHERE = (CallError, SourceNotFound)
#: The packages that check arguments of users, and raise built-in exceptions if they are wrong.
CHECKING = ("common", "ops", "numpy", "nn", "runtime", "testing", "api", "amp", "interface")

#: The recursion limit of a thread that starts a compilation.
DEEP = 4000
#: The stack of the thread for long programs, in bytes of address space, and the recursion limit
#: that it allows. Unused pages cost nothing.
STACK = 1 << 29
FRAMES = 200_000
#: The seconds that a long program waits for threads that compile on their own stacks.
PATIENCE = 10.0


@dataclass
class _Count:
    """The number of faults so far. Tests demand that there are none."""

    faults: int = 0


COUNT = _Count()


class _Limit:
    """Python's recursion limit, which all threads share, while some of them compile.

    It is the highest limit that a running compilation asks for, and is restored after the last
    one. A limit that the user sets meanwhile stays. While it is as high as a large stack allows,
    nothing is compiled on the stack of a calling thread: that would overflow.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.asked: list[int] = []
        self.users = self.ours = sys.getrecursionlimit()

    def ask(self, limit: int) -> bool:
        """Raises the limit until ``leave``. Returns False if that needs a large stack, too."""
        with self.changed:
            if limit == DEEP and FRAMES in self.asked:
                return False
            self.asked.append(limit)
            if limit == FRAMES:
                try:
                    self.changed.wait_for(lambda: DEEP not in self.asked, PATIENCE)
                except BaseException:
                    self.asked.remove(limit)
                    raise
            self._set()
        return True

    def leave(self, limit: int) -> None:
        """Lowers the limit to what the other compilations ask for."""
        with self.changed:
            self.asked.remove(limit)
            self._set()
            self.changed.notify_all()

    def _set(self) -> None:
        limit = sys.getrecursionlimit()
        if limit != self.ours:
            self.users = limit
        with suppress(RecursionError):  # this thread is deeper: the next one that leaves does it
            sys.setrecursionlimit(max(self.users, *self.asked, 0))
        self.ours = sys.getrecursionlimit()


_LIMIT = _Limit()


class _Here(threading.local):
    """The number of compilations that run in this thread, one inside the other."""

    depth = 0


_HERE = _Here()
_STACK_SIZE = threading.Lock()


def note_place(error: BaseException, span: Span) -> None:
    """Notes in ``error`` the innermost place in the source function that it passed through."""
    if not isinstance(error, CompileError):
        vars(error).setdefault("_autodiff_place", span)


def compiling(attempt: Callable[[], Made], place: Callable[[], Span | None]) -> Made:
    """Returns ``attempt()``, which compiles the function at ``place()`` or a part of it.

    Refusals and exceptions of user code pass. Raises InternalError for a fault of the compiler.
    """
    if not _HERE.depth and not _LIMIT.ask(DEEP):
        return _with_large_stack(attempt, place)
    _HERE.depth += 1
    try:
        return attempt()
    except RecursionError as error:
        if _HERE.depth > 1 or runs_users_code(error.__traceback__):
            raise
    except Exception as error:
        reported = as_reported(error, place)
        if reported is error:
            raise
        raise reported from error
    finally:
        _HERE.depth -= 1
        if not _HERE.depth:
            _LIMIT.leave(DEEP)
    return _with_large_stack(attempt, place)


def as_reported(error: Exception, place: Callable[[], Span | None]) -> Exception:
    """Returns ``error``, or the InternalError to raise in its place."""
    trace = error.__traceback__
    if isinstance(error, CompileError):
        return _with_place(error, place)
    if isinstance(error, InternalError):
        if error.span is not None:
            return error
        cause = str(error)
    elif (
        isinstance(error, (MemoryError, Warning))
        or runs_users_code(trace)
        or is_check(trace, CHECKING)
    ):
        return error
    else:
        activity, where = _activity(trace)
        text = str(error).splitlines()[0] if str(error) else ""
        kind = type(error).__name__
        detail = f", at {where} ({kind}: {text})" if text else f" ({kind})"
        cause = f"{activity} fails{detail}"
    COUNT.faults += 1
    span = place_of(error)
    if span is None or not span.line:
        try:
            span = place()
        except Exception:
            span = None
    return InternalError(cause, span)


def _with_place(error: CompileError, place: Callable[[], Span | None]) -> CompileError:
    """Returns ``error`` with the place of the function in problems that have no place."""
    if all(each.span or issubclass(each.kind, ELSEWHERE) for each in error.problems):
        return error
    span = place()
    return error.holding(
        [each if each.span else replace(each, span=span) for each in error.problems]
    )


def runs_users_code(trace: TracebackType | None) -> bool:
    """True if user code ran between this frame and the one that raised the exception."""
    return any(not _is_compilers(frame) for frame in _frames(trace))


def _frames(trace: TracebackType | None) -> list[Any]:
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames


def _is_compilers(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    if name in BUILT_ON or name in sys.stdlib_module_names:
        return True
    file = frame.f_code.co_filename
    return file.startswith((_PACKAGE + os.sep, "<frozen")) or (
        file.startswith(_LIBRARY) and "site-packages" not in file
    )


def is_check(trace: TracebackType | None, folders: Sequence[str] = ()) -> bool:
    """True if a ``raise`` statement of the package raised the exception.

    ``folders`` are the packages and modules to look at; without them, all are.
    """
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code, place = trace.tb_frame.f_code, trace.tb_lasti
    file = _inside(code.co_filename)
    folder = file.partition("/")[0].removesuffix(".py")
    there = folder in folders if folders else bool(file)
    return there and opname[code.co_code[place]] == "RAISE_VARARGS"


def place_of(error: BaseException) -> Span | None:
    """Returns the innermost place in the source function that ``error`` passed through."""
    return vars(error).get("_autodiff_place")


def _inside(file: str) -> str:
    """Returns the path of a file inside the package; empty for any other file."""
    return file[len(_PACKAGE) + 1 :].replace(os.sep, "/") if file.startswith(_PACKAGE) else ""


def _activity(trace: TracebackType | None) -> tuple[str, str]:
    """Returns the activity in which an exception was raised, and the line of the package."""
    activity, where = "compiling", "an unknown line"
    while trace is not None:
        file = _inside(trace.tb_frame.f_code.co_filename)
        if file and file != "faults.py":
            where = f"{file}:{trace.tb_lineno}"
            activity = ACTIVITIES.get(file.partition("/")[0], activity)
        trace = trace.tb_next
    return activity, where


def _with_large_stack(attempt: Callable[[], Made], place: Callable[[], Span | None]) -> Made:
    """Returns ``attempt()``, run in a thread with a large stack, in the context of this one."""
    results: list[Made] = []
    raised: list[BaseException] = []

    def run() -> None:
        _HERE.depth = 1
        try:
            results.append(attempt())
        except BaseException as error:
            raised.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), daemon=True)
    _LIMIT.ask(FRAMES)
    try:
        with _STACK_SIZE:
            size = threading.stack_size(STACK)
            try:
                thread.start()
            finally:
                threading.stack_size(size)
        _joined(thread)
    finally:
        _LIMIT.leave(FRAMES)
    if not raised:
        return results[0]
    (error,) = raised
    if isinstance(error, RecursionError) and not runs_users_code(error.__traceback__):
        raise UnsupportedSyntax(
            "this function nests too deeply to be compiled, or uses a container that "
            "contains itself",
            "split it into several functions, write repeated code as a loop, and use "
            "containers that do not contain themselves",
            place(),
        ) from None
    if isinstance(error, Exception):
        reported = as_reported(error, place)
        if reported is not error:
            raise reported from error
    raise error


def _joined(thread: threading.Thread) -> None:
    """Waits for ``thread``. An interrupt (Ctrl-C) ends the thread, too."""
    try:
        thread.join()
    except BaseException as error:
        name = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(name, ctypes.py_object(type(error)))
        thread.join()
        raise


__all__ = [
    "COUNT",
    "as_reported",
    "compiling",
    "is_check",
    "note_place",
    "place_of",
    "runs_users_code",
]
