"""The C text of expressions of the loop-nest IR."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from autodiff_compiler.ir.types import SHORT
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Apply,
    Expression,
    Literal,
    Load,
    Position,
    Read,
)

#: The C type of each dtype.
C_TYPES: Mapping[str, str] = {
    "bool": "_Bool",
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
#: The C type of the elements of an array. A ``_Bool`` in memory is not read by vectors.
ELEMENT_TYPES: Mapping[str, str] = {**C_TYPES, "bool": "uint8_t"}
#: Operators of C, with their precedence.
INFIX: Mapping[str, tuple[str, int]] = {
    "mul": ("*", 12),
    "div": ("/", 12),
    "add": ("+", 11),
    "sub": ("-", 11),
    "less": ("<", 9),
    "less_equal": ("<=", 9),
    "greater": (">", 9),
    "greater_equal": (">=", 9),
    "equal": ("==", 8),
    "not_equal": ("!=", 8),
    "logical_and": ("&", 7),
    "bit_and": ("&", 7),
    "logical_xor": ("^", 6),
    "bit_xor": ("^", 6),
    "logical_or": ("|", 5),
    "bit_or": ("|", 5),
}
#: Operators of C that compute their right operand if it decides.
SHORT_CIRCUIT: Mapping[str, tuple[str, int]] = {"logical_and": ("&&", 4), "logical_or": ("||", 3)}
#: The highest precedence of these operators.
UNMIXED = 4
#: Operations of integers that wrap around in NumPy.
WRAPPING = frozenset(("add", "sub", "mul", "neg", "square"))
#: The precedence of a conditional expression, of a unary operator and of a name.
CONDITIONAL, UNARY, PRIMARY = 2, 14, 16


class ExpressionPrinter:
    """Prints expressions with the names of scalars and buffers, and notes the functions used."""

    def __init__(self, name_of: Callable[[object], str]) -> None:
        self.name_of = name_of
        self.functions: dict[str, None] = {}

    def text(self, expression: Expression, least: int = 0) -> str:
        """Returns the text; in parentheses where its precedence is below ``least``."""
        text, precedence = self._text(expression)
        return text if precedence >= least else f"({text})"

    def _text(self, expression: Expression) -> tuple[str, int]:
        if isinstance(expression, Literal):
            return literal(expression)
        if isinstance(expression, Read):
            return self.name_of(expression.scalar), PRIMARY
        if isinstance(expression, Load):
            return f"{self.name_of(expression.buffer)}[{self.position(expression.at)}]", PRIMARY
        if isinstance(expression, Position):
            few = len(expression.at.terms) + bool(expression.at.constant) <= 1
            simple = few and all(count == 1 for _, count in expression.at.terms)
            return self.position(expression.at), PRIMARY if simple else 11
        return self._operation(expression)

    def _operation(self, op: Apply) -> tuple[str, int]:
        if op.name in INFIX and not may_wrap(op.name, op.dtype):
            name = "logical_or" if (op.name, op.dtype) == ("add", "bool") else op.name
            return self._infix(op, *INFIX[name])
        inline = None if may_wrap(op.name, op.dtype) else _INLINE.get(op.name)
        text = inline(self, op) if inline is not None else None
        if text is not None:
            return text
        # A question about a number has the name of the dtype of this number.
        dtype = op.operands[0].dtype if op.dtype == "bool" else op.dtype
        name = f"{op.name}_{SHORT[dtype]}"
        self.functions[name] = None
        return f"{name}({', '.join(self.text(each) for each in op.operands)})", PRIMARY

    def _infix(self, op: Apply, sign: str, precedence: int) -> tuple[str, int]:
        """Returns the text of an operator. Where people err about precedence, compilers warn:
        operands of comparisons and of operators on bits have parentheses, too."""
        left, right = op.operands
        least = {"&": UNARY, "^": UNARY, "|": UNARY}.get(sign, 10 if precedence < 10 else 0)
        is_chain = (
            least == UNARY
            and isinstance(left, Apply)
            and INFIX.get(left.name) == (sign, precedence)
        )
        first = self.text(left, 0 if is_chain else max(least, precedence))
        if least == 10 and first.startswith("!"):
            first = f"({first})"
        return f"{first} {sign} {self.text(right, max(least, precedence + 1))}", precedence

    def _select(self, op: Apply) -> tuple[str, int]:
        condition, left, right = (self.text(each, CONDITIONAL + 1) for each in op.operands)
        return f"{condition} ? {left} : {right}", CONDITIONAL

    def _copy(self, op: Apply) -> tuple[str, int]:
        return self._text(op.operands[0])

    def _unary(self, op: Apply) -> tuple[str, int]:
        sign = "-" if op.name == "neg" else "!"
        return f"{sign}{self.text(op.operands[0], UNARY)}", UNARY

    def _square(self, op: Apply) -> tuple[str, int]:
        inner = self.text(op.operands[0], 13)
        return f"{inner} * {inner}", 12

    def _relu(self, op: Apply) -> tuple[str, int]:
        inner, (zero, _) = self.text(op.operands[0], 10), literal(Literal(0, op.dtype))
        return f"{inner} < {zero} ? {zero} : {inner}", CONDITIONAL

    def _extreme(self, op: Apply) -> tuple[str, int] | None:
        if op.dtype.startswith("float"):
            return None  # a NaN must propagate
        if op.operands[0] == op.operands[1]:
            return self._text(op.operands[0])
        left, right = (self.text(each, 10) for each in op.operands)
        sign = ">" if op.name == "maximum" else "<"
        return f"{left} {sign} {right} ? {left} : {right}", CONDITIONAL

    def _cast(self, op: Apply) -> tuple[str, int]:
        (operand,) = op.operands
        if op.dtype == "bool":
            zero, _ = literal(Literal(0, operand.dtype))
            return f"{self.text(operand, 9)} != {zero}", 8
        if operand.dtype == "bool" and op.dtype.startswith("float"):
            # Compilers make vectors of a choice, and not of a converted _Bool.
            numbers = (literal(Literal(each, op.dtype))[0] for each in (1, 0))
            return f"{self.text(operand, CONDITIONAL + 1)} ? {' : '.join(numbers)}", CONDITIONAL
        return f"({C_TYPES[op.dtype]}){self.text(operand, UNARY)}", UNARY

    def condition(self, expression: Expression) -> str:
        """Returns the text of the condition of a branch, where C needs not compute all parts."""
        return self._condition(expression)[0]

    def _condition(self, expression: Expression) -> tuple[str, int]:
        if not isinstance(expression, Apply) or expression.name not in SHORT_CIRCUIT:
            return self._text(expression)
        sign, precedence = SHORT_CIRCUIT[expression.name]
        texts = []
        for each in expression.operands:
            text, inner = self._condition(each)
            # Compilers warn of && in || without parentheses.
            is_same = isinstance(each, Apply) and each.name == expression.name
            texts.append(text if is_same or inner > UNMIXED else f"({text})")
        return f" {sign} ".join(texts), precedence

    def bits(self, number: Expression) -> str:
        """Returns the text of a number as an int64; of a double these are its bits."""
        if number.dtype == "float64":
            self.functions["bits_f64"] = None
            return f"(int64_t)bits_f64({self.text(number)})"
        return (
            self.text(number) if number.dtype == "int64" else f"(int64_t){self.text(number, UNARY)}"
        )

    def position(self, at: Affine) -> str:
        """Returns the text of a position: ``1024 * i + 7 - j``."""
        parts = []
        for scalar, count in sorted(at.terms, key=lambda term: -abs(term[1])):
            name = self.name_of(scalar)
            parts.append((count < 0, name if abs(count) == 1 else f"{abs(count)} * {name}"))
        if at.constant or not parts:
            parts.append((at.constant < 0, str(abs(at.constant))))
        (negative, first), *rest = sorted(parts, key=lambda part: part[0])
        text = f"-{first}" if negative else first
        return text + "".join(f" {'-' if minus else '+'} {part}" for minus, part in rest)


def may_wrap(name: str, dtype: str) -> bool:
    """True if an operation may leave the range of its dtype, which C does not define.

    C computes with small integers as ``int``, too.
    """
    is_integer = dtype not in ("bool", "uint32", "uint64") and not dtype.startswith("float")
    return is_integer and name in WRAPPING


def literal(number: Literal) -> tuple[str, int]:
    """Returns the text of a number, and its precedence.

    >>> literal(Literal(0.1, "float32")), literal(Literal(-2, "int64")), literal(Literal(1, "bool"))
    (('0.1f', 16), ('-2', 14), ('1', 16))
    """
    if number.dtype in ("float32", "float64"):
        value = float(number.value)
        single = number.dtype == "float32"
        if not math.isfinite(value):
            name = "nan" if math.isnan(value) else "inf"
            call = (
                f"__builtin_{name}{'f' if single else ''}({chr(34) * 2 if name == 'nan' else ''})"
            )
            return (f"-{call}", UNARY) if value < 0 else (call, PRIMARY)
        text = repr(value) + ("f" if single else "")
        return text, UNARY if text.startswith("-") else PRIMARY
    value = int(number.value)
    if value == -(2**63):
        return "(-9223372036854775807 - 1)", PRIMARY
    text = f"{value}{'u' if value >= 2**63 else ''}"
    return text, UNARY if value < 0 else PRIMARY


#: Operations that are printed without a call. A printer may leave one to the library.
_INLINE: Mapping[str, Callable[[ExpressionPrinter, Apply], tuple[str, int] | None]] = {
    "select": ExpressionPrinter._select,
    "cast": ExpressionPrinter._cast,
    "copy": ExpressionPrinter._copy,
    "neg": ExpressionPrinter._unary,
    "logical_not": ExpressionPrinter._unary,
    "square": ExpressionPrinter._square,
    "relu": ExpressionPrinter._relu,
    "maximum": ExpressionPrinter._extreme,
    "minimum": ExpressionPrinter._extreme,
}
