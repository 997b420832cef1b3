"""Effects of operations: random draws, prints, and exceptions, also those of called functions."""

from __future__ import annotations

from autodiff_compiler.ir.nodes import Op, Region

#: Operators whose only effect is to raise.
RAISING = ("raise", "assert", "require")


class Effects:
    """The test for effects, ``has(op)``; answers are stored on the regions, which never change.

    ``again`` is for operations that run a second time: exceptions do not count, because the first
    run raised them. But the effects of custom rules count.
    """

    def __init__(self, again: bool = False) -> None:
        self.again = again
        self._noted = "_effects_again" if again else "_effects"

    def has(self, op: Op) -> bool:
        """True if running ``op`` twice, or never, differs from running it once."""
        if not op.attrs and not op.regions and not op.opdef.effect:
            return False
        return self._itself(op) or any([self.inside(region) for region in op.regions])

    def inside(self, region: Region) -> bool:
        """True if any operation of ``region`` has an effect."""
        noted = vars(region).get(self._noted)
        if noted is None:
            noted = vars(region)[self._noted] = any(map(self.has, region.ops))
        return noted

    def _itself(self, op: Op) -> bool:
        if op.opdef.effect and not (self.again and op.name in RAISING):
            return True
        if self.again:
            return any([self.inside(function.body) for function in op.functions])
        callee = op.attrs.get("callee")
        return callee is not None and self.inside(callee.body)


def ends(op: Op) -> bool:
    """True if ``op`` raises on every path, so that nothing after it runs."""
    if op.name == "raise":
        return True
    regions = (op.attrs["callee"].body,) if "callee" in op.attrs else op.regions
    is_sure = "callee" in op.attrs or op.name == "if"
    return is_sure and all(end_of(region) is not None for region in regions)


def end_of(region: Region) -> int | None:
    """Counts the operations of a region up to the one that raises on every path; else None."""
    return next((place + 1 for place, op in enumerate(region.ops) if ends(op)), None)
