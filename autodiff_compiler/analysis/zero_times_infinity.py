"""Finds the places where a derivative may multiply 0 by infinity.

A value is *untaken* if its cotangent may be 0 because a later choice took another value. A value is
*unbounded* if it, or a slope before it, may be infinite or NaN for finite inputs.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> made = parse_function('''
... func @f(%c: bool[2], %x: f32[2]) -> (f32[2]) {
...   %s: f32[2] = sqrt %x
...   %y: f32[2] = where %c, %s, 0.0
...   %z: f32[2] = mul %y, %x
...   return %z
... }
... ''')
>>> found = SingularityAnalysis().of(made)
>>> sorted(value.name for value in found.untaken), sorted(value.name for value in found.unbounded)
(['s', 'x'], ['s', 'y', 'z'])
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from math import isfinite

from autodiff_compiler.analysis.activity import Activity, ForwardAnalysis
from autodiff_compiler.analysis.magnitude import safe_magnitude_values
from autodiff_compiler.analysis.masks import has_mask, is_mask
from autodiff_compiler.analysis.signs import Signs
from autodiff_compiler.ir.nodes import (
    AnyOperand,
    Function,
    Loop,
    Op,
    Region,
    Value,
    is_real_literal,
)
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.operators.elementwise.zero_wins import CHOICES, SINGULAR, TESTS

#: The largest number that is added to a variance, or the like, to keep its root away from 0.
#: Nothing is assumed of larger ones: ``sqrt(1 + x)`` is singular at -1.
GUARD = 1e-2


@dataclass(frozen=True)
class Singularities:
    """The result of the analysis of one function.

    untaken               values whose cotangent may be 0 by a choice.
    unbounded             values that may be infinite or NaN.
    regular               the operations (by ``id``) of singular operators at regular points.
    unbounded_cotangents  values whose cotangent may be infinite.
    """

    untaken: frozenset[Value] = frozenset()
    unbounded: frozenset[Value] = frozenset()
    regular: frozenset[int] = frozenset()
    unbounded_cotangents: frozenset[Value] = frozenset()

    def unbounded_reads(self, op: Op) -> set[AnyOperand]:
        """Collects the values that a derivative of ``op`` may read and that may be infinite."""
        known = {each for each in (*op.operands, *op.results) if isinstance(each, Value)}
        if op.name in SINGULAR and id(op) not in self.regular or has_extreme(op):
            return set(known)
        return set(known & self.unbounded)

    def may_be_zero_times_infinity(self, op: Op) -> bool:
        """True if the derivative of ``op`` may multiply 0 by infinity."""
        if op.opdef.kind in ("bilinear", "zero", "control", "container", "effect"):
            return False
        return not self.untaken.isdisjoint(op.results) and bool(self.unbounded_reads(op))


NO_SINGULARITIES = Singularities()


@dataclass(frozen=True)
class CallContext:
    """The properties of operands and results of a call that hold in its callee, by position.

    untaken               returns that are untaken.
    unbounded             parameters that are unbounded.
    unbounded_cotangents  returns with an unbounded cotangent.
    """

    untaken: tuple[int, ...] = ()
    unbounded: tuple[int, ...] = ()
    unbounded_cotangents: tuple[int, ...] = ()


NO_CONTEXT = CallContext()


class SingularityAnalysis:
    """The analyses of functions, each done once per context."""

    def __init__(self) -> None:
        self._singularities: dict[tuple[Function, CallContext], Singularities] = {}
        self._matters: dict[tuple[Function, CallContext], bool] = {}
        self._singular: dict[Function, bool] = {}

    def of(self, function: Function, context: CallContext = NO_CONTEXT) -> Singularities:
        """Analyses ``function`` with its regions, in the context of a call."""
        if not self.is_singular(function) and not context.unbounded_cotangents:
            return NO_SINGULARITIES
        key = (function, context)
        if key not in self._singularities:
            forward = _Unbounded(self, function)
            forward.add([function.params[place] for place in context.unbounded])
            forward.region(function.body)
            untaken = _Untaken(self, function, forward)
            untaken.mark(*(function.returns[place] for place in context.untaken))
            untaken.region(function.body)
            cotangents = _UnboundedCotangents(self, function, forward)
            returns = (function.returns[place] for place in context.unbounded_cotangents)
            cotangents.mark(*returns)
            cotangents.region(function.body)
            self._singularities[key] = Singularities(
                frozenset(untaken.values),
                frozenset(forward.values),
                frozenset(forward.regular),
                frozenset(cotangents.values),
            )
        return self._singularities[key]

    def context_of(self, call: Op, singularities: Singularities) -> CallContext:
        """Returns the context of ``call``, or ``NO_CONTEXT`` if it changes nothing in the callee.

        ``singularities`` is the analysis of the caller.
        """
        context = _context(
            call, singularities.untaken, singularities.unbounded, singularities.unbounded_cotangents
        )
        return context if self._is_relevant(call.attrs["callee"], context) else NO_CONTEXT

    def _is_relevant(self, function: Function, context: CallContext) -> bool:
        key = (function, context)
        if key not in self._matters:
            singularities = self.of(function, context)
            self._matters[key] = singularities is not NO_SINGULARITIES and self._changes_code(
                function, singularities
            )
        return self._matters[key]

    def _changes_code(self, function: Function, singularities: Singularities) -> bool:
        """True if a rule in ``function`` needs products in which a zero wins."""
        makers = producers(function.body)

        def needs_zero_wins(op: Op) -> bool:
            if op.name == "call":
                return self.context_of(op, singularities) != NO_CONTEXT
            overflows = not singularities.unbounded_cotangents.isdisjoint(op.results)
            return (
                singularities.may_be_zero_times_infinity(op) or overflows and has_mask(op, makers)
            )

        return any(map(needs_zero_wins, function.body.walk()))

    def is_singular(self, function: Function) -> bool:
        """True if ``function``, or one that it calls, has a singular operator."""
        if function not in self._singular:
            named = not set(function.op_names).isdisjoint((*TESTS, *SINGULAR))
            inside = any(self.is_singular(callee) for callee in function.callees())
            self._singular[function] = (
                named or inside or any(map(has_extreme, function.body.walk()))
            )
        return self._singular[function]


class _Unbounded(ForwardAnalysis):
    """The forward analysis of unbounded values."""

    def __init__(self, analysis: SingularityAnalysis, function: Function):
        super().__init__(Activity())
        self.analysis = analysis
        self.makers = producers(function.body)
        self.safe_magnitude = safe_magnitude_values(function.body, function.safe_magnitude, GUARD)
        self.signs = Signs(self.makers, self.safe_magnitude)
        self.regular: set[int] = set()
        tested = [op.operands[0] for op in function.body.walk() if op.name in TESTS]
        self.values.update(value for value in tested if isinstance(value, Value))

    def holds_after(self, op: Op) -> bool:
        if op.opdef.kind == "zero" and op.name != "stop_gradient":
            return False
        if any(map(self.has, op.operands)) or has_extreme(op):
            return True
        if op.name not in SINGULAR:
            return False
        if self.is_regular(op):
            self.regular.add(id(op))
            return False
        return True

    def in_callee(self, op: Op) -> frozenset[Value]:
        unbounded = tuple(k for k, operand in enumerate(op.operands) if self.has(operand))
        return self.analysis.of(op.attrs["callee"], CallContext(unbounded=unbounded)).unbounded

    def is_regular(self, op: Op) -> bool:
        """True if a singular operator is applied away from its singular points."""
        if op.result in self.safe_magnitude:
            return True
        rule = _REGULAR.get(op.name)
        return rule is not None and rule(self.signs, op)


def _has_nonzero_divisor(signs: Signs, op: Op) -> bool:
    divisor = op.operands[-1]
    return signs.is_positive(divisor) or isinstance(divisor, (int, float)) and divisor != 0


def _has_whole_exponent(signs: Signs, op: Op) -> bool:
    exponent = op.operands[-1]
    if type(exponent) is not int and type(exponent) is not float:
        return False
    return exponent >= 1 and exponent == int(exponent)


def _is_never_positive(signs: Signs, op: Op) -> bool:
    return signs.never_positive(op.operands[0])


def _is_never_negative(signs: Signs, op: Op) -> bool:
    return signs.never_negative(op.operands[0])


def _is_positive(signs: Signs, op: Op) -> bool:
    return signs.is_positive(op.operands[0])


#: The proofs that a singular operator is applied away from its singular points.
_REGULAR: dict[str, Callable[[Signs, Op], bool]] = {
    **dict.fromkeys(("div", "mod", "fmod"), _has_nonzero_divisor),
    "pow": _has_whole_exponent,
    **dict.fromkeys(("exp", "expm1"), _is_never_positive),
    "log1p": _is_never_negative,
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal"), _is_positive),
}


class _Untaken:
    """The backward analysis of untaken values, from each choice to its operands."""

    def __init__(self, analysis: SingularityAnalysis, function: Function, forward: _Unbounded):
        self.analysis, self.makers, self.forward = analysis, forward.makers, forward
        self.values: set[Value] = set()
        #: The items of containers that are untaken, by key.
        self.items: dict[Value, set[Hashable]] = {}

    def mark(self, *operands: AnyOperand) -> None:
        self.values.update(operand for operand in operands if isinstance(operand, Value))

    def has(self, operand: AnyOperand) -> bool:
        return isinstance(operand, Value) and operand in self.values

    def region(self, region: Region) -> None:
        for op in reversed(region.ops):
            RULES.get(op.name, _Untaken.visit_plain)(self, op)

    def visit_plain(self, op: Op) -> None:
        self.plain(op)

    def visit_call(self, op: Op) -> None:
        self.call(op)

    def plain(self, op: Op) -> None:
        chosen = CHOICES.get(op.name, ())
        for place, operand in enumerate(op.operands):
            if op.opdef.operand_name(place) in chosen:
                self.mark(operand)
        if op.name == "mul":
            for x, other in (op.operands, op.operands[::-1]):
                if is_mask(other, self.makers):
                    self.mark(x)
        if op.opdef.kind != "zero" and any(map(self.has, op.results)):
            self.mark(*op.operands)

    def call(self, op: Op) -> None:
        context = _context(op, self.values, self.forward.values)
        self.mark_operands(op, self.analysis.of(op.attrs["callee"], context).untaken)

    def mark_operands(self, op: Op, inside: Set[Value]) -> None:
        """Marks the operands of a call whose parameters are among ``inside``."""
        params = op.attrs["callee"].params
        self.mark(*(x for x, param in zip(op.operands, params) if param in inside))

    def branch(self, op: Op) -> None:
        for region in op.regions:
            self.back(op.results, region.yields)
            self.region(region)

    def loop(self, op: Op) -> None:
        loop = Loop(op)
        self.back(loop.carried, loop.carry_yields)
        self.back(loop.carried, loop.inits)
        self.back(loop.stacked, loop.stack_yields)
        before = -1
        while before != len(self.values):
            before = len(self.values)
            self.region(loop.body)
            self.back(loop.carry_params, loop.carry_yields)
        self.back(loop.carry_params, loop.inits)
        self.back(loop.read_params, loop.reads)

    def back(self, targets: Sequence[Value], sources: Sequence[AnyOperand]) -> None:
        for target, source in zip(targets, sources, strict=True):
            if self.has(target):
                self.mark(source)

    def custom_rule(self, op: Op) -> None:
        if any(map(self.has, op.results)):
            self.mark(*(op.operands[place] for place in op.attrs["wrt"]))

    def item(self, op: Op) -> None:
        if self.has(op.result):
            source = op.operands[0]
            if isinstance(source, Value) and source in self.makers:
                self.items.setdefault(source, set()).add(op.attrs["key"])
            else:
                self.mark(source)

    def container(self, op: Op) -> None:
        keys = op.attrs.get("keys", range(len(op.operands)))
        untaken = self.items.get(op.result, set())
        for key, operand in zip(keys, op.operands):
            if key in untaken or self.has(op.result):
                self.mark(operand)


class _UnboundedCotangents(_Untaken):
    """The backward analysis of values with an unbounded cotangent, from each singular operator.

    Matrix products are not followed: an infinity in them spreads in any case.
    """

    def plain(self, op: Op) -> None:
        singular = op.name in SINGULAR and id(op) not in self.forward.regular or has_extreme(op)
        passed = op.opdef.kind not in ("zero", "bilinear") and any(map(self.has, op.results))
        if singular or passed:
            self.mark(*op.operands)

    def call(self, op: Op) -> None:
        context = _context(op, frozenset(), self.forward.values, self.values)
        self.mark_operands(op, self.analysis.of(op.attrs["callee"], context).unbounded_cotangents)


#: The rules of backward analyses for operators of control flow and containers.
RULES: dict[str, Callable[[_Untaken, Op], None]] = {
    "if": _Untaken.branch,
    "for": _Untaken.loop,
    "while": _Untaken.loop,
    "call": _Untaken.visit_call,
    "custom_rule": _Untaken.custom_rule,
    "item": _Untaken.item,
    "make_tuple": _Untaken.container,
    "make_dict": _Untaken.container,
}


def _context(
    op: Op,
    untaken: Set[Value],
    unbounded: Set[AnyOperand],
    unbounded_cotangents: Set[Value] = frozenset(),
) -> CallContext:
    """Returns the context of a call, as these sets of values are in the caller."""
    return CallContext(
        tuple(k for k, result in enumerate(op.results) if result in untaken),
        tuple(k for k, operand in enumerate(op.operands) if operand in unbounded),
        tuple(k for k, result in enumerate(op.results) if result in unbounded_cotangents),
    )


def has_extreme(op: Op) -> bool:
    """True if an operand is a literal infinity or NaN, or if ``op`` divides by a literal 0."""
    divisor = op.operands[1] if op.name == "div" else None
    if is_real_literal(divisor) and divisor == 0:
        return True
    return any(is_real_literal(x) and not isfinite(x) for x in op.operands)
