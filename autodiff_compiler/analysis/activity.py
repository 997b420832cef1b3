"""Activity analysis: the values that vary with differentiated inputs, and those that may be unset.

Only values that vary can have a cotangent. The other part of activity (the values that influence
the output) needs no analysis: the reverse sweep starts at the output, and only the values that it
reaches have a cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.types import TupleType, carries_cotangent


def varied_values(function: Function, wrt: Sequence[int]) -> frozenset[Value]:
    """Collects the values of ``function``, in all regions, that depend on the parameters ``wrt``.

    Values whose type carries no cotangent (ints, shapes, …) and results of operators with a zero
    derivative never vary.

    >>> from autodiff_compiler.ir.types import INT, array
    >>> x, n = Value(array("float32", 2), "x"), Value(INT, "n")
    >>> from autodiff_compiler.span import NOWHERE
    >>> varied_values(Function("f", Region((x, n), (), (x,)), NOWHERE), (0, 1))
    frozenset({%x: f32[2]})
    """
    return Activity().varied(function, tuple(wrt))


class Activity:
    """The analyses of functions, each done once per ``wrt``."""

    def __init__(self) -> None:
        self._known: dict[tuple[Function, tuple[int, ...]], frozenset[Value]] = {}
        self._unset: dict[Function, frozenset[Value]] = {}

    def varied(self, function: Function, wrt: tuple[int, ...]) -> frozenset[Value]:
        """Returns what ``varied_values`` does, computed once."""
        key = (function, wrt)
        if key not in self._known:
            analysis = _Varied(self)
            analysis.add([function.params[position] for position in wrt])
            analysis.region(function.body)
            self._known[key] = frozenset(analysis.values)
        return self._known[key]

    def unset(self, function: Function) -> frozenset[Value]:
        """Collects the values that may be unset: ``undefined``, or of a branch that did not run.

        The residuals of a derived function, which are parameters in tuples, may come from such a
        branch.
        """
        if function not in self._unset:
            analysis = _Unset(self)
            if function.order:
                analysis.add([p for p in function.params if isinstance(p.type, TupleType)])
            analysis.region(function.body)
            self._unset[function] = frozenset(analysis.values)
        return self._unset[function]


class ForwardAnalysis:
    """A forward dataflow analysis: it propagates a property of values through regions."""

    def __init__(self, activity: Activity):
        self.activity = activity
        self.values: set[Value] = set()
        self.tuples: dict[Value, Op] = {}

    def add(self, values: Sequence[Value]) -> None:
        self.values.update(values)

    def holds_after(self, op: Op) -> bool:
        """True if the results of a plain operation have the property."""
        raise NotImplementedError

    def in_callee(self, op: Op) -> frozenset[Value]:
        """Returns the values of the callee with the property, given the operands of the call."""
        raise NotImplementedError

    def has(self, operand: AnyOperand) -> bool:
        return isinstance(operand, Value) and operand in self.values

    def region(self, region: Region) -> None:
        for op in region.ops:
            self.op(op)

    def op(self, op: Op) -> None:
        if op.name in ("make_tuple", "make_dict"):
            self.tuples[op.result] = op
        if op.name == "if":
            self.branch(op)
        elif op.name in ("for", "while"):
            self.loop(Loop(op))
        elif op.name == "call":
            self.call(op)
        elif op.name == "item":
            self.item(op)
        elif self.holds_after(op):
            self.add(op.results)

    def item(self, op: Op) -> None:
        """Propagates from the container, or from the operand for this item if it was made here."""
        source = op.operands[0]
        maker = self.tuples.get(source) if isinstance(source, Value) else None
        if maker is not None:
            keys = maker.attrs.get("keys", tuple(range(len(maker.operands))))
            source = maker.operands[keys.index(op.attrs["key"])]
        if self.has(source):
            self.add(op.results)

    def branch(self, op: Op) -> None:
        for region in op.regions:
            self.region(region)
        for result, *yields in zip(op.results, *(region.yields for region in op.regions)):
            if any(map(self.has, yields)):
                self.add([result])

    def loop(self, loop: Loop) -> None:
        self.forward(loop.inits, loop.carry_params)
        self.forward(loop.reads, loop.read_params)
        before = -1
        while before != len(self.values):
            before = len(self.values)
            self.region(loop.body)
            self.forward(loop.carry_yields, loop.carry_params)
        self.forward(loop.carry_params, loop.carried)
        self.forward(loop.stack_yields, loop.stacked)

    def forward(self, sources: Sequence[AnyOperand], targets: Sequence[Value]) -> None:
        for source, target in zip(sources, targets, strict=True):
            if self.has(source):
                self.add([target])

    def call(self, op: Op) -> None:
        inside, returns = self.in_callee(op), op.attrs["callee"].returns
        self.add([result for result, value in zip(op.results, returns) if value in inside])


class _Varied(ForwardAnalysis):
    def add(self, values: Sequence[Value]) -> None:
        super().add([value for value in values if carries_cotangent(value.type)])

    def holds_after(self, op: Op) -> bool:
        return op.opdef.kind != "zero" and any(map(self.has, op.operands))

    def in_callee(self, op: Op) -> frozenset[Value]:
        wrt = tuple(k for k, operand in enumerate(op.operands) if self.has(operand))
        return self.activity.varied(op.attrs["callee"], wrt) if wrt else frozenset()


class _Unset(ForwardAnalysis):
    def holds_after(self, op: Op) -> bool:
        passes_on = op.opdef.kind == "container" or op.name == "list_item"
        return op.name == "undefined" or (passes_on and any(map(self.has, op.operands)))

    def in_callee(self, op: Op) -> frozenset[Value]:
        return self.activity.unset(op.attrs["callee"])
