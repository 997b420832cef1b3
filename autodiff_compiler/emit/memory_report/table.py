"""What is kept for backward as text: for each value its bytes, who made it and who needs it.

It is the most that is kept: what stands in a branch that is not taken is None. A question mark
stands for what nothing is known of while compiling, such as the length of a list of the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autodiff_compiler.cost_model import costs
from autodiff_compiler.emit.memory_report.byte_formulas import ByteFormula
from autodiff_compiler.emit.memory_report.saved_values import SavedValue, saved_bytes, saved_values
from autodiff_compiler.emit.memory_report.value_origins import ONE
from autodiff_compiler.emit.naming.choose import Names
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.span import NOWHERE, Span

HEAD = ("name", "type", "bytes", "made by", "needed by the gradient of")
#: The longest text of a user's line that is shown.
LINE = 48


def memory_table(halves: Sequence[Function], names: Names) -> str:
    """The table of what forward keeps for backward, and what is held in all."""
    forward, backward = halves
    kept = saved_values(forward, backward, names)
    where = forward.span.where.rpartition(":")[0]
    lines = [f"Kept for backward by {forward.name} ({where}).", ""]
    home = forward.span.file
    lines += [f"    {line}" for line in columns([HEAD, *(_row(value, home) for value in kept)])]
    whole, arguments = saved_bytes(kept)
    lines += ["", f"In all at most {whole} bytes; what shares memory counts once. Arguments and",
              f"Parameters, which the caller has anyway, take {arguments} of them."]  # fmt: skip
    return "\n".join(lines) + "\n"


def memory_summary(halves: Sequence[Function], names: Names) -> list[str]:
    """Lines for a docstring: the largest values that are no arguments, if together they are large.
    Where that depends on the run, ``memory_table`` tells it."""
    forward, backward = halves
    kept = saved_values(forward, backward, names)
    whole, arguments = saved_bytes(kept)
    own = (whole - arguments).number
    if own is None or own < costs().told_bytes:
        return []
    made = [value for value in kept if not all(memory.is_argument for memory in value.memory)]
    most = costs().told_values
    largest = sorted(made, key=lambda value: -(value.size.number or 0))[:most]
    rows = [
        (value.name, _type(value), f"{value.size}",
         f"made by {_numbers([value.made])}, needed by {_numbers(value.needed)}")
        for value in made if value in largest
    ]  # fmt: skip
    more = [f"    and {len(made) - most} smaller ones"] * (len(made) > most)
    return [f"Kept for backward, in bytes ({own:,} in all, arguments not counted):",
            *(f"    {line}" for line in columns(rows)), *more]  # fmt: skip


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of aligned columns.

    >>> columns([("a", "bc", "d"), ("abc", "", "d")])
    ['a    bc  d', 'abc      d']
    """
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
            for row in listed]  # fmt: skip


def _row(kept: SavedValue, home: str) -> tuple[str, ...]:
    made = "(an argument)" if kept.made == NOWHERE else _shown(kept.made, home)
    lines = list({(span.file, span.line): span for span in kept.needed}.values())
    needed = [_shown(span, home) for span in lines[:1]] + [f"{span.line}|" for span in lines[1:]]
    return kept.name, _type(kept), _bytes(kept), made, ", ".join(needed) or "(the result)"


def _type(kept: SavedValue) -> str:
    return str(kept.type) if kept.times == ONE else f"{kept.type} x {_factor(kept.times)}"


def _bytes(kept: SavedValue) -> str:
    """What one item takes, and all; nothing where it is no array."""
    if not kept.size.terms or kept.times == ONE:
        return str(kept.size) if kept.size.terms else ""
    product = f"{_factor(kept.item_size)} x {_factor(kept.times)}"
    return product if kept.size.number is None else f"{product} = {kept.size}"


def _factor(size: ByteFormula) -> str:
    return f"({size})" if len(size.terms) > 1 else str(size)


def _shown(span: Span, home: str) -> str:
    """The user's line; with its file, if that is not ``home``."""
    text = span.tag if span.file == home else f"{span.where.partition(':')[0]}:{span.tag}"
    return text if len(text) <= LINE else f"{text[: LINE - 3]}..."


def _numbers(spans: Sequence[Span]) -> str:
    return ", ".join(dict.fromkeys(f"{span.line}|" for span in spans)) or "the result"
