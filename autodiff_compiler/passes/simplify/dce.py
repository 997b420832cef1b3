"""Dead code: removes what nothing reads.

An operation stays if it has an effect or if one of its results is live: returned, or read by an
operation that stays. Inside a branch or loop single ports die: a result of an ``if``, a carry that
only feeds itself, a stack, a read. What decides which way control goes (predicates, bounds, tests,
``until``) lives as long as the operation does. Operators without effect may be left out because
nobody can tell, but for what the text demands: an item that may not be there. That is computed, and
the demand goes where something else reads the item. Calls keep all their results; that is for
whoever shapes the callee.

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
from autodiff_compiler.passes.core.traversal import with_body

LOOPS = ("for", "while")


def dce(function: Function) -> Function:
    """Removes operations and ports that nothing reads."""
    live = _Liveness(function.body)
    live.spread()
    return with_body(function, _shrink(function.body, live))


class _Liveness:
    """Marks backward from the returns: ``values`` that are read, ``ops`` that must run."""

    def __init__(self, body: Region):
        self.values: set[Value] = set()
        self.ops: set[Op] = set()
        self._todo: list[Value] = []
        #: For each value, what lives with it; for each operation, the one around it.
        self._needs: dict[Value, tuple[Op | None, tuple[AnyOperand, ...]]] = {}
        self._around: dict[Op, Op | None] = {}
        effects = Effects()
        self._enter(body, None)
        self.mark(body.yields)
        for op in list(self._around):
            if not op.regions and op.name != "demand" and effects.has(op):
                self._run(op)
        self._demands = [op for op in self._around if op.name == "demand"]

    def mark(self, operands: Iterable[AnyOperand]) -> None:
        for operand in operands:
            if isinstance(operand, Value) and operand not in self.values:
                self.values.add(operand)
                self._todo.append(operand)

    def spread(self) -> None:
        """Marks all that lives; what is demanded, and read otherwise, need not be demanded."""
        self._spread()
        for op in reversed(self._demands):
            if self.values.isdisjoint(op.operands):
                self._run(op)
                self._spread()

    def _spread(self) -> None:
        while self._todo:
            owner, needed = self._needs.get(self._todo.pop(), (None, ()))
            self._run(owner)
            self.mark(needed)

    def _run(self, op: Op | None) -> None:
        """``op`` must run, hence what holds it too."""
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
    ops = tuple([_shrink_op(op, live) for op in region.ops if op in live.ops])
    same = len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops))
    return region if same else replace(region, ops=ops)


def _shrink_op(op: Op, live: _Liveness) -> Op:
    if not op.regions:
        return op
    regions = tuple([_shrink(region, live) for region in op.regions])
    operands, results, attrs = op.operands, op.results, op.attrs
    if op.name == "if":
        kept = [result in live.values for result in op.results]
        results = _only(results, kept)
        regions = tuple([_with_yields(r, _only(r.yields, kept)) for r in regions])
    elif op.name in LOOPS:
        loop = Loop(op)
        carries = [result in live.values for result in loop.carried]
        stacks = [result in live.values for result in loop.stacked]
        reads = [param in live.values for param in loop.read_params]
        operands = (*loop.bounds, *_only(loop.inits, carries), *_only(loop.reads, reads))
        results = _only(results, [*carries, *stacks, True])
        attrs = {**attrs, "carries": sum(carries)}
        body = loop.body
        lead = len(body.params) - len(carries) - len(reads)
        params = _only(body.params, [*[True] * lead, *carries, *reads])
        yields = _only(body.yields, [*carries, *stacks, *[True] * loop.has_until])
        regions = (*regions[:-1], _rebuilt(regions[-1], params, yields))
        if loop.condition is not None:
            tested = _only(loop.condition.params, carries)
            regions = (_rebuilt(regions[0], tested, loop.condition.yields), regions[1])
    fewer = len(results) < len(op.results) or len(operands) < len(op.operands)
    if not fewer and all(a is b for a, b in zip(regions, op.regions)):
        return op
    return replace(op, operands=operands, results=results, attrs=attrs, regions=regions)


def _only(things: Sequence, kept: Sequence[bool]) -> tuple:
    return tuple([thing for thing, keep in zip(things, kept, strict=True) if keep])


def _with_yields(region: Region, yields: tuple[AnyOperand, ...]) -> Region:
    return _rebuilt(region, region.params, yields)


def _rebuilt(region: Region, params: tuple, yields: tuple) -> Region:
    if len(params) == len(region.params) and len(yields) == len(region.yields):
        return region
    return Region(params, region.ops, yields)
