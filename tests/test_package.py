"""The package's metadata: one version, one licence, and what a built wheel holds and runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from email.message import Message
from email.parser import Parser
from pathlib import Path

import numpy as np
import pytest

from autodiff_compiler import __version__

ROOT = Path(__file__).parents[1]
#: A path of the checkout must not stand in for what the wheel lacks.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(*command: str | Path, cwd: Path) -> str:
    """Return what ``command`` prints; its complaints are the failure of the test."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_wheel(python: Path, folder: Path) -> Path:
    """Build a wheel from a copy of the source, so that the checkout stays as it is."""
    source = folder / "source"
    shutil.copytree(
        ROOT / "autodiff_compiler",
        source / "autodiff_compiler",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source,
        cwd=folder)  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    return wheel


def metadata_of(packages: Path) -> Message:
    """Return the metadata of the installed package."""
    (folder,) = packages.glob("autodiff_compiler-*.dist-info")
    assert (folder / "licenses" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    return Parser().parsestr((folder / "METADATA").read_text(encoding="utf-8"))


@pytest.mark.thorough
def test_a_built_wheel_runs_in_an_empty_environment(tmp_path: Path) -> None:
    """The wheel holds all that the package needs: the first Cell prints there what it prints here.

    The environment has the wheel and what the wheel asks for, and no checkout.
    """
    home, away = tmp_path / "environment", tmp_path / "away"
    away.mkdir()
    shutil.copy(ROOT / "examples" / "seed_net.py", away)
    run(sys.executable, "-m", "venv", home, cwd=tmp_path)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    wheel = build_wheel(python, tmp_path)
    run(python, "-m", "pip", "install", "--quiet", wheel, f"numpy=={np.__version__}", cwd=away)

    place = "import autodiff_compiler; print(autodiff_compiler.__file__)"
    package = Path(run(python, "-c", place, cwd=away).strip()).parent
    assert home.resolve() in package.resolve().parents
    assert (package / "py.typed").is_file()
    assert (package / "common" / "tensor_methods.pyi").is_file()
    assert (package / "runtime" / "native" / "glue.c").is_file()
    assert run(scripts / "autodiff-compiler", "--version", cwd=away).split()[1] == __version__

    here = subprocess.run(
        [sys.executable, "seed_net.py"], cwd=away, env=ENVIRONMENT | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "check_grads: first and second derivatives agree" in here.stdout
    assert run(python, "seed_net.py", cwd=away) == here.stdout

    metadata = metadata_of(package.parent)
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"] == "The autodiff_compiler authors"
    supported = "Programming Language :: Python :: 3."
    versions = [line for line in metadata.get_all("Classifier", []) if line.startswith(supported)]
    assert [line.removeprefix(supported) for line in versions] == ["10", "11", "12", "13", "14"]
    assert metadata["Requires-Python"] == ">=3.10"


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(r"^## (\S+)", text, re.MULTILINE)
    assert heading and heading[1] == __version__
