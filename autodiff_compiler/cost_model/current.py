"""The thresholds in force, and blocks in which others are in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from autodiff_compiler.cost_model.record import Costs

_IN_FORCE = ContextVar("costs", default=Costs())  # noqa: B039 - the record is frozen

#: Returns the thresholds in force.
costs: Callable[[], Costs] = _IN_FORCE.get


@contextmanager
def changed_costs(**fields: Any) -> Iterator[Costs]:
    """Puts other values of these fields in force within a block, or a function that it decorates.

    Fields that are not named stay as they are, so blocks nest.
    """
    token = _IN_FORCE.set(costs().changed(**fields))
    try:
        yield costs()
    finally:
        _IN_FORCE.reset(token)


__all__ = ["changed_costs", "costs"]
