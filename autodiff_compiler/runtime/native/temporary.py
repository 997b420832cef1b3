"""The temporary folder of this process, for compiled libraries and for probes of compilers."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

_LOCK = threading.Lock()
#: The folder of a process, by the number of the process: a forked one has another.
_FOLDERS: dict[int, str] = {}


def new_folder() -> Path:
    """Returns a new empty folder that no other process uses. It is removed at exit."""
    process = os.getpid()
    with _LOCK:
        folder = _FOLDERS.get(process)
        if folder is None or not os.path.isdir(folder):
            parent = next((each for each in _parents() if _can_execute(each)), None)
            folder = tempfile.mkdtemp(prefix="autodiff-native-", dir=parent)
            _FOLDERS[process] = folder
    return Path(tempfile.mkdtemp(dir=folder))


def _parents() -> Iterator[str]:
    """Yields the folders where a temporary folder may be."""
    yield tempfile.gettempdir()
    yield os.path.join(os.path.expanduser("~"), ".cache")


def _can_execute(folder: str) -> bool:
    """True if libraries in a folder can be loaded, as far as the system says."""
    try:
        flags = os.statvfs(folder).f_flag
    except (AttributeError, OSError):  # not on Windows
        return os.path.isdir(folder)
    return not flags & getattr(os, "ST_NOEXEC", 0)


def remove_folder(folder: str | os.PathLike[str]) -> None:
    """Removes a folder and its files. A file that is in use may stay, on Windows."""
    shutil.rmtree(folder, ignore_errors=True)


@atexit.register
def _remove_folder_of_process() -> None:
    """Removes the folder of this process. An inherited folder belongs to its parent."""
    folder = _FOLDERS.pop(os.getpid(), None)
    if folder is not None:
        remove_folder(folder)


__all__ = ["new_folder", "remove_folder"]
