"""The operator classes that move, pick, place and order elements."""

from __future__ import annotations

__macro__ = True

from collections.abc import Sequence
from typing import Any

from autodiff_compiler.common.dtype import int64
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import ShapeError
from autodiff_compiler.operators.indexing import indexing
from autodiff_compiler.ops.core.primitive_base import Primitive, primitive
from autodiff_compiler.ops.core.shape_queries import known_rank, unaliased
from autodiff_compiler.ops.functions import (
    arrays,
    creation,
    einsum,
    gather_scatter,
    masks,
    rearrange,
    sorting,
)
from autodiff_compiler.ops.neural import images

GatherNd = primitive("GatherNd", gather_scatter.gather_nd)
ScatterNd = primitive("ScatterNd", gather_scatter.scatter_nd)
TensorScatterUpdate = primitive("TensorScatterUpdate", gather_scatter.tensor_scatter_update)
TensorScatterAdd = primitive("TensorScatterAdd", gather_scatter.tensor_scatter_add)
TensorScatterSub = primitive("TensorScatterSub", gather_scatter.tensor_scatter_sub)
TensorScatterMul = primitive("TensorScatterMul", gather_scatter.tensor_scatter_mul)
TensorScatterDiv = primitive("TensorScatterDiv", gather_scatter.tensor_scatter_div)
TensorScatterMax = primitive("TensorScatterMax", gather_scatter.tensor_scatter_max)
TensorScatterMin = primitive("TensorScatterMin", gather_scatter.tensor_scatter_min)
UnsortedSegmentSum = primitive("UnsortedSegmentSum", gather_scatter.unsorted_segment_sum)
UnsortedSegmentProd = primitive("UnsortedSegmentProd", gather_scatter.unsorted_segment_prod)
UnsortedSegmentMax = primitive("UnsortedSegmentMax", gather_scatter.unsorted_segment_max)
UnsortedSegmentMin = primitive("UnsortedSegmentMin", gather_scatter.unsorted_segment_min)
IndexAdd = primitive(
    "IndexAdd", gather_scatter.index_add, axis=0, use_lock=True, check_index_bound=True
)
IndexFill = primitive("IndexFill", gather_scatter.index_fill)
Slice = primitive("Slice", gather_scatter.slice)
StridedSlice = primitive(
    "StridedSlice",
    gather_scatter.strided_slice,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
)
MaskedSelect = primitive("MaskedSelect", masks.masked_select)
OneHot = primitive("OneHot", masks.one_hot, axis=-1)
NanToNum = primitive("NanToNum", masks.nan_to_num, nan=None, posinf=None, neginf=None)
ReverseSequence = primitive("ReverseSequence", masks.reverse_sequence, seq_dim=0, batch_dim=0)
ReverseV2 = primitive("ReverseV2", rearrange.reverse, axis=())
Tile, Diag = primitive("Tile", rearrange.tile), primitive("Diag", rearrange.diag)
Tril, Triu = (
    primitive("Tril", rearrange.tril, diagonal=0),
    primitive("Triu", rearrange.triu, diagonal=0),
)
MatrixBandPart = primitive("MatrixBandPart", rearrange.matrix_band_part)
Pad = primitive("Pad", rearrange.pad_by, paddings=())
Sort = primitive("Sort", sorting.sort, axis=-1, descending=False)
TopK = primitive("TopK", sorting.topk, sorted=True)
NonZero, Unique = primitive("NonZero", sorting.nonzero), primitive("Unique", sorting.unique)
SearchSorted = primitive("SearchSorted", sorting.search_sorted, dtype=int64, right=False)
Fill, FillV2 = primitive("Fill", creation.fill), primitive("FillV2", creation.filled)
Range = primitive("Range", creation.range, maxlen=1000000)
LinSpace = primitive("LinSpace", creation.linspace)
Identity, DType = (
    primitive("Identity", unaliased(arrays.identity)),
    primitive("DType", arrays.dtype),
)


