"""A template parsed into NumPy calls that can be given a destination (``out=``).

No operator is listed. A sign stands for its ufunc; the type of ``np.f`` shows if it is a ufunc. Any
other function of NumPy may be the whole template if it has a parameter ``out``.

>>> for call in parse_calls("{x} / (1.0 + np.exp(-{x}))", ("x",)):
...     print(call.text, call.arguments)
np.negative({0}, out={1}) (Operand(place=0),)
np.exp({0}, out={1}) (IntermediateRef(number=0),)
np.add({0}, {1}, out={2}) (1.0, IntermediateRef(number=1))
np.divide({0}, {1}, out={2}) (Operand(place=0), IntermediateRef(number=2))

A call may work on the bits of floats: its result is such floats again.

>>> for call in parse_calls("({x}.view(np.int32) * {c}).view(np.float32)", ("x", "c")):
...     print(call.text, call.viewed_dtype)
np.multiply({0}.view(np.int32), {1}, out={2}.view(np.int32)).view(np.float32) float32
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
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
#: The name of an operand in a parsed template.
PLACE = re.compile(r"_\d+")
#: The ufuncs that NumPy itself computes for a power with a number as exponent.
POWERS = {2: "square", 0.5: "sqrt"}
#: Functions that have read an element, and all elements before it, when they write it.
SCANS = ("cumsum", "cumprod")


@dataclass(frozen=True)
class Operand:
    """An operand of the template, by position."""

    place: int


@dataclass(frozen=True)
class IntermediateRef:
    """The result of an earlier call, by its number."""

    number: int


@dataclass(frozen=True)
class TemplateCall:
    """A call on operands, results of earlier calls, and numbers.

    ufunc          None if the function is none, or mixes elements as a matrix product does
    viewed_dtype   the dtype of floats whose bits the call computes; its destination must exist
    is_scan        the function may overwrite its operand, although it is no ufunc
    """

    text: str
    arguments: tuple[Any, ...]
    ufunc: np.ufunc | None
    viewed_dtype: str = ""
    is_scan: bool = False


class NotCallSequence(Exception):
    """The template does anything else as well."""


def calls_of(op: Op) -> tuple[TemplateCall, ...]:
    """Returns the calls of an operation's template, or none if it does anything else as well."""
    names = tuple(op.opdef.operand_name(place) for place in range(len(op.operands)))
    power = op.operands[1] if len(op.operands) == 2 else None
    template = op.opdef.template(op.types, op.attrs)
    return parse_calls(template, names, None if isinstance(power, (Value, str)) else power)


@cache
def parse_calls(
    template: str, names: tuple[str, ...], exponent: Any = None
) -> tuple[TemplateCall, ...]:
    """Returns the calls of ``template`` in order, the last one giving the result.

    Returns none if the template does anything else as well. ``exponent`` is the second operand if
    that is a number.
    """
    try:
        tree = ast.parse(_with_names(template, names), mode="eval").body
        parser = _CallParser(exponent)
        parser.parse(tree)
    except (SyntaxError, NotCallSequence):
        return ()
    return tuple(parser.calls)


def _with_names(template: str, names: Sequence[str]) -> str:
    parts = []
    for text, slot, _, _ in Formatter().parse(template):
        parts.append(text)
        if slot is not None:
            if slot not in names and not slot.isdigit():
                raise NotCallSequence(slot)
            parts.append(f"_{slot if slot.isdigit() else names.index(slot)}")
    return "".join(parts)


