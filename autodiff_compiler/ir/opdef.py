"""``OpDef``, the definition of an operator: every fact about an operator is a field of it.

A call of a definition applies the operator. The effect depends on the operands: an IR ``Value``
adds an operation to the function being built, a ``Tensor`` computes at once. Both have a method
``__apply_operator__`` for that, so this layer knows neither.
"""

from __future__ import annotations

import importlib
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np

from autodiff_compiler.errors import CompileError, DTypeError
from autodiff_compiler.ir.types import (
    GENERATOR,
    ArrayType,
    Type,
    in_double,
    is_complex,
    type_of_array,
    type_of_literal,
)

#: Operators that take bfloat16 without a conversion to float32, besides those that make views.
_AS_STORED = ("cast", "copy", "shape_of", "dim", "size_of")

#: Kinds of operators that take values of any type.
REGIONAL = ("container", "control", "effect")

#: Operators that take complex numbers; filled by ``operators/elementwise/complex_parts.py``.
FOR_COMPLEX: set[str] = set()

#: Every operator by name; filled by the constructors in ``operators/core/declare.py``.
OPERATORS: dict[str, OpDef] = {}


class _Building(threading.local):
    """The active builders of this thread; the last one receives the operations of arithmetic."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


BUILDING = _Building()


class _Precision(threading.local):
    """The precision of this thread: ``double`` is True if float32 means float64."""

    double = False


PRECISION = _Precision()


@contextmanager
def double_precision(on: bool = True) -> Iterator[None]:
    """Opens a block in which float32 means float64, in the dtypes and constants of programs.

    Finite differences need the digits.
    """
    before, PRECISION.double = PRECISION.double, on
    try:
        yield
    finally:
        PRECISION.double = before


@dataclass(frozen=True, eq=False)
class OpDef:
    """The definition of an operator.

    operands    their names, in order; a last one called ``*rest`` takes any number.
    numpy       the emission: an expression with ``{operand}`` and ``{attribute}`` (also
                ``{0}``, ``{1}`` … by position), or several lines that assign to ``{out}``;
                a callable ``(types, **attrs) -> text`` if the text depends on types.
    result      ``(types, **attrs) -> Type`` or a tuple of them; raises ShapeError or DTypeError.
    promote     ``(types, **attrs) -> dtypes`` to which operands are cast first (None: unchanged).
    adjoint     operand name -> rule. A rule takes ``ct`` and any of the operands, ``out`` and the
                attributes by name. It returns the operand's cotangent, or None for zero.
                An operand that is not listed has no derivative. Operators of kind ``zero`` have
                an empty mapping: their derivative is zero everywhere.
    tangent     operand name -> rule from ``dot`` (that operand's tangent) to its contribution to
                the output's tangent.
    linear_in   the operands in which, taken together, the operator is linear: the tangent is the
                operator itself on their tangents.
                Without either, an operand's contribution is the transpose of its adjoint.
    batch       the batching rule for operands with examples along the first axis: a word or a
                rule (``transforms/batching/operators.py``); if empty, examples run in a loop.
    decompose   a rule from operands and attributes that computes the same result by other
                operators, or None. It replaces the operator in the last stage if the result is
                large: then each of its operations can be given a destination.
    decompose_at    when a large one is decomposed, if not in the last stage. ``first``: before
                differentiation, if its operations have the better derivative. ``shared``: before
                the last common subexpression elimination, which finds its operations elsewhere.
    kind        ``elementwise``, ``linear``, ``bilinear``, ``zero``, ``container``, ``control``,
                ``effect`` (no result), or ``general``.
    label       the name of an unnamed result: ``"{x}_times_{y} product"``, the longest alternative
                first (``ir/labels.py``); if empty, the operator's name and that of an operand.
    views       operands whose memory the result may share.
    copies      a rule from types and attributes: True if the result shares none of it after all.
    writes      True if the result is the first operand with a part of it written. The operator
                takes the attribute ``in_place``, as the write may be done in place.
    effect      True if running it twice, or never, differs from running it once.
    """

    name: str
    doc: str
    operands: tuple[str, ...]
    numpy: str | Callable[..., str]
    result: Callable[..., Any]
    promote: Callable[..., Sequence[str | None]] | None = None
    adjoint: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    tangent: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    linear_in: tuple[str, ...] = ()
    batch: str | Callable[..., Any] = ""
    decompose: Callable[..., Any] | None = None
    decompose_at: str = ""
    kind: str = "general"
    label: str = ""
    views: tuple[str, ...] = ()
    copies: Callable[..., bool] | None = None
    writes: bool = False
    effect: bool = False

    def __post_init__(self) -> None:
        if self.name in OPERATORS:
            raise ValueError(f"there are two operators called {self.name}")
        OPERATORS[self.name] = self

    def __call__(self, *operands: Any, **attrs: Any) -> Any:
        """Applies the operator to operands of one kind (IR values, tensors, plain numbers)."""
        if PRECISION.double:
            attrs = {k: "float64" if v == "float32" else v for k, v in attrs.items()}
        chosen, highest = None, 0
        for operand in operands:
            rank = getattr(operand, "apply_rank", 0)
            if rank > highest:
                chosen, highest = operand, rank
        if chosen is not None:
            return chosen.__apply_operator__(self, operands, attrs)
        if not operands and BUILDING.stack:  # a rule creates an array
            return BUILDING.stack[-1].apply(self, operands, attrs)
        return self.evaluate(*operands, **attrs)

    def result_type(self, types: tuple[Type, ...], attrs: Mapping[str, Any]) -> Any:
        """Infers the result type, or a tuple of them, for operands of these types."""
        if (
            any(map(is_complex, types))
            and self.name not in FOR_COMPLEX
            and self.kind not in (*REGIONAL, "lowered")  # these compute nothing themselves
        ):
            raise DTypeError(
                f"{self.name} does not take complex numbers",
                "take a real part first: ops.real(x), ops.imag(x) or ops.abs(x)",
            )
        try:
            inferred = self.result(types, **attrs)
        except (AssertionError, AttributeError) as error:
            given = [str(type_) for type_ in types if not isinstance(type_, ArrayType)]
            if not given:
                raise
            raise DTypeError(
                f"{self.name} takes arrays, and is given {', '.join(given)}",
                "convert it first: np.asarray(x), or Tensor(x)",
            ) from error
        if not PRECISION.double:
            return inferred
        return (
            tuple(map(in_double, inferred)) if isinstance(inferred, tuple) else in_double(inferred)
        )

    def operand_name(self, position: int) -> str:
        """Returns the name of operand ``position``; ``*rest`` operands are named by number."""
        if position < len(self.operands) and not self.operands[position].startswith("*"):
            return self.operands[position]
        return str(position)

    def names(self, count: int) -> tuple[str, ...]:
        """Returns the names of the operands of a call with so many of them."""
        return tuple([self.operand_name(position) for position in range(count)])

    def viewed(self, operands: Sequence[Any], types: Sequence[Type], attrs: Any) -> list[Any]:
        """Lists those of ``operands`` whose memory the result may share."""
        if not self.views or self.copies is not None and self.copies(types, **attrs):
            return []
        return [each for at, each in enumerate(operands) if self.operand_name(at) in self.views]

    def template(self, types: Sequence[Type], attrs: Mapping[str, Any]) -> str:
        """Returns the emission text, with placeholders for operands and attributes."""
        if isinstance(self.numpy, str):
            return self.numpy
        return self.numpy(tuple(types), **attrs).replace("np.bfloat16", "ml_dtypes.bfloat16")

    def rounds(self, types: Sequence[Type]) -> bool:
        """True if the operator computes bfloat16 in float32 and rounds: NumPy has no bfloat16."""
        if self.views or self.kind in REGIONAL or self.name in _AS_STORED:
            return False
        return any(isinstance(type_, ArrayType) and type_.dtype == "bfloat16" for type_ in types)

    def evaluate(self, *arrays: Any, types: Sequence[Type] | None = None, **attrs: Any) -> Any:
        """Runs the emission on NumPy arrays or numbers.

        Generated code and eager code agree, because they are the same text.
        """
        if types is None:
            types = [value_type(array) for array in arrays]
        slots = tuple(sorted(attrs))
        function = _compiled(self.template(types, attrs), self.names(len(arrays)), slots)
        return function(*arrays, *(attrs[slot] for slot in slots))

    def alike(
        self, left: tuple[Type, ...], right: tuple[Type, ...], attrs: Mapping[str, Any]
    ) -> bool:
        """True if operands of either types have results of the same type."""
        try:
            return bool(self.result_type(left, attrs) == self.result_type(right, attrs))
        except CompileError:
            return True  # both are refused; the message is that for the plain operands

    def rule(
        self, rules: Mapping[str, Callable[..., Any]], operand: str
    ) -> Callable[..., Any] | None:
        """Returns the rule for ``operand``; a rule for ``*rest`` is that of all rest operands."""
        own_rule = rules.get(operand)
        return rules.get("*rest") if own_rule is None and operand.isdigit() else own_rule

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


def value_type(value: Any) -> Type:
    """Returns the type of an array, a NumPy scalar, a random generator or a literal."""
    if isinstance(value, (np.ndarray, np.generic)):
        return type_of_array(value)
    if isinstance(value, np.random.Generator):
        return GENERATOR
    return type_of_literal(value)


def call_with_named(rule: Callable[..., Any], facts: Mapping[str, Any]) -> Any:
    """Calls ``rule`` with those arguments among ``facts`` that its signature names.

    >>> call_with_named(lambda ct, y: ct + y, dict(ct=1, x=5, y=2))
    3
    """
    return rule(**{name: facts[name] for name in rule_names(rule)})


@cache
def rule_names(rule: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names of the arguments that a rule takes."""
    return tuple(inspect.signature(rule).parameters)


@lru_cache(maxsize=4096)
def _compiled(template: str, names: tuple[str, ...], slots: tuple[str, ...]) -> Callable[..., Any]:
    """Compiles a template to a function of operands, then attributes."""
    operands = [f"p{position}" for position in range(len(names))]
    settings = {slot: f"a_{slot}" for slot in slots}
    lines = filled_template(template, names, operands, settings, "out")
    return function_of(", ".join([*operands, *settings.values()]), [*lines, "return out"])


def filled_template(
    template: str,
    names: Sequence[str],
    operands: Sequence[str],
    settings: Mapping[str, str],
    out: str,
) -> list[str]:
    """Returns the lines that assign an operator's result to ``out``.

    ``names`` are those of the operands. ``operands`` and ``settings`` replace the placeholders of
    the template.

    >>> filled_template("np.sum({x}, axis={axis})", ["x"], ["p0"], {"axis": "c0"}, "v0")
    ['v0 = np.sum(p0, axis=c0)']
    """
    mapping = {name: text for name, text in zip(names, operands) if not name.isdigit()}
    text = template.format(*operands, **mapping, **settings, out=out)
    if "{out}" not in template:
        return [f"{out} = {text}"]
    updated = [f"{out} = {operands[0]}"] if "in_place" in settings else []
    return [*updated, *text.splitlines()]


def function_of(arguments: str, lines: Sequence[str]) -> Callable[..., Any]:
    """Compiles the lines of a function that reads NumPy and its arguments."""
    body = "".join(f"    {line}\n" for line in lines)
    scope: dict[str, Any] = {"np": np}
    if "ml_dtypes" in body:
        scope["ml_dtypes"] = importlib.import_module("ml_dtypes")
    source = f"def function({arguments}):\n{body}"
    exec(compile(source, f"<operator {lines[0]}>", "exec"), scope)
    return scope["function"]


def rule_arguments(
    opdef: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any], out: Any = None
) -> dict[str, Any]:
    """Collects everything that a rule may take, by name.

    These are operands, attributes, ``out``, ``rest`` (the operands of ``*rest``), ``operands`` (the
    names in order) and ``facts`` (all of this).
    """
    names = tuple(opdef.operand_name(position) for position in range(len(operands)))
    fixed = sum(not name.startswith("*") for name in opdef.operands)
    facts: dict[str, Any] = {**attrs, **dict(zip(names, operands)), "out": out}
    facts.update(operands=names, rest=tuple(operands[fixed:]))
    facts["facts"] = facts
    return facts
