"""Libraries on disk: the cache returns what was compiled from this text, or nothing."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autodiff_compiler.errors import InternalError
from autodiff_compiler.runtime.native import Compiler, CompilerRefused, NativeUnavailable
from autodiff_compiler.runtime.native import build as build_module
from autodiff_compiler.runtime.native.build import Library, build, library_key
from autodiff_compiler.runtime.native.toolchain import library_suffix

ANSWER = "int answer(void) { return 42; }\n"


def answer(library: Library) -> int:
    result: int = ctypes.CFUNCTYPE(ctypes.c_int)(library.address("answer"))()
    return result


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a context manager in which no compiler runs."""

    @contextmanager
    def without_compiler() -> Iterator[None]:
        def run(*arguments: Any) -> Any:
            raise AssertionError("it was compiled again")

        with monkeypatch.context() as patch:
            patch.setattr(build_module, "run_compiler", run)
            yield

    return without_compiler


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder, "native").iterdir())


def test_the_second_time_it_is_found(c_compiler: Compiler, folder: str, fails: Any) -> None:
    first = build(ANSWER, c_compiler, folder)
    assert answer(first) == 42 and not first.from_disk
    with fails():
        second = build(ANSWER, c_compiler, folder)
    assert answer(second) == 42 and second.from_disk and second.path == first.path
    key = library_key(ANSWER, c_compiler)
    digest = hashlib.sha256(first.path.read_bytes()).hexdigest()
    assert names(folder) == sorted([key, f"{digest}{library_suffix()}"])


def test_the_folder_may_be_relative(
    c_compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    library = build(ANSWER, c_compiler, "cache")
    assert answer(library) == 42 and library.path.is_relative_to(tmp_path / "cache")


def test_without_a_folder_nothing_is_stored(c_compiler: Compiler) -> None:
    first, second = build(ANSWER, c_compiler), build(ANSWER, c_compiler)
    assert not second.from_disk and first.path != second.path
    assert answer(first) == answer(second) == 42


def test_equal_texts_give_equal_files(c_compiler: Compiler, tmp_path: Path) -> None:
    paths = [build(ANSWER, c_compiler, str(tmp_path / name)).path for name in "ab"]
    assert paths[0].name == paths[1].name


def test_the_key_has_all_that_decides(
    c_compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keys() -> Iterator[str]:
        yield library_key(ANSWER, c_compiler)
        yield library_key(ANSWER + " ", c_compiler)
        yield library_key(ANSWER, replace(c_compiler, flags=(*c_compiler.flags, "-O1")))
        yield library_key(ANSWER, replace(c_compiler, version="another"))
        yield library_key(ANSWER, replace(c_compiler, command=(*c_compiler.command, "cc")))
        yield library_key(ANSWER, replace(c_compiler, options=("-g",)))
        with monkeypatch.context() as patch:
            patch.setattr(build_module, "__version__", "another")
            yield library_key(ANSWER, c_compiler)
        with monkeypatch.context() as patch:
            patch.setattr(f"{Compiler.__module__}.processor", lambda: "another")
            yield library_key(ANSWER, c_compiler)

    assert len({*keys()}) == 8


DAMAGE = {
    "cut": lambda content: content[:-20],
    "empty": lambda content: b"",
    "one bit": lambda content: content[:100] + bytes([content[100] ^ 1]) + content[101:],
    "longer": lambda content: content + b"\0",
    "foreign": lambda content: b"MZ",
}


@pytest.mark.parametrize("harm", DAMAGE)
def test_a_damaged_library_is_compiled_again(
    c_compiler: Compiler, folder: str, harm: str, fails: Any
) -> None:
    path = build(ANSWER, c_compiler, folder).path
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(DAMAGE[harm](content))
    again = build(ANSWER, c_compiler, folder)
    assert answer(again) == 42 and not again.from_disk
    assert path.read_bytes() == content
    with fails():
        assert build(ANSWER, c_compiler, folder).from_disk


def test_another_library_in_its_place_is_not_loaded(c_compiler: Compiler, folder: str) -> None:
    path = build(ANSWER, c_compiler, folder).path
    other = build(ANSWER.replace("42", "43"), c_compiler).path
    path.unlink()
    path.write_bytes(other.read_bytes())
    assert answer(build(ANSWER, c_compiler, folder)) == 42


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"0" * 64, b"../../x", b"a" * 5000, b"/", b"NUL\0"]
)
def test_a_damaged_entry_is_written_anew(
    c_compiler: Compiler, folder: str, content: bytes, fails: Any
) -> None:
    entry = build(ANSWER, c_compiler, folder).path.parent / library_key(ANSWER, c_compiler)
    before = entry.read_bytes()
    entry.write_bytes(content)
    assert answer(build(ANSWER, c_compiler, folder)) == 42
    assert entry.read_bytes() == before


