"""Programs import from the files that MindSpore is divided into."""

from __future__ import annotations

import importlib
import importlib.util
import sys

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, mindspore_paths, nn, ops

NAMES = """
_extends cell_attr_register
common.api jit
common.initializer _calculate_fan_in_and_fan_out
common.mutable mutable
common.parameter Parameter
common.parameter _is_parameter_generated
common.seed set_seed
common.tensor Tensor
context set_context
log warning
ops.composite GradOperation
ops.functional tensor_add
ops.operations TupleToArray
ops.primitive constexpr
train.serialization load_param_into_net
"""

PATHS = mindspore_paths.paths(ms)
#: MindSpore's modules that are modules here, too; ``PATHS`` has the others.
MODULES = (
    "amp",
    "common",
    "common.dtype",
    "common.initializer",
    "common.mutable",
    "common.parameter",
    "common.tensor",
    "nn",
    "numpy",
    "ops",
    "ops.composite",
    "ops.functional",
    "ops.operations",
)


@pytest.mark.parametrize("row", NAMES.split("\n")[1:-1])
def test_a_name_is_found_where_mindspore_has_it(row: str) -> None:
    path, name = row.split()
    assert callable(getattr(importlib.import_module(f"autodiff_compiler.{path}"), name))


@pytest.mark.parametrize("path", [*MODULES, *PATHS])
def test_every_module_of_mindspore_imports(path: str) -> None:
    module = importlib.import_module(f"autodiff_compiler.{path}")
    assert [name for name in vars(module) if not name.startswith("_")]


def test_paths_are_attributes_too() -> None:
    assert ms.context.set_context is ms.set_context
    assert all(path.split(".")[0] in vars(ms) for path in PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_can_be_the_first_that_is_imported(path: str) -> None:
    above = path.rpartition(".")[0]  # Python imports it first
    assert not above or f"autodiff_compiler.{above}" in sys.modules


def test_other_paths_do_not_exist() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("autodiff_compiler.nn.layer.quant")


def test_older_names_of_operators() -> None:
    x, y = Tensor([1.0, 5.0]), Tensor([2.0, 3.0])
    a, b = x.asnumpy(), y.asnumpy()
    expected = {
        "add": a + b, "sub": a - b, "mul": a * b, "div": a / b, "floordiv": a // b, "mod": a % b,
        "pow": a**b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b,
    }  # fmt: skip
    for name, value in expected.items():
        found = getattr(ops, f"tensor_{name}")(x, y)
        np.testing.assert_allclose(found.asnumpy(), value, err_msg=name)
    assert ops.TupleToArray()(ops.make_range(1, 7, 2)).asnumpy().tolist() == [1, 3, 5]
    assert ops.make_tuple(1, "a") == (1, "a")
    np.testing.assert_array_equal(ops.Pack(1)((x, y)).asnumpy(), np.stack([a, b], 1))
    np.testing.assert_array_equal(ops.Unpack()(ops.Pack()((x, y)))[1].asnumpy(), b)


def test_names_of_the_package_itself() -> None:
    array = np.ones(2, np.float32)
    tensor = ms.from_numpy(array)
    array[0] = 3
    assert tensor.asnumpy().tolist() == [3, 1] and isinstance(tensor.dtype, ms.Type)

    class Block(nn.Cell):
        @ms.lazy_inline
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Dense(2, 2)

        def construct(self, x: Tensor) -> Tensor:
            return self.fc(x)

    assert ms.lazy_inline(policy="front")(len) is len
    np.testing.assert_array_equal(ms.grad(Block())(ops.ones((2, 2))).shape, (2, 2))


def test_a_subclass_convolves_with_a_weight_of_its_own() -> None:
    class Standardized(nn.Conv2d):
        def construct(self, x: Tensor) -> Tensor:
            mean = ops.mean(self.weight, (1, 2, 3), keep_dims=True)
            return self.bias_add(self.conv2d(x, self.weight - mean), self.bias)

    net = Standardized(2, 3, 3, pad_mode="pad", padding=1, has_bias=True)
    # what is constant within a kernel's reach is gone, and the bias is left
    out = net(ops.ones((1, 2, 5, 5))).asnumpy()[0, :, 1:-1, 1:-1]
    np.testing.assert_allclose(out, np.broadcast_to(net.bias.asnumpy()[:, None, None], out.shape),
                               atol=1e-6)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_importlib_sees_every_path(path: str) -> None:
    assert importlib.util.find_spec(f"autodiff_compiler.{path}") is not None
