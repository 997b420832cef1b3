"""Files with a checksum in their first line: a damaged file is never taken for an intact one."""

from __future__ import annotations

__macro__ = True

import hashlib
from pathlib import Path

from autodiff_compiler.common.files.atomic_files import atomic_write


def write_checked(path: Path, body: bytes) -> None:
    """Writes a file as a whole, and its folder if that is missing; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(_checksum(body) + b"\n" + body)


def read_checked(path: Path) -> bytes:
    """Returns what ``write_checked`` wrote.

    Raises ValueError if the file is damaged or another one, and OSError if it cannot be read.
    """
    checksum, _, body = path.read_bytes().partition(b"\n")
    if checksum != _checksum(body):
        raise ValueError(f"the checksum of {path} is wrong")
    return body


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


__all__ = ["read_checked", "write_checked"]
