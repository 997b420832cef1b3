"""Runs programs of the corpus in C: ``python -m tests.emit.c.sanitized NAME...``.

``test_sanitizers.py`` starts it with the libraries of the sanitizers loaded. They write reports to
standard error. Prints the name of each program, and at the end how many ran in C.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import ops
from autodiff_compiler.runtime.native import Array, Description, load_native
from tests.corpus.cases import CASES, Case
from tests.corpus.test_corpus import assert_alike, weights_of

#: Faults on purpose: each must be reported. The adapter takes an array of four numbers.
FAULTS: Mapping[str, str] = {
    "read": "out[0] = x[i + 3];",
    "stack": "double row[4]; row[i + 3] = x[0]; out[0] = row[i];",
    "overflow": "int32_t n = 2147483646 + i; n += i; out[0] = n + x[0];",
}
TEXT = """\
#include <stdint.h>
int32_t fault(void **p) {
  const double *x = p[0];
  double *out = p[1];
  volatile int32_t i = 1;
  %s
  return 0;
}
"""


def plant(fault: str) -> None:
    """Runs a C function with a fault."""
    numbers = (Array("float64", (4,)),)
    call = load_native(TEXT % FAULTS[fault], Description("fault", "fault", numbers, numbers))
    call(np.arange(4.0))


def run(case: Case) -> bool:
    """Compares value and gradients in C with NumPy source. Returns False if there is no C text."""

    def outcome(target: str) -> tuple[object, object]:
        ms.set_context(target=target)
        fn = case.make()
        gradient = ops.GradOperation(get_all=True, get_by_list=True)(fn, weights_of(fn))
        return gradient(*case.inputs), ms.jit(case.make())(*case.inputs)

    ms.compile_info().clear()
    results = outcome("c")
    in_c = any(unit.target == "c" for unit in ms.compile_info().units)
    if in_c:
        assert_alike(results, outcome("numpy"), 1e-5)
    return in_c


def main(names: Sequence[str]) -> None:
    """Runs the programs or faults of these names."""
    by_name = {case.name: case for case in CASES}
    count = 0
    for name in names:
        print(name, flush=True)
        if name in FAULTS:
            plant(name)
        else:
            count += run(by_name[name])
    print(f"{count} of {len(names)} programs ran in C")


if __name__ == "__main__":
    main(sys.argv[1:])
