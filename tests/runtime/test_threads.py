"""Threads call functions while others change the values that these read; see
``tests/fuzz/threads.py``."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import autodiff_compiler as ad
from autodiff_compiler.frontend.core.compilation import Compilation
from tests.fuzz import threads


def test_threads_agree_with_one() -> None:
    count, wrong = threads.run(6, 120, 5)
    assert not wrong
    assert count == 6 * 120


def test_a_change_between_two_reads_is_not_compiled_mixed(monkeypatch: Any) -> None:
    """Another thread changes an attribute between two reads of the compiler."""

    class Holder:
        scale = 2.0

    holder, seen = Holder(), []
    look = Compilation.read_attribute

    def attribute(self: Compilation, owner: Any, name: str, span: Any) -> Any:
        found = look(self, owner, name, span)
        if owner is holder:
            seen.append(found)
            if len(seen) == 1:
                other = threading.Thread(target=setattr, args=(holder, "scale", 5.0))
                other.start()
                other.join()
        return found

    def twice(x: Any) -> Any:
        return np.sum(x * holder.scale) + np.sum(x * holder.scale)

    monkeypatch.setattr(Compilation, "read_attribute", attribute)
    gradient = ad.grad(twice)
    np.testing.assert_array_equal(gradient(np.ones(2)), [10.0, 10.0])
    assert seen == [2.0, 2.0, 5.0, 5.0]
    monkeypatch.undo()
    for value in (2.0, 5.0, 2.0):
        holder.scale = value
        np.testing.assert_array_equal(gradient(np.ones(2)), [2 * value, 2 * value])
