"""The tangent sweep: one pass forward, in which every operation is followed by its tangents.

A value has a tangent if it depends on a parameter that has one; it is known leaf by leaf (a tuple
has the tangents of its items), and none means zero. A branch yields the tangents of what it yields,
a loop carries, reads and stacks those of what it carries, reads and stacks, and a call becomes a
call of its callee's tangent. Primal operations are shared with the function that was swept; what
is made is built of ordinary operators, so that it can be swept again, in either direction.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.text import parse_function, print_function
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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from autodiff_compiler.adjoint.cotangents import (
    LITERAL_ZEROS,
    Cotangents,
    Key,
    Names,
    Path,
    common_type,
    fit,
    leaves,
    part_type,
    zero_leaf,
)
from autodiff_compiler.adjoint.reverse import Adjoint
from autodiff_compiler.adjoint.shares import push, push_rule
from autodiff_compiler.errors import raise_all
from autodiff_compiler.ir.build import Builder, read_type
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.rewrite import fresh
from autodiff_compiler.ir.types import UNDEFINED, ListType, Type
from autodiff_compiler.operators.containers import item

#: A part of a carry or yield: its number and the path in it.
Port = tuple[int, Path]


def tangent_function(
    function: Function, wrt: Sequence[int], outputs: Sequence[int] | None = None
) -> Function:
    """One function that takes, after the parameters of ``function``, the tangents of those in
    ``wrt``, and returns what ``function`` returns and then the tangents of its returns ``outputs``
    (all of them)."""
    return Tangents().function(function, tuple(wrt), outputs)


@dataclass(frozen=True)
class Pushed:
    """The tangent of a callee, and the returns whose tangents come after the returns."""

    function: Function
    reached: tuple[int, ...]


class Tangents:
    """Remembers the tangents of callees, so that two calls of one function share one.

    ``adjoint`` names functions and transposes adjoints.
    """

    def __init__(self, adjoint: Adjoint | None = None):
        self.adjoint = adjoint or Adjoint()
        self._pushed: dict[tuple[Function, tuple[int, ...]], Pushed] = {}

    def function(
        self, function: Function, wrt: tuple[int, ...], outputs: Sequence[int] | None = None
    ) -> Function:
        """As ``tangent_function``."""
        self.adjoint.reserve_names(function)
        every = range(len(function.returns)) if outputs is None else outputs
        made = self._made(function, wrt, every).function
        raise_all(self.adjoint.problems)
        return made

    def pushed(self, callee: Function, wrt: tuple[int, ...]) -> Pushed:
        """What a call of ``callee`` is replaced by."""
        if (callee, wrt) not in self._pushed:
            self._pushed[callee, wrt] = self._made(callee, wrt)
        return self._pushed[callee, wrt]

    def _made(
        self, function: Function, wrt: tuple[int, ...], outputs: Sequence[int] | None = None
    ) -> Pushed:
        """With the tangents of ``outputs``, or of what is reached."""
        sweep = TangentSweep(self, function)
        builder = sweep.builder
        with builder, builder.at(function.span, "tangent"):
            params = [function.params[position] for position in wrt]
            dots = [sweep.names.fresh(param.type, param) for param in params]
            for param, dot in zip(params, dots):
                sweep.set(param, dot)
            sweep.region(function.body)
            if outputs is None:
                outputs = [k for k, value in enumerate(function.returns) if sweep.has(value)]
            reached = tuple(outputs)
            found = [sweep.whole(function.returns[position]) for position in reached]
        returns = (*function.returns, *found)
        body = Region((*function.params, *dots), tuple(builder.ops), returns)
        name = self.adjoint.new_name(f"{function.name}_tangent")
        made = replace(function, name=name, body=body, order=function.order + 1, role="tangent")
        return Pushed(made, reached)


class TangentSweep:
    """One tangent sweep of a function: what is known of the tangent of every value."""

    def __init__(self, tangents: Tangents, function: Function):
        self.tangents = tangents
        self.builder = Builder()
        self.names = Names(self.builder, function.order, "dot")
        unset = tangents.adjoint.activity.unset(function)
        self.known = Cotangents(frozenset(), unset, self.names)

    # ---- tangents of values

    def has(self, operand: AnyOperand) -> bool:
        """Whether any part of a value has a tangent."""
        return self.known.has(operand)

    def whole(self, operand: AnyOperand) -> AnyOperand:
        """The tangent of a value or literal, with zeros for the parts that have none."""
        if not isinstance(operand, Value):
            return LITERAL_ZEROS[type_of(operand)]
        return operand if operand.type == UNDEFINED else self.known.whole(operand)

    def leaf(self, operand: AnyOperand, path: Path, type_: Type) -> AnyOperand:
        """The tangent of one leaf as a value of ``type_``; what is undefined stays so."""
        if not isinstance(operand, Value):
            return fit(LITERAL_ZEROS[type_of(operand)], type_)
        if operand.type == UNDEFINED:
            return operand
        found = self.known.so_far((operand, path))
        if found is None:
            inner = part_type(operand.type, path)
            found = zero_leaf(operand, path, inner, operand in self.known.unset)
        return fit(found, type_)

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
            about = "tangent" if op.about == "primal" else op.about
            with self.builder.at(op.span, about):
                RULES.get(op.name, push_plain)(self, op)

    def block(self, region: Region) -> list[Op]:
        """The operations of a nested region with their tangents."""
        with self.builder.block() as ops:
            self.region(region)
        return ops


def push_plain(sweep: TangentSweep, op: Op) -> None:
    """An operation that its record knows the derivative of."""
    sweep.builder.add(op)
    dots = {k: sweep.whole(x) for k, x in enumerate(op.operands) if sweep.has(x)}
    if op.opdef.kind != "zero" and op.results and dots:
        found = push(op, dots, sweep.whole, sweep.tangents.adjoint)
        for result, dot in zip(op.results, found):
            sweep.set(result, dot)


def push_ruled(sweep: TangentSweep, op: Op) -> None:
    """A value with a rule of its own."""
    sweep.builder.add(op)
    dots = {k: sweep.whole(x) for k, x in enumerate(op.operands) if sweep.has(x)}
    for result, dot in zip(op.results, push_rule(op, dots, sweep.tangents.adjoint)):
        sweep.set(result, dot)


def push_items(sweep: TangentSweep, op: Op) -> None:
    """The parts of a tuple or dict have the tangents of what it is made of."""
    sweep.builder.add(op)
    keys: Sequence = op.attrs.get("keys", range(len(op.operands)))
    for key, operand in zip(keys, op.operands):
        if isinstance(operand, Value):
            for path, _ in leaves(operand.type):
                dot = sweep.known.so_far((operand, path))
                if dot is not None:
                    sweep.known.put((op.result, (key, *path)), dot)


def push_item(sweep: TangentSweep, op: Op) -> None:
    """An item has a part of the tangent of its container."""
    sweep.builder.add(op)
    (container,) = op.operands
    assert isinstance(container, Value)
    for path, _ in leaves(op.result.type):
        sweep.set(op.result, sweep.known.so_far((container, (op.attrs["key"], *path))), path)


def push_call(sweep: TangentSweep, op: Op) -> None:
    """A call becomes a call of the callee's tangent."""
    wrt = tuple(k for k, operand in enumerate(op.operands) if sweep.has(operand))
    pushed = sweep.tangents.pushed(op.attrs["callee"], wrt) if wrt else None
    if pushed is None or not pushed.reached:
        sweep.builder.add(op)
        return
    dots = tuple(sweep.whole(op.operands[k]) for k in wrt)
    found = pushed.function.returns[len(op.results) :]
    results = tuple(Value(type_of(dot)) for dot in found)
    sweep.builder.add(
        replace(op, operands=(*op.operands, *dots), results=(*op.results, *results),
                attrs={**op.attrs, "callee": pushed.function})
    )  # fmt: skip
    for position, dot in zip(pushed.reached, results):
        sweep.set(op.results[position], dot)


