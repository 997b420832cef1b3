"""Finished text on disk, for the next process that compiles the same.

What is kept is found by the digest of the IR that it was printed from, with whatever else decides:
the request, and ``versions``. The front end has run by then, so that nothing stale can be found;
what it found out about the world is not kept.

A file is written whole and never changed, so that processes may share a folder. One that is
damaged, or of another format, is as good as none and is written anew. Its text is run: a folder
must be one that nobody else may write to.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from autodiff_compiler.common.files.atomic_files import written_whole
from autodiff_compiler.interface import GeneratedText, parse_type
from autodiff_compiler.span import Span

FORMAT = 1


def kept_on_disk(folder: str, key: str, make: Callable[[], GeneratedText]) -> GeneratedText:
    """``make()``, or what an earlier process made under the same ``key`` and left in ``folder``.

    A file that cannot be read is as good as none. A folder that cannot be written to is warned of.
    """
    path = Path(folder) / f"{key}.json"
    try:
        found = _read(path)
    except Exception:  # whatever is in it, it is no record of this format
        found = None
    if found is not None:
        return replace(found, from_disk=True)
    made = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as file:
            file.write(_written(made))
    except (OSError, ValueError) as error:
        warnings.warn(f"compiled code cannot be cached in {folder}: {error}", stacklevel=2)
    return made


@functools.cache
def versions() -> tuple[Any, ...]:
    """What decides over the text besides the program: this package as it stands on disk, for it
    may be under development; Python; NumPy."""
    package = Path(__file__).parent.parent
    files = sorted(package.rglob("*.py"))
    stamps = [(str(f.relative_to(package)), *_stamp(os.stat(f))) for f in files]
    return FORMAT, sys.version, np.__version__, stamps


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _written(made: GeneratedText) -> bytes:
    """A line with the check sum of the rest, and the record as JSON."""
    record = asdict(made)
    record["output"], record["given"] = str(made.output), sorted(made.given)
    record["lent"] = [[(block, str(type_)) for block, type_ in half] for half in made.lent]
    body = json.dumps(record).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _read(path: Path) -> GeneratedText | None:
    """The record in a file; None where there is none, or none that is whole."""
    try:
        told, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(body).hexdigest().encode() != told:
        return None
    record = json.loads(body)
    spans = {int(line): Span(**span) for line, span in record["line_map"].items()}
    lent = (tuple((k, parse_type(text)) for k, text in half) for half in record["lent"])
    return GeneratedText(**{
        **record,
        "output": parse_type(record["output"]), "line_map": spans, "lent": tuple(lent),
        "unconnected": tuple(record["unconnected"]), "work": tuple(record["work"]),
        "given": frozenset(record["given"]),
    })  # fmt: skip


__all__ = ["kept_on_disk", "versions"]
