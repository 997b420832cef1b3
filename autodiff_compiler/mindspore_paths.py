"""The paths of MindSpore's modules, for programs that import from its files.

``from autodiff_compiler.train.serialization import load_checkpoint`` finds the function. A path
that MindSpore does not have is still a ModuleNotFoundError. ``nn`` has a table of its own.
"""

from __future__ import annotations

import logging
from types import ModuleType

from autodiff_compiler import amp
from autodiff_compiler.common import context, random
from autodiff_compiler.common.cells.cell import cell_attr_register
from autodiff_compiler.common.files import parameter_files
from autodiff_compiler.ops.core import primitive_base

#: Holds the paths below it, so that each can be the first import of a program.
_TRAIN = ModuleType(f"{__package__}.train", "The modules of MindSpore's ``train``.")

#: Private, but programs take their decorator of ``Cell.__init__`` from here.
_EXTENDS = ModuleType(f"{__package__}._extends", "The names of MindSpore's ``_extends``.")
vars(_EXTENDS)["cell_attr_register"] = cell_attr_register


def paths(package: ModuleType) -> dict[str, ModuleType]:
    """Returns the module under each path."""
    return {
        "train": _TRAIN,
        "_extends": _EXTENDS,
        "context": context,
        "log": logging,
        "common.api": package,
        "common.seed": random,
        "ops.primitive": primitive_base,
        "train.amp": amp,
        "train.serialization": parameter_files,
    }


__all__ = ["paths"]
