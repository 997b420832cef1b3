"""Which operations do more than give results: random draws, prints, and calls of such; and which
give none, because they raise."""

from __future__ import annotations

from autodiff_compiler.ir.nodes import Op, Region

#: What does nothing but raise.
RAISING = ("fail", "check", "demand")


class Effects:
    """Answers ``has(op)``; what it finds out about a region is noted there, as regions never
    change. What a text does ``again`` raises nothing new, but a rule in it is asked again."""

    def __init__(self, again: bool = False) -> None:
        self.again = again
        self._noted = "_effects_again" if again else "_effects"

    def has(self, op: Op) -> bool:
        """Whether running ``op`` twice, or never, is not the same as once."""
        return self._itself(op) or any([self.inside(region) for region in op.regions])

    def inside(self, region: Region) -> bool:
        """Whether any operation of ``region`` has an effect."""
        found = vars(region).get(self._noted)
        if found is None:
            found = vars(region)[self._noted] = any(map(self.has, region.ops))
        return found

    def _itself(self, op: Op) -> bool:
        if op.opdef.effect and not (self.again and op.name in RAISING):
            return True
        if self.again:
            return any([self.inside(function.body) for function in op.functions])
        callee = op.attrs.get("callee")
        return callee is not None and self.inside(callee.body)


def ends(op: Op) -> bool:
    """Whether nothing follows ``op``: it raises, on every way."""
    if op.name == "fail":
        return True
    regions = (op.attrs["callee"].body,) if "callee" in op.attrs else op.regions
    is_sure = "callee" in op.attrs or op.name == "if"
    return is_sure and all(end_of(region) is not None for region in regions)


def end_of(region: Region) -> int | None:
    """After how many of its operations a region raises, if it does on every way."""
    return next((place + 1 for place, op in enumerate(region.ops) if ends(op)), None)
