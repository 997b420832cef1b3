"""The ``OpDef`` record: every fact about an operator has a field here, and no other home.

Calling a record applies it. What that means depends on the operands: an IR ``Value`` adds an
operation to the function being built, a ``Tensor`` computes at once. Both say so themselves, by a
method ``__apply_operator__``, so this layer knows neither.
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

#: Operators that take bfloat16 as it is stored, besides those that hand on views.
_AS_STORED = ("cast", "copy", "shape_of", "dim", "size_of")

#: Kinds of operators that hand values on, whatever those are.
REGIONAL = ("container", "control", "effect")

#: Operators that take complex numbers; filled by ``operators/elementwise/complex_parts.py``.
FOR_COMPLEX: set[str] = set()

#: Every operator by name; filled by the constructors in ``operators/core/declare.py``.
OPERATORS: dict[str, OpDef] = {}


class _Building(threading.local):
    """The builders at work in this thread; the last one receives what arithmetic adds."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


BUILDING = _Building()


class _Precision(threading.local):
    """Whether float32 means float64 in this thread."""

    double = False


PRECISION = _Precision()


@contextmanager
def double_precision(on: bool = True) -> Iterator[None]:
    """Inside, whatever a program says of float32 means float64: the dtypes that it names, the
    constants that it holds. Differences of a function need the digits."""
    before, PRECISION.double = PRECISION.double, on
    try:
        yield
    finally:
        PRECISION.double = before


@dataclass(frozen=True, eq=False)
class OpDef:
    """One operator.

    operands    their names, in order; a last one called ``*rest`` takes any number.
    numpy       the emission: an expression with ``{operand}`` and ``{attribute}`` (also
                ``{0}``, ``{1}`` … by position), or several lines that assign to ``{out}``;
                a callable ``(types, **attrs) -> text`` where the text depends on types.
    result      ``(types, **attrs) -> Type`` or a tuple of them; raises ShapeError or DTypeError.
    promote     ``(types, **attrs) -> dtypes``: what each operand is cast to first (None: left).
    adjoint     operand name -> rule. A rule takes ``ct`` and any of the operands, ``out`` and the
                attributes by name, and returns the operand's cotangent (or None for zero).
                An operand that is not listed has no derivative; an empty mapping on a record of
                kind ``zero`` says that the derivative is zero everywhere.
    tangent     operand name -> rule from ``dot`` (that operand's tangent) to the output's share.
    linear_in   the operands in which, taken together, the operator is linear: the tangent is the
                operator itself on their tangents.
                An operand without either gets its tangent by transposing its adjoint.
    batch       how it takes a batch of operands, the examples along the first axis: a word or a
                rule (``transforms/batching/operators.py``); empty where it is run for one after the
                other.
    decompose   a rule from operands and attributes that computes the same result by other
                operators, or None. It replaces the operator in the last stage if the result is
                large: then each of its operations can be given a destination.
    decompose_at    when a large one is decomposed, if not in the last stage. ``first``: before
                differentiation, if its operations have the better derivative. ``shared``: before
                the last common subexpression elimination, which finds its operations elsewhere.
    kind        ``elementwise``, ``linear``, ``bilinear``, ``zero``, ``container``, ``control``,
                ``effect`` (no result), or ``general``.
    label       how an unnamed result is called: ``"{x}_times_{y}"``.
    views       operands whose memory the result may share.
    copies      a rule from types and attributes: whether it shares none of it after all.
    writes      whether the result is the first operand with a part of it written, which may be
                done where it stands: such a record takes the attribute ``in_place``.
    effect      True where running it twice, or never, is not the same as once.
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
        """Applies the operator to operands of one world (IR values, tensors, plain numbers)."""
        if PRECISION.double:
            attrs = {k: "float64" if v == "float32" else v for k, v in attrs.items()}
        chosen = None
        for operand in operands:
            apply = getattr(operand, "__apply_operator__", None)
            if apply is not None and (chosen is None or operand.apply_rank > chosen.apply_rank):
                chosen = operand
        if chosen is not None:
            return chosen.__apply_operator__(self, operands, attrs)
        if not operands and BUILDING.stack:  # a creation, asked for by a rule
            return BUILDING.stack[-1].apply(self, operands, attrs)
        return self.evaluate(*operands, **attrs)

    def result_type(self, types: tuple[Type, ...], attrs: Mapping[str, Any]) -> Any:
        """What the type rule says of operands of these types."""
        if (
            any(map(is_complex, types))
            and self.name not in FOR_COMPLEX
            and self.kind not in (*REGIONAL, "lowered")  # these only place what others compute
        ):
            raise DTypeError(
                f"{self.name} does not take complex numbers",
                "take a real part first: ops.real(x), ops.imag(x) or ops.abs(x)",
            )
        try:
            found = self.result(types, **attrs)
        except (AssertionError, AttributeError) as error:
            given = [str(type_) for type_ in types if not isinstance(type_, ArrayType)]
            if not given:
                raise
            raise DTypeError(
                f"{self.name} takes arrays, and is given {', '.join(given)}",
                "convert it first: np.asarray(x), or Tensor(x)",
            ) from error
        if not PRECISION.double:
            return found
        return tuple(map(in_double, found)) if isinstance(found, tuple) else in_double(found)

    def operand_name(self, position: int) -> str:
        """The name of operand ``position``; ``*rest`` operands are named by their number."""
        if position < len(self.operands) and not self.operands[position].startswith("*"):
            return self.operands[position]
        return str(position)

    def viewed(self, operands: Sequence[Any], types: Sequence[Type], attrs: Any) -> list[Any]:
        """Those of ``operands`` whose memory the result may share."""
        if not self.views or self.copies is not None and self.copies(types, **attrs):
            return []
        return [each for at, each in enumerate(operands) if self.operand_name(at) in self.views]

    def template(self, types: Sequence[Type], attrs: Mapping[str, Any]) -> str:
        """The emission text, with placeholders for operands and attributes."""
        if isinstance(self.numpy, str):
            return self.numpy
        return self.numpy(tuple(types), **attrs).replace("np.bfloat16", "ml_dtypes.bfloat16")

    def rounds(self, types: Sequence[Type]) -> bool:
        """Whether this is computed in float32 and rounded: NumPy has no arithmetic of bfloat16."""
        if self.views or self.kind in REGIONAL or self.name in _AS_STORED:
            return False
        return any(isinstance(type_, ArrayType) and type_.dtype == "bfloat16" for type_ in types)

    def evaluate(self, *arrays: Any, types: Sequence[Type] | None = None, **attrs: Any) -> Any:
        """Runs the emission on NumPy arrays or numbers: generated code and eager code agree
        because they are one text."""
        if types is None:
            types = [value_type(array) for array in arrays]
        names = tuple(self.operand_name(position) for position in range(len(arrays)))
        slots = tuple(sorted(attrs))
        function = _compiled(self.template(types, attrs), names, slots)
        return function(*arrays, *(attrs[slot] for slot in slots))

    def alike(
        self, left: tuple[Type, ...], right: tuple[Type, ...], attrs: Mapping[str, Any]
    ) -> bool:
        """Whether operands of these types give results of one type."""
        try:
            return bool(self.result_type(left, attrs) == self.result_type(right, attrs))
        except CompileError:
            return True  # it is refused either way, in the words for the plain one

    def rule(
        self, rules: Mapping[str, Callable[..., Any]], operand: str
    ) -> Callable[..., Any] | None:
        """The rule for ``operand``; a rule under ``*rest`` serves every operand of the rest."""
        found = rules.get(operand)
        return rules.get("*rest") if found is None and operand.isdigit() else found

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


def value_type(value: Any) -> Type:
    """The type of an ndarray, NumPy scalar, random generator, Python number, None or string."""
    if isinstance(value, (np.ndarray, np.generic)):
        return type_of_array(value)
    if isinstance(value, np.random.Generator):
        return GENERATOR
    return type_of_literal(value)


def call_with_named(rule: Callable[..., Any], facts: Mapping[str, Any]) -> Any:
    """Calls ``rule`` with those of ``facts`` that its signature names.

    >>> call_with_named(lambda ct, y: ct + y, dict(ct=1, x=5, y=2))
    3
    """
    return rule(**{name: facts[name] for name in rule_names(rule)})


@cache
def rule_names(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The facts that a rule asks for."""
    return tuple(inspect.signature(rule).parameters)


