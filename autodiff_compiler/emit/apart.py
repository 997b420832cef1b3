"""``named_apart``: every function of a module has a name of its own.

>>> from autodiff_compiler.ir.text import parse_function
>>> text = "func @f(%x: int) -> (int) {{\\n  %y: int = add %x, {}\\n  return %y\\n}}\\n"
>>> one, other, again = (parse_function(text.format(number)) for number in (1, 2, 1))
>>> [function.name for function in named_apart([one, other, again])]
['f', 'f_2', 'f']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autodiff_compiler.ir.nodes import Function
from autodiff_compiler.ir.rewrite import map_functions
from autodiff_compiler.ir.text import print_functions


def named_apart(roots: Sequence[Function]) -> list[Function]:
    """The functions with names that are theirs alone; functions of equal text become one."""
    taken: dict[str, str] = {}
    done: dict[int, Function] = {}

    def renamed(function: Function) -> Function:
        if id(function) not in done:
            body = map_functions(function.body, renamed)
            text = print_functions(replace(function, name="f", body=body))
            name, number = function.name, 1
            while taken.setdefault(name, text) != text:
                number += 1
                name = f"{function.name}_{number}"
            done[id(function)] = replace(function, name=name, body=body)
        return done[id(function)]

    return [renamed(root) for root in roots]


__all__ = ["named_apart"]
