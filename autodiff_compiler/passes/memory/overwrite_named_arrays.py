"""Writes large results over dead arrays that have a name: ``d_x *= y``, ``np.exp(u, out=u)``.

This is what a careful person does about memory, and all that level 1 does. A large result goes into
a dead operand, if that operand has a variable of its own. The source needs no further array, and no
name that is not in the plain source. ``assign_buffers`` does more, at the levels above.

If operand and result have one name, the source updates the variable. A step of an expression, such
as the first product of ``u * cos(x) * y``, gets the name of the result. It is updated in the same
way. Two kinds of expressions stay as they are: those whose further steps are no augmented
assignments, and those in which NumPy itself reuses a temporary array.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[99999]) -> (f32[99999]) {
...   %u!: f32[99999] = sin %x
...   %v!: f32[99999] = exp %u
...   %w: f32[99999] = mul %v, %x
...   %y!: f32[99999] = add 1.0, %w
...   return %y
... }
... ''')
>>> print(print_function(overwrite_named_arrays(before)), end='')
func @f(%x: f32[99999]) -> (f32[99999]) {
  %u!: f32[99999] = sin %x
  %v!: f32[99999] = compute_into %u, %u {text='np.exp({0}, out={1})'}
  %w: f32[99999] = compute_into %v, %x, %v {text='np.multiply({0}, {1}, out={2})'}
  %y!: f32[99999] = update %w, 1.0 {in_place=True, text='{out} += {1}'}
  return %y
}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType

from autodiff_compiler.cost_model import costs
from autodiff_compiler.ir.aliasing import AliasSet, alias_sets
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value
from autodiff_compiler.ir.rewrite import map_regions, uses_of
from autodiff_compiler.ir.types import Type, size_of
from autodiff_compiler.ir.verify.memory_safety import row_types
from autodiff_compiler.operators.destination_ops import compute_into, update
from autodiff_compiler.passes.core.traversal import with_body, with_ops
from autodiff_compiler.passes.destinations.operation_calls import DestinationCall, destination_calls

#: The signs of augmented assignments, by the call that each stands for.
SIGNS = {
    "np.add({0}, {1}, out={2})": "+=",
    "np.subtract({0}, {1}, out={2})": "-=",
    "np.multiply({0}, {1}, out={2})": "*=",
    "np.divide({0}, {1}, out={2})": "/=",
}
COMMUTATIVE = ("+=", "*=")
#: Kinds of operators that compute no array of their own.
OTHER_KINDS = ("control", "container", "lowered")
NOTHING: Mapping[Value, Value] = MappingProxyType({})


def overwrite_named_arrays(function: Function) -> Function:
    """Writes large results of ``function`` over dead operands with a variable of their own."""
    large = costs().large_bytes
    if not any(size_of(value.type) >= large for op in function.body.walk() for value in op.results):
        return function
    aliases, rows = alias_sets(function.body), row_types(function)
    return with_body(function, _Overwriter(aliases, rows).region(function.body))


class _Overwriter:
    """Rewrites regions.

    aliases   the alias set of each value, before any overwriting.
    rows      the types of arrays as an operation made them; views have none.
    """

    def __init__(self, aliases: Mapping[Value, AliasSet], rows: Mapping[Value, Type]):
        self.aliases, self.rows = aliases, rows

    def region(self, region: Region, carried: Mapping[Value, Value] = NOTHING) -> Region:
        """Returns ``region`` with overwritten operands.

        ``carried`` maps values that leave the iteration of a loop to those that entered it.
        """
        scope = _Scope(region, self.aliases)
        ops: list[Op] = []
        for place, op in enumerate(region.ops):
            changed = self.operation(self.with_inner_regions(op), place, scope)
            if changed.opdef in (compute_into, update):
                scope.note_statement(place)
                scope.written.add(changed.result)
            if changed.opdef is compute_into:
                is_carried = changed.operands[-1] is carried.get(changed.result)
                changed = _as_update(changed) if is_carried else changed
            ops.append(changed)
        return with_ops(region, ops)

    def with_inner_regions(self, op: Op) -> Op:
        if op.name not in ("for", "while"):
            return map_regions(op, self.region)
        loop = Loop(op)
        pairs = zip(loop.carry_yields, loop.carry_params)
        carried = {after: param for after, param in pairs if isinstance(after, Value)}
        return map_regions(op, lambda inner: self.region(inner, carried))

    def operation(self, op: Op, place: int, scope: _Scope) -> Op:
        """Returns ``op``, or the operation that writes its result over an operand."""
        call = _large_call(op)
        if call is None or not scope.gets_name(op):
            return op
        targets = [each for each in call.arguments if self.may_overwrite(each, op, place, scope)]
        targets.sort(key=lambda each: not scope.is_one_variable(each, op))
        is_update = bool(targets) and scope.is_one_variable(targets[0], op)
        if not targets or not is_update and self.reuses_temporary(call, scope):
            return op
        operands, attrs = (*call.arguments, targets[0]), {"text": call.text}
        written = replace(op, opdef=compute_into, operands=operands, attrs=attrs)
        return _as_update(written) if is_update else written

    def reuses_temporary(self, call: DestinationCall, scope: _Scope) -> bool:
        """True if NumPy itself writes the result over an operand without a name.

        It does so with a temporary array of ``a * b + c``, if the sign allows it.
        """
        sign = SIGNS.get(call.text)
        candidates = call.arguments if sign in COMMUTATIVE else call.arguments[:1]
        return sign is not None and any(
            each.type == call.result.type and each in scope.makers and not scope.has_line(each)
            for each in candidates
            if isinstance(each, Value)
        )

    def may_overwrite(self, argument: AnyOperand, op: Op, place: int, scope: _Scope) -> bool:
        """True if ``argument`` is an array of this region, dead after ``op``, with a variable."""
        if not isinstance(argument, Value) or argument.type != op.result.type:
            return False
        locations = self.aliases.get(argument, frozenset())
        return (
            len(locations) == 1
            and argument in scope.makers
            and self.rows.get(argument) == argument.type
            and all(scope.is_dead(location, place) for location in locations)
            and scope.has_line(argument)
        )


class _Scope:
    """The values of one region: where they are made, and where they are read last."""

    def __init__(self, region: Region, aliases: Mapping[Value, AliasSet]):
        self.ops = region.ops
        self.users: dict[Value, Op] = {}
        self.makers = {value: op for op in region.ops for value in op.results}
        self.reads: Counter[Value] = Counter()
        self.last_use: dict[Value, int] = {}
        for place, op in enumerate(region.ops):
            read = list(_read_in(op))
            self.reads.update(read)
            self.users.update(dict.fromkeys(read, op))
            for value in read:
                self.last_use.update(dict.fromkeys(aliases.get(value, ()), place))
        yielded = [value for value in region.yields if isinstance(value, Value)]
        self.reads.update(yielded)
        self.yielded = frozenset(yielded)
        #: The memory that outlives the region.
        self.escaping: Set[Value] = frozenset().union(*(aliases.get(v, ()) for v in yielded))
        #: Results that are written over operands, and operations with a line for that reason.
        self.written: set[Value] = set()
        self.with_line: set[Op] = set()
        self.reached = 0

    def note_statement(self, place: int) -> None:
        """Notes that the operation at ``place`` is a statement: those before it get lines, too."""
        self.with_line.update(self.ops[self.reached : place])
        self.reached = place

    def is_dead(self, location: Value, place: int) -> bool:
        """True if memory that this region allocates is not read after ``place``."""
        read = self.last_use.get(location, place)
        return location in self.makers and location not in self.escaping and read <= place

    def gets_name(self, op: Op) -> bool:
        """True if the result of ``op`` has a variable of its own, or may share that of a result.

        A step may share the variable of its expression if each further step is an augmented
        assignment.
        """
        while self.is_step(op.result):
            user, before = self.users[op.result], op.result
            call = _large_call(user)
            if call is None or user.result.type != before.type:
                return False
            if not _is_augmented(call.text, call.arguments, before):
                return False
            op = user
        return True

    def is_step(self, value: Value) -> bool:
        """True if ``value`` is read once, in the line that makes it, and no user named it."""
        if value.has_user_name or self.reads[value] != 1 or value in self.yielded:
            return False
        return _line(self.users[value]) == _line(self.makers[value])

    def has_line(self, operand: Value) -> bool:
        """True if ``operand`` has a line of its own, and is not part of that of its user."""
        maker = self.makers[operand]
        return operand in self.written or maker in self.with_line or not self.is_step(operand)

    def is_one_variable(self, operand: AnyOperand, user: Op) -> bool:
        """True if the result of ``user`` may take over the variable of ``operand``.

        Both have one name, or the operand is a step of the same expression.
        """
        if not isinstance(operand, Value):
            return False
        return operand.name == user.result.name or self.is_step(operand)


def _read_in(op: Op) -> Iterator[Value]:
    yield from uses_of(op)
    for region in op.regions:
        for each in region.walk():
            yield from uses_of(each)


def _line(op: Op) -> tuple[str, int]:
    return op.span.file, op.span.line


def _large_call(op: Op) -> DestinationCall | None:
    """Returns the call of ``op`` if it is one call with a large result that may overwrite."""
    if len(op.results) != 1 or size_of(op.result.type) < costs().large_bytes:
        return None
    if op.regions or op.opdef.views or op.opdef.kind in OTHER_KINDS:
        return None
    if any(getattr(type_, "dtype", None) == "bfloat16" for type_ in (*op.types, op.result.type)):
        return None
    calls = destination_calls(op)
    if len(calls) != 1 or not calls[0].in_place or calls[0].needs_memory:
        return None
    return calls[0]


def _is_augmented(text: str, arguments: Sequence[AnyOperand], target: AnyOperand) -> bool:
    """True if a call that writes over ``target`` can be written with the sign of an operator."""
    sign = SIGNS.get(text)
    return sign is not None and (
        arguments[0] is target or sign in COMMUTATIVE and arguments[1] is target
    )


def _as_update(op: Op) -> Op:
    """Returns ``op``, a call that writes over one of its arguments, as an update of that variable.

    A call that writes over something else stays as it is.
    """
    *arguments, target = op.operands
    if target not in arguments:
        return op
    others = [each for each in arguments if each is not target]
    slots = ["{out}" if each is target else f"{{{others.index(each) + 1}}}" for each in arguments]
    text = op.attrs["text"]
    if _is_augmented(text, arguments, target):
        text = f"{{out}} {SIGNS[text]} {slots[arguments[0] is target]}"
    else:
        text = text.format(*slots, "{out}")
    attrs = {"text": text, "in_place": True}
    return replace(op, opdef=update, operands=(target, *others), attrs=attrs)


__all__ = ["overwrite_named_arrays"]
