"""Python values as expression trees, and strings as text.

A tree holds only nodes that source can express: a negative number is a minus sign and a number,
infinity is ``np.inf``. A printed tree therefore reads back as itself.
"""

from __future__ import annotations

import ast
import math
import numbers
import unicodedata
from typing import Any

import numpy as np


def literal(value: Any) -> ast.expr:
    """Returns the tree of a Python value: a number, string, None, bool, or a container of these.

    >>> ast.unparse(literal((1, -2.5, float("inf"), [True, None], {"k": 1e-8})))
    "(1, -2.5, np.inf, [True, None], {'k': 1e-08})"
    """
    if value is None or value is Ellipsis or isinstance(value, (str, bytes)):
        return ast.Constant(value)
    if isinstance(value, (bool, np.bool_)):
        return ast.Constant(bool(value))
    if isinstance(value, numbers.Integral):
        return _signed(int(value), value < 0)
    if isinstance(value, numbers.Real):
        return _real(float(value))
    if isinstance(value, numbers.Complex):
        return _complex(complex(value))
    if isinstance(value, tuple):
        return ast.Tuple([literal(item) for item in value], ast.Load())
    if isinstance(value, list):
        return ast.List([literal(item) for item in value], ast.Load())
    if isinstance(value, dict):
        keys: list[ast.expr | None] = [literal(key) for key in value]
        return ast.Dict(keys, [literal(item) for item in value.values()])
    raise TypeError(f"{value!r} has no literal")


def quoted(value: str | bytes) -> str:
    """Returns a string literal in double quotes, or in single ones if that saves a backslash.

    A frozen Unicode table decides which characters are printable: ``repr`` depends on the Python
    version.
    """
    prefix = "b" if isinstance(value, bytes) else ""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    quote = "'" if text.count('"') > text.count("'") else '"'
    return prefix + quote + "".join(_escaped(char, quote, bool(prefix)) for char in text) + quote


def _escaped(char: str, quote: str, ascii_only: bool) -> str:
    if char in ("\\", quote):
        return "\\" + char
    if char.isascii():
        return char if " " <= char <= "~" else repr(char)[1:-1]
    printable = unicodedata.ucd_3_2_0.category(char)[0] not in "CZ"
    if printable and not ascii_only:
        return char
    return char.encode("unicode_escape").decode()


def _signed(size: complex, negative: bool) -> ast.expr:
    if negative:
        return ast.UnaryOp(ast.USub(), ast.Constant(-size))
    return ast.Constant(size)


def _real(value: float) -> ast.expr:
    negative = math.copysign(1.0, value) < 0
    if math.isfinite(value):
        return _signed(value, negative)
    name = "nan" if math.isnan(value) else "inf"
    special = ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load())
    return ast.UnaryOp(ast.USub(), special) if negative and name == "inf" else special


def _complex(value: complex) -> ast.expr:
    plain = [
        math.isfinite(part) and math.copysign(1.0, part) > 0 for part in (value.real, value.imag)
    ]
    if all(plain) and not value.real:
        return ast.Constant(value)
    if plain[1] and math.isfinite(value.real) and value.real:
        return ast.BinOp(_real(value.real), ast.Add(), ast.Constant(complex(0.0, value.imag)))
    parts = [_real(value.real), _real(value.imag)]  # a sum would lose signed zeros and infinities
    return ast.Call(ast.Name("complex", ast.Load()), parts, [])
