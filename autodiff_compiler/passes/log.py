"""A log of passes: the IR after each of them, their changes as diffs, their cost.

``PassLog`` is an observer of the manager:

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> from autodiff_compiler.passes.manager import observed, run_until_stable
>>> function = parse_function('''
... func @f(%x: f32[2]) -> (f32[2]) {
...   %a: f32[2] = neg %x
...   %b: f32[2] = sin %x
...   return %b
... }
... ''')
>>> log = PassLog()
>>> with observed(log):
...     _ = run_until_stable(function, ("cse", "dce"))
>>> print(log.dump({"dce"}), end="")
# application 2: dce
func @f(%x: f32[2]) -> (f32[2]) {
  %b: f32[2] = sin %x
  return %b
}
>>> print(log.diff(), end="")
--- before application 2: dce
+++ after application 2: dce
@@ -1,5 +1,4 @@
 func @f(%x: f32[2]) -> (f32[2]) {
-  %a: f32[2] = neg %x
   %b: f32[2] = sin %x
   return %b
 }
"""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.loop_ir import nodes as loop_ir
from autodiff_compiler.loop_ir.printer import print_nests
from autodiff_compiler.passes.manager import operation_count
from autodiff_compiler.passes.registry import Pass

HEAD = ("pass", "runs", "changed", "ops +/-", "seconds")


@dataclass(frozen=True)
class Application:
    """An application of a pass, the ``number``-th of a compilation."""

    number: int
    name: str
    before: Function | loop_ir.Function
    after: Function | loop_ir.Function
    seconds: float

    @property
    def changed(self) -> bool:
        """True if the pass returned another function."""
        return self.after is not self.before

    @property
    def title(self) -> str:
        return f"application {self.number}: {self.name}"

    def functions(self) -> tuple[list[Any], list[Any]]:
        """Returns the functions that the pass replaced, callees included, and their successors."""
        before, after = (_with_callees(each) for each in (self.before, self.after))
        unchanged = set(before) & set(after)
        return [f for f in before if f not in unchanged], [f for f in after if f not in unchanged]

    def texts(self) -> tuple[list[str], list[str]]:
        """Returns the printed form of these functions, without those that are printed alike."""
        before, after = ([_text(f) for f in side] for side in self.functions())
        return [text for text in before if text not in after], [
            text for text in after if text not in before
        ]

    @property
    def added(self) -> int:
        """The growth in operations, over all functions that were replaced."""
        before, after = (sum(map(_count, side)) for side in self.functions())
        return after - before


class PassLog:
    """An observer that keeps every application of a pass within ``with observed(log)``."""

    def __init__(self) -> None:
        self.applications: list[Application] = []

    def __call__(self, each: Pass, before: Any, result: Any, seconds: float) -> None:
        """Records an application; the result of a pass is a Function or a record with one."""
        is_function = isinstance(result, (Function, loop_ir.Function))
        after = result if is_function else result.function
        number = len(self.applications) + 1
        self.applications.append(Application(number, each.name, before, after, seconds))

    def changes(
        self, names: Container[str] | None = None
    ) -> Iterator[tuple[Application, str, str]]:
        """Yields the applications of these passes that changed the IR, with the IR before and
        after. Without names it does so for all passes, those on loop nests included.
        """
        for each in self.applications:
            if (names is None or each.name in names) and each.changed:
                before, after = each.texts()
                if before or after:
                    yield each, "\n".join(before), "\n".join(after)

    def dump(self, names: Container[str] | None = None) -> str:
        """Returns the functions that these passes changed, after each change."""
        return "\n".join(f"# {each.title}\n{after}" for each, _, after in self.changes(names))

    def diff(self, names: Container[str] | None = None) -> str:
        """Returns each change that these passes made, as a unified diff of the IR."""
        diffs = [
            "".join(
                difflib.unified_diff(
                    before.splitlines(keepends=True),
                    after.splitlines(keepends=True),
                    f"before {each.title}",
                    f"after {each.title}",
                )
            )
            for each, before, after in self.changes(names)
        ]
        return "\n".join(diffs)

    def times(self) -> str:
        """Returns a table of runs, changes, operations added and seconds by pass, slowest first."""
        by_name: dict[str, list[Application]] = {}
        for each in self.applications:
            by_name.setdefault(each.name, []).append(each)
        groups = sorted(by_name.items(), key=lambda item: -_seconds(item[1]))
        rows = [_row(name, group) for name, group in [*groups, ("total", self.applications)]]
        width = max(len(name) for name, *_ in rows)
        return "".join(_line(row, width) for row in [HEAD, *rows])


def _with_callees(function: Function | loop_ir.Function) -> tuple[Any, ...]:
    return (*function.callees(), function) if isinstance(function, Function) else (function,)


def _text(function: Function | loop_ir.Function) -> str:
    return print_function(function) if isinstance(function, Function) else print_nests(function)


def _count(function: Function | loop_ir.Function) -> int:
    """Returns the number of operations, or of the statements of loop nests."""
    if isinstance(function, Function):
        return operation_count(function)
    return sum(1 for _ in loop_ir.walk(function.body))


def _seconds(group: list[Application]) -> float:
    return sum(each.seconds for each in group)


def _row(name: str, group: list[Application]) -> tuple[str, ...]:
    changed = [each for each in group if each.changed]
    added = sum(each.added for each in changed)
    shown = f"{added:+}" if added else "0"
    return name, str(len(group)), str(len(changed)), shown, f"{_seconds(group):.4f}"


def _line(row: tuple[str, ...], width: int) -> str:
    name, *numbers = row
    return name.ljust(width) + "".join(number.rjust(12) for number in numbers) + "\n"


__all__ = ["Application", "PassLog"]
