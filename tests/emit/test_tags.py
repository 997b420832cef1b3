"""The comments that tie generated lines to source lines: lines of another file name the file."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import autodiff_compiler as ms

LAYERS = """\
from autodiff_compiler import nn, ops

class Scale(nn.Cell):
    def construct(self, x):
        return ops.sin(x) * x

def shifted(x):
    y = x * x
    return ops.exp(y) + y
"""
NET = """\
from autodiff_compiler import nn, ops
from layers_of_tags import Scale, shifted

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def construct(self, x):
        for _ in range(2):
            x = self.scale(x)
        y = shifted(x)
        return ops.tanh(y) * x
"""
#: A tag at the end of a line of code, or on a line of its own.
TAG = re.compile(r"# (?:(?P<file>\w+\.py):)?(?P<line>\d+)\| (?P<text>.*)$", re.M)


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Yields the module of a net whose layers are in a file of their own."""
    (tmp_path / "layers_of_tags.py").write_text(LAYERS, encoding="utf-8")
    place = tmp_path / "net_of_tags.py"
    place.write_text(NET, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[place.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[place.stem], sys.modules["layers_of_tags"]


def lines_of(source: str, file: str) -> dict[int, str]:
    """Returns the source lines by their numbers in tags of this file; "" is the module's own."""
    found = [match for match in TAG.finditer(source) if (match["file"] or "") == file]
    return {int(match["line"]): match["text"] for match in found}


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("mode", ["reverse", "forward", "value"])
def test_each_tag_names_the_file_of_its_line(net: ModuleType, level: int, mode: str) -> None:
    source = ms.gradient_source(net.Net(), "f32[3]", opt_level=level, mode=mode)
    files = {"": NET, "layers_of_tags.py": LAYERS}
    assert {match["file"] or "" for match in TAG.finditer(source)} == set(files)
    for file, text in files.items():
        lines = text.splitlines()
        found = lines_of(source, file)
        assert found and all(lines[n - 1].strip() == shown for n, shown in found.items())


def test_a_function_of_another_file_names_it_in_both_halves(net: ModuleType) -> None:
    source = ms.gradient_source(net.Net(), "f32[3]")
    forward, backward = source.split("def net_forward")
    assert lines_of(forward, "layers_of_tags.py").keys() >= {5}
    assert lines_of(backward, "layers_of_tags.py").keys() >= {5}


def test_the_main_file_is_that_of_the_compiled_function(net: ModuleType) -> None:
    """A layer that is compiled alone has tags without a file."""
    source = ms.gradient_source(net.Scale(), "f32[3]")
    assert lines_of(source, "").keys() == {5} and not lines_of(source, "layers_of_tags.py")


def test_files_of_one_name_in_two_folders_are_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner_of_tags"
    inner.mkdir()
    (inner / "__init__.py").write_text("", encoding="utf-8")
    (inner / "same_name.py").write_text("def f(x):\n    y = x * x\n    return y * y\n", "utf-8")
    (tmp_path / "same_name.py").write_text(
        "from inner_of_tags.same_name import f\n\ndef g(x):\n    return f(x) * 3.0\n", "utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("same_name")
    try:
        source = ms.gradient_source(module.g, "f64[3]")
    finally:
        for name in ("same_name", "inner_of_tags", "inner_of_tags.same_name"):
            del sys.modules[name]
    assert "# same_name.py:2| y = x * x" in source
    assert "# 4| return f(x) * 3.0" in source


def test_the_memory_report_names_the_file_of_each_line(net: ModuleType) -> None:
    text = ms.gradient_source(net.Net(), "f32[3]", stage="memory")
    rows = [line for line in text.splitlines() if "layers_of_tags.py:" in line]
    assert any("layers_of_tags.py:5| return" in row for row in rows)
    for row in rows:  # a further line of the same row names its file, too
        numbers = re.findall(r"([\w.]*:)?(\d+)\|", row)
        assert all(file or int(line) > 9 for file, line in numbers)


def test_the_summary_in_the_docstring_names_the_file_of_each_line(net: ModuleType) -> None:
    source = ms.gradient_source(net.Net(), "f32[4000,4000]")
    (docstring,) = re.findall(r'"""(.*?)"""', source, re.S)[:1]
    assert "made by layers_of_tags.py:" in docstring or "needed by layers_of_tags.py:" in docstring
    assert re.search(r"needed by [^\n]*\b13\|", docstring)
