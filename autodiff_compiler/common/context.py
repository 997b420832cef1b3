"""Process-wide settings, above all the mode: run ``construct`` as Python, or compile it.

- Both modes give the same numbers. In ``PYNATIVE_MODE`` a call of a Cell runs its Python; in
  ``GRAPH_MODE`` it runs the compiled forward function.
- ``target="c"`` runs compiled functions as C where all of a function can be printed as C. Each of
  the others runs as NumPy source, and ``compile_info`` says why. The environment variable
  ``AUTODIFF_TARGET`` sets it for a process.
- ``stabilise=False`` compiles formulas as they stand, also where they overflow.
- ``opt_level`` is 0 for the plainest code and 1 by default; 2 reuses memory, and 3 inlines calls
  as well.
- ``enable_compile_cache=True`` keeps compiled code in the folder ``compile_cache_path`` for later
  processes. They execute it, so no other user may have the right to write there.
"""

from __future__ import annotations

__macro__ = True

import difflib
import os
import warnings
from dataclasses import fields
from functools import lru_cache
from typing import Any

from autodiff_compiler.interface.request import Request

GRAPH_MODE = 0
PYNATIVE_MODE = 1

#: MindSpore's values of the setting ``jit_syntax_level``.
STRICT, COMPATIBLE, LAX = 0, 1, 2

#: The values of ``opt_level``.
LEVELS = (0, 1, 2, 3)

#: The values of ``target``.
TARGETS = ("numpy", "c")

#: The settings that have an effect here, with their defaults.
OURS: dict[str, Any] = {
    "mode": PYNATIVE_MODE,
    "device_target": "CPU",
    "target": "numpy",
    "stabilise": True,
    "opt_level": 1,
    "enable_compile_cache": False,
    "compile_cache_path": "",
}
#: MindSpore's other settings, with its defaults. They can be set and read, and have no effect.
WITHOUT_EFFECT: dict[str, Any] = {
    "aoe_config": {},
    "aoe_tune_mode": "",
    "ascend_config": {},
    "check_bprop": False,
    "debug_level": 0,
    "deterministic": "OFF",
    "device_id": 0,
    "disable_format_transform": False,
    "enable_auto_mixed_precision": False,
    "enable_graph_kernel": False,
    "enable_profiling": False,
    "enable_reduce_precision": True,
    "enable_sparse": False,
    "env_config_path": "",
    "exec_order": "bfs",
    "gpu_config": {},
    "graph_kernel_flags": "",
    "infer_boost": "off",
    "inter_op_parallel_num": 0,
    "jit_config": {},
    "jit_enable_inplace_ops": False,
    "jit_level": "",
    "jit_syntax_level": LAX,
    "load_compile_cache": False,
    "max_call_depth": 1000,
    "max_device_memory": 1024.0,
    "memory_optimize_level": "O0",
    "mempool_block_size": 1.0,
    "op_timeout": 900,
    "print_file_path": "",
    "profiling_options": "training_trace",
    "pynative_synchronize": False,
    "reserve_class_name_in_scope": True,
    "runtime_num_threads": 0,
    "save_compile_cache": False,
    "save_graphs": 0,
    "save_graphs_path": ".",
    "support_binary": False,
    "topo_order": "",
    "variable_memory_max_size": "0",
}
#: The settings that are fields of a ``Request``.
OF_REQUEST = tuple(each.name for each in fields(Request) if each.name in OURS)
#: Former settings of MindSpore: the version that removed each, and its replacement.
REMOVED = {
    "exception_dump": "2.6; use device_context.ascend.op_debug.aclinit_config()",
    "grad_for_scalar": "2.10; use ms.mutable(number), and the number has a gradient",
    "precompile_only": "2.10; use Cell.compile()",
}
#: The present values. Every call reads them here; ``set_context`` changes them.
SETTINGS: dict[str, Any] = {**OURS, **WITHOUT_EFFECT}
#: The attribute of a function or class that has a target of its own.
TARGET_ATTRIBUTE = "_autodiff_target"
_warned_about: set[str] = set()


