"""Modules are importable under other paths."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from autodiff_compiler.mindspore_names.module_paths import install_paths


def test_paths_are_importable_and_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    package, part = ModuleType("zoo"), ModuleType("part")
    package.__path__ = []
    for name, module in {"zoo": package, "zoo.birds": None, "zoo.birds.owl": None}.items():
        monkeypatch.setitem(sys.modules, name, module)  # restored after the test
    install_paths(package, {"birds": part, "birds.owl": part})
    assert importlib.import_module("zoo.birds.owl") is part
    assert package.birds is part and part.owl is part  # type: ignore[attr-defined]
    assert importlib.util.find_spec("zoo.birds") is not None


def test_an_attribute_that_exists_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    package, part = ModuleType("zoo"), ModuleType("part")
    monkeypatch.setitem(sys.modules, "zoo.size", part)
    vars(package)["size"] = 3
    install_paths(package, {"size": part})
    assert package.size == 3
