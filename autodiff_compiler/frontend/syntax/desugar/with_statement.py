'''``with`` on a plain context manager as calls of its methods.

>>> tree = gast.parse("""
... def f(x, scale):
...     with scale(x) as y:
...         z = y * x
...     return z
... """).body[0]
>>> tree = desugar_with(tree)
>>> tree.body = [stmt for stmt in tree.body if not isinstance(stmt, WithBoundary)]
>>> print(gast.unparse(tree).strip())
def f(x, scale):
    context = scale(x)
    y = context.__enter__()
    z = y * x
    context.__exit__(None, None, None)
    return z
'''

from __future__ import annotations

from typing import Any

import gast

from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.syntax import builders

_EXITS = (gast.Return, gast.Break, gast.Continue, gast.Raise)


class WithBoundary(gast.stmt):
    """The beginning, or the end, of the body of a ``with``."""

    _fields = ()

    def __init__(self, begins: bool, at: gast.AST) -> None:
        super().__init__()
        self.begins = begins
        builders.at_position(at, self)


def exits_at_end_only(node: Any) -> bool:
    """True if a ``with`` is left at its end, or by a ``return`` there, and nowhere else."""
    last = node.body[-1]
    body = node.body[:-1] if isinstance(last, gast.Return) else node.body
    return not any(
        isinstance(part, _EXITS) for stmt in body for part in builders.nodes_of_scope(stmt)
    )


def desugar_with(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Returns ``tree`` with each ``with`` made calls; changes it. None may have an early exit."""
    return _DesugarWith({part.id for part in nodes_in(tree) if isinstance(part, gast.Name)}).visit(
        tree
    )


class _DesugarWith(gast.NodeTransformer):
    def __init__(self, taken: set[str]):
        self.taken = taken

    def visit_With(self, node: Any) -> Any:
        self.generic_visit(node)
        body: list[Any] = node.body
        returned: list[Any] = []
        if isinstance(body[-1], gast.Return):
            result, last = builders.fresh_name(self.taken, "result"), body[-1]
            value = last.value or builders.constant(None, last)
            body = [*body[:-1], builders.assign(result, value, last)]
            returned = [builders.at_position(last, gast.Return(builders.name(result, last)))]
        for item in reversed(node.items):
            body = self.around(item, node, body)
        return [*body, *returned]

    def around(self, item: Any, node: Any, body: list[Any]) -> list[Any]:
        at, context = item.context_expr, builders.fresh_name(self.taken, "context")
        entered = self.called(context, "__enter__", [], at)
        nothing = [builders.constant(None, at) for _ in range(3)]
        left = builders.at_position(at, gast.Expr(self.called(context, "__exit__", nothing, at)))
        target = item.optional_vars
        enter = gast.Expr(entered) if target is None else gast.Assign([target], entered, None)
        inside = [WithBoundary(True, at), *body, WithBoundary(False, at)]
        return [builders.assign(context, at, node), builders.at_position(at, enter), *inside, left]

    @staticmethod
    def called(name: str, method: str, args: list[Any], at: Any) -> Any:
        function = builders.at_position(
            at, gast.Attribute(builders.name(name, at), method, gast.Load())
        )
        return builders.at_position(at, gast.Call(function, args, []))
