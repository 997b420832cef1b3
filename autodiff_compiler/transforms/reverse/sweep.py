"""The reverse sweep, and its two results: a gradient function, or a forward and a backward one.

The sweep walks a region backward. For each operation whose results have a cotangent, its operator
definition builds the cotangents of its operands. They consist of ordinary operators, so the result
can be swept again. Forward operations are shared with the swept function, not copied.
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
from autodiff_compiler.analysis.zero_times_infinity import (
    NO_CONTEXT,
    CallContext,
    SingularityAnalysis,
)
from autodiff_compiler.errors import NoDerivative, Problem, calling, raise_all
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.opdef import call_with_named, rule_arguments
from autodiff_compiler.ir.rewrite import Producers, free_values, fresh, producers, substitute
from autodiff_compiler.ir.types import (
    ArrayType,
    ScalarType,
    Type,
    as_cotangent,
    is_complex,
    takes_sensitivity,
)
from autodiff_compiler.operators.core.containers import item, make_tuple
from autodiff_compiler.operators.core.structure import cast_like, reshape, reshape_like
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
from autodiff_compiler.transforms.reverse.custom_rules import reverse_custom_rule, stands_for
from autodiff_compiler.transforms.reverse.loops import reverse_loop
from autodiff_compiler.transforms.reverse.partition import partition, prune
from autodiff_compiler.transforms.reverse.zero_wins import adjoint_with_zeros

Rewrite = Callable[[Function], Function]
#: Operators that replace an item: its cotangent is read before that place is cleared.
REPLACES_ITEM = ("list_append", "list_set", "set_item")
#: The cotangents that a function starts from: positions of its returns, with their types.
Seeds = tuple[tuple[int, Type], ...]
#: The key of a pair: the callee, ``wrt``, seeds, which of them are ones, whether it recomputes, and
#: the call's context.
PairKey = tuple[Function, tuple[int, ...], Seeds, tuple[int, ...], bool, CallContext]


def _unchanged(function: Function) -> Function:
    return function


def gradient_function(
    function: Function,
    wrt: Sequence[int],
    sens: bool = False,
    value: bool = False,
    outputs: Sequence[int] | None = None,
) -> Function:
    """Makes the gradient function of ``function``: it returns the cotangents of parameters.

    wrt       the positions of these parameters; the types are those of ``as_cotangent``.
    sens      the cotangents of the returns are further parameters; else they are ones.
    value     it also returns, first, what ``function`` returns.
    outputs   the positions of the returns that are differentiated; all if None.
    """
    return ReverseTransform().gradient(function, wrt, sens, value, outputs)


def split(
    function: Function,
    wrt: Sequence[int],
    sens: bool = False,
    value: bool | Sequence[int] = False,
    outputs: Sequence[int] | None = None,
    simplify_each: Rewrite = _unchanged,
    simplify_jointly: Rewrite = _unchanged,
) -> tuple[Function, Function]:
    """Makes the gradient as two functions: forward and backward.

    The forward function returns the tuple of residuals. Before it come the returns if ``value``, or
    those whose positions ``value`` lists. The backward function takes the residuals, and the
    cotangents of the returns if ``sens``.

    simplify_each     rewrites each of the two before the residuals are determined.
    simplify_jointly  rewrites both as one function, before it is partitioned.
    """
    transform = ReverseTransform(simplify_each, simplify_jointly=simplify_jointly)
    return transform.split(function, wrt, sens, value, outputs)


class ReverseTransform:
    """Reverse mode, with one forward/backward pair for all calls of one function.

    simplify_each     rewrites each of a pair before the residuals are determined.
    prepare_callee    rewrites a function whose derivative is taken, but not its callees.
    simplify_jointly  rewrites a pair as one function, before it is partitioned.
    """

    def __init__(
        self,
        simplify_each: Rewrite = _unchanged,
        prepare_callee: Rewrite = _unchanged,
        simplify_jointly: Rewrite = _unchanged,
    ):
        self.simplify_each, self.prepare_callee = simplify_each, prepare_callee
        self.simplify_jointly = simplify_jointly
        #: True if nothing that is made here is swept again: the pairs are emitted.
        self.final = simplify_each is not _unchanged
        self.activity, self.singularities = Activity(), SingularityAnalysis()
        self.problems: list[Problem] = []
        self._pairs: dict[PairKey, ForwardBackward] = {}
        self._calls: Counter[PairKey] = Counter()
        self._names: set[str] = set()

    def gradient(
        self,
        function: Function,
        wrt: Sequence[int],
        sens: bool = False,
        value: bool = False,
        outputs: Sequence[int] | None = None,
    ) -> Function:
        """Makes what ``gradient_function`` says."""
        function = self.prepare_callee(function)
        self.reserve_names(function)
        sweep = ReverseSweep(self, function, wrt, _seeds(function, outputs), sens)
        raise_all(self.problems)
        returns = function.returns if value else ()
        ops = (*sweep.forward, *sweep.backward.ops)
        params = (*function.params, *sweep.sens_params)
        body = prune(Region(params, ops, (*returns, *sweep.backward.yields)))
        gradient = _derived(function, self.new_name(f"{function.name}_grad"), "gradient", body)
        return typed_gradients(gradient, function, wrt)

    def split(
        self,
        function: Function,
        wrt: Sequence[int],
        sens: bool = False,
        value: bool | Sequence[int] = False,
        outputs: Sequence[int] | None = None,
    ) -> tuple[Function, Function]:
        """Makes what the function ``split`` says."""
        function = self.prepare_callee(function)
        self.reserve_names(function)
        sweep = ReverseSweep(self, function, wrt, _seeds(function, outputs), sens)
        raise_all(self.problems)
        if isinstance(value, bool):
            return self._split_sweep(sweep, function.returns if value else ())
        return self._split_sweep(sweep, [function.returns[position] for position in value])

    def reserve_names(self, function: Function) -> None:
        """Excludes the names of ``function`` and its callees from those of new functions."""
        self._names.update(each.name for each in (*function.callees(), function))

    def pair_of_call(
        self,
        callee: Function,
        wrt: tuple[int, ...],
        seeds: Seeds,
        ones: tuple[int, ...],
        recompute: bool,
        context: CallContext,
    ) -> ForwardBackward:
        """Returns the pair for a call; its forward function returns all that the callee does.

        The backward function has no parameter for the seeds of the positions ``ones``.

        The first of a stack of equal blocks often needs fewer cotangents than the others: its
        operand is the input. If two or more calls share a pair with more cotangents, it takes that
        one and drops a cotangent. It computes more, but no second pair is emitted.
        """
        key = (callee, wrt, seeds, ones, recompute, context)
        if key not in self._pairs:
            for wider in self._pairs:
                same_rest = (wider[0], *wider[2:]) == (key[0], *key[2:])
                if same_rest and self._calls[wider] > 1 and set(wrt) < set(wider[1]):
                    return self._pairs[wider]
            sweep = ReverseSweep(
                self, callee, wrt, seeds, True, only_reached=True, context=context, ones=ones
            )
            self._pairs[key] = ForwardBackward(
                *self._split_sweep(sweep, callee.returns, recompute), sweep.reached
            )
        self._calls[key] += 1
        return self._pairs[key]

    def _split_sweep(
        self, sweep: ReverseSweep, values: Sequence[AnyOperand], recompute: bool = False
    ) -> tuple[Function, Function]:
        """Partitions a finished sweep; the forward function returns ``values`` and residuals."""
        function = sweep.function

        def simplify_jointly(both: Region) -> Region:
            return self.simplify_jointly(_derived(function, "", "gradient", both)).body

        parts = partition(
            function.params,
            sweep.forward,
            sweep.backward,
            sweep.unset,
            recompute,
            simplify_jointly=simplify_jointly,
        )
        replaced = stands_for(parts.forward) if self.final else {}
        known = {replaced.get(value, value): fresh(value) for value in parts.saved}
        copies = {value: known[replaced.get(value, value)] for value in parts.saved}
        body = substitute(parts.backward, copies)
        body = Region((*known.values(), *sweep.sens_params), body.ops, body.yields)
        name = self.new_name(f"{function.name}_backward")
        sure = safe_magnitude_values(Region((), parts.forward, ()), function.safe_magnitude)
        safe = frozenset(known[value] for value in sure if value in known)
        backward = replace(_derived(function, name, "backward", body), safe_magnitude=safe)
        body = self.simplify_each(backward).body
        read = free_values(Region((), body.ops, body.yields))
        params = body.params[: len(known)]
        saved = [(value, param) for value, param in zip(known, params) if param in read]

        builder = Builder()
        with builder, builder.at(function.span):
            packed = builder.apply(make_tuple, [value for value, _ in saved], {})
        packed.name = "residuals"
        ops = (*parts.forward, *builder.ops)
        forward = _derived(
            function,
            self.new_name(f"{function.name}_forward"),
            "forward",
            prune(Region(function.params, ops, (*values, packed))),
        )
        residuals = Value(packed.type, "residuals")
        unpack = [
            Op(item, (residuals,), {"key": key}, (param,), function.span, "adjoint")
            for key, (_, param) in enumerate(saved)
        ]
        if self.final:
            _name_results(body, sweep.result_names)
        rest = body.params[len(known) :]
        body = Region((residuals, *rest), (*unpack, *body.ops), body.yields)
        return self.simplify_each(forward), replace(backward, body=body)

    def refuse(self, op: Op, operand: str) -> None:
        """Records that an operation has no derivative with respect to ``operand``."""
        self.note(
            op,
            f"{op.name} has no derivative with respect to {operand}, "
            "but the output depends on it through this operation",
            "use an operator that has a derivative, or ops.stop_gradient(...) where no "
            "gradient is wanted",
        )

    def note(self, op: Op, cause: str, cure: str) -> None:
        """Records a problem, which is reported with all others."""
        problem = Problem(NoDerivative, cause, cure, op.span)
        if problem not in self.problems:
            self.problems.append(problem)

    def new_name(self, wish: str) -> str:
        """Returns a name that no function has yet, and reserves it."""
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


def typed_gradients(function: Function, primal: Function, wrt: Sequence[int]) -> Function:
    """Casts the last returns of ``function``, the cotangents, to the types of ``as_cotangent``."""
    first = len(function.returns) - len(wrt)
    builder = Builder()
    with builder, builder.at(function.span, "adjoint"):
        cotangents = [
            _with_rank(conform(ct, as_cotangent(param.type)), param)
            for ct, param in zip(function.returns[first:], [primal.params[place] for place in wrt])
        ]
    ops = (*function.body.ops, *builder.ops)
    body = Region(function.params, ops, (*function.returns[:first], *cotangents))
    return (
        replace(function, body=body)
        if builder.ops or cotangents != list(function.returns[first:])
        else function
    )


def _name_results(body: Region, names: Sequence[str]) -> None:
    """Names the returned cotangents that simplification has put in the place of named ones."""
    made_here = producers(body)
    for value, name in zip(body.yields, names):
        if isinstance(value, Value) and value in made_here and not value.has_user_name and name:
            value.name, value.has_user_name = name, True


def _with_rank(ct: AnyOperand, param: Value) -> AnyOperand:
    """Reshapes ``ct`` like ``param``, if only the rank or the sizes of ``param`` are known."""
    if not isinstance(ct, Value):
        return ct
    if isinstance(param.type, ScalarType) and _has_unknown_rank(ct.type):
        return reshape(ct, shape=())
    have, want = (getattr(value.type, "shape", None) for value in (ct, param))
    if want is None or have == want or not isinstance(ct.type, ArrayType):
        return ct
    return reshape_like(ct, param) if have is None or None in have and None not in want else ct


def _has_unknown_rank(type_: Type) -> bool:
    return isinstance(type_, ArrayType) and type_.shape is None


def _derived(primal: Function, name: str, role: str, body: Region) -> Function:
    return Function(name, body, primal.span, primal.title, primal.order + 1, role)


class ReverseSweep:
    """A reverse sweep of a function.

    forward    the operations of the function, some of which return residuals besides.
    backward   a region that reads their values and yields the cotangents of ``wrt``, or only of
               those that have any.
    reached    the positions in ``wrt`` that have a cotangent.
    result_names  the names of these cotangents.
    """

    def __init__(
        self,
        adjoint: ReverseTransform,
        function: Function,
        wrt: Sequence[int],
        seeds: Seeds,
        sens: bool,
        only_reached: bool = False,
        context: CallContext = NO_CONTEXT,
        ones: Sequence[int] = (),
    ):
        self.adjoint, self.function = adjoint, function
        self.singular = adjoint.singularities.of(function, context)
        self.builder = Builder()
        self.varied = adjoint.activity.varied(function, tuple(wrt))
        self.producers: Producers = producers(function.body)
        self.changing = changing(function.body)
        names = Names(self.builder, function)
        #: Values that may be unset: of the function, and residuals of its branches.
        self.unset = set(adjoint.activity.unset(function))
        scope = Cotangents(self.varied, self.unset, names)
        with self.builder, self.builder.at(function.span, "adjoint"):
            given = [(k, type_) for k, type_ in seeds if sens and k not in ones]
            self.sens_params = tuple(_sens(names, function, k, type_) for k, type_ in given)
            for (position, _), param in zip(given, self.sens_params):
                scope.add(function.returns[position], param)
            for position, _ in seeds:
                if not sens or position in ones:
                    self._seed_ones(scope, function.returns[position])
            self.forward = self.region(function.body, scope)
            params = function.params
            self.reached = tuple(k for k in wrt if scope.has_cotangent(params[k]))
            wanted = [params[k] for k in (self.reached if only_reached else wrt)]
            yields = tuple(cast_like(scope.full_cotangent(param), param) for param in wanted)
        self.result_names = [names.wish(param) for param in wanted]
        self.backward = Region((), tuple(self.builder.ops), yields)

    def _seed_ones(self, scope: Cotangents, output: AnyOperand) -> None:
        if not isinstance(output, Value) or output not in self.varied:
            return
        maker = self.producers.get(output)
        # The seed belongs to the statement whose result it is the cotangent of.
        with self.builder.at(maker.span if maker else self.function.span, "adjoint"):
            for path, leaf in leaves(output.type):
                scope.add(output, one_leaf(output, path, leaf), path)

    def pair_of_call(
        self, call: Op, wrt: tuple[int, ...], seeds: Seeds, ones: tuple[int, ...]
    ) -> ForwardBackward:
        """Returns the forward/backward pair that replaces a call."""
        with calling(Caller(call.span), self.adjoint.problems):
            context = self.adjoint.singularities.context_of(call, self.singular)
            again = "recompute" in call.attrs
            return self.adjoint.pair_of_call(call.attrs["callee"], wrt, seeds, ones, again, context)

    def note(self, op: Op, cause: str, cure: str) -> None:
        """Records a problem, which is reported with all others."""
        self.adjoint.note(op, cause, cure)

    def region(self, region: Region, scope: Cotangents) -> list[Op]:
        """Builds the adjoint of a region's operations; returns its forward operations."""
        forward = []
        for op in reversed(region.ops):
            with self.builder.at(op.span, "adjoint"):
                forward_ops = RULES.get(op.name, reverse_plain)(self, op, scope)
                forward += forward_ops[::-1] if isinstance(forward_ops, list) else [forward_ops]
        forward.reverse()
        return forward


