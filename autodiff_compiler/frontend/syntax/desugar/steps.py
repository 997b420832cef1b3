"""The steps of desugaring in their order: a source function in a small part of Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import gast

from autodiff_compiler.fast_ast import copied, nodes_in
from autodiff_compiler.frontend.syntax.desugar.early_exits import desugar_early_exits
from autodiff_compiler.frontend.syntax.desugar.insert_gradient import desugar_insert_gradient
from autodiff_compiler.frontend.syntax.desugar.match_statement import desugar_match
from autodiff_compiler.frontend.syntax.desugar.nonlocal_variables import desugar_nonlocal
from autodiff_compiler.frontend.syntax.desugar.try_statement import resolve_except_clauses
from autodiff_compiler.frontend.syntax.desugar.walrus_tests import desugar_walrus_tests
from autodiff_compiler.frontend.syntax.desugar.with_statement import desugar_with
from autodiff_compiler.frontend.syntax.source import Source

#: Each step takes a function's tree, may change it, and returns it. It changes no tree without a
#: node of its kind.
STEPS: Sequence[tuple[type[gast.AST], Callable[[gast.FunctionDef], gast.FunctionDef]]] = (
    (gast.NamedExpr, desugar_walrus_tests),
    (gast.With, desugar_insert_gradient),
    (gast.Match, desugar_match),
    (gast.With, desugar_with),
    (gast.Nonlocal, desugar_nonlocal),
    (gast.Try, resolve_except_clauses),
    (gast.FunctionDef, desugar_early_exits),
)


def desugar(function: Source | gast.FunctionDef) -> gast.FunctionDef:
    """Returns the function in plain structure, as a new tree; functions inside it likewise."""
    tree = copied(function.tree if isinstance(function, Source) else function)
    kinds = set(map(type, nodes_in(tree)))
    for kind, step in STEPS:
        tree = step(tree) if kind in kinds else tree
    return tree


@functools.lru_cache(maxsize=1024)
def desugared(source: Source) -> gast.FunctionDef:
    """Returns ``desugar(source)``, cached: one function is lowered for many signatures."""
    tree = desugar(source)
    source.record_spans(tree)
    return tree
