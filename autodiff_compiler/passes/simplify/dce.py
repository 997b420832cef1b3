"""Dead code elimination, also of the ports of loops and branches.

An operation stays if it has an effect or if one of its results is live: returned, or read by an
operation that stays. Single ports of a branch or loop die: a result of an ``if``, a carry that only
feeds itself, a stack, a read. The operands that decide which path control takes (predicates,
bounds, tests, ``until``) live as long as the operation. An operation without effect may go because
nothing can observe that. The exception is an item that may be missing: the demand for it goes only
if another operation reads the item. Calls keep all their results; their callee decides about them.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: float) -> (float) {
...   %unused: float = neg %x
...   %a: float, %b: int, %c: int = for %k, %i in (0, 9, 1) carry (%p: float = %x, %q: int = 1) {
...     %s: float = neg %p
...     %t: int = neg %q
...     yield carry %s, %t
...   }
...   return %a
... }
... ''')
>>> print(print_function(dce(before)), end='')
func @f(%x: float) -> (float) {
  %a: float, %c: int = for %k, %i in (0, 9, 1) carry (%p: float = %x) {
    %s: float = neg %p
    yield carry %s
  }
  return %a
}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions
from autodiff_compiler.passes.core.traversal import with_body, with_ops

LOOPS = ("for", "while")


def dce(function: Function) -> Function:
    """Removes the operations and ports of ``function`` that nothing reads."""
    live = _Liveness(function.body)
    live.mark_all()
    return with_body(function, _shrink(function.body, live))


class _Liveness:
    """Liveness, from the returns backward: ``values`` that are read, ``ops`` that must run."""

    def __init__(self, body: Region):
        self.values: set[Value] = set()
        self.ops: set[Op] = set()
        self._waiting: list[Value] = []
        #: For each value, the operation and the operands that live with it; for each operation, the
        #: one around it.
        self._needs: dict[Value, tuple[Op | None, tuple[AnyOperand, ...]]] = {}
        self._around: dict[Op, Op | None] = {}
        effects = Effects()
        self._enter(body, None)
        self.mark(body.yields)
        for op in list(self._around):
            if not op.regions and op.name != "require" and effects.has(op):
                self._run(op)
        self._requires = [op for op in self._around if op.name == "require"]

    def mark(self, operands: Iterable[AnyOperand]) -> None:
        for operand in operands:
            if isinstance(operand, Value) and operand not in self.values:
                self.values.add(operand)
                self._waiting.append(operand)

    def mark_all(self) -> None:
        """Marks everything that lives, and the demands for items that nothing else reads."""
        self._propagate()
        for op in reversed(self._requires):
            if self.values.isdisjoint(op.operands):
                self._run(op)
                self._propagate()

    def _propagate(self) -> None:
        while self._waiting:
            owner, needed = self._needs.get(self._waiting.pop(), (None, ()))
            self._run(owner)
            self.mark(needed)

    def _run(self, op: Op | None) -> None:
        """Notes that ``op`` must run, and hence the operations around it."""
        while op is not None and op not in self.ops:
            self.ops.add(op)
            if op.name == "if":
                self.mark(op.operands)
            elif op.name in LOOPS:
                loop = Loop(op)
                self.mark((*loop.bounds, loop.until))
                self.mark(loop.condition.yields if loop.condition else ())
            else:
                self.mark(op.operands)
                for region in op.regions:
                    self.mark(region.yields)
            op = self._around[op]

    def _enter(self, region: Region, owner: Op | None) -> None:
        for op in region.ops:
            self._around[op] = owner
            if op.name == "if":
                for result, *yields in zip(op.results, *(inner.yields for inner in op.regions)):
                    self._needs[result] = op, tuple(yields)
            elif op.name in LOOPS:
                self._enter_loop(op)
            else:
                self._needs.update((result, (op, ())) for result in op.results)
            for inner in op.regions:
                self._enter(inner, op)

    def _enter_loop(self, op: Op) -> None:
        loop = Loop(op)
        tested = loop.condition.params if loop.condition else loop.carry_params
        for group in zip(loop.carried, loop.carry_params, tested, loop.inits, loop.carry_yields):
            for value in group[:3]:
                self._needs[value] = op, group
        for result, item in zip(loop.stacked, loop.stack_yields):
            self._needs[result] = op, (item,)
        for param, source in zip(loop.read_params, loop.reads):
            self._needs[param] = op, (source,)
        for lead in (loop.position, loop.index, loop.count):
            if lead is not None:
                self._needs[lead] = op, ()


def _shrink(region: Region, live: _Liveness) -> Region:
    return with_ops(region, [_shrink_op(op, live) for op in region.ops if op in live.ops])


def _shrink_op(op: Op, live: _Liveness) -> Op:
    """Returns ``op`` without its dead ports, and with the live operations of its regions."""
    if not op.regions:
        return op
    now = map_regions(op, lambda region: _shrink(region, live))
    if op.name == "if":
        return _shrink_branch(now, live)
    return _shrink_loop(now, live) if op.name in LOOPS else now


def _shrink_branch(op: Op, live: _Liveness) -> Op:
    is_live = [result in live.values for result in op.results]
    if all(is_live):
        return op
    regions = tuple([Region(r.params, r.ops, _only(r.yields, is_live)) for r in op.regions])
    return replace(op, results=_only(op.results, is_live), regions=regions)


def _shrink_loop(op: Op, live: _Liveness) -> Op:
    loop, body = Loop(op), Loop(op).body
    carries = [result in live.values for result in loop.carried]
    stacks = [result in live.values for result in loop.stacked]
    reads = [param in live.values for param in loop.read_params]
    if all(carries) and all(stacks) and all(reads):
        return op
    lead = len(body.params) - len(carries) - len(reads)
    params = _only(body.params, [*[True] * lead, *carries, *reads])
    yields = _only(body.yields, [*carries, *stacks, *[True] * loop.has_until])
    regions = [Region(params, body.ops, yields)]
    if loop.condition is not None:
        test = loop.condition
        regions.insert(0, Region(_only(test.params, carries), test.ops, test.yields))
    return replace(
        op,
        operands=(*loop.bounds, *_only(loop.inits, carries), *_only(loop.reads, reads)),
        results=_only(op.results, [*carries, *stacks, True]),
        attrs={**op.attrs, "carries": sum(carries)},
        regions=tuple(regions),
    )


def _only(things: Sequence, wanted: Sequence[bool]) -> tuple:
    return tuple([thing for thing, keep in zip(things, wanted, strict=True) if keep])
