"""Workspace buffers are in one call at a time, and no result lies in one unless its block was given
away."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, ops
from autodiff_compiler.api import RUNTIME
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.runtime.buffers import Workspace, make_room
from tests.runtime.chains import arrays, chain, wanted

pytestmark = pytest.mark.usefixtures("memory_level")


def test_a_result_is_where_a_residual_was():
    """tanh(x) is saved, and backward overwrites it with the gradient: one new array for each
    call."""
    gradient = ms.value_and_grad(lambda x: ops.sum(ops.tanh(x)))
    ms.compile_info().clear()
    inputs = arrays(3)
    found = [gradient(Tensor(x))[1].asnumpy() for x in inputs]
    (unit,) = RUNTIME.cache.all()
    assert unit.compiled.donated == {0} and unit.workspace.bytes == 0
    for x, d_x in zip(inputs, found):
        np.testing.assert_allclose(d_x, 1 - np.tanh(x) ** 2, rtol=1e-4, atol=1e-6)
    assert not any(np.shares_memory(a, b) for a, b in zip(found, found[1:]))


def test_threads_have_buffers_of_their_own():
    gradient, inputs = ms.grad(chain), arrays(8)
    wrong: list[int] = []

    def work(number: int) -> None:
        x = Tensor(inputs[number])
        for _ in range(30):
            if not np.allclose(gradient(x).asnumpy(), wanted(inputs[number]), rtol=1e-4, atol=1e-5):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_buffers_are_reused_by_the_next_call_and_freed_with_the_cache():
    ms.compile_info().clear()
    gradient, (x,) = ms.grad(chain), arrays(1)
    for _ in range(3):
        gradient(Tensor(x))
    (unit,) = RUNTIME.cache.all()
    assert unit.workspace.bytes > 0 and len(unit.workspace.idle) == 1
    ms.compile_info().clear()
    assert RUNTIME.cache.all() == []


def test_the_least_recently_used_buffers_make_room():
    ms.compile_info().clear()
    functions = [lambda x, k=k: chain(x * (k + 2.5)) for k in range(3)]
    gradients, (x,) = [ms.grad(function) for function in functions], arrays(1)
    for gradient in gradients[:2]:
        gradient(Tensor(x))
    first, second = RUNTIME.cache.all()
    size = first.workspace.bytes
    with changed_costs(workspace_bytes=2 * size):
        gradients[0](Tensor(x))
        gradients[2](Tensor(x))
    idle = [len(unit.workspace.idle) for unit in (first, second, RUNTIME.cache.all()[-1])]
    assert idle == [1, 0, 1]


@changed_costs(workspace_bytes=1000)
def test_buffers_above_the_limit_are_not_reused():
    ms.compile_info().clear()
    gradient, (x,) = ms.grad(chain), arrays(1)
    np.testing.assert_allclose(gradient(Tensor(x)).asnumpy(), wanted(x), rtol=1e-5, atol=1e-6)
    (unit,) = RUNTIME.cache.all()
    assert unit.workspace.idle == []


@pytest.mark.thorough
def test_room_is_made_while_another_thread_compiles():
    known, failed = [Workspace((8,), ((), ())) for _ in range(2000)], []

    def compiles():
        while reader.is_alive():
            known.append(Workspace((8,), ((), ())))

    def makes_room():
        try:
            for _ in range(100):
                make_room(0)
        except RuntimeError as error:
            failed.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        reader, writer = threading.Thread(target=makes_room), threading.Thread(target=compiles)
        reader.start(), writer.start()
        reader.join(), writer.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed
