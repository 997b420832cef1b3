"""Generated source in Python's own tools: breakpoints and uncaught tracebacks.

A breakpoint in a user's line is also set in the generated lines made from it. The source must be
loaded under a debugger. Python before 3.13 prints an uncaught traceback without asking
``linecache``, so generated frames would have no lines. Once an exception has passed through
generated source, the module ``traceback`` prints these tracebacks, in the same form.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

#: The beginning of the names of generated files.
GENERATED = "<autodiff "


def set_breakpoints(file: str, source: str, line_map: Mapping[int, Any]) -> None:
    """Sets the breakpoints of this thread's debugger in the generated ``source`` of ``file``, too:
    in each function, at the first line made from the user's line."""
    debugger = getattr(sys.gettrace(), "__self__", None)
    bdb = sys.modules.get("bdb")
    if bdb is None or not isinstance(debugger, bdb.Bdb):
        return
    wanted = {
        (name, line): debugger.get_breaks(name, line)
        for name, lines in debugger.get_all_breaks().items()
        if not name.startswith(GENERATED)
        for line in lines
    }
    for number, place in _first_lines(source, line_map):
        for breakpoint in wanted.get((debugger.canonic(place.file), place.line), ()):
            debugger.set_break(file, number, breakpoint.temporary, breakpoint.cond)


def _first_lines(source: str, line_map: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
    """Yields, for each function in ``source``, the first line made from each user's line, and its
    place."""
    seen: set[tuple[str, int]] = set()
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith("def "):
            seen = set()
        place = line_map.get(number)
        if place is not None and (place.file, place.line) not in seen:
            seen.add((place.file, place.line))
            yield number, place


def show_lines() -> None:
    """Makes uncaught tracebacks show the lines of generated frames. Hooks that a program has
    installed in place of Python's own stay."""
    if sys.version_info >= (3, 13):
        return
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_uncaught
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _print_uncaught_in_thread


def _print_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if any(map(_passes_generated, _chained(error))):
        traceback.print_exception(kind, error, trace)
    else:
        sys.__excepthook__(kind, error, trace)


def _print_uncaught_in_thread(args: Any) -> None:
    error = args.exc_value
    if error is None or sys.stderr is None or not any(map(_passes_generated, _chained(error))):
        threading.__excepthook__(args)
        return
    name = args.thread.name if args.thread is not None else threading.get_ident()
    print(f"Exception in thread {name}:", file=sys.stderr)
    traceback.print_exception(args.exc_type, error, args.exc_traceback)


def _chained(error: BaseException | None) -> Iterable[BaseException]:
    """Returns an exception and its causes."""
    seen: dict[int, BaseException] = {}
    while error is not None and id(error) not in seen:
        seen[id(error)] = error
        error = error.__cause__ or error.__context__
    return seen.values()


def _passes_generated(error: BaseException) -> bool:
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_filename.startswith(GENERATED) for frame, _ in frames)


__all__ = ["GENERATED", "set_breakpoints", "show_lines"]
