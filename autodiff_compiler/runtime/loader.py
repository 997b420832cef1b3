"""Loads generated source as functions that a debugger can step through.

The source is compiled under a file name of its own and entered in ``linecache``. Tracebacks and
``pdb`` therefore show it. The entry is removed with the functions. An exception raised inside
generated code gets a note with the lines of the user's source; this costs nothing until one is
raised.
"""

from __future__ import annotations

import linecache
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from autodiff_compiler.interface.compiled import Compiled
from autodiff_compiler.runtime.debugger import GENERATED, set_breakpoints, show_lines
from autodiff_compiler.span import Caller, call_chain


class Loaded:
    """The functions of generated source. ``backward`` is None if there is no backward function."""

    __slots__ = ("__weakref__", "backward", "compiled", "file", "forward")

    def __init__(self, compiled: Compiled, file: str, namespace: dict[str, Any]):
        self.compiled, self.file = compiled, file
        self.forward: Callable[..., Any] = namespace[compiled.forward]
        self.backward: Callable[..., Any] | None = (
            None if compiled.backward is None else namespace[compiled.backward]
        )

    def explain(self, error: BaseException) -> None:
        """Adds the user's line to an exception that passed through this source."""
        note = self._note(error)
        if note is None:
            return
        show_lines()
        if hasattr(error, "add_note"):
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
        elif error.__cause__ is None:
            error.__cause__ = RuntimeError(note)

    def _note(self, error: BaseException) -> str | None:
        """Returns the user's line and calls for the innermost generated frame, or None."""
        lines = (
            line
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == self.file
        )
        about = [self.compiled.line_map[line] for line in lines if line in self.compiled.line_map]
        if not about:
            return None
        place, *callers = reversed(about)
        first = f"in compiled code for {place.where}: {place.text.strip()}"
        return "\n  ".join([first, *call_chain(place, [Caller(each) for each in callers])])


def load(compiled: Compiled, name: str) -> Loaded:
    """Executes the source of ``compiled`` as the file ``<autodiff name>``."""
    file = _free_name(name)
    lines = compiled.source.splitlines(keepends=True)
    # Without a time stamp linecache does not look for a file on disk.
    linecache.cache[file] = (len(compiled.source), None, lines, file)
    namespace: dict[str, Any] = {"__name__": file}
    exec(compile(compiled.source, file, "exec", dont_inherit=True), namespace)
    set_breakpoints(file, compiled.source, compiled.line_map)
    loaded = Loaded(compiled, file, namespace)
    weakref.finalize(loaded, linecache.cache.pop, file, None).atexit = False
    return loaded


def _free_name(name: str) -> str:
    file, number = f"{GENERATED}{name}>", 1
    while file in linecache.cache:
        number += 1
        file = f"{GENERATED}{name} #{number}>"
    return file
