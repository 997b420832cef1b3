"""Measured results of layers: cases that run on MindSpore and here, and the way to measure them.

``measured.json`` has the answers of MindSpore 2.10 on a CPU. ``python -m tests.nn.measured``
makes it anew where that is installed. A case is a layer, its inputs and whether it trains; its
parameters are drawn in their order. Of each array two numbers are kept: its norm, and its product
with a wave, which tells a sign, a shift or a transposition.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

ANSWERS = Path(__file__).with_suffix(".json")

#: Layer | inputs | options: 'train'; 'first', which takes the first of several results.
CASES = Path(__file__).with_name("measured_cases.txt")


def cases() -> list[str]:
    """The lines of the list that are cases."""
    lines = CASES.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def fingerprint(array: np.ndarray) -> list[Any]:
    """Shape, norm, and the product with a wave."""
    flat = array.astype(np.float64).ravel()
    wave = np.cos(1.7 * np.arange(flat.size) + 0.3)
    return [list(array.shape), float(f"{np.linalg.norm(flat):.7g}"), float(f"{flat @ wave:.7g}")]


def _flat(result: Any) -> list[np.ndarray]:
    if result is None:
        return []
    if isinstance(result, (tuple, list)):
        return [array for item in result for array in _flat(item)]
    return [result.asnumpy()]


class Run:
    """A case on a package: its net with parameters drawn, and its inputs."""

    def __init__(self, package: str, case: str):
        self.ms = importlib.import_module(package)
        layer, inputs, options = (part.strip() for part in f"{case} | ".split("|")[:3])
        self.rng, self.options = np.random.default_rng(7), options.split()
        draws = {"t": self.normal, "pos": self.positive, "ints": self.integers, "b": self.bools}
        names = {"ms": self.ms, "nn": self.ms.nn, "ops": self.ms.ops, "np": np}
        self.inputs = eval(f"({inputs},)", {**names, **draws})
        self.net = eval(layer, names)
        self.net.set_train("train" in self.options)
        for parameter in self.net.get_parameters():
            value = 0.5 * self.rng.normal(size=parameter.shape).astype(np.float32)
            start = abs(value) + 0.5 if "variance" in parameter.name else value
            parameter.set_data(self.ms.Tensor(start))

    def normal(self, *shape: int) -> Any:
        return self.ms.Tensor(self.rng.normal(size=shape).astype(np.float32))

    def positive(self, *shape: int) -> Any:
        return self.ms.Tensor(self.rng.uniform(0.1, 2, size=shape).astype(np.float32))

    def integers(self, below: int, *shape: int) -> Any:
        return self.ms.Tensor(self.rng.integers(0, below, size=shape).astype(np.int32))

    def bools(self, *shape: int) -> Any:
        return self.ms.Tensor(self.rng.integers(0, 2, size=shape).astype(bool))

    def _sens(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return tuple(map(self._sens, result))
        return self.normal(*result.shape)

    def answers(self) -> dict[str, Any]:
        """Names and shapes of the parameters, and fingerprints: value, gradients, what is kept."""
        net, all_of_it = self.net, self.net(*self.inputs)
        if "first" in self.options:
            net, all_of_it = _first(self.ms, self.net), all_of_it[0]
        weights = self.net.trainable_params()
        operation = self.ms.ops.GradOperation(True, bool(weights), True)
        sens = self._sens(all_of_it)
        lists = (self.ms.ParameterTuple(weights),) if weights else ()
        found = operation(net, *lists)(*self.inputs, sens)
        kept = [p.asnumpy() for p in self.net.get_parameters() if not p.requires_grad]
        return {
            "parameters": [[p.name, list(p.shape)] for p in self.net.get_parameters()],
            "value": list(map(fingerprint, _flat(all_of_it))),
            "gradients": list(map(fingerprint, _flat(found))),
            "kept": list(map(fingerprint, kept)),
        }


def _first(ms: Any, net: Any) -> Any:
    class First(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__(auto_prefix=False)
            self.net = net

        def construct(self, *args: Any) -> Any:
            return self.net(*args)[0]

    return First().set_train(net.training)


def main() -> None:
    """Asks MindSpore, and says so of cases that it refuses."""
    answers = {}
    for case in cases():
        try:
            answers[case] = Run("mindspore", case).answers()
        except Exception as refusal:
            print(f"{case}\n    {type(refusal).__name__}: {refusal}", file=sys.stderr)
    rows = ",\n".join(f"{json.dumps(case)}: {json.dumps(row)}" for case, row in answers.items())
    ANSWERS.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
