"""The cache of generated source on disk, for the next process that compiles the same program.

The key is a fingerprint of the IR that the source was printed from, with the request and
``versions``. The front end has run by then, so a stale record cannot be found. The guards
that the front end made are not stored.

A file is written as a whole and never changed, so processes may share a folder. A damaged file, or
one of another format, counts as missing and is written again. The source in a file is executed: no
other user may have write access to the folder.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from autodiff_compiler.common.files.checked_files import read_checked, write_checked
from autodiff_compiler.interface.compiled import GeneratedText, parse_type
from autodiff_compiler.runtime.late_imports import imported_late
from autodiff_compiler.span import Span

FORMAT = 2
_DESCRIPTIONS = "autodiff_compiler.runtime.native.description"
stored_descriptions = imported_late(_DESCRIPTIONS, "stored_descriptions")
read_descriptions = imported_late(_DESCRIPTIONS, "read_descriptions")


def cached_on_disk(folder: str, key: str, make: Callable[[], GeneratedText]) -> GeneratedText:
    """Returns the source that an earlier process stored in ``folder`` under ``key``, or ``make()``,
    which is then stored.

    A file that cannot be read counts as missing. A folder that cannot be written to is warned of.
    """
    path = Path(folder) / f"{key}.json"
    with suppress(Exception):  # it holds no record of this format
        return replace(_read(path), from_disk=True)
    text = make()
    try:
        write_checked(path, _written(text))
    except (OSError, ValueError) as error:
        warnings.warn(f"compiled code cannot be cached in {folder}: {error}", stacklevel=2)
    return text


@functools.cache
def versions() -> tuple[Any, ...]:
    """Returns the inputs of the compiler besides the program: Python, NumPy, and the files of this
    package, which may be under development."""
    files = sorted(stamps(os.path.dirname(os.path.dirname(__file__))))
    return FORMAT, sys.version, np.__version__, hashlib.sha256(repr(files).encode()).hexdigest()


def stamps(folder: str, prefix: str = "") -> Iterator[tuple[str, int, int]]:
    """Yields path, size and time of change of each Python file below a folder.

    A path is relative to the folder, so that a copy of the package has the same ones. ``prefix``
    comes before it.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                yield from stamps(entry.path, f"{prefix}{entry.name}/")
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield prefix + entry.name, status.st_size, status.st_mtime_ns


def _written(text: GeneratedText) -> bytes:
    """Returns generated source and its facts as JSON."""
    record = asdict(replace(text, native=()))
    if text.native:
        record["native"] = stored_descriptions(text.native)
    record["output"], record["donated"] = str(text.output), sorted(text.donated)
    record["work_arrays"] = [
        [(allocation, str(type_)) for allocation, type_ in arrays] for arrays in text.work_arrays
    ]
    return json.dumps(record).encode()


def _read(path: Path) -> GeneratedText:
    """Returns the record in a file; raises an exception if it is missing or damaged."""
    record = json.loads(read_checked(path))
    spans = {int(line): Span(**span) for line, span in record["line_map"].items()}
    work_arrays = (
        tuple((k, parse_type(text)) for k, text in arrays) for arrays in record["work_arrays"]
    )
    record |= {
        "output": parse_type(record["output"]),
        "line_map": spans,
        "work_arrays": tuple(work_arrays),
        "unconnected": tuple(record["unconnected"]),
        "allocations": tuple(record["allocations"]),
        "donated": frozenset(record["donated"]),
        "native": read_descriptions(record["native"]) if record["native"] else (),
    }
    return GeneratedText(**record)


__all__ = ["cached_on_disk", "stamps", "versions"]
