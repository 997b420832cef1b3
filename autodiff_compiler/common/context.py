"""Process-wide settings, above all the mode: run ``construct`` as Python, or compile it.

Both modes give the same numbers. In ``PYNATIVE_MODE`` a call of a Cell runs its Python; in
``GRAPH_MODE`` the compiled forward half runs instead. ``stabilise=False`` compiles formulas as they
stand, also where they overflow. ``opt_level`` is 0 for the plainest text, 1 for what a careful
person would write, 3 for calls written out where they stand.
"""

from __future__ import annotations

import warnings
from typing import Any

GRAPH_MODE = 0
PYNATIVE_MODE = 1

#: How much is done for speed at the cost of reading.
LEVELS = (0, 1, 3)

_SETTINGS: dict[str, Any] = {
    "mode": PYNATIVE_MODE, "device_target": "CPU", "device_id": 0, "stabilise": True,
    "opt_level": 1,
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
    device = settings.get("device_target", "CPU")
    if device != "CPU" and "device_target" not in _warned_about:
        _warned_about.add("device_target")
        warnings.warn(f"everything runs on the CPU; {device} was asked for", stacklevel=2)
    _SETTINGS.update(settings)


def get_context(name: str) -> Any:
    """The present value of a setting."""
    if name not in _SETTINGS:
        raise ValueError(f"For 'context.get_context', the argument {name} is not recognized!")
    return _SETTINGS[name]


def in_graph_mode() -> bool:
    """Whether a call of a Cell runs its compiled forward half."""
    return _SETTINGS["mode"] == GRAPH_MODE


def opt_level() -> int:
    """The level at which is compiled from now on."""
    return int(_SETTINGS["opt_level"])


def stabilises() -> bool:
    """Whether formulas that overflow or cancel are replaced in what is compiled from now on."""
    return bool(_SETTINGS["stabilise"])