def set_context(**settings: Any) -> None:
    """Changes settings; MindSpore's other settings are only stored.

    Raises ValueError for an unknown name or a wrong value, TypeError for a value of a wrong type.
    Then no setting has changed.

    >>> set_context(mode=PYNATIVE_MODE, save_graphs=False)
    >>> get_context("save_graphs")
    False
    """
    for name in settings:
        _check_known("set_context", "keyword argument", name)
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
    check_target(settings.get("target", "numpy"))
    for name, kind in (("enable_compile_cache", bool), ("compile_cache_path", str)):
        if not isinstance(settings.get(name, kind()), kind):
            raise TypeError(
                f"For 'context.set_context', the argument '{name}' should be of the type "
                f"{kind.__name__}, but got {settings[name]!r}."
            )
    if "stabilise" in settings:
        settings["stabilise"] = bool(settings["stabilise"])
    device = settings.get("device_target", "CPU")
    if device != "CPU" and "device_target" not in _warned_about:
        _warned_about.add("device_target")
        warnings.warn(f"everything runs on the CPU; {device} was requested", stacklevel=2)
    SETTINGS.update(settings)


def check_target(target: Any) -> None:
    """Raises ValueError unless this is a value of the setting ``target``."""
    if target not in TARGETS:
        raise ValueError(
            f"For 'context.set_context', the argument 'target' should be one of {TARGETS}, "
            f"but got {target!r}."
        )


def get_context(name: str) -> Any:
    """Returns the present value of a setting; raises ValueError for an unknown name."""
    _check_known("get_context", "argument", name)
    return SETTINGS[name]


def _check_known(function: str, what: str, name: str) -> None:
    """Raises ValueError for an unknown or removed setting."""
    if name in REMOVED:
        raise ValueError(
            f"For 'context.{function}', the parameter '{name}' has been removed since MindSpore "
            f"{REMOVED[name]}."
        )
    if name not in SETTINGS:
        near = difflib.get_close_matches(name, SETTINGS, 1, 0.8)
        cure = f" Perhaps '{near[0]}' is meant." if near else ""
        raise ValueError(f"For 'context.{function}', the {what} {name} is not recognized!{cure}")


def in_graph_mode() -> bool:
    """True if a call of a Cell runs its compiled forward function."""
    return SETTINGS["mode"] == GRAPH_MODE


def compile_cache() -> str | None:
    """Returns the folder of compiled code, or None if the cache is off.

    The default is ``~/.cache/autodiff_compiler``.
    """
    if not SETTINGS["enable_compile_cache"]:
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return SETTINGS["compile_cache_path"] or os.path.join(home, "autodiff_compiler")


def new_request(double: bool = False, fn: Any = None) -> Request:
    """Returns the request for a function itself with the settings as they are now.

    ``fn`` may have a target of its own: see ``set_target``.
    """
    target = getattr(fn, TARGET_ATTRIBUTE, None)
    return _request(double, tuple(SETTINGS[name] for name in OF_REQUEST), target)


def set_target(fn: Any, target: str) -> None:
    """Sets the target of a function or class of Cells, whatever ``set_context`` says.

    It holds wherever the function is compiled, also in ``grad(fn)``. Raises ValueError for a target
    that does not exist or differs from an earlier one. Raises TypeError for a bound method.
    """
    check_target(target)
    before = getattr(fn, TARGET_ATTRIBUTE, target)
    if before != target:
        raise ValueError(f"{fn!r} has the target {before!r}, and cannot have {target!r} as well")
    try:
        setattr(fn, TARGET_ATTRIBUTE, target)
    except AttributeError:
        raise TypeError(f"a function or a class of Cells can have a target, not {fn!r}") from None


@lru_cache(64)
def _request(double: bool, settings: tuple[Any, ...], target: str | None) -> Request:
    given = dict(zip(OF_REQUEST, settings))
    if target is not None:
        given["target"] = target
    return Request(double=double, **given)


def _read_environment() -> None:
    """Sets the target that ``AUTODIFF_TARGET`` names."""
    target = os.environ.get("AUTODIFF_TARGET", "").lower()
    if target in TARGETS:
        SETTINGS["target"] = target
    elif target:
        warnings.warn(
            f"AUTODIFF_TARGET is {target!r}, and has no effect: it should be one of {TARGETS}",
            stacklevel=2,
        )


_read_environment()
