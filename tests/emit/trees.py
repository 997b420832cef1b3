"""Random expression trees, as the grammar allows them."""

from __future__ import annotations

import ast

from hypothesis import strategies as st

names = st.sampled_from(["x", "y", "np", "d_out"]).map(lambda name: ast.Name(name, ast.Load()))
values = st.one_of(
    st.integers(0, 9),
    st.floats(0, 1e20),
    st.floats(0, 1e20).map(lambda size: complex(0, size)),
    st.sampled_from([None, True, False, ..., "a", 'say "x"', "it's", "é\n\\\x7f", b"\xff'"]),
)
constants = values.map(ast.Constant)
unary = st.sampled_from([ast.USub, ast.UAdd, ast.Invert, ast.Not]).map(lambda kind: kind())
binary = st.sampled_from(
    [ast.Add, ast.Sub, ast.Mult, ast.MatMult, ast.Div, ast.Mod, ast.Pow, ast.FloorDiv]
    + [ast.BitOr, ast.BitXor, ast.BitAnd, ast.LShift, ast.RShift]
).map(lambda kind: kind())
comparisons = st.sampled_from(
    [ast.Eq, ast.NotEq, ast.Lt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn]
).map(lambda kind: kind())
boolean = st.sampled_from([ast.And, ast.Or]).map(lambda kind: kind())


def operators(inner: st.SearchStrategy) -> st.SearchStrategy:
    """Returns expressions in which every printed parenthesis groups."""
    return st.one_of(
        st.builds(ast.UnaryOp, unary, inner),
        st.builds(ast.BinOp, inner, binary, inner),
        st.builds(ast.BinOp, inner, binary, inner),
        st.builds(ast.BoolOp, boolean, st.lists(inner, min_size=2, max_size=3)),
        st.lists(st.tuples(comparisons, inner), min_size=1, max_size=2).flatmap(
            lambda pairs: inner.map(
                lambda left: ast.Compare(left, [op for op, _ in pairs], [e for _, e in pairs])
            )
        ),
        st.builds(ast.IfExp, inner, inner, inner),
        st.builds(ast.Lambda, arguments(inner), inner),
    )


@st.composite
def arguments(draw: st.DrawFn, inner: st.SearchStrategy) -> ast.arguments:
    before, middle, after = (draw(st.integers(0, 1)) for _ in range(3))
    return ast.arguments(
        posonlyargs=[ast.arg("a")] * before,
        args=[ast.arg("b")] * middle,
        vararg=draw(st.sampled_from([None, ast.arg("c")])),
        kwonlyargs=[ast.arg("d")] * after,
        kw_defaults=draw(st.lists(inner, min_size=after, max_size=after)),
        kwarg=draw(st.sampled_from([None, ast.arg("e")])),
        defaults=draw(st.lists(inner, max_size=before + middle)),
    )


def anything(inner: st.SearchStrategy) -> st.SearchStrategy:
    load = st.builds(ast.Load)
    starred = st.builds(ast.Starred, inner, load)
    optional = st.one_of(st.none(), inner)
    slices = st.builds(ast.Slice, optional, optional, optional)
    many = st.lists(inner, max_size=3)
    target = st.sampled_from(["for i in x", "for (i, j) in x"]).map(
        lambda text: ast.parse(f"[0 {text}]").body[0].value.generators[0].target
    )
    loop = st.builds(ast.comprehension, target, inner, st.lists(inner, max_size=1), st.just(0))
    loops = st.lists(loop, min_size=1, max_size=2)
    keyword = st.builds(ast.keyword, st.sampled_from(["axis", "out"]), inner)
    keywords = st.lists(keyword, max_size=2, unique_by=lambda item: item.arg)
    spread = st.builds(ast.keyword, st.none(), inner)
    walrus = st.builds(
        ast.NamedExpr, st.builds(ast.Name, st.just("w"), st.builds(ast.Store)), inner
    )
    return st.one_of(
        operators(inner),
        st.builds(ast.Attribute, inner, st.sampled_from(["T", "real"]), load),
        st.builds(ast.Call, inner, st.lists(inner | starred, max_size=2), keywords),
        st.builds(ast.Call, inner, many, st.lists(spread, min_size=1, max_size=1)),
        st.builds(ast.Subscript, inner, inner | slices, load),
        st.builds(
            ast.Subscript,
            inner,
            st.builds(ast.Tuple, st.lists(inner | slices, min_size=1, max_size=3), load),
            load,
        ),
        st.builds(
            ast.Subscript,
            inner,
            st.builds(ast.Tuple, st.lists(inner | starred, max_size=2), load),
            load,
        ),
        st.builds(ast.Tuple, st.lists(inner | starred, max_size=3), load),
        st.builds(ast.List, st.lists(inner | starred, max_size=3), load),
        st.builds(ast.Set, st.lists(inner, min_size=1, max_size=3)),
        st.lists(st.tuples(optional, inner), max_size=2).map(
            lambda items: ast.Dict([key for key, _ in items], [value for _, value in items])
        ),
        st.builds(ast.ListComp, inner, loops),
        st.builds(ast.GeneratorExp, inner, loops),
        st.builds(ast.DictComp, inner, inner, loops),
        walrus,
    )


operator_trees = st.recursive(names | st.integers(0, 9).map(ast.Constant), operators, max_leaves=8)
trees = st.recursive(names | constants, anything, max_leaves=8)


def read(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
