"""Process-wide settings, above all the mode: run ``construct`` as Python, or compile it.

Both modes give the same numbers. In ``PYNATIVE_MODE`` a call of a Cell runs its Python; in
``GRAPH_MODE`` the compiled forward half runs instead. ``stabilise=False`` compiles formulas as they
stand, also where they overflow. ``opt_level`` is 0 for the plainest text, 1 for what a careful
person would write, 3 for calls written out where they stand. ``enable_compile_cache=True`` keeps
compiled text in the folder ``compile_cache_path`` for later processes: a folder that nobody else
may write to, for what is in it is run.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

GRAPH_MODE = 0
PYNATIVE_MODE = 1

#: How much is done for speed at the cost of reading.
LEVELS = (0, 1, 3)

#: As they are now, for whoever looks at every call; ``set_context`` changes them.
SETTINGS: dict[str, Any] = {
    "mode": PYNATIVE_MODE, "device_target": "CPU", "device_id": 0, "stabilise": True,
    "opt_level": 1, "enable_compile_cache": False, "compile_cache_path": "",
}  # fmt: skip
_warned_about: set[str] = set()


def set_context(**settings: Any) -> None:
    """Changes settings. Those that mean nothing here are kept, so that programs can ask for them.

    >>> set_context(mode=PYNATIVE_MODE, save_graphs=False)
    >>> get_context("save_graphs")
    False
    """
    mode = settings.get("mode", PYNATIVE_MODE)
    if isinstance(mode, bool) or mode not in (GRAPH_MODE, PYNATIVE_MODE):
        raise ValueError(
            "For 'context.set_context', the argument 'mode' should be context.GRAPH_MODE (0) "
            f"or context.PYNATIVE_MODE (1), but got {mode}."
        )
    level = settings.get("opt_level", 1)
    if isinstance(level, bool) or level not in LEVELS:
        raise ValueError(
            f"For 'context.set_context', the argument 'opt_level' should be one of {LEVELS}, "
            f"but got {level}."
        )
    for name, kind in (("enable_compile_cache", bool), ("compile_cache_path", str)):
        if not isinstance(settings.get(name, kind()), kind):
            raise TypeError(
                f"For 'context.set_context', the argument '{name}' should be of the type "
                f"{kind.__name__}, but got {settings[name]!r}."
            )
    device = settings.get("device_target", "CPU")
    if device != "CPU" and "device_target" not in _warned_about:
        _warned_about.add("device_target")
        warnings.warn(f"everything runs on the CPU; {device} was asked for", stacklevel=2)
    SETTINGS.update(settings)


def get_context(name: str) -> Any:
    """The present value of a setting."""
    if name not in SETTINGS:
        raise ValueError(f"For 'context.get_context', the argument {name} is not recognized!")
    return SETTINGS[name]


def in_graph_mode() -> bool:
    """Whether a call of a Cell runs its compiled forward half."""
    return SETTINGS["mode"] == GRAPH_MODE


def opt_level() -> int:
    """The level at which is compiled from now on."""
    return int(SETTINGS["opt_level"])


def compile_cache() -> str | None:
    """The folder in which compiled text is kept, ``~/.cache/autodiff_compiler`` where none was
    named; None where none is kept."""
    if not SETTINGS["enable_compile_cache"]:
        return None
    usual = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return SETTINGS["compile_cache_path"] or os.path.join(usual, "autodiff_compiler")


def stabilises() -> bool:
    """Whether formulas that overflow or cancel are replaced in what is compiled from now on."""
    return bool(SETTINGS["stabilise"])
