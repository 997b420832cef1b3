"""Layers, written in ordinary ``construct`` code: they compile like a user's Cell."""

from typing import TYPE_CHECKING

from autodiff_compiler.common.cell import Cell
from autodiff_compiler.common.containers import CellDict, CellList, SequentialCell
from autodiff_compiler.mindspore_names.suggestions import module_getattr
from autodiff_compiler.nn import (
    activation,
    attention,
    basic,
    convolution,
    ctc,
    dropout,
    image,
    learning_rate,
    loss,
    loss_scale,
    math,
    normalization,
    optimizer,
    optimizers,
    padding,
    pooling,
    recurrent,
    recurrent_layers,
    transformer,
    wrap,
)
from autodiff_compiler.nn.activation import *  # noqa: F403
from autodiff_compiler.nn.attention import *  # noqa: F403
from autodiff_compiler.nn.basic import *  # noqa: F403
from autodiff_compiler.nn.convolution import *  # noqa: F403
from autodiff_compiler.nn.ctc import *  # noqa: F403
from autodiff_compiler.nn.dropout import *  # noqa: F403
from autodiff_compiler.nn.image import *  # noqa: F403
from autodiff_compiler.nn.learning_rate import *  # noqa: F403
from autodiff_compiler.nn.loss import *  # noqa: F403
from autodiff_compiler.nn.loss_scale import *  # noqa: F403
from autodiff_compiler.nn.math import *  # noqa: F403
from autodiff_compiler.nn.normalization import *  # noqa: F403
from autodiff_compiler.nn.optimizer import *  # noqa: F403
from autodiff_compiler.nn.optimizers import *  # noqa: F403
from autodiff_compiler.nn.padding import *  # noqa: F403
from autodiff_compiler.nn.pooling import *  # noqa: F403
from autodiff_compiler.nn.recurrent import *  # noqa: F403
from autodiff_compiler.nn.recurrent_layers import *  # noqa: F403
from autodiff_compiler.nn.transformer import *  # noqa: F403
from autodiff_compiler.nn.wrap import *  # noqa: F403

__all__ = [
    "Cell", "CellDict", "CellList", "SequentialCell",
    *activation.__all__, *attention.__all__, *basic.__all__, *convolution.__all__,
    *ctc.__all__, *dropout.__all__, *image.__all__, *loss.__all__, *math.__all__,
    *normalization.__all__,
    *padding.__all__, *pooling.__all__, *recurrent.__all__, *recurrent_layers.__all__,
    *transformer.__all__, *learning_rate.__all__, *optimizer.__all__, *optimizers.__all__,
    *loss_scale.__all__, *wrap.__all__,
]  # fmt: skip

if not TYPE_CHECKING:  # to a type checker, names that are not here are errors
    __getattr__ = module_getattr("nn", globals())
