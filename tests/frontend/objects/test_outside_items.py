"""Written items of outside dicts, also by methods that set attributes through them.

Value, gradient and the dicts' contents after each call are Python's.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.errors import CompileError
from tests.frontend.objects.test_attribute_protocol import in_a_function

X = np.array([1.0, 2.0, 3.0])


class Holder:
    """Holds the given attributes."""

    def __init__(self, **held):
        self.__dict__.update(held)


def sets(thing, x):
    thing.v = x + 1
    return (thing.v * x).sum()


class ByDict:
    """Sets attributes in its ``__dict__``."""

    def __init__(self):
        self.__dict__["v"] = np.ones(3)

    def __setattr__(self, name, value):
        self.__dict__[name] = value * 2


class ByVars(ByDict):
    def __setattr__(self, name, value):
        vars(self)[name] = value * 3


class Named:
    """A data descriptor that keeps its value under its own name."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, thing, kind=None):
        return thing.__dict__[self.name] * 2

    def __set__(self, thing, value):
        thing.__dict__[self.name] = value * 3


class Described:
    v = Named()

    def __init__(self):
        self.v = np.ones(3)


class Registry:
    """Keeps arrays in a dict of its own, as modules keep their parameters."""

    def __init__(self):
        object.__setattr__(self, "params", {"v": np.ones(3), "other": np.full(3, 2.0)})

    def __setattr__(self, name, value):
        if isinstance(value, np.ndarray):
            self.params[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        if name == "params" or name not in self.params:
            raise AttributeError(name)
        return self.params[name]


class AttrDict(dict):
    """A dict whose items are attributes."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value


class Config(AttrDict):
    def __init__(self):
        super().__init__(v=np.ones(3))


KINDS = [ByDict, ByVars, Described, Registry, Config]


def in_a_loop(thing, x):
    for _ in range(3):
        thing.v = thing.v * 0.5 + x
    return (thing.v * x).sum()


def in_a_while(thing, x):
    count = 0
    while count < 3:
        thing.v = thing.v * 0.5 + x
        count += 1
    return (thing.v * x).sum()


def in_a_branch(thing, x):
    if x.sum() > 7:
        thing.v = x * 3
    else:
        thing.v = x
    return (thing.v * x).sum()


def held(thing: Any) -> dict[str, Any]:
    found = {**thing} if isinstance(thing, dict) else {**vars(thing)}
    inside = found.pop("params", {})
    return {**found, **inside}


def slope(function: Any) -> np.ndarray:
    steps = np.eye(3) * 1e-6
    return np.array([(function(X + step) - function(X - step)) / 2e-6 for step in steps])


@pytest.mark.parametrize("use", [sets, in_a_loop, in_a_while, in_a_branch, in_a_function])
@pytest.mark.parametrize("kind", KINDS)
def test_attributes_that_are_items_of_dicts(kind: Any, use: Any) -> None:
    plain, thing = kind(), kind()
    gradient = ms.value_and_grad(lambda x: use(thing, x))
    slopes = slope(lambda x: use(kind(), x))
    for factor in (1.0, 2.0, 3.0):
        value, found = gradient(X * factor)
        np.testing.assert_allclose(value, use(plain, X * factor))
        assert held(thing).keys() == held(plain).keys()
        for name, item in held(plain).items():
            np.testing.assert_allclose(held(thing)[name], item)
        if factor == 1.0:
            np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("use", [sets, in_a_branch, in_a_function])
def test_an_attribute_that_is_a_new_item_of_a_dict(use: Any) -> None:
    plain, thing = AttrDict(), AttrDict()
    gradient = ms.value_and_grad(lambda x: use(thing, x))
    for factor in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(gradient(X * factor)[0], use(plain, X * factor))
        np.testing.assert_allclose(thing["v"], plain["v"])


@pytest.mark.parametrize("kind", [ByDict, ByVars])
@pytest.mark.parametrize("use", [sets, in_a_loop, in_a_branch])
def test_objects_that_compiled_code_makes_set_in_their_dict(kind: Any, use: Any) -> None:
    def program(x):
        thing = kind()
        thing.__dict__["w"] = x
        known = 2.0 if "w" in thing.__dict__ and "other" not in vars(thing) else 1.0
        return use(thing, x) + (vars(thing)["w"] * known).sum()

    value, found = ms.value_and_grad(program)(X)
    np.testing.assert_allclose(value, program(X))
    np.testing.assert_allclose(found, slope(program), rtol=1e-6, atol=1e-6)


def test_items_of_dicts_from_outside_are_written_and_read_under_every_name() -> None:
    def make() -> Any:
        return Holder(
            p={"v": np.ones(3), 3: np.full(3, 2.0), "n": 1.0},
            rows=[{"v": np.ones(3)}, {"v": np.full(3, 4.0)}],
        )

    def program(thing, x):
        same = thing.p
        thing.p["v"] = thing.p["v"] + x
        same[3] = same["v"] * 2
        same["n"] += 1
        for row in thing.rows:
            row["v"] = row["v"] * 0.5 + x
        if "new" not in same:
            same["new"] = x * same["n"]
        return (thing.p[3] * same["v"] * thing.p["new"] * thing.rows[1]["v"]).sum()

    plain, thing = make(), make()
    gradient = ms.value_and_grad(lambda x: program(thing, x))
    np.testing.assert_allclose(gradient(X)[1], slope(lambda x: program(make(), x)), rtol=1e-6)
    program(plain, X)
    for _ in range(2):
        np.testing.assert_allclose(gradient(X)[0], program(plain, X))
    for name, item in plain.p.items():
        np.testing.assert_allclose(thing.p[name], item)
    thing.p = {**thing.p, "v": np.zeros(3)}  # another dict is another place to write to
    plain.p = {**plain.p, "v": np.zeros(3)}
    np.testing.assert_allclose(gradient(X)[0], program(plain, X))
    np.testing.assert_allclose(thing.p["v"], X)


@pytest.mark.parametrize(
    "use",
    [lambda d: len(d), lambda d: list(d), lambda d: dict(d)["v"], lambda d: d.get("v"),
     lambda d: [v for v in d.values()][0], lambda d: sum(v.sum() for _, v in d.items())],
)  # fmt: skip
def test_a_dict_of_which_items_are_written_is_not_read_as_a_whole(use: Any) -> None:
    thing = {"v": np.ones(3)}

    def program(x):
        thing["new"] = x
        use(thing)
        return (thing["new"] * x).sum()

    with pytest.raises(CompileError, match="writes its item 'new'") as told:
        ms.grad(program)(X)
    assert told.value.problems[0].span.file == __file__
    assert list(thing) == ["v"]


def test_the_dict_of_an_object_that_is_written_is_not_read_as_a_whole() -> None:
    thing = Holder(v=np.ones(3))

    def program(x):
        thing.v = x
        return (thing.__dict__["v"] * x).sum() * len(vars(thing).items())

    with pytest.raises(CompileError, match="writes its item 'v'"):
        ms.grad(program)(X)


class Observed:
    def __init__(self):
        self.__dict__.update(v=np.ones(3), log=[])

    def __setattr__(self, name, value):
        self.log.append(name)
        object.__setattr__(self, name, value)


class Locked:
    def __init__(self):
        self.__dict__.update(v=np.ones(3), lock=threading.Lock())

    def __setattr__(self, name, value):
        with self.lock:
            object.__setattr__(self, name, value)


@pytest.mark.parametrize(
    ("kind", "cause"), [(Observed, "'append' changes a list"), (Locked, "context manager")]
)
def test_refusals_inside_a_setting_method_are_reported_at_the_assignment(
    kind: Any, cause: str
) -> None:
    thing = kind()
    with pytest.raises(CompileError) as told:
        ms.grad(lambda x: sets(thing, x))(X)
    for problem in told.value.problems:
        assert problem.span.line == sets.__code__.co_firstlineno + 1
        assert f"setting 'v' runs {kind.__name__}.__setattr__, where" in problem.cause
        assert cause in problem.cause
        assert "after the call" in problem.cure


def test_a_dict_that_is_an_argument_is_not_written() -> None:
    given = {"v": 2.0}

    def program(x, d):
        d["v"] = d["v"] * 2
        return x.sum() * d["v"]

    with pytest.raises(CompileError, match="items of a dict cannot be set here"):
        ms.grad(program)(X, given)
    assert given == {"v": 2.0}
