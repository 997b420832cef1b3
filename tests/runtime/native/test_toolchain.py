"""The compiler that is found: the order, the flags, and the reason if there is none."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from autodiff_compiler.runtime.native import Compiler, NativeUnavailable, find_compiler, toolchain

Patch = pytest.MonkeyPatch
#: PATH outside of the tests.
PROGRAMS = os.environ.get("PATH", "")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="compilers are shell scripts here")


@pytest.fixture
def machine(monkeypatch: Patch, tmp_path: Path) -> Path:
    """A machine without any compiler. Returns the only folder on PATH, which is empty."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    toolchain._find.cache_clear()
    return tmp_path


@pytest.fixture(autouse=True, scope="module")
def forget() -> Any:
    yield
    toolchain._find.cache_clear()


def install(folder: Path, name: str, compiler: Compiler, lines: str = "") -> Path:
    """Writes a compiler that runs ``lines`` of shell, and then the real one."""
    path = folder / name
    real = shlex.join(compiler.command)
    programs = shlex.quote(PROGRAMS)  # the real one starts others
    path.write_text(
        f'#!/bin/sh\necho "$@" >> "{path}.log"\n{lines}\nPATH={programs} exec {real} "$@"\n'
    )
    path.chmod(0o755)
    return path


def runs(path: Path) -> list[str]:
    """Returns the arguments of each run of an installed compiler."""
    log = Path(f"{path}.log")
    return log.read_text().splitlines() if log.exists() else []


def test_without_a_compiler_the_reason_is_given(machine: Path) -> None:
    with pytest.raises(NativeUnavailable, match="no cc, clang or gcc on PATH, and no ziglang"):
        find_compiler()


@pytest.mark.parametrize("names", [["cc", "clang", "gcc"], ["clang", "gcc"], ["gcc"]])
def test_the_first_name_on_path_is_taken(
    machine: Path, c_compiler: Compiler, names: list[str]
) -> None:
    for name in names:
        install(machine, name, c_compiler)
    assert find_compiler().command == (str(machine / names[0]),)


def test_one_that_does_not_work_is_passed_over(machine: Path, c_compiler: Compiler) -> None:
    install(machine, "cc", c_compiler, "exit 1")
    install(machine, "clang", c_compiler, 'case "$*" in *probe.c*) exit 1;; esac')
    install(machine, "gcc", c_compiler)
    assert find_compiler().command == (str(machine / "gcc"),)


def test_if_none_works_each_reason_is_given(machine: Path, c_compiler: Compiler) -> None:
    install(machine, "cc", c_compiler, "echo no licence >&2; exit 1")
    install(machine, "gcc", c_compiler, "echo no disk >&2; exit 1")
    with pytest.raises(NativeUnavailable, match="(?s)cc: no licence.*gcc: no disk"):
        find_compiler()


def test_the_setting_wins_and_may_have_arguments(
    machine: Path, c_compiler: Compiler, monkeypatch: Patch
) -> None:
    install(machine, "cc", c_compiler)
    mine = install(machine, "my compiler", c_compiler)
    monkeypatch.setenv("CC", f"'{mine}' -DONE='two words'")
    compiler = find_compiler()
    assert compiler.command == (str(mine),) and compiler.options == ("-DONE=two words",)
    assert runs(mine)[-1].split(" -o ")[0].endswith(" -DONE=two words")
    assert not runs(machine / "cc")
    monkeypatch.setenv("CC", "  ")
    assert find_compiler().command == (str(machine / "cc"),)


def test_the_setting_may_be_a_name_on_path(
    machine: Path, c_compiler: Compiler, monkeypatch: Patch
) -> None:
    mine = install(machine, "mine", c_compiler)
    monkeypatch.setenv("CC", "mine")
    assert find_compiler().command == (str(mine),)


@pytest.mark.parametrize("setting", ["/nowhere/cc", "'open quote", "true", "nowhere; touch mark"])
def test_a_wrong_setting_is_an_error(
    machine: Path, c_compiler: Compiler, monkeypatch: Patch, setting: str
) -> None:
    """No other compiler is taken instead, and no shell reads the setting."""
    install(machine, "cc", c_compiler)
    monkeypatch.chdir(machine)
    monkeypatch.setenv("CC", setting)
    with pytest.raises(NativeUnavailable, match=r"\$CC"):
        find_compiler()
    assert not Path("mark").exists() and not runs(machine / "cc")


