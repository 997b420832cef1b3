"""Atomic replacement of files: a reader sees the old content or the new, never a part of it."""

from __future__ import annotations

__macro__ = True

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a temporary file for bytes, which replaces ``path`` when the block has ended.

    The file gets the permissions of any new file. After an exception ``path`` is unchanged.
    """
    path = os.fspath(path)
    try:
        handle, beside = tempfile.mkstemp(dir=os.path.dirname(path) or ".", suffix=".part")
    except OSError as error:
        error.filename = path  # the caller does not know the temporary name
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(beside, 0o666 & ~mask)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


__all__ = ["atomic_write"]
