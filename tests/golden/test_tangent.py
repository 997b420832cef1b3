"""Forward mode as source: the texts byte for byte; each runs alone and is right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import pipeline
from tests.golden.cells import GOLDEN, Golden, as_tensor, is_array

TANGENTS = [golden for golden in GOLDEN if (golden.folder / "tangent.py").exists()]

ALONE = """\
import sys
import numpy as np

sys.path.insert(0, "")
import tangent

given = np.load("given.npz")
arguments = [given[f"x{n}"] for n in range(int(given["count"]))]
arguments = [int(x) if x.dtype.kind == "i" else x for x in arguments]
out, dot_out = getattr(tangent, sys.argv[1])(*arguments)
np.savez("found.npz", out=out, dot_out=dot_out)
assert "autodiff_compiler" not in sys.modules
"""


def flags(golden: Golden) -> dict:
    return {k: v for k, v in golden.module.flags.items() if k != "sens_param"}


@pytest.mark.parametrize("golden", TANGENTS, ids=lambda golden: golden.folder.name)
def test_text_is_as_written_down(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    inputs = map(as_tensor, golden.module.inputs)
    made = ms.gradient_source(golden.module.make(), *inputs, mode="forward", **flags(golden))
    path = golden.folder / "tangent.py"
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(made, encoding="utf-8", newline="\n")
    assert path.read_text(encoding="utf-8") == made, "if the change is wanted: make golden"


@pytest.mark.parametrize("golden", TANGENTS, ids=lambda golden: golden.folder.name)
def test_tangent_runs_alone_and_is_right(golden: Golden, tmp_path: Path) -> None:
    """Along random directions of all inputs and parameters at once."""
    cell = golden.module.make()
    inputs = [x.astype(np.float64) if is_array(x) else x for x in golden.module.inputs]
    weights = [p.asnumpy().astype(np.float64) for p in cell.trainable_params()]
    moved = [x for x in inputs if is_array(x)] + weights
    rng = np.random.default_rng(4)
    dots = [rng.normal(size=x.shape) for x in moved]

    def run(step: float) -> np.ndarray:
        shifted = iter([x + step * dot for x, dot in zip(moved, dots)])
        arguments = [as_tensor(next(shifted)) if is_array(x) else x for x in inputs]
        for parameter in cell.trainable_params():
            parameter._data = next(shifted)
        return cell.construct(*arguments).asnumpy()

    rows = [*inputs, *weights, *dots]
    np.savez(tmp_path / "given.npz", count=len(rows), **{f"x{n}": x for n, x in enumerate(rows)})
    text = (golden.folder / "tangent.py").read_text()
    (tmp_path / "tangent.py").write_text(text)
    name = text.partition("out, dot_out = ")[2].partition("(")[0]
    subprocess.run([sys.executable, "-I", "-c", ALONE, name], cwd=tmp_path, check=True)
    with np.load(tmp_path / "found.npz") as found:
        np.testing.assert_allclose(found["out"], run(0.0), rtol=1e-12)
        expected = (run(1e-5) - run(-1e-5)) / 2e-5
        np.testing.assert_allclose(found["dot_out"], expected, rtol=1e-7, atol=1e-9)


def test_the_order_of_parameters_is_the_primals_and_then_the_tangents() -> None:
    text = (Path(__file__).parent / "seed_net" / "tangent.py").read_text()
    assert "def net_tangent(x, y, z, dot_x, dot_y, dot_z):" in text
