"""The tree of a Cell: buffers, state, flags. The behaviour is that of MindSpore."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops


class Shift(nn.Cell):
    def __init__(self):
        super().__init__()
        self.register_buffer("by", Tensor([3.0]))
        self.register_buffer("scratch", Tensor([0.0]), persistent=False)
        self.w = Parameter(Tensor([1.0]))
        self.kid = nn.Dense(1, 1)

    def construct(self, x):
        return x * self.by * self.w


class Around(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Shift()


def test_buffers_are_no_parameters() -> None:
    net = Around()
    paths = ["inner.w", "inner.by", "inner.kid.weight", "inner.kid.bias"]
    assert list(net.state_dict()) == paths
    assert list(net.state_dict(prefix="a.")) == [f"a.{path}" for path in paths]
    assert [p.name for p in net.get_parameters()] == [p for p in paths if p != "inner.by"]
    assert [path for path, _ in net.named_buffers()] == ["inner.by", "inner.scratch"]
    assert list(net.buffers(recurse=False)) == []
    d_x, (d_w, *_) = ms.grad(net.inner, 0, net.inner.trainable_params())(Tensor([2.0]))
    assert d_x.tolist() == [3] and d_w.tolist() == [6]
    net.inner.by = Tensor([5.0])
    assert ms.grad(net.inner)(Tensor([2.0])).tolist() == [5]
    net.inner.by = None
    assert [path for path, _ in net.named_buffers()] == ["inner.scratch"]
    assert "inner.by" not in net.state_dict()
    del net.inner.scratch
    assert list(net.buffers()) == [] and not hasattr(net.inner, "scratch")


def test_buffers_that_are_refused() -> None:
    cell = Shift()
    with pytest.raises(TypeError, match="object to buffer 'q'"):
        cell.register_buffer("q", 3)
    with pytest.raises(KeyError, match="attribute 'w' already exists"):
        cell.register_buffer("w", Tensor([1.0]))
    with pytest.raises(KeyError, match="must not be empty or contain a dot"):
        cell.register_buffer("a.b", Tensor([1.0]))
    with pytest.raises(TypeError, match="Buffer 'by' already exists"):
        cell.by = 3


def test_the_state_goes_over() -> None:
    one, other = Around(), Around()
    one.inner.by.assign_value(Tensor([8.0]))
    assert repr(other.load_state_dict(one.state_dict())) == "<All keys matched successfully>"
    for mine, theirs in zip(one.state_dict().values(), other.state_dict().values()):
        assert mine is not theirs and mine.tolist() == theirs.tolist()
    keys = other.load_state_dict({"inner.w": Tensor(np.array([9.0])), "zz": 1.0}, strict=False)
    assert keys.missing_keys == ["inner.by", "inner.kid.weight", "inner.kid.bias"]
    assert keys.unexpected_keys == ["zz"]
    assert other.inner.w.tolist() == [9] and other.inner.w.dtype == ms.float32


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    net = Around()
    wrong = {"inner.w": Tensor([7.0]), "zz": Tensor([1.0]), "inner.by": Tensor([1.0, 2.0])}
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(wrong)
    assert str(caught.value).splitlines() == [
        "Error(s) in loading state_dict for Around:",
        "\tsize mismatch for inner.by: its shape is (1,), but the value has the shape (2,).",
        "\tMissing key(s) in state_dict: inner.kid.weight, inner.kid.bias.",
        "\tUnexpected key(s) in state_dict: zz.",
    ]
    assert net.inner.w.tolist() == [1]


def test_flags() -> None:
    net = Around()
    assert net.add_flags(a=1) is net
    assert net.get_flags() == {"a": 1} and net.a == 1
    net.inner.add_flags_recursive(fast=True)
    assert net.inner.kid.fast and not hasattr(net, "fast")


def test_cells_by_their_paths() -> None:
    net = Around()
    assert net.get_sub_cell("inner.kid") is net.inner.kid and net.get_sub_cell("") is net
    with pytest.raises(AttributeError, match="Shift has no cell `z`"):
        net.get_sub_cell("inner.z")
    assert [path for path, _ in net.cells_and_names([net.inner.kid], "net")] == ["net", "net.inner"]


def test_a_slice_of_a_sequence_keeps_the_names() -> None:
    seq = nn.SequentialCell(nn.ReLU(), nn.Dense(1, 1), nn.Dense(1, 2))[1:]
    assert list(seq.name_cells()) == ["1", "2"]
    seq.append(nn.Dense(2, 1))
    assert list(seq.name_cells()) == ["1", "2", "3"]
    assert seq(ops.ones((1, 1))).shape == (1, 1)
    assert list(nn.CellList([nn.ReLU(), nn.ReLU()])[1:].name_cells()) == ["0"]
