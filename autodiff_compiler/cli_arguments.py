"""What a command line names: a Cell or function in a file, and the arguments it is given.

A target is ``FILE.py:NAME``, where the name may have dots (``Class.method``) and calls with
literal arguments (``Block(dim=8)``, ``make(3).loss``). It is parsed, never evaluated as text.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import inspect
import sys
import traceback
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.tensor import wrap
from autodiff_compiler.errors import CompileError
from autodiff_compiler.generated_source import argument_names, keyword_names
from autodiff_compiler.interface import StaticSlot
from autodiff_compiler.ir.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    ArrayType,
    DictType,
    TupleType,
    Type,
    parse_type,
)
from autodiff_compiler.ops.transforms.transformed import Transformed

#: The size that a named dimension gets where arrays are drawn.
SYMBOL_SIZE = 3

#: What stands for a plain Python value of a type, where arguments are drawn.
_PLAIN = {INT: 3, FLOAT: 0.75, BOOL: True, NONE: None, COMPLEX: 0.75 - 0.5j}


class UsageError(Exception):
    """A command that makes no sense, told in one line."""


# ---- the target


def load_target(target: str) -> Any:
    """Return the Cell or function that ``FILE:NAME`` means.

    A class is called without arguments; so is the class of a method.
    """
    file, name = _divided(target)
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"there is no file {file}")
    try:
        tree = ast.parse(name.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise UsageError(f"'{name}' is neither a name nor a call such as Block(dim=8)") from None
    module = _module(path)
    found = _found(tree, module, file, name)
    if isinstance(found, type):
        found = _instance(found, file)
    if not callable(found):
        raise UsageError(f"'{name}' in {file} is a {type(found).__name__}, not a Cell or function")
    return found


def _divided(target: str) -> tuple[str, str]:
    """Divide ``FILE:NAME``: after '.py', for there may be colons in arguments."""
    file, colon, name = target.partition(".py:")
    if colon:
        file += ".py"
    else:
        file, colon, name = target.rpartition(":")
    if not colon or not file or not name:
        raise UsageError(f"'{target}' is not a target; write FILE.py:NAME")
    return file, name


def _found(tree: ast.expr, module: Any, file: str, whole: str) -> Any:
    """Return what a name, an attribute or a call with literal arguments means in a module."""
    if isinstance(tree, ast.Name):
        return _attribute(module, tree.id, module, file, whole)
    if isinstance(tree, ast.Attribute):
        owner = _found(tree.value, module, file, whole)
        if isinstance(owner, type) and _is_method(owner, tree.attr):
            owner = _made(owner, file)
        return _attribute(owner, tree.attr, module, file, whole)
    if isinstance(tree, ast.Call):
        callee = _found(tree.func, module, file, whole)
        return _called(callee, tree, file)
    raise UsageError(f"'{whole}' is neither a name nor a call such as Block(dim=8)")


def _attribute(owner: Any, name: str, module: Any, file: str, whole: str) -> Any:
    if not hasattr(owner, name):
        known = [n for n, v in vars(module).items() if _is_target(v) and n[0] != "_"]
        raise UsageError(
            f"{file} has no '{whole}'" + (f"; it has {', '.join(known)}" if known else "")
        )
    return getattr(owner, name)


def _is_method(owner: type, name: str) -> bool:
    """Decide whether this is a method that needs an object."""
    return isinstance(inspect.getattr_static(owner, name, None), types.FunctionType)


def _called(callee: Any, tree: ast.Call, file: str) -> Any:
    """Return the outcome of a call whose arguments are literals."""
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


def _instance(found: type, file: str) -> Any:
    if not issubclass(found, Cell):
        raise UsageError(f"'{found.__name__}' in {file} is a class, but not a Cell")
    return _made(found, file)


def _made(found: type, file: str) -> Any:
    """Return an object of a class that needs no arguments."""
    try:
        parameters = [*inspect.signature(found).parameters.values()]
    except (TypeError, ValueError):
        parameters = []
    needed = [
        p.name for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]  # fmt: skip
    if needed:
        given = ", ".join(f"{name}=..." for name in needed)
        raise UsageError(
            f"'{found.__name__}' needs arguments ({', '.join(needed)}); "
            f"give them: {file}:{found.__name__}({given})"
        )
    return _called(found, ast.Call(ast.Name(found.__name__), [], []), file)


# ---- the file


def _module(path: Path) -> Any:
    """Import a file: as a module of its package, where it is in one; its siblings can be imported,
    as if it were run."""
    path = path.resolve()
    root, name = _place(path)
    for folder in dict.fromkeys((str(root), str(path.parent))):
        if folder in sys.path:
            sys.path.remove(folder)
    sys.path[:0] = dict.fromkeys((str(path.parent), str(root)))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for what is asked
            if "." in name:
                importlib.invalidate_caches()
                return importlib.import_module(name)
            return _alone(path, name)
    except CompileError:
        raise
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__)
                 if Path(f.filename) == path]  # fmt: skip
        where = f"{path}:{lines[-1]}" if lines else str(path)
        if isinstance(error, SyntaxError) and error.lineno and error.filename == str(path):
            where = f"{path}:{error.lineno}"
        raise UsageError(f"{where} cannot be imported: {type(error).__name__}: {error}") from None


def _place(path: Path) -> tuple[Path, str]:
    """Return the folder from which a file is imported, and its name as a module from there."""
    names, folder = [path.stem], path.parent
    levels = _levels(path)
    while (folder / "__init__.py").is_file() or levels > 0:
        if folder.parent == folder:
            break
        names.insert(0, folder.name)
        folder, levels = folder.parent, levels - 1
    if names[-1] == "__init__" and len(names) > 1:
        names.pop()
    if not all(name.isidentifier() for name in names[:-1]):
        return path.parent, path.stem
    return folder, ".".join(names)


def _levels(path: Path) -> int:
    """Return how many packages around a file its relative imports go through."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return 0
    return max((n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)), default=0)


