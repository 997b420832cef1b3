"""Hooks: functions that look at, or change, what passes through a Cell or the gradient of a Tensor.

A holder keeps its hooks in one tuple, ``_hooks``, that is replaced and never changed: so the
identity of the tuple tells whether anything was registered or removed since.
"""

from __future__ import annotations

__macro__ = True

from dataclasses import dataclass
from typing import Any

#: The kind of hook that casts what a Cell takes and reads; in the place of a function it has
#: the name of the dtype.
TO_FLOAT = "to_float"


@dataclass(frozen=True, eq=False)
class Hook:
    """One hook: when it runs (a kind), and the user's function."""

    kind: str
    function: Any


class HookHandle:
    """What registering a hook gives: ``remove()`` takes it away again."""

    def __init__(self, holder: Any, hook: Hook):
        self._holder, self._hook = holder, hook

    def remove(self) -> None:
        """Takes the hook away; once is enough."""
        kept = tuple(hook for hook in self._holder._hooks if hook is not self._hook)
        self._holder._hooks = kept


def register(holder: Any, kind: str, function: Any, method: str) -> HookHandle:
    """Adds a hook to ``holder``, after those it has. Raises TypeError for what is not callable."""
    if not callable(function):
        raise TypeError(
            f"For '{method}', the hook should be a function, but got {type(function).__name__}."
        )
    hook = Hook(kind, function)
    holder._hooks = (*holder._hooks, hook)
    return HookHandle(holder, hook)