class _CallParser:
    """Collects the ``calls`` of one template."""

    def __init__(self, exponent: Any):
        self.calls: list[TemplateCall] = []
        self.exponent = exponent

    def parse(self, tree: ast.expr) -> None:
        source, dtype = _view_of(tree) or (None, "")
        if isinstance(source, ast.BinOp):
            self.add_bitwise(source, dtype)
        elif isinstance(tree, ast.Call) and self.ufunc_name(tree) is None:
            self.add_function(tree)
        elif not isinstance(self.argument(tree), IntermediateRef):
            raise NotCallSequence("an operand alone")

    def argument(self, tree: ast.expr) -> Any:
        """Returns ``tree`` as an argument, after adding the calls that compute it."""
        read = _ARGUMENTS.get(type(tree))
        argument = None if read is None else read(self, tree)
        if argument is None:
            raise NotCallSequence(ast.dump(tree))
        return argument

    def name(self, tree: ast.Name) -> Operand | None:
        return Operand(int(tree.id[1:])) if PLACE.fullmatch(tree.id) else None

    def constant(self, tree: ast.Constant) -> Any:
        return tree.value if isinstance(tree.value, (int, float)) else None

    def unary(self, tree: ast.UnaryOp) -> IntermediateRef | None:
        name = SIGNS.get(type(tree.op))
        return None if name is None else self.add(name, [tree.operand])

    def comparison(self, tree: ast.Compare) -> IntermediateRef | None:
        name = SIGNS.get(type(tree.ops[0])) if len(tree.ops) == 1 else None
        return None if name is None else self.add(name, [tree.left, tree.comparators[0]])

    def call(self, tree: ast.Call) -> IntermediateRef | None:
        name = self.ufunc_name(tree)
        return None if name is None else self.add(name, tree.args)

    def binary(self, tree: ast.BinOp) -> IntermediateRef | None:
        name = SIGNS.get(type(tree.op))
        if name == "power" and type(self.exponent) in (int, float) and self.exponent in POWERS:
            return self.add(POWERS[self.exponent], [tree.left])
        return None if name is None else self.add(name, [tree.left, tree.right])

    def add(self, name: str, trees: Sequence[ast.expr]) -> IntermediateRef:
        """Adds the call of a ufunc on these arguments."""
        arguments = tuple([self.argument(tree) for tree in trees])
        function = getattr(np, name)
        slots = ", ".join(f"{{{k}}}" for k in range(len(arguments)))
        text = f"np.{name}({slots}, out={{{len(arguments)}}})"
        elementwise = function if function.signature is None else None
        self.calls.append(TemplateCall(text, arguments, elementwise))
        return IntermediateRef(len(self.calls) - 1)

    def add_bitwise(self, tree: ast.BinOp, floats: str) -> None:
        """Adds one operation on the bits of operands whose result is viewed as ``floats``."""
        slots, arguments = [], []
        views = [_view_of(side) for side in (tree.left, tree.right)]
        for place, (side, viewed) in enumerate(zip((tree.left, tree.right), views)):
            named = [n for n in nodes_in(side) if isinstance(n, ast.Name) and PLACE.fullmatch(n.id)]
            if len(named) != 1 or side is not named[0] and viewed is None:
                raise NotCallSequence(ast.dump(side))
            arguments.append(self.argument(named[0]))
            slots.append(ast.unparse(side).replace(named[0].id, f"{{{place}}}"))
        bits = next(viewed[1] for viewed in views if viewed is not None)
        name = SIGNS[type(tree.op)]
        text = f"np.{name}({', '.join(slots)}, out={{2}}.view(np.{bits})).view(np.{floats})"
        self.calls.append(TemplateCall(text, tuple(arguments), getattr(np, name), floats))

    @staticmethod
    def ufunc_name(tree: ast.Call) -> str | None:
        """Returns the name of the called ufunc with one result, or None if it is none."""
        name = _numpy_name(tree)
        function = getattr(np, name, None) if name else None
        if not isinstance(function, np.ufunc) or function.nout != 1 or tree.keywords:
            return None
        return name if len(tree.args) == function.nin else None

    def add_function(self, tree: ast.Call) -> None:
        """Adds the call of a function on operands that is no ufunc and has a parameter ``out``."""
        name = _numpy_name(tree) or _method_name(tree)
        names = {n.id for n in nodes_in(tree) if isinstance(n, ast.Name)}
        operands = sorted(names - {"np", "ml_dtypes"})
        if name is None or any(isinstance(n, ast.Call) and n is not tree for n in nodes_in(tree)):
            raise NotCallSequence(name)
        if not all(PLACE.fullmatch(operand) for operand in operands):
            # A function of the generated module, or a variable of a comprehension.
            raise NotCallSequence(name)
        places = [int(operand[1:]) for operand in operands]
        if "out" not in _parameters(name) or places != list(range(len(places))):
            raise NotCallSequence(name)
        text = ast.unparse(tree).replace("{", "{{").replace("}", "}}")
        for operand, place in zip(reversed(operands), reversed(places)):
            text = text.replace(operand, f"{{{place}}}")
        text = f"{text[:-1]}, out={{{len(places)}}})"
        arguments = tuple(map(Operand, places))
        self.calls.append(TemplateCall(text, arguments, None, is_scan=name in SCANS))


#: Returns an argument of each kind of expression, or None if it is none.
_ARGUMENTS: dict[type[ast.AST], Callable[[_CallParser, Any], Any]] = {
    ast.Name: _CallParser.name,
    ast.Constant: _CallParser.constant,
    ast.BinOp: _CallParser.binary,
    ast.UnaryOp: _CallParser.unary,
    ast.Compare: _CallParser.comparison,
    ast.Call: _CallParser.call,
}


def _view_of(tree: ast.expr) -> tuple[ast.expr, str] | None:
    """Returns the expression and the dtype of ``expression.view(np.dtype)``, else None."""
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
        return None
    (dtype,) = tree.args if tree.func.attr == "view" and len(tree.args) == 1 else (None,)
    return (tree.func.value, dtype.attr) if isinstance(dtype, ast.Attribute) else None


def _numpy_name(tree: ast.Call) -> str | None:
    function = tree.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    return function.attr if function.value.id == "np" else None


def _method_name(tree: ast.Call) -> str | None:
    """Returns the name of a method of an operand that is called with keywords, else None."""
    method = tree.func
    if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Name):
        return None
    return method.attr if PLACE.fullmatch(method.value.id) and tree.keywords else None


def _parameters(name: str) -> Sequence[str]:
    """Returns the names of the parameters of a function of NumPy, or none if they are unknown.

    Functions written in C have a signature as text. ``inspect`` would load a tokenizer for it,
    which takes longer than everything else here.
    """
    function = getattr(np, name, None)
    text = getattr(function, "__text_signature__", None)
    try:
        if isinstance(text, str):
            (definition,) = ast.parse(f"def f{text.replace('$', '')}: pass").body
            return tuple([arg.arg for arg in nodes_in(definition) if isinstance(arg, ast.arg)])
        return tuple(inspect.signature(function).parameters) if callable(function) else ()
    except (SyntaxError, TypeError, ValueError):
        return ()
