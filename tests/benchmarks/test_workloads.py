"""What is measured is right: our gradients against those written by hand, and the table's check."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks import ours
from benchmarks.__main__ import main
from benchmarks.table import Row, compare, markdown
from benchmarks.workloads import WORKLOADS

SMALL = [name for name in WORKLOADS if name not in ("mlp_large", "chain_1e7")]


@pytest.mark.parametrize("name", SMALL)
def test_the_gradient_is_the_hand_written_one(name):
    work = WORKLOADS[name]()
    compare(name, ours.arrays(ours.CALLS[name](work)()), ours.arrays(work.answer()), work)


def test_a_wrong_sign_is_noticed():
    work = WORKLOADS["chain_1e3"]()
    value, d_x = work.answer()
    with pytest.raises(AssertionError, match="array 1 is off"):
        compare("chain_1e3", [value, -d_x], [value, d_x], dataclasses.replace(work))


def test_every_workload_is_written_for_us():
    assert list(WORKLOADS) == list(ours.CALLS)


def test_the_table_ends_in_the_geometric_mean():
    rows = [Row("a", 0.5, 1.0, 0.001), Row("b", 2.0, 1.0, 0.002)]
    assert markdown(rows).endswith("| geometric mean | 1.00 | | |")


def test_an_unknown_name_is_told(capsys):
    assert main(["nothing"]) == 2
    assert "no workload nothing" in capsys.readouterr().err
