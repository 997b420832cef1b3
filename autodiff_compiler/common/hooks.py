"""Hooks: functions that observe or replace a Cell's inputs, outputs and gradients, or a Tensor's
gradient.

A holder has its hooks in one tuple, ``_hooks``, that is replaced and never changed. Its identity
tells if a hook was registered or removed since.
"""

from __future__ import annotations

__macro__ = True

from dataclasses import dataclass
from typing import Any

#: The kind of hook that casts a Cell's inputs and Parameters. Its ``function`` is the name of the
#: dtype.
TO_FLOAT = "to_float"


@dataclass(frozen=True, eq=False)
class Hook:
    """A hook: its kind, which says when it runs, and the user's function."""

    kind: str
    function: Any


class HookHandle:
    """Handle of a registered hook: ``remove()`` unregisters it."""

    def __init__(self, holder: Any, hook: Hook):
        self._holder, self._hook = holder, hook

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        remaining = tuple(hook for hook in self._holder._hooks if hook is not self._hook)
        self._holder._hooks = remaining


def register(holder: Any, kind: str, function: Any, method: str) -> HookHandle:
    """Adds a hook after those of ``holder``; raises TypeError if it is not callable."""
    if not callable(function):
        raise TypeError(
            f"For '{method}', the hook should be a function, but got {type(function).__name__}."
        )
    hook = Hook(kind, function)
    holder._hooks = (*holder._hooks, hook)
    return HookHandle(holder, hook)
