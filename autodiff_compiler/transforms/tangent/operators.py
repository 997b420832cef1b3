"""The JVP of one operation, from its operator definition.

An operator that is linear in the operands that have tangents is applied to the tangents. Else the
tangent is a sum of contributions, one for each operand. A tangent rule gives the contribution; that
of a bilinear operator is the operator itself with the tangent in the operand's place. Without a
rule, the adjoint is transposed: it is linear in the cotangent, and its reverse sweep with respect
to the cotangent is the tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autodiff_compiler.ir.builder import Builder, current
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.opdef import OpDef, call_with_named, rule_arguments
from autodiff_compiler.ir.rewrite import clone, substitute
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core.containers import add_cotangents
from autodiff_compiler.operators.core.declare import shape_of_type
from autodiff_compiler.operators.core.structure import broadcast_like, cast_like, full_like
from autodiff_compiler.transforms.reverse.partition import prune
from autodiff_compiler.transforms.reverse.sweep import ReverseSweep, ReverseTransform

FullTangent = Callable[[AnyOperand], AnyOperand]


def jvp_of_operator(
    op: Op, dots: Mapping[int, AnyOperand], full_tangent: FullTangent, adjoint: ReverseTransform
) -> Sequence[AnyOperand]:
    """Builds the tangent of each result of ``op`` in the active builder; None for zero.

    ``dots`` are the tangents of operands by position. ``full_tangent`` returns that of any operand,
    zeros for those without. An operand without a derivative is a problem that ``adjoint`` records.
    """
    if _is_linear(op.opdef, dots):
        places = [k for k in range(len(op.operands)) if _linear_at(op.opdef, k)]
        operands = [full_tangent(x) if k in places else x for k, x in enumerate(op.operands)]
        return [op.opdef(*operands, **op.attrs)]
    several = len(op.results) > 1
    facts = rule_arguments(op.opdef, op.operands, op.attrs, op.results if several else op.result)
    total: AnyOperand = None
    rest: dict[int, AnyOperand] = {}
    for position, dot in dots.items():
        rule = op.opdef.rule(op.opdef.tangent, op.opdef.operand_name(position))
        if op.opdef.kind == "bilinear" and rule is None:
            operands = [dot if k == position else x for k, x in enumerate(op.operands)]
            total = _sum(total, op.opdef(*operands, **op.attrs))
        elif rule is not None:
            total = _sum(total, call_with_named(rule, {**facts, "dot": dot}))
        else:
            rest[position] = dot
    tangents = [total] * len(op.results) if total is None else [total]
    if rest:
        tangents = [
            _sum(a, b) for a, b in zip(tangents, transpose_adjoint(op, rest, facts, adjoint))
        ]
    return [_conform_tangent(op, dot, dots) for dot in tangents]


def _linear_at(opdef: OpDef, position: int) -> bool:
    name = opdef.operand_name(position)
    return name in opdef.linear_in or name.isdigit() and "*rest" in opdef.linear_in


def _is_linear(opdef: OpDef, dots: Mapping[int, AnyOperand]) -> bool:
    """True if the operator itself computes the tangent.

    A tangent rule takes precedence if a single operand has a tangent.
    """
    one = len(dots) == 1 and opdef.rule(opdef.tangent, opdef.operand_name(next(iter(dots))))
    return not one and all(_linear_at(opdef, position) for position in dots)


def _sum(left: AnyOperand, right: AnyOperand) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return add_cotangents(left, right)


def transpose_adjoint(
    op: Op, dots: Mapping[int, AnyOperand], facts: Mapping[str, Any], adjoint: ReverseTransform
) -> Sequence[AnyOperand]:
    """Builds the tangents of the results by a reverse sweep of the adjoint."""
    builder = current()
    cts = tuple(Value(result.type, "ct") for result in op.results)
    given = {**facts, "ct": cts if len(cts) > 1 else cts[0]}
    parts: list[tuple[Value, AnyOperand]] = []
    with builder.block() as ops:
        for position, dot in dots.items():
            name = op.opdef.operand_name(position)
            rule = op.opdef.rule(op.opdef.adjoint, name)
            if rule is None:
                adjoint.refuse(op, name)
                continue
            part = call_with_named(rule, given)
            if isinstance(part, Value):
                parts.append((part, dot))
    if not parts:
        return [None] * len(cts)
    body = Region(cts, tuple(ops), tuple(part for part, _ in parts))
    return _transpose_rule(op, body, cts, [dot for _, dot in parts], adjoint)


def jvp_of_rule(
    op: Op, dots: Mapping[int, AnyOperand], adjoint: ReverseTransform
) -> Sequence[AnyOperand]:
    """Builds the tangents of ``custom_rule`` results by transposing the user's rule.

    The rule must be linear in the cotangents; else ``adjoint`` records a problem.
    """
    rule, wrt = op.attrs["rule"], op.attrs["wrt"]
    wanted = [(place, dots[k]) for place, k in enumerate(wrt) if k in dots]
    if not wanted:
        return [None] * len(op.results)
    reads = len(rule.params) - len(op.results)
    given = (*op.operands[: -len(op.results)], *op.results)
    parts = tuple(rule.returns[place] for place, _ in wanted)
    open_body = Region(rule.params[reads:], rule.body.ops, parts)
    body, _ = clone(open_body, dict(zip(rule.params[:reads], given)))
    return _transpose_rule(op, body, body.params, [dot for _, dot in wanted], adjoint, by_user=True)


def _transpose_rule(
    op: Op,
    body: Region,
    cts: Sequence[Value],
    dots: Sequence[AnyOperand],
    adjoint: ReverseTransform,
    by_user: bool = False,
) -> Sequence[AnyOperand]:
    """Transposes a reverse rule of ``op`` to its JVP, by a reverse sweep of it.

    ``body`` maps the cotangents ``cts`` of the results to those of the operands whose tangents are
    ``dots``. A rule ``by_user`` may not be linear, which is a problem.
    """
    seeds = tuple((k, type_of(part)) for k, part in enumerate(body.yields))
    function = Function(op.name, body, op.span, order=1)
    sweep = ReverseSweep(adjoint, function, range(len(cts)), seeds, sens=True, only_reached=True)
    transposed = prune(Region((), (*sweep.forward, *sweep.backward.ops), sweep.backward.yields))
    if by_user and _reads(transposed, cts):
        adjoint.note(
            op,
            "the custom gradient used here is not linear in the gradient of the output, "
            "so forward mode is not possible",
            "use reverse mode: grad, vjp or jacrev",
        )
    # The primal cotangent does not exist. Only its shape is read, which is that of the result.
    substitutes: dict[Value, AnyOperand] = dict(zip(cts, op.results))
    substitutes.update(zip(sweep.sens_params, dots))
    transposed = substitute(transposed, substitutes)
    for each in transposed.ops:
        current().add(each)
    cotangents = dict(zip(sweep.reached, transposed.yields))
    return [cotangents.get(position) for position in range(len(cts))]


def _reads(region: Region, values: Sequence[Value]) -> bool:
    """True if an operation reads more than the shape of one of ``values``."""
    shapes = ("shape_of", "full_like", "dim")
    read = [x for op in region.walk() if op.name not in shapes for x in op.operands]
    return any(x is value for x in (*read, *region.yields) for value in values)


def _conform_tangent(op: Op, dot: Any, dots: Mapping[int, AnyOperand]) -> AnyOperand:
    """Broadcasts and casts ``dot`` to the shape and dtype of the result."""
    if dot is None or len(op.results) > 1 or not isinstance(op.result.type, ArrayType):
        return dot
    if not isinstance(dot, Value):
        return None if dot == 0 else full_like(op.result, value=dot)
    if op.opdef.kind == "elementwise" and not _has_full_shape(op, dot, dots):
        dot = broadcast_like(dot, op.result)
    return cast_like(dot, op.result)


def _has_full_shape(op: Op, dot: Value, dots: Mapping[int, AnyOperand]) -> bool:
    """True if ``dot`` has the shape of the result.

    The types prove it. Or ``dot`` is made, element by element, of all operands whose shapes
    determine that of the result.
    """
    want, have = shape_of_type(op.result.type), shape_of_type(dot.type)
    if want is not None and None not in want:
        return have == want
    inside = _elements(dot, {*op.operands, *op.results, *dots.values()}, current())
    arrays = [k for k, x in enumerate(op.operands) if _is_array(x)]
    return op.result in inside or all(
        op.operands[k] in inside or dots.get(k) in inside for k in arrays
    )


def _is_array(operand: AnyOperand) -> bool:
    return isinstance(operand, Value) and shape_of_type(operand.type) != ()


def _elements(value: AnyOperand, known: set[Any], builder: Builder) -> set[AnyOperand]:
    """Collects the ``known`` values from which elementwise operations alone make ``value``."""
    if value in known or not isinstance(value, Value):
        return {value}
    maker = builder.producer(value)
    if maker is None or maker.opdef.kind != "elementwise":
        return set()
    return set().union(*(_elements(operand, known, builder) for operand in maker.operands))
