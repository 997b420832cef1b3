"""The modules that MindSpore's programs import functions and operators from: each has the names
that MindSpore's module of that name has, and they are the same functions."""

import pytest

from autodiff_compiler import ops
from autodiff_compiler.ops import composite, functional, operations

DERIVATIVES = (
    "derivative", "get_grad", "grad", "jacfwd", "jacrev", "jet", "jvp", "linearize",
    "stop_gradient", "value_and_grad", "vjp", "vmap",
)  # fmt: skip


@pytest.mark.parametrize(
    "module, names",
    [
        (functional, DERIVATIVES),
        (composite, ("GradOperation", "HyperMap", "Map", "MultitypeFuncGraph")),
        (operations, ("HookBackward", "InsertGradientOf", "Assign", "MatMul")),
    ],
)
def test_a_module_has_the_names_that_mindspores_has(module, names):
    for name in names:
        assert getattr(module, name) is getattr(ops, name), name
