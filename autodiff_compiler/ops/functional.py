"""``import autodiff_compiler.ops.functional as F``: the functions."""

from typing import TYPE_CHECKING

from autodiff_compiler.mindspore_names.suggestions import module_getattr
from autodiff_compiler.ops.activations import *  # noqa: F403
from autodiff_compiler.ops.affine import bias_add as bias_add
from autodiff_compiler.ops.affine import bidense as bidense
from autodiff_compiler.ops.affine import dense as dense
from autodiff_compiler.ops.arrays import *  # noqa: F403
from autodiff_compiler.ops.assign import assign as assign
from autodiff_compiler.ops.assign import assign_add as assign_add
from autodiff_compiler.ops.assign import assign_sub as assign_sub
from autodiff_compiler.ops.batched import vmap as vmap
from autodiff_compiler.ops.complex_parts import *  # noqa: F403
from autodiff_compiler.ops.contraction import *  # noqa: F403
from autodiff_compiler.ops.convolution import *  # noqa: F403
from autodiff_compiler.ops.creation import *  # noqa: F403
from autodiff_compiler.ops.derivatives import *  # noqa: F403
from autodiff_compiler.ops.distances import *  # noqa: F403
from autodiff_compiler.ops.draws import *  # noqa: F403
from autodiff_compiler.ops.dropout import *  # noqa: F403
from autodiff_compiler.ops.elementwise import *  # noqa: F403
from autodiff_compiler.ops.gradient import get_grad as get_grad
from autodiff_compiler.ops.gradient import grad as grad
from autodiff_compiler.ops.gradient import value_and_grad as value_and_grad
from autodiff_compiler.ops.grids import affine_grid as affine_grid
from autodiff_compiler.ops.grids import grid_sample as grid_sample
from autodiff_compiler.ops.higher_order import depend as depend
from autodiff_compiler.ops.higher_order import partial as partial
from autodiff_compiler.ops.images import channel_shuffle as channel_shuffle
from autodiff_compiler.ops.images import interpolate as interpolate
from autodiff_compiler.ops.images import pixel_shuffle as pixel_shuffle
from autodiff_compiler.ops.images import pixel_unshuffle as pixel_unshuffle
from autodiff_compiler.ops.images import upsample as upsample
from autodiff_compiler.ops.layout import *  # noqa: F403
from autodiff_compiler.ops.lookup import embedding as embedding
from autodiff_compiler.ops.lookup import scatter_add as scatter_add
from autodiff_compiler.ops.lookup import scatter_div as scatter_div
from autodiff_compiler.ops.lookup import scatter_max as scatter_max
from autodiff_compiler.ops.lookup import scatter_min as scatter_min
from autodiff_compiler.ops.lookup import scatter_mul as scatter_mul
from autodiff_compiler.ops.lookup import scatter_nd_add as scatter_nd_add
from autodiff_compiler.ops.lookup import scatter_nd_div as scatter_nd_div
from autodiff_compiler.ops.lookup import scatter_nd_max as scatter_nd_max
from autodiff_compiler.ops.lookup import scatter_nd_min as scatter_nd_min
from autodiff_compiler.ops.lookup import scatter_nd_mul as scatter_nd_mul
from autodiff_compiler.ops.lookup import scatter_nd_sub as scatter_nd_sub
from autodiff_compiler.ops.lookup import scatter_nd_update as scatter_nd_update
from autodiff_compiler.ops.lookup import scatter_sub as scatter_sub
from autodiff_compiler.ops.lookup import scatter_update as scatter_update
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

if not TYPE_CHECKING:  # to a type checker, names that are not here are errors
    __getattr__ = module_getattr("ops", globals())
