"""Functions mean the same after their exits were turned into structure.

Random functions on ints are run as they are and as ``desugar`` left them. A printer of our own
gives ``until`` its meaning: the loop ends after an iteration in which a flag became true.
"""

import ast
import copy

import gast
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_compiler.frontend.syntax.desugar.steps import desugar, desugared
from autodiff_compiler.frontend.syntax.nodes import (
    AugmentedBinOp,
    GuardedName,
    PlainTree,
    exit_flags,
)
from autodiff_compiler.frontend.syntax.source import Source, read_source

LOOPS = (gast.For, gast.While)


def parsed(text: str) -> gast.FunctionDef:
    return gast.parse(text).body[0]


def printed(tree: gast.FunctionDef) -> str:
    """Python text with ``if flag: break`` at the end of each loop that has ``until``."""
    tree = copy.deepcopy(tree)
    for node in gast.walk(tree):
        for flag in exit_flags(node):
            node.body += gast.parse(f"for _ in ():\n    if {flag}:\n        break").body[0].body
    return ast.unparse(gast.gast_to_ast(gast.Module([PlainTree().visit(tree)], [])))


def run(text: str, *args: int):
    """The result (or the error) and the trace of a call of ``f``."""
    trace: list[int] = []
    space = {"mark": trace.append}
    exec(compile(text, "<test>", "exec"), space)  # noqa: S102
    try:
        return space["f"](*args), trace
    except ValueError as error:
        return str(error), trace


def statements(block):
    """Each statement of a function, without those of functions inside it."""
    for stmt in block:
        yield stmt
        if not isinstance(stmt, gast.FunctionDef):
            yield from statements(getattr(stmt, "body", []))
            yield from statements(getattr(stmt, "orelse", []))


def check_tail(block) -> None:
    """Every path ends in ``return`` or ``raise``, and ``return`` stands nowhere else."""
    *lead, last = block
    assert not any(isinstance(s, gast.Return) for s in statements(lead))
    if isinstance(last, gast.If) and any(isinstance(s, gast.Return) for s in statements([last])):
        check_tail(last.body)
        check_tail(last.orelse)
    elif isinstance(last, gast.If):
        assert raises([last])
    else:
        assert isinstance(last, (gast.Return, gast.Raise))


def raises(block) -> bool:
    last = block[-1] if block else None
    if isinstance(last, gast.If):
        return raises(last.body) and raises(last.orelse)
    return isinstance(last, gast.Raise)


def check_structure(tree: gast.FunctionDef) -> None:
    check_tail(tree.body)
    for stmt in statements(tree.body):
        assert not isinstance(stmt, (gast.Break, gast.Continue))
        if isinstance(stmt, LOOPS):
            assert stmt.orelse == []
        if isinstance(stmt, (gast.If, *LOOPS)):
            assert stmt.body
    for node in gast.walk(tree):
        if isinstance(node, (gast.stmt, gast.expr)):
            assert node.lineno and node.end_lineno, gast.dump(node)


def check_same(text: str) -> gast.FunctionDef:
    tree = desugar(parsed(text))
    check_structure(tree)
    for args in ((0, 0), (1, 3), (2, 5), (7, 4), (-1, 6)):
        assert run(printed(tree), *args) == run(text, *args), printed(tree)
    return tree


class Draw:
    """Draws a function of statements that leave marks, so that every path shows."""

    def __init__(self, draw):
        self.draw = draw
        self.count = 0

    def number(self) -> int:
        self.count += 1
        return self.count

    def test(self) -> str:
        name, divisor = self.draw(st.sampled_from("xy")), self.draw(st.integers(2, 4))
        return f"{name} % {divisor} == {self.draw(st.integers(0, 1))}"

    def block(self, depth: int, loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, 3))):
            lines += self.statement(depth, loop)
        return lines

    def inner(self, depth: int, loop: bool) -> list[str]:
        return ["    " + line for line in self.block(depth - 1, loop)]

    def statement(self, depth: int, loop: bool) -> list[str]:
        kinds = ["mark", "step", "return", "raise"] if self.draw(st.integers(0, 4)) == 0 else []
        kinds += ["mark", "step"] + ["break", "continue"] * loop
        kinds += ["if", "if", "if", "for", "while", "forever"] * (depth > 0)
        return getattr(self, self.draw(st.sampled_from(kinds)) + "_")(depth, loop)

    def mark_(self, depth, loop):
        return [f"mark({self.number()})"]

    def step_(self, depth, loop):
        return self.draw(st.sampled_from([["x += y"], ["y = x + 1"], ["x = x * 3 - y"]]))

    def return_(self, depth, loop):
        return [self.draw(st.sampled_from([f"return x + {self.number()}", "return", "return y"]))]

    def raise_(self, depth, loop):
        return [f"raise ValueError({self.number()})"]

    def break_(self, depth, loop):
        return ["break"]

    def continue_(self, depth, loop):
        return ["continue"]

    def if_(self, depth, loop):
        lines = [f"if {self.test()}:", *self.inner(depth, loop)]
        if self.draw(st.booleans()):
            lines += [f"elif {self.test()}:", *self.inner(depth, loop)]
        if self.draw(st.booleans()):
            lines += ["else:", *self.inner(depth, loop)]
        return lines

    def for_(self, depth, loop):
        name = f"i{self.number()}"
        head = [f"for {name} in range({self.draw(st.integers(0, 3))}):", f"    x += {name}"]
        return head + self.inner(depth, True) + self.else_(depth, loop)

    def while_(self, depth, loop):
        name = f"n{self.number()}"
        head = [f"{name} = 0", f"while {name} < 3:", f"    {name} += 1"]
        return head + self.inner(depth, True) + self.else_(depth, loop)

    def forever_(self, depth, loop):
        name = f"n{self.number()}"
        leave = self.draw(st.sampled_from(["break", "return x"]))
        head = [f"{name} = 0", "while True:", f"    {name} += 1"]
        return [*head, f"    if {name} > 2:", f"        {leave}", *self.inner(depth, True)]

    def else_(self, depth, loop):
        if self.draw(st.integers(0, 2)):
            return []
        return ["else:", *self.inner(depth, loop)]


