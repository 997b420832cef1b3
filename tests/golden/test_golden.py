"""The texts made of the golden Cells, byte for byte; and each gradient runs alone and is right."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autodiff_compiler import pipeline
from tests.golden.cells import FILES, GOLDEN, NAMES, Golden, as_tensor, usage

#: Runs a gradient file with nothing but NumPy and itself to import.
ALONE = """\
import sys
import numpy as np

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "autodiff_compiler":
            raise ImportError(f"a generated file imports {name}")

sys.meta_path.insert(0, Refuse())
sys.path.insert(0, "")
import gradient

given = np.load("given.npz", allow_pickle=False)
arguments = [given[f"x{n}"] for n in range(int(given["count"]))]
arguments = [int(x) if x.dtype.kind == "i" and x.ndim == 0 else x for x in arguments]
found = getattr(gradient, sys.argv[1])(*arguments)
sens = [given["sens"]] if sys.argv[3] == "given" else []
residuals = found[1] if sens else found
gradients = getattr(gradient, sys.argv[2])(residuals, *sens)
gradients = gradients if isinstance(gradients, tuple) else (gradients,)
np.savez("found.npz", *gradients)
"""


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("golden", GOLDEN, ids=NAMES)
def test_text_is_as_written_down(
    golden: Golden, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    made = golden.fresh(file)
    path = golden.folder / file
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(made, encoding="utf-8", newline="\n")
    old = path.read_text(encoding="utf-8")
    name = f"{golden.folder.name}/{file}"
    diff = difflib.unified_diff(
        old.splitlines(), made.splitlines(), f"{name} (written down)", f"{name} (made now)",
        lineterm="",
    )  # fmt: skip
    if made != old:
        pytest.fail("\n".join([*diff, "", "if the change is wanted: make golden"]), pytrace=False)


@pytest.mark.parametrize("golden", GOLDEN, ids=NAMES)
def test_gradient_runs_alone_and_is_right(golden: Golden, tmp_path: Path) -> None:
    shutil.copy(golden.folder / "gradient.py", tmp_path)
    arguments = golden.arguments()
    doubles = [np.float64(x) if isinstance(x, np.ndarray) else x for x in arguments.values()]
    out = golden.module.make().construct(*map(as_tensor, golden.module.inputs)).asnumpy()
    is_given = bool(golden.module.flags.get("sens_param"))
    sens = np.cos(1.0 + np.arange(out.size)).reshape(out.shape) if is_given else np.ones(out.shape)
    np.savez(
        tmp_path / "given.npz", count=len(doubles), sens=sens,
        **{f"x{n}": x for n, x in enumerate(doubles)},
    )  # fmt: skip
    forward, backward = usage(golden.text("gradient.py"))
    subprocess.run(
        [sys.executable, "-I", "-c", ALONE, forward, backward,
         "given" if is_given else "ones"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    with np.load(tmp_path / "found.npz") as file:
        found = [file[name] for name in file.files]
    expected = golden.numeric(sens)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def test_nothing_unasked_is_computed() -> None:
    """Without a gradient in y and z, no line makes one, and no forward line serves one."""
    text = (Path(__file__).parent / "seed_net_default" / "gradient.py").read_text()
    assert "d_y" not in text and "d_z" not in text
    forward = text.partition("_forward")[2].partition("def ")[0]
    assert "matmul" not in forward and "x * z" not in forward
