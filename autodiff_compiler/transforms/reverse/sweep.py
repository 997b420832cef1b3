"""The reverse sweep, and what is made with it: a gradient in one body, or a pair of halves.

A region is walked backward. Each operation whose results have a cotangent asks its record for the
cotangents of its operands, which are built of ordinary operators; so the outcome can be swept
again. Forward operations are shared with the function that was swept, not copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from autodiff_compiler.analysis.activity import Activity
from autodiff_compiler.analysis.magnitude import safe_magnitude_values
from autodiff_compiler.analysis.versions import changing
from autodiff_compiler.analysis.zero_times_infinity import NOTHING_ASKED, Asked, Choices
from autodiff_compiler.errors import NoDerivative, Problem, calling, raise_all
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.opdef import call_with_named, rule_arguments
from autodiff_compiler.ir.rewrite import Producers, free_values, fresh, producers, substitute
from autodiff_compiler.ir.types import ArrayType, Type, as_cotangent, is_complex, takes_sensitivity
from autodiff_compiler.operators.core.containers import item, make_tuple
from autodiff_compiler.operators.core.structure import cast_like, reshape_like
from autodiff_compiler.operators.elementwise.complex_parts import AS_THEY_STAND, conjugates
from autodiff_compiler.span import Caller
from autodiff_compiler.transforms.reverse.branches_and_calls import (
    ForwardBackward,
    Rule,
    reverse_call,
    reverse_if,
    reverse_item,
    reverse_items,
    reverse_list,
    reverse_list_item,
)
from autodiff_compiler.transforms.reverse.checkpointing import reverse_for
from autodiff_compiler.transforms.reverse.cotangents import (
    Cotangents,
    Names,
    conform,
    leaves,
    one_leaf,
)
from autodiff_compiler.transforms.reverse.custom_rules import reverse_ruled, stands_for
from autodiff_compiler.transforms.reverse.loops import reverse_loop
from autodiff_compiler.transforms.reverse.partition import partition, prune
from autodiff_compiler.transforms.reverse.zero_wins import with_zeros

Clean = Callable[[Function], Function]
#: What goes to the item is read before its place is given up.
PUTTING = ("list_append", "list_set", "set_item")
#: The cotangents that a function starts from: positions of its returns, with their types.
Seeds = tuple[tuple[int, Type], ...]
#: What a pair is made for: a callee, its ``wrt``, seeds, whether it recomputes, what is untaken.
HalvesKey = tuple[Function, tuple[int, ...], Seeds, bool, Asked]


def _as_it_is(function: Function) -> Function:
    return function


def gradient_function(
    function: Function,
    wrt: Sequence[int],
    sens: bool = False,
    value: bool = False,
    outputs: Sequence[int] | None = None,
) -> Function:
    """One function that returns (what ``function`` returns, if ``value``, and) the cotangents of
    the parameters ``wrt``, typed as ``as_cotangent`` says.

    With ``sens`` the cotangents of the returns ``outputs`` (all of them) are further parameters;
    else they are ones.
    """
    return ReverseTransform().gradient(function, wrt, sens, value, outputs)


def split(
    function: Function,
    wrt: Sequence[int],
    sens: bool = False,
    value: bool | Sequence[int] = False,
    outputs: Sequence[int] | None = None,
    clean: Clean = _as_it_is,
    together: Clean = _as_it_is,
) -> tuple[Function, Function]:
    """The gradient as two functions: forward returns (the returns, if ``value``, and) the tuple of
    residuals; backward takes that, and the cotangents of the returns if ``sens``. ``value`` may
    also name the returns that forward returns, by position.

    ``clean`` is applied to the halves before the residuals are read off, and ``together`` to both
    as one function, before it is cut.
    """
    return ReverseTransform(clean, together=together).split(function, wrt, sens, value, outputs)


class ReverseTransform:
    """Remembers the halves of callees, so that two calls of one function share one pair."""

    def __init__(
        self, clean: Clean = _as_it_is, whole: Clean = _as_it_is, together: Clean = _as_it_is
    ):
        #: ``whole`` is applied to what is asked for the derivative of, as opposed to what that
        #: calls; ``together`` to both halves as one function, before it is cut.
        self.clean, self.whole, self.together = clean, whole, together
        #: Whether halves are printed as they are: nothing that is made here is swept again.
        self.final = clean is not _as_it_is
        self.activity, self.choices = Activity(), Choices()
        self.problems: list[Problem] = []
        self._halves: dict[HalvesKey, ForwardBackward] = {}
        self._calls: Counter[HalvesKey] = Counter()
        self._names: set[str] = set()

    def gradient(
        self,
        function: Function,
        wrt: Sequence[int],
        sens: bool = False,
        value: bool = False,
        outputs: Sequence[int] | None = None,
    ) -> Function:
        """As ``gradient_function``."""
        function = self.whole(function)
        self.reserve_names(function)
        sweep = ReverseSweep(self, function, wrt, _seeds(function, outputs), sens)
        raise_all(self.problems)
        returns = function.returns if value else ()
        ops = (*sweep.forward, *sweep.backward.ops)
        params = (*function.params, *sweep.sens_params)
        body = prune(Region(params, ops, (*returns, *sweep.backward.yields)))
        made = _made(function, self.new_name(f"{function.name}_grad"), "gradient", body)
        return typed_gradients(made, function, wrt)

    def split(
        self,
        function: Function,
        wrt: Sequence[int],
        sens: bool = False,
        value: bool | Sequence[int] = False,
        outputs: Sequence[int] | None = None,
    ) -> tuple[Function, Function]:
        """As the function ``split``."""
        function = self.whole(function)
        self.reserve_names(function)
        sweep = ReverseSweep(self, function, wrt, _seeds(function, outputs), sens)
        raise_all(self.problems)
        if isinstance(value, bool):
            return self._cut(sweep, function.returns if value else ())
        return self._cut(sweep, [function.returns[position] for position in value])

    def reserve_names(self, function: Function) -> None:
        """Gives no new function the name of one that is there already."""
        self._names.update(each.name for each in (*function.callees(), function))

    def halves(
        self, callee: Function, wrt: tuple[int, ...], seeds: Seeds, recompute: bool, asked: Asked
    ) -> ForwardBackward:
        """The pair that a call is replaced by: forward returns all that the callee does.

        The first of a stack of equal blocks is often asked for less than the others, as it stands
        at the input. Where two or more of them have a pair, it shares that and drops a cotangent:
        some work is in vain, and no second text of the block is printed.
        """
        key = (callee, wrt, seeds, recompute, asked)
        if key not in self._halves:
            for wider in self._halves:
                rest = (wider[0], *wider[2:]) == (callee, seeds, recompute, asked)
                if rest and self._calls[wider] > 1 and set(wrt) < set(wider[1]):
                    return self._halves[wider]
            sweep = ReverseSweep(self, callee, wrt, seeds, True, only_reached=True, asked=asked)
            self._halves[key] = ForwardBackward(
                *self._cut(sweep, callee.returns, recompute), sweep.reached
            )
        self._calls[key] += 1
        return self._halves[key]

    def _cut(
        self, sweep: ReverseSweep, values: Sequence[AnyOperand], recompute: bool = False
    ) -> tuple[Function, Function]:
        function = sweep.function
        parts = partition(
            function.params, sweep.forward, sweep.backward, sweep.unset, recompute,
            together=lambda both: self.together(_made(function, "", "gradient", both)).body,
        )  # fmt: skip
        stands = stands_for(parts.forward) if self.final else {}
        known = {stands.get(value, value): fresh(value) for value in parts.kept}
        copies = {value: known[stands.get(value, value)] for value in parts.kept}
        body = substitute(parts.backward, copies)
        body = Region((*known.values(), *sweep.sens_params), body.ops, body.yields)
        name = self.new_name(f"{function.name}_backward")
        sure = safe_magnitude_values(Region((), parts.forward, ()), function.safe_magnitude)
        moderate = frozenset(known[value] for value in sure if value in known)
        made = replace(_made(function, name, "backward", body), safe_magnitude=moderate)
        body = self.clean(made).body
        read = free_values(Region((), body.ops, body.yields))
        params = body.params[: len(known)]
        kept = [(value, param) for value, param in zip(known, params) if param in read]

        builder = Builder()
        with builder, builder.at(function.span):
            packed = builder.apply(make_tuple, [value for value, _ in kept], {})
        packed.name = "residuals"
        ops = (*parts.forward, *builder.ops)
        forward = _made(
            function,
            self.new_name(f"{function.name}_forward"),
            "forward",
            prune(Region(function.params, ops, (*values, packed))),
        )
        residuals = Value(packed.type, "residuals")
        unpack = [
            Op(item, (residuals,), {"key": key}, (param,), function.span, "adjoint")
            for key, (_, param) in enumerate(kept)
        ]
        rest = body.params[len(known) :]
        body = Region((residuals, *rest), (*unpack, *body.ops), body.yields)
        return self.clean(forward), replace(made, body=body)

    def refuse(self, op: Op, operand: str) -> None:
        """Notes that an operation has no derivative where one is needed."""
        self.note(
            op,
            f"{op.name} has no derivative with respect to {operand}, "
            "but the output depends on it through this operation",
            "use an operator that has a derivative, or ops.stop_gradient(...) where no "
            "gradient is wanted",
        )

    def note(self, op: Op, cause: str, cure: str) -> None:
        """Keeps the problem that an operation has no derivative, to be told with all others."""
        problem = Problem(NoDerivative, cause, cure, op.span)
        if problem not in self.problems:
            self.problems.append(problem)

    def new_name(self, wish: str) -> str:
        """A name that no function has yet."""
        name, number = wish, 1
        while name in self._names:
            number += 1
            name = f"{wish}_{number}"
        self._names.add(name)
        return name


def _seeds(function: Function, outputs: Sequence[int] | None) -> Seeds:
    types = [type_of(value) for value in function.returns]
    positions = range(len(types)) if outputs is None else outputs
    return tuple((k, types[k]) for k in positions if takes_sensitivity(types[k]))


def typed_gradients(made: Function, primal: Function, wrt: Sequence[int]) -> Function:
    """``made`` with its last returns, the cotangents of parameters, typed as ``as_cotangent``
    says."""
    first = len(made.returns) - len(wrt)
    builder = Builder()
    with builder, builder.at(made.span, "adjoint"):
        found = [
            _ranked(conform(ct, as_cotangent(param.type)), param)
            for ct, param in zip(made.returns[first:], [primal.params[place] for place in wrt])
        ]
    ops = (*made.body.ops, *builder.ops)
    body = Region(made.params, ops, (*made.returns[:first], *found))
    return replace(made, body=body) if builder.ops or found != list(made.returns[first:]) else made


def _ranked(ct: AnyOperand, param: Value) -> AnyOperand:
    """Return ``ct`` with the rank of ``param``, where only that of ``param`` is known."""
    known = isinstance(param.type, ArrayType) and param.type.shape is not None
    if known and isinstance(ct, Value) and isinstance(ct.type, ArrayType) and ct.type.shape is None:
        return reshape_like(ct, param)
    return ct


def _made(primal: Function, name: str, role: str, body: Region) -> Function:
    return Function(name, body, primal.span, primal.title, primal.order + 1, role)


class ReverseSweep:
    """One reverse sweep of a function.

    ``forward`` are the operations of the function, which may deliver more than they did;
    ``backward`` is a region that reads their values and yields the cotangents of ``wrt``, or only
    of those that are ``reached`` by any.
    """

    def __init__(
        self,
        adjoint: ReverseTransform,
        function: Function,
        wrt: Sequence[int],
        seeds: Seeds,
        sens: bool,
        only_reached: bool = False,
        asked: Asked = NOTHING_ASKED,
    ):
        self.adjoint, self.function = adjoint, function
        self.zeros = adjoint.choices.of(function, asked)
        self.builder = Builder()
        self.varied = adjoint.activity.varied(function, tuple(wrt))
        self.producers: Producers = producers(function.body)
        self.changing = changing(function.body)
        names = Names(self.builder, function)
        #: What may be unset: of the function, and what is handed from its branches to backward.
        self.unset = set(adjoint.activity.unset(function))
        scope = Cotangents(self.varied, self.unset, names)
        self.sens_params: tuple[Value, ...] = ()
        with self.builder, self.builder.at(function.span, "adjoint"):
            if sens:
                self.sens_params = tuple(_sens(names, function, k, type_) for k, type_ in seeds)
                for (position, _), param in zip(seeds, self.sens_params):
                    scope.add(function.returns[position], param)
            else:
                for position, _ in seeds:
                    self._seed_ones(scope, function.returns[position])
            self.forward = self.region(function.body, scope)
            params = function.params
            self.reached = tuple(k for k in wrt if scope.has(params[k]))
            wanted = [params[k] for k in (self.reached if only_reached else wrt)]
            yields = tuple(cast_like(scope.whole(param), param) for param in wanted)
        self.backward = Region((), tuple(self.builder.ops), yields)

    def _seed_ones(self, scope: Cotangents, output: AnyOperand) -> None:
        if not isinstance(output, Value) or output not in self.varied:
            return
        maker = self.producers.get(output)
        # The seed is told with the statement whose result it is the cotangent of.
        with self.builder.at(maker.span if maker else self.function.span, "adjoint"):
            for path, leaf in leaves(output.type):
                scope.add(output, one_leaf(output, path, leaf), path)

    def halves(self, call: Op, wrt: tuple[int, ...], seeds: Seeds) -> ForwardBackward:
        """The pair that a call is replaced by."""
        with calling(Caller(call.span), self.adjoint.problems):
            asked = self.adjoint.choices.asked_by(call, self.zeros)
            again = "recompute" in call.attrs
            return self.adjoint.halves(call.attrs["callee"], wrt, seeds, again, asked)

    def note(self, op: Op, cause: str, cure: str) -> None:
        """Keeps the problem that an operation has no derivative, to be told with all others."""
        self.adjoint.note(op, cause, cure)

    def region(self, region: Region, scope: Cotangents) -> list[Op]:
        """Builds the adjoint of a region's operations; gives its forward operations."""
        forward = []
        for op in reversed(region.ops):
            with self.builder.at(op.span, "adjoint"):
                made = RULES.get(op.name, reverse_plain)(self, op, scope)
                forward += made[::-1] if isinstance(made, list) else [made]
        forward.reverse()
        return forward


