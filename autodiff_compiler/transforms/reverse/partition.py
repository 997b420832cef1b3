"""The cut: what a backward region reads of its forward region, and no more.

Before it is read off, what backward does not need is dropped, and a shape is taken in forward, so
that the array itself need not be kept for it; of what is but compared, the comparisons are kept.
What costs nothing is computed again, and so is a large sum or product of what is kept anyway, just
where backward reads it: that is quicker than to fetch it from memory, and its memory is free in
between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value
from autodiff_compiler.ir.rewrite import (
    clone_ops,
    free_values,
    map_regions,
    producers_among,
    substitute,
    uses_of,
)
from autodiff_compiler.ir.types import INT, ArrayType, is_floating, size_of
from autodiff_compiler.operators.core.structure import reshape
from autodiff_compiler.transforms.reverse.element_residuals import picked_forward

Operands = AbstractSet[AnyOperand]
#: What takes no longer than to read and write memory.
CHEAP = ("add", "sub", "mul", "div", "neg", "pow")


@dataclass(frozen=True)
class Partition:
    """The forward operations, the backward region, and the forward values that it reads.

    ``kept`` is in order of definition, parameters first.
    """

    forward: tuple[Op, ...]
    backward: Region
    kept: tuple[Value, ...]


def partition(
    params: Sequence[Value],
    forward: Sequence[Op],
    backward: Region,
    unset: Container[Value] = (),
    recompute: bool = False,
    taped: Container[AnyOperand] | None = None,
    together: Callable[[Region], Region] | None = None,
    counts: Container[AnyOperand] = (),
    turns: int | None = None,
    changing: Operands = frozenset(),
) -> Partition:
    """Divides; ``params`` and the results of ``forward`` are what ``backward`` may read.

    A value that may be ``unset`` is not asked for its shape before backward would. With
    ``recompute`` backward computes again all that has no effect, and keeps the rest. In the body of
    a loop a value is kept once an iteration; ``taped`` are those that other iterations keep, and
    ``counts`` the numbers of an iteration, which backward has as well; ``turns`` of them, if known.
    Of arrays whose items are written in a loop (``changing``) it keeps the parts that are read.
    ``together`` is asked first to make both as one region shorter, as long as it is one.
    """
    backward = prune(backward)
    forward, backward = picked_forward(forward, backward, changing, unset)
    forward, backward = _shapes_forward(params, forward, backward, unset)
    backward = _at_hand(forward, backward)
    if not recompute:
        forward, backward = _compared_forward(params, forward, backward, unset)
    if together and not recompute:
        backward = _seen_together(params, forward, backward, together)
    backward = _kept_anyway(forward, backward)
    again = _rows(params, forward, counts, turns, changing) if counts else frozenset()
    backward = _computed_again(forward, backward, recompute, again, changing)
    backward = _computed_late(params, forward, backward, taped)
    free = free_values(backward)
    kept = [value for value in defined(params, forward) if value in free]
    return Partition(tuple(forward), backward, tuple(kept))


def defined(params: Sequence[Value], ops: Sequence[Op]) -> list[Value]:
    """Parameters and results in order."""
    return [*params, *(result for op in ops for result in op.results)]


def prune(region: Region, effects: Effects | None = None) -> Region:
    """``region`` without the operations whose results nobody reads."""
    effects = effects or Effects()
    kept: list[Op] = []
    read = {value for value in region.yields if isinstance(value, Value)}
    for op in reversed(region.ops):
        if effects.has(op) or any(result in read for result in op.results):
            op = map_regions(op, lambda inner: prune(inner, effects))
            kept.append(op)
            read.update(uses_of(op))
    if len(kept) == len(region.ops) and all(a is b for a, b in zip(reversed(kept), region.ops)):
        return region
    return Region(region.params, tuple(reversed(kept)), region.yields)


def _shapes_forward(
    params: Sequence[Value], forward: Sequence[Op], backward: Region, unset: Container[Value]
) -> tuple[Sequence[Op], Region]:
    """Moves ``shape_of(v)`` to the end of forward where backward needs nothing else of ``v``."""
    shapes: dict[Value, list[Op]] = {}
    for op in backward.walk():
        if op.name == "shape_of" and isinstance(op.operands[0], Value):
            shapes.setdefault(op.operands[0], []).append(op)
    read_otherwise = _read_by_others(backward)
    moved = {
        value: shapes[value]
        for value in defined(params, forward)
        if value in shapes and value not in read_otherwise and value not in unset
    }
    if not moved:
        return forward, backward
    gone = {op for ops in moved.values() for op in ops}
    mapping = {op.result: ops[0].result for ops in moved.values() for op in ops[1:]}
    backward = substitute(_without(backward, gone), mapping)
    return [*forward, *(replace(ops[0], role="primal") for ops in moved.values())], backward


def _compared_forward(
    params: Sequence[Value], forward: Sequence[Op], backward: Region, unset: Container[Value]
) -> tuple[Sequence[Op], Region]:
    """Moves comparisons to the end of forward where backward does nothing else with a value that
    forward makes, and they are smaller than it."""
    made = {result for op in forward for result in op.results}
    here = {value for value in made.union(params) if value not in unset}
    moves = {op for op in backward.ops if _is_comparison(op) and here.issuperset(uses_of(op))}
    read = {value for value in backward.yields if isinstance(value, Value)}
    for op in backward.ops:
        inner = (each for region in op.regions for each in region.walk())
        read.update(() if op in moves else uses_of(op), *map(uses_of, inner))
    wanted: dict[Value, list[Op]] = {}
    for op in backward.ops:
        for value in uses_of(op) if op in moves else ():
            large = size_of(value.type) >= costs().recomputed_bytes
            if value in made and value not in read and large:
                wanted.setdefault(value, []).append(op)
    gone = {
        op for value, ops in wanted.items() for op in ops
        if sum(size_of(each.result.type) for each in ops) < size_of(value.type)
    }  # fmt: skip
    if not gone:
        return forward, backward
    moved = [replace(op, role="primal") for op in backward.ops if op in gone]
    return [*forward, *moved], _without(backward, gone)


def _is_comparison(op: Op) -> bool:
    """Whether it makes an array of bools, element by element."""
    types = [result.type for result in op.results]
    return op.opdef.kind == "zero" and [getattr(t, "dtype", None) for t in types] == ["bool"]


def _read_by_others(region: Region) -> set[Value]:
    """The values that something else than ``shape_of`` reads."""
    found = {value for value in region.yields if isinstance(value, Value)}
    for op in region.ops:
        if op.name != "shape_of":
            found.update(operand for operand in op.operands if isinstance(operand, Value))
        for inner in op.regions:
            found |= _read_by_others(inner)
    return found


def _without(region: Region, gone: set[Op]) -> Region:
    """``region`` without certain operations, at any depth."""
    ops = tuple(
        map_regions(op, lambda inner: _without(inner, gone)) for op in region.ops if op not in gone
    )
    return region if list(ops) == list(region.ops) else Region(region.params, ops, region.yields)


def _at_hand(forward: Sequence[Op], backward: Region) -> Region:
    """``backward`` with the means and sums that forward has: they are small, and take long."""
    known = {op.value_key: op for op in forward if _is_reduced(op)}
    ops: list[Op] = []
    mapping: dict[Value, AnyOperand] = {}
    for op in backward.ops:
        for keepdims in (True, False) if known and _is_reduced(op) else ():
            found = known.get(replace(op, attrs={**op.attrs, "keepdims": keepdims}).value_key)
            if found is not None and found.result.type == op.result.type:
                mapping[op.result] = found.result
            elif found is not None:
                shape = {"shape": op.result.type.shape}  # type: ignore[attr-defined]
                op = replace(op, opdef=reshape, operands=(found.result,), attrs=shape)
                break
        ops.append(op)
    changed = Region(backward.params, tuple(ops), backward.yields)
    return prune(substitute(changed, mapping)) if known else backward


def _seen_together(
    params: Sequence[Value],
    forward: Sequence[Op],
    backward: Region,
    together: Callable[[Region], Region],
) -> Region:
    """``backward`` as it is in what ``together`` makes of both. Forward stays as it is: where the
    new one asks for what forward does not make, the old one stays, too."""
    made = set(defined(params, forward))
    free = [value for value in free_values(backward) if value not in made]
    both = Region((*params, *free), (*forward, *backward.ops), backward.yields)
    found = together(both)
    if found is both:
        return backward
    known = set(defined((), forward))
    ops = [op for op in found.ops if op.role != "primal" and known.isdisjoint(op.results)]
    better = prune(Region(backward.params, tuple(ops), found.yields))
    return better if known.union(both.params).issuperset(free_values(better)) else backward


def _kept_anyway(forward: Sequence[Op], backward: Region) -> Region:
    """``backward`` with what it would make and reads of forward anyway, as where a derivative is
    differentiated again: ``1 - t * t`` is in both halves of a tanh's second one."""
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
        found = known.get(key(op, same))
        same.update(zip(op.results, found.results) if found else ())
    mapping = {here: there for here, there in same.items() if there in needed}
    return prune(substitute(backward, mapping)) if mapping else backward


