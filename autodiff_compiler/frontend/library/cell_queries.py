"""Queries of a Cell's parts: its Parameters and Cells, as in ``for p in self.trainable_params():``.

The Cell itself answers them at compile time. The Parameters found are its own. The registries in
which they were found become guards: after a change of the Cell, the function is compiled again.
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
from autodiff_compiler.frontend.core.compilation import Compilation
from autodiff_compiler.frontend.core.lowering import Lowering

#: The kind of each query's answer, and the attribute of Parameters that it depends on.
QUERIES: dict[Callable[..., Any], tuple[str, str | None]] = {
    Tree.trainable_params: ("list", "requires_grad"),
    Tree.untrainable_params: ("list", "requires_grad"),
    Tree.get_parameters: ("iterator", None),
    Tree.parameters_and_names: ("iterator", None),
    Tree.parameters_dict: ("dict", "name"),
    Tree.cells: ("values", None),
    Tree.name_cells: ("dict", None),
    Tree.cells_and_names: ("iterator", None),
}


def is_query(callee: Any) -> bool:
    """True if ``callee`` is a query of a Cell."""
    return isinstance(callee, types.MethodType) and callee.__func__ in QUERIES


def answer_query(low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Returns the answer of a query as a compile-time value."""
    kind, depends_on = QUERIES[callee.__func__]
    guard_parts(low.compilation, callee.__self__, depends_on)

    @functools.wraps(callee)
    def items(*args: Any, **kwargs: Any) -> list[Any]:
        answer = callee(*args, **kwargs)
        return list(answer.items() if kind == "dict" else answer)

    answer = low.macro(items, args, kwargs)
    if kind == "list":
        return answer
    parts = low.contents(answer)
    if kind == "iterator":
        return iterators.new_iterator(low, parts)
    container = low.allocate("dict", dict(parts if kind == "dict" else enumerate(parts)))
    return DictView("values", container) if kind == "values" else container


def guard_parts(compilation: Compilation, cell: Cell, depends_on: str | None) -> None:
    """Guards the parts of a Cell and of those below it, and one attribute of the Parameters."""
    for _, each in Tree.cells_and_names(cell):  # a Cell comes before those below it
        path = compilation.path(each)
        for registry in ("_params", "_cells") if path is not None else ():
            parts = vars(each)[registry]
            compilation.register_path(parts, f"{path}.{registry}")
            compilation.guard_keys(parts)
            for name in parts:
                parameter = compilation.item(parts, name)
                if depends_on is not None and registry == "_params":
                    place = f"{compilation.path(parts)}[{name!r}].{depends_on}"
                    compilation.add_guard(place, getattr(parameter, depends_on))
