"""The tangent sweep: one pass forward, in which every operation is followed by its tangents.

A value has a tangent if it depends on a parameter that has one; it is known leaf by leaf (a tuple
has the tangents of its items), and none means zero. A branch yields the tangents of what it yields,
a loop carries, reads and stacks those of what it carries, reads and stacks, and a call becomes a
call of its callee's tangent. Primal operations are shared with the function that was swept; what
is made is built of ordinary operators, so that it can be swept again, in either direction.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> net = parse_function('''
... func @net(%x: f32[2], %z: f32[1]) -> (f32[2]) {
...   %u!: f32[2] = mul %x, %z
...   %out!: f32[2] = tanh %u
...   return %out
... }
... ''')
>>> text = print_function(tangent_function(net, (0,))).partition("func ")[2]
>>> print("".join(line.partition("  # ")[0].rstrip() + "\\n" for line in text.splitlines()), end="")
@net_tangent(%x: f32[2], %z: f32[1], %dot_x: f32[2]) -> (f32[2], f32[2]) {
  %u!: f32[2] = mul %x, %z
  %dot_u!: f32[2] = mul %dot_x, %z
  %out!: f32[2] = tanh %u
  %out_times_out: f32[2] = mul %out, %out
  %sub_out_times_out: f32[2] = sub 1.0, %out_times_out
  %dot_out!: f32[2] = mul %dot_u, %sub_out_times_out
  return %out, %dot_out
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from autodiff_compiler.analysis.zeroed_tangents import stilled_values
from autodiff_compiler.errors import calling, raise_all
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import producers
from autodiff_compiler.ir.types import UNDEFINED, Type, carries_cotangent
from autodiff_compiler.operators.core.containers import item
from autodiff_compiler.span import Caller
from autodiff_compiler.transforms.reverse.cotangents import (
    LITERAL_ZEROS,
    Cotangents,
    Key,
    Names,
    Path,
    common_type,
    conform,
    leaves,
    part_type,
    zero_leaf,
)
from autodiff_compiler.transforms.reverse.sweep import ReverseTransform
from autodiff_compiler.transforms.reverse.zero_wins import tangent_with_zeros
from autodiff_compiler.transforms.tangent.loops import Port, jvp_loop, partial_tangent
from autodiff_compiler.transforms.tangent.operators import jvp_of_operator, jvp_of_rule


def tangent_function(
    function: Function, wrt: Sequence[int], outputs: Sequence[int] | None = None
) -> Function:
    """One function that takes, after the parameters of ``function``, the tangents of those in
    ``wrt``, and returns what ``function`` returns and then the tangents of its returns ``outputs``
    (all of them)."""
    return Tangents().function(function, tuple(wrt), outputs)


@dataclass(frozen=True)
class TangentCallee:
    """The tangent of a callee, and the leaves of its returns whose tangents come after these."""

    function: Function
    reached: tuple[Port, ...]


class Tangents:
    """Remembers the tangents of callees, so that two calls of one function share one.

    ``adjoint`` names functions and transposes adjoints.
    """

    def __init__(self, adjoint: ReverseTransform | None = None):
        self.adjoint = adjoint or ReverseTransform()
        self._pushed: dict[tuple[Function, tuple[Port, ...], tuple[int, ...]], TangentCallee] = {}

    def function(
        self, function: Function, wrt: tuple[int, ...], outputs: Sequence[int] | None = None
    ) -> Function:
        """As ``tangent_function``."""
        function = self.adjoint.whole(function)
        self.adjoint.reserve_names(function)
        every = range(len(function.returns)) if outputs is None else outputs
        ports = tuple((position, ()) for position in wrt)
        made = self._made(function, ports, tuple(every)).function
        raise_all(self.adjoint.problems)
        return made

    def pushed(
        self, callee: Function, wrt: tuple[Port, ...], level: tuple[int, ...] = ()
    ) -> TangentCallee:
        """What a call of ``callee`` is replaced by, where these leaves of its parameters have
        tangents; those of the parameters ``level`` may be 0 by a choice."""
        key = (callee, wrt, level)
        if key not in self._pushed:
            self._pushed[key] = self._made(callee, wrt, None, level)
        return self._pushed[key]

    def _made(
        self,
        function: Function,
        wrt: tuple[Port, ...],
        outputs: tuple[int, ...] | None = None,
        level: tuple[int, ...] = (),
    ) -> TangentCallee:
        """With the tangents of ``outputs`` as a whole, or of the leaves that are reached."""
        sweep = TangentSweep(self, function, level)
        builder = sweep.builder
        with builder, builder.at(function.span, "tangent"):
            dots = []
            for position, path in wrt:
                param = function.params[position]
                dots.append(sweep.names.fresh(part_type(param.type, path), param, path))
                sweep.set(param, dots[-1], path)
            sweep.region(function.body)
            if outputs is None:
                reached = sweep.ports(function.returns)
                found = [partial_tangent(sweep, function.returns[k], path) for k, path in reached]
            else:
                reached = tuple((k, ()) for k in outputs)
                found = [sweep.whole(function.returns[k]) for k in outputs]
        returns = (*function.returns, *found)
        body = Region((*function.params, *dots), tuple(builder.ops), returns)
        name = self.adjoint.new_name(f"{function.name}_tangent")
        made = replace(function, name=name, body=body, order=function.order + 1, role="tangent")
        return TangentCallee(made, reached)


class TangentSweep:
    """One tangent sweep of a function: what is known of the tangent of every value."""

    def __init__(self, tangents: Tangents, function: Function, level: tuple[int, ...] = ()):
        self.tangents = tangents
        self.builder = Builder()
        self.names = Names(self.builder, function, "dot")
        self.zeros, self.makers = tangents.adjoint.choices.of(function), producers(function.body)
        self.stilled = stilled_values(function, level)
        unset = tangents.adjoint.activity.unset(function)
        self.known = Cotangents(frozenset(), unset, self.names)

    def level(self, call: Op) -> tuple[int, ...]:
        """Return which operands of a call have tangents that may be 0 by a choice, where that makes
        a difference."""
        if not self.tangents.adjoint.choices.concerns(call.attrs["callee"]):
            return ()
        return tuple(k for k, operand in enumerate(call.operands) if operand in self.stilled)

    # ---- tangents of values

    def has(self, operand: AnyOperand) -> bool:
        """Whether any part of a value has a tangent."""
        return self.known.has(operand)

    def ports(self, operands: Sequence[AnyOperand]) -> tuple[Port, ...]:
        """The leaves of ``operands`` that have a tangent."""
        return tuple(
            (number, path)
            for number, operand in enumerate(operands)
            for path, _ in (leaves(operand.type) if isinstance(operand, Value) else ())
            if partial_tangent(self, operand, path) is not None
        )

    def whole(self, operand: AnyOperand) -> AnyOperand:
        """The tangent of a value or literal, with zeros for the parts that have none."""
        if not isinstance(operand, Value):
            return LITERAL_ZEROS[type_of(operand)]
        return operand if operand.type == UNDEFINED else self.known.whole(operand)

    def leaf(self, operand: AnyOperand, path: Path, type_: Type) -> AnyOperand:
        """The tangent of one leaf as a value of ``type_``; what is undefined stays so."""
        if not isinstance(operand, Value):
            return conform(LITERAL_ZEROS[type_of(operand)], type_)
        if operand.type == UNDEFINED:
            return operand
        found = self.known.so_far((operand, path))
        if found is None:
            inner = part_type(operand.type, path)
            found = zero_leaf(operand, path, inner, operand in self.known.unset)
        return conform(found, type_)

    def set(self, value: Value, dot: AnyOperand, path: Path = ()) -> None:
        """Enters the tangent of (a part of) a value; None is zero."""
        for rest, _ in leaves(part_type(value.type, path)) if dot is not None else ():
            part = dot
            for key in rest:
                part = item(part, key=key)
            self.known.put((value, (*path, *rest)), self.names.give(part, value, (*path, *rest)))

    # ---- operations

    def region(self, region: Region) -> None:
        """Adds the operations of a region, each with its tangents after it."""
        for op in region.ops:
            role = "tangent" if op.role == "primal" else op.role
            with self.builder.at(op.span, role):
                RULES.get(op.name, jvp_plain)(self, op)

    def block(self, region: Region) -> list[Op]:
        """The operations of a nested region with their tangents."""
        with self.builder.block() as ops:
            self.region(region)
        return ops


def jvp_plain(sweep: TangentSweep, op: Op) -> None:
    """An operation that its record knows the derivative of."""
    sweep.builder.add(op)
    dots = {k: sweep.whole(x) for k, x in enumerate(op.operands) if sweep.has(x)}
    if op.opdef.kind != "zero" and dots and any(carries_cotangent(r.type) for r in op.results):
        rule = partial(jvp_of_operator, op, dots, sweep.whole, sweep.tangents.adjoint)
        found = tangent_with_zeros(
            sweep.zeros, op, sweep.makers, sweep.stilled, sweep.builder, dots.values(), rule
        )
        for result, dot in zip(op.results, found):
            sweep.set(result, dot)


def jvp_custom_rule(sweep: TangentSweep, op: Op) -> None:
    """A value with a rule of its own."""
    sweep.builder.add(op)
    dots = {k: sweep.whole(x) for k, x in enumerate(op.operands) if sweep.has(x)}
    for result, dot in zip(op.results, jvp_of_rule(op, dots, sweep.tangents.adjoint)):
        sweep.set(result, dot)


def jvp_items(sweep: TangentSweep, op: Op) -> None:
    """The parts of a tuple or dict have the tangents of what it is made of."""
    sweep.builder.add(op)
    keys: Sequence = op.attrs.get("keys", range(len(op.operands)))
    for key, operand in zip(keys, op.operands):
        if isinstance(operand, Value):
            for path, _ in leaves(operand.type):
                dot = sweep.known.so_far((operand, path))
                if dot is not None:
                    sweep.known.put((op.result, (key, *path)), dot)


def jvp_item(sweep: TangentSweep, op: Op) -> None:
    """An item has a part of the tangent of its container."""
    sweep.builder.add(op)
    (container,) = op.operands
    assert isinstance(container, Value)
    for path, _ in leaves(op.result.type):
        sweep.set(op.result, sweep.known.so_far((container, (op.attrs["key"], *path))), path)


def jvp_call(sweep: TangentSweep, op: Op) -> None:
    """A call becomes a call of the callee's tangent."""
    wrt = sweep.ports(op.operands)
    with calling(Caller(op.span), sweep.tangents.adjoint.problems):
        level = sweep.level(op) if wrt else ()
        pushed = sweep.tangents.pushed(op.attrs["callee"], wrt, level) if wrt else None
    if pushed is None or not pushed.reached:
        sweep.builder.add(op)
        return
    dots = tuple(partial_tangent(sweep, op.operands[k], path) for k, path in wrt)
    found = pushed.function.returns[len(op.results) :]
    results = tuple(Value(type_of(dot)) for dot in found)
    sweep.builder.add(
        replace(op, operands=(*op.operands, *dots), results=(*op.results, *results),
                attrs={**op.attrs, "callee": pushed.function})
    )  # fmt: skip
    for (position, path), dot in zip(pushed.reached, results):
        sweep.set(op.results[position], dot, path)