def _sens(names: Names, function: Function, position: int, type_: Type) -> Value:
    output = function.returns[position]
    named = isinstance(output, Value) and output.name
    return names.fresh(type_, output if named else Value(type_, "out"))  # type: ignore[arg-type]


def reverse_plain(sweep: ReverseSweep, op: Op, scope: Cotangents) -> Op:
    """An operation that its record knows the derivative of."""
    wanted = [k for k, x in enumerate(op.operands) if isinstance(x, Value) and x in sweep.varied]
    if op.opdef.kind == "zero" or not wanted or not any(map(scope.has, op.results)):
        return op
    several = len(op.results) > 1
    operands, results = op.operands, op.results
    if op.name not in AS_THEY_STAND and any(
        map(is_complex, (*op.types, *(r.type for r in results)))
    ):
        known: dict[Any, Any] = {}
        operands = tuple(conjugates(operands, known))
        results = tuple(conjugates(results, known))
    facts = rule_arguments(op.opdef, operands, op.attrs, results if several else results[0])
    cts = tuple(scope.whole(result) for result in op.results)
    facts["ct"] = cts if several else cts[0]
    for position in reversed(wanted) if op.name in PUTTING else wanted:
        name = op.opdef.operand_name(position)
        rule = op.opdef.rule(op.opdef.adjoint, name)
        if rule is None:
            sweep.adjoint.refuse(op, name)
        else:
            made = partial(call_with_named, rule, facts)
            found = with_zeros(sweep.zeros, op, sweep.producers, sweep.builder, cts, made)
            scope.add(op.operands[position], found)
    return op


RULES: dict[str, Rule | Callable[..., Op]] = {
    "if": reverse_if,
    "for": reverse_for,
    "while": reverse_loop,
    "call": reverse_call,
    "ruled": reverse_ruled,
    "make_tuple": reverse_items,
    "make_dict": reverse_items,
    "item": reverse_item,
    "make_list": reverse_list,
    "list_item": reverse_list_item,
}
