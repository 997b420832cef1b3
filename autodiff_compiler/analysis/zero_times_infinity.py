"""Where 0 times infinity may come about in a derivative.

A value is *untaken* where its cotangent may be 0 because a choice further on took something else.
It is *unbounded* where it, or a slope on the way to it, may be infinite or no number though all
inputs are ordinary numbers.

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
>>> found = Choices().of(made)
>>> sorted(value.name for value in found.untaken), sorted(value.name for value in found.unbounded)
(['s', 'x'], ['s', 'y', 'z'])
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from dataclasses import dataclass
from math import isfinite

from autodiff_compiler.analysis.activity import Activity, _Spread
from autodiff_compiler.analysis.magnitude import LEAST, safe_magnitude_values
from autodiff_compiler.analysis.masks import has_mask, is_mask
from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.operators.elementwise.zero_wins import CHOICES, SINGULAR, TESTS

#: The largest number that is added to a variance, or the like, to keep its root away from 0. Of
#: larger ones nothing is assumed: ``sqrt(1 + x)`` is singular at -1.
GUARD = 1e-2
#: Operators whose results are never negative, and those that keep a sign.
NEVER_NEGATIVE = frozenset(
    ("abs", "square", "exp", "sqrt", "relu", "sigmoid", "softplus", "softmax", "norm", "var", "std",
     "hypot")
)  # fmt: skip
KEEP_SIGN = frozenset(
    ("sum", "mean", "reshape", "expand_dims", "squeeze", "transpose", "broadcast_to", "index",
     "copy", "max", "min", "cast", "add", "mul", "div")
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """The values of one function that are untaken, and those that are unbounded."""

    untaken: frozenset[Value] = frozenset()
    unbounded: frozenset[Value] = frozenset()
    regular: frozenset[int] = frozenset()
    strained: frozenset[Value] = frozenset()

    def read_by(self, op: Op) -> set[AnyOperand]:
        """Return what a derivative of ``op`` may read that is infinite, or no number."""
        known = {each for each in (*op.operands, *op.results) if isinstance(each, Value)}
        if op.name in SINGULAR and id(op) not in self.regular or has_extreme(op):
            return set(known)
        return set(known & self.unbounded)

    def concerns(self, op: Op) -> bool:
        """Decide whether its derivative may have a product of 0 and infinity."""
        if op.opdef.kind in ("bilinear", "zero", "control", "container", "effect"):
            return False
        return not self.untaken.isdisjoint(op.results) and bool(self.read_by(op))


NOTHING = Found()


#: Where a function is called, its untaken returns, unbounded parameters and strained returns.
Asked = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
NOTHING_ASKED: Asked = ((), (), ())


class Choices:
    """Remembers what was found in each function."""

    def __init__(self) -> None:
        self._found: dict[tuple[Function, Asked], Found] = {}
        self._changes: dict[tuple[Function, Asked], bool] = {}
        self._singular: dict[Function, bool] = {}

    def of(self, function: Function, asked: Asked = NOTHING_ASKED) -> Found:
        """Find what is untaken and unbounded in ``function`` and its regions."""
        returned, given, strained_returns = asked
        if not self.concerns(function) and not strained_returns:
            return NOTHING
        key = (function, asked)
        if key not in self._found:
            forward = _Unbounded(self, function)
            forward.add([function.params[place] for place in given])
            forward.region(function.body)
            backward = _Untaken(self, function, forward)
            backward.mark(*(function.returns[place] for place in returned))
            backward.region(function.body)
            strained = _Strained(self, function, forward)
            strained.mark(*(function.returns[place] for place in strained_returns))
            strained.region(function.body)
            self._found[key] = Found(
                frozenset(backward.values), frozenset(forward.values),
                frozenset(forward.regular), frozenset(strained.values),
            )  # fmt: skip
        return self._found[key]

    def asked_by(self, call: Op, found: Found) -> Asked:
        """Return what ``call`` asks of its callee, where that makes a difference."""
        asked = asked_of(call, found.untaken, found.unbounded, found.strained)
        return asked if self._changed(call.attrs["callee"], asked) else NOTHING_ASKED

    def _changed(self, function: Function, asked: Asked) -> bool:
        key = (function, asked)
        if key not in self._changes:
            found, makers = self.of(function, asked), producers(function.body)
            self._changes[key] = found is not NOTHING and any(
                self.asked_by(op, found) != NOTHING_ASKED
                if op.name == "call"
                else found.concerns(op)
                or not found.strained.isdisjoint(op.results)
                and has_mask(op, makers)
                for op in function.body.walk()
            )
        return self._changes[key]

    def concerns(self, function: Function) -> bool:
        """Decide whether anything in ``function``, or in what it calls, is singular."""
        if function not in self._singular:
            named = not set(function.op_names).isdisjoint((*TESTS, *SINGULAR))
            inside = any(self.concerns(callee) for callee in function.callees())
            self._singular[function] = (
                named or inside or any(map(has_extreme, function.body.walk()))
            )
        return self._singular[function]


class _Unbounded(_Spread):
    """Forward: what may be infinite, or no number."""

    def __init__(self, choices: Choices, function: Function):
        super().__init__(Activity())
        self.choices = choices
        self.makers = producers(function.body)
        self.safe_magnitude = safe_magnitude_values(function.body, function.safe_magnitude, GUARD)
        self.regular: set[int] = set()
        tested = [op.operands[0] for op in function.body.walk() if op.name in TESTS]
        self.values.update(value for value in tested if isinstance(value, Value))

    def passes(self, op: Op) -> bool:
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

    def returned(self, op: Op) -> frozenset[Value]:
        given = tuple(k for k, operand in enumerate(op.operands) if self.has(operand))
        return self.choices.of(op.attrs["callee"], ((), given, ())).unbounded

    # ---- what is bounded after all

    def is_regular(self, op: Op) -> bool:
        """Decide whether a singular operator is applied where it is not singular."""
        x, last = op.operands[0], op.operands[-1]
        if op.result in self.safe_magnitude:
            return True
        if op.name in ("div", "mod", "fmod"):
            return self.is_positive(last) or isinstance(last, (int, float)) and last != 0
        if op.name == "pow":
            return type(last) in (int, float) and last >= 1 and last == int(last)  # type: ignore[operator,arg-type]
        if op.name in ("exp", "expm1"):
            return self.never_positive(x)
        if op.name == "log1p":
            return self.never_negative(x)
        return op.name in ("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal") and (
            self.is_positive(x)
        )

    def is_positive(self, operand: AnyOperand, depth: int = 0) -> bool:
        """Decide whether it is well above 0."""
        if not isinstance(operand, Value):
            return isinstance(operand, (int, float)) and operand >= LEAST
        op = self.makers.get(operand)
        if operand in self.safe_magnitude:
            return op is None or op.name != "neg"
        if op is None or depth >= costs().sign_search_levels:
            return False
        if op.name == "add":
            pairs = (op.operands, op.operands[::-1])
            return any(
                self.is_positive(a, depth + 1) and self.never_negative(b, depth + 1)
                for a, b in pairs
            )
        if op.name == "full":
            value = op.attrs["value"]
            return isinstance(value, (int, float)) and value >= LEAST
        if op.name == "maximum":
            return any(self.is_positive(each, depth + 1) for each in op.operands)
        moves = op.name in ("sqrt", "reshape", "expand_dims", "squeeze", "broadcast_to", "copy")
        return moves and self.is_positive(op.operands[0], depth + 1)

    def never_negative(self, operand: AnyOperand, depth: int = 0) -> bool:
        if not isinstance(operand, Value):
            return isinstance(operand, (int, float)) and operand >= 0
        op = self.makers.get(operand)
        if op is None or depth >= costs().sign_search_levels:
            return False
        if op.name in NEVER_NEGATIVE or op.name == "mul" and op.operands[0] is op.operands[1]:
            return True
        if op.name == "pow":
            return op.operands[1] in (2, 4)
        if op.name in ("neg", "sub"):
            return op.name == "neg" and self.never_positive(op.operands[0], depth + 1)
        held = [o for o in op.operands if type_of(o) and o is not None]
        return op.name in KEEP_SIGN and all(self.never_negative(o, depth + 1) for o in held[:2])

    def never_positive(self, operand: AnyOperand, depth: int = 0) -> bool:
        if not isinstance(operand, Value):
            return isinstance(operand, (int, float)) and operand <= 0
        op = self.makers.get(operand)
        if op is None or depth >= costs().sign_search_levels:
            return False
        if op.name == "neg":
            return self.never_negative(op.operands[0], depth + 1)
        if op.name == "sub":
            least, most = op.operands
            return self._largest(most) is least is not None or self._is_among(least, most)
        if op.name in ("mul", "div"):
            a, b = op.operands
            if op.name == "mul" and (self._is_minus(a, b) or self._is_minus(b, a)):
                return True
            signs = ((a, b), (b, a)) if op.name == "mul" else ((a, b),)
            return any(
                self.never_positive(u, depth + 1) and self.never_negative(v, depth + 1)
                for u, v in signs
            ) or op.name == "div" and (
                self.never_negative(a, depth + 1) and self.never_positive(b, depth + 1)
            )  # fmt: skip
        return op.name in ("minimum", "reshape", "expand_dims", "sum", "mean") and any(
            self.never_positive(o, depth + 1) for o in op.operands if o is not None
        )

    def _is_minus(self, a: AnyOperand, b: AnyOperand) -> bool:
        op = self.makers.get(a) if isinstance(a, Value) else None
        return op is not None and op.name == "neg" and op.operands[0] is b

    def _is_among(self, least: AnyOperand, most: AnyOperand, depth: int = 0) -> bool:
        """Decide whether ``most`` is the maximum of ``least`` and other numbers."""
        op = self.makers.get(most) if isinstance(most, Value) else None
        if op is None or op.name != "maximum" or depth >= costs().sign_search_levels:
            return False
        return any(o is least or self._is_among(least, o, depth + 1) for o in op.operands)

    def _largest(self, operand: AnyOperand) -> AnyOperand | None:
        """x where ``operand`` is its largest element, moved or not."""
        for _ in range(costs().sign_search_levels):
            op = self.makers.get(operand) if isinstance(operand, Value) else None
            if op is None:
                return None
            if op.name == "max":
                return op.operands[0]
            if op.name not in ("reshape", "expand_dims", "broadcast_to", "stop_gradient"):
                return None
            operand = op.operands[0]
        return None


class _Untaken:
    """Backward: what a choice further on may not take."""

    def __init__(self, choices: Choices, function: Function, forward: _Unbounded):
        self.choices, self.makers, self.forward = choices, forward.makers, forward
        self.values: set[Value] = set()
        self.items: dict[Value, set[Hashable]] = {}

    def mark(self, *operands: AnyOperand) -> None:
        self.values.update(operand for operand in operands if isinstance(operand, Value))

    def has(self, operand: AnyOperand) -> bool:
        return isinstance(operand, Value) and operand in self.values

    def region(self, region: Region) -> None:
        for op in reversed(region.ops):
            getattr(self, RULES.get(op.name, "plain"))(op)

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

    def branch(self, op: Op) -> None:
        for region in op.regions:
            for result, yielded in zip(op.results, region.yields):
                if self.has(result):
                    self.mark(yielded)
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

    def back(self, targets: Mapping | list | tuple, sources: list | tuple) -> None:
        for target, source in zip(targets, sources, strict=True):
            if self.has(target):
                self.mark(source)

    def call(self, op: Op) -> None:
        callee = op.attrs["callee"]
        inside = self.choices.of(callee, asked_of(op, self.values, self.forward.values)).untaken
        self.mark(*(x for x, param in zip(op.operands, callee.params) if param in inside))

    def ruled(self, op: Op) -> None:
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
        read = self.items.get(op.result, set())
        for key, operand in zip(keys, op.operands):
            if key in read or self.has(op.result):
                self.mark(operand)


class _Strained(_Untaken):
    """Backward: what may have an infinite cotangent, as what is done with it is singular. (Through
    a product of matrices infinities spread as they are.)"""

    def plain(self, op: Op) -> None:
        singular = op.name in SINGULAR and id(op) not in self.forward.regular or has_extreme(op)
        passed = op.opdef.kind not in ("zero", "bilinear") and any(map(self.has, op.results))
        if singular or passed:
            self.mark(*op.operands)

    def call(self, op: Op) -> None:
        callee = op.attrs["callee"]
        asked = asked_of(op, frozenset(), self.forward.values, self.values)
        inside = self.choices.of(callee, asked).strained
        self.mark(*(x for x, param in zip(op.operands, callee.params) if param in inside))


RULES = {
    "if": "branch", "for": "loop", "while": "loop", "call": "call", "ruled": "ruled",
    "item": "item", "make_tuple": "container", "make_dict": "container",
}  # fmt: skip


def asked_of(
    op: Op,
    untaken: Set[Value],
    unbounded: Set[AnyOperand],
    strained: Set[Value] = frozenset(),
) -> Asked:
    """Hold what a call asks of its callee."""
    returned = tuple(k for k, result in enumerate(op.results) if result in untaken)
    given = tuple(k for k, x in enumerate(op.operands) if x in unbounded)
    return returned, given, tuple(k for k, result in enumerate(op.results) if result in strained)


def has_extreme(op: Op) -> bool:
    """Decide whether it computes with an infinite number or NaN in the text, or divides by 0."""
    return any(
        type(x) in (int, float) and (not isfinite(x) or op.name == "div" and place == 1 and x == 0)  # type: ignore[arg-type]
        for place, x in enumerate(op.operands)
    )
