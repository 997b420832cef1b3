"""Where compiling begins and ends: faults of the compiler itself, and programs that nest deeply.

Every way in runs the compiler through ``compiling``. What is raised there is a refusal, or comes
from code of the user's that ran (a property, a ``__getattr__``): both pass as they are. Anything
else is a fault of the compiler, and becomes an ``InternalError`` that names the user's line.

The compiler walks expressions and chains of values by recursion. A program that is too long for
the stack of the calling thread is compiled once more, in a thread that has a large one.
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

#: The package itself, and what it is built on: code in which a fault is the compiler's.
OURS = "autodiff_compiler"
BUILT_ON = frozenset({OURS, "numpy", "gast", "astunparse"})
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_LIBRARY = sysconfig.get_path("stdlib")

#: What is done in the files of a folder of the package.
ACTIVITIES = {
    "frontend": "lowering", "analysis": "analysis", "transforms": "differentiation",
    "passes": "optimisation", "emit": "emission", "runtime": "loading",
    "stages": "compiling", "pipeline.py": "compiling",
}  # fmt: skip
#: What is wrong with a call, or with a file, and not with a line of the function.
ELSEWHERE = (CallError, SourceNotFound)
#: The folders that check what a user passes, and raise Python's own classes where it is wrong.
CHECKING = ("common", "ops", "numpy", "nn", "runtime", "testing", "api", "amp", "plan")

#: How deep calls of Python may go in the thread that asks for something to be compiled.
DEEP = 4000
#: The stack of the thread for long programs, in bytes (of address space: what is not used costs
#: nothing), and how many calls of Python fit on it.
STACK = 1 << 29
FRAMES = 200_000
#: How many seconds a long program waits for the threads that compile on their own stacks.
PATIENCE = 10.0


@dataclass
class _Count:
    """How many faults were met, for tests to demand that there are none."""

    faults: int = 0


COUNT = _Count()


class _Limit:
    """The limit of Python on calls in each other, which all threads share, while some compile.

    It is the highest of what those under way ask for, and becomes what it was when none is left. A
    limit that the user sets meanwhile stands. While it is as high as a large stack allows, nothing
    is compiled on the stack of a calling thread, which would overflow.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.asked: list[int] = []
        self.users = self.ours = sys.getrecursionlimit()

    def ask(self, limit: int) -> bool:
        """Raise the limit until ``leave``; False where this needs a large stack, too."""
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
        """Lower the limit to what the others ask for."""
        with self.changed:
            self.asked.remove(limit)
            self._set()
            self.changed.notify_all()

    def _set(self) -> None:
        found = sys.getrecursionlimit()
        if found != self.ours:
            self.users = found
        with suppress(RecursionError):  # this thread is deeper than that: the next to leave does it
            sys.setrecursionlimit(max(self.users, *self.asked, 0))
        self.ours = sys.getrecursionlimit()


_LIMIT = _Limit()


class _Here(threading.local):
    """How many attempts to compile are under way in this thread."""

    depth = 0


_HERE = _Here()
_STACK_SIZE = threading.Lock()


def note_place(error: BaseException, span: Span) -> None:
    """Keeps with ``error`` the innermost place of the user's text that it passed through."""
    if not isinstance(error, CompileError):
        vars(error).setdefault("_autodiff_place", span)


def compiling(attempt: Callable[[], Made], place: Callable[[], Span | None]) -> Made:
    """Return ``attempt()``, a part of compiling the text at ``place()``.

    Raises what it raises where that is a refusal, or comes from code of the user's; InternalError
    for a fault of the compiler.
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
        found = told(error, place)
        if found is error:
            raise
        raise found from error
    finally:
        _HERE.depth -= 1
        if not _HERE.depth:
            _LIMIT.leave(DEEP)
    return _with_large_stack(attempt, place)


def told(error: Exception, place: Callable[[], Span | None]) -> Exception:
    """Return ``error``, or the InternalError to raise in its place."""
    trace = error.__traceback__
    if isinstance(error, CompileError):
        return _placed(error, place)
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
        stage, where = _stage(trace)
        text = str(error).splitlines()[0] if str(error) else ""
        kind = type(error).__name__
        cause = f"{stage} fails, at {where} ({kind}: {text})" if text else f"{stage} fails ({kind})"
    COUNT.faults += 1
    span = place_of(error)
    if span is None or not span.line:
        try:
            span = place()
        except Exception:
            span = None
    return InternalError(cause, span)


def _placed(error: CompileError, place: Callable[[], Span | None]) -> CompileError:
    """Return ``error``, told of the whole function where it has no place of its own in it."""
    if all(each.span or issubclass(each.kind, ELSEWHERE) for each in error.problems):
        return error
    span = place()
    return error.holding(
        [each if each.span else replace(each, span=span) for each in error.problems]
    )


def runs_users_code(trace: TracebackType | None) -> bool:
    """Decide whether code of the user's ran between here and where an exception was raised."""
    return any(not _is_compilers(frame) for frame in _frames(trace))


def _frames(trace: TracebackType | None) -> list[Any]:
    found = []
    while trace is not None:
        found.append(trace.tb_frame)
        trace = trace.tb_next
    return found


def _is_compilers(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    if name in BUILT_ON or name in sys.stdlib_module_names:
        return True
    file = frame.f_code.co_filename
    return file.startswith((_PACKAGE + os.sep, "<frozen")) or (
        file.startswith(_LIBRARY) and "site-packages" not in file
    )


def is_check(trace: TracebackType | None, folders: Sequence[str] = ()) -> bool:
    """Decide whether a ``raise`` of ours raised an exception, in a file of these folders (of any,
    without them), and not something that failed."""
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
    """Return the innermost place of the user's text that ``error`` passed through."""
    return vars(error).get("_autodiff_place")


def _inside(file: str) -> str:
    """The path of a file inside the package; empty for any other."""
    return file[len(_PACKAGE) + 1 :].replace(os.sep, "/") if file.startswith(_PACKAGE) else ""


def _stage(trace: TracebackType | None) -> tuple[str, str]:
    """The stage in which an exception was raised, and the line of the package."""
    stage, where = "compiling", "an unknown line"
    while trace is not None:
        file = _inside(trace.tb_frame.f_code.co_filename)
        if file and file != "faults.py":
            where = f"{file}:{trace.tb_lineno}"
            stage = ACTIVITIES.get(file.partition("/")[0], stage)
        trace = trace.tb_next
    return stage, where


def _with_large_stack(attempt: Callable[[], Made], place: Callable[[], Span | None]) -> Made:
    """Return ``attempt()``, run in a thread with a large stack, in the context of this one."""
    found: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        _HERE.depth = 1
        try:
            found.append(attempt())
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
        return found[0]
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
        instead = told(error, place)
        if instead is not error:
            raise instead from error
    raise error


def _joined(thread: threading.Thread) -> None:
    """Waits for ``thread``; what interrupts the waiting (Ctrl-C) ends the thread, too."""
    try:
        thread.join()
    except BaseException as error:
        name = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(name, ctypes.py_object(type(error)))
        thread.join()
        raise


__all__ = ["COUNT", "compiling", "is_check", "note_place", "place_of", "runs_users_code", "told"]
