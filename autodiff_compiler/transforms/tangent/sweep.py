"""The tangent sweep (forward mode): each operation is followed by its tangents.

A value has a tangent if it depends on a parameter that has one. Tangents are stored leaf by leaf: a
tuple has those of its items. No entry means zero. A branch also yields tangents; a loop also
carries, reads and stacks them. A call becomes a call of the callee's tangent function. Primal
operations are shared with the swept function. All others are ordinary operators, so the result can
be swept again, in either direction.

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
  %difference: f32[2] = sub 1.0, %out_times_out
  %dot_out!: f32[2] = mul %dot_u, %difference
  return %out, %dot_out
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from autodiff_compiler.analysis.zeroed_tangents import values_with_zeroed_tangents
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
    """Makes the tangent function (JVP) of ``function``.

    Its further parameters are the tangents of the parameters ``wrt``. Its further returns are the
    tangents of the returns ``outputs``, all if None.
    """
    return Tangents().function(function, tuple(wrt), outputs)


@dataclass(frozen=True)
class TangentCallee:
    """The tangent function of a callee.

    ``reached`` are the leaves of its returns whose tangents it returns, too.
    """

    function: Function
    reached: tuple[Port, ...]


class Tangents:
    """Forward mode, with one tangent function for all calls of one function.

    ``adjoint`` names functions and transposes adjoints.
    """

    def __init__(self, adjoint: ReverseTransform | None = None):
        self.adjoint = adjoint or ReverseTransform()
        self._callees: dict[tuple[Function, tuple[Port, ...], tuple[int, ...]], TangentCallee] = {}

    def function(
        self, function: Function, wrt: tuple[int, ...], outputs: Sequence[int] | None = None
    ) -> Function:
        """Makes what ``tangent_function`` says."""
        function = self.adjoint.prepare_callee(function)
        self.adjoint.reserve_names(function)
        every = range(len(function.returns)) if outputs is None else outputs
        ports = tuple((position, ()) for position in wrt)
        result = self._transformed(function, ports, tuple(every)).function
        raise_all(self.adjoint.problems)
        return result

    def of_callee(
        self, callee: Function, wrt: tuple[Port, ...], zeroed: tuple[int, ...] = ()
    ) -> TangentCallee:
        """Returns the tangent function of ``callee``, if the leaves ``wrt`` have tangents.

        A choice may have zeroed the tangents of the parameters ``zeroed``.
        """
        key = (callee, wrt, zeroed)
        if key not in self._callees:
            self._callees[key] = self._transformed(callee, wrt, None, zeroed)
        return self._callees[key]

    def _transformed(
        self,
        function: Function,
        wrt: tuple[Port, ...],
        outputs: tuple[int, ...] | None = None,
        zeroed: tuple[int, ...] = (),
    ) -> TangentCallee:
        """Makes a tangent function that returns the full tangents of ``outputs``.

        If ``outputs`` is None, it returns those of the leaves that have one.
        """
        sweep = TangentSweep(self, function, zeroed)
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
                tangents = [
                    partial_tangent(sweep, function.returns[k], path) for k, path in reached
                ]
            else:
                reached = tuple((k, ()) for k in outputs)
                tangents = [sweep.full_tangent(function.returns[k]) for k in outputs]
        returns = (*function.returns, *tangents)
        body = Region((*function.params, *dots), tuple(builder.ops), returns)
        name = self.adjoint.new_name(f"{function.name}_tangent")
        result = replace(function, name=name, body=body, order=function.order + 1, role="tangent")
        return TangentCallee(result, reached)


class TangentSweep:
    """A tangent sweep of a function, with the tangents of the values so far."""

    def __init__(self, tangents: Tangents, function: Function, zeroed: tuple[int, ...] = ()):
        self.tangents = tangents
        self.builder = Builder()
        self.names = Names(self.builder, function, "dot")
        self.singular = tangents.adjoint.singularities.of(function)
        self.makers = producers(function.body)
        self.zeroed = values_with_zeroed_tangents(function, zeroed)
        unset = tangents.adjoint.activity.unset(function)
        self.known = Cotangents(frozenset(), unset, self.names)

    def zeroed_operands(self, call: Op) -> tuple[int, ...]:
        """Lists the operands of a call whose tangents a choice may have zeroed.

        Empty if the callee has no place where 0 times infinity may occur.
        """
        if not self.tangents.adjoint.singularities.is_singular(call.attrs["callee"]):
            return ()
        return tuple(k for k, operand in enumerate(call.operands) if operand in self.zeroed)

    # ---- tangents of values

    def has_tangent(self, operand: AnyOperand) -> bool:
        """True if any part of a value has a tangent."""
        return self.known.has_cotangent(operand)

    def ports(self, operands: Sequence[AnyOperand]) -> tuple[Port, ...]:
        """Lists the leaves of ``operands`` that have a tangent."""
        return tuple(
            (number, path)
            for number, operand in enumerate(operands)
            for path, _ in (leaves(operand.type) if isinstance(operand, Value) else ())
            if partial_tangent(self, operand, path) is not None
        )

    def full_tangent(self, operand: AnyOperand) -> AnyOperand:
        """Builds the tangent of a value or literal, with zeros for the parts that have none."""
        if not isinstance(operand, Value):
            return LITERAL_ZEROS[type_of(operand)]
        return operand if operand.type == UNDEFINED else self.known.full_cotangent(operand)

    def tangent_leaf(self, operand: AnyOperand, path: Path, type_: Type) -> AnyOperand:
        """Returns the tangent of one leaf as a value of ``type_``, or the undefined value."""
        if not isinstance(operand, Value):
            return conform(LITERAL_ZEROS[type_of(operand)], type_)
        if operand.type == UNDEFINED:
            return operand
        tangent = self.known.partial_sum((operand, path))
        if tangent is None:
            inner = part_type(operand.type, path)
            tangent = zero_leaf(operand, path, inner, operand in self.known.unset)
        return conform(tangent, type_)

    def set(self, value: Value, dot: AnyOperand, path: Path = ()) -> None:
        """Enters the tangent of a value, or of its part at ``path``; None is zero."""
        for rest, _ in leaves(part_type(value.type, path)) if dot is not None else ():
            part = dot
            for key in rest:
                part = item(part, key=key)
            self.known.set((value, (*path, *rest)), self.names.give(part, value, (*path, *rest)))

    # ---- operations

    def region(self, region: Region) -> None:
        """Adds the operations of a region, each with its tangents after it."""
        for op in region.ops:
            role = "tangent" if op.role == "primal" else op.role
            with self.builder.at(op.span, role):
                RULES.get(op.name, jvp_plain)(self, op)

    def block(self, region: Region) -> list[Op]:
        """Collects the operations of a nested region, with their tangents."""
        with self.builder.block() as ops:
            self.region(region)
        return ops


def jvp_plain(sweep: TangentSweep, op: Op) -> None:
    """Adds an operation and its tangents, by the rules of its definition."""
    sweep.builder.add(op)
    dots = {k: sweep.full_tangent(x) for k, x in enumerate(op.operands) if sweep.has_tangent(x)}
    if op.opdef.kind != "zero" and dots and any(carries_cotangent(r.type) for r in op.results):
        rule = partial(jvp_of_operator, op, dots, sweep.full_tangent, sweep.tangents.adjoint)
        tangents = tangent_with_zeros(
            sweep.singular,
            op,
            sweep.makers,
            sweep.zeroed,
            sweep.builder,
            dots.values(),
            rule,
        )
        for result, dot in zip(op.results, tangents):
            sweep.set(result, dot)


def jvp_custom_rule(sweep: TangentSweep, op: Op) -> None:
    """Adds values with a custom rule, and their tangents."""
    sweep.builder.add(op)
    dots = {k: sweep.full_tangent(x) for k, x in enumerate(op.operands) if sweep.has_tangent(x)}
    for result, dot in zip(op.results, jvp_of_rule(op, dots, sweep.tangents.adjoint)):
        sweep.set(result, dot)


def jvp_items(sweep: TangentSweep, op: Op) -> None:
    """Adds a tuple or dict, whose parts have the tangents of its operands."""
    sweep.builder.add(op)
    keys: Sequence = op.attrs.get("keys", range(len(op.operands)))
    for key, operand in zip(keys, op.operands):
        if isinstance(operand, Value):
            for path, _ in leaves(operand.type):
                dot = sweep.known.partial_sum((operand, path))
                if dot is not None:
                    sweep.known.set((op.result, (key, *path)), dot)


def jvp_item(sweep: TangentSweep, op: Op) -> None:
    """Adds an item, whose tangent is a part of its container's."""
    sweep.builder.add(op)
    container = op.value_operand(0)
    for path, _ in leaves(op.result.type):
        sweep.set(op.result, sweep.known.partial_sum((container, (op.attrs["key"], *path))), path)


