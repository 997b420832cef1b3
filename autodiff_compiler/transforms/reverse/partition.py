"""Partition of a sweep: the values that the backward region reads of its forward region.

Every value that is read is saved (a residual), so the backward region is first rewritten to read
less. Operations whose results nothing reads are dropped. If only the shape of an array is read, the
shape is saved. If an array is only compared, the comparisons are saved. Some values are
rematerialised in place of being saved (``rematerialization.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value, array_type
from autodiff_compiler.ir.rewrite import free_values, map_regions, substitute, uses_of
from autodiff_compiler.ir.types import ArrayType, size_of
from autodiff_compiler.operators.core.structure import reshape
from autodiff_compiler.transforms.reverse.element_residuals import save_elements_only
from autodiff_compiler.transforms.reverse.rematerialization import (
    defined,
    free_row_reads,
    rematerialize_free,
    rematerialize_late,
    without_effects,
)


@dataclass(frozen=True)
class Partition:
    """The forward operations, the backward region, and the forward values that it reads.

    ``saved`` is in order of definition, parameters first.
    """

    forward: tuple[Op, ...]
    backward: Region
    saved: tuple[Value, ...]


def partition(
    params: Sequence[Value],
    forward: Sequence[Op],
    backward: Region,
    unset: Container[Value] = (),
    recompute: bool = False,
    taped: Container[AnyOperand] | None = None,
    simplify_jointly: Callable[[Region], Region] | None = None,
    counters: Container[AnyOperand] = (),
    trip_count: int | None = None,
    changing: AbstractSet[AnyOperand] = frozenset(),
) -> Partition:
    """Determines what ``backward`` reads of ``params`` and of the results of ``forward``.

    unset             values that may be unset: their shape is not read earlier than before.
    recompute         rematerialises all that has no effect, and saves the rest.
    taped             in the body of a loop: the values that other iterations save. A value is
                      saved once per iteration there.
    counters          the numbers of an iteration, which the backward loop has as well.
    trip_count        the number of iterations, if known.
    changing          arrays whose items a loop writes: only the items that are read are saved.
    simplify_jointly  rewrites both as one region, before anything else may divide them.
    """
    backward = prune(backward)
    forward, backward = save_elements_only(forward, backward, changing, unset)
    forward, backward = _save_shapes_only(params, forward, backward, unset)
    backward = _reuse_reductions(forward, backward)
    if not recompute:
        forward, backward = _save_comparisons_only(params, forward, backward, unset)
    if simplify_jointly and not recompute:
        backward = _simplify_jointly(params, forward, backward, simplify_jointly)
    backward = _reuse_saved_values(forward, backward)
    rows = frozenset[Op]()
    if counters:
        rows = free_row_reads(params, forward, counters, trip_count, changing)
    backward = rematerialize_free(forward, backward, recompute, rows, changing)
    backward = rematerialize_late(params, forward, backward, taped)
    free = free_values(backward)
    saved = [value for value in defined(params, forward) if value in free]
    return Partition(tuple(forward), backward, tuple(saved))


def prune(region: Region, effects: Effects | None = None) -> Region:
    """Drops the operations whose results nothing reads."""
    effects = effects or Effects()
    remaining: list[Op] = []
    read = {value for value in region.yields if isinstance(value, Value)}
    for op in reversed(region.ops):
        if effects.has(op) or any(result in read for result in op.results):
            op = map_regions(op, lambda inner: prune(inner, effects))
            remaining.append(op)
            read.update(uses_of(op))
    if len(remaining) == len(region.ops) and all(
        a is b for a, b in zip(reversed(remaining), region.ops)
    ):
        return region
    return Region(region.params, tuple(reversed(remaining)), region.yields)


def _save_shapes_only(
    params: Sequence[Value], forward: Sequence[Op], backward: Region, unset: Container[Value]
) -> tuple[Sequence[Op], Region]:
    """Moves ``shape_of(v)`` to the end of forward if backward reads nothing else of ``v``."""
    shapes: dict[Value, list[Op]] = {}
    for op in backward.walk():
        if op.name == "shape_of" and isinstance(op.operands[0], Value):
            shapes.setdefault(op.operands[0], []).append(op)
    read_otherwise = _read_by_others(backward, {op for ops in shapes.values() for op in ops})
    moved = {
        value: shapes[value]
        for value in defined(params, forward)
        if value in shapes and value not in read_otherwise and value not in unset
    }
    if not moved:
        return forward, backward
    moved_ops = {op for ops in moved.values() for op in ops}
    mapping = {op.result: ops[0].result for ops in moved.values() for op in ops[1:]}
    backward = substitute(_without(backward, moved_ops), mapping)
    return [*forward, *(replace(ops[0], role="primal") for ops in moved.values())], backward


def _save_comparisons_only(
    params: Sequence[Value], forward: Sequence[Op], backward: Region, unset: Container[Value]
) -> tuple[Sequence[Op], Region]:
    """Moves comparisons to the end of forward if their results are smaller than their operand.

    The operand is a large result of forward that backward reads for nothing else.
    """
    results = {result for op in forward for result in op.results}
    available = {value for value in results.union(params) if value not in unset}
    comparisons = [
        op for op in backward.ops if _is_comparison(op) and available.issuperset(uses_of(op))
    ]
    read_otherwise = _read_by_others(backward, set(comparisons))
    compared: defaultdict[Value, list[Op]] = defaultdict(list)
    for op in comparisons:
        for value in uses_of(op):
            large = size_of(value.type) >= costs().rematerialised_bytes
            if large and value in results and value not in read_otherwise:
                compared[value].append(op)
    moved_ops: set[Op] = set()
    for value, ops in compared.items():
        if sum(size_of(op.result.type) for op in ops) < size_of(value.type):
            moved_ops.update(ops)
    if not moved_ops:
        return forward, backward
    moved = [replace(op, role="primal") for op in backward.ops if op in moved_ops]
    return [*forward, *moved], _without(backward, moved_ops)


def _is_comparison(op: Op) -> bool:
    """True if the operation makes an array of bools, element by element."""
    types = [result.type for result in op.results]
    return op.opdef.kind == "zero" and [getattr(t, "dtype", None) for t in types] == ["bool"]


def _read_by_others(region: Region, ops: Container[Op]) -> set[Value]:
    """Collects the values that other operations than ``ops`` read, and the yields."""
    read = {value for value in region.yields if isinstance(value, Value)}
    for op in region.ops:
        if op not in ops:
            read.update(operand for operand in op.operands if isinstance(operand, Value))
        for inner in op.regions:
            read |= _read_by_others(inner, ops)
    return read


def _without(region: Region, removed: set[Op]) -> Region:
    """Removes operations at any depth."""
    ops = tuple(
        map_regions(op, lambda inner: _without(inner, removed))
        for op in region.ops
        if op not in removed
    )
    return region if list(ops) == list(region.ops) else Region(region.params, ops, region.yields)


def _reuse_reductions(forward: Sequence[Op], backward: Region) -> Region:
    """Reads the sums and means of forward in place of computing them again.

    They are small to save, and slow to compute.
    """
    known = {op.value_key: op for op in forward if _is_small_reduction(op)}
    if not known:
        return backward
    ops: list[Op] = []
    mapping: dict[Value, AnyOperand] = {}
    for op in backward.ops:
        for keepdims in (True, False) if _is_small_reduction(op) else ():
            reduction = known.get(replace(op, attrs={**op.attrs, "keepdims": keepdims}).value_key)
            if reduction is not None and reduction.result.type == op.result.type:
                mapping[op.result] = reduction.result
            elif reduction is not None:
                shape = {"shape": array_type(op.result).shape}
                op = replace(op, opdef=reshape, operands=(reduction.result,), attrs=shape)
                break
        ops.append(op)
    return prune(substitute(Region(backward.params, tuple(ops), backward.yields), mapping))


def _is_small_reduction(op: Op) -> bool:
    """True if the result is much smaller than the array that the operation reduces."""
    if len(op.operands) != 1 or len(op.results) != 1 or op.regions or op.opdef.effect:
        return False
    result = op.result.type
    if not isinstance(result, ArrayType) or not result.is_static:
        return False
    ratio = costs().small_sum_ratio
    reduces = {"axes", "keepdims"} <= op.attrs.keys()
    return reduces and ratio * max(size_of(result), 1) <= size_of(op.types[0])


def _simplify_jointly(
    params: Sequence[Value],
    forward: Sequence[Op],
    backward: Region,
    simplify: Callable[[Region], Region],
) -> Region:
    """Returns ``backward`` as ``simplify`` leaves it in one region with forward.

    Forward stays as it is. If the new backward reads values that forward does not make, the old
    one is returned.
    """
    forward_values = set(defined(params, forward))
    free = [value for value in free_values(backward) if value not in forward_values]
    both = Region((*params, *free), (*forward, *backward.ops), backward.yields)
    simplified = simplify(both)
    if simplified is both:
        return backward
    known = set(defined((), forward))
    ops = [op for op in simplified.ops if op.role != "primal" and known.isdisjoint(op.results)]
    better = prune(Region(backward.params, tuple(ops), simplified.yields))
    return better if known.union(both.params).issuperset(free_values(better)) else backward


def _reuse_saved_values(forward: Sequence[Op], backward: Region) -> Region:
    """Replaces results of backward by equal values of forward that it reads anyway.

    A derivative that is differentiated again has such values: ``1 - t * t`` is in both functions
    of the second derivative of tanh.
    """
    needed, effects = free_values(backward), Effects()

    def key(op: Op, same: Mapping[Value, Value]) -> Hashable:
        if op.regions or effects.has(op):
            return None
        operands = tuple(same.get(o, o) if isinstance(o, Value) else o for o in op.operands)
        changed = any(a is not b for a, b in zip(operands, op.operands))
        return (replace(op, operands=operands) if changed else op).value_key

    known = {key(op, {}): op for op in reversed(forward)}
    known.pop(None, None)
    same: dict[Value, Value] = {}
    for op in backward.ops:
        equal_op = known.get(key(op, same))
        same.update(zip(op.results, equal_op.results) if equal_op else ())
    mapping = {here: there for here, there in same.items() if there in needed}
    return prune(substitute(backward, mapping)) if mapping else backward


__all__ = ["Partition", "partition", "prune", "without_effects"]
