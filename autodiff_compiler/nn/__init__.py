"""Layers, written in ordinary ``construct`` code: they compile like a user's Cell."""

from autodiff_compiler.common.cell import Cell
from autodiff_compiler.common.containers import CellDict, CellList, SequentialCell

__all__ = ["Cell", "CellDict", "CellList", "SequentialCell"]