def jvp_if(sweep: TangentSweep, op: Op) -> None:
    """Both branches yield the tangents that either of them has."""
    blocks = [sweep.block(region) for region in op.regions]
    keys: dict[Key, Type] = {}
    for number, result in enumerate(op.results):
        for path, leaf in leaves(result.type):
            dots = [partial_tangent(sweep, region.yields[number], path) for region in op.regions]
            types = [type_of(dot) for dot in dots if dot is not None]
            if types:
                keys[result, path] = common_type(leaf, *types)
    regions = []
    for region, ops in zip(op.regions, blocks):
        yields = dict(zip(op.results, region.yields))
        with sweep.builder.block(ops):
            found = [sweep.leaf(yields[v], path, type_) for (v, path), type_ in keys.items()]
        regions.append(Region((), tuple(ops), (*region.yields, *found)))
    results = [sweep.names.fresh(type_, *key) for key, type_ in keys.items()]
    sweep.builder.add(replace(op, regions=tuple(regions), results=(*op.results, *results)))
    for key, result in zip(keys, results):
        sweep.known.put(key, result)


RULES: dict[str, Callable[[TangentSweep, Op], None]] = {
    "if": jvp_if,
    "for": jvp_loop,
    "while": jvp_loop,
    "call": jvp_call,
    "ruled": jvp_custom_rule,
    "make_tuple": jvp_items,
    "make_dict": jvp_items,
    "item": jvp_item,
}
