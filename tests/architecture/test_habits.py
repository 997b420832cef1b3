"""The checks before a commit hold in the whole tree, and CI covers what the package supports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.test_docs import tracked_files

ROOT = Path(__file__).parents[2]
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def patterns() -> dict[str, re.Pattern[bytes]]:
    """Return the patterns that no line may match, by the id of their hook."""
    found = {}
    for hook in HOOKS.split("      - id: ")[1:]:
        if "language: pygrep" in hook:
            entry = re.search(r"^ +entry: '(.*)'$", hook, re.MULTILINE)
            assert entry
            found[hook.split()[0]] = re.compile(entry[1].encode())
    return found


PATTERNS = patterns()


@pytest.mark.parametrize("hook", PATTERNS)
def test_no_line_is_refused_by_a_hook(hook: str) -> None:
    suffixes = (".py", ".pyi") if hook == "blanket-type-ignore" else ()
    refused = []
    for path in tracked_files():
        if not path.is_file() or not path.name.endswith(suffixes or ""):
            continue
        content = path.read_bytes()
        if b"\0" in content:
            continue  # not text
        refused += [
            f"{path.relative_to(ROOT)}:{number}"
            for number, line in enumerate(content.splitlines(), 1)
            if PATTERNS[hook].search(line)
        ]
    assert not refused, f"{hook}: {refused}"


@pytest.mark.parametrize(
    ("hook", "line", "refused"),
    [
        ("blanket-type-ignore", b"x = 1  # type" + b": ignore", True),
        ("blanket-type-ignore", b"x = 1  #type" + b":ignore  # why", True),
        ("blanket-type-ignore", b"x = 1  # type: ignore[misc]", False),
        ("trailing-space", b"x = 1 ", True),
        ("trailing-space", b"x = 1", False),
    ],
)
def test_hooks_find_what_they_are_for(hook: str, line: bytes, refused: bool) -> None:
    assert bool(PATTERNS[hook].search(line)) == refused


def listed(key: str) -> list[str]:
    """Return the values of an axis of the CI matrix."""
    values = re.search(rf"^ +{key}: \[(.*)\]$", WORKFLOW, re.MULTILINE)
    assert values
    return [value.strip(' "') for value in values[1].split(",")]


def test_ci_runs_on_what_the_package_supports() -> None:
    versions = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)
    assert listed("python") == versions
    assert f'requires-python = ">={versions[0]}"' in PROJECT
    assert listed("numpy") == ["2.0", "newest"]
    assert '"numpy>=2.0"' in PROJECT
    constraint = (ROOT / ".ci" / "numpy-2.0.txt").read_text(encoding="utf-8")
    assert constraint.splitlines()[-1] == "numpy==2.0.*"
    assert {name.partition("-")[0] for name in listed("os")} == {"ubuntu", "macos", "windows"}
    assert WORKFLOW.rstrip().endswith("- run: .ci/run")
