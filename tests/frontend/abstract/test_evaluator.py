"""The protocols of the front end have the members that their implementations have."""

from __future__ import annotations

import inspect

import pytest

from autodiff_compiler.frontend.abstract import evaluator
from autodiff_compiler.frontend.core.compilation import Compilation
from autodiff_compiler.frontend.core.handlers import Handlers
from autodiff_compiler.frontend.core.lowering import Lowering


@pytest.mark.parametrize(
    ("protocol", "implementation"),
    [
        (evaluator.Evaluator, Lowering),
        (evaluator.CompilationRecord, Compilation),
        (evaluator.IterationHandlers, Handlers),
    ],
)
def test_each_member_is_implemented_with_its_parameters(
    protocol: type, implementation: type
) -> None:
    members = {name: each for name, each in vars(protocol).items() if name[0] != "_"}
    assert members
    stored = set(getattr(implementation, "__dataclass_fields__", ()))
    stored |= set(implementation.__init__.__code__.co_names)
    for name, declared in members.items():
        if isinstance(declared, property):
            assert name in stored or isinstance(getattr(implementation, name), property), name
            continue
        wanted = list(inspect.signature(declared).parameters.values())
        if isinstance(inspect.getattr_static(implementation, name), staticmethod):
            del wanted[0]
        given = list(inspect.signature(getattr(implementation, name)).parameters.values())
        for one, other in zip(wanted, given, strict=False):
            assert (one.name, one.kind, one.default) == (other.name, other.kind, other.default)
        assert len(given) >= len(wanted)
        assert all(other.default is not other.empty for other in given[len(wanted) :]), name
