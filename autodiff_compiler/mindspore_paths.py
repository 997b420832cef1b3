"""The paths of MindSpore's modules, for programs that import from its files.

``from autodiff_compiler.nn.layer.basic import Dense`` finds ``Dense``. A path that MindSpore does
not have is still a ModuleNotFoundError.
"""

from __future__ import annotations

import logging
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from autodiff_compiler import amp, nn
from autodiff_compiler.common import context, random
from autodiff_compiler.common.cells.cell import cell_attr_register
from autodiff_compiler.common.files import parameter_files
from autodiff_compiler.nn.training import learning_rate, loss_scale
from autodiff_compiler.ops.core import primitive_base

#: The files of ``nn.layer`` and ``nn.optim``.
_LAYERS = """
    activation basic channel_shuffle combined container conv dense embedding image math
    normalization padding pooling rnn_cells rnns timedistributed transformer
""".split()
_OPTIMIZERS = "ada_grad adadelta adam adamax momentum optimizer rmsprop sgd".split()

#: Holds the paths below it, so that each can be the first import of a program.
_TRAIN = ModuleType(f"{__package__}.train", "The modules of MindSpore's ``train``.")

#: Private, but programs take their decorator of ``Cell.__init__`` from here.
_EXTENDS = ModuleType(f"{__package__}._extends", "The names of MindSpore's ``_extends``.")
vars(_EXTENDS)["cell_attr_register"] = cell_attr_register

#: The module under each path; None for the package itself.
PATHS: dict[str, ModuleType | None] = {
    "train": _TRAIN,
    "_extends": _EXTENDS,
    "context": context,
    "log": logging,
    "common.api": None,
    "common.seed": random,
    "ops.primitive": primitive_base,
    "train.amp": amp,
    "train.serialization": parameter_files,
    "nn.cell": nn,
    "nn.layer": nn,
    **{f"nn.layer.{file}": nn for file in _LAYERS},
    "nn.grad": nn,
    "nn.grad.cell_grad": nn,
    "nn.loss": nn,
    "nn.loss.loss": nn,
    "nn.optim": nn,
    **{f"nn.optim.{file}": nn for file in _OPTIMIZERS},
    "nn.wrap": nn,
    "nn.wrap.cell_wrapper": nn,
    "nn.wrap.loss_scale": loss_scale,
    "nn.dynamic_lr": learning_rate,
    "nn.learning_rate_schedule": learning_rate,
}


def install(package: ModuleType) -> None:
    """Makes the paths importable below ``package``, and attributes of the modules above them."""
    name = package.__name__
    for path, module in PATHS.items():
        sys.modules[f"{name}.{path}"] = here = module or package
        if here.__spec__ is None:  # importlib's find_spec refuses a module without one
            here.__spec__ = ModuleSpec(here.__name__, None)
        above, _, last = path.rpartition(".")
        parent = sys.modules.get(f"{name}.{above}" if above else name)
        if parent is not None:
            vars(parent).setdefault(last, module or package)
