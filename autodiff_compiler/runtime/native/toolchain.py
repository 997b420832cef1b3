"""The C compiler of this machine: which one there is, and the flags that it accepts.

The compiler is $CC, else the first of cc, clang and gcc that works. If none does, it is the one in
the package ``ziglang``. It works if it makes a library of a short probe that can be loaded.
Compilers are started without a shell.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from autodiff_compiler.common.files.checked_files import read_checked, write_checked
from autodiff_compiler.runtime.native.errors import NativeUnavailable
from autodiff_compiler.runtime.native.processor import processor
from autodiff_compiler.runtime.native.temporary import new_folder, remove_folder

#: The flags that every compiler must accept.
REQUIRED = ("-std=gnu11", "-O3", "-shared")
#: For each further flag its alternatives; the first that is accepted is used, or none.
#: ``-ffast-math`` is not among them: it changes results.
WANTED: tuple[tuple[str, ...], ...] = (
    ("-fPIC",),
    ("-march=native", "-mcpu=native"),
    ("-mprefer-vector-width=512",),
    ("-fno-math-errno",),
    ("-fno-trapping-math",),
    ("-fno-thread-jumps",),  # gcc computes a choice twice if one of its sides is a constant
    ("-fopenmp-simd",),
    ("-ffreestanding",),
    ("-nostdlib",),
    ("-g0",),  # no paths in the library
    ("-Wl,-Bsymbolic",),  # a function with a name of the system's library calls itself
)
#: All that printed files may use of a compiler: vectors, a copy of memory, and a large frame.
PROBE = """\
typedef float Vector __attribute__((vector_size(32)));
typedef struct { double items[4096]; } Large;
void copy(Large *to, const Large *from);
void copy(Large *to, const Large *from) {
    volatile Large large = *from;
    *to = large;
}
double probe(double x, const Vector *a) {
    int result = 0;
    __atomic_exchange_n(&result, 1, __ATOMIC_ACQ_REL);
    return __builtin_sqrt(x) + (a ? (*a + *a)[0] : 0.0) + result;
}
"""
#: The names to look for on PATH.
NAMES = ("cc", "clang", "gcc")
#: Counts up when the contents of the file of a compiler change.
_FACTS = "compiler 2"


@dataclass(frozen=True)
class Compiler:
    """A C compiler that works.

    command   the program and its first arguments.
    kind      gcc, clang, zig or other.
    version   what it says about its version.
    flags     the flags for a library, without the names of files.
    options   the options in $CC. They stand behind the flags, so that they win.
    """

    command: tuple[str, ...]
    kind: str
    version: str
    flags: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """All that decides the machine code, besides the C text."""
        arguments = self.command[1:], self.flags, self.options
        return json.dumps([self.kind, self.version, arguments, processor()])

    def library_command(self, library: str, source: str) -> list[str]:
        """Returns the command that compiles a file as a library."""
        return [*self.command, *self.flags, *self.options, "-o", library, source]

    def describe(self) -> str:
        """Returns the first line of the version and the command, for people."""
        return f"{self.version.splitlines()[0]} ({shlex.join(self.command)})"


def library_suffix() -> str:
    """Returns the ending of the names of libraries."""
    return {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def run_compiler(command: Sequence[str], folder: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a compiler in ``folder``, without a shell and with messages in English."""
    environment = {**os.environ, "LC_ALL": "C"}
    if not os.access(os.path.expanduser("~"), os.W_OK):  # zig keeps a cache there
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(folder))
    environment.setdefault("ZIG_LOCAL_CACHE_DIR", str(folder))
    return subprocess.run(
        [*command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )


def find_compiler(folder: str | None = None) -> Compiler:
    """Returns the C compiler of this machine; raises NativeUnavailable if there is none.

    The facts about a compiler are stored in ``folder`` for later processes.
    """
    compiler = _find(os.environ.get("CC", ""), os.environ.get("PATH", ""), folder)
    if isinstance(compiler, str):
        raise NativeUnavailable(compiler)
    return compiler


@functools.lru_cache(8)
def _find(setting: str, path: str, folder: str | None) -> Compiler | str:
    """Returns the compiler, or the reason why there is none."""
    reasons = []
    try:
        commands = [*_candidates(setting)]
    except ValueError as error:
        return f"$CC cannot be read: {error}"
    for command, options in commands:
        try:
            return _examine(command, options, folder)
        except (OSError, ValueError) as error:
            reasons.append(f"{shlex.join(command)}: {error}")
    if setting.strip():
        return f"the C compiler that $CC names does not work: {'; '.join(reasons)}"
    missing = "no C compiler was found: there is no cc, clang or gcc on PATH, and no ziglang"
    return f"no C compiler works: {'; '.join(reasons)}" if reasons else missing


def _candidates(setting: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yields the commands of compilers that may be there, with their options."""
    if setting.strip():
        yield _split(setting)
        return
    for name in NAMES:
        program = shutil.which(name)
        if program and not _asks_to_install(program):
            yield (program,), ()
    if find_spec("ziglang"):
        yield (sys.executable, "-m", "ziglang", "cc"), ()


def _split(setting: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the command in $CC and the options behind it. Both may be quoted.

    >>> _split("/opt/cache /opt/gcc -O1 -g")
    (('/opt/cache', '/opt/gcc'), ('-O1', '-g'))
    """
    if os.name == "nt":  # a backslash is part of a path
        program, *rest = (part.strip('"') for part in shlex.split(setting, posix=False))
    else:
        program, *rest = shlex.split(setting)
    last = max((k for k, part in enumerate(rest, 1) if not part.startswith("-")), default=0)
    return (shutil.which(program) or program, *rest[:last]), tuple(rest[last:])


def _asks_to_install(program: str) -> bool:
    """True for a program of macOS that opens a window, because no compiler is installed."""
    if sys.platform != "darwin" or not program.startswith("/usr/bin/"):
        return False
    answer = subprocess.run(["/usr/bin/xcode-select", "-p"], capture_output=True)
    return answer.returncode != 0


def _examine(command: tuple[str, ...], options: tuple[str, ...], folder: str | None) -> Compiler:
    """Returns a compiler with its version and flags; raises OSError or ValueError if it does not
    work."""
    if command[0].lower().endswith((".bat", ".cmd")):
        raise ValueError("a batch file runs in a shell")
    facts = Path(folder) / "native" / f"{_facts_key(command, options)}.json" if folder else None
    if facts is not None and (stored := _read_facts(facts, command, options)) is not None:
        return stored
    here = new_folder()
    try:
        version = _version(command, here)
        compiler = Compiler(command, _kind(command, version), version, (), options)
        flags = _accepted_flags(lambda flags: _probe(replace(compiler, flags=flags), here))
        compiler = replace(compiler, flags=flags)
    finally:
        remove_folder(here)
    if facts is not None:
        _write_facts(facts, compiler)
    return compiler


def _facts_key(command: Sequence[str], options: Sequence[str]) -> str:
    """Returns the name of the file with the facts about a compiler."""
    status = os.stat(command[0])
    package = _package_version() if "ziglang" in command else ""
    what = [_FACTS, command, options, status.st_size, status.st_mtime_ns, package]
    text = json.dumps([*what, REQUIRED, WANTED, PROBE, processor()])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read_facts(path: Path, command: tuple[str, ...], options: tuple[str, ...]) -> Compiler | None:
    try:
        facts = json.loads(read_checked(path))
        kind, version = str(facts["kind"]), str(facts["version"])
        return Compiler(command, kind, version, tuple(map(str, facts["flags"])), options)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing, damaged, or of another format


def _write_facts(path: Path, compiler: Compiler) -> None:
    with suppress(OSError):  # a later process asks the compiler again
        write_checked(path, json.dumps(asdict(compiler)).encode())


def _version(command: Sequence[str], folder: Path) -> str:
    """Returns what a compiler says about its version; raises ValueError if it says nothing."""
    answer = run_compiler([*command, "--version"], folder)
    text = (answer.stdout or answer.stderr).strip()
    if answer.returncode or not text:
        raise ValueError(_shortened(text) or "--version fails")
    return "\n".join(filter(None, [text, _package_version() if "ziglang" in command else ""]))


def _package_version() -> str:
    """Returns the version of the package ``ziglang``; empty if it is not installed."""
    try:
        return f"ziglang {metadata.version('ziglang')}"
    except metadata.PackageNotFoundError:
        return ""


def _kind(command: Sequence[str], version: str) -> str:
    """Returns the family of a compiler.

    >>> _kind(("cc",), "gcc (GCC) 13.2.0 Copyright (C) Free Software Foundation, Inc.")
    'gcc'
    """
    texts = {"zig": " ".join(command), "clang": version, "gcc": version + " ".join(command)}
    words = {"gcc": ("gcc", "Free Software Foundation")}
    for kind, text in texts.items():
        if any(word in text for word in words.get(kind, (kind,))):
            return kind
    return "other"


def _accepted_flags(probe: Callable[[tuple[str, ...]], str]) -> tuple[str, ...]:
    """Returns the flags to use. ``probe(flags)`` returns why flags do not work, or nothing.

    Raises ValueError if the compiler works with no flags.

    >>> _accepted_flags(lambda flags: "unknown" * ("-march=native" in flags))[3:5]
    ('-fPIC', '-mcpu=native')
    """
    first_choice = (*REQUIRED, *(options[0] for options in WANTED))
    if not probe(first_choice):
        return first_choice
    accepted: tuple[str, ...] = REQUIRED
    if reason := probe(accepted):
        fallback = (*accepted, "-fPIC")
        if probe(fallback):
            raise ValueError(_shortened(reason))
        accepted = fallback
    for options in WANTED:
        if options[0] not in accepted:
            working = (each for each in options if not probe((*accepted, each)))
            accepted = (*accepted, *[*working][:1])
    return accepted


def _probe(compiler: Compiler, folder: Path) -> str:
    """Compiles the probe and loads it. Returns why that fails, or nothing."""
    (folder / "probe.c").write_text(PROBE, encoding="utf-8")
    library = Path(tempfile.mkdtemp(dir=folder), f"probe{library_suffix()}")
    answer = run_compiler(compiler.library_command(str(library), "probe.c"), folder)
    if answer.returncode:
        return answer.stderr or f"it ends with code {answer.returncode}"
    try:
        probe = ctypes.CDLL(str(library)).probe
        probe.restype, probe.argtypes = ctypes.c_double, [ctypes.c_double, ctypes.c_void_p]
        return "" if probe(4.0, None) == 3.0 else "what it compiles gives wrong results"
    except (OSError, AttributeError) as error:
        return str(error)


def _shortened(text: str) -> str:
    """Returns the first lines of a message."""
    return "\n".join(text.strip().splitlines()[:6])


__all__ = ["Compiler", "find_compiler", "library_suffix", "run_compiler"]
