"""The table of ``autodiff-compiler ops``: every name, its tier, its derivative, its samples.

The table is computed. Names of one object share a row. The operators of a function are found in
its code, and the kind of a derivative in the operator definition.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from autodiff_compiler import nn, ops
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.mindspore_names.suggestions import names
from autodiff_compiler.mindspore_names.supported import TIERS
from autodiff_compiler.ops.core.primitive_base import Primitive
from autodiff_compiler.ops.methods.table import METHODS, PROPERTIES
from autodiff_compiler.testing.samples import SAMPLES

PACKAGE = "autodiff_compiler."
#: The printed form of the names of a surface.
SHOWN = {"function": "ops.{}", "primitive": "ops.{}", "method": "Tensor.{}", "layer": "nn.{}"}
#: Operators by Python's signs in the code of a function; before Python 3.11, by its instructions.
ARITHMETIC = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "**": "pow",
    "BINARY_ADD": "add",
    "BINARY_SUBTRACT": "sub",
    "BINARY_MULTIPLY": "mul",
    "BINARY_TRUE_DIVIDE": "div",
    "BINARY_POWER": "pow",
}


#: Public attributes of Tensor that are no part of the API.
INTERNAL = ("apply_rank", "init")
BASES = (Cell, Primitive)


@dataclass(frozen=True)
class Entry:
    """An object with its names.

    tier        the lowest tier of its names; None for names outside the tiers.
    derivative  the kind of its operator; 'composed' if there are several, 'none' without one.
    samples     the number of samples of its operators.
    operators   the names of its operators.
    """

    names: tuple[str, ...]
    tier: int | None
    derivative: str
    samples: int
    operators: tuple[str, ...]


def bound(surface: str, name: str) -> Any:
    """Returns the object under a name of a surface, or None."""
    if surface == "method":
        thing = METHODS.get(name) or PROPERTIES.get(name) or vars(Tensor).get(name)
        return thing if hasattr(Tensor, name) else None
    return vars(nn if surface == "layer" else ops).get(name)


def missing(surface: str, tier: int) -> dict[str, list[str]]:
    """Returns the names of a tier that do not exist, by family, without complete families."""
    absent_names = {
        family: [name for name in text.split() if bound(surface, name.rstrip("°")) is None]
        for family, text in TIERS[surface][tier].items()
    }
    return {family: absent for family, absent in absent_names.items() if absent}


def missing_text() -> str:
    """Returns the missing names of tiers 1 and 2, a line for each family."""
    lines = []
    for surface in TIERS:
        for tier in (1, 2):
            absent, size = missing(surface, tier), len(names(surface, tier))
            count = sum(map(len, absent.values()))
            lines.append(f"{surface}s of tier {tier}: {size - count} of {size} are supported")
            lines += [f"  {family}: {' '.join(words)}" for family, words in absent.items()]
    return "\n".join(lines) + "\n"


def table_text() -> str:
    """Returns all entries, a line for each."""
    lines = [f"{'tier':4}  {'derivative':11}  {'samples':>7}  names <- operators"]
    for row in entries():
        tier = "-" if row.tier is None else str(row.tier)
        shown = f"{' '.join(row.names)} <- {' '.join(row.operators)}".strip()
        lines.append(f"{tier:4}  {row.derivative:11}  {row.samples:7}  {shown}")
    return "\n".join(lines) + "\n"


def entries() -> list[Entry]:
    """Returns every operator and every name, in the order of tiers and names."""
    groups: dict[Any, list[tuple[str, str]]] = {}
    for surface, name in _public():
        groups.setdefault(_core(bound(surface, name)), []).append((surface, name))
    rows = [_entry(core, named) for core, named in groups.items()]
    used = {name for row in rows for name in row.operators}
    rows += [
        Entry((), None, opdef.kind, len(SAMPLES.get(name, ())), (name,))
        for name, opdef in OPERATORS.items()
        if name not in used
    ]
    return sorted(rows, key=lambda row: (row.tier or 3, not row.names, row.names, row.operators))


def _public() -> Iterator[tuple[str, str]]:
    for name, thing in vars(ops).items():
        if callable(thing) and name[0] != "_" and _is_ours(thing):
            yield ("primitive" if isinstance(thing, type) else "function"), name
    for name in dict.fromkeys([*METHODS, *PROPERTIES, *vars(Tensor)]):
        if name[0] != "_" and name not in INTERNAL and bound("method", name) is not None:
            yield "method", name
    for name, thing in vars(nn).items():
        if isinstance(thing, type) and issubclass(thing, Cell):
            yield "layer", name


def _is_ours(thing: Any) -> bool:
    return (getattr(thing, "__module__", None) or "").startswith(PACKAGE)


def _core(thing: Any) -> Any:
    """Returns the object that an entry stands for: of a class made from a function, the
    function."""
    thing = getattr(thing, "fget", None) or getattr(thing, "__func__", None) or thing
    return thing.function if isinstance(thing, type) and hasattr(thing, "function") else thing


def _entry(core: Any, named: list[tuple[str, str]]) -> Entry:
    tiers = [tier for surface, name in named for tier in (1, 2) if name in names(surface, tier)]
    operators = sorted(_operators_behind(core))
    kinds = {OPERATORS[name].kind for name in operators} - {"zero"}
    derivative = "composed" if len(operators) > 1 and kinds else min(kinds, default="zero")
    return Entry(
        tuple(SHOWN[surface].format(name) for surface, name in named),
        min(tiers, default=None),
        derivative if operators else "none",
        sum(len(SAMPLES.get(name, ())) for name in operators),
        tuple(operators),
    )


@cache
def _operators_behind(core: Any) -> frozenset[str]:
    """Returns the operators that ``core``, or a function of this package that it calls, applies."""
    names: set[str] = set()
    seen: set[Any] = set()
    waiting = [core]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, OpDef):
            names.add(thing.name)
        elif isinstance(thing, type) and issubclass(thing, (Primitive, Cell)):
            waiting += [
                _core(method)
                for kind in thing.__mro__[:-1]
                if kind not in BASES
                for method in vars(kind).values()
            ]
        elif isinstance(thing, types.FunctionType) and thing not in seen and _is_ours(thing):
            seen.add(thing)
            waiting += _mentioned(thing)
            names.update(_operators(thing))
    return frozenset(names)


def _mentioned(function: Callable[..., Any]) -> list[Any]:
    """Returns the functions and operators that a function names in its code or encloses."""
    mentioned: list[Any] = [cell.cell_contents for cell in function.__closure__ or ()]
    for code in _codes(function.__code__):
        thing: Any = None
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                thing = function.__globals__.get(step.argval)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and thing is not None:
                thing = getattr(thing, step.argval, None)
            else:
                thing = None
            if isinstance(thing, (OpDef, types.FunctionType, type)):
                mentioned.append(thing)
    return mentioned


def _operators(function: Callable[..., Any]) -> set[str]:
    """Returns the operators of the arithmetic in a function's code, whatever its operands are."""
    signs = {
        step.argrepr if step.opname == "BINARY_OP" else step.opname
        for code in _codes(function.__code__)
        for step in dis.get_instructions(code)
    }
    return {ARITHMETIC[sign] for sign in signs if sign in ARITHMETIC}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
