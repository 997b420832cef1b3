"""A field of ``Request`` reaches the key in memory and the key on disk without any further line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, ops, pipeline
from autodiff_compiler.common import context
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.fingerprint import fingerprint
from autodiff_compiler.ir.types import parse_type
from autodiff_compiler.ops.transforms.gradient import GradientFunction
from autodiff_compiler.ops.transforms.tangent import TangentFunction
from autodiff_compiler.runtime import fast_call
from autodiff_compiler.runtime.cache import CallSite
from autodiff_compiler.runtime.dispatch import ForwardCall, GradientCall, TangentCall

WEIGHT = Parameter(np.ones(2, np.float32), name="w")
X = Tensor(np.array([0.5, 1.5], np.float32))
#: For each field a value that is not the default.
OTHER: dict[str, Any] = {
    "positions": (0,),
    "weights": (WEIGHT,),
    "sens": "ones",
    "tangent": True,
    "value": False,
    "aux": True,
    "numpy": True,
    "double": True,
    "target": "c",
    "opt_level": 3,
    "stabilise": False,
    "connections": True,
}


@dataclass(frozen=True)
class Extended(Request):
    """A request with a field more, which is a setting too."""

    dialect: str = "numpy"


@pytest.fixture
def extended(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Adds the field, and returns a function that sets it."""
    monkeypatch.setattr(context, "Request", Extended)
    names = (*context.OF_REQUEST, "dialect")
    for module in (context, fast_call):
        monkeypatch.setattr(module, "OF_REQUEST", names)
    monkeypatch.setitem(context.SETTINGS, "dialect", "numpy")
    context._request.cache_clear()
    yield lambda dialect: monkeypatch.setitem(context.SETTINGS, "dialect", dialect)
    context._request.cache_clear()


def sites() -> list[CallSite]:
    return [
        ForwardCall(ops.sin, (X,), {}),
        ForwardCall(ops.sin, (), {"input": X}),
        GradientCall(GradientFunction(ops.sin), (X,), {}),
        TangentCall(TangentFunction(ops.sin, 1, (0,)), (X,)),
    ]


def disk_key(request: Request) -> str:
    program = pipeline.start(ops.sin, Request(), [parse_type("f32[2]")])
    found = fingerprint(*replace(program, request=request).facts())
    assert found is not None
    return found


def test_every_field_has_another_value_here() -> None:
    assert list(OTHER) == [each.name for each in fields(Request)]
    assert all(getattr(Request(), name) != other for name, other in OTHER.items())


@pytest.mark.parametrize("name", OTHER)
def test_every_field_changes_the_key(name: str) -> None:
    assert Request().key == Request().key
    changed = replace(Request(), **{name: OTHER[name]})
    assert changed.key == replace(Request(), **{name: OTHER[name]}).key != Request().key
    assert hash(changed.key) != hash(Request().key)


def test_weights_stand_in_the_key_by_identity() -> None:
    alike = Parameter(np.ones(2, np.float32), name="w")
    assert Request(weights=(WEIGHT,)).key != Request(weights=(alike,)).key
    assert Request(weights=(WEIGHT,)).key == Request(weights=(WEIGHT,)).key
    assert Request(weights=None).key != Request(weights=()).key


@pytest.mark.parametrize("name", [name for name in OTHER if name != "weights"])
def test_every_field_changes_the_key_on_disk(name: str) -> None:
    assert disk_key(replace(Request(), **{name: OTHER[name]})) != disk_key(Request())


def test_a_new_field_reaches_both_keys(extended: Callable[[str], None]) -> None:
    before, gradient = [site.key for site in sites()], GradientFunction(ops.sin)
    assert before == [site.key for site in sites()]
    on_disk = [disk_key(site.request()) for site in sites()]
    extended("c")
    after = sites()
    assert all(old != new.key for old, new in zip(before, after))
    requests = [site.request() for site in after]
    assert [request.dialect for request in requests] == ["c"] * 4  # type: ignore[attr-defined]
    assert all(old != disk_key(new) for old, new in zip(on_disk, requests))
    assert gradient.key != GradientFunction(ops.sin).key
    assert gradient.template.dialect == "numpy"  # type: ignore[attr-defined]


def test_a_new_field_sends_fast_calls_away(extended: Callable[[str], None]) -> None:
    ms.compile_info().clear()
    net = ms.jit(ops.sin)
    for _ in range(3):
        net(X)
    assert len(ms.compile_info()) == 1
    extended("c")
    net(X)
    assert len(ms.compile_info()) == 2
    ms.compile_info().clear()