def test_a_missing_library_is_compiled_again(c_compiler: Compiler, folder: str) -> None:
    path = build(ANSWER, c_compiler, folder).path
    path.unlink()
    assert answer(build(ANSWER, c_compiler, folder)) == 42
    assert path.exists()


def test_an_entry_that_is_a_folder_is_no_harm(c_compiler: Compiler, folder: str) -> None:
    Path(folder, "native", library_key(ANSWER, c_compiler), "x").mkdir(parents=True)
    with pytest.warns(UserWarning, match="cannot be cached"):
        assert answer(build(ANSWER, c_compiler, folder)) == 42


def test_a_folder_that_cannot_be_made_is_warned_of(c_compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="cannot be cached in .*file"):
        assert answer(build(ANSWER, c_compiler, str(tmp_path / "file" / "cache"))) == 42


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_read_only_folder_is_warned_of(
    c_compiler: Compiler, folder: str, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A user who may write anywhere, such as root, meets no read-only folder."""
    make = tempfile.mkstemp

    def refuse(*arguments: Any, dir: Any = None, **options: Any) -> Any:
        if str(dir).startswith(folder):
            raise OSError(code, os.strerror(code))
        return make(*arguments, dir=dir, **options)

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.warns(UserWarning, match=f"cannot be cached.*{os.strerror(code)}"):
        assert answer(build(ANSWER, c_compiler, folder)) == 42
    assert names(folder) == []


def test_a_read_only_folder_is_read(
    c_compiler: Compiler, folder: str, monkeypatch: pytest.MonkeyPatch, fails: Any
) -> None:
    build(ANSWER, c_compiler, folder)
    for path in [*Path(folder, "native").iterdir(), Path(folder, "native")]:
        path.chmod(0o555)
    try:
        with fails():
            assert answer(build(ANSWER, c_compiler, folder)) == 42
    finally:
        Path(folder, "native").chmod(0o755)


def test_a_full_disk_is_warned_of(
    c_compiler: Compiler, folder: str, monkeypatch: pytest.MonkeyPatch, fails: Any
) -> None:
    class Full:
        """A file on a disk with room for ten bytes."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, content: bytes) -> None:
            self.file.write(content[:10])
            raise OSError(errno.ENOSPC, "No space left on device")

    write = build_module.atomic_write

    @contextmanager
    def on_full_disk(path: Path) -> Iterator[Full]:
        with write(path) as file:
            yield Full(file)

    with monkeypatch.context() as patch:
        patch.setattr(build_module, "atomic_write", on_full_disk)
        with pytest.warns(UserWarning, match="No space left"):
            assert answer(build(ANSWER, c_compiler, folder)) == 42
        assert names(folder) == []
    assert answer(build(ANSWER, c_compiler, folder)) == 42
    with fails():
        assert build(ANSWER, c_compiler, folder).from_disk


def test_a_folder_without_execution_is_no_harm(
    c_compiler: Compiler, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = ctypes.PyDLL

    def refuse(path: str) -> Any:
        if path.startswith(folder):
            raise OSError("failed to map segment from shared object")
        return load(path)

    monkeypatch.setattr(ctypes, "PyDLL", refuse)
    for _ in range(2):
        assert answer(build(ANSWER, c_compiler, folder)) == 42


def test_a_library_that_cannot_be_loaded_is_an_error(
    c_compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> Any:
        raise OSError("no")

    monkeypatch.setattr(ctypes, "PyDLL", refuse)
    with pytest.raises(NativeUnavailable, match="cannot be loaded: no"):
        build(ANSWER, c_compiler)


def test_threads_write_at_once(c_compiler: Compiler, folder: str, fails: Any) -> None:
    with ThreadPoolExecutor(6) as pool:
        libraries = [*pool.map(lambda _: build(ANSWER, c_compiler, folder), range(6))]
    assert [*map(answer, libraries)] == [42] * 6
    with fails():
        assert answer(build(ANSWER, c_compiler, folder)) == 42
    assert len(names(folder)) == 2


#: A process that builds, and may be killed when it has written so many files.
PROCESS = """\
    import os, signal, sys
    from autodiff_compiler.runtime.native import build as module, find_compiler
    from autodiff_compiler.common.files import atomic_files

    folder, count = sys.argv[1], int(sys.argv[2])
    rename = os.replace

    def replace(*paths):
        global count
        count -= 1
        if not count:
            os._exit(9)
        rename(*paths)

    compiler = find_compiler()
    os.replace = replace
    library = module.build({text!r}, compiler, folder)
    print(library.from_disk, library.path.parent.parent.parent)
"""


def start(folder: str, count: int = 0) -> subprocess.Popen[str]:
    code = textwrap.dedent(PROCESS).format(text=ANSWER)
    command = [sys.executable, "-c", code, folder, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("count", [1, 2])
def test_a_killed_process_leaves_no_harm(
    c_compiler: Compiler, folder: str, count: int, fails: Any
) -> None:
    with start(folder, count) as process:
        assert process.wait() == 9
    library = build(ANSWER, c_compiler, folder)
    assert answer(library) == 42 and not library.from_disk
    with fails():
        assert build(ANSWER, c_compiler, folder).from_disk


@pytest.mark.thorough
def test_processes_write_at_once(c_compiler: Compiler, folder: str, fails: Any) -> None:
    processes = [start(folder) for _ in range(3)]
    for process in processes:
        with process:
            assert process.wait() == 0
    with fails():
        assert answer(build(ANSWER, c_compiler, folder)) == 42
    assert len(names(folder)) == 2


def test_faults_of_the_text_are_reported(c_compiler: Compiler, folder: str) -> None:
    with pytest.raises(CompilerRefused, match="undeclared_name") as caught:
        build("int answer(void) { return undeclared_name; }", c_compiler, folder)
    error = caught.value
    assert isinstance(error, InternalError) and "undeclared_name" in error.stderr
    assert error.text.startswith("int answer") and error.command[-1] == "gradient.c"
    assert "this is a bug in autodiff_compiler" in str(error)
    assert not Path(folder).exists()


def test_faults_of_the_compiler_are_no_faults_of_the_text(c_compiler: Compiler) -> None:
    for command in [("/nowhere/cc",), (sys.executable, "-c", "raise SystemExit('disk full')")]:
        with pytest.raises(NativeUnavailable, match="C compiler"):
            build(ANSWER, replace(c_compiler, command=command))
    killed = (sys.executable, "-c", "import os; os.abort()")
    with pytest.raises(NativeUnavailable, match="C compiler"):
        build(ANSWER, replace(c_compiler, command=killed))


def test_a_missing_function_is_an_error(c_compiler: Compiler) -> None:
    with pytest.raises(NativeUnavailable, match="no function other"):
        build(ANSWER, c_compiler).address("other")


@pytest.mark.skipif(sys.platform != "linux", reason="reads the map of the memory")
def test_libraries_are_unloaded(c_compiler: Compiler) -> None:
    library = build(ANSWER, c_compiler)
    path = str(library.path)
    assert path in Path("/proc/self/maps").read_text()
    del library
    assert path not in Path("/proc/self/maps").read_text()
