"""``import autodiff_compiler.ops.operations as P``: the operator classes."""

from typing import TYPE_CHECKING

from autodiff_compiler.mindspore_names.suggestions import module_getattr
from autodiff_compiler.ops.affine import Dense as Dense
from autodiff_compiler.ops.array_primitives import *  # noqa: F403
from autodiff_compiler.ops.assign import Assign as Assign
from autodiff_compiler.ops.assign import AssignAdd as AssignAdd
from autodiff_compiler.ops.assign import AssignSub as AssignSub
from autodiff_compiler.ops.convolution_primitives import *  # noqa: F403
from autodiff_compiler.ops.draw_primitives import *  # noqa: F403
from autodiff_compiler.ops.function_primitives import *  # noqa: F403
from autodiff_compiler.ops.grids import AffineGrid as AffineGrid
from autodiff_compiler.ops.grids import GridSampler2D as GridSampler2D
from autodiff_compiler.ops.grids import GridSampler3D as GridSampler3D
from autodiff_compiler.ops.higher_order import Depend as Depend
from autodiff_compiler.ops.higher_order import ForiLoop as ForiLoop
from autodiff_compiler.ops.higher_order import Partial as Partial
from autodiff_compiler.ops.higher_order import Scan as Scan
from autodiff_compiler.ops.higher_order import WhileLoop as WhileLoop
from autodiff_compiler.ops.hooks import HookBackward as HookBackward
from autodiff_compiler.ops.hooks import InsertGradientOf as InsertGradientOf
from autodiff_compiler.ops.images import ResizeBilinearV2 as ResizeBilinearV2
from autodiff_compiler.ops.images import ResizeNearestNeighbor as ResizeNearestNeighbor
from autodiff_compiler.ops.lookup import EmbeddingLookup as EmbeddingLookup
from autodiff_compiler.ops.lookup import ScatterAdd as ScatterAdd
from autodiff_compiler.ops.lookup import ScatterDiv as ScatterDiv
from autodiff_compiler.ops.lookup import ScatterMax as ScatterMax
from autodiff_compiler.ops.lookup import ScatterMin as ScatterMin
from autodiff_compiler.ops.lookup import ScatterMul as ScatterMul
from autodiff_compiler.ops.lookup import ScatterNdAdd as ScatterNdAdd
from autodiff_compiler.ops.lookup import ScatterNdDiv as ScatterNdDiv
from autodiff_compiler.ops.lookup import ScatterNdMax as ScatterNdMax
from autodiff_compiler.ops.lookup import ScatterNdMin as ScatterNdMin
from autodiff_compiler.ops.lookup import ScatterNdMul as ScatterNdMul
from autodiff_compiler.ops.lookup import ScatterNdSub as ScatterNdSub
from autodiff_compiler.ops.lookup import ScatterNdUpdate as ScatterNdUpdate
from autodiff_compiler.ops.lookup import ScatterSub as ScatterSub
from autodiff_compiler.ops.lookup import ScatterUpdate as ScatterUpdate
from autodiff_compiler.ops.loss_primitives import *  # noqa: F403
from autodiff_compiler.ops.matrix_primitives import *  # noqa: F403
from autodiff_compiler.ops.normalization import LRN as LRN
from autodiff_compiler.ops.normalization import BatchNorm as BatchNorm
from autodiff_compiler.ops.normalization import LayerNorm as LayerNorm
from autodiff_compiler.ops.older import FastGelu as FastGelu
from autodiff_compiler.ops.older import Gelu as Gelu
from autodiff_compiler.ops.older import Pack as Pack
from autodiff_compiler.ops.older import TensorAdd as TensorAdd
from autodiff_compiler.ops.older import TupleToArray as TupleToArray
from autodiff_compiler.ops.older import Unpack as Unpack
from autodiff_compiler.ops.pooling_primitives import *  # noqa: F403
from autodiff_compiler.ops.primitives import *  # noqa: F403

if not TYPE_CHECKING:  # to a type checker, names that are not here are errors
    __getattr__ = module_getattr("ops", globals())
