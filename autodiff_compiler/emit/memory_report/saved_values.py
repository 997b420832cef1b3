"""The values that a forward function saves for its backward function: the bytes of each, the line
that made it, and the lines whose derivatives read it.

The residual tuple is followed through calls and loops. The values that a called function saves are
named after its residuals (``residuals_1.x``). A loop saves one item for each iteration.

>>> import autodiff_compiler.operators
>>> from autodiff_compiler.ir.parser import parse_function
>>> forward = parse_function('''
... func @f_forward(%x: f32[b], %n: int) -> ((int, list[f32[b]])) {
...   %y: f32[b], %t: list[f32[b]], %m: int = for %k, %i in (0, %n, 1) carry (%c: f32[b] = %x) {
...     %u: f32[b] = sin %c
...     yield carry %u stack %u
...   }
...   %residuals: (int, list[f32[b]]) = make_tuple %n, %t
...   return %residuals
... }
... ''')
>>> backward = parse_function('''
... func @f_backward(%residuals: (int, list[f32[b]])) -> (int) {
...   %n: int = item %residuals {key=0}
...   return %n
... }
... ''')
>>> for saved in saved_values(forward, backward, {"f_forward": {forward.params[1]: "n"}}):
...     print(saved.name, saved.type, "x", saved.times, "=", saved.size)
n int x 1 = 0
t f32[b] x n = 4*b*n
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from autodiff_compiler.emit.memory_report.backward_readers import (
    BackwardFunction,
    ResidualReader,
    items,
    reading_lines,
    through_calls,
    through_loops,
)
from autodiff_compiler.emit.memory_report.byte_formulas import ByteFormula, formula_of
from autodiff_compiler.emit.memory_report.value_origins import ONE, Memory, Origins
from autodiff_compiler.emit.naming.choose import Names
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Value, type_of
from autodiff_compiler.ir.types import TupleType, Type
from autodiff_compiler.span import Span


@dataclass(frozen=True)
class SavedValue:
    """A saved value.

    name     the printed name.
    type     the type of one item.
    times    the number of items.
    origin   the line that made it; NOWHERE for an argument.
    needed   the lines whose derivatives read it, in the order of the source.
    memory   the memory that it uses, perhaps together with another value.
    """

    name: str
    type: Type
    times: ByteFormula
    origin: Span
    needed: tuple[Span, ...]
    memory: tuple[Memory, ...]

    @property
    def item_size(self) -> ByteFormula:
        """The bytes of an item, as ``nbytes`` counts them."""
        return formula_of(self.type)

    @property
    def size(self) -> ByteFormula:
        """The bytes of all items."""
        return self.item_size * self.times


def saved_values(forward: Function, backward: Function, names: Names) -> list[SavedValue]:
    """Returns the values that ``forward`` saves for ``backward``, in the order of the residual
    tuple.

    The tuple is the last result of ``forward`` and the first parameter of ``backward``.
    """
    reader = ResidualReader(BackwardFunction(backward, {}), backward.params[0])
    return list(_Finder(Origins(forward, names)).saved_in(forward.returns[-1], [reader]))


def saved_bytes(saved: Iterable[SavedValue]) -> tuple[ByteFormula, ByteFormula]:
    """Returns the bytes of all saved values, and the bytes of the caller's arguments among them.
    Memory that two values share counts once."""
    allocations = {memory.key: memory for value in saved for memory in value.memory}.values()
    return (
        sum((memory.size for memory in allocations), ByteFormula()),
        sum((memory.size for memory in allocations if memory.is_argument), ByteFormula()),
    )


class _StackedItem(NamedTuple):
    """The item that a loop appends ``times`` times to a list, after the items ``heads``."""

    item: AnyOperand
    times: ByteFormula
    heads: tuple[AnyOperand, ...]


@dataclass(frozen=True)
class _Finder:
    """Finds the values that one forward function saves."""

    origins: Origins

    def saved_in(
        self,
        operand: AnyOperand,
        readers: Sequence[ResidualReader],
        name: str = "",
        prefix: str = "",
        times: ByteFormula = ONE,
        heads: tuple[AnyOperand, ...] = (),
    ) -> Iterator[SavedValue]:
        """Yields the values in ``operand``. Each is saved ``times`` times; the first items are
        ``heads``."""
        maker = self.origins.maker(operand)
        if maker is not None and maker.name == "make_tuple":
            for key, part in enumerate(maker.operands):
                yield from self.saved_in(part, items(readers, key), "", prefix, times)
            return
        name = name or prefix + self.name(operand, readers)
        if maker is not None and isinstance(type_of(operand), TupleType) and maker.name == "call":
            yield from self.saved_by_call(maker, operand, readers, name, times)
            return
        stacked = self.stacked_item(operand)
        if stacked is not None:
            item, count, heads = stacked
            times = times * (count + ByteFormula.of(len(heads)))
            if isinstance(type_of(item), TupleType):
                inner = [each for reader in readers for each in through_loops(reader)]
                yield from self.saved_in(item, inner, f"{name}[i]", f"{name}[i].", times, heads)
            else:
                yield from self.saved_in(item, readers, name, prefix, times, heads)
            return
        memory = [each for part in (*heads, operand) for each in self.origins.memory(part)]
        needed = dict.fromkeys(span for reader in readers for span in reading_lines(reader))
        yield SavedValue(
            name,
            type_of(operand),
            times,
            self.origins.origin(operand),
            tuple(needed),
            tuple(memory),
        )

    def saved_by_call(
        self,
        call: Op,
        operand: AnyOperand,
        readers: Sequence[ResidualReader],
        name: str,
        times: ByteFormula,
    ) -> Iterator[SavedValue]:
        """Yields the values in the residuals of a called function."""
        inner = [each for reader in readers for each in through_calls(reader)]
        inside = self.origins.inside(call)
        yield from _Finder(inside).saved_in(inside.returned(operand), inner, "", f"{name}.", times)

    def stacked_item(self, operand: AnyOperand) -> _StackedItem | None:
        """Returns the item that a loop appends to a list; None if ``operand`` is no such list."""
        maker = self.origins.maker(operand)
        if maker is None:
            return None
        if maker.name == "list_join":
            first = self.origins.maker(maker.operands[0])
            rest = self.stacked_item(maker.operands[1])
            if first is None or first.name != "make_list" or rest is None:
                return None
            return rest._replace(heads=(*first.operands, *rest.heads))
        loop = Loop(maker) if maker.name in ("for", "while") else None
        if loop is None or operand not in loop.stacked:
            return None
        item = loop.stack_yields[loop.stacked.index(operand)]
        return _StackedItem(item, self.origins.trips(loop), ())

    def name(self, operand: AnyOperand, readers: Sequence[ResidualReader]) -> str:
        """Returns the printed name, in the backward function if forward has none."""
        names = [self.origins.names.get(operand)] if isinstance(operand, Value) else []
        names += [
            self.origins.all_names.get(r.owner.function.name, {}).get(r.value) for r in readers
        ]
        return next((name for name in names if name), getattr(operand, "name", str(operand)))
