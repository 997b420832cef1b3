"""The names of saved values, which are the same in a forward function and its backward function.

>>> from autodiff_compiler.ir.parser import parse_function
>>> forward = parse_function('''
... # role='forward'
... func @f_forward(%x: f32[2]) -> (f32[2], (f32[2], f32[2])) {
...   %y: f32[2] = sin %x
...   %z: f32[2] = cos %x
...   %residuals: (f32[2], f32[2]) = make_tuple %y, %z
...   return %y, %residuals
... }
... ''')
>>> backward = parse_function('''
... # role='backward'
... func @f_backward(%residuals: (f32[2], f32[2]), %d_y: f32[2]) -> (f32[2]) {
...   %b: f32[2] = item %residuals {key=1}
...   %d_x: f32[2] = mul %d_y, %b
...   return %d_x
... }
... ''')
>>> printed = {op.result: f"{op.result.name}_1" for op in forward.body.ops}
>>> {value.name: name for value, name in saved_names(backward, [(forward, printed)]).items()}
{'b': 'z_1'}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autodiff_compiler.ir.nodes import Function, Op, Value, type_of
from autodiff_compiler.ir.rewrite import producers


def saved_names(
    backward: Function, earlier: Sequence[tuple[Function, Mapping[Value, str]]]
) -> dict[Value, str]:
    """Returns the names of the values that ``backward`` takes from its residuals.

    earlier  the functions that are named already, with the names of their values.
    """
    pair = _forward_of(backward, earlier)
    if pair is None:
        return {}
    packed, names = pair
    saved: dict[Value, str] = {}
    for op in backward.body.ops:
        if op.name == "item" and op.operands[0] is backward.params[0]:
            key = op.attrs["key"]
            operand = packed.operands[key] if key < len(packed.operands) else None
            if isinstance(operand, Value) and operand in names:
                saved.setdefault(op.result, names[operand])
    return saved


def _forward_of(
    backward: Function, earlier: Sequence[tuple[Function, Mapping[Value, str]]]
) -> tuple[Op, Mapping[Value, str]] | None:
    """Returns the operation that packs the residuals of ``backward``, and the names around it."""
    if backward.role != "backward" or not backward.params:
        return None
    wanted = forward_name(backward.name)
    best: tuple[Op, Mapping[Value, str]] | None = None
    rank = (False, False)
    named = [pair for pair in earlier if pair[0].name == wanted]
    for forward, names in (*named, *(() if _fits(named, backward) else earlier)):
        if not _may_be_pair(forward, backward):
            continue
        packed = producers(forward.body).get(forward.residuals)
        if packed is None or packed.name != "make_tuple":
            continue
        same_type = type_of(packed.result) == backward.params[0].type
        if best is None or (same_type, forward.name == wanted) > rank:
            best, rank = (packed, names), (same_type, forward.name == wanted)
    return best


def _fits(named: Sequence[tuple[Function, Mapping[Value, str]]], backward: Function) -> bool:
    """True if the forward function of the right name packs what ``backward`` takes."""
    for forward, _ in named:
        if _may_be_pair(forward, backward):
            packed = producers(forward.body).get(forward.residuals)
            if packed is not None and packed.name == "make_tuple":
                return bool(type_of(packed.result) == backward.params[0].type)
    return False


def _may_be_pair(forward: Function, backward: Function) -> bool:
    """True if both were made of one source function by the same number of sweeps."""
    source = backward.title, backward.span, backward.order
    return forward.role == "forward" and (forward.title, forward.span, forward.order) == source


def forward_name(backward: str) -> str:
    """Returns the name of the forward function of a backward function.

    >>> forward_name("dense_2_backward"), forward_name("dense_backward_2")
    ('dense_2_forward', 'dense_forward_2')
    """
    before, _, number = backward.rpartition("_backward")
    return f"{before}_forward{number}"


def backward_name(forward: str) -> str:
    """Returns the name of the backward function of a forward function.

    >>> backward_name("dense_2_forward"), backward_name("dense_forward_2")
    ('dense_2_backward', 'dense_backward_2')
    """
    before, _, number = forward.rpartition("_forward")
    return f"{before}_backward{number}"


__all__ = ["backward_name", "forward_name", "saved_names"]
