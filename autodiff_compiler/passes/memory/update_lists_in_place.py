"""Changes lists where they stand, instead of copying them, where nobody can tell.

``list_append`` gives a new list. In a loop of n iterations that would copy n²/2 items, so after all
optimisation the old list may be changed if it is this function's own and not read afterwards. Two
values may be one list if an operation hands a list on (a branch's yield, a loop's carry, a tuple
that holds it, a call): so a value has *roots*, the operations that made the lists that it may be. A
change is possible if the list is no parameter's, and no other value with one of its roots that is
known where the change stands is used after it; in a loop, *after* is also the next iteration. Where
only the way into a loop hinders, the list is copied once, before the loop.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: float, %n: int) -> (list[float]) {
...   %e: list[undefined] = make_list
...   %r: list[float], %c: int = for %k, %i in (0, %n, 1) carry (%p: list[float] = %e) {
...     %q: list[float] = list_append %p, %x
...     yield carry %q
...   }
...   return %r
... }
... ''')
>>> print(print_function(update_lists_in_place(before)), end='')
func @f(%x: float, %n: int) -> (list[float]) {
  %e: list[undefined] = make_list
  %r: list[float], %c: int = for %k, %i in (0, %n, 1) carry (%p: list[float] = %e) {
    %q: list[float] = list_append %p, %x {in_place=True}
    yield carry %q
  }
  return %r
}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import free_values, map_regions, uses_of
from autodiff_compiler.ir.types import DictType, ListType, TupleType, Type
from autodiff_compiler.operators.lists.runtime_lists import list_copy
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body

CHANGES = ("list_append", "list_head", "list_set", "list_add_at")
LOOPS = ("for", "while")
#: These hand lists on, or hold them: their results may be, or be held by, their operands.
HOLDERS = ("make_tuple", "make_dict", "make_list", "item", "list_item", "call", *CHANGES)


def update_lists_in_place(function: Function) -> Function:
    """Marks the changes of lists that may happen in place."""
    if not any(_may_change(op) for op in function.body.walk()):
        return function
    sites = list(_sites(function.body, (), frozenset(function.params)))
    for depth in range(max(len(site.around) for site in sites)):
        copied = _copied_on_entry(function, sites, depth)
        if copied is not None:
            function = copied
            sites = list(_sites(function.body, (), frozenset(function.params)))
    roots = _Roots(function)
    free = {site.op for site in sites if roots.is_free(site)}
    return with_body(function, _marked(function.body, free))


@dataclass(frozen=True)
class _Around:
    """An operation around a change: its region, its place there, and what is known before it."""

    region: Region
    place: int
    known: frozenset[Value]

    @property
    def op(self) -> Op:
        return self.region.ops[self.place]

    def later(self) -> Iterator[Value]:
        """What is used after the operation, in the same region."""
        for op in self.region.ops[self.place + 1 :]:
            yield from uses_of(op)
        yield from (value for value in self.region.yields if isinstance(value, Value))


@dataclass(frozen=True)
class _Site:
    """A change of a list, and where it stands; the outermost operation around it comes first."""

    here: _Around
    around: tuple[_Around, ...]

    @property
    def op(self) -> Op:
        return self.here.op


def _may_change(op: Op) -> bool:
    return op.name in CHANGES and isinstance(op.operands[0], Value) and not op.attrs.get("in_place")


def _sites(region: Region, around: tuple[_Around, ...], known: frozenset[Value]) -> Iterator[_Site]:
    known |= frozenset(region.params)
    for place, op in enumerate(region.ops):
        here = _Around(region, place, known)
        if _may_change(op):
            yield _Site(here, around)
        for inner in op.regions:
            yield from _sites(inner, (*around, here), known)
        known |= frozenset(op.results)


class _Roots:
    """Which lists a value may be, or hold: by the values that they began as. Parameters are all
    one, ``None``: nobody here knows who else holds them."""

    def __init__(self, function: Function):
        self.roots: dict[Value, set[Value | None]] = {
            param: {None} for param in function.params if _holds(param)
        }
        before = -1
        while before != (now := sum(map(len, self.roots.values()))):
            before = now
            for op in function.body.walk():
                self.flow(op)

    def flow(self, op: Op) -> None:
        """From operands to results, and along the ports of branches and loops."""
        if op.name == "if":
            for result, *yields in zip(op.results, *(region.yields for region in op.regions)):
                self.reach(yields, result)
        elif op.name in LOOPS:
            self.flow_around(Loop(op))
        else:
            handed = op.name in HOLDERS or any(_nests(x) for x in op.operands)
            for result in op.results:
                self.reach(op.operands if handed else (), result)
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
            found = self.roots.setdefault(target, set())
            found.update(*(self.of(source) for source in sources))

    def of(self, operand: AnyOperand) -> set[Value | None]:
        return self.roots.get(operand, set()) if isinstance(operand, Value) else set()

    def carries(self, param: Value, site: _Site) -> bool:
        """Whether ``param`` is a list that may be the one of ``site``."""
        found = self.of(site.op.operands[0])
        return isinstance(param.type, ListType) and not found.isdisjoint(self.of(param))

    def is_free(self, site: _Site) -> bool:
        """Whether a change may happen in place."""
        found = self.of(site.op.operands[0])
        if None in found:
            return False

        def met(values: Iterable[Value], known: frozenset[Value]) -> bool:
            return any(v in known and not found.isdisjoint(self.of(v)) for v in values)

        if met(site.here.later(), site.here.known):
            return False
        for outer in site.around:
            again: set[Value] = set()
            if outer.op.name in LOOPS:
                again = {value for region in outer.op.regions for value in free_values(region)}
                again |= {x for x in Loop(outer.op).reads if isinstance(x, Value)}
            if met((*outer.later(), *again), outer.known):
                return False
        return True


def _holds(operand: AnyOperand) -> bool:
    return isinstance(operand, Value) and _has_list(operand.type)


def _has_list(type_: Type) -> bool:
    if isinstance(type_, (TupleType, DictType)):
        return any(map(_has_list, type_.items))
    return isinstance(type_, ListType)


def _nests(operand: AnyOperand) -> bool:
    """Whether a list in ``operand`` has lists for items."""
    type_ = operand.type if isinstance(operand, Value) else None
    return isinstance(type_, ListType) and _has_list(type_.item)


def _copied_on_entry(function: Function, sites: Sequence[_Site], depth: int) -> Function | None:
    """With a copy of each list that a change in a loop at this depth is hindered by, before the
    loop; None if that frees no change."""
    roots = _Roots(function)
    entries: dict[Op, set[int]] = {}
    stuck = [site for site in sites if not roots.is_free(site)]
    for site in stuck:
        outer = site.around[depth].op if depth < len(site.around) else None
        if outer is None or outer.name not in LOOPS:
            continue
        for number, param in enumerate(Loop(outer).carry_params):
            if roots.carries(param, site):
                entries.setdefault(outer, set()).add(number)
    if not entries:
        return None
    copied = with_body(function, _with_copies(function.body, entries))
    now = list(_sites(copied.body, (), frozenset(copied.params)))
    fewer = _Roots(copied)
    return copied if sum(not fewer.is_free(site) for site in now) < len(stuck) else None


def _with_copies(region: Region, entries: dict[Op, set[int]]) -> Region:
    ops: list[Op] = []
    for op in region.ops:
        now = map_regions(op, lambda inner: _with_copies(inner, entries))
        if op in entries:
            builder, operands = Builder(), list(now.operands)
            first = len(operands) - len(Loop(op).reads) - len(Loop(op).inits)
            with builder, builder.at(op.span, op.role):
                for number in sorted(entries[op]):
                    if isinstance(operands[first + number], Value):
                        operands[first + number] = list_copy(operands[first + number])
            ops += builder.ops
            now = replace(now, operands=tuple(operands))
        ops.append(now)
    return Region(region.params, tuple(ops), region.yields)


def _marked(region: Region, free: set[Op]) -> Region:
    def visit(op: Op) -> Sequence[Op]:
        return (replace(op, attrs={**op.attrs, "in_place": True}) if op in free else op,)

    return rewrite_region(region, {}, visit)