def _is_reduced(op: Op) -> bool:
    """Whether its result is much smaller than the array that it is made of."""
    if len(op.operands) != 1 or len(op.results) != 1 or op.regions or op.opdef.effect:
        return False
    result = op.result.type
    known = (
        isinstance(result, ArrayType)
        and result.is_static
        and {"axes", "keepdims"} <= op.attrs.keys()
    )
    return known and costs().small_sum_ratio * max(size_of(result), 1) <= size_of(op.types[0])


def _rows(
    params: Sequence[Value],
    forward: Sequence[Op],
    counts: Container[AnyOperand],
    turns: int | None,
    changing: Operands,
) -> frozenset[Op]:
    """What takes a part, at a place that the iteration tells, of an array around the loop: it lies
    there still, if not ``changing``. Also what counts such places. Not where the array is much more
    than its parts."""
    inside, places, found = set(defined(params, forward)), set[AnyOperand](), set[Op]()
    elsewhere = inside | changing

    def is_place(operand: AnyOperand) -> bool:
        return operand not in inside or operand in counts or operand in places

    for op in forward:
        takes = op.name == "index" and op.operands[0] not in elsewhere
        if takes and turns is not None:
            rows = turns * size_of(op.result.type)
            takes = size_of(op.types[0]) <= costs().kept_for_rows_ratio * rows
        sums = op.name in ("add", "sub", "mul") and op.result.type == INT
        if (takes or sums) and all(map(is_place, op.operands[takes:])):
            found.add(op)
            places.update(op.results if sums else ())
    return frozenset(found)


