"""Which operations do more than give results: random draws, prints, and calls of such; and which
give none, because they raise."""

from __future__ import annotations

from autodiff_compiler.ir.nodes import Function, Op, Region


class Effects:
    """Answers ``has(op)``; remembers what it found out about functions."""

    def __init__(self) -> None:
        self._functions: dict[Function, bool] = {}

    def has(self, op: Op) -> bool:
        """Whether running ``op`` twice, or never, is not the same as once."""
        return self._itself(op) or any(self.inside(region) for region in op.regions)

    def inside(self, region: Region) -> bool:
        """Whether any operation of ``region`` has an effect."""
        return any(self._itself(op) for op in region.walk())

    def _itself(self, op: Op) -> bool:
        callee = op.attrs.get("callee")
        if callee is None:
            return op.opdef.effect
        if callee not in self._functions:
            self._functions[callee] = self.inside(callee.body)
        return op.opdef.effect or self._functions[callee]


def ends(op: Op) -> bool:
    """Whether nothing follows ``op``: it raises, on every way."""
    if op.name == "fail":
        return True
    regions = (op.attrs["callee"].body,) if "callee" in op.attrs else op.regions
    is_sure = "callee" in op.attrs or op.name == "if"
    return is_sure and all(any(map(ends, region.ops)) for region in regions)