def push_if(sweep: TangentSweep, op: Op) -> None:
    """Both branches yield the tangents that either of them has."""
    blocks = [sweep.block(region) for region in op.regions]
    keys: dict[Key, Type] = {}
    for number, result in enumerate(op.results):
        for path, leaf in leaves(result.type):
            dots = [_so_far(sweep, region.yields[number], path) for region in op.regions]
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


def push_loop(sweep: TangentSweep, op: Op) -> None:
    """A loop carries, reads and stacks tangents beside what it carries, reads and stacks.

    Which carries have one depends on the body, which is swept until that is settled.
    """
    loop = Loop(op)
    carries: dict[Port, Type] = {}
    _widen(sweep, carries, loop.carry_params, loop.inits)
    while True:
        before = dict(carries)
        with sweep.builder.block() as ops:
            ports = _enter(sweep, loop, carries)
            reads = _enter_reads(sweep, loop)
            sweep.region(loop.body)
        _widen(sweep, carries, loop.carry_params, loop.carry_yields)
        if carries == before:
            break
    _Pushed(sweep, loop, carries, ports, reads).build(ops)


def _widen(
    sweep: TangentSweep,
    carries: dict[Port, Type],
    params: Sequence[Value],
    sources: Sequence[AnyOperand],
) -> None:
    """Notes the carries that ``sources`` give a tangent, with a type that holds it."""
    for number, (param, source) in enumerate(zip(params, sources)):
        for path, leaf in leaves(param.type):
            dot = _so_far(sweep, source, path)
            if dot is not None:
                port = number, path
                carries[port] = common_type(leaf, carries.get(port, leaf), type_of(dot))


