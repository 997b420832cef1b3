"""``import autodiff_compiler.ops.functional as F``: the functions."""

from typing import TYPE_CHECKING

from autodiff_compiler.mindspore_names.suggestions import module_getattr
from autodiff_compiler.ops.functions.activations import *  # noqa: F403
from autodiff_compiler.ops.functions.arrays import *  # noqa: F403
from autodiff_compiler.ops.functions.complex_parts import *  # noqa: F403
from autodiff_compiler.ops.functions.creation import *  # noqa: F403
from autodiff_compiler.ops.functions.einsum import *  # noqa: F403
from autodiff_compiler.ops.functions.elementwise import *  # noqa: F403
from autodiff_compiler.ops.functions.gather_scatter import *  # noqa: F403
from autodiff_compiler.ops.functions.masks import *  # noqa: F403
from autodiff_compiler.ops.functions.matrices import *  # noqa: F403
from autodiff_compiler.ops.functions.random import *  # noqa: F403
from autodiff_compiler.ops.functions.rearrange import *  # noqa: F403
from autodiff_compiler.ops.functions.reductions import *  # noqa: F403
from autodiff_compiler.ops.functions.scans_and_norms import *  # noqa: F403
from autodiff_compiler.ops.functions.sorting import *  # noqa: F403
from autodiff_compiler.ops.functions.special import *  # noqa: F403
from autodiff_compiler.ops.legacy_names import *  # noqa: F403
from autodiff_compiler.ops.neural.convolution import *  # noqa: F403
from autodiff_compiler.ops.neural.dense import bias_add as bias_add
from autodiff_compiler.ops.neural.dense import bidense as bidense
from autodiff_compiler.ops.neural.dense import dense as dense
from autodiff_compiler.ops.neural.distances import *  # noqa: F403
from autodiff_compiler.ops.neural.dropout import *  # noqa: F403
from autodiff_compiler.ops.neural.embedding import embedding as embedding
from autodiff_compiler.ops.neural.embedding import scatter_add as scatter_add
from autodiff_compiler.ops.neural.embedding import scatter_div as scatter_div
from autodiff_compiler.ops.neural.embedding import scatter_max as scatter_max
from autodiff_compiler.ops.neural.embedding import scatter_min as scatter_min
from autodiff_compiler.ops.neural.embedding import scatter_mul as scatter_mul
from autodiff_compiler.ops.neural.embedding import scatter_nd_add as scatter_nd_add
from autodiff_compiler.ops.neural.embedding import scatter_nd_div as scatter_nd_div
from autodiff_compiler.ops.neural.embedding import scatter_nd_max as scatter_nd_max
from autodiff_compiler.ops.neural.embedding import scatter_nd_min as scatter_nd_min
from autodiff_compiler.ops.neural.embedding import scatter_nd_mul as scatter_nd_mul
from autodiff_compiler.ops.neural.embedding import scatter_nd_sub as scatter_nd_sub
from autodiff_compiler.ops.neural.embedding import scatter_nd_update as scatter_nd_update
from autodiff_compiler.ops.neural.embedding import scatter_sub as scatter_sub
from autodiff_compiler.ops.neural.embedding import scatter_update as scatter_update
from autodiff_compiler.ops.neural.grid_sample import affine_grid as affine_grid
from autodiff_compiler.ops.neural.grid_sample import grid_sample as grid_sample
from autodiff_compiler.ops.neural.images import channel_shuffle as channel_shuffle
from autodiff_compiler.ops.neural.images import interpolate as interpolate
from autodiff_compiler.ops.neural.images import pixel_shuffle as pixel_shuffle
from autodiff_compiler.ops.neural.images import pixel_unshuffle as pixel_unshuffle
from autodiff_compiler.ops.neural.images import upsample as upsample
from autodiff_compiler.ops.neural.losses import *  # noqa: F403
from autodiff_compiler.ops.neural.normalization import *  # noqa: F403
from autodiff_compiler.ops.neural.parameter_updates import assign as assign
from autodiff_compiler.ops.neural.parameter_updates import assign_add as assign_add
from autodiff_compiler.ops.neural.parameter_updates import assign_sub as assign_sub
from autodiff_compiler.ops.neural.pooling import *  # noqa: F403
from autodiff_compiler.ops.transforms.derivatives import *  # noqa: F403
from autodiff_compiler.ops.transforms.gradient import get_grad as get_grad
from autodiff_compiler.ops.transforms.gradient import grad as grad
from autodiff_compiler.ops.transforms.gradient import value_and_grad as value_and_grad
from autodiff_compiler.ops.transforms.higher_order import depend as depend
from autodiff_compiler.ops.transforms.higher_order import partial as partial
from autodiff_compiler.ops.transforms.vmap import vmap as vmap

if not TYPE_CHECKING:  # type checkers report names that are not defined here
    __getattr__ = module_getattr("ops", globals())
