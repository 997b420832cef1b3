"""Twenty steps of each optimizer, here and on MindSpore 2.10, whose numbers are in the file beside.

``python -m tests.nn.measured_optimizers`` measures anew where MindSpore is installed.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

ANSWERS = Path(__file__).with_suffix(".json")
CASES = Path(__file__).with_name("measured_optimizers_cases.txt")
SHAPES = {"w": (2, 3), "beta": (3,), "v": (2, 2)}


def steps(package: str, case: str) -> dict[str, Any]:
    """Names of the state, and the parameters after the first, fifth and twentieth step."""
    ms = importlib.import_module(package)
    rng = np.random.default_rng(3)

    def drawn(shape: Any) -> Any:
        return ms.Tensor(rng.normal(size=shape).astype(np.float32))

    ps = [ms.Parameter(drawn(shape), name=name) for name, shape in SHAPES.items()]
    optimizer = eval(case, {"nn": ms.nn, "ps": ps})
    seen = []
    for number in range(1, 21):
        optimizer(tuple(drawn(parameter.shape) for parameter in optimizer.parameters))
        if number in (1, 5, 20):
            numbers = [p.asnumpy().ravel().astype(float).tolist() for p in optimizer.parameters]
            seen.append([[float(f"{x:.8g}") for x in row] for row in numbers])
    return {"state": sorted(p.name for p in optimizer.get_parameters()), "seen": seen}


def cases() -> list[str]:
    """The lines of the list."""
    return CASES.read_text(encoding="utf-8").splitlines()


def main() -> None:
    """Asks MindSpore."""
    rows = [f"{json.dumps(case)}: {json.dumps(steps('mindspore', case))}" for case in cases()]
    text = ",\n".join(rows)
    ANSWERS.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