def _enter(sweep: TangentSweep, loop: Loop, carries: Mapping[Port, Type]) -> dict[Port, Value]:
    """The parameters for the tangents of carries."""
    made = {}
    for (number, path), type_ in carries.items():
        param = loop.carry_params[number]
        made[number, path] = sweep.names.fresh(type_, param, path)
        sweep.known.put((param, path), made[number, path])
    return made


def _enter_reads(sweep: TangentSweep, loop: Loop) -> list[tuple[AnyOperand, Value]]:
    """The parameters for the tangents of what is read, with what is read for them."""
    made: list[tuple[AnyOperand, Value]] = []
    for source, param in zip(loop.reads, loop.read_params):
        dots = _so_far(sweep, source, ())
        if dots is not None:
            dot = sweep.names.fresh(read_type(type_of(dots)), param)
            made.append((dots, dot))
            sweep.set(param, dot)
    return made


@dataclass(frozen=True)
class _Pushed:
    """A loop whose body has been swept."""

    sweep: TangentSweep
    loop: Loop
    carries: Mapping[Port, Type]
    ports: Mapping[Port, Value]
    reads: Sequence[tuple[AnyOperand, Value]]

    def build(self, ops: list[Op]) -> None:
        """Adds the loop, and enters the tangents of its results."""
        sweep, loop, op = self.sweep, self.loop, self.loop.op
        stacks = [
            (result, yielded)
            for result, yielded in zip(loop.stacked, loop.stack_yields)
            if sweep.has(yielded)
        ]
        with sweep.builder.block(ops):
            carry_yields = self._leaves(loop.carry_yields)
            stacked = [sweep.whole(yielded) for _, yielded in stacks]
        until = loop.body.yields[len(loop.body.yields) - loop.has_until :]
        yields = (*loop.carry_yields, *carry_yields, *loop.stack_yields, *stacked, *until)
        lead = loop.body.params[: 1 + loop.is_for]
        params = (*lead, *loop.carry_params, *self.ports.values(),
                  *loop.read_params, *(param for _, param in self.reads))  # fmt: skip
        regions: tuple[Region, ...] = (Region(params, tuple(ops), yields),)
        if loop.condition is not None:
            test = loop.condition
            tested = (*test.params, *(fresh(port) for port in self.ports.values()))
            regions = (Region(tested, test.ops, test.yields), *regions)
        carried = [
            sweep.names.fresh(type_, loop.carried[number], path)
            for (number, path), type_ in self.carries.items()
        ]
        tapes = [
            sweep.names.fresh(ListType(type_of(dot)), result)
            for (result, _), dot in zip(stacks, stacked)
        ]
        operands = (*loop.bounds, *loop.inits, *self._leaves(loop.inits),
                    *loop.reads, *(source for source, _ in self.reads))  # fmt: skip
        attrs = {**op.attrs, "carries": loop.carries + len(carried)}
        results = (*loop.carried, *carried, *loop.stacked, *tapes, loop.count)
        sweep.builder.add(
            replace(op, operands=operands, attrs=attrs, results=results, regions=regions)
        )
        for (number, path), dot in zip(self.carries, carried):
            sweep.known.put((loop.carried[number], path), dot)
        for (result, _), tape in zip(stacks, tapes):
            sweep.known.put((result, ()), tape)

    def _leaves(self, sources: Sequence[AnyOperand]) -> list[AnyOperand]:
        return [
            self.sweep.leaf(sources[number], path, type_)
            for (number, path), type_ in self.carries.items()
        ]


def _so_far(sweep: TangentSweep, operand: AnyOperand, path: Path) -> AnyOperand:
    """The tangent of a leaf of an operand, None for zero."""
    return sweep.known.so_far((operand, path)) if isinstance(operand, Value) else None


RULES: dict[str, Callable[[TangentSweep, Op], None]] = {
    "if": push_if,
    "for": push_loop,
    "while": push_loop,
    "call": push_call,
    "ruled": push_ruled,
    "make_tuple": push_items,
    "make_dict": push_items,
    "item": push_item,
}
