"""The loops that are measured: ours and the gradients by hand agree, and the table is whole."""

from __future__ import annotations

import pytest

from benchmarks import loops


@pytest.mark.parametrize("name", loops.CASES)
def test_both_agree_and_are_timed(name):
    ours, hand = loops.measured(name, 400, rounds=1)
    assert ours > 0 and hand > 0


def test_the_promise_is_told(monkeypatch, capsys):
    monkeypatch.setattr(loops, "SIZES", (400,))
    for measured, code in (((1.0, 1.0), 0), ((2.5, 1.0), 1)):
        monkeypatch.setattr(loops, "measured", lambda name, n, measured=measured: measured)
        assert loops.main() == code
        assert capsys.readouterr().out.count("\n") == 2 + len(loops.CASES)
