"""Questions to a Cell: which Parameters and Cells it holds, as in
``for p in self.trainable_params():``.

They are answered while compiling, by the Cell itself: the Parameters found are its own, and what
they were found in becomes a guard, so that a Cell that was changed is asked again.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.cells.cell_tree import Tree
from autodiff_compiler.frontend.abstract import iterators
from autodiff_compiler.frontend.abstract.values import DictView

#: What each question is answered by, and the attribute of Parameters that the answer hangs on.
QUESTIONS: dict[Callable[..., Any], tuple[str, str | None]] = {
    Tree.trainable_params: ("list", "requires_grad"),
    Tree.untrainable_params: ("list", "requires_grad"),
    Tree.get_parameters: ("iterator", None),
    Tree.parameters_and_names: ("iterator", None),
    Tree.parameters_dict: ("dict", "name"),
    Tree.cells: ("values", None),
    Tree.name_cells: ("dict", None),
    Tree.cells_and_names: ("iterator", None),
}


def is_question(callee: Any) -> bool:
    """Whether ``callee`` is a method by which a Cell tells what it holds."""
    return isinstance(callee, types.MethodType) and callee.__func__ in QUESTIONS


def answer(low: Any, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What ``callee(*args, **kwargs)``, a question, gives, as a compile-time value."""
    kind, hangs_on = QUESTIONS[callee.__func__]
    watch(low.compilation, callee.__self__, hangs_on)

    @functools.wraps(callee)
    def items(*args: Any, **kwargs: Any) -> list[Any]:
        found = callee(*args, **kwargs)
        return list(found.items() if kind == "dict" else found)

    found = low.macro(items, args, kwargs)
    if kind == "list":
        return found
    told = low.contents(found)
    if kind == "iterator":
        return iterators.new_iterator(low, told)
    held = low.allocate("dict", dict(told if kind == "dict" else enumerate(told)))
    return DictView("values", held) if kind == "values" else held


def watch(world: Any, cell: Cell, hangs_on: str | None) -> None:
    """Records what ``cell`` and all below it hold, and that attribute of the Parameters."""
    for _, each in Tree.cells_and_names(cell):  # a Cell is told before those below it are found
        path = world.path(each)
        for registry in ("_params", "_cells") if path is not None else ():
            held = vars(each)[registry]
            world.register_path(held, f"{path}.{registry}")
            world.guard_keys(held)
            for name in held:
                found = world.item(held, name)
                if hangs_on is not None and registry == "_params":
                    place = f"{world.path(held)}[{name!r}].{hangs_on}"
                    world.add_guard(place, getattr(found, hangs_on))
