"""Operators that make views: other axes on the same elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loops.core.state import Lowering, array_facts
from autodiff_compiler.loops.core.values import Array, reshaped_strides


def _view(change: Callable[[Lowering, Op, Array], Array]) -> Callable[[Lowering, Op], None]:
    """Returns a rule that binds the result to a view, or to the number that it is."""

    def rule(low: Lowering, op: Op) -> None:
        dtype, shape = array_facts(op.result.type)
        source = low.represent(op.operands[0])
        if not isinstance(source, Array):
            source = low.array(op.operands[0])
        view = change(low, op, source)
        assert view.shape == shape and view.dtype == dtype, (op, view)
        low.bind(op.result, view if shape else low.let(op.result.name, view.load(())))

    return rule


def _reshape(low: Lowering, op: Op, x: Array) -> Array:
    _, shape = array_facts(op.result.type)
    strides = reshaped_strides(x, shape)
    if strides is None:
        x = low.copied(x, op.result.name)
        strides = reshaped_strides(x, shape)
        assert strides is not None
    return x.with_axes(shape, strides)


def _transpose(low: Lowering, op: Op, x: Array) -> Array:
    perm = [axis % len(x.shape) for axis in op.attrs["perm"]]
    return x.with_axes([x.shape[a] for a in perm], [x.strides[a] for a in perm])


def _swap_last_axes(low: Lowering, op: Op, x: Array) -> Array:
    return x.with_axes((*x.shape[:-2], *x.shape[:-3:-1]), (*x.strides[:-2], *x.strides[:-3:-1]))


def _broadcast_to(low: Lowering, op: Op, x: Array) -> Array:
    _, shape = array_facts(op.result.type)
    lead = len(shape) - len(x.shape)
    strides = [
        0 if axis < lead or x.shape[axis - lead] == 1 else x.strides[axis - lead]
        for axis in range(len(shape))
    ]
    return x.with_axes(shape, strides)


def _flip(low: Lowering, op: Op, x: Array) -> Array:
    axes = op.attrs["axes"]
    axes = range(len(x.shape)) if axes is None else [axis % len(x.shape) for axis in axes]
    at, strides = x.at, list(x.strides)
    for axis in axes:
        at += strides[axis] * (x.shape[axis] - 1)
        strides[axis] = -strides[axis]
    return Array(x.buffer, at, x.shape, tuple(strides))


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "reshape": _view(_reshape),
    "expand_dims": _view(_reshape),
    "squeeze": _view(_reshape),
    "transpose": _view(_transpose),
    "swap_last_axes": _view(_swap_last_axes),
    "broadcast_to": _view(_broadcast_to),
    "flip": _view(_flip),
}