def _alone(path: Path, name: str) -> Any:
    """Import a file that is in no package."""
    if name in sys.stdlib_module_names or name in ("numpy", "gast", "astunparse"):
        name = f"{name}_file"  # what the rest of the process imports under that name stays
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# ---- the arguments


def arguments(fn: Any, given: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Return what the arguments of ``fn`` are told to be: those by position, and those by keyword.

    Each is ``[NAME=]TYPE``: the text of a type, or a literal for a value that is known. A name
    says which argument is meant; without one they are counted.
    """
    names, keyword_only = argument_names(fn), keyword_names(fn)
    takes_more = bool(_parameters_of_kind(fn, inspect.Parameter.VAR_POSITIONAL))
    found: dict[str, Any] = {}
    for position, text in enumerate(given):
        name, type_text = _named(text, names, keyword_only)
        if name is None:
            name = names[position] if position < len(names) else f"#{position}"
            if name[0] == "#" and not takes_more:
                raise UsageError(
                    f"{len(given)} types are given, but there are {len(names)} arguments"
                )
            if name[0] == "#":
                names = [*names, name]
        if name in found:
            raise UsageError(f"the argument '{name}' is given twice")
        found[name] = _told(type_text, name)
    gap = next((k for k, name in enumerate(names) if name not in found), len(names))
    by_name = [name for name in (*names[gap:], *keyword_only) if name in found]
    needed = [name for name in names[gap:] if name in _required(fn)]
    late = [name for name in by_name if name not in keyword_only]
    if late and needed and names.index(needed[0]) < names.index(late[-1]):
        raise UsageError(f"'{late[0]}' is given, but '{needed[0]}' before it is not")
    return [found[name] for name in names[:gap]], {name: found[name] for name in by_name}


def _named(text: str, names: Sequence[str], keyword_only: Sequence[str]) -> tuple[str | None, str]:
    """Divide ``NAME=TYPE``; there is no name in ``{'a=b': f32[2]}`` or ``'a=b'``."""
    name, equals, rest = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier():
        return None, text
    if name not in names and name not in keyword_only:
        raise UsageError(
            f"there is no argument '{name}'; there are {', '.join((*names, *keyword_only))}"
        )
    return name, rest


def _told(text: str, name: str) -> Any:
    """Return the type that a text names, as text, or the value that it is."""
    text = text.strip()
    try:
        parse_type(text)
        return text
    except ValueError as error:
        wrong = error
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise UsageError(f"the type of '{name}': {wrong}") from None
    return value if type(value) in (int, float, complex) else StaticSlot(value)


def _parameters_of_kind(fn: Any, kind: Any) -> list[str]:
    method = fn.construct if isinstance(fn, Cell) else fn
    try:
        return [p.name for p in inspect.signature(method).parameters.values() if p.kind is kind]
    except (TypeError, ValueError):
        return []


def _required(fn: Any) -> set[str]:
    method = fn.construct if isinstance(fn, Cell) else fn
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return set()
    return {p.name for p in parameters if p.default is p.empty}


def drawn(told: Any, rng: np.random.Generator, tensors: bool) -> Any:
    """Return a random argument of the type that a text names; a value stays what it is.

    tensors   whether arrays are Tensors, as a Cell takes them.
    """
    if isinstance(told, StaticSlot):
        return told.value
    return _of_type(parse_type(told), told, rng, tensors) if isinstance(told, str) else told


def _of_type(type_: Type, told: str, rng: np.random.Generator, tensors: bool) -> Any:
    if type_ in _PLAIN:
        return _PLAIN[type_]
    if isinstance(type_, TupleType):
        return tuple(_of_type(item, told, rng, tensors) for item in type_.items)
    if isinstance(type_, DictType):
        pairs = zip(type_.keys, type_.items)
        return {key: _of_type(item, told, rng, tensors) for key, item in pairs}
    if not isinstance(type_, ArrayType) or type_.shape is None or None in type_.shape:
        raise UsageError(f"no argument of the type {told} can be drawn; give its shape")
    shape = [size if isinstance(size, int) else SYMBOL_SIZE for size in type_.shape]
    dtype = np.dtype(type_.dtype or "float32")
    if dtype.kind == "f":
        array = np.asarray(rng.uniform(0.3, 1.7, shape)).astype(dtype)
    else:
        array = np.asarray(rng.integers(0, 2, shape)).astype(dtype)
    return wrap(array) if tensors else array


__all__ = ["UsageError", "arguments", "drawn", "load_target"]