def test_gcc_computes_a_choice_once(c_compiler: Compiler) -> None:
    """By itself it computes what follows a choice for each constant side, and selects then."""
    assert c_compiler.kind != "gcc" or "-fno-thread-jumps" in c_compiler.flags


@pytest.mark.parametrize("refused", ["-mprefer-vector-width=512", "-nostdlib", "-fopenmp-simd"])
def test_flags_that_are_refused_are_left_out(
    machine: Path, c_compiler: Compiler, refused: str
) -> None:
    install(machine, "cc", c_compiler, f'case "$*" in *{refused}*) exit 1;; esac')
    assert {*find_compiler().flags} == {*c_compiler.flags} - {refused}


def test_flags_have_alternatives(machine: Path, c_compiler: Compiler, monkeypatch: Patch) -> None:
    install(machine, "cc", c_compiler, 'case "$*" in *-fno-plt*) exit 1;; esac')
    choices = (("-fPIC",), ("-fno-plt", "-fno-common", "-fno-ident"), ("--no-such-flag",))
    monkeypatch.setattr(toolchain, "WANTED", choices)
    assert find_compiler().flags == (*toolchain.REQUIRED, "-fPIC", "-fno-common")


def test_no_flag_changes_results(c_compiler: Compiler) -> None:
    assert not [flag for flag in c_compiler.flags if "fast-math" in flag or "unsafe" in flag]


def test_it_is_asked_once(machine: Path, c_compiler: Compiler) -> None:
    mine = install(machine, "cc", c_compiler)
    find_compiler()
    count = len(runs(mine))
    find_compiler()
    assert count == len(runs(mine)) == 2  # the version and the probe


def test_later_processes_ask_the_folder(machine: Path, c_compiler: Compiler) -> None:
    mine, folder = install(machine, "cc", c_compiler), str(machine / "cache")
    first = find_compiler(folder)
    count = len(runs(mine))
    toolchain._find.cache_clear()
    assert find_compiler(folder) == first and len(runs(mine)) == count
    (facts,) = (machine / "cache" / "native").iterdir()
    intact = facts.read_bytes()
    body = intact.partition(b"\n")[2]
    damaged = [b"", b"[]", b"{}", b"\0", body, intact[:-1], intact.replace(b"-O3", b"-O1")]
    for content in damaged:
        facts.write_bytes(content)
        toolchain._find.cache_clear()
        assert find_compiler(folder) == first
    assert len(runs(mine)) == 8 * count
    mine.write_text(mine.read_text() + "\n# another compiler")
    toolchain._find.cache_clear()
    assert find_compiler(folder) == first and len(runs(mine)) == 9 * count


def test_a_folder_that_cannot_be_written_is_no_harm(machine: Path, c_compiler: Compiler) -> None:
    install(machine, "cc", c_compiler)
    (machine / "file").write_text("")
    assert find_compiler(str(machine / "file")).command == (str(machine / "cc"),)


def test_the_package_is_the_last_resort(
    machine: Path, c_compiler: Compiler, monkeypatch: Patch
) -> None:
    """``python -m ziglang cc`` is started, here a package that calls the real compiler."""
    (machine / "ziglang").mkdir()
    (machine / "ziglang" / "__main__.py").write_text(
        textwrap.dedent(f"""\
            import os, subprocess, sys

            assert sys.argv[1] == "cc"
            os.environ["PATH"] = {PROGRAMS!r}
            command = [*{c_compiler.command!r}, *sys.argv[2:]]
            sys.exit(subprocess.run(command).returncode)
            """)
    )
    monkeypatch.setenv("PYTHONPATH", str(machine))
    monkeypatch.setattr(toolchain, "find_spec", lambda name: name == "ziglang" or None)
    compiler = find_compiler()
    assert compiler.command == (sys.executable, "-m", "ziglang", "cc") and compiler.kind == "zig"
    install(machine, "cc", c_compiler)
    toolchain._find.cache_clear()
    assert find_compiler().command == (str(machine / "cc"),)


def test_a_compiler_describes_itself(c_compiler: Compiler) -> None:
    assert c_compiler.command[0] in c_compiler.describe() and c_compiler.version
