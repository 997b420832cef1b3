"""The paths of MindSpore's files of layers, losses and optimizers.

``from autodiff_compiler.nn.layer.basic import Dense`` finds ``Dense``.
"""

from __future__ import annotations

from types import ModuleType

from autodiff_compiler.nn.training import learning_rate, loss_scale

#: The files that hold names of ``nn`` itself.
_FILES = """
    cell
    layer layer.activation layer.basic layer.channel_shuffle layer.combined layer.container
    layer.conv layer.dense layer.embedding layer.image layer.math layer.normalization layer.padding
    layer.pooling layer.rnn_cells layer.rnns layer.timedistributed layer.transformer
    grad grad.cell_grad
    loss loss.loss
    optim optim.ada_grad optim.adadelta optim.adam optim.adamax optim.momentum optim.optimizer
    optim.rmsprop optim.sgd
    wrap wrap.cell_wrapper
""".split()


def paths(nn: ModuleType) -> dict[str, ModuleType]:
    """Returns the module under each path."""
    return {
        **dict.fromkeys(_FILES, nn),
        "wrap.loss_scale": loss_scale,
        "dynamic_lr": learning_rate,
        "learning_rate_schedule": learning_rate,
    }


__all__ = ["paths"]