@st.composite
def functions(draw) -> str:
    lines = Draw(draw).block(3, False)
    return "def f(x, y):\n" + "\n".join("    " + line for line in lines)


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(functions())
def test_random_functions_mean_the_same(text):
    check_same(text)


FIXED = {
    "guards": """
def f(x, y):
    if x < 0:
        return -1
    elif x == 0:
        return
    mark(1)
    if y > 4:
        return 2
    return 3
""",
    "return from the inner of two loops": """
def f(x, y):
    for i in range(3):
        for j in range(3):
            mark(i * j)
            if i * j == x:
                return i + j
        mark(7)
    return y
""",
    "else of a loop": """
def f(x, y):
    for i in range(y):
        if i == x:
            break
    else:
        return 1
    while y > 0:
        y -= 1
        if y == x:
            continue
        mark(y)
    else:
        mark(-1)
""",
    "else continues the outer loop": """
def f(x, y):
    for i in range(4):
        for j in range(3):
            if i + j == x:
                break
        else:
            continue
        mark(i)
        if i == y:
            break
""",
    "the user's names": """
def f(stop, result):
    returned = skip = 1
    for i in range(result):
        if i > 1:
            if i == stop:
                return returned
            if i == 3:
                continue
            mark(i)
        mark(skip)
        if i == 4:
            break
    return stop
""",
    "a function inside": """
def f(x, y):
    def g(a):
        while True:
            a += 1
            if a > y:
                return a
    for i in range(y):
        if g(i) == x:
            return g(x)
    return (lambda a: a + 1)(x)
""",
}


@pytest.mark.parametrize("name", FIXED)
def test_fixed_functions_mean_the_same(name):
    check_same(FIXED[name])


def loops_of(tree) -> list:
    return [stmt for stmt in statements(tree.body) if isinstance(stmt, LOOPS)]


def test_a_return_passes_through_both_loops():
    outer, inner = loops_of(check_same(FIXED["return from the inner of two loops"]))
    assert (exit_flags(outer), inner.until) == (("returned",), ("returned",))


def test_names_are_unlike_the_users():
    (loop,) = loops_of(check_same(FIXED["the user's names"]))
    assert exit_flags(loop) == ("stop_1", "returned_1")


def test_a_second_loop_has_flags_of_its_own():
    text = "def f(x, y):\n" + "    for i in range(y):\n        if i == x:\n            break\n" * 2
    assert [exit_flags(loop) for loop in loops_of(check_same(text))] == [("stop",), ("stop_1",)]


def test_a_loop_without_exits_is_untouched():
    text = "def f(x, y):\n    for i in range(y):\n        x += i\n    return x"
    (loop,) = loops_of(check_same(text))
    assert exit_flags(loop) == ()


def test_after_an_endless_loop_nothing_but_the_result_is_returned():
    text = """
def f(x, y):
    while True:
        x += 1
        if x > y:
            return x
"""
    tree = check_same(text)
    assert printed(tree).split("\n")[-1] == "    return result"


def test_the_tree_given_is_not_changed():
    tree = parsed(FIXED["the user's names"])
    before = gast.dump(tree, include_attributes=True)
    desugar(tree)
    assert gast.dump(tree, include_attributes=True) == before


def test_a_result_is_read_where_a_flag_has_shown_that_it_is_set():
    tree = desugar(parsed(FIXED["return from the inner of two loops"]))
    marked = [node.id for node in gast.walk(tree) if isinstance(node, GuardedName)]
    assert marked == ["result"]


def test_a_source_is_desugared_once():
    source = read_source(method)
    assert desugared(source) is desugared(source)
    assert printed(desugared(source)) == printed(desugar(source))


def method(x, y):
    for i in range(y):
        if i == x:
            return i
    x += y
    return x


def test_every_node_stands_on_the_line_it_came_from():
    source: Source = read_source(method)
    tree = desugar(source)
    texts = {
        type(stmt).__name__ + str(n): source.span(stmt).text.strip()
        for n, stmt in enumerate(statements(tree.body))
    }
    assert texts == {
        "Assign0": "for i in range(y):",
        "ForUntil1": "for i in range(y):",
        "If2": "if i == x:",
        "Assign3": "return i",
        "Assign4": "return i",
        "If5": "for i in range(y):",
        "Return6": "for i in range(y):",
        "Assign7": "x += y",
        "Return8": "return x",
    }
    assign = tree.body[2].orelse[0]
    assert isinstance(assign.value, AugmentedBinOp)
    assert [source.segment(part) for part in (assign.value.left, assign.value.right)] == ["x", "y"]
