"""Names of values that the user did not name: made by operators, passes and derivatives.

The rule is that of a careful person:

1. A user's variable names its value; nothing here changes that.
2. Library code says what a value is, in the words of the literature: ``named("x_hat", x)``.
3. Else the operator's ``label`` names its result after the operands: ``x_times_y``, ``mean_x``.
   A label may have alternatives, from the longest to the shortest. The last one is what the result
   is, without operands: ``product``, ``mean``.

A name has at most three words, or two if one of them is as general as ``product``. Not counted are
a prefix of derivatives (``d_``, ``d2_``) and numbers. The first alternative that fits is taken, so
a nested expression has a short name:

>>> from autodiff_compiler.ir.types import array
>>> from autodiff_compiler.operators.core.structure import sum_
>>> from autodiff_compiler.operators.elementwise.arithmetic import add, mul
>>> x, y = (Value(array("float32"), name) for name in "xy")
>>> label(mul, (x, y), {}), label(mul, (2.5, y), {}), label(add, (x, 1.0), {})
('x_times_y', 'scaled_y', 'x_plus_one')
>>> product = Value(x.type, "x_times_y")
>>> label(mul, (product, y), {}), label(sum_, (product,), {})
('product', 'total')

A word is not repeated at its own side: an item of ``x_item`` is ``x_item``, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from string import Formatter
from typing import Any, TypeVar

from autodiff_compiler.ir.nodes import AnyOperand, Value
from autodiff_compiler.ir.opdef import BUILDING, OpDef

WORD_LIMIT = 3
LENGTH_LIMIT = 24
#: How labels spell small numbers.
NUMBERS: dict[float, str] = {0: "zero", 1: "one", 2: "two"}
#: Words that say little: a name with one of them has a word less.
GENERIC = frozenset(
    "difference negated power product quotient ratio remainder square total value".split()
)
PREFIX = re.compile(r"^((d|dot)\d*_)+(?=.)")

#: Why the compiler copies an array: the comment behind the copy.
SHARES_NOTHING = "copied: results share no memory"
WRITTEN_IN_LOOP = "copied: the loop writes into it"
WRITTEN_NEXT = "copied: the next line writes into it"
WRITTEN_LATER = "copied: it is written later"

Thing = TypeVar("Thing")


def words(name: str) -> list[str]:
    """Lists the words of a name, without a prefix of derivatives and without numbers.

    >>> words("d2_d_fc1_weight_2"), words("state_0_times_w")
    (['fc1', 'weight'], ['state', 'times', 'w'])
    """
    return [word for word in PREFIX.sub("", name).split("_") if word and not word.isdigit()]


def is_short(name: str) -> bool:
    """True if a made name is short enough: in words and in characters.

    >>> is_short("x_minus_mean"), is_short("product_plus_b"), is_short("scaled_product")
    (True, False, True)
    """
    if len(name) > LENGTH_LIMIT:
        return False
    if name.count("_") < WORD_LIMIT - 1:
        return True
    parts = words(name)
    return len(parts) <= WORD_LIMIT - (not GENERIC.isdisjoint(parts))


def composed(name: str, suffix: str) -> str:
    """Returns ``name_suffix``; the suffix alone where that is too long.

    >>> composed("h", "tape"), composed("x_times_y", "tape"), composed("", "tape")
    ('h_tape', 'tape', 'tape')
    """
    if name.endswith(f"_{suffix}"):
        return name
    text = f"{name}_{suffix}"
    return text if name and is_short(text) else suffix


def named(name: str, thing: Thing) -> Thing:
    """Gives the result of library code a name that says what it is, unless the user named it."""
    if isinstance(thing, Value) and not thing.has_user_name and BUILDING.stack[-1].producer(thing):
        thing.name = name
    return thing


def label(opdef: OpDef, operands: Sequence[AnyOperand], attrs: Mapping[str, Any]) -> str:
    """Names the result of an operation whose user did not: after the operator and its operands."""
    names: dict[str, str] = {}
    literals: dict[str, str] = {}
    for position, operand in enumerate(operands):
        if isinstance(operand, Value):
            if operand.name:
                names[opdef.operand_name(position)] = operand.name
        elif isinstance(operand, (int, float)) and operand is not True and operand in NUMBERS:
            literals[opdef.operand_name(position)] = NUMBERS[operand]
    if not opdef.label:
        text = f"{opdef.name}_{next(iter(names.values()), '')}"
        return text if names and is_short(text) else opdef.name
    *templates, last = alternatives(opdef.label)
    texts = literals | names if literals else names
    if opdef.kind == "container" and "key" in attrs:
        texts = names | {"key": str(attrs["key"])}
    for place, (template, fields) in enumerate(templates):
        if not (fields <= texts.keys() if place == 0 else fields == names.keys()):
            continue
        text = template.format_map(texts)
        if text in names.values():
            return text
        text = _without_repetition(text)
        if is_short(text):
            return text
    return last[0] or opdef.name


@cache
def alternatives(text: str) -> list[tuple[str, frozenset[str]]]:
    """Lists the alternatives of an operator's label, each with the operands that it names.

    If the last one names operands, its own words follow.
    """
    templates = text.split()
    if _fields(templates[-1]):
        templates.append("_".join(filter(None, re.sub(r"\{\w*\}", "", templates[-1]).split("_"))))
    return [(template, _fields(template)) for template in templates]


def _fields(template: str) -> frozenset[str]:
    return frozenset(field for _, field, _, _ in Formatter().parse(template) if field is not None)


def _without_repetition(text: str) -> str:
    """Returns a name in which no word follows itself."""
    parts = text.split("_")
    if len(set(parts)) == len(parts):
        return text
    return "_".join(word for word, before in zip(parts, ["", *parts]) if word != before)
