"""Copy elision for lists: changes of a list happen in place where nothing can observe it.

``list_append`` returns a new list. In a loop of n iterations that would copy n²/2 items. After all
optimisation the old list may be changed, if it belongs to this function and is not read afterwards.

``ir/verify/list_safety.py`` has the alias analysis. If only the initial value of a loop is in the
way, the list is copied once, before the loop.

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

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.labels import WRITTEN_IN_LOOP
from autodiff_compiler.ir.nodes import Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions
from autodiff_compiler.ir.verify.list_safety import LOOPS, ListAliases, ListChange, list_changes
from autodiff_compiler.operators.lists.runtime_lists import list_copy
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body, with_inits


def update_lists_in_place(function: Function) -> Function:
    """Marks the changes of lists in ``function`` that may happen in place."""
    sites = list_changes(function, in_place=False)
    if not sites:
        return function
    for depth in range(max(len(site.around) for site in sites)):
        copied = _with_useful_copies(function, sites, depth)
        if copied is not None:
            function = copied
            sites = list_changes(function, in_place=False)
    roots = ListAliases(function)
    free = {site.op for site in sites if roots.may_change_in_place(site)}
    return with_body(function, _marked(function.body, free))


def _with_useful_copies(
    function: Function, sites: Sequence[ListChange], depth: int
) -> Function | None:
    """Returns ``function`` with copies of initial values of loops at ``depth``.

    They are the lists that prevent a change in place. Returns None if the copies free no change.
    """
    roots = ListAliases(function)
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
    now = list_changes(copied, in_place=False)
    after = ListAliases(copied)
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
