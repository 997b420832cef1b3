"""Numerical stabilisation: formulas that overflow, cancel or divide 0 by 0 become stable operators.

The pass runs before differentiation, so that the gradient is that of the stable operator. Every
rule is an equality of exact arithmetic, and at no point is the replacement less exact than the
formula. A value that is used elsewhere, too, stays for that use. The changed lines get a note,
which is printed as a comment above them.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.ir.printer import print_function
>>> before = parse_function('''
... func @f(%x: f32[2]) -> (f32[2]) {
...   %e: f32[2] = exp %x
...   %a: f32[2] = add 1, %e
...   %y!: f32[2] = log %a
...   return %y
... }
... ''')
>>> print(print_function(stabilise(before)), end='')
func @f(%x: f32[2]) -> (f32[2]) {
  %e: f32[2] = exp %x
  %a: f32[2] = add 1, %e
  %y!: f32[2] = softplus %x
  return %y
}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, type_of
from autodiff_compiler.ir.types import FLOAT, ArrayType
from autodiff_compiler.operators.elementwise.activation import sigmoid, softplus, tanh
from autodiff_compiler.operators.elementwise.arithmetic import abs, expm1, hypot, log1p
from autodiff_compiler.operators.elementwise.special import logaddexp
from autodiff_compiler.operators.reductions.axis_functions import log_softmax, softmax
from autodiff_compiler.operators.reductions.reduce import logsumexp, norm, std
from autodiff_compiler.passes.core.patterns import Match, Rule, RuleSet
from autodiff_compiler.passes.core.traversal import rewrite_region, with_body
from autodiff_compiler.passes.simplify.algebra.softmax import subtracted_max
from autodiff_compiler.span import NOWHERE

#: Operators that select or permute elements: the logarithm of their result is the result of the
#: logarithm.
PICKS = ("index", "take_along", "reshape", "squeeze", "expand_dims", "transpose")


def _is_real(operand: AnyOperand) -> bool:
    """True if the operand is real and no integer."""
    type_ = type_of(operand)
    if isinstance(type_, ArrayType):
        return type_.dtype is None or "float" in type_.dtype
    return type_ == FLOAT


def _is_one(operand: AnyOperand) -> bool:
    return type(operand) in (int, float) and operand == 1


def _beside_one(match: Match, operand: AnyOperand) -> Any:
    """Returns u if ``operand`` is 1 + u, else None."""
    maker = match.made_by(operand, "add")
    if maker is None:
        return None
    left, right = maker.operands
    return right if _is_one(left) else left if _is_one(right) else None


def _exponent(match: Match, operand: AnyOperand) -> Any:
    """Returns u if ``operand`` is exp(u), else None."""
    inner = match.argument_of(operand, "exp") if operand is not None else ...
    return None if inner is ... else inner


def _negative_of(match: Match, operand: Any) -> Any:
    inner = match.argument_of(operand, "neg")
    return -operand if inner is ... else inner


def _square_root_of(match: Match, operand: AnyOperand) -> Any:
    """Returns u if ``operand`` is u * u, square(u) or u ** 2 of real numbers, else None."""
    maker = match.makers.get(operand) if isinstance(operand, Value) else None
    if (
        maker is None
        or maker.name not in ("mul", "square", "pow")
        or not _is_real(maker.operands[0])
    ):
        return None
    u, *more = maker.operands
    same = maker.name == "square" or more[0] is u if maker.name != "pow" else more[0] == 2
    return u if same and not (maker.name == "pow" and isinstance(more[0], Value)) else None


def _has_largest(x: AnyOperand) -> bool:
    """True if x is an array that has elements, as far as is known."""
    type_ = type_of(x)
    return isinstance(type_, ArrayType) and (type_.shape is None or 0 not in type_.shape)


# ---- logarithms


def _log_of_one_and_exp(match: Match) -> Any:
    u = _exponent(match, _beside_one(match, match.operands[0]))
    return None if u is None else softplus(u)


def _log1p_of_exp(match: Match) -> Any:
    u = _exponent(match, match.operands[0])
    return None if u is None else softplus(u)


def _log_of_exps(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "add")
    if maker is None:
        return None
    u, v = (_exponent(match, operand) for operand in maker.operands)
    return None if u is None or v is None else logaddexp(u, v)


def _log_of_sum_of_exp(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "sum")
    u = None if maker is None else _exponent(match, maker.operands[0])
    if maker is None or u is None or not _has_largest(u):
        return None
    return logsumexp(u, axes=maker.attrs["axes"], keepdims=maker.attrs["keepdims"])


def _log_of_exp(match: Match) -> Any:
    return _exponent(match, match.operands[0])


def _log_of_sigmoid(match: Match) -> Any:
    u = match.argument_of(match.operands[0], "sigmoid")
    return None if u is ... else -softplus(_negative_of(match, u))


def _log_of_one_minus_sigmoid(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "sub")
    if maker is None or not _is_one(maker.operands[0]):
        return None
    u = match.argument_of(maker.operands[1], "sigmoid")
    return None if u is ... else -softplus(u)


def _log_of_softmax(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "softmax")
    return None if maker is None else log_softmax(maker.operands[0], **maker.attrs)


def _log_of_picked_softmax(match: Match) -> Any:
    (operand,) = match.operands
    pick = match.makers.get(operand) if isinstance(operand, Value) else None
    if pick is None or pick.name not in PICKS:
        return None
    maker = match.made_by(pick.operands[0], "softmax")
    if maker is None:
        return None
    logs = log_softmax(maker.operands[0], **maker.attrs)
    return pick.opdef(logs, *pick.operands[1:], **pick.attrs)


def _log_of_one_plus(match: Match) -> Any:
    u = _beside_one(match, match.operands[0])
    return None if u is None or not _is_real(u) else log1p(u)


def _log_of_one_minus(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "sub")
    if maker is None:
        return None
    one, u = maker.operands
    return log1p(-u) if _is_one(one) and isinstance(u, Value) and _is_real(u) else None


# ---- quotients


def _exp_over_one_and_exp(match: Match) -> Any:
    u, v = (_exponent(match, match.operands[0]), _beside_one(match, match.operands[1]))
    return sigmoid(u) if u is not None and u is _exponent(match, v) else None


def _over_one_and_exp(match: Match) -> Any:
    u = _exponent(match, _beside_one(match, match.operands[1]))
    if u is None:
        return None
    factor = sigmoid(_negative_of(match, u))
    return factor if _is_one(match.operands[0]) else match.operands[0] * factor


def _one_over_one_and_exp(match: Match) -> Any:
    u = _exponent(match, _beside_one(match, match.operands[0]))
    is_reciprocal = len(match.operands) == 1 or match.operands[1] == -1
    return sigmoid(_negative_of(match, u)) if u is not None and is_reciprocal else None


def _minus_logsumexp(match: Match) -> Any:
    u, maker = match.operands[0], match.made_by(match.operands[1], "logsumexp")
    if maker is None or maker.operands[0] is not u or not maker.attrs["keepdims"]:
        return None
    axes = maker.attrs["axes"]
    return log_softmax(u, axis=axes[0]) if axes and len(axes) == 1 else None


def _exp_over_sum(match: Match) -> Any:
    u, maker = _exponent(match, match.operands[0]), match.made_by(match.operands[1], "sum")
    if u is None or maker is None or _exponent(match, maker.operands[0]) is not u:
        return None
    if subtracted_max(match, u) is not None:
        return None  # the source subtracts the maximum itself
    type_, axes = type_of(u), maker.attrs["axes"]
    if not isinstance(type_, ArrayType) or not _has_largest(u):
        return None
    if type_.ndim == 1 and axes in (None, (0,)):
        return softmax(u, axis=0)
    return softmax(u, axis=axes[0]) if axes and len(axes) == 1 and maker.attrs["keepdims"] else None


def _tanh(match: Match) -> Any:
    difference, total = (
        match.made_by(match.operands[0], "sub"),
        match.made_by(match.operands[1], "add"),
    )
    if difference is None or total is None or difference.operands != total.operands:
        return None
    u, v = (_exponent(match, operand) for operand in total.operands)
    return tanh(u) if u is not None and v is not None and match.argument_of(v, "neg") is u else None


# ---- roots and differences


def _root_of_sum_of_squares(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "sum")
    u = None if maker is None else _square_root_of(match, maker.operands[0])
    if maker is None or u is None:
        return None
    return norm(u, axes=maker.attrs["axes"], keepdims=maker.attrs["keepdims"])


def _root_of_two_squares(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "add")
    if maker is None:
        return None
    u, v = (_square_root_of(match, operand) for operand in maker.operands)
    return None if u is None or v is None else hypot(u, v)


def _root_of_inner_product(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "matmul")
    if maker is None or maker.operands[0] is not maker.operands[1]:
        return None
    u = maker.operands[0]
    is_vector = isinstance(u, Value) and u.ndim == 1
    return norm(u, axes=None, keepdims=False) if _is_real(u) and is_vector else None


def _as_power(rule: Callable[[Match], Any]) -> Callable[[Match], Any]:
    """Returns a rule for roots as a rule for powers of 1/2."""

    def power_rule(match: Match) -> Any:
        return rule(match) if match.operands[1] == 0.5 else None

    return power_rule


def _root_of_square(match: Match) -> Any:
    u = _square_root_of(match, match.operands[0])
    return None if u is None else abs(u)


def _root_of_var(match: Match) -> Any:
    maker = match.made_by(match.operands[0], "var")
    return None if maker is None else std(maker.operands[0], **maker.attrs)


def _exp_minus_one(match: Match) -> Any:
    left, right = match.operands
    u, v = _exponent(match, left), _exponent(match, right)
    if _is_one(right) and u is not None:
        return expm1(u)
    return -expm1(v) if _is_one(left) and v is not None else None


RULES = (
    Rule("log(1 + exp(u)) as softplus(u)", "log", _log_of_one_and_exp),
    Rule("log1p(exp(u)) as softplus(u)", "log1p", _log1p_of_exp),
    Rule("log(exp(u) + exp(v)) as logaddexp(u, v)", "log", _log_of_exps),
    Rule("log(sum(exp(u))) as logsumexp(u)", "log", _log_of_sum_of_exp),
    Rule("log(exp(u)) as u", "log", _log_of_exp),
    Rule("log(sigmoid(u)) as -softplus(-u)", "log", _log_of_sigmoid),
    Rule("log(1 - sigmoid(u)) as -softplus(u)", "log", _log_of_one_minus_sigmoid),
    Rule("log(softmax(u)) as log_softmax(u)", "log", _log_of_softmax),
    Rule("log(softmax(u)[i]) as log_softmax(u)[i]", "log", _log_of_picked_softmax),
    Rule("log(1 + u) as log1p(u)", "log", _log_of_one_plus),
    Rule("log(1 - u) as log1p(-u)", "log", _log_of_one_minus),
    Rule("exp(u) / (1 + exp(u)) as sigmoid(u)", "div", _exp_over_one_and_exp),
    Rule("v / (1 + exp(u)) as v * sigmoid(-u)", "div", _over_one_and_exp),
    Rule("1 / (1 + exp(u)) as sigmoid(-u)", "reciprocal", _one_over_one_and_exp),
    Rule("(1 + exp(u)) ** -1 as sigmoid(-u)", "pow", _one_over_one_and_exp),
    Rule("exp(u) / sum(exp(u)) as softmax(u)", "div", _exp_over_sum),
    Rule("(exp(u) - exp(-u)) / (exp(u) + exp(-u)) as tanh(u)", "div", _tanh),
    Rule("sqrt(sum(u * u)) as norm(u)", "sqrt", _root_of_sum_of_squares),
    Rule("sqrt(u * u + v * v) as hypot(u, v)", "sqrt", _root_of_two_squares),
    Rule("sqrt(u @ u) as norm(u)", "sqrt", _root_of_inner_product),
    Rule("sum(u * u) ** 0.5 as norm(u)", "pow", _as_power(_root_of_sum_of_squares)),
    Rule("(u * u + v * v) ** 0.5 as hypot(u, v)", "pow", _as_power(_root_of_two_squares)),
    Rule("(u @ u) ** 0.5 as norm(u)", "pow", _as_power(_root_of_inner_product)),
    Rule("sqrt(u * u) as abs(u)", "sqrt", _root_of_square),
    Rule("sqrt(var(u)) as std(u)", "sqrt", _root_of_var),
    Rule("exp(u) - 1 as expm1(u)", "sub", _exp_minus_one),
    Rule("u - logsumexp(u) as log_softmax(u)", "sub", _minus_logsumexp),
)

_RULE_SET = RuleSet(RULES)


def stabilise(function: Function) -> Function:
    """Stabilises ``function`` up to a fixed point, and notes the rules on the changed lines."""
    applied: dict[tuple[str, int], list[str]] = {}

    def on_hit(rule: Rule, op: Op) -> None:
        if op.span != NOWHERE:
            applied.setdefault((op.span.file, op.span.line), []).append(rule.name)

    rewritten = _RULE_SET.rewrite(function, on_hit)

    def note(op: Op) -> Sequence[Op]:
        names = applied.get((op.span.file, op.span.line))
        if names is None:
            return (op,)
        text = f"stabilised: {'; '.join(dict.fromkeys(names))}"
        return (replace(op, span=replace(op.span, note=text)),)

    return with_body(rewritten, rewrite_region(rewritten.body, {}, note)) if applied else rewritten
