"""Names of callees in the generated source."""

from __future__ import annotations

import numpy as np

import autodiff_compiler as ms


class Spring:
    def __init__(self, stretch):
        self.stretch = stretch

    def energy(self):
        return (self.stretch * self.stretch).sum()


def test_a_method_of_an_object_is_printed_under_the_name_of_its_class():
    def both(x, y):
        return Spring(x).energy() + Spring(y * 2.0).energy()

    text = ms.gradient_source(both, np.ones(2), np.ones(2))
    assert "# Spring.energy (" in text and "spring_energy_forward(" in text
