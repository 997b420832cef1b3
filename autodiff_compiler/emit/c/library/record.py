"""``CFunction``, the record of one C function, and the templates that several dtypes share.

A template is C for ``double``. For ``float`` the names of types, the endings of functions and
literals are replaced. Two words stand for text from the table of coefficients:

- ``POLYNOMIAL(p, exp, r);`` computes the polynomial ``exp`` at ``r`` as a new variable ``p``;
- ``CONSTANT(log2, 0)`` is the first part of a constant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from autodiff_compiler.emit.c.library.coefficients import CONSTANTS, POLYNOMIALS

#: The name of a function or a table is before the first bracket; that of a type is the last word.
_NAME = re.compile(r"^static [^(\[]*?(\w+)[(\[]|^typedef .* (\w+);$", re.MULTILINE)
_POLYNOMIAL = re.compile(r"^( *)POLYNOMIAL\((\w+), (\w+), (.*)\);$", re.MULTILINE)
_CONSTANT = re.compile(r"CONSTANT\((\w+), (\d)\)")
_LITERAL = re.compile(r"(?<![\w.])(?:0x[\da-f.]+p[+-]?\d+|\d+\.\d*(?:e[+-]?\d+)?)(?![\w.])")
#: Words of a template for ``double`` and what they are for ``float``.
_FLOAT = {
    "double": "float",
    "uint64_t": "uint32_t",
    "int64_t": "int32_t",
    "__builtin_inf": "__builtin_inff",
    "__builtin_nan": "__builtin_nanf",
    "__builtin_fabs": "__builtin_fabsf",
    "__builtin_copysign": "__builtin_copysignf",
    "__builtin_sqrt": "__builtin_sqrtf",
    "__builtin_floor": "__builtin_floorf",
    "__builtin_ceil": "__builtin_ceilf",
    "__builtin_trunc": "__builtin_truncf",
    "__builtin_rint": "__builtin_rintf",
    "__builtin_fma": "__builtin_fmaf",
    "__FP_FAST_FMA": "__FP_FAST_FMAF",
}


@dataclass(frozen=True)
class CFunction:
    """A definition of the C library.

    name    the name that programs call, with the dtype as its ending
    text    its definition
    ulp     the bound of its error, in units in the last place; 0 if it is exact. It is None for
            parts of other functions. It is also None where no such bound holds (decision 0023).
    """

    name: str
    text: str
    ulp: float | None = None

    @property
    def words(self) -> set[str]:
        """The words of the text, among them the names of the functions that it calls."""
        return set(re.findall(r"[A-Za-z_]\w*", self.text))


def literal(value: float, dtype: str) -> str:
    """Returns a number as C prints it.

    >>> literal(0.1, "float"), literal(0.1, "double"), literal(-2.0, "double")
    ('0.1f', '0.1', '-2.0')
    """
    return f"{np.float32(value)!s}f" if dtype == "float" else repr(float(value))


def _horner(match: re.Match[str], dtype: str) -> str:
    indent, variable, name, at = match.groups()
    key = name if name in POLYNOMIALS else f"{name}_{dtype}"
    kind = "float" if key.endswith("f32") else "double"
    highest, *others = (literal(each, kind) for each in reversed(POLYNOMIALS[key]))
    lines = [f"{indent}{kind} {variable} = {highest};"]
    lines += [f"{indent}{variable} = {variable} * {at} + {each};" for each in others]
    return "\n".join(lines).replace("+ -", "- ")


def expand(
    template: str,
    dtype: str,
    words: Mapping[str, tuple[str, str]] | None = None,
    is_shared: bool = True,
) -> str:
    """Returns the text of a template for ``f32`` or ``f64``.

    ``words`` has more words, each with its text for ``f32`` and for ``f64``. A template that is not
    shared is written for its own dtype.

    >>> expand("static inline double twice_f64(double x) { return 2.0 * x; }", "f32")
    'static inline float twice_f32(float x) { return 2.0f * x; }'
    """
    is_float = dtype == "f32"
    text = template.strip("\n")
    if is_float and is_shared:
        text = _LITERAL.sub(lambda match: match[0] + "f", text)
        text = re.sub(r"[A-Za-z_]\w*", lambda match: _FLOAT.get(match[0], match[0]), text)
        text = text.replace("_f64", "_f32")
    for word, pair in (words or {}).items():
        text = re.sub(rf"\b{word}\b", pair[0] if is_float else pair[1], text)

    def constant(match: re.Match[str]) -> str:
        key = match[1] if match[1] in CONSTANTS else f"{match[1]}_{dtype}"
        kind = "float" if key.endswith("f32") else "double"
        return literal(CONSTANTS[key][int(match[2])], kind)

    text = _CONSTANT.sub(constant, text)
    return _POLYNOMIAL.sub(lambda match: _horner(match, dtype), text)


def name_of(text: str) -> str:
    """Returns the name that ``text`` defines.

    >>> name_of("typedef struct { double high, low; } pair_f64;")
    'pair_f64'
    """
    match = _NAME.search(text)
    assert match, text
    return match[1] or match[2]


def f64(
    template: str,
    ulp: float | None = None,
    words: Mapping[str, tuple[str, str]] | None = None,
) -> CFunction:
    """Returns a function for ``double`` alone."""
    text = expand(template, "f64", words)
    return CFunction(name_of(text), text, ulp)


def f32(template: str, ulp: float | None = None) -> CFunction:
    """Returns a function for ``float`` alone, from its own text."""
    text = expand(template, "f32", is_shared=False)
    return CFunction(name_of(text), text, ulp)


def both(
    template: str,
    ulp: tuple[float | None, float | None] = (None, None),
    words: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[CFunction, CFunction]:
    """Returns the functions of one template for ``float`` and for ``double``."""
    texts = [expand(template, dtype, words) for dtype in ("f32", "f64")]
    first, second = (CFunction(name_of(text), text, bound) for text, bound in zip(texts, ulp))
    return first, second


def in_double(name: str, *, operands: str = "x", ulp: float | None = 0.51) -> CFunction:
    """Returns the function for ``float`` that computes in ``double`` and rounds once."""
    names = operands.split()
    parameters = ", ".join(f"float {each}" for each in names)
    text = (
        f"/* {name} of a float, rounded once */\nstatic inline float {name}_f32({parameters}) {{\n"
    )
    text += f"  return (float){name}_f64({', '.join(names)});\n}}"
    return CFunction(f"{name}_f32", text, ulp)
