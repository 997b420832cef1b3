"""Calls of what makes arrays of sizes and numbers that the run tells, and of NumPy's classes."""

from __future__ import annotations

import numpy as np

from autodiff_compiler.frontend.numpy_rules.names import NUMPY
from tests.numpy_arguments.draw import NUMBERS, REALS, Draw
from tests.numpy_arguments.reductions import Make

#: The classes that cast what they are called on.
KINDS = [kind.__name__ for kind in NUMPY if isinstance(kind, type)]


def _length(d: Draw) -> str:
    a = d.array((int(d.pick(1, 2, 3, 4)),), ("float64",))
    return d.pick(f"len({a})", f"{a}.shape[0]", f"(len({a}) + 1)")


def arange(d: Draw) -> str:
    size = _length(d)
    d.smooth = False
    kinds = ("float64", "float32", "int64", "int32")
    dtype = d.optional(lambda: d.dtype_text(kinds), 0.3)
    bounds = d.pick([size], ["0", size], ["1", size], [f"-{size}", size, "2"], ["0.5", size],
                    [size, "-1.5", "-1"], ["0", size, "0.25"])  # fmt: skip
    return d.call("arange", *bounds, dtype=dtype)


def eye(d: Draw) -> str:
    size = _length(d)
    d.smooth = False
    return d.call("eye", size, M=d.optional(lambda: d.pick("None", "3", f"{size} + 1")),
                  k=d.optional(lambda: d.number(-2, 2)),
                  dtype=d.optional(lambda: d.dtype_text(), 0.4))  # fmt: skip


def identity(d: Draw) -> str:
    size = _length(d)
    d.smooth = False
    return d.call("identity", size, dtype=d.optional(lambda: d.dtype_text(), 0.5))


def full(d: Draw) -> str:
    size = _length(d)
    value = d.pick("2", "2.5", "True", "1j", "np.float32(1.5)", "np.int8(3)", d.array((), NUMBERS))
    shape = d.pick(size, f"({size}, 2)", f"[2, {size}]")
    kinds = NUMBERS if "j" in value or value[0] == "a" else REALS
    dtype = d.optional(lambda: d.dtype_text(kinds), 0.3)
    complex_ = "j" in value or value[0] == "a" and np.iscomplexobj(d.inputs[value])
    if complex_:
        dtype = d.optional(lambda: d.dtype_text(("complex64", "complex128")), 0.3)
    return d.call("full", shape, value, dtype=dtype)


def cast_by(kind: str) -> Make:
    """An array in another dtype."""

    def call(d: Draw) -> str:
        complex_ = np.dtype(kind).kind == "c"
        low = 0.0 if np.dtype(kind).kind == "u" else -3.0
        return d.call(kind, d.array(dtypes=NUMBERS if complex_ else REALS, low=low))

    return call


CALLS: dict[str, Make] = {
    "arange": arange, "eye": eye, "identity": identity, "full": full,
    **{kind: cast_by(kind) for kind in KINDS},
}  # fmt: skip