def _computed_again(
    forward: Sequence[Op], backward: Region, every: bool, cheap: Container[Op], changing: Operands
) -> Region:
    """Copies what costs nothing to its beginning: constants, and views of one value, of which that
    value is kept instead (so that a transpose of a transpose meets the first one). With ``every``
    also what costs something, unless it has an effect: a draw is a draw once."""
    needed, effects = free_values(backward), Effects()
    again = []
    for op in reversed(forward):
        if not any(result in needed for result in op.results):
            continue
        part = op.name == "index" and op.operands[0] in changing and op.operands[0] not in needed
        if not part and _costs_nothing(op) or op in cheap:
            again.append(replace(op, role="adjoint"))
            needed |= uses_of(op)
        elif every and not effects.has(quiet := map_regions(op, without_effects)):
            again.append(quiet)
            needed |= uses_of(quiet)
    if not again:
        return backward
    mapping: dict = {}
    copies = clone_ops(again[::-1], mapping)
    body = substitute(backward, mapping)
    return Region(body.params, (*copies, *body.ops), body.yields)


def _computed_late(
    params: Sequence[Value],
    forward: Sequence[Op],
    backward: Region,
    taped: Container[AnyOperand] | None,
) -> Region:
    """Puts copies of cheap operations on large values before what reads these, where their operands
    are kept anyway, or views of what is. Of what a loop keeps, everything is large. Arguments are
    there without being kept: where several large values wait for backward, few steps away from an
    argument are worth the memory. (One alone costs none: what backward makes takes its place.)"""
    needed = set(free_values(backward))
    made = producers_among(forward)
    #: What goes before each operation of backward, and where each value is read first.
    before: defaultdict[int, list[Op]] = defaultdict(list)
    first: dict[Value, int] = {}
    for place, op in enumerate(backward.ops):
        for value in uses_of(op):
            first.setdefault(value, place)
    mapping: dict[Value, AnyOperand] = {}
    sizes = sorted([size_of(value.type) for value in needed if value in made])

    def is_kept(value: Value) -> bool:
        return value in needed or value not in made and value not in params

    def steps(op: Op, left: int) -> list[Op] | None:
        """``op``, and before it what makes its operands again of what is there."""
        found = [op]
        for value in uses_of(op):
            if is_kept(value):
                continue
            maker = made.get(value)
            is_free = maker is not None and _costs_nothing(maker)
            if not is_free and (left <= 0 or maker is not None and not _is_cheap(maker)):
                return None
            earlier = [] if maker is None else steps(maker, left - _is_cheap(maker))
            if earlier is None:
                return None
            left -= sum(map(_is_cheap, earlier))
            found = [*earlier, *found]
        return found

    for op in reversed(forward):
        if not _is_cheap(op) or op.result not in needed or op.result in backward.yields:
            continue
        size = size_of(op.result.type)
        large = size >= costs().recomputed_bytes if taped is None else op.result not in taped
        smaller = bisect_left(sizes, size)
        several = taped is None and len(sizes) - smaller > 1
        found = steps(op, costs().recomputed_steps if several else 0) if large else None
        if found:
            copied = clone_ops([replace(each, role="adjoint") for each in found], {})
            mapping[op.result] = copied[-1].result
            here = before[place := first[op.result]]
            users = (k for k, user in enumerate(here) if op.result in uses_of(user))
            at = next(users, len(here))
            here[at:at] = copied
            for value in (value for each in copied for value in uses_of(each)):
                first[value] = min(place, first.get(value, place))
            needed.update(value for each in found for value in uses_of(each) if value not in made)
            needed.discard(op.result)
            del sizes[smaller]
    if not mapping:
        return backward
    ops = [each for k, op in enumerate(backward.ops) for each in (*before[k], op)]
    return substitute(Region(backward.params, tuple(ops), backward.yields), mapping)


def _is_cheap(op: Op) -> bool:
    """Whether it is one sign between arrays of floats, or a square."""
    if op.name not in CHEAP or op.name == "pow" and op.operands[1] != 2:
        return False
    type_ = op.result.type
    return isinstance(type_, ArrayType) and type_.dtype is not None and is_floating(type_)


def without_effects(region: Region) -> Region:
    """``region`` without what only prints or asserts: forward has done that."""
    ops = [
        map_regions(op, without_effects) for op in region.ops if op.results or not op.opdef.effect
    ]  # fmt: skip
    return Region(region.params, tuple(ops), region.yields)


def _costs_nothing(op: Op) -> bool:
    if op.regions or op.opdef.effect or "callee" in op.attrs:
        return False
    read = [operand for operand in op.operands if isinstance(operand, Value)]
    # A reshape copies where its operand is not contiguous.
    is_view = bool(op.opdef.views) and op.opdef is not reshape
    return not read or len(read) == 1 == len(op.operands) and is_view
