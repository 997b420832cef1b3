"""Constants are the numbers that they are called, and rows of 2 / pi continue each other."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from autodiff_compiler.emit.c.library.coefficients import CONSTANTS, POLYNOMIALS, TWO_OVER_PI

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def exactly(name: str, count: int) -> list[Fraction]:
    """Returns the first parts of a constant."""
    dtype = np.float32 if name.endswith("f32") else np.float64
    return [Fraction(float(dtype(each))) for each in CONSTANTS[name][:count]]


def logarithm(number: int) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(number).ln())


LOG2, LOG10 = logarithm(2), logarithm(10)
#: Each constant and how many of its parts add up to it.
VALUES: dict[str, tuple[Fraction, int]] = {
    "log2_f64": (LOG2, 2),
    "log2_f32": (LOG2, 2),
    "log10_2_f64": (LOG2 / LOG10, 2),
    "log2_e_f64": (1 / LOG2, 2),
    "log10_e_f64": (1 / LOG10, 2),
    "half_pi_f64": (PI / 2, 2),
    "half_pi_f32": (PI / 2, 2),
    "quarter_pi_f64": (PI / 4, 2),
    "pi_f64": (PI, 2),
    "pi_f32": (PI, 2),
    "turn_f64": (1 / (2 * PI), 6),
    "third_f64": (Fraction(1, 3), 2),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_parts_of_a_constant(name: str) -> None:
    value, count = VALUES[name]
    parts = exactly(name, count)
    # The last part is rounded to the digits of its dtype.
    digits = 24 if name.endswith("f32") else 53
    limit = abs(parts[-1]) / 2 ** (digits - 1)
    assert abs(sum(parts) - value) <= limit


def test_products_with_the_first_part_are_exact() -> None:
    """It has so few bits that a product with any exponent, or with any float32, is not rounded."""
    for name, bits in (("log2_f64", 41), ("log2_f32", 15), ("log10_2_f64", 41), ("turn_f64", 29)):
        for part in exactly(name, 5 if name == "turn_f64" else 1):
            assert abs(part.numerator).bit_length() <= bits, name


def test_rows_of_two_over_pi() -> None:
    rows = [sum(map(Fraction, row)) for row in TWO_OVER_PI.values()]
    assert len(rows) == 31
    assert abs(rows[0] - 2 / PI) < Fraction(1, 2**200)
    for row, following in zip(rows, rows[1:]):
        apart = (row * 2**32 - following) % 4
        assert min(apart, 4 - apart) < Fraction(1, 2**165)


def test_no_coefficient_is_lost() -> None:
    assert all(len(values) >= 3 for values in POLYNOMIALS.values())
