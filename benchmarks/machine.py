"""What figures were made on: the processor, its cores and how busy they were, the system, Python,
NumPy and its BLAS."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np


def describe() -> str:
    """One line; no name of the machine, no paths."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index]
    return (
        f"{_processor()}, {os.cpu_count()} cores (load {os.getloadavg()[0]:.1f} before), "
        f"{platform.system()}, "
        f"Python {platform.python_version()}, NumPy {np.__version__} with "
        f"{blas['name']} {blas['version']}"
    )


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(models), platform.processor() or platform.machine())
