"""The processor of this machine: the features that decide the code that a compiler may generate."""

from __future__ import annotations

import functools
import platform
import sys
from ctypes import CDLL, byref, c_size_t, create_string_buffer
from pathlib import Path

from autodiff_compiler.runtime.native.numpy_extension import processor_features

#: The lines of Linux' description of a processor that count, on x86 and ARM.
_LINES = ("vendor_id", "model name", "cpu family", "model", "stepping", "flags")
_ARM_LINES = ("CPU implementer", "CPU part", "CPU variant", "Features")


@functools.cache
def processor() -> str:
    """Returns the model of the processor and the features that are enabled."""
    parts = [sys.platform, platform.machine()]
    if sys.platform == "linux":
        parts += _from_linux(Path("/proc/cpuinfo"))
    elif sys.platform == "darwin":
        parts += [_from_macos(b"machdep.cpu.brand_string"), _from_macos(b"machdep.cpu.features")]
    else:
        parts.append(platform.processor())
    parts.append(processor_features())
    return "\n".join(parts)


def _from_linux(path: Path) -> list[str]:
    """Returns the lines about the first processor. A machine with many has a very long file."""
    lines: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                name = line.partition(":")[0].strip()
                if name in lines:
                    break
                if name in _LINES or name in _ARM_LINES:
                    lines[name] = line.strip()
    except OSError:
        return []
    return [*lines.values()]


def _from_macos(name: bytes) -> str:
    """Returns a setting of the kernel as text; empty if there is none of this name."""
    size, text = c_size_t(1 << 14), create_string_buffer(1 << 14)
    try:
        failed = CDLL(None).sysctlbyname(name, text, byref(size), None, c_size_t(0))
    except (OSError, AttributeError):
        return ""
    return "" if failed else text.value.decode(errors="replace")


__all__ = ["processor"]
