"""The arguments that a command line gives to a function: types, and values that are known."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.abstract_arguments import argument_names, keyword_names
from autodiff_compiler.cli.exit_codes import UsageError
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.tensor import wrap
from autodiff_compiler.interface.compiled import StaticSlot
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

#: The size that a named dimension gets where arrays are drawn.
SYMBOL_SIZE = 3

#: Plain Python values by their types, for random arguments.
_PLAIN = {INT: 3, FLOAT: 0.75, BOOL: True, NONE: None, COMPLEX: 0.75 - 0.5j}


def arguments(fn: Any, given: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Returns the types or values of the arguments of ``fn``: by position, and by keyword.

    Each text is ``[NAME=]TYPE``: the text of a type, or a literal for a value that is known.
    Arguments without a name are counted.
    """
    names, keyword_only = argument_names(fn), keyword_names(fn)
    given_by_name: dict[str, Any] = {}
    for position, text in enumerate(given):
        name, type_text = _divided(text, names, keyword_only)
        name = name or _name_at(position, fn, names, len(given))
        if name in given_by_name:
            raise UsageError(f"the argument '{name}' is given twice")
        given_by_name[name] = _type_or_value(type_text, name)
    names = [*names, *(name for name in given_by_name if name[0] == "#")]
    gap = next((k for k, name in enumerate(names) if name not in given_by_name), len(names))
    late = [name for name in names[gap:] if name in given_by_name]
    _check_no_gap(fn, names, names[gap:], late)
    by_name = [*late, *(name for name in keyword_only if name in given_by_name)]
    return [given_by_name[name] for name in names[:gap]], {
        name: given_by_name[name] for name in by_name
    }


def _name_at(position: int, fn: Any, names: Sequence[str], count: int) -> str:
    """Returns the name of an argument by position: a number for one that ``*args`` takes."""
    if position < len(names):
        return names[position]
    if any(p.kind is p.VAR_POSITIONAL for p in _parameters(fn)):
        return f"#{position}"
    raise UsageError(f"{count} types are given, but there are {len(names)} arguments")


def _check_no_gap(
    fn: Any, names: Sequence[str], after_gap: Sequence[str], late: Sequence[str]
) -> None:
    """Refuses an argument that is given although a required one before it is not."""
    required = {p.name for p in _parameters(fn) if p.default is p.empty}
    needed = [name for name in after_gap if name in required]
    if late and needed and names.index(needed[0]) < names.index(late[-1]):
        raise UsageError(f"'{late[0]}' is given, but '{needed[0]}' before it is not")


def _divided(
    text: str, names: Sequence[str], keyword_only: Sequence[str]
) -> tuple[str | None, str]:
    """Divides ``NAME=TYPE``. There is no name in ``{'a=b': f32[2]}`` or ``'a=b'``."""
    name, equals, rest = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier():
        return None, text
    if name not in names and name not in keyword_only:
        raise UsageError(
            f"there is no argument '{name}'; there are {', '.join((*names, *keyword_only))}"
        )
    return name, rest


def _type_or_value(text: str, name: str) -> Any:
    """Returns the text of a type, or the value that a literal is."""
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


def _parameters(fn: Any) -> list[inspect.Parameter]:
    method = fn.construct if isinstance(fn, Cell) else fn
    try:
        return [*inspect.signature(method).parameters.values()]
    except (TypeError, ValueError):
        return []  # written in C


def drawn(given: Any, rng: np.random.Generator, tensors: bool) -> Any:
    """Returns a random argument of a type that is given as a string; a value stays what it is.

    tensors   True if arrays are Tensors, as a Cell takes them.
    """
    if isinstance(given, StaticSlot):
        return given.value
    return _of_type(parse_type(given), given, rng, tensors) if isinstance(given, str) else given


def _of_type(type_: Type, text: str, rng: np.random.Generator, tensors: bool) -> Any:
    if type_ in _PLAIN:
        return _PLAIN[type_]
    if isinstance(type_, TupleType):
        return tuple(_of_type(item, text, rng, tensors) for item in type_.items)
    if isinstance(type_, DictType):
        pairs = zip(type_.keys, type_.items)
        return {key: _of_type(item, text, rng, tensors) for key, item in pairs}
    if not isinstance(type_, ArrayType) or type_.shape is None or None in type_.shape:
        raise UsageError(f"no argument of the type {text} can be drawn; give its shape")
    shape = [size if isinstance(size, int) else SYMBOL_SIZE for size in type_.shape]
    dtype = np.dtype(type_.dtype or "float32")
    if dtype.kind == "f":
        array = np.asarray(rng.uniform(0.3, 1.7, shape)).astype(dtype)
    else:
        array = np.asarray(rng.integers(0, 2, shape)).astype(dtype)
    return wrap(array) if tensors else array


__all__ = ["arguments", "drawn"]
