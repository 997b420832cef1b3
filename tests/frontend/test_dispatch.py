"""The files of the front end that lowering a plain statement goes through.

What a statement needs is chosen by tables: no module is entered to ask if the case is its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gast
import numpy as np

import autodiff_compiler
from autodiff_compiler import Parameter, Tensor, grad, nn
from autodiff_compiler.frontend import dispatch

FRONTEND = Path(autodiff_compiler.__file__).parent / "frontend"


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.z = Parameter(Tensor(np.array([2.0], np.float32)), name="z")

    def construct(self, x):
        x = x * self.z
        return x


def test_a_product_with_a_parameter_is_lowered_in_six_files(monkeypatch):
    entered = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and FRONTEND in path.parents:
            entered.add(path.relative_to(FRONTEND).as_posix())

    handler = dispatch.STATEMENTS[gast.Assign]

    def traced(low, node):
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            return handler(low, node)
        finally:
            sys.setprofile(before)

    monkeypatch.setitem(dispatch.STATEMENTS, gast.Assign, traced)
    assert grad(Scale())(Tensor(np.ones(3, np.float32))).tolist() == [2, 2, 2]
    assert entered == {
        "statements/simple.py",
        "expressions/evaluation.py",
        "expressions/arithmetic.py",
        "objects/attribute_protocol.py",
        "core/guards.py",
        "core/lowering.py",
    }
