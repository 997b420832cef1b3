"""Helpers of passes and transforms: uses, substitution, cloning.

Nothing is mutated, and unchanged parts are shared. A function that finds nothing to change returns
its argument itself. A test with ``is`` then shows if a rewrite changed anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from operator import is_
from typing import TypeAlias

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value

#: The operation that made an operand. Literals and parameters are not in it, but may be asked for.
Producers: TypeAlias = Mapping[AnyOperand, Op]
#: The number of uses of an operand. Literals are not in it, but may be asked for.
UseCounts: TypeAlias = Mapping[AnyOperand, int]


def free_values(region: Region) -> dict[Value, None]:
    """Collects the values used inside ``region`` and defined outside, in order of first use.

    >>> from autodiff_compiler.ir.types import INT
    >>> x, y = Value(INT, "x"), Value(INT, "y")
    >>> list(free_values(Region((x,), (), (x, y, 3))))
    [%y: int]
    """
    return dict.fromkeys(_free(region))


def uses_of(op: Op) -> dict[Value, None]:
    """Collects the values that ``op`` reads, as operands or inside its regions."""
    values = {operand: None for operand in op.operands if isinstance(operand, Value)}
    for region in op.regions:
        values.update(dict.fromkeys(_free(region)))
    return values


def _free(region: Region) -> tuple[Value, ...]:
    """Computes ``free_values`` once; the result is stored on the region, which never changes."""
    noted: tuple[Value, ...] | None = vars(region).get("_free")
    if noted is None:
        free: dict[Value, None] = {}
        defined = set(region.params)
        for op in region.ops:
            _note_free(op.operands, defined, free)
            for inner in op.regions:
                _note_free(_free(inner), defined, free)
            defined.update(op.results)
        _note_free(region.yields, defined, free)
        noted = vars(region)["_free"] = tuple(free)
    return noted


def _note_free(
    operands: Iterable[AnyOperand], defined: set[Value], free: dict[Value, None]
) -> None:
    for operand in operands:
        if isinstance(operand, Value) and operand not in defined:
            free[operand] = None


def use_counts(region: Region) -> UseCounts:
    """Counts the uses of each value, yields and nested regions included.

    Unused values are absent.
    """
    counts: dict[AnyOperand, int] = {}

    def count(operands: Iterable[AnyOperand]) -> None:
        for operand in operands:
            if isinstance(operand, Value):
                counts[operand] = counts.get(operand, 0) + 1

    def visit(inner: Region) -> None:
        for op in inner.ops:
            count(op.operands)
            for nested in op.regions:
                visit(nested)
        count(inner.yields)

    visit(region)
    return counts


def producers(region: Region) -> dict[AnyOperand, Op]:
    """Maps each value to the operation that defines it, nested regions included."""
    return producers_among(region.walk())


def producers_among(ops: Iterable[Op]) -> dict[AnyOperand, Op]:
    """Maps each result of ``ops`` to its operation; nested regions are not entered."""
    return {result: op for op in ops for result in op.results}


def map_regions(op: Op, function: Callable[[Region], Region]) -> Op:
    """Applies ``function`` to each region of ``op``."""
    if not op.regions:
        return op
    regions = tuple([function(region) for region in op.regions])
    return op if _same(regions, op.regions) else replace(op, regions=regions)


def map_functions(region: Region, function: Callable[[Function], Function]) -> Region:
    """Applies ``function`` to every function that operations of ``region`` name."""

    def visit(op: Op) -> Op:
        op = map_regions(op, lambda inner: map_functions(inner, function))
        changed = {
            key: new
            for key, old in op.attrs.items()
            if isinstance(old, Function) and (new := function(old)) is not old
        }
        return replace(op, attrs={**op.attrs, **changed}) if changed else op

    ops = tuple([visit(op) for op in region.ops])
    return region if _same(ops, region.ops) else replace(region, ops=ops)


def rename(region: Region, names: Mapping[Value, Value]) -> Region:
    """Replaces results, both at their definitions and at their uses."""
    ops = []
    for op in substitute(region, names).ops:
        op = map_regions(op, lambda inner: rename(inner, names))
        if any(result in names for result in op.results):
            op = replace(op, results=tuple([names.get(r, r) for r in op.results]))
        ops.append(op)
    return Region(region.params, tuple(ops), substitute_operands(region.yields, names))


def substitute(region: Region, mapping: Mapping[Value, AnyOperand]) -> Region:
    """Replaces operands, once each: the replacement is not replaced again.

    Results and parameters keep their identity.
    """
    if not mapping:
        return region
    ops = tuple([substitute_op(op, mapping) for op in region.ops])
    yields = substitute_operands(region.yields, mapping)
    if yields is region.yields and _same(ops, region.ops):
        return region
    return Region(region.params, ops, yields)


def substitute_op(op: Op, mapping: Mapping[Value, AnyOperand]) -> Op:
    """Replaces the operands of ``op``, and those inside its regions."""
    operands = substitute_operands(op.operands, mapping)
    regions = op.regions
    if regions:
        mapped = tuple([substitute(region, mapping) for region in regions])
        regions = regions if _same(mapped, regions) else mapped
    if operands is op.operands and regions is op.regions:
        return op
    return replace(op, operands=operands, regions=regions)


def substitute_operands(
    operands: tuple[AnyOperand, ...], mapping: Mapping[Value, AnyOperand]
) -> tuple[AnyOperand, ...]:
    """Replaces operands in a tuple."""
    if mapping.keys().isdisjoint(operands):
        return operands
    mapped = tuple([mapping.get(o, o) if isinstance(o, Value) else o for o in operands])
    return operands if _same(mapped, operands) else mapped


def clone(
    region: Region, mapping: Mapping[Value, AnyOperand] | None = None
) -> tuple[Region, dict[Value, AnyOperand]]:
    """Copies ``region`` with fresh parameters and results.

    ``mapping`` replaces values from outside. Returned second: ``mapping`` extended by the copy of
    every value that is defined inside.
    """
    full = dict(mapping or {})
    return _clone(region, full), full


def clone_ops(ops: Iterable[Op], mapping: dict[Value, AnyOperand]) -> list[Op]:
    """Copies ``ops`` with fresh results, and operands replaced by ``mapping``, which it extends."""
    return [_clone_op(op, mapping) for op in ops]


def fresh(value: Value) -> Value:
    """Returns another value of the same type and name."""
    return Value(value.type, value.name, value.has_user_name)


def _clone(region: Region, mapping: dict[Value, AnyOperand]) -> Region:
    params = _fresh_all(region.params, mapping)
    ops = tuple(clone_ops(region.ops, mapping))
    return Region(params, ops, substitute_operands(region.yields, mapping))


def _clone_op(op: Op, mapping: dict[Value, AnyOperand]) -> Op:
    operands = substitute_operands(op.operands, mapping)
    regions = tuple([_clone(region, mapping) for region in op.regions])
    results = _fresh_all(op.results, mapping)
    return replace(op, operands=operands, regions=regions, results=results)


def _fresh_all(values: tuple[Value, ...], mapping: dict[Value, AnyOperand]) -> tuple[Value, ...]:
    copies = tuple([fresh(value) for value in values])
    mapping.update(zip(values, copies))
    return copies


def _same(left: tuple, right: tuple) -> bool:
    return all(map(is_, left, right))
