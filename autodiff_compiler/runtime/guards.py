"""Guards: a small generated function that decides if compiled code may still be used.

Everything that the compiler read from outside has a guard. The path of a guard is a Python
expression. A part that several paths share is evaluated once. The guard fails if a path
cannot be evaluated.

>>> guard = compile_guards([Guard("fn.real", "equal", 3), Guard("slots[0]", "equal", 1)])
>>> guard(3, (1,)), guard(3, (1.0,)), guard(None, (1,))
(True, False, False)
"""

from __future__ import annotations

import ast
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.errors import CallError
from autodiff_compiler.fast_ast import children
from autodiff_compiler.interface.compiled import (
    ArrayType,
    AttributeInput,
    Guard,
    Hoisted,
    ScalarType,
    Type,
    frozen,
    special,
)
from autodiff_compiler.runtime.overlaps import are_disjoint, overlaps_itself

GuardTest = Callable[[Any, Sequence[Any]], bool]


def compile_guards(guards: Iterable[Guard], hoisted: Iterable[Hoisted] = ()) -> GuardTest:
    """Returns a function of ``(fn, slots)`` that is true while all guards hold.

    Hoisted tensors must still have the dtype and shape that they were compiled for.
    """
    lines, constants = guard_lines(guards, hoisted)
    defaults = "".join(f", {name}={name}" for name in constants)
    body = "".join(f"        {line}\n" for line in (*lines, "return True"))
    text = (
        f"def guard(fn, slots{defaults}):\n    try:\n{body}"
        "    except Exception:\n        return False\n"
    )
    scope = dict(constants)
    exec(compile(text, "<autodiff guard>", "exec", dont_inherit=True), scope)
    guard: GuardTest = scope["guard"]
    return guard


def guard_lines(
    guards: Iterable[Guard], hoisted: Iterable[Hoisted] = (), unread: Container[int] = ()
) -> tuple[list[str], dict[str, Any]]:
    """Returns the lines of a guard and the constants ``c0``, ``c1`` … that they name.

    A line returns False or raises if a guard fails. After the lines, the hoisted arrays are
    ``h0``, ``h1`` …. Of those whose numbers are ``unread`` it is the tensors themselves: their
    classes, hooks, dtypes and shapes are checked elsewhere.
    """
    writer = _Writer()
    hoisted = tuple(hoisted)
    checked = {f"{item.path}._hooks" for n, item in enumerate(hoisted) if n in unread}
    guards = [guard for guard in guards if guard.path not in checked]
    writer.count(item.path for item in hoisted if item.read and item.path)
    writer.count(a.path for a in guards if a.test != "absent")
    writer.count(a.value for a in guards if a.test in ("the same", "another"))
    for guard in guards:
        writer.add(guard)
    for number, item in enumerate(hoisted):
        writer.same_signature(f"h{number}", item, number not in unread)
    return writer.lines, writer.constants


def first_failed_guard(guards: Iterable[Guard], fn: Any, slots: Sequence[Any]) -> Guard | None:
    """Returns the first guard that does not hold: the reason why a function is compiled again."""
    rows = tuple(guards)
    broken = bisect_left(range(len(rows)), True, key=lambda n: not _hold(rows[: n + 1], fn, slots))
    return rows[broken] if broken < len(rows) else None


#: Cause and cure for arguments that are not as separate as the compiled code needs them.
_NOT_SEPARATE = {
    "another": (
        "the function tests with 'is' whether two arguments are the same object, and this call "
        "passes one object for both",
        "pass a copy of one of them, or pass the answer as a bool argument",
    ),
    "not written": (
        "this function writes to a Parameter, and in this call an argument is that Parameter: the "
        "function would read the old value under the argument's name",
        "pass a copy of its value: parameter * 1, or use the Parameter in place of the argument",
    ),
    "apart": (
        "this writes to an argument in place, and in this call another array that is read "
        "afterwards shares memory with it",
        "pass a copy of one of them: array.copy()",
    ),
    "whole": (
        "this writes to an argument in place, and in this call elements of it share memory with "
        "each other, so that NumPy would change several with one write",
        "pass a copy: array.copy()",
    ),
}


