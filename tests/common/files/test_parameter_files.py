"""Checkpoints: there and back, what is refused, and that nothing is left half done."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn


def net() -> nn.Cell:
    return nn.SequentialCell(nn.Dense(2, 3), nn.BatchNorm1d(3))


def values(cell: nn.Cell) -> list[list[float]]:
    return [parameter.asnumpy().ravel().tolist() for parameter in cell.get_parameters()]


def test_there_and_back(tmp_path: Path) -> None:
    one, other, path = net(), net(), tmp_path / "a.ckpt"
    ms.save_checkpoint(one, path)
    found = ms.load_checkpoint(str(path))
    assert list(found) == [parameter.name for parameter in one.get_parameters()]
    assert found["0.weight"].shape == (3, 2) and found["0.weight"].dtype == ms.float32
    assert ms.load_param_into_net(other, found) == ([], [])
    assert values(other) == values(one)
    third = net()
    ms.load_checkpoint(path, third)
    assert values(third) == values(one)
    assert [file.name for file in tmp_path.iterdir()] == ["a.ckpt"]
    ms.save_checkpoint([{"name": "n", "data": Tensor([1, 2])}], path)
    assert ms.load_checkpoint(path)["n"].asnumpy().tolist() == [1, 2]


def test_names_that_do_not_meet() -> None:
    given = {"0.bias": Parameter(np.ones(3, np.float16)), "more": Parameter(np.ones(1, np.float32))}
    cell = net()
    missing, unknown = ms.load_param_into_net(cell, given)
    assert unknown == ["more"] and "0.bias" not in missing and "0.weight" in missing
    assert values(cell)[1] == [1, 1, 1]


def test_parts_of_a_net(tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    ms.save_checkpoint(net(), path, append_dict={"epoch": 3, "rate": 0.5},
                       choice_func=lambda name: not name.endswith("bias"))  # fmt: skip
    found = ms.load_checkpoint(path)
    norm = ["1.moving_mean", "1.moving_variance", "1.gamma", "1.beta"]
    assert list(found) == ["0.weight", *norm, "epoch", "rate"]
    assert found["epoch"].asnumpy() == 3 and found["rate"].asnumpy() == 0.5
    chosen = ms.load_checkpoint(path, specify_prefix=("0.", "1."), filter_prefix="1.moving_m",
                                choice_func=lambda name: name != "1.beta")  # fmt: skip
    assert list(chosen) == ["0.weight", "1.moving_variance", "1.gamma"]
    assert list(ms.load_checkpoint(path, filter_prefix=None, specify_prefix=None)) == list(found)
    with pytest.raises(ValueError, match="two Parameters have the same name"):
        ms.save_checkpoint(net(), path, append_dict={"0.bias": 1.0})


def test_a_prefix_that_all_names_have_is_taken_away() -> None:
    one, other = net(), net()
    given = {f"backbone.{p.name}": p.clone() for p in one.get_parameters()}
    assert ms.load_param_into_net(other, {**given, "more": Parameter(1.0)}) == ([], ["more"])
    assert values(other) == values(one)
    del given["backbone.1.beta"]
    third = net()
    before = values(third)
    missing, unknown = ms.load_param_into_net(third, given)
    assert len(missing) == 6 and unknown == list(given) and values(third) == before


def test_a_net_stays_as_it_was(tmp_path: Path) -> None:
    cell = net()
    before = values(cell)
    wrong = {"0.bias": Parameter(np.ones(3, np.float32)), "0.weight": Parameter(np.ones(2))}
    with pytest.raises(RuntimeError, match="0.weight .* should have the same shape"):
        ms.load_param_into_net(cell, wrong)
    half = {"0.bias": Parameter(np.ones(3, np.float16))}
    with pytest.raises(RuntimeError, match="the same type"):
        ms.load_param_into_net(cell, half, strict_load=True)
    path = tmp_path / "a.ckpt"
    ms.save_checkpoint(net(), path)
    whole = path.read_bytes()
    for text in (b"hello", whole[: len(whole) // 2], whole[:80] + b"\xff" * 20 + whole[100:]):
        path.write_bytes(text)
        with pytest.raises(ValueError, match="it is damaged, or is not a checkpoint"):
            ms.load_checkpoint(path, cell)
    assert values(cell) == before
    np.savez(path.open("wb"), a=np.array([object()]))
    with pytest.raises(ValueError, match="damaged"):
        ms.load_checkpoint(path)


def test_others_may_read_a_file_as_they_may_any_new_one(tmp_path: Path) -> None:
    ms.save_checkpoint(net(), tmp_path / "a.ckpt")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "a.ckpt").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    ms.save_checkpoint({"w": Tensor([1.0])}, path)
    with pytest.raises(TypeError, match="must have a name and a Tensor"):
        ms.save_checkpoint({"w": np.ones(2)}, path)
    with pytest.raises(ValueError, match="no directory"):
        ms.save_checkpoint(net(), tmp_path / "none" / "a.ckpt")
    with pytest.raises(ValueError, match="does not exist"):
        ms.load_checkpoint(tmp_path / "b.ckpt")
    assert ms.load_checkpoint(path)["w"].asnumpy().tolist() == [1.0]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.thorough
def test_a_damaged_file_is_a_value_error(tmp_path: Path) -> None:
    file = tmp_path / "net.ckpt"
    ms.save_checkpoint(net(), file)
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    damaged = [whole[:end] for end in range(len(whole))]
    damaged += [rng.bytes(300), pickle.dumps([1, 2]), b"PK\x05\x06" + bytes(18)[:-1]]
    for _ in range(300):
        changed = bytearray(whole)
        for place in rng.integers(len(whole), size=3):
            changed[place] = rng.integers(256)
        damaged.append(bytes(changed))
    for contents in damaged:
        file.write_bytes(contents)
        cell = net()
        before = values(cell)
        try:
            ms.load_checkpoint(file)
        except ValueError as error:
            assert "checkpoint" in str(error)
            with pytest.raises(ValueError, match="checkpoint"):
                ms.load_checkpoint(file, cell)
            assert values(cell) == before
    with pytest.raises(ValueError, match="checkpoint"):
        ms.load_checkpoint(tmp_path)


def test_errors_of_choice_func_are_raised(tmp_path: Path) -> None:
    file = tmp_path / "net.ckpt"
    ms.save_checkpoint(net(), file)

    def choose(name: str) -> bool:
        raise KeyError(name)

    with pytest.raises(KeyError):
        ms.load_checkpoint(file, choice_func=choose)
