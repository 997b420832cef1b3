"""Nothing is written to a syntax tree while it is lowered: trees are kept between compilations."""

from __future__ import annotations

import gast
import numpy as np

from autodiff_compiler import grad
from autodiff_compiler.frontend.syntax.desugar.steps import desugared
from autodiff_compiler.frontend.syntax.source import read_source


def everything(x, n=3):
    rows = [row * 2.0 for row in x]
    found = None
    for row in rows:
        if np.sum(row) > 10.0:
            found = row
            break
    total, other = 0.0, found
    if other is not None:
        total += np.sum(other)
    items = [1.0]
    for item in items:
        if len(items) < n:
            items.append(item + 1.0)
    k = 0
    while True:
        k += 1
        if k > n:
            break
    return total + np.sum(x) * sum(i for i in items) * k


def facts(tree):
    """Every attribute of every node, by name and identity."""
    return {
        (id(node), name): id(value)
        for node in gast.walk(tree)
        for name, value in vars(node).items()
    }


def test_lowering_writes_nothing_to_the_tree_that_is_kept() -> None:
    tree = desugared(read_source(everything))
    before = facts(tree)
    slope = grad(everything)(np.ones((4, 2)))
    assert np.all(slope == slope[0, 0])
    assert desugared(read_source(everything)) is tree
    assert facts(tree) == before