class _InPlace(Primitive):
    """x with rows replaced, or added to; the rows are settings. x itself does not change."""

    def __init__(self, indices: Any):
        super().__init__()
        self.indices = indices

    def __call__(self, x: Any, v: Any) -> Tensor:
        rows = (self.indices,) if isinstance(self.indices, int) else tuple(self.indices)
        for k, row in enumerate(rows):
            x = self.write(x, gather_scatter.item_at(v, k), (row,))
        return x

    def write(self, x: Any, v: Any, index: tuple[int]) -> Any:
        raise NotImplementedError


class InplaceAdd(_InPlace):
    """x with v[k] added to row ``indices[k]``."""

    def write(self, x: Any, v: Any, index: tuple[int]) -> Any:
        return indexing.add_at(x, v, index=index)


class InplaceSub(_InPlace):
    """x with v[k] subtracted from row ``indices[k]``."""

    def write(self, x: Any, v: Any, index: tuple[int]) -> Any:
        return indexing.add_at(x, -v, index=index)


class InplaceUpdate(_InPlace):
    """x with v[k] in row ``indices[k]``."""

    def write(self, x: Any, v: Any, index: tuple[int]) -> Any:
        return indexing.set_item(x, v, index=index)


class TrilIndices(Primitive):
    """The rows and the columns of the elements of the lower triangle."""

    function = staticmethod(rearrange.tril_indices)

    def __init__(self, row: int, col: int, offset: int = 0, dtype: Any = None):
        super().__init__()
        self.settings, self.dtype = (row, col, offset), dtype

    def __call__(self) -> Tensor:
        return type(self).function(*self.settings, dtype=self.dtype)


class TriuIndices(TrilIndices):
    """The rows and the columns of the elements of the upper triangle."""

    function = staticmethod(rearrange.triu_indices)


class MirrorPad(Primitive):
    """x padded with copies of its own elements; a pair of widths for each axis, in order."""

    def __init__(self, mode: str = "REFLECT"):
        super().__init__()
        self.mode = mode

    def __call__(self, input_x: Any, paddings: Any) -> Tensor:
        return rearrange.mirror(input_x, paddings, self.mode.lower())


class Meshgrid(Primitive):
    """Each row broadcast over the grid that all of them span."""

    def __init__(self, indexing: str = "xy"):
        super().__init__()
        self.indexing = indexing

    def __call__(self, inputs: Sequence[Any]) -> Any:
        return rearrange.meshgrid(*inputs, indexing=self.indexing)


class Einsum(Primitive):
    """The sum of products that an equation describes."""

    def __init__(self, equation: str):
        super().__init__()
        self.equation = equation

    def __call__(self, inputs: Sequence[Any]) -> Tensor:
        return einsum.einsum(self.equation, *inputs)


class Cross(Primitive):
    """The cross product along an axis (-65530: the first of size 3)."""

    def __init__(self, dim: int = -65530):
        super().__init__()
        self.dim = None if dim == -65530 else dim

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return einsum.cross(x1, x2, self.dim)


class _Blocks(Primitive):
    """The base of rearrangements between channels and plane of an (n, c, h, w) tensor; blocks have
    a given side."""

    def __init__(self, block_size: int, data_format: str = "NCHW"):
        super().__init__()
        if data_format != "NCHW":
            raise ShapeError(f"the data format {data_format} is not supported", "use NCHW")
        self.block_size = block_size


