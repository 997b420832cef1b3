"""MindSpore's ``nn``: layers, losses and optimizers, as Cells that compile like a user's Cell."""

import sys
from typing import TYPE_CHECKING

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.cells.containers import CellDict, CellList, SequentialCell
from autodiff_compiler.mindspore_names.module_paths import install_paths
from autodiff_compiler.mindspore_names.suggestions import module_getattr
from autodiff_compiler.nn import mindspore_paths
from autodiff_compiler.nn.layers import (
    activation,
    attention,
    basic,
    convolution,
    dropout,
    image,
    legacy_arithmetic,
    normalization,
    padding,
    pooling,
    recurrent_cells,
    recurrent_layers,
    transformer,
)
from autodiff_compiler.nn.layers.activation import *  # noqa: F403
from autodiff_compiler.nn.layers.attention import *  # noqa: F403
from autodiff_compiler.nn.layers.basic import *  # noqa: F403
from autodiff_compiler.nn.layers.convolution import *  # noqa: F403
from autodiff_compiler.nn.layers.dropout import *  # noqa: F403
from autodiff_compiler.nn.layers.image import *  # noqa: F403
from autodiff_compiler.nn.layers.legacy_arithmetic import *  # noqa: F403
from autodiff_compiler.nn.layers.normalization import *  # noqa: F403
from autodiff_compiler.nn.layers.padding import *  # noqa: F403
from autodiff_compiler.nn.layers.pooling import *  # noqa: F403
from autodiff_compiler.nn.layers.recurrent_cells import *  # noqa: F403
from autodiff_compiler.nn.layers.recurrent_layers import *  # noqa: F403
from autodiff_compiler.nn.layers.transformer import *  # noqa: F403
from autodiff_compiler.nn.training import (
    ctc_loss,
    derivative_cells,
    learning_rate,
    loss_scale,
    losses,
    optimizer_base,
    optimizers,
    training_cells,
)
from autodiff_compiler.nn.training.ctc_loss import *  # noqa: F403
from autodiff_compiler.nn.training.derivative_cells import *  # noqa: F403
from autodiff_compiler.nn.training.learning_rate import *  # noqa: F403
from autodiff_compiler.nn.training.loss_scale import *  # noqa: F403
from autodiff_compiler.nn.training.losses import *  # noqa: F403
from autodiff_compiler.nn.training.optimizer_base import *  # noqa: F403
from autodiff_compiler.nn.training.optimizers import *  # noqa: F403
from autodiff_compiler.nn.training.training_cells import *  # noqa: F403

__all__ = [
    "Cell",
    "CellDict",
    "CellList",
    "SequentialCell",
    *activation.__all__,
    *attention.__all__,
    *basic.__all__,
    *convolution.__all__,
    *dropout.__all__,
    *image.__all__,
    *legacy_arithmetic.__all__,
    *normalization.__all__,
    *padding.__all__,
    *pooling.__all__,
    *recurrent_cells.__all__,
    *recurrent_layers.__all__,
    *transformer.__all__,
    *ctc_loss.__all__,
    *derivative_cells.__all__,
    *learning_rate.__all__,
    *loss_scale.__all__,
    *losses.__all__,
    *optimizer_base.__all__,
    *optimizers.__all__,
    *training_cells.__all__,
]

if not TYPE_CHECKING:  # to a type checker, names that are not here are errors
    __getattr__ = module_getattr("nn", globals())

install_paths(sys.modules[__name__], mindspore_paths.paths(sys.modules[__name__]))
