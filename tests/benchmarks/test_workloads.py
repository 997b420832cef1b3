"""What is measured is right: our gradients against those written by hand."""

from __future__ import annotations

import pytest

from benchmarks.__main__ import main
from benchmarks.peers import ours, ours_default
from benchmarks.workloads import WORKLOADS

SMALL = [name for name in WORKLOADS if name not in ("mlp_large", "chain_1e7")]


@pytest.mark.usefixtures("memory_level")
@pytest.mark.parametrize("runner", [ours, ours_default], ids=["level 2", "level 1"])
@pytest.mark.parametrize("name", SMALL)
def test_the_gradient_is_the_hand_written_one(name, runner):
    work = WORKLOADS[name]()
    work.check(runner.arrays(runner.make(work)()))


def test_a_wrong_sign_is_noticed():
    work = WORKLOADS["chain_1e3"]()
    value, d_x = work.answer()
    with pytest.raises(AssertionError, match="array 1 is off"):
        work.check([value, -d_x])


def test_a_wrong_shape_is_noticed():
    work = WORKLOADS["line"]()
    with pytest.raises(AssertionError, match="array 2 is"):
        work.check([array[None] if place == 2 else array
                    for place, array in enumerate(work.answer())])  # fmt: skip


def test_an_unknown_name_is_told(capsys):
    assert main(["nothing"]) == 2
    assert "no workload nothing" in capsys.readouterr().err
