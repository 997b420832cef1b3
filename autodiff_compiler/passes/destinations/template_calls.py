"""A template read as NumPy functions that take ``out``: what can be told where to put its result.

Nothing is listed by operator: a sign is the ufunc that it stands for, ``np.f`` is a ufunc if NumPy
says so, and any other function of NumPy may be the whole template if it has a parameter ``out``.

>>> for step in parse_calls("{x} / (1.0 + np.exp(-{x}))", ("x",)):
...     print(step.text, step.arguments)
np.negative({0}, out={1}) (Operand(place=0),)
np.exp({0}, out={1}) (IntermediateRef(number=0),)
np.add({0}, {1}, out={2}) (1.0, IntermediateRef(number=1))
np.divide({0}, {1}, out={2}) (Operand(place=0), IntermediateRef(number=2))

The bits of floats may be calculated with: what is made of them is such floats again.

>>> for step in parse_calls("({x}.view(np.int32) * {c}).view(np.float32)", ("x", "c")):
...     print(step.text, step.floats)
np.multiply({0}.view(np.int32), {1}, out={2}.view(np.int32)).view(np.float32) float32
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import Any

import numpy as np

from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.ir.nodes import Op, Value

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "power",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
    ast.USub: "negative",
    ast.Invert: "invert",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
#: What stands for an operand in a parsed template.
PLACE = re.compile(r"_\d+")
#: What NumPy itself makes of a power with a number for exponent.
POWERS = {2: "square", 0.5: "sqrt"}
#: Functions that have read an element, and all before it, when they write there.
RUNNING = ("cumsum", "cumprod")


@dataclass(frozen=True)
class Operand:
    """An operand of the template, by position."""

    place: int


@dataclass(frozen=True)
class IntermediateRef:
    """What an earlier step made, by its number."""

    number: int


@dataclass(frozen=True)
class TemplateCall:
    """One call, on operands, what earlier steps made, and numbers. ``ufunc`` is None where the
    function is none, or mixes elements (a product). ``floats`` is the dtype of what is made of the
    bits of such floats: then there must be memory for it. What ``runs`` may write over its operand
    though it is no ufunc."""

    text: str
    arguments: tuple[Any, ...]
    ufunc: np.ufunc | None
    floats: str = ""
    runs: bool = False


class NotCallSequence(Exception):
    """The template does something else as well."""


def calls_of(op: Op) -> tuple[TemplateCall, ...]:
    """The calls that the text of an operation makes, if it makes nothing but these."""
    names = tuple(op.opdef.operand_name(place) for place in range(len(op.operands)))
    power = op.operands[1] if len(op.operands) == 2 else None
    template = op.opdef.template(op.types, op.attrs)
    return parse_calls(template, names, None if isinstance(power, (Value, str)) else power)


@cache
def parse_calls(
    template: str, names: tuple[str, ...], exponent: Any = None
) -> tuple[TemplateCall, ...]:
    """The calls that ``template`` makes, in order, the last one giving the result; none where it
    is not made of such calls alone. ``exponent`` is the second operand if that is a number."""
    try:
        tree = ast.parse(_with_names(template, names), mode="eval").body
        reader = _Reader(exponent)
        reader.root(tree)
    except (SyntaxError, NotCallSequence):
        return ()
    return tuple(reader.steps)


def _with_names(template: str, names: Sequence[str]) -> str:
    parts = []
    for text, slot, _, _ in Formatter().parse(template):
        parts.append(text)
        if slot is not None:
            if slot not in names and not slot.isdigit():
                raise NotCallSequence(slot)
            parts.append(f"_{slot if slot.isdigit() else names.index(slot)}")
    return "".join(parts)


class _Reader:
    def __init__(self, exponent: Any):
        self.steps: list[TemplateCall] = []
        self.exponent = exponent

    def root(self, tree: ast.expr) -> None:
        if (floats := _viewed(tree)) is not None and isinstance(tree.func.value, ast.BinOp):  # type: ignore[attr-defined]
            self.bitwise(tree.func.value, floats)  # type: ignore[attr-defined]
        elif isinstance(tree, ast.Call) and self.ufunc(tree) is None:
            self.other(tree)
        elif not isinstance(self.value(tree), IntermediateRef):
            raise NotCallSequence("an operand alone")

    def value(self, tree: ast.expr) -> Any:
        """What stands for ``tree`` as an argument, after the steps that it takes."""
        if isinstance(tree, ast.Name) and PLACE.fullmatch(tree.id):
            return Operand(int(tree.id[1:]))
        if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)):
            return tree.value
        if isinstance(tree, ast.BinOp):
            return self.binary(tree)
        if isinstance(tree, ast.UnaryOp) and type(tree.op) in SIGNS:
            return self.step(SIGNS[type(tree.op)], [tree.operand])
        if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in SIGNS:
            return self.step(SIGNS[type(tree.ops[0])], [tree.left, tree.comparators[0]])
        if isinstance(tree, ast.Call) and (name := self.ufunc(tree)) is not None:
            return self.step(name, tree.args)
        raise NotCallSequence(ast.dump(tree))

    def binary(self, tree: ast.BinOp) -> IntermediateRef:
        name = SIGNS.get(type(tree.op))
        if name is None:
            raise NotCallSequence(ast.dump(tree))
        if name == "power":
            simple = POWERS.get(self.exponent) if type(self.exponent) in (int, float) else None
            if simple is not None:
                return self.step(simple, [tree.left])
        return self.step(name, [tree.left, tree.right])

    def step(self, name: str, trees: Sequence[ast.expr]) -> IntermediateRef:
        arguments = tuple([self.value(tree) for tree in trees])
        function = getattr(np, name)
        slots = ", ".join(f"{{{k}}}" for k in range(len(arguments)))
        text = f"np.{name}({slots}, out={{{len(arguments)}}})"
        plain = function if function.signature is None else None
        self.steps.append(TemplateCall(text, arguments, plain))
        return IntermediateRef(len(self.steps) - 1)

    def bitwise(self, tree: ast.BinOp, floats: str) -> None:
        """One sign between bits of operands, seen as floats."""
        slots, arguments = [], []
        for place, side in enumerate((tree.left, tree.right)):
            named = [n for n in nodes_in(side) if isinstance(n, ast.Name) and PLACE.fullmatch(n.id)]
            if len(named) != 1 or side is not named[0] and _viewed(side) is None:
                raise NotCallSequence(ast.dump(side))
            arguments.append(self.value(named[0]))
            slots.append(ast.unparse(side).replace(named[0].id, f"{{{place}}}"))
        bits = next(each for side in (tree.left, tree.right) if (each := _viewed(side)))
        name = SIGNS[type(tree.op)]
        text = f"np.{name}({', '.join(slots)}, out={{2}}.view(np.{bits})).view(np.{floats})"
        self.steps.append(TemplateCall(text, tuple(arguments), getattr(np, name), floats))

    @staticmethod
    def ufunc(tree: ast.Call) -> str | None:
        """The name of the ufunc of one result that is called, if it is."""
        name = _numpy_name(tree)
        function = getattr(np, name, None) if name else None
        if not isinstance(function, np.ufunc) or function.nout != 1 or tree.keywords:
            return None
        return name if len(tree.args) == function.nin else None

    def other(self, tree: ast.Call) -> None:
        """A function that is no ufunc, called on operands, with ``out`` for a parameter."""
        name = _numpy_name(tree) or _method_name(tree)
        named = {n.id for n in nodes_in(tree) if isinstance(n, ast.Name)}
        operands = sorted(named - {"np", "ml_dtypes"})
        if name is None or any(isinstance(n, ast.Call) and n is not tree for n in nodes_in(tree)):
            raise NotCallSequence(name)
        if not all(PLACE.fullmatch(operand) for operand in operands):
            raise NotCallSequence(
                name
            )  # a function of the text's own, or the name of a comprehension
        places = [int(operand[1:]) for operand in operands]
        if "out" not in _parameters(name) or places != list(range(len(places))):
            raise NotCallSequence(name)
        text = ast.unparse(tree).replace("{", "{{").replace("}", "}}")
        for operand, place in zip(reversed(operands), reversed(places)):
            text = text.replace(operand, f"{{{place}}}")
        text = f"{text[:-1]}, out={{{len(places)}}})"
        self.steps.append(
            TemplateCall(text, tuple(map(Operand, places)), None, runs=name in RUNNING)
        )


def _viewed(tree: ast.expr) -> str | None:
    """The dtype that an array is viewed as, if ``tree`` views one."""
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
        return None
    (dtype,) = tree.args if tree.func.attr == "view" and len(tree.args) == 1 else (None,)
    return dtype.attr if isinstance(dtype, ast.Attribute) else None


def _numpy_name(tree: ast.Call) -> str | None:
    function = tree.func
    plain = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return function.attr if plain and function.value.id == "np" else None  # type: ignore[attr-defined]


def _method_name(tree: ast.Call) -> str | None:
    """The name of a method of an operand, called with arguments."""
    method = tree.func
    if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Name):
        return None
    return method.attr if PLACE.fullmatch(method.value.id) and tree.keywords else None


def _parameters(name: str) -> Sequence[str]:
    """The names of the parameters, where they are told. What is written in C tells them as text;
    ``inspect`` would load a tokenizer for that, which takes longer than all else here."""
    function = getattr(np, name, None)
    told = getattr(function, "__text_signature__", None)
    try:
        if isinstance(told, str):
            (made,) = ast.parse(f"def f{told.replace('$', '')}: pass").body
            return tuple([arg.arg for arg in nodes_in(made) if isinstance(arg, ast.arg)])
        return tuple(inspect.signature(function).parameters)  # type: ignore[arg-type]
    except (SyntaxError, TypeError, ValueError):
        return ()