def _sens(names: Names, function: Function, position: int, type_: Type) -> Value:
    output = function.returns[position]
    if not isinstance(output, Value) or not output.name:
        output = Value(type_, "out")
    return names.fresh(type_, output)


def reverse_plain(sweep: ReverseSweep, op: Op, scope: Cotangents) -> Op:
    """Adds the cotangents of an operation's operands, by the rules of its definition."""
    wanted = [k for k, x in enumerate(op.operands) if isinstance(x, Value) and x in sweep.varied]
    if op.opdef.kind == "zero" or not wanted or not any(map(scope.has_cotangent, op.results)):
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
    cts = tuple(scope.full_cotangent(result) for result in op.results)
    facts["ct"] = cts if several else cts[0]
    for position in reversed(wanted) if op.name in REPLACES_ITEM else wanted:
        name = op.opdef.operand_name(position)
        rule = op.opdef.rule(op.opdef.adjoint, name)
        if rule is None:
            sweep.adjoint.refuse(op, name)
        else:
            apply_rule = partial(call_with_named, rule, facts)
            cotangent = adjoint_with_zeros(
                sweep.singular, op, sweep.producers, sweep.builder, cts, apply_rule
            )
            scope.add(op.operands[position], cotangent)
    return op


RULES: dict[str, Rule | Callable[..., Op]] = {
    "if": reverse_if,
    "for": reverse_for,
    "while": reverse_loop,
    "call": reverse_call,
    "custom_rule": reverse_custom_rule,
    "make_tuple": reverse_items,
    "make_dict": reverse_items,
    "item": reverse_item,
    "make_list": reverse_list,
    "list_item": reverse_list_item,
}
