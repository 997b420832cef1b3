"""Process-wide settings, above all the mode: run ``construct`` as Python, or compile it.

Both modes give the same numbers. In ``PYNATIVE_MODE`` a call of a Cell runs its Python; in
``GRAPH_MODE`` the compiled forward half runs instead. ``stabilise=False`` compiles formulas as they
stand, also where they overflow.
"""

from __future__ import annotations

import warnings
from typing import Any

GRAPH_MODE = 0
PYNATIVE_MODE = 1

_SETTINGS: dict[str, Any] = {
    "mode": PYNATIVE_MODE, "device_target": "CPU", "device_id": 0, "stabilise": True,
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


def stabilises() -> bool:
    """Whether formulas that overflow or cancel are replaced in what is compiled from now on."""
    return bool(_SETTINGS["stabilise"])
