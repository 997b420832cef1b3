"""``make help`` lists every target of the Makefile with its sentence."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
#: A target that a user names; the others are files.
TARGET = re.compile(r"^([a-z][a-z-]*):([^=].*)?$", re.MULTILINE)


def test_help_prints_every_target() -> None:
    command = ["make", "--no-print-directory", "help"]
    printed = subprocess.check_output(command, cwd=ROOT, text=True)
    listed = {}
    for line in printed.splitlines():
        word, name, sentence = line.split(maxsplit=2)
        assert word == "make"
        listed[name] = sentence
    assert list(listed) == [name for name, _ in TARGET.findall(MAKEFILE)]
    assert all(f"  ## {sentence}\n" in MAKEFILE for sentence in listed.values())


def test_every_target_is_declared_phony() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony and set(phony[1].split()) == {name for name, _ in TARGET.findall(MAKEFILE)}
