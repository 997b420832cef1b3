"""Programs import layers from the files that MindSpore has them in."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys

import pytest

from autodiff_compiler import nn
from autodiff_compiler.nn import mindspore_paths

NAMES = """
cell Cell
grad Jvp
grad.cell_grad Vjp
layer.basic Dense
layer.conv Conv2d
learning_rate_schedule CosineDecayLR
loss CTCLoss
loss.loss LossBase
optim Adam
optim.adam Adam
wrap TrainOneStepCell
wrap.cell_wrapper WithLossCell
wrap.loss_scale TrainOneStepWithLossScaleCell
"""
PATHS = mindspore_paths.paths(nn)


@pytest.mark.parametrize("row", NAMES.split("\n")[1:-1])
def test_a_name_is_found_where_mindspore_has_it(row: str) -> None:
    path, name = row.split()
    assert callable(getattr(importlib.import_module(f"autodiff_compiler.nn.{path}"), name))


@pytest.mark.parametrize("path", PATHS)
def test_every_path_is_its_module_and_an_attribute(path: str) -> None:
    module = importlib.import_module(f"autodiff_compiler.nn.{path}")
    assert module is mindspore_paths.paths(nn)[path]
    assert path.split(".")[0] in vars(nn)
    above = path.rpartition(".")[0]  # Python imports it first
    assert not above or f"autodiff_compiler.nn.{above}" in sys.modules
    assert importlib.util.find_spec(f"autodiff_compiler.nn.{path}") is not None
    assert [name for name in vars(module) if not name.startswith("_")]


def test_paths_are_attributes_too() -> None:
    assert nn.layer.CellList is nn.CellList
    assert nn.layer.basic.Dense is nn.Dense


def test_layers_are_imported_at_their_first_use() -> None:
    program = """
import sys
import autodiff_compiler as ms
assert "autodiff_compiler.nn" not in sys.modules
from autodiff_compiler.nn.layer.basic import Dense
assert ms.nn.Dense is Dense
"""
    subprocess.run([sys.executable, "-c", program], check=True)
