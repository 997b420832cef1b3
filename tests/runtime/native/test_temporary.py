"""The temporary folder: it is private, where libraries can be loaded, and removed at exit."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from autodiff_compiler.runtime.native import Compiler, temporary
from autodiff_compiler.runtime.native.temporary import new_folder, remove_folder


def test_folders_are_new_and_empty() -> None:
    first, second = new_folder(), new_folder()
    assert first != second and first.parent == second.parent
    assert not [*first.iterdir()]
    if os.name == "posix":
        assert first.parent.stat().st_mode & 0o077 == 0
    remove_folder(first)
    assert not first.exists() and second.exists()
    remove_folder(first)  # once more is no harm


def test_one_that_was_removed_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_FOLDERS", {})
    parent = new_folder().parent
    remove_folder(parent)
    folder = new_folder()
    assert folder.exists() and folder.parent != parent
    remove_folder(folder.parent)


def test_it_is_where_libraries_can_be_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(temporary, "_FOLDERS", {})
    monkeypatch.setattr(temporary, "_parents", lambda: iter(["/nowhere", str(tmp_path)]))
    assert new_folder().parent.parent == tmp_path
    monkeypatch.setattr(temporary, "_FOLDERS", {})
    monkeypatch.setattr(temporary, "_can_execute", lambda folder: False)
    assert new_folder().parent.parent == Path(tempfile.gettempdir())


@pytest.mark.skipif(not hasattr(os, "ST_NOEXEC"), reason="the system does not say")
def test_the_system_says_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Status:
        f_flag = os.ST_NOEXEC | 2

    assert temporary._can_execute(str(tmp_path))
    monkeypatch.setattr(os, "statvfs", lambda folder: Status)
    assert not temporary._can_execute(str(tmp_path))


TEMPORARY = """\
    import os, sys
    from autodiff_compiler.runtime.native import build as module, find_compiler

    library = module.build({text!r}, find_compiler())
    if hasattr(os, "fork"):
        child = os.fork()
        if not child:
            sys.exit(0)  # runs what is registered for the exit
        os.waitpid(child, 0)
    assert library.path.exists()
    module.build({text!r}, find_compiler())
    print(library.path.parent.parent)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a loaded library cannot be removed")
def test_the_temporary_folder_is_removed(c_compiler: Compiler) -> None:
    code = textwrap.dedent(TEMPORARY).format(text="int answer(void) { return 42; }")
    command = [sys.executable, "-W", "ignore", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    path = Path(result.stdout.strip())
    assert path.name.startswith("autodiff-native-") and not path.exists()
