'''Moves the test of a ``while`` that sets a variable into the body, if there is no ``else``.

>>> tree = gast.parse("""
... def f(x):
...     while (y := x * x) < 3:
...         x = x + y
...     return y
... """).body[0]
>>> print(gast.unparse(desugar_walrus_tests(tree)).strip())
def f(x):
    while True:
        if not (y := (x * x)) < 3:
            break
        x = x + y
    return y
'''

from __future__ import annotations

from typing import Any

import gast

from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.syntax import builders


def desugar_walrus_tests(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Returns ``tree`` with such tests in the bodies of their loops; changes it."""
    return _MoveWalrusTests().visit(tree)


class _MoveWalrusTests(gast.NodeTransformer):
    def visit_While(self, node: Any) -> Any:
        self.generic_visit(node)
        sets = any(isinstance(part, gast.NamedExpr) for part in nodes_in(node.test))
        if sets and not node.orelse:
            over = builders.at_position(node.test, gast.UnaryOp(gast.Not(), node.test))
            leave = builders.at_position(node.test, gast.Break())
            node.body.insert(0, builders.at_position(node.test, gast.If(over, [leave], [])))
            node.test = builders.constant(True, node.test)
        return node
