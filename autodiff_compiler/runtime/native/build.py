"""From C text to a loaded library.

A library is compiled in a temporary folder of this process. With a cache folder it is stored there
for later processes, in two files. The library's file is named after the digest of its bytes. The
other file contains this digest, and is named after the key. The key is made of all that decides the
bytes. Both are written under temporary names and renamed, so processes may share a folder without
locks. A library whose digest differs is not loaded but compiled again.

A loaded library is executed: no other user may have write access to the folder.
"""

from __future__ import annotations

import _ctypes
import ctypes
import hashlib
import json
import warnings
import weakref
from contextlib import suppress
from pathlib import Path

from autodiff_compiler.common.files.atomic_files import atomic_write
from autodiff_compiler.runtime.native.errors import CompilerRefused, NativeUnavailable
from autodiff_compiler.runtime.native.temporary import new_folder, remove_folder
from autodiff_compiler.runtime.native.toolchain import Compiler, library_suffix, run_compiler
from autodiff_compiler.version import __version__

_FORMAT = "native 1"
_SOURCE = "gradient.c"


class Library:
    """A loaded library. It is unloaded with this object, so each callable must hold it.

    path         the file that was loaded.
    from_disk    True if an earlier process compiled it.
    """

    __slots__ = ("__weakref__", "from_disk", "loaded", "path")

    def __init__(self, path: Path, from_disk: bool = False):
        self.path, self.from_disk = path, from_disk
        self.loaded = ctypes.PyDLL(str(path))
        weakref.finalize(self, _unload, self.loaded._handle).atexit = False

    def address(self, name: str) -> int:
        """Returns the address of a function; raises NativeUnavailable if there is none."""
        try:
            return ctypes.cast(self.loaded[name], ctypes.c_void_p).value or 0
        except AttributeError:
            raise NativeUnavailable(f"the compiled library has no function {name}") from None


def _unload(handle: int) -> None:
    """Unloads a library."""
    unload = getattr(_ctypes, "dlclose", None) or getattr(_ctypes, "FreeLibrary", None)
    if unload is not None:
        unload(handle)


def build(text: str, compiler: Compiler, folder: str | None = None) -> Library:
    """Returns the loaded library of a C text. ``folder`` is the cache folder, if there is one.

    Raises CompilerRefused if the compiler finds faults in the text. Raises NativeUnavailable if it
    cannot run, write its result or load it.
    """
    cache = Path(folder).absolute() / "native" if folder else None
    name = library_key(text, compiler)
    if cache is not None and (stored := _stored(cache, name)) is not None:
        with suppress(OSError):  # such as a folder that is mounted without execution
            return Library(stored, from_disk=True)
    path = _compiled(text, compiler)
    if cache is not None:
        try:
            stored = _store(cache, name, path)
        except OSError as error:
            warnings.warn(f"compiled code cannot be cached in {folder}: {error}", stacklevel=2)
        else:
            with suppress(OSError):
                library = Library(stored)
                remove_folder(path.parent)
                return library
    try:
        return Library(path)
    except OSError as error:
        raise NativeUnavailable(f"the compiled library cannot be loaded: {error}") from error


def library_key(text: str, compiler: Compiler) -> str:
    """Returns the name of the cache entry of a C text: a digest of all that decides the library."""
    parts = [_FORMAT, __version__, object.__basicsize__, compiler.key, text]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _stored(cache: Path, name: str) -> Path | None:
    """Returns the library that the cache has under ``name``, or None if that is missing or
    damaged."""
    try:
        digest = (cache / name).read_text(encoding="ascii").strip()
        path = _library_path(cache, digest)
    except (OSError, ValueError):
        return None
    return path if _is_intact(path, digest) else None


def _is_intact(path: Path, digest: str) -> bool:
    """True if the file exists and has this digest."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _store(cache: Path, name: str, path: Path) -> Path:
    """Copies a library into the cache. Returns the copy."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    stored = _library_path(cache, digest)
    cache.mkdir(parents=True, exist_ok=True)
    if not _is_intact(stored, digest):  # a loaded library cannot be replaced on Windows
        with atomic_write(stored) as file:
            file.write(content)
    with atomic_write(cache / name) as file:
        file.write(digest.encode("ascii"))
    return stored


def _library_path(cache: Path, digest: str) -> Path:
    if not digest.isalnum():
        raise ValueError(f"a digest consists of letters and digits, but got {digest!r}")
    return cache / f"{digest}{library_suffix()}"


def _compiled(text: str, compiler: Compiler) -> Path:
    """Compiles a C text in a new folder. Returns the library.

    Names are relative and always the same, so that equal sources give equal libraries.
    """
    try:
        folder = new_folder()
        library = f"gradient{library_suffix()}"
        command = compiler.library_command(library, _SOURCE)
        (folder / _SOURCE).write_text(text, encoding="utf-8")
        answer = run_compiler(command, folder)
    except OSError as error:
        raise NativeUnavailable(f"the C compiler cannot be run: {error}") from error
    if answer.returncode == 0 and (folder / library).exists():
        return folder / library
    remove_folder(folder)
    if f"{_SOURCE}:" in answer.stderr and ": error: " in answer.stderr:
        raise CompilerRefused(command, text, answer.stderr)
    reason = answer.stderr.strip() or f"it ends with code {answer.returncode}"
    raise NativeUnavailable(f"the C compiler fails: {reason}")


__all__ = ["Library", "build", "library_key"]