class SpaceToDepth(_Blocks):
    """Each block of the plane becomes channels: (n, c, h, w) to (n, b*b*c, h/b, w/b)."""

    def __call__(self, x: Any) -> Tensor:
        (n, c, h, w), b = arrays.shape(x), self.block_size
        cut = arrays.reshape(x, (n, c, h // b, b, w // b, b))
        return arrays.reshape(
            arrays.transpose(cut, (0, 3, 5, 1, 2, 4)), (n, c * b * b, h // b, w // b)
        )


class DepthToSpace(_Blocks):
    """Channels become blocks of the plane: (n, b*b*c, h, w) to (n, c, b*h, b*w)."""

    def __call__(self, x: Any) -> Tensor:
        (n, c, h, w), b = arrays.shape(x), self.block_size
        cut = arrays.reshape(x, (n, b, b, c // (b * b), h, w))
        return arrays.reshape(
            arrays.transpose(cut, (0, 3, 4, 1, 5, 2)), (n, c // (b * b), h * b, w * b)
        )


class ChannelShuffle(Primitive):
    """The channels, axis 1, interleaved by groups."""

    def __init__(self, group: int):
        super().__init__()
        self.group = group

    def __call__(self, x: Any) -> Tensor:
        return images.channel_shuffle(x, self.group)


class SpaceToBatchND(Primitive):
    """The last axes padded and cut into blocks; the places in a block become examples of the
    batch."""

    def __init__(self, block_shape: Any, paddings: Any):
        super().__init__()
        self.block_shape, self.paddings = block_shape, paddings

    def __call__(self, input_x: Any) -> Tensor:
        plane = len(self.paddings)
        lead = known_rank(input_x, "SpaceToBatchND") - plane
        blocks = self.block_shape
        blocks = (blocks,) * plane if isinstance(blocks, int) else blocks
        x = rearrange.pad_by(input_x, (*((0, 0),) * lead, *self.paddings))
        sizes = arrays.shape(x)
        pairs = [(size // b, b) for size, b in zip(sizes[lead:], blocks)]
        cut = arrays.reshape(x, (*sizes[:lead], *(part for pair in pairs for part in pair)))
        places = [lead + 2 * k + 1 for k in range(plane)]
        rest = [axis for axis in range(lead + 2 * plane) if axis not in places]
        batch = sizes[0]
        for b in blocks:
            batch = batch * b
        moved = arrays.transpose(cut, (*places, *rest))
        return arrays.reshape(moved, (batch, *sizes[1:lead], *(size for size, _ in pairs)))


class BatchToSpace(Primitive):
    """The inverse of SpaceToBatch for (n, c, h, w): examples fill blocks, then edges are
    cropped."""

    def __init__(self, block_size: int, crops: Any):
        super().__init__()
        self.block_size, self.crops = block_size, crops

    def __call__(self, input_x: Any) -> Tensor:
        (n, c, h, w), b = arrays.shape(input_x), self.block_size
        cut = arrays.reshape(input_x, (b, b, n // (b * b), c, h, w))
        plane = arrays.reshape(
            arrays.transpose(cut, (2, 3, 4, 0, 5, 1)), (n // (b * b), c, h * b, w * b)
        )
        return rearrange.pad_by(
            plane, ((0, 0), (0, 0), *((-low, -high) for low, high in self.crops))
        )


__all__ = [
    "BatchToSpace",
    "ChannelShuffle",
    "Cross",
    "DType",
    "DepthToSpace",
    "Diag",
    "Einsum",
    "Fill",
    "FillV2",
    "GatherNd",
    "Identity",
    "IndexAdd",
    "IndexFill",
    "InplaceAdd",
    "InplaceSub",
    "InplaceUpdate",
    "LinSpace",
    "MaskedSelect",
    "MatrixBandPart",
    "Meshgrid",
    "MirrorPad",
    "NanToNum",
    "NonZero",
    "OneHot",
    "Pad",
    "Range",
    "ReverseSequence",
    "ReverseV2",
    "ScatterNd",
    "SearchSorted",
    "Slice",
    "Sort",
    "SpaceToBatchND",
    "SpaceToDepth",
    "StridedSlice",
    "TensorScatterAdd",
    "TensorScatterDiv",
    "TensorScatterMax",
    "TensorScatterMin",
    "TensorScatterMul",
    "TensorScatterSub",
    "TensorScatterUpdate",
    "Tile",
    "TopK",
    "Tril",
    "TrilIndices",
    "Triu",
    "TriuIndices",
    "Unique",
    "UnsortedSegmentMax",
    "UnsortedSegmentMin",
    "UnsortedSegmentProd",
    "UnsortedSegmentSum",
]
