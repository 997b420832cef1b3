"""The decomposition of the error function: polynomials of large arrays run in existing memory.

``np.polyval`` makes two new arrays for each coefficient. After the decomposition each step is an
operation of its own. It may overwrite the result before it, and run tile by tile. The steps, their
order and the polynomials are those of the source in ``special.py``.
"""

from __future__ import annotations

__macro__ = True

from collections.abc import Callable, Sequence
from typing import Any

from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.operators.core.structure import cast
from autodiff_compiler.operators.elementwise.arithmetic import FLOATS, abs, exp, square, where

#: P in erfc(x) = P(u) exp(-x²) / (1 + 2x), u = 1 - 7.5 / (x + 3.75), for x >= 0: falling powers.
#: P(-1) is 1 to the last bit, so that erf(0) is 0.
TAIL = (
    3.1114333809799254e-10,
    -2.623107347133476e-09,
    -3.7442100809620216e-09,
    3.1979266716668055e-08,
    2.3263508708859134e-08,
    -2.4857126248016745e-07,
    -5.72182306032241e-08,
    1.7419821586224816e-06,
    -9.73559896736775e-07,
    -1.1438048033346895e-05,
    2.2384239155082227e-05,
    5.1646529741774155e-05,
    -0.00029015408054084183,
    0.00029371437804495796,
    0.0017556258528952959,
    -0.009746579683265262,
    0.0283622774189564,
    -0.058693398576649354,
    0.09230432116037748,
    -0.10880393014244463,
    0.0822767384901452,
    0.0035854154854790543,
    -0.140240598585547,
    1.2375126308378275,
)
#: For 32 bits P in erfc(x) = t P(t) exp(-x²), t = 1 / (1 + x / 2), for 0 <= x <= 10, falling
#: powers. Beyond it is 0. The relative error is 6e-8, nothing cancels, and P(1) is 1 in 32 bits.
SHORT_TAIL = (
    -0.05910190772,
    0.2847354591,
    -0.487531435,
    0.278445527,
    -0.0268855933,
    0.2027965058,
    0.243076147,
    0.2823790911,
    0.2820862029,
)


#: Q in erf(x) = x Q(x²) for |x| < 1 / 2, falling powers: the relative error is below 1e-17.
MIDDLE = (
    1.4725865480556744e-06,
    -1.4845849259707869e-05,
    0.00012053335124353741,
    -0.0008548297753674966,
    0.00522397737302147,
    -0.026866170632887928,
    0.11283791670925353,
    -0.37612638903183476,
    1.1283791670955126,
)
#: The same for 32 bits and |x| < 1, to 1e-9: 1 - erfc(x) loses no digits for larger x.
SHORT_MIDDLE = (
    7.853805784e-05,
    -0.0008010176791,
    0.005188325769,
    -0.02685381093,
    0.1128358512,
    -0.3761262582,
    1.128379166,
)


def falling(powers: Sequence[float], x: Any) -> Any:
    """Returns the polynomial with these coefficients, the highest power first, by Horner's rule."""
    result = powers[0] * x + powers[1]
    for each in powers[2:]:
        result = result * x + each
    return result


def erfc_parts(x: Any) -> Any:
    """Decomposes erfc(x) = 1 - erf(x).

    The square is computed in 64 bits, since the exponential magnifies its rounding. The result is t
    for x >= 0, else 2 - t, computed as |0 - t| or |2 - t|: a branch on the sign would be
    mispredicted.
    """
    if x.dtype_name not in FLOATS:
        return None
    tail = _tail(x, lambda size: cast(exp(-square(cast(size, dtype="float64"))), dtype="float32"))
    return abs(1.0 - OPERATORS["copysign"](1.0, x) - tail)


def erf_parts(x: Any) -> Any:
    """Decomposes erf(x), with a polynomial of its own where 1 - erfc(x) would lose digits."""
    if x.dtype_name not in FLOATS:
        return None
    limit, powers = (1.0, SHORT_MIDDLE) if x.dtype_name == "float32" else (0.5, MIDDLE)
    tail = _tail(x, lambda size: exp(-square(size)))
    near = x * falling(powers, square(x))
    return where(abs(x) < limit, near, OPERATORS["copysign"](1.0 - tail, x))


def _tail(x: Any, power: Callable[[Any], Any]) -> Any:
    """Returns erfc(|x|); ``power`` computes exp(-x²) in 32 bits."""
    size = abs(x)
    if x.dtype_name == "float64":
        middle = falling(TAIL, 1.0 - 7.5 / (size + 3.75))
        return middle * exp(-square(size)) / (1.0 + 2.0 * size)
    t = 1.0 / (1.0 + 0.5 * size)
    return t * falling(SHORT_TAIL, t) * power(size)
