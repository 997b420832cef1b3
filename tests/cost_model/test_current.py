"""Other thresholds are in force within a block, in its context alone, and no longer."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import faults, ops
from autodiff_compiler.cost_model import Costs, changed_costs, costs
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.passes.manager import run_until_stable

PLAIN = costs()


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    assert costs() is PLAIN
    yield
    assert costs() is PLAIN


def test_a_block_changes_the_fields_that_it_names() -> None:
    with changed_costs(large_bytes=1, tile_bytes=16) as within:
        assert within is costs()
        assert (costs().large_bytes, costs().tile_bytes) == (1, 16)
        assert costs().medium_bytes == PLAIN.medium_bytes


def test_blocks_nest() -> None:
    with changed_costs(large_bytes=1):
        with changed_costs(medium_bytes=2):
            assert (costs().large_bytes, costs().medium_bytes) == (1, 2)
        assert (costs().large_bytes, costs().medium_bytes) == (1, PLAIN.medium_bytes)


def test_an_exception_ends_a_block() -> None:
    with pytest.raises(KeyError), changed_costs(large_bytes=1):
        raise KeyError


def test_a_function_can_be_decorated() -> None:
    @changed_costs(large_bytes=1)
    def asked() -> int:
        return costs().large_bytes

    assert [asked(), costs().large_bytes, asked()] == [1, PLAIN.large_bytes, 1]


def test_only_fields_of_the_record_can_be_named() -> None:
    with pytest.raises(TypeError, match="larg_bytes"), changed_costs(larg_bytes=1):
        pass


def test_the_record_itself_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="frozen"):
        costs().large_bytes = 1  # type: ignore[misc]


def test_two_records_differ_though_their_fields_are_equal() -> None:
    assert Costs() != Costs() and len({Costs(), Costs()}) == 2


def test_other_threads_see_nothing_of_a_block() -> None:
    """Two threads change one field at the same time, a third one does not."""
    found: dict[int | None, list[int]] = {}
    meet = threading.Barrier(3)

    def ask(value: int | None) -> None:
        seen = found[value] = []
        for _ in range(20):
            meet.wait(10)
            with changed_costs(**{} if value is None else {"large_bytes": value}):
                meet.wait(10)
                seen.append(costs().large_bytes)
            seen.append(costs().large_bytes)

    threads = [threading.Thread(target=ask, args=(value,)) for value in (1, 2, None)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    plain = PLAIN.large_bytes
    assert found == {1: [1, plain] * 20, 2: [2, plain] * 20, None: [plain] * 40}


def test_a_program_that_is_compiled_on_a_large_stack_is_within_the_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(faults, "runs_users_code", lambda trace: False)
    caller = threading.get_ident()

    def attempt() -> int:
        if threading.get_ident() == caller:
            raise RecursionError
        return costs().large_bytes

    with changed_costs(large_bytes=3):
        assert faults.compiling(attempt, lambda: None) == 3


def test_passes_run_again_under_other_thresholds() -> None:
    """A pass that changed nothing in a function may change it under other thresholds."""
    function = parse_function("""
    func @f(%x: f32[64], %c: f32[]) -> (f32[64]) {
      %u: f32[64] = mul 2.0, %x  # adjoint
      %v: f32[64] = mul %c, %u  # adjoint
      return %v
    }
    """)
    with changed_costs(small_factor_ratio=1000):
        assert run_until_stable(function, ("reassociate_products",)) is function
    found = run_until_stable(function, ("reassociate_products",))
    assert found is not function
    with changed_costs(small_factor_ratio=1000):
        assert run_until_stable(function, ("reassociate_products",)) is function


def test_a_text_is_that_of_the_thresholds_in_force(memory_level: None) -> None:
    def small(x: np.ndarray) -> np.ndarray:
        return ops.sum(ops.exp(ops.sin(x)) * x)

    x = ms.Tensor(np.linspace(0.0, 1.0, 7))
    assert "out=" not in ms.gradient_source(small, x)
    with changed_costs(large_bytes=1, medium_bytes=1):
        assert "out=" in ms.gradient_source(small, x)
    assert "out=" not in ms.gradient_source(small, x)
