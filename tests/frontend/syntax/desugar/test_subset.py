"""The fence: what is let through, and what is said about the rest."""

import linecache
import sys
import textwrap

import gast
import pytest

from autodiff_compiler.errors import Problem, UnsupportedSyntax, raise_all
from autodiff_compiler.frontend.syntax.desugar.subset import ACCEPTED, REFUSED, check
from autodiff_compiler.frontend.syntax.source import Source, read_source


def source_of(text: str) -> Source:
    text = textwrap.dedent(text).lstrip("\n")
    return Source(gast.parse(text).body[0], "net.py", 1, tuple(text.split("\n")))


def problems(body: str) -> list[Problem]:
    return check(source_of("def construct(self, x):\n" + textwrap.indent(body, "    ")))


def test_the_whole_subset_is_accepted():
    source = source_of("""
        def construct(self, x: int, /, *rest, key=1, **more) -> int:
            'doc'
            def inner(a):
                return a @ x
            y: int = 1
            y += 2j
            a, *b = x[1:2, ..., ::-1], self.w
            if x > 0 and not y or x is None:
                pass
            for i in range(3):
                if i < 1 <= 2:
                    continue
                break
            else:
                y = -1
            while (n := y) < 3:
                y += 1
            assert x, "m"
            import numpy as np
            from math import pi
            del n
            z = f(*rest, key=1, **more), {1: 2, **more}, {1, 2}, [*b]
            w = [i for i in z if i], {i for i in z}, {i: 1 for i in z}, sum(i for i in z)
            s = f"{x!r:>{y}}" if x else lambda t: t
            match x:
                case [1, *_] | {"a": int(b)} if b:
                    y
            raise ValueError(s)
    """)
    assert check(source) == ()
    seen = {type(node).__name__ for node in gast.walk(source.tree)}
    assert seen >= ACCEPTED  # the test above shows each accepted kind


CASES = {
    "Yield": "yield x",
    "YieldFrom": "yield from x",
    "AsyncFunctionDef": "async def f(): pass",
    "Global": "global g",
    "Try": "try:\n    pass\nfinally:\n    return x",
    "TryStar": "try:\n    pass\nexcept* ValueError:\n    pass",
    "With": "with x as y, x:\n    if y:\n        return y\n    pass",
    "ClassDef": "class A(B):\n    def f(self):\n        yield 1",
    "TypeAlias": "type A[T, *Ts, **P] = int",
    "TemplateStr": "t'{x}'",
}
SINCE = {"TryStar": (3, 11), "TypeAlias": (3, 12), "TemplateStr": (3, 14)}
RUNS = [kind for kind in CASES if sys.version_info >= SINCE.get(kind, (3, 10))]


@pytest.mark.parametrize("kind", RUNS)
def test_each_refused_kind_is_refused_once(kind):
    (problem,) = problems(CASES[kind])
    assert problem.kind is UnsupportedSyntax
    assert problem.cause == REFUSED[kind][0].format(name="construct")
    assert problem.cure == REFUSED[kind][1].format(name="construct")
    assert problem.span.line == 2


def test_async_is_refused_wherever_it_stands():
    text = """
        async def construct(x):
            await x
            async for i in x:
                pass
            async with x:
                pass
            return [i async for i in x]
    """
    found = check(source_of(text))
    assert [p.span.line for p in found] == [1, 2, 3, 5, 7]
    assert "'async def'" in found[0].cure


def test_of_a_caught_exception_only_the_message_is_read():
    text = "try:\n    pass\nexcept ValueError as e:\n    print(e, str(e), f'{e}')\n    y = e.args"
    (problem,) = problems(text)
    assert (problem.span.line, problem.span.column) == (6, 13)
    assert problem.cause == REFUSED["caught"][0]


def test_nonlocal_names_the_inner_function():
    (problem,) = problems("def step():\n    nonlocal far\n    far = 1")
    assert problem.cause.startswith("'nonlocal' makes step change")


def test_every_refused_kind_is_tested():
    others = {"Await", "AsyncFor", "AsyncWith", "async comprehension", "Nonlocal", "caught"}
    assert set(CASES) | others == set(REFUSED)
    assert not set(REFUSED) & ACCEPTED


def test_an_unknown_syntax_is_refused():
    source = source_of("def construct(x):\n    pass")
    source.tree.body = [gast.copy_location(gast.Print(None, [], True), source.tree.body[0])]
    (problem,) = check(source)
    assert problem.cause == "the syntax 'Print' is not supported"


def test_a_lambda_is_called_this_lambda():
    text = "f = lambda: (yield 1)\n"
    space: dict = {}
    exec(compile(text, "<subset lambda>", "exec"), space)  # noqa: S102
    linecache.cache["<subset lambda>"] = (len(text), None, [text], "")
    (problem,) = check(read_source(space["f"]))
    assert problem.cause.startswith("'yield' makes this lambda a generator")


def test_all_problems_are_reported_at_once_in_the_order_of_lines():
    found = problems("try:\n    yield x\nfinally:\n    global x\nwith x:\n    raise x")
    assert [p.span.line for p in found] == [3, 5, 6]
    with pytest.raises(UnsupportedSyntax) as caught:
        raise_all(found)
    told = "'yield' makes construct a generator, which compiled code does not support"
    assert str(caught.value).split("\n")[0:4] == [
        f"net.py:3:9: UnsupportedSyntax: {told}",
        "    yield x",
        "    ^^^^^^^",
        "  cure: collect the items in a list and return the list [AD101]",
    ]
