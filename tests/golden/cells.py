"""The golden cases: a folder each, with a Cell and the texts that are made of it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import autodiff_compiler as ms

FOLDER = Path(__file__).parent

#: Which stage each file holds.
FILES = {
    "primal.ir": "typed",
    "adjoint.ir": "derivative",
    "gradient.py": "source",
    "memory.txt": "memory",
}


@dataclass(frozen=True)
class Golden:
    """One folder and the module ``cell.py`` in it."""

    folder: Path
    module: Any

    def text(self, file: str) -> str:
        """What ``file`` holds now."""
        return (self.folder / file).read_text(encoding="utf-8")

    def fresh(self, file: str) -> str:
        """What the compiler makes of the Cell today."""
        cell, inputs, flags = self.module.make(), self.module.inputs, self.module.flags
        return ms.gradient_source(cell, *map(as_tensor, inputs), stage=FILES[file], **flags)

    def numeric(self, sens: np.ndarray) -> list[np.ndarray]:
        """The gradients that the flags ask for, by differences of the Cell run as Python."""
        cell = self.module.make()
        inputs = [x.astype(np.float64) if is_array(x) else x for x in self.module.inputs]
        weights = cell.trainable_params()
        for weight in weights:
            weight._data = weight._data.astype(np.float64)

        def run() -> float:
            out = cell.construct(*map(as_tensor, inputs))
            return float(np.sum(out.asnumpy() * sens))

        every = [x for x in inputs if is_array(x)]
        flags = self.module.flags
        only_weights = flags.get("get_by_list") and not flags.get("get_all")
        wanted = every if flags.get("get_all") else [] if only_weights else every[:1]
        wanted += [w._data for w in weights] if flags.get("get_by_list") else []
        return [slopes(run, array) for array in wanted]

    def arguments(self) -> dict[str, Any]:
        """The inputs and parameters, by the names that forward gives them."""
        cell = self.module.make()
        by_name = {p.name.replace(".", "_"): p.asnumpy() for p in cell.get_parameters()}
        source = self.text("gradient.py")
        found = re.search(rf"^def {usage(source)[0]}\((.*)\):", source, re.M)
        assert found is not None
        names = found[1].split(", ")
        given = self.module.inputs
        rest = names[len(given) :]
        return dict(zip(names, given)) | {name: by_name[name] for name in rest}


def usage(source: str) -> tuple[str, str]:
    """The names of the two functions to be called, as the docstring tells."""
    told = ast.get_docstring(ast.parse(source)) or ""
    forward, backward = re.findall(r"^    .* = (\w+)\(", told, re.M)
    return forward, backward


def slopes(run: Any, array: np.ndarray, step: float = 1e-4) -> np.ndarray:
    """The derivative of ``run()`` in each element of ``array``, by central differences."""
    found = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        kept = array[place]
        array[place] = kept + step
        high = run()
        array[place] = kept - step
        found[place] = (high - run()) / (2 * step)
        array[place] = kept
    return found


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def as_tensor(value: Any) -> Any:
    return ms.Tensor(value) if is_array(value) else value


GOLDEN = [
    Golden(path.parent, import_module(f"tests.golden.{path.parent.name}.cell"))
    for path in sorted(FOLDER.glob("*/cell.py"))
]
NAMES = [golden.folder.name for golden in GOLDEN]
