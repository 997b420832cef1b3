"""Files that are written whole: who reads one sees the old text or the new, never half of it."""

from __future__ import annotations

__macro__ = True

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write bytes to, which takes the place of ``path`` at the end, with the rights of
    any new file. If anything goes wrong, what was at ``path`` stays."""
    path = os.fspath(path)
    try:
        handle, beside = tempfile.mkstemp(dir=os.path.dirname(path) or ".", suffix=".part")
    except OSError as error:
        error.filename = path  # the caller knows no other
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


__all__ = ["written_whole"]
