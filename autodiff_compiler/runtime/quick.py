"""The quick way: one generated function for a call that looks just like an earlier one.

It is made for one unit, once that has been used twice. It looks at the arguments, the sensitivity
and the unit's assumptions, runs both halves and packs the gradients, with nothing looked up that
was known when it was written. Where anything is not as it was it gives False, and the call goes
the way it always can. Whatever is out of the ordinary has no quick way: arguments that are not
tensors, numbers or constants, outputs that are not one tensor, writes, gradients that are missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.ops.gradient import ALL, GradientFunction
from autodiff_compiler.plan import ArrayType, Compiled, Request
from autodiff_compiler.runtime.guards import guard_lines
from autodiff_compiler.runtime.load import Loaded
from autodiff_compiler.runtime.workspace import Workspace

#: ``(fn, arguments) -> the packed gradients``, or False.
Quick = Callable[[Any, tuple], Any]

_NUMBERS = (int, float, complex)
_CONSTANTS = (bool, str, type(None))


class Entry(Protocol):
    """What the quick way needs of a unit; it counts its calls there."""

    compiled: Compiled
    request: Request
    loaded: Loaded
    workspace: Workspace
    calls: int


def compile_quick(
    gradient: GradientFunction,
    unit: Entry,
    slots: Sequence[Any],
    own: Callable[[Any, Sequence[Any]], Any],
) -> Quick | None:
    """The quick way of a unit, if it has one.

    own    ``own(value, arrays)`` gives the value in memory that none of ``arrays`` holds.
    """
    loaded, workspace = unit.loaded, unit.workspace
    writer = _Writer(unit.compiled, unit.request, slots)
    if unit.compiled.writes or unit.request.aux or not gradient.packs_plainly:
        return None
    if not writer.is_simple:
        return None
    names = {
        "forward": loaded.forward, "backward": loaded.backward, "explain": loaded.explain,
        "own": own, "unit": unit, "new": Tensor.__new__, "Tensor": Tensor,
        "ndarray": np.ndarray, "asarray": np.asarray,
        "borrow": workspace.borrow, "give_back": workspace.give_back,
    }  # fmt: skip
    text, constants = writer.text(gradient)
    body = "\n".join(text)
    used = set(re.findall(r"\w+", body))
    # Each call fills in all defaults: only what is named.
    names = {name: value for name, value in (names | constants).items() if name in used}
    defaults = "".join(f", {name}={name}" for name in names)
    source = f"def quick(fn, args{defaults}):\n" + "".join(f"    {line}\n" for line in text)
    scope: dict[str, Any] = dict(names)
    exec(compile(source, "<autodiff call>", "exec", dont_inherit=True), scope)
    return scope["quick"]


class _Writer:
    """Writes the lines, and collects the constants that they name."""

    def __init__(self, compiled: Compiled, request: Request, slots: Sequence[Any]):
        self.compiled, self.request, self.slots = compiled, request, slots
        self.constants: dict[str, Any] = {}
        self.names: dict[int, str] = {}

    @property
    def is_simple(self) -> bool:
        kinds = (Tensor, *_NUMBERS, *_CONSTANTS)
        out = self.compiled.output
        given = self.request.sens == "given"
        array = isinstance(out, ArrayType) and out.is_static
        return all(type(slot) in kinds for slot in self.slots) and (
            array or not (given or self.request.value)
        )

    def constant(self, value: Any) -> str:
        name = self.names.setdefault(id(value), f"k{len(self.names)}")
        self.constants[name] = value  # and so its id stays its own
        return name

    def text(self, gradient: GradientFunction) -> tuple[list[str], dict[str, Any]]:
        """The body of the function."""
        guard, constants = guard_lines(self.compiled.assumptions, self.compiled.hoisted)
        checks = [*self._arguments(), *guard]
        lines = ["try:", *(f"    {line}" for line in checks)]
        lines += ["except Exception:", "    return False", "unit.calls += 1"]
        lines += [*self._run(), *self._wrapped(gradient)]
        return lines, self.constants | constants

    def _arguments(self) -> list[str]:
        """Takes the arguments apart, and refuses what has another signature."""
        given = self.request.sens == "given"
        names = [f"a{n}" for n in range(len(self.slots))] + ["sens"] * given
        lines = [f"{''.join(f'{name}, ' for name in names)}= args" if names else "() = args"]
        for name, slot in zip(names, self.slots):
            if type(slot) is Tensor:
                lines += self._array(name, slot._data.dtype, slot._data.shape)
                lines.append(f"if {name}._hooks is not {self.constant(slot._hooks)}: return False")
            elif type(slot) in (*_NUMBERS, str):
                kind = self.constant(type(slot))
                lines.append(f"if type({name}) is not {kind}: return False")
                if type(slot) is str:
                    lines.append(f"if {name} != {self.constant(slot)}: return False")
            else:
                lines.append(f"if {name} is not {slot}: return False")
        if given:
            out = self.compiled.output
            assert isinstance(out, ArrayType) and out.dtype is not None
            lines += self._array("sens", np.dtype(out.dtype), out.shape)
        if any("slots" in assumption.path for assumption in self.compiled.assumptions):
            lines.append(f"slots = ({''.join(f'{name}, ' for name in names[: len(self.slots)])})")
        return lines

    def _array(self, name: str, dtype: np.dtype, shape: Any) -> list[str]:
        known, size = self.constant(dtype), self.constant(shape)
        return [
            f"if type({name}) is not Tensor: return False",
            f"d_{name} = {name}._data",
            f"if d_{name}.dtype is not {known} or d_{name}.shape != {size}: return False",
        ]

    def _run(self) -> list[str]:
        """Calls both halves."""
        arrays = [
            f"d_a{slot}" if type(self.slots[slot]) is Tensor else f"a{slot}"
            for slot in self.compiled.dynamic_slots
        ]
        arrays += [f"h{number}" for number in range(len(self.compiled.hoisted))]
        self.arrays = arrays
        value = self.request.returns_value
        given = ["residuals", *["d_sens"] * (self.request.sens == "given")]
        work = [[f"lent[{half}]"] * bool(places) for half, places in enumerate(self.compiled.lent)]
        forward, backward = ", ".join([*arrays, *work[0]]), ", ".join([*given, *work[1]])
        return [
            *["lent = borrow()"] * bool(self.compiled.work),
            "try:",
            f"    {'value, residuals' if value else 'residuals'} = forward({forward})",
            f"    found = backward({backward})",
            "except Exception as error:",
            "    explain(error)",
            "    raise",
            *["give_back(lent)"] * bool(self.compiled.work),
        ]

    def _wrapped(self, gradient: GradientFunction) -> list[str]:
        """The gradients as tensors, in the promised structure."""
        inputs, weights = len(self.compiled.positions), len(self.compiled.weights)
        names = [f"g{n}" for n in range(inputs + weights)]
        if len(names) == 1:
            lines = ["g0 = found"]
        else:
            lines = [f"{', '.join(names)} = found"] if names else []
        types = [self.slots[slot]._data for slot in self.compiled.positions]
        types += [weight._data for weight in self.compiled.weights]
        for name, of in zip(names, types):
            lines += self._tensor(name, bool(of.shape))
        parts = []
        if gradient.position is not None:
            first = f"({''.join(f'{name}, ' for name in names[:inputs])})"
            parts.append(first if gradient.position == ALL or inputs != 1 else names[0])
        if gradient.by_list:
            parts.append(f"({''.join(f'{name}, ' for name in names[inputs:])})")
        packed = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
        if not self.request.value:
            return [*lines, f"return {packed}"]
        if not self.compiled.apart:
            held = "".join(f" or value is {array}" for array in self.arrays)
            lines += [
                f"if type(value) is not ndarray or value.base is not None{held}:",
                f"    value = own(value, [{', '.join(self.arrays)}])",
            ]
        out = self.compiled.output
        lines += self._tensor("value", isinstance(out, ArrayType) and bool(out.shape))
        return [*lines, f"return value, {packed}"]

    @staticmethod
    def _tensor(name: str, array: bool) -> list[str]:
        """A tensor in the place of what surely is an array, or may be a number of NumPy's."""
        sure = [] if array else [f"if type({name}) is not ndarray: {name} = asarray({name})"]
        made = ["made = new(Tensor)", f"made._data = {name}", "made._hooks = ()"]
        return [*sure, *made, f"{name} = made"]


__all__ = ["Quick", "compile_quick"]