@lru_cache(maxsize=4096)
def _compiled(template: str, names: tuple[str, ...], slots: tuple[str, ...]) -> Callable[..., Any]:
    """A function from a template: operands first, attributes after them."""
    positional = [f"p{position}" for position in range(len(names))]
    mapping = {name: p for name, p in zip(names, positional) if not name.isdigit()}
    mapping |= {slot: f"a_{slot}" for slot in slots} | {"out": "out"}
    text = template.format(*positional, **mapping)
    arguments = ", ".join([*positional, *(f"a_{slot}" for slot in slots)])
    if "{out}" in template:
        lines = ["    " + line for line in text.splitlines()] + ["    return out"]
        source = f"def function({arguments}):\n" + "\n".join(lines)
    else:
        source = f"def function({arguments}):\n    return {text}"
    scope: dict[str, Any] = {"np": np}
    if "ml_dtypes" in source:
        scope["ml_dtypes"] = importlib.import_module("ml_dtypes")
    exec(compile(source, f"<operator {template}>", "exec"), scope)
    return scope["function"]


def rule_arguments(
    opdef: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any], out: Any = None
) -> dict[str, Any]:
    """Everything a rule may ask for, by name: operands, attributes, ``out``, ``rest`` (what a
    ``*rest`` operand took), ``operands`` (the names in order) and ``facts`` (all of this)."""
    names = tuple(opdef.operand_name(position) for position in range(len(operands)))
    fixed = sum(not name.startswith("*") for name in opdef.operands)
    facts: dict[str, Any] = {**attrs, **dict(zip(names, operands)), "out": out}
    facts.update(operands=names, rest=tuple(operands[fixed:]))
    facts["facts"] = facts
    return facts
