"""The table of saved values: for each its bytes, the line that made it and the lines that need it.

The bytes are an upper bound: a value in a branch that is not taken is None. A question mark stands
for a number that is unknown at compile time, such as the length of a list.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from autodiff_compiler.cost_model import costs
from autodiff_compiler.emit.memory_report.byte_formulas import ByteFormula
from autodiff_compiler.emit.memory_report.saved_values import SavedValue, saved_bytes, saved_values
from autodiff_compiler.emit.memory_report.value_origins import ONE
from autodiff_compiler.emit.naming.choose import Names
from autodiff_compiler.emit.text.line_breaking import WIDTH
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.types import ArrayType, holds_arrays, item_size, size_of
from autodiff_compiler.span import NOWHERE, Span

HEAD = ("name", "type", "bytes", "made by", "needed by the gradient of")
#: The longest text of a user's line that is shown.
LINE = 48


def memory_table(functions: Sequence[Function], names: Names) -> str:
    """Returns the table of the values that forward saves for backward, and their sum."""
    forward, backward = functions
    saved = saved_values(forward, backward, names)
    home = forward.span.file
    rows = columns([HEAD, *(_row(value, home) for value in saved)])
    total, arguments = saved_bytes(saved)
    lines = [
        f"Saved for backward by {forward.name} ({forward.span.where.rpartition(':')[0]}).",
        "",
        *(f"    {row}" for row in rows),
        "",
        f"At most {total} bytes in total; values that share memory count once. Arguments and",
        f"Parameters, which exist anyway, take {arguments} bytes of the total.",
    ]
    return "\n".join(lines) + "\n"


def memory_summary(functions: Sequence[Function], names: Names) -> list[str]:
    """Returns docstring lines about the largest saved values that are no arguments.

    There are none if these values are small together, or if their size depends on the run; then
    ``memory_table`` shows it.
    """
    forward, backward = functions
    if _makes_few_bytes(forward):
        return []
    saved = saved_values(forward, backward, names)
    total, arguments = saved_bytes(saved)
    saved_total = (total - arguments).number
    if saved_total is None or saved_total < costs().reported_bytes:
        return []
    intermediate = [
        value for value in saved if not all(memory.is_argument for memory in value.memory)
    ]
    most = costs().reported_values
    largest = sorted(intermediate, key=lambda value: -(value.size.number or 0))[:most]
    home = forward.span.file
    shown = [value for value in intermediate if value in largest]
    lines = [f"Saved for backward, in bytes ({saved_total:,} in total, without arguments):"]
    lines += _short_rows(shown, home)
    if len(intermediate) > most:
        lines.append(f"    and {len(intermediate) - most} smaller ones")
    return lines


def _makes_few_bytes(function: Function) -> bool:
    """True if all results of a function without loops, branches and calls are small together."""
    ops = function.body.ops
    if any(op.regions or "callee" in op.attrs for op in ops):
        return False
    types = [result.type for op in ops if op.name != "make_tuple" for result in op.results]
    arrays = [type_ for type_ in types if isinstance(type_, ArrayType)]
    if not all(type_.is_static for type_ in arrays) or sum(map(holds_arrays, types)) > len(arrays):
        return False
    return (
        sum(size_of(type_) + item_size("complex128") for type_ in arrays) < costs().reported_bytes
    )


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns lines of aligned columns.

    >>> columns([("a", "bc", "d"), ("abc", "", "d")])
    ['a    bc  d', 'abc      d']
    """
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed)]
    padded = ([text.ljust(width) for text, width in zip(row, widths)] for row in listed)
    return ["  ".join(row).rstrip() for row in padded]


def _row(saved: SavedValue, home: str) -> tuple[str, ...]:
    origin = "(an argument)" if saved.origin == NOWHERE else _shown(saved.origin, home)
    lines = list({(span.file, span.line): span for span in saved.needed}.values())
    needed = [_shown(span, home) for span in lines[:1]]
    needed += [span.number_in(home) for span in lines[1:]]
    return saved.name, _type(saved), _bytes(saved), origin, ", ".join(needed) or "(the result)"


def _short_rows(shown: Sequence[SavedValue], home: str) -> list[str]:
    """Returns a line for each value; two if the source lines do not fit behind its bytes."""
    sizes = [(saved.name, _type(saved), str(saved.size)) for saved in shown]
    places = [_places(saved, home) for saved in shown]
    rows = [f"    {row}" for row in columns((*size, place) for size, place in zip(sizes, places))]
    if all(len(row) <= WIDTH for row in rows):
        return rows
    rows = []
    for size, place in zip(columns(sizes), places):
        lines = textwrap.wrap(place, WIDTH - 8)
        rows += [f"    {size}", *(f"        {line}" for line in lines)]
    return rows


def _places(saved: SavedValue, home: str) -> str:
    """Returns the lines that made a value and that need it."""
    origin, needed = _numbers([saved.origin], home), _numbers(saved.needed, home)
    if origin == needed:
        return f"made and needed by {origin}"
    return f"made by {origin}, needed by {needed}"


def _type(saved: SavedValue) -> str:
    return str(saved.type) if saved.times == ONE else f"{saved.type} x {_factor(saved.times)}"


def _bytes(saved: SavedValue) -> str:
    """Returns the bytes of one item and of all; an empty text if it is no array."""
    if not saved.size.terms or saved.times == ONE:
        return str(saved.size) if saved.size.terms else ""
    product = f"{_factor(saved.item_size)} x {_factor(saved.times)}"
    return product if saved.size.number is None else f"{product} = {saved.size}"


def _factor(size: ByteFormula) -> str:
    return f"({size})" if len(size.terms) > 1 else str(size)


def _shown(span: Span, home: str) -> str:
    """Returns the user's line, with its file unless that is ``home``."""
    text = span.tag_in(home)
    return text if len(text) <= LINE else f"{text[: LINE - 3]}..."


def _numbers(spans: Sequence[Span], home: str) -> str:
    return ", ".join(dict.fromkeys(span.number_in(home) for span in spans)) or "the result"
