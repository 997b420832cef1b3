"""Modules under other paths: MindSpore divides its names into other files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType


def install_paths(package: ModuleType, paths: Mapping[str, ModuleType]) -> None:
    """Makes modules importable below a package, and attributes of the modules above them."""
    for path, module in paths.items():
        sys.modules[f"{package.__name__}.{path}"] = module
        if module.__spec__ is None:  # importlib's find_spec refuses a module without one
            module.__spec__ = ModuleSpec(module.__name__, None)
        above, _, last = path.rpartition(".")
        parent = sys.modules[f"{package.__name__}.{above}"] if above else package
        vars(parent).setdefault(last, module)


__all__ = ["install_paths"]
