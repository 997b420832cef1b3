"""Every record in order two with a tangent in it: over the adjoint, and below it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff_compiler.ir.nodes import Function, Region
from autodiff_compiler.ir.opdef import OpDef
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.span import NOWHERE
from autodiff_compiler.testing.samples import Sample
from autodiff_compiler.transforms.reverse.sweep import gradient_function
from autodiff_compiler.transforms.tangent.sweep import tangent_function
from tests.interpreter import run
from tests.operators.test_records import SMOOTH, Program, _carries, at, directional, flat, weights


@pytest.mark.parametrize(("opdef", "sample"), SMOOTH)
def test_the_tangent_of_the_adjoint_and_the_adjoint_of_the_tangent(
    opdef: OpDef, sample: Sample
) -> None:
    program = Program(opdef, sample)
    if not _carries(program.out) or not isinstance(program.out.type, ArrayType):
        return
    body = Region(tuple(program.params), tuple(program.builder.ops), (program.out,))
    function = Function("f", body, NOWHERE)
    ct = weights(program.value())
    for n in program.active:
        if not isinstance(program.args[n], np.ndarray):
            continue
        along = weights(program.args[n], seed=11)
        gradient = gradient_function(function, (n,), sens=True)
        with np.errstate(all="ignore"):
            pushed = run(tangent_function(gradient, (n,)), [*program.args, ct, along])[1]

            def slope(x: Any, n: int = n, gradient: Function = gradient) -> Any:
                return run(gradient, [*at(program.args, n, x), ct])[0]

            expected = directional(slope, program.args[n], along)
        assert flat(pushed) == pytest.approx(expected, rel=1e-4, abs=1e-4)
        tangent = tangent_function(function, (n,))
        below = gradient_function(tangent, (n,), True, False, (1,))
        with np.errstate(all="ignore"):
            (pulled,) = run(below, [*program.args, along, ct])
        # Both are the Hessian of <ct, f> times a direction, which is symmetric.
        assert flat(pulled) == pytest.approx(flat(pushed), rel=1e-8, abs=1e-8)
