"""Alias analysis of lists: which changes may happen in place, and a check of those that do.

Two values may be one list if an operation passes a list on: a yield of a branch, a carry of a loop,
a tuple that holds it, or a call. The *roots* of a value are the operations that made the lists that
it may be. A change is possible in place if no parameter holds the list, and no alias of it is used
afterwards. The aliases are the values with a common root that are known at the change. In a loop,
*afterwards* includes the next iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import free_values, uses_of
from autodiff_compiler.ir.types import DictType, ListType, TupleType, Type

CHANGES = ("list_append", "list_head", "list_set", "list_add_at")
LOOPS = ("for", "while")
#: Operations whose results may be their operands, or be held by them.
HOLDERS = ("make_tuple", "make_dict", "make_list", "item", "list_item", "call", *CHANGES)


@dataclass(frozen=True)
class Position:
    """An operation in its region: its place there, and the values known before it."""

    region: Region
    place: int
    known: frozenset[Value]

    @property
    def op(self) -> Op:
        return self.region.ops[self.place]

    def used_later(self) -> Iterator[Value]:
        """Yields the values that are used after the operation, in the same region."""
        for op in self.region.ops[self.place + 1 :]:
            yield from uses_of(op)
        yield from (value for value in self.region.yields if isinstance(value, Value))


@dataclass(frozen=True)
class ListChange:
    """A change of a list, and the operations around it, outermost first."""

    position: Position
    around: tuple[Position, ...]

    @property
    def op(self) -> Op:
        return self.position.op


def list_changes(function: Function, in_place: bool) -> list[ListChange]:
    """Returns the changes of lists that are, or are not yet, marked as in place."""

    def changes(
        region: Region, around: tuple[Position, ...], known: frozenset[Value]
    ) -> Iterator[ListChange]:
        recent = [*region.params]  # Many operations change no list: sets are joined where one does.
        for place, op in enumerate(region.ops):
            if op.regions or is_list_change(op):
                known, recent = known.union(recent), []
                position = Position(region, place, known)
                if is_list_change(op) and bool(op.attrs.get("in_place")) is in_place:
                    yield ListChange(position, around)
                for inner in op.regions:
                    yield from changes(inner, (*around, position), known)
            recent += op.results

    return [*changes(function.body, (), frozenset(function.params))]


def is_list_change(op: Op) -> bool:
    """True if ``op`` returns a changed list."""
    return op.name in CHANGES and isinstance(op.operands[0], Value)


class ListAliases:
    """The roots of each value: the values that made the lists which it may be, or hold.

    All parameters have the root ``None``: their other owners are unknown.
    """

    def __init__(self, function: Function):
        self.roots: dict[Value, set[Value | None]] = {
            param: {None} for param in function.params if _holds(param)
        }
        before = -1
        # Loops pass lists round, so the roots grow up to a fixed point.
        while before != (now := sum(map(len, self.roots.values()))):
            before = now
            for op in function.body.walk():
                self.flow(op)

    def flow(self, op: Op) -> None:
        """Passes roots from operands to results, and along the ports of branches and loops."""
        if op.name == "if":
            for result, *yields in zip(op.results, *(region.yields for region in op.regions)):
                self.reach(yields, result)
        elif op.name in LOOPS:
            self.flow_around(Loop(op))
        else:
            passes_on = op.name in HOLDERS or any(_nests(x) for x in op.operands)
            for result in op.results:
                self.reach(op.operands if passes_on else (), result)
                if op.name not in CHANGES and _holds(result):
                    self.roots[result].add(result)

    def flow_around(self, loop: Loop) -> None:
        tested = loop.condition.params if loop.condition else loop.carry_params
        for init, param, test, after, result in zip(
            loop.inits, loop.carry_params, tested, loop.carry_yields, loop.carried
        ):
            for end in (param, test, result):
                self.reach((init, after), end)
        for source, param in zip(loop.reads, loop.read_params):
            self.reach((source,), param)
        for item, result in zip(loop.stack_yields, loop.stacked):
            self.reach((item,), result)
            self.roots[result].add(result)

    def reach(self, sources: Iterable[AnyOperand], target: Value) -> None:
        if _holds(target):
            roots = self.roots.setdefault(target, set())
            roots.update(*(self.of(source) for source in sources))

    def of(self, operand: AnyOperand) -> set[Value | None]:
        return self.roots.get(operand, set()) if isinstance(operand, Value) else set()

    def may_be_changed(self, param: Value, site: ListChange) -> bool:
        """True if ``param`` is a list that may be the one that ``site`` changes."""
        list_roots = self.of(site.op.operands[0])
        return isinstance(param.type, ListType) and not list_roots.isdisjoint(self.of(param))

    def may_change_in_place(self, site: ListChange) -> bool:
        """True if no alias of the list is used after its change."""
        list_roots = self.of(site.op.operands[0])
        if None in list_roots:
            return False

        def has_alias(values: Iterable[Value], known: frozenset[Value]) -> bool:
            return any(v in known and not list_roots.isdisjoint(self.of(v)) for v in values)

        if has_alias(site.position.used_later(), site.position.known):
            return False
        for outer in site.around:
            next_iteration: set[Value] = set()
            if outer.op.name in LOOPS:
                free = (value for region in outer.op.regions for value in free_values(region))
                reads = (x for x in Loop(outer.op).reads if isinstance(x, Value))
                next_iteration = {*free, *reads}
            if has_alias((*outer.used_later(), *next_iteration), outer.known):
                return False
        return True


def _holds(operand: AnyOperand) -> bool:
    return isinstance(operand, Value) and _has_list(operand.type)


def _has_list(type_: Type) -> bool:
    if isinstance(type_, (TupleType, DictType)):
        return any(map(_has_list, type_.items))
    return isinstance(type_, ListType)


def _nests(operand: AnyOperand) -> bool:
    """True if a list in ``operand`` has lists for items."""
    type_ = operand.type if isinstance(operand, Value) else None
    return isinstance(type_, ListType) and _has_list(type_.item)


def check_list_safety(function: Function, fail: Callable[[str], None]) -> None:
    """Calls ``fail`` for each list that is read after it was changed in place."""
    changes = list_changes(function, in_place=True)
    aliases = ListAliases(function) if changes else None
    for change in changes:
        if aliases is not None and not aliases.may_change_in_place(change):
            fail(f"a list is read after %{change.op.result.name} changed it in place")


__all__ = ["ListAliases", "ListChange", "check_list_safety", "is_list_change", "list_changes"]