def jvp_call(sweep: TangentSweep, op: Op) -> None:
    """Replaces a call by a call of the callee's tangent function."""
    wrt = sweep.ports(op.operands)
    with calling(Caller(op.span), sweep.tangents.adjoint.problems):
        zeroed = sweep.zeroed_operands(op) if wrt else ()
        tangent = sweep.tangents.of_callee(op.attrs["callee"], wrt, zeroed) if wrt else None
    if tangent is None or not tangent.reached:
        sweep.builder.add(op)
        return
    dots = tuple(partial_tangent(sweep, op.operands[k], path) for k, path in wrt)
    tangents = tangent.function.returns[len(op.results) :]
    results = tuple(Value(type_of(dot)) for dot in tangents)
    operands, attrs = (*op.operands, *dots), {**op.attrs, "callee": tangent.function}
    sweep.builder.add(replace(op, operands=operands, attrs=attrs, results=(*op.results, *results)))
    for (position, path), dot in zip(tangent.reached, results):
        sweep.set(op.results[position], dot, path)


def jvp_if(sweep: TangentSweep, op: Op) -> None:
    """Adds an ``if`` whose branches yield the tangents that either of them has."""
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
            tangents = [
                sweep.tangent_leaf(yields[v], path, type_) for (v, path), type_ in keys.items()
            ]
        regions.append(Region((), tuple(ops), (*region.yields, *tangents)))
    results = [sweep.names.fresh(type_, *key) for key, type_ in keys.items()]
    sweep.builder.add(replace(op, regions=tuple(regions), results=(*op.results, *results)))
    for key, result in zip(keys, results):
        sweep.known.set(key, result)


RULES: dict[str, Callable[[TangentSweep, Op], None]] = {
    "if": jvp_if,
    "for": jvp_loop,
    "while": jvp_loop,
    "call": jvp_call,
    "custom_rule": jvp_custom_rule,
    "make_tuple": jvp_items,
    "make_dict": jvp_items,
    "item": jvp_item,
}
