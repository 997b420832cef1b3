"""Losses and gradients of nets that are ports of programs: only the imports are changed.

``measured.json`` has what MindSpore 2.10 answers; ``python -m tests.models.measured`` asks it
anew where it is installed. A net is drawn, trained for one step's worth of gradients, and each
gradient kept as in ``tests/nn/measured.py``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.nn.measured import fingerprint

HERE = Path(__file__).parent
ANSWERS = HERE / "measured.json"
#: File, class, and whether the input are words instead of images.
NETS = {
    "convolutional": ("VGG", "ResNet", "MobileNet", "DenseNet", "Inception", "ConvNeXt", "UNet"),
    "sequential": ("ViT", "Swin", "Mixer", "Tagger", "Translator"),
    "branched": ("Shuffle", "Selective", "HighResolution", "Pieces", "Detector"),
    "language": ("Gated", "Buckets", "Experts", "Chain"),
    "sciences": ("Flow", "Trajectory", "Filters", "Radiance", "GraphAttention"),
}
WORDS = ("Tagger", "Translator", *NETS["language"])


def ported(package: str, file: str, folder: Path) -> Any:
    """The module of a file after the change of its imports."""
    text = (HERE / f"{file}.py").read_text(encoding="utf-8").replace("mindspore", package)
    place = folder / f"{file}_{package}.py"
    place.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[place.stem] = module
    spec.loader.exec_module(module)
    return module


def answers(package: str, file: str, name: str, folder: Path) -> dict[str, Any]:
    """The loss, and for each Parameter its name and its gradient's fingerprint."""
    ms = importlib.import_module(package)
    net = getattr(ported(package, file, folder), name)()
    rng = np.random.default_rng(11)
    for parameter in net.get_parameters():
        start = 0.3 * rng.normal(size=parameter.shape)
        if "variance" in parameter.name or "gamma" in parameter.name:
            start = 1.0 + 0.5 * abs(start)
        parameter.set_data(ms.Tensor(start.astype(np.float32)))
    x = rng.normal(size=(4, 3, 8, 8)).astype(np.float32)
    if name in WORDS:
        x = rng.integers(0, 11, size=(4, 6)).astype(np.int32)
    y = ms.Tensor(np.array([0, 3, 1, 4], np.int32))
    with_loss = ms.nn.WithLossCell(net, ms.nn.CrossEntropyLoss())
    with_loss.set_train()
    weights = ms.ParameterTuple(net.trainable_params())
    loss, gradients = ms.value_and_grad(with_loss, None, weights)(ms.Tensor(x), y)
    rows = [[p.name, *fingerprint(g.asnumpy())] for p, g in zip(weights, gradients)]
    kept = [fingerprint(p.asnumpy()) for p in net.get_parameters() if not p.requires_grad]
    return {"loss": float(f"{float(loss.asnumpy()):.7g}"), "gradients": rows, "kept": kept}


def main() -> None:
    """Asks MindSpore."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for file, names in NETS.items():
            for name in names:
                row = answers("mindspore", file, name, Path(folder))
                rows.append(f"{json.dumps(name)}: {json.dumps(row)}")
    text = ",\n".join(rows)
    ANSWERS.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