def check_separate_arguments(guards: Iterable[Guard], fn: Any, slots: Sequence[Any]) -> None:
    """Refuses arguments that are one object, or share memory, if the source function compares or
    writes them. The function is compiled for separate arguments."""
    for asked in guards:
        if asked.test in _NOT_SEPARATE and not _hold([asked], fn, slots):
            raise CallError(*_NOT_SEPARATE[asked.test], asked.span)


def _hold(guards: Sequence[Guard], fn: Any, slots: Sequence[Any]) -> bool:
    return compile_guards(guards)(fn, slots)


class _Writer:
    """Collects the lines of a guard and the constants that they compare with."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.uses: Counter[str] = Counter()
        self.known: dict[str, str] = {}

    def count(self, paths: Iterable[str]) -> None:
        for path in dict.fromkeys(paths):
            parts = _parts(path)
            self.uses.update(set(map(parts.text, parts.links)))

    def constant(self, value: Any) -> str:
        name = self.names.setdefault(id(value), f"c{len(self.names)}")
        self.constants[name] = value  # keeps it alive, so its id stays unique
        return name

    def refuse_if(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return False")

    def evaluate(self, path: str) -> str:
        """Returns an expression for ``path``, with shared parts in variables."""
        parts = _parts(path)
        for link in parts.links:
            text = parts.text(link)
            if self.uses[text] > 1 and text not in self.known:
                name = f"p{len(self.known)}"
                self.lines.append(f"{name} = {parts.shortened(link, self.known)}")
                self.known[text] = name
        return parts.shortened(parts.tree, self.known)

    def add(self, guard: Guard) -> None:
        """Adds the lines that check one guard."""
        test, value = guard.test, guard.value
        if test == "absent":
            # Not shortened: a shared part may be absent, too.
            self.lines += [
                f"try: {guard.path}",
                "except Exception: pass",
                "else: return False",
            ]
            return
        path = self.evaluate(guard.path)
        if test in FAILURES:
            self.refuse_if(FAILURES[test].format(path=path, value=self.constant(value)))
        elif test in CHECKS:
            CHECKS[test](self, path, value)
        else:
            raise ValueError(f"{test!r} is not a test of a guard")

    def same_object(self, path: str, other: str) -> None:
        self.refuse_if(f"{path} is not {self.evaluate(other)}")

    def another_object(self, path: str, other: str) -> None:
        self.refuse_if(f"{path} is {self.evaluate(other)}")

    def no_written_parameter(self, path: str, written: Sequence[Any]) -> None:
        paths = (self.evaluate(e) if isinstance(e, str) else self.constant(e) for e in written)
        same = " or ".join(f"{path} is {each}" for each in paths)
        self.refuse_if(f"isinstance({path}, {self.constant(Parameter)}) and ({same})")

    def no_overlap_inside(self, path: str, value: Any) -> None:
        self.refuse_if(f"{self.constant(overlaps_itself)}({path})")

    def no_overlap_between(self, path: str, places: tuple[int, int]) -> None:
        first, last = places
        self.refuse_if(f"not {self.constant(are_disjoint)}({path}, {first}, {last})")

    def same_dtype_and_shape(self, path: str, value: tuple[Any, Any]) -> None:
        dtype, shape = map(self.constant, value)
        self.lines.append(f"v = {path}")
        self.refuse_if(f"v.dtype != {dtype} or v.shape != {shape}")

    def same_special_method(self, path: str, value: tuple[str, Any]) -> None:
        name, method = map(self.constant, value)
        self.refuse_if(f"{self.constant(special)}({path}, {name}) is not {method}")

    def equal(self, path: str, value: Any) -> None:
        if value is None or isinstance(value, bool):
            self.refuse_if(f"{path} is not {value}")
        elif type(value) in (int, str):
            self.lines.append(f"v = {path}")
            kind = self.constant(type(value))
            self.refuse_if(f"v.__class__ is not {kind} or v != {self.constant(value)}")
        else:
            expected = self.constant(frozen(value))
            self.refuse_if(f"not {self.constant(_identical)}({path}, {expected})")

    def same_signature(self, name: str, item: Hoisted, is_read: bool) -> None:
        type_ = item.type
        if item.read and item.path:
            self.lines.append(f"{name} = {self.evaluate(item.path)}")
            if is_read:
                self.refuse_if(f"{name}.__class__ is not {self.constant(type(item.source))}")
                if not _is_array(item.source):
                    self.lines.append(f"{name} = {name}._data")
                self.same_type(name, type_)
            return
        source = self.constant(item.source)
        if not is_read:
            self.lines.append(f"{name} = {source}")
            return
        self.lines.append(f"{name} = {source if _is_array(item.source) else source + '._data'}")
        if isinstance(type_, ScalarType):
            kind = {"int": int, "float": float, "bool": bool}[type_.kind]
            self.refuse_if(f"{name}.__class__ is not {self.constant(kind)}")
        elif isinstance(item.source, AttributeInput):
            self.refuse_if(f"not hasattr({name}, 'dtype')")
        self.same_type(name, type_)

    def same_type(self, name: str, type_: Type) -> None:
        """Adds the lines that check the dtype and shape of a type."""
        if not isinstance(type_, ArrayType):
            return
        if type_.dtype is not None:
            known = self.constant(np.dtype(type_.dtype))
            self.refuse_if(f"{name}.dtype is not {known} and {name}.dtype != {known}")
        if type_.has_static_shape:
            self.refuse_if(f"{name}.shape != {self.constant(type_.shape)}")


#: The condition under which a test fails, of a path and a constant.
FAILURES = {
    "is": "{path} is not {value}",
    "type": "type({path}) is not {value}",
    "length": "len({path}) != {value}",
    "without": "{value} in {path}",
    "without attribute": "hasattr({path}, {value})",
}
#: The other tests, by the method that writes their lines.
CHECKS: dict[str, Callable[[_Writer, str, Any], None]] = {
    "equal": _Writer.equal,
    "the same": _Writer.same_object,
    "another": _Writer.another_object,
    "like": _Writer.same_dtype_and_shape,
    "special": _Writer.same_special_method,
    "not written": _Writer.no_written_parameter,
    "whole": _Writer.no_overlap_inside,
    "apart": _Writer.no_overlap_between,
}


class _Parts:
    """A path, parsed. Its parts are pieces of its text.

    links  the attribute and item look-ups and the calls (of ``type``), innermost first.
    """

    def __init__(self, path: str):
        self.raw = path.encode()
        self.tree = ast.parse(path, mode="eval").body
        self.links = _links(self.tree)

    def text(self, node: ast.expr) -> str:
        """Returns the text that ``node`` was parsed from."""
        return self.raw[node.col_offset : node.end_col_offset].decode()

    def shortened(self, node: ast.expr, known: Mapping[str, str]) -> str:
        """Returns the text of ``node``, with variables for the longest parts that have one."""
        text = self.text(node)
        if text in known:
            return known[text]
        printed, at = "", node.col_offset
        for child in children(node):
            if isinstance(child, ast.expr):
                printed += self.raw[at : child.col_offset].decode() + self.shortened(child, known)
                at = child.end_col_offset or at
        return printed + self.raw[at : node.end_col_offset].decode()


@lru_cache(maxsize=4096)
def _parts(path: str) -> _Parts:
    return _Parts(path)


def _links(tree: ast.AST) -> list[ast.expr]:
    """Returns the look-ups and calls in a path, inner ones first."""
    links: list[ast.expr] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        waiting += children(node)
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            links.append(node)
    return links[::-1]


def _is_array(source: Any) -> bool:
    return isinstance(source, (np.ndarray, np.generic))


def _identical(left: Any, right: Any) -> bool:
    """True if both have the same type and are equal in every part. NaN equals NaN, 0.0 differs from
    -0.0."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(_identical, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(_identical(left[k], right[k]) for k in right)
    if isinstance(left, np.ndarray):
        return (
            left.dtype == right.dtype and left.shape == right.shape and bytes(left) == bytes(right)
        )
    if isinstance(left, float):
        signs = math.copysign(1.0, left) == math.copysign(1.0, right)
        return (left == right and signs) or (left != left and right != right)
    return bool(left == right)


__all__ = [
    "GuardTest",
    "check_separate_arguments",
    "compile_guards",
    "first_failed_guard",
    "guard_lines",
]
