"""The examples that show generated source: the text is what runs, and what they claim holds."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.testing import check_grads

FOLDER = Path(__file__).parents[1] / "examples"
SHOWN = re.compile(r"(?<=^SHOWN = '''\\\n).*?(?=^'''$)", re.M | re.S)


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def batches() -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(1)
    return tuple(Tensor(rng.normal(size=(5, n)).astype(np.float32)) for n in (3, 2))  # type: ignore


def per_example_gradients(module: Any) -> str:
    loss = module.Loss()
    ms.vmap(ms.grad(loss, None, loss.trainable_params()))(*batches())
    return ms.compile_info().units[-1].source


def physics_informed(module: Any) -> str:
    cell = module.Residual(module.Solution())
    weights = cell.trainable_params()
    return ms.gradient_source(cell, "f32[24,1]", get_by_list=True, weights=weights)


@pytest.mark.parametrize("make", [per_example_gradients, physics_informed])
def test_the_shown_source_is_what_runs(make: Any) -> None:
    path = FOLDER / f"{make.__name__}.py"
    source = make(load(make.__name__)).replace("\\", "\\\\")
    text = path.read_text(encoding="utf-8")
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(SHOWN.sub(lambda _: source, text), encoding="utf-8", newline="\n")
        text = path.read_text(encoding="utf-8")
    found = SHOWN.search(text)
    assert found is not None
    assert found[0] == source, "if the change is wanted: make golden"


def test_the_network_learns_the_sine(capsys: pytest.CaptureFixture[str]) -> None:
    module = load("physics_informed")
    assert module.main() < 0.002
    cell = module.Residual(module.Solution())
    cell.u.v.set_data(Tensor(np.linspace(-1, 1, 16, dtype=np.float32).reshape(16, 1)))
    check_grads(cell, [np.linspace(0.1, 1.0, 4).reshape(-1, 1)], order=1)


def test_every_example_has_its_gradient(capsys: pytest.CaptureFixture[str]) -> None:
    module = load("per_example_gradients")
    module.main()
    assert "d_w (5, 3, 4), d_v (5, 4, 2)" in capsys.readouterr().out
    loss = module.Loss()
    gradient = ms.grad(loss, None, loss.trainable_params())
    x, y = batches()
    for k, (d_w, d_v) in enumerate(zip(*ms.vmap(gradient)(x, y))):
        for found, expected in zip((d_w, d_v), gradient(x[k], y[k])):
            np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)
