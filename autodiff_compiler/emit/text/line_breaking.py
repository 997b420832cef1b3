"""Breaks a line of code that is too long, at brackets, as a formatter does.

A line break inside brackets never changes the meaning. An expression is broken at its commas, else
before its loosest operators, else at its longest bracket. An expression outside brackets is put
into parentheses first. The search works on text in which strings have been blanked out.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH = 100
STEP = 4

STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')
BRACKET = re.compile(r"([()\[\]{}])")
LAMBDA = re.compile(r"(\blambda\b|:)")
# A statement that ends in one expression, which may be put into parentheses.
KEYWORD = re.compile(r"(?:return|if|elif|while) ")
LOOP = re.compile(r"for .+? in ")
OTHER = re.compile(r"(?:def|class|with|assert|del|raise|import|from|global|nonlocal|async|yield)\b")
ASSIGNMENT = re.compile(r" (?:[-+*/%@&|^]|//|\*\*|<<|>>)?= ")
# The operators before which an expression may be broken, loosest first.
COMMA = re.compile(r", ")
CLAUSE = re.compile(r" (?=(?:for|if) )")  # of a comprehension
LOOSEST = [
    re.compile(pattern)
    for pattern in (
        r" (?=(?:if|else) )",
        r" (?=or )",
        r" (?=and )",
        r"(?<!not) (?=(?:[<>]=?|[!=]=|is|not in|in) )",
        r" (?=\| )",
        r" (?=\^ )",
        r" (?=& )",
        r" (?=(?:<<|>>) )",
        r" (?=[-+] )",
        r" (?=(?:\*|/|//|%|@) )",
        r" (?=\*\* )",
    )
]


def wrap(code: str, indent: int = 0, width: int = WIDTH) -> list[str]:
    """Returns the lines of ``code``, indented by ``indent`` columns.

    >>> for line in wrap("d_x = np.matmul(d_out, y.T) + d_x_1 * np.sum(z, axis=0)", width=36):
    ...     print(line)
    d_x = (
        np.matmul(d_out, y.T)
        + d_x_1 * np.sum(z, axis=0)
    )
    """
    if indent + len(code) <= width:
        return [" " * indent + code]
    opener, value, closer = _parts(code)
    targets = opener.removesuffix(" = ")
    first = indent + len(opener) + min((start for start, _ in _brackets(value)), default=0)
    if first >= width and re.fullmatch(r"[^=:]*, [^=:]*", _flat(targets)):
        head = _parenthesised("", targets, "", indent, width)
        tail = wrap(f"_ = {value}", indent, width)
        return [*head[:-1], tail[0].replace("_", ")", 1), *tail[1:]]
    if indent + len(opener) >= width and re.fullmatch(r"\w+\[_+\]", _flat(targets)):
        head = _at_brackets(targets, indent, width)
        tail = wrap(f"_ = {value}", indent, width)
        return [*head[:-1], tail[0].replace("_", "]", 1), *tail[1:]]
    fits_alone = opener and not _brackets(value) and indent + STEP + len(value) <= width
    if (_cuts(value) or fits_alone) and not OTHER.match(code):
        return _parenthesised(opener, value, closer, indent, width)
    return _at_brackets(code, indent, width)


def _parts(code: str) -> tuple[str, str, str]:
    """Splits a statement into its beginning, its expression, and the colon at its end."""
    flat = _flat(code)
    closer = ":" if flat.endswith(":") else ""
    for pattern in (KEYWORD, LOOP):
        match = pattern.match(flat)
        if match and not OTHER.match(flat):
            return code[: match.end()], code[match.end() : len(code) - len(closer)], closer
    ends = [0, *(match.end() for match in ASSIGNMENT.finditer(flat))]
    return code[: ends[-1]], code[ends[-1] :], ""


def _parenthesised(opener: str, value: str, closer: str, indent: int, width: int) -> list[str]:
    body = _inside(value, indent + STEP, width)
    return [f"{' ' * indent}{opener}(", *body, f"{' ' * indent}){closer}"]


def _inside(text: str, indent: int, width: int) -> list[str]:
    """Returns the lines of ``text``, which is inside brackets."""
    if indent + len(text) <= width:
        return [" " * indent + text]
    if STRING.fullmatch(text):
        return _adjacent_strings(text, indent, width)
    cuts = _cuts(text)
    if not cuts:
        return _at_brackets(text, indent, width)
    starts = [0, *(end for _, end in cuts)]
    stops = [*(start for start, _ in cuts), len(text)]
    pieces = [text[start:stop] for start, stop in zip(starts, stops)]
    if text[cuts[0][0]] != ",":
        return [line for piece in pieces for line in _inside(piece, indent, width)]
    pieces[-1] = pieces[-1].removesuffix(",")
    if all(re.fullmatch(r"-?(?:[\w.]+|[\d.]+e[-+]\d+)", piece) for piece in pieces):
        return _packed(pieces, indent, width)
    lines = []
    for piece in pieces:
        lines += _inside(piece, indent, width - 1)
        lines[-1] += ","
    return lines


def _adjacent_strings(text: str, indent: int, width: int) -> list[str]:
    """Returns string literals, one a line, that Python joins to the literal ``text``.

    A literal is broken after a blank; a blank is no part of an escape sequence.

    >>> _adjacent_strings('"the first part and the rest"', 4, 24)
    ['    "the first part "', '    "and the rest"']
    """
    quote, lines = text[-1], [""]
    for word in re.split(r"(?<= )(?! )", text[1:-1]):
        if lines[-1] and indent + len(lines[-1]) + len(word) + 2 > width:
            lines.append("")
        lines[-1] += word
    return [f"{' ' * indent}{quote}{line}{quote}" for line in lines]


def _packed(names: list[str], indent: int, width: int) -> list[str]:
    """Returns lines with as many names as fit: a column of fifty names helps no reader."""
    lines = [" " * indent + names[0] + ","]
    for name in names[1:]:
        if len(lines[-1]) + len(name) + 2 <= width:
            lines[-1] += f" {name},"
        else:
            lines.append(" " * indent + name + ",")
    return lines


def _at_brackets(text: str, indent: int, width: int) -> list[str]:
    """Opens the longest bracket of ``text``, and the next longest, until its lines fit."""
    brackets = sorted(_brackets(text), key=lambda pair: pair[0] - pair[1])
    for count in range(1, len(brackets) + 1):
        position, lines = 0, [" " * indent]
        for start, stop in sorted(brackets[:count]):
            lines[-1] += text[position:start]
            lines += _inside(text[start:stop], indent + STEP, width)
            lines.append(" " * indent)
            position = stop
        lines[-1] += text[position:]
        if count == len(brackets) or all(len(line) <= width for line in lines):
            return lines
    return [" " * indent + text]


def _flat(text: str) -> str:
    """Returns ``text`` with strings, the insides of brackets and lambda parameters blanked."""
    flat: list[str] = []
    depth = 0
    for part in BRACKET.split(STRING.sub(lambda match: "_" * len(match.group()), text)):
        depth -= part in (")", "]", "}")
        flat.append(part if depth == 0 else "_" * len(part))
        depth += part in ("(", "[", "{")
    return _without_parameters("".join(flat))


def _without_parameters(flat: str) -> str:
    """Returns ``flat`` with every lambda blanked up to its colon: no line is broken at its
    commas."""
    parts, open_lambdas = [], 0
    for part in LAMBDA.split(flat):
        open_lambdas += part == "lambda"
        parts.append("_" * len(part) if open_lambdas else part)
        open_lambdas -= part == ":" and open_lambdas > 0
    return "".join(parts)


def _brackets(text: str) -> list[tuple[int, int]]:
    """Returns the start and stop of the insides of the outermost brackets, empty ones left out."""
    flat = _flat(text)
    starts = [position + 1 for position, char in enumerate(flat) if char in "([{"]
    stops = [position for position, char in enumerate(flat) if char in ")]}"]
    return [(start, stop) for start, stop in zip(starts, stops) if stop > start]


def _cuts(text: str) -> list[tuple[int, int]]:
    """Returns the places at which ``text`` is best broken. The blanks in them are dropped."""
    flat = _flat(text)
    first = CLAUSE if re.search(r"\bfor .+ in ", flat) else COMMA
    for pattern in (first, *LOOSEST):
        cuts = [match.span() for match in pattern.finditer(flat)]
        if cuts:
            return cuts
    return []


def filled(words: Sequence[str]) -> list[str]:
    """Returns lines of prose from ``words``, three blanks between them. A word is broken only if it
    is longer than a line."""
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH - 10:
            lines.append("")
        lines[-1] += ("   " if lines[-1] else "") + word
        lines[-1:] = textwrap.wrap(
            lines[-1], WIDTH - 2, break_on_hyphens=False, drop_whitespace=False
        )
    return [line.strip() for line in lines if line]
