"""``import autodiff_compiler.ops.functional as F``: the functions."""

from autodiff_compiler.ops.activations import *  # noqa: F403
from autodiff_compiler.ops.affine import bias_add, bidense, dense  # noqa: F401
from autodiff_compiler.ops.arrays import *  # noqa: F403
from autodiff_compiler.ops.assign import assign, assign_add, assign_sub  # noqa: F401
from autodiff_compiler.ops.batched import vmap  # noqa: F401
from autodiff_compiler.ops.complex_parts import *  # noqa: F403
from autodiff_compiler.ops.contraction import *  # noqa: F403
from autodiff_compiler.ops.convolution import *  # noqa: F403
from autodiff_compiler.ops.creation import *  # noqa: F403
from autodiff_compiler.ops.derivatives import *  # noqa: F403
from autodiff_compiler.ops.distances import *  # noqa: F403
from autodiff_compiler.ops.draws import *  # noqa: F403
from autodiff_compiler.ops.dropout import *  # noqa: F403
from autodiff_compiler.ops.elementwise import *  # noqa: F403
from autodiff_compiler.ops.gradient import get_grad, grad, value_and_grad  # noqa: F401
from autodiff_compiler.ops.grids import affine_grid, grid_sample  # noqa: F401
from autodiff_compiler.ops.higher_order import depend, partial  # noqa: F401
from autodiff_compiler.ops.images import (  # noqa: F401
    channel_shuffle,
    interpolate,
    pixel_shuffle,
    pixel_unshuffle,
    upsample,
)
from autodiff_compiler.ops.layout import *  # noqa: F403
from autodiff_compiler.ops.lookup import (  # noqa: F401
    embedding,
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_div,
    scatter_nd_max,
    scatter_nd_min,
    scatter_nd_mul,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from autodiff_compiler.ops.losses import *  # noqa: F403
from autodiff_compiler.ops.masks import *  # noqa: F403
from autodiff_compiler.ops.matrices import *  # noqa: F403
from autodiff_compiler.ops.normalization import *  # noqa: F403
from autodiff_compiler.ops.older import *  # noqa: F403
from autodiff_compiler.ops.ordering import *  # noqa: F403
from autodiff_compiler.ops.parts import *  # noqa: F403
from autodiff_compiler.ops.pooling import *  # noqa: F403
from autodiff_compiler.ops.reductions import *  # noqa: F403
from autodiff_compiler.ops.running import *  # noqa: F403
from autodiff_compiler.ops.special import *  # noqa: F403
from autodiff_compiler.vocabulary.missing import module_getattr

__getattr__ = module_getattr("ops", globals())
