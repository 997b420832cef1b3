"""Counts the elements that a NumPy text touches: what every operation on arrays and lists reads and
writes. A view touches none, nor does what is only allocated; an item touches itself.

The text is run with arrays of a subclass that counts, and with lists of one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from autodiff_compiler.interface.compiled import Compiled
from autodiff_compiler.runtime import compiled_function
from autodiff_compiler.runtime.loader import Loaded


class Count:
    """How many elements were touched so far."""

    def __init__(self) -> None:
        self.touched = 0

    def add(self, *things: Any) -> None:
        """Counts each of ``things`` as read or written, and one for the operation."""
        self.touched += 1 + sum(map(_size, things))


def _size(thing: Any) -> int:
    if isinstance(thing, (tuple, list)):
        return sum(map(_size, thing))
    return int(thing.size) if isinstance(thing, np.ndarray) else 0


def _plain(thing: Any) -> Any:
    if isinstance(thing, (tuple, list)):
        return tuple(map(_plain, thing)) if isinstance(thing, tuple) else list(map(_plain, thing))
    if isinstance(thing, dict):
        return {key: _plain(item) for key, item in thing.items()}
    return thing.view(np.ndarray) if isinstance(thing, np.ndarray) else thing


class Counted:
    """The two subclasses and the module ``np`` that add to one ``count``."""

    def __init__(self) -> None:  # noqa: C901
        count = self.count = Count()

        class Array(np.ndarray):
            def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
                found = getattr(ufunc, method)(*_plain(args), **_plain(kwargs))
                # ``np.add.at`` touches what it names; all others all that they are given.
                count.add(args[1:] if method == "at" else args, kwargs.get("out", found))
                return wrap(found)

            def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
                return call(func, args, kwargs)

            def __getitem__(self, index: Any) -> Any:
                plain = self.view(np.ndarray)
                found = plain[_plain(index)]
                whole = isinstance(found, np.ndarray) and np.may_share_memory(found, plain)
                count.add(() if whole else found)
                return wrap(found)

            def __setitem__(self, index: Any, value: Any) -> None:
                plain = self.view(np.ndarray)
                plain[_plain(index)] = _plain(value)
                count.add(plain[_plain(index)])

        for name in ("copy", "astype", "take", "tolist", "flatten", "repeat", "dot", "put"):

            def method(self: Any, *args: Any, _name: str = name, **kwargs: Any) -> Any:
                found = getattr(self.view(np.ndarray), _name)(*_plain(args), **_plain(kwargs))
                count.add(args, found, () if _name in ("take", "put") else self)
                return wrap(found)

            setattr(Array, name, method)

        class List(list):
            def __getitem__(self, index: Any) -> Any:
                found = super().__getitem__(index)
                count.touched += len(found) if isinstance(index, slice) else 1
                return List(found) if isinstance(index, slice) else found

            def __add__(self, other: Any) -> Any:
                count.touched += len(self) + len(other)
                return List([*self, *other])

            def __mul__(self, times: Any) -> Any:
                count.touched += len(self) * times
                return List(list(self) * times)

            def copy(self) -> Any:
                count.touched += len(self)
                return List(self)

            def append(self, item: Any) -> None:
                count.touched += 1
                super().append(item)

        def wrap(found: Any) -> Any:
            if type(found) is tuple:
                return tuple(map(wrap, found))
            if type(found) is list:
                return List(map(wrap, found))
            return found.view(Array) if type(found) is np.ndarray else found

        def call(func: Any, args: Any, kwargs: Any) -> Any:
            plain = _plain(args)
            found = func(*plain, **_plain(kwargs))
            arrays = [each for each in plain if isinstance(each, np.ndarray)]
            if isinstance(found, np.ndarray) and any(np.shares_memory(found, a) for a in arrays):
                count.add()
            else:
                count.add(() if func in (np.empty, np.empty_like) else found, plain)
            return wrap(found)

        def counted(function: Any) -> Any:
            if isinstance(function, (type, np.ufunc)) or not callable(function):
                return function
            return lambda *args, **kwargs: call(function, args, kwargs)

        self.list, self.wrap = List, wrap
        self.module = ModuleType("numpy")
        self.module.__getattr__ = lambda name: counted(getattr(np, name))

    def text(self, source: str) -> dict[str, Any]:
        """The functions of a text, which count."""
        tree = _Lists().visit(ast.parse(source))
        known: dict[str, Any] = {"__name__": None}
        tree.body = [each for each in tree.body if ast.unparse(each) != "import numpy as np"]
        known.update({"np": self.module, "_list": self.list})
        exec(compile(ast.fix_missing_locations(tree), "<counted>", "exec"), known)
        return known

    def function(self, function: FunctionType) -> Callable[..., Any]:
        """A NumPy function of the user's, which counts."""
        known = {**function.__globals__, "np": self.module}
        for name, each in known.items():
            if isinstance(each, FunctionType) and each.__module__ == function.__module__:
                known[name] = FunctionType(each.__code__, known, name, each.__defaults__)
        return FunctionType(function.__code__, known, function.__name__)


class _Lists(ast.NodeTransformer):
    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store):
            return node
        return ast.Call(ast.Name("_list", ast.Load()), [node], [])


def touched_by_function(function: FunctionType, args: Sequence[Any]) -> int:
    """How many elements ``function`` touches for ``args``."""
    counted = Counted()
    counted.function(function)(*map(counted.wrap, args))
    return counted.count.touched


def touched_by_text(source: str, args: Sequence[Any]) -> list[int]:
    """How many elements the function of ``source`` that comes last touches; or its forward and its
    backward function, if it has those."""
    counted = Counted()
    known = counted.text(source)
    made = [known[name] for name in known if getattr(known[name], "__module__", "") is None]
    halves = [each for each in made if each.__name__.endswith(("_forward", "_backward"))]
    given, touched = tuple(map(counted.wrap, args)), []
    for function in halves[-2:] or made[-1:]:
        before = counted.count.touched
        given = (function(*given),)
        touched.append(counted.count.touched - before)
    return touched


@contextmanager
def counted_calls() -> Iterator[list[int]]:
    """Counts what each half that is loaded meanwhile touches, call by call."""
    touched: list[int] = []

    def load(compiled: Compiled, name: str) -> Loaded:
        counted = Counted()
        known = counted.text(compiled.source)

        def counts(half: Any) -> Any:
            def call(*args: Any) -> Any:
                before = counted.count.touched
                found = half(*map(counted.wrap, args))
                touched.append(counted.count.touched - before)
                return _plain(found)

            return call

        for name in filter(None, (compiled.forward, compiled.backward)):
            known[name] = counts(known[name])
        return Loaded(compiled, "<counted>", known)

    loads, compiled_function.load = compiled_function.load, load
    try:
        yield touched
    finally:
        compiled_function.load = loads
