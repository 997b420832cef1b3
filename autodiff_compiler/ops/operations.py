"""``import autodiff_compiler.ops.operations as P``: the operator classes."""

from autodiff_compiler.ops.affine import Dense  # noqa: F401
from autodiff_compiler.ops.array_primitives import *  # noqa: F403
from autodiff_compiler.ops.assign import Assign, AssignAdd, AssignSub  # noqa: F401
from autodiff_compiler.ops.convolution_primitives import *  # noqa: F403
from autodiff_compiler.ops.draw_primitives import *  # noqa: F403
from autodiff_compiler.ops.function_primitives import *  # noqa: F403
from autodiff_compiler.ops.grids import AffineGrid, GridSampler2D, GridSampler3D  # noqa: F401
from autodiff_compiler.ops.higher_order import (  # noqa: F401
    Depend,
    ForiLoop,
    Partial,
    Scan,
    WhileLoop,
)
from autodiff_compiler.ops.hooks import HookBackward, InsertGradientOf  # noqa: F401
from autodiff_compiler.ops.images import (  # noqa: F401
    ResizeBilinearV2,
    ResizeNearestNeighbor,
)
from autodiff_compiler.ops.lookup import (  # noqa: F401
    EmbeddingLookup,
    ScatterAdd,
    ScatterDiv,
    ScatterMax,
    ScatterMin,
    ScatterMul,
    ScatterNdAdd,
    ScatterNdDiv,
    ScatterNdMax,
    ScatterNdMin,
    ScatterNdMul,
    ScatterNdSub,
    ScatterNdUpdate,
    ScatterSub,
    ScatterUpdate,
)
from autodiff_compiler.ops.loss_primitives import *  # noqa: F403
from autodiff_compiler.ops.matrix_primitives import *  # noqa: F403
from autodiff_compiler.ops.normalization import LRN, BatchNorm, LayerNorm  # noqa: F401
from autodiff_compiler.ops.older import (  # noqa: F401
    FastGelu,
    Gelu,
    Pack,
    TensorAdd,
    TupleToArray,
    Unpack,
)
from autodiff_compiler.ops.pooling_primitives import *  # noqa: F403
from autodiff_compiler.ops.primitives import *  # noqa: F403
from autodiff_compiler.vocabulary.missing import module_getattr

__getattr__ = module_getattr("ops", globals())
