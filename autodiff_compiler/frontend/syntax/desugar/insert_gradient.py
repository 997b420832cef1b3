'''``with insert_grad_of(x) as d_x:`` as an inner function: its body is code of the backward.

>>> import gast
>>> tree = gast.parse("""
... def f(x):
...     y = x * x
...     with insert_grad_of(y) as d_y:
...         d_y = d_y * 2
...     return y
... """).body[0]
>>> print(gast.unparse(desugar_insert_gradient(tree)).strip())
def f(x):
    y = x * x
<BLANKLINE>
    def gradient_of_y(d_y):
        d_y = d_y * 2
        return d_y
    y = insert_grad_of(y, gradient_of_y)
    return y
'''

from __future__ import annotations

from typing import Any

import gast

from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.syntax import builders

NAME = "insert_grad_of"


def is_insert_gradient(node: Any) -> bool:
    """True if a ``with`` has this form, for one variable, and no early exit inside."""
    if len(node.items) != 1 or not isinstance(node.items[0].optional_vars, gast.Name):
        return False
    call = node.items[0].context_expr
    if not isinstance(call, gast.Call) or len(call.args) != 1 or call.keywords:
        return False
    named = getattr(call.func, "attr", getattr(call.func, "id", "")) == NAME
    leaves = (gast.Return, gast.Break, gast.Continue)
    stays = not any(isinstance(part, leaves) for stmt in node.body for part in nodes_in(stmt))
    return named and isinstance(call.args[0], gast.Name) and stays


def desugar_insert_gradient(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Returns ``tree`` with such statements made inner functions; changes it."""
    return _DesugarInsertGradient().visit(tree)


class _DesugarInsertGradient(gast.NodeTransformer):
    def visit_With(self, node: Any) -> Any:
        self.generic_visit(node)
        if not is_insert_gradient(node):
            return node
        (item,) = node.items
        call, cotangent = item.context_expr, item.optional_vars.id
        value, name = call.args[0].id, f"gradient_of_{call.args[0].id}"
        parameter = builders.name(cotangent, item.optional_vars, gast.Param)
        arguments = gast.arguments([parameter], [], None, [], [], None, [])
        returned = builders.at_position(
            node.body[-1], gast.Return(builders.name(cotangent, node.body[-1]))
        )
        function = gast.FunctionDef(name, arguments, [*node.body, returned], [], None, None, [])
        call.args.append(builders.name(name, call))
        return [builders.at_position(node, function), builders.assign(value, call, node)]
