"""Copy elision for lists: changes of a list happen in place where nothing can observe it.

``list_append`` returns a new list. In a loop of n iterations that would copy n²/2 items. After all
optimisation the old list may be changed, if it belongs to this function and is not read afterwards.

The pass is an alias analysis. Two values may be one list if an operation passes a list on: a yield
of a branch, a carry of a loop, a tuple that holds it, or a call. The *roots* of a value are the
operations that made the lists that it may be. A change is possible in place if no parameter holds
the list, and no alias of it is used afterwards. The aliases are the values with a common root that
are known at the change. In a loop, *afterwards* includes the next iteration. If only the initial
value of a loop is in the way, the list is copied once, before the loop.

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
from autodiff_compiler.ir.labels import WRITTEN_IN_LOOP
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import free_values, map_regions, uses_of
from autodiff_compiler.ir.types import DictType, ListType, TupleType, Type
from autodiff_compiler.operators.lists.runtime_lists import list_copy
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body, with_inits

CHANGES = ("list_append", "list_head", "list_set", "list_add_at")
LOOPS = ("for", "while")
#: Operations whose results may be their operands, or be held by them.
HOLDERS = ("make_tuple", "make_dict", "make_list", "item", "list_item", "call", *CHANGES)


def update_lists_in_place(function: Function) -> Function:
    """Marks the changes of lists in ``function`` that may happen in place."""
    if not any(_may_change(op) for op in function.body.walk()):
        return function
    sites = list(_sites(function.body, (), frozenset(function.params)))
    for depth in range(max(len(site.around) for site in sites)):
        copied = _with_useful_copies(function, sites, depth)
        if copied is not None:
            function = copied
            sites = list(_sites(function.body, (), frozenset(function.params)))
    roots = _Roots(function)
    free = {site.op for site in sites if roots.may_change_in_place(site)}
    return with_body(function, _marked(function.body, free))


@dataclass(frozen=True)
class _Position:
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
class _Site:
    """A change of a list, and the operations around it, outermost first."""

    position: _Position
    around: tuple[_Position, ...]

    @property
    def op(self) -> Op:
        return self.position.op


def _may_change(op: Op) -> bool:
    return op.name in CHANGES and isinstance(op.operands[0], Value) and not op.attrs.get("in_place")


def _sites(
    region: Region, around: tuple[_Position, ...], known: frozenset[Value]
) -> Iterator[_Site]:
    known |= frozenset(region.params)
    for place, op in enumerate(region.ops):
        position = _Position(region, place, known)
        if _may_change(op):
            yield _Site(position, around)
        for inner in op.regions:
            yield from _sites(inner, (*around, position), known)
        known |= frozenset(op.results)


class _Roots:
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

    def may_be_changed(self, param: Value, site: _Site) -> bool:
        """True if ``param`` is a list that may be the one that ``site`` changes."""
        list_roots = self.of(site.op.operands[0])
        return isinstance(param.type, ListType) and not list_roots.isdisjoint(self.of(param))

    def may_change_in_place(self, site: _Site) -> bool:
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


def _with_useful_copies(function: Function, sites: Sequence[_Site], depth: int) -> Function | None:
    """Returns ``function`` with copies of initial values of loops at ``depth``.

    They are the lists that prevent a change in place. Returns None if the copies free no change.
    """
    roots = _Roots(function)
    entries: dict[Op, set[int]] = {}
    prevented = [site for site in sites if not roots.may_change_in_place(site)]
    for site in prevented:
        outer = site.around[depth].op if depth < len(site.around) else None
        if outer is None or outer.name not in LOOPS:
            continue
        for number, param in enumerate(Loop(outer).carry_params):
            if roots.may_be_changed(param, site):
                entries.setdefault(outer, set()).add(number)
    if not entries:
        return None
    copied = with_body(function, _with_copies(function.body, entries))
    now = list(_sites(copied.body, (), frozenset(copied.params)))
    after = _Roots(copied)
    still = sum(not after.may_change_in_place(site) for site in now)
    return copied if still < len(prevented) else None


def _with_copies(region: Region, entries: dict[Op, set[int]]) -> Region:
    ops: list[Op] = []
    for op in region.ops:
        now = map_regions(op, lambda inner: _with_copies(inner, entries))
        if op in entries:
            builder, inits = Builder(), Loop(now).inits
            with builder, builder.at(op.span, op.role), builder.with_aside(WRITTEN_IN_LOOP):
                lists = [n for n in sorted(entries[op]) if isinstance(inits[n], Value)]
                copies = {number: list_copy(inits[number]) for number in lists}
            ops += builder.ops
            now = with_inits(now, copies)
        ops.append(now)
    return Region(region.params, tuple(ops), region.yields)


def _marked(region: Region, free: set[Op]) -> Region:
    def visit(op: Op) -> Sequence[Op]:
        return (replace(op, attrs={**op.attrs, "in_place": True}) if op in free else op,)

    return rewrite_region(region, {}, visit)
