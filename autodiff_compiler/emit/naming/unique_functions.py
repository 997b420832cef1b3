"""Gives every function of a module a name of its own.

>>> from autodiff_compiler.ir.parser import parse_function
>>> text = "func @f(%x: int) -> (int) {{\\n  %y: int = add %x, {}\\n  return %y\\n}}\\n"
>>> one, other, again = (parse_function(text.format(number)) for number in (1, 2, 1))
>>> [function.name for function in with_unique_names([one, other, again])]
['f', 'f_2', 'f']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from autodiff_compiler.emit.naming.identifiers import function_identifier
from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.printer import print_functions
from autodiff_compiler.ir.rewrite import map_functions


def with_unique_names(roots: Sequence[Function]) -> list[Function]:
    """Returns the functions with unique names. Functions of equal IR text share one name."""
    by_name: dict[str, Function] = {}
    done: dict[int, Function] = {}

    @cache
    def text(function: Function) -> str:
        return print_functions(replace(function, name="f"))

    def renamed(function: Function) -> Function:
        if id(function) not in done:
            inner = replace(function, body=map_functions(function.body, renamed))
            first = name = function_identifier(function.name)
            number = 1
            while (other := by_name.setdefault(name, inner)) is not inner:
                if text(other) == text(inner):
                    break
                number += 1
                name = f"{first}_{number}"
            done[id(function)] = replace(inner, name=name)
        return done[id(function)]

    return [renamed(root) for root in roots]


__all__ = ["with_unique_names"]
