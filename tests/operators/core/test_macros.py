"""Functions of the library layers are macros by a mark in their modules."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ad
from autodiff_compiler import amp, nn, ops
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.operators.core.macros import is_macro
from autodiff_compiler.ops.transforms import higher_order

ROOT = Path(ad.__file__).parent
#: Packages whose functions are all macros, but those of one module.
LIBRARY = ("ops", "operators", "common", "numpy")
INLINED = higher_order.__name__


def _defines(path: Path) -> bool:
    """True if a module defines a function or a class."""
    kinds = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
    return any(isinstance(node, kinds) for node in ast.walk(ast.parse(path.read_text("utf-8"))))


def _modules(*packages: str) -> list[str]:
    """The names of modules below packages that define functions or classes."""
    paths = [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]
    parts = [
        path.relative_to(ROOT.parent).with_suffix("").parts for path in paths if _defines(path)
    ]
    return [".".join(part for part in each if part != "__init__") for each in parts]


def _functions(module: str) -> Iterator[Any]:
    """The functions and classes that a module defines itself."""
    for thing in vars(importlib.import_module(module)).values():
        if isinstance(thing, (FunctionType, type)) and thing.__module__ == module:
            yield thing


@pytest.mark.parametrize("module", [name for name in _modules(*LIBRARY) if name != INLINED])
def test_functions_and_classes_of_the_library_are_macros(module: str) -> None:
    assert vars(importlib.import_module(module)).get("__macro__") is True, "mark the module"
    assert all(is_macro(thing) for thing in _functions(module))


def test_functions_that_call_what_the_user_passes_are_inlined() -> None:
    kinds = {thing for thing in _functions(INLINED) if isinstance(thing, type)}
    assert kinds and all(is_macro(kind) for kind in kinds)
    assert not any(is_macro(thing) for thing in _functions(INLINED) if thing not in kinds)
    for made in (higher_order.HyperMap(), ops.WhileLoop()):
        assert not is_macro(made) and not is_macro(made.__call__)


@pytest.mark.parametrize("module", _modules("nn", "frontend", "passes", "testing"))
def test_functions_and_classes_of_other_packages_are_not(module: str) -> None:
    assert not any(is_macro(thing) for thing in _functions(module))


class _Doubled(ops.Primitive):
    def __call__(self, x: Any) -> Any:
        return x + x


def test_operators_primitives_and_methods_are_macros() -> None:
    assert all(is_macro(operator) for operator in OPERATORS.values())
    assert is_macro(ops.ReLU()) and is_macro(ops.relu)
    assert is_macro(ad.Tensor) and is_macro(ad.Tensor([1.0]).sum)
    assert is_macro(ad.numpy.sin)


def test_what_a_user_writes_and_other_libraries_bring_are_not() -> None:
    things = (_Doubled, _Doubled(), nn.Dense, nn.Dense(2, 2), amp.auto_mixed_precision)
    others = (np.sin, np.add.reduce, len, inspect.signature, "text".format, None, 3)
    assert not any(map(is_macro, (*things, *others, lambda x: x)))
