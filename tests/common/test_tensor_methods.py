"""The stub ``tensor_methods.pyi`` declares every method that ``ops`` gives to ``Tensor``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ir.nodes import Operand
from autodiff_compiler.ops.methods.in_place import IN_PLACE
from autodiff_compiler.ops.methods.table import METHODS

STUB = Path(inspect.getfile(Tensor)).with_name("tensor_methods.pyi")
INSTALLED: dict[str, Callable[..., Any]] = {
    name: METHODS.get(name) or IN_PLACE[name]
    for name in {*METHODS, *IN_PLACE}
    if name in IN_PLACE or getattr(Tensor, name) is METHODS[name]
}


def declared() -> dict[str, ast.FunctionDef]:
    """Return the declarations of the stub by name; of an overloaded method the last one."""
    (stub,) = (
        node
        for node in ast.parse(STUB.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    return {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}


DECLARED = declared()


def test_the_stub_declares_every_installed_method() -> None:
    methods = {name for name in DECLARED if not name.startswith("__")}
    assert methods == set(INSTALLED)
    special = {name for name in DECLARED if name.startswith("__")}
    assert special == {name for name, value in vars(Operand).items() if inspect.isfunction(value)}


@pytest.mark.parametrize("name", sorted(INSTALLED))
def test_parameters_are_those_of_the_method(name: str) -> None:
    arguments = DECLARED[name].args
    listed = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args)][1:]
    real = list(inspect.signature(INSTALLED[name]).parameters.values())
    if real[0].kind is inspect.Parameter.VAR_POSITIONAL:
        assert not listed  # a record: it is called with the tensor alone
        return
    wanted = [p.name for p in real[1:] if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert listed == wanted
    keywords = [p.name for p in real if p.kind is inspect.Parameter.KEYWORD_ONLY]
    assert [arg.arg for arg in arguments.kwonlyargs] == keywords
    several = [p.name for p in real if p.kind is inspect.Parameter.VAR_POSITIONAL]
    assert ([arguments.vararg.arg] if arguments.vararg else []) == several
    optional = sum(p.default is not inspect.Parameter.empty for p in real[1:])
    given = len(arguments.defaults) + sum(value is not None for value in arguments.kw_defaults)
    assert given == optional
