"""``import autodiff_compiler.ops.operations as P``: the operator classes."""

from typing import TYPE_CHECKING

from autodiff_compiler.mindspore_names.suggestions import module_getattr
from autodiff_compiler.ops.legacy_names import FastGelu as FastGelu
from autodiff_compiler.ops.legacy_names import Gelu as Gelu
from autodiff_compiler.ops.legacy_names import Pack as Pack
from autodiff_compiler.ops.legacy_names import TensorAdd as TensorAdd
from autodiff_compiler.ops.legacy_names import TupleToArray as TupleToArray
from autodiff_compiler.ops.legacy_names import Unpack as Unpack
from autodiff_compiler.ops.neural.dense import Dense as Dense
from autodiff_compiler.ops.neural.embedding import EmbeddingLookup as EmbeddingLookup
from autodiff_compiler.ops.neural.embedding import ScatterAdd as ScatterAdd
from autodiff_compiler.ops.neural.embedding import ScatterDiv as ScatterDiv
from autodiff_compiler.ops.neural.embedding import ScatterMax as ScatterMax
from autodiff_compiler.ops.neural.embedding import ScatterMin as ScatterMin
from autodiff_compiler.ops.neural.embedding import ScatterMul as ScatterMul
from autodiff_compiler.ops.neural.embedding import ScatterNdAdd as ScatterNdAdd
from autodiff_compiler.ops.neural.embedding import ScatterNdDiv as ScatterNdDiv
from autodiff_compiler.ops.neural.embedding import ScatterNdMax as ScatterNdMax
from autodiff_compiler.ops.neural.embedding import ScatterNdMin as ScatterNdMin
from autodiff_compiler.ops.neural.embedding import ScatterNdMul as ScatterNdMul
from autodiff_compiler.ops.neural.embedding import ScatterNdSub as ScatterNdSub
from autodiff_compiler.ops.neural.embedding import ScatterNdUpdate as ScatterNdUpdate
from autodiff_compiler.ops.neural.embedding import ScatterSub as ScatterSub
from autodiff_compiler.ops.neural.embedding import ScatterUpdate as ScatterUpdate
from autodiff_compiler.ops.neural.grid_sample import AffineGrid as AffineGrid
from autodiff_compiler.ops.neural.grid_sample import GridSampler2D as GridSampler2D
from autodiff_compiler.ops.neural.grid_sample import GridSampler3D as GridSampler3D
from autodiff_compiler.ops.neural.images import ResizeBilinearV2 as ResizeBilinearV2
from autodiff_compiler.ops.neural.images import ResizeNearestNeighbor as ResizeNearestNeighbor
from autodiff_compiler.ops.neural.normalization import LRN as LRN
from autodiff_compiler.ops.neural.normalization import BatchNorm as BatchNorm
from autodiff_compiler.ops.neural.normalization import LayerNorm as LayerNorm
from autodiff_compiler.ops.neural.parameter_updates import Assign as Assign
from autodiff_compiler.ops.neural.parameter_updates import AssignAdd as AssignAdd
from autodiff_compiler.ops.neural.parameter_updates import AssignSub as AssignSub
from autodiff_compiler.ops.primitives.arrays import *  # noqa: F403
from autodiff_compiler.ops.primitives.convolution import *  # noqa: F403
from autodiff_compiler.ops.primitives.functions import *  # noqa: F403
from autodiff_compiler.ops.primitives.general import *  # noqa: F403
from autodiff_compiler.ops.primitives.losses import *  # noqa: F403
from autodiff_compiler.ops.primitives.matrices import *  # noqa: F403
from autodiff_compiler.ops.primitives.pooling import *  # noqa: F403
from autodiff_compiler.ops.primitives.random import *  # noqa: F403
from autodiff_compiler.ops.transforms.higher_order import Depend as Depend
from autodiff_compiler.ops.transforms.higher_order import ForiLoop as ForiLoop
from autodiff_compiler.ops.transforms.higher_order import Partial as Partial
from autodiff_compiler.ops.transforms.higher_order import Scan as Scan
from autodiff_compiler.ops.transforms.higher_order import WhileLoop as WhileLoop
from autodiff_compiler.ops.transforms.hooks import HookBackward as HookBackward
from autodiff_compiler.ops.transforms.hooks import InsertGradientOf as InsertGradientOf

if not TYPE_CHECKING:  # type checkers report names that are not defined here
    __getattr__ = module_getattr("ops", globals())
