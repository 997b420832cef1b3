"""The header of a C file: what a caller of its functions has to know."""

from __future__ import annotations

from collections.abc import Sequence

from autodiff_compiler.emit.c.signature import Port, Signature, in_comment, macro_name, wrapped
from autodiff_compiler.emit.c.source import SERVICES

_HEAD = """\
/* The functions of {stem}.c.

   Arrays are contiguous, in C order. Outputs overlap no other array. A function returns 0, or the
   number of an error; the outputs are undefined then. It keeps no state: several threads may call
   it at once, each with its own outputs, services and workspace.
*/
#ifndef {macro}_H
#define {macro}_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
"""
_WORKSPACE = """\
/* the bytes of the workspace, whose address is a multiple of 64 */
#define {macro}_WORKSPACE_BYTES {bytes}
"""
_SERVICES = """\
#ifndef AUTODIFF_SERVICES
#define AUTODIFF_SERVICES
/* What the functions ask of their caller. Those that are not used may be NULL.

   reallocate   enlarges memory, which is NULL at first, as realloc does. It returns NULL if there
                is none. The functions release nothing: the caller does, when they have returned.
   product_f32  c = alpha a @ b + beta c, as cblas_sgemm for rows; product_f64 as cblas_dgemm. If
   product_f64  it is NULL, the functions multiply themselves.
   poll         is called now and then in a long loop, if it is not NULL. If it does not return 0,
                the function ends at once and returns 2.
   details      has room for 4 numbers. An error leaves those of its message there: an integer as
                it is, a float by its bits as a double.
*/
"""
_FOOT = """\
#ifdef __cplusplus
}
#endif

#endif
"""


def header_text(stem: str, signatures: Sequence[Signature]) -> str:
    """Returns the text of the header of the file ``stem``.c."""
    macro = macro_name(stem)
    entries = [each.entry for each in signatures]
    workspace = max(each.workspace for each in entries)
    services = any(each.services for each in entries)
    parts = [_HEAD.format(stem=stem, macro=macro), _WORKSPACE.format(macro=macro, bytes=workspace)]
    if services:
        parts.append(f"{_SERVICES}{SERVICES}#endif\n")
    parts += map(_declaration, signatures)
    return "\n".join([*parts, _FOOT])


def _declaration(function: Signature) -> str:
    """Returns the declaration of a function, after a comment with all that it takes."""
    lines = [f"/* {in_comment(function.title)}", ""]
    lines += [f"   {line}" for line in _rows([_row(port) for port in function.ports])]
    if errors := function.all_errors:
        lines += ["", "   errors:"]
        lines += [f"   {number:>3}  {in_comment(message)}" for number, message in errors]
    lines.append("*/")
    lines += wrapped(f"int32_t {function.entry.name}(", function.declarations, ");", indent=4)
    return "\n".join([*lines, ""])


def _row(port: Port) -> tuple[str, str, str, str]:
    direction = "out" if port.parameter.is_output else "in"
    return port.name, direction, port.type, in_comment(port.role)


def _rows(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Returns the lines of a table with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


__all__ = ["header_text"]
