"""The Cell or function that a command line names: ``FILE.py:NAME``.

The name may have dots (``Class.method``) and calls with literal arguments (``Block(dim=8)``,
``make(3).loss``). It is parsed, never evaluated as text.
"""

from __future__ import annotations

import ast
import inspect
import types
from pathlib import Path
from typing import Any

from autodiff_compiler.cli.exit_codes import UsageError
from autodiff_compiler.cli.source_files import import_file
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.errors import CompileError
from autodiff_compiler.ops.transforms.transformed import Transformed


def load_target(target: str) -> Any:
    """Returns the Cell or function that ``FILE:NAME`` names.

    A class is called without arguments; so is the class of a method.
    """
    file, name = split_target(target)
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"there is no file {file}")
    try:
        tree = ast.parse(name.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise UsageError(f"'{name}' is neither a name nor a call such as Block(dim=8)") from None
    module = import_file(path)
    target_object = _evaluate_target(tree, module, file, name)
    if isinstance(target_object, type):
        target_object = _instance(target_object, file)
    if not callable(target_object):
        raise UsageError(
            f"'{name}' in {file} is a {type(target_object).__name__}, not a Cell or function"
        )
    return target_object


def split_target(target: str) -> tuple[str, str]:
    """Divides ``FILE:NAME`` after '.py', since arguments may hold colons."""
    file, colon, name = target.partition(".py:")
    if colon:
        file += ".py"
    else:
        file, colon, name = target.rpartition(":")
    if not colon or not file or not name:
        raise UsageError(f"'{target}' is not a target; write FILE.py:NAME")
    return file, name


def _evaluate_target(tree: ast.expr, module: Any, file: str, full_name: str) -> Any:
    """Returns the value of a name, an attribute or a call with literal arguments in a module."""
    if isinstance(tree, ast.Name):
        return _attribute(module, tree.id, module, file, full_name)
    if isinstance(tree, ast.Attribute):
        owner = _evaluate_target(tree.value, module, file, full_name)
        if isinstance(owner, type) and _is_method(owner, tree.attr):
            owner = _made_without_arguments(owner, file)
        return _attribute(owner, tree.attr, module, file, full_name)
    if isinstance(tree, ast.Call):
        callee = _evaluate_target(tree.func, module, file, full_name)
        return _called(callee, tree, file)
    raise UsageError(f"'{full_name}' is neither a name nor a call such as Block(dim=8)")


def _attribute(owner: Any, name: str, module: Any, file: str, full_name: str) -> Any:
    if not hasattr(owner, name):
        known = [n for n, v in vars(module).items() if _is_target(v) and n[0] != "_"]
        raise UsageError(
            f"{file} has no '{full_name}'" + (f"; it has {', '.join(known)}" if known else "")
        )
    return getattr(owner, name)


def _is_method(owner: type, name: str) -> bool:
    """True for a method that needs an object."""
    return isinstance(inspect.getattr_static(owner, name, None), types.FunctionType)


def _called(callee: Any, tree: ast.Call, file: str) -> Any:
    """Returns the result of a call whose arguments are literals."""
    shown = ast.unparse(tree)
    if not callable(callee):
        raise UsageError(f"'{ast.unparse(tree.func)}' in {file} cannot be called")
    try:
        if any(each.arg is None for each in tree.keywords):
            raise ValueError
        args = [ast.literal_eval(arg) for arg in tree.args]
        kwargs = {str(each.arg): ast.literal_eval(each.value) for each in tree.keywords}
    except ValueError:
        raise UsageError(
            f"every argument in {shown} must be a literal: a number, a string, None, or a "
            "tuple, list or dict of these"
        ) from None
    try:
        return callee(*args, **kwargs)
    except CompileError:
        raise
    except Exception as error:
        raise UsageError(f"{shown} in {file} fails: {type(error).__name__}: {error}") from None


def _is_target(thing: Any) -> bool:
    if isinstance(thing, type):
        return issubclass(thing, Cell) and not thing.__module__.startswith("autodiff_compiler")
    return isinstance(thing, (Cell, Transformed)) or inspect.isfunction(thing)


def _instance(class_: type, file: str) -> Any:
    if not issubclass(class_, Cell):
        raise UsageError(f"'{class_.__name__}' in {file} is a class, but not a Cell")
    return _made_without_arguments(class_, file)


def _made_without_arguments(class_: type, file: str) -> Any:
    """Returns an object of a class that needs no arguments."""
    try:
        parameters = [*inspect.signature(class_).parameters.values()]
    except (TypeError, ValueError):
        parameters = []
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if needed:
        given = ", ".join(f"{name}=..." for name in needed)
        raise UsageError(
            f"'{class_.__name__}' needs arguments ({', '.join(needed)}); "
            f"give them: {file}:{class_.__name__}({given})"
        )
    return _called(class_, ast.Call(ast.Name(class_.__name__), [], []), file)


__all__ = ["load_target"]
