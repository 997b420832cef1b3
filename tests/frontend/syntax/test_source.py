"""The source and the positions of functions, as the user wrote them."""

import functools
import linecache
import math
import textwrap
from pathlib import Path

import gast
import pytest

from autodiff_compiler.errors import SourceNotFound
from autodiff_compiler.frontend.syntax.source import read_source
from autodiff_compiler.span import Span

HERE = __file__
TEXT = Path(HERE).read_text(encoding="utf-8").split("\n")


def line_of(part: str) -> int:
    """The first line of this file that contains ``part``."""
    return 1 + next(i for i, line in enumerate(TEXT) if part in line)


class Net:
    def construct(self, x, *, scale=1.0):
        text = """a string
at column zero"""
        y = self.matmul(x, x) + self.__hidden  # the product
        return (
            y * scale,
            text,
        )


def twice(function):
    @functools.wraps(function)
    def inner(x):
        return function(function(x))

    return inner


@twice
@functools.cache
def decorated(x):
    return x + 1


def one(x): return "é", x + 1  # fmt: skip  # noqa: E704


def test_a_method_keeps_the_positions_of_its_file():
    source = read_source(Net().construct)
    assert source.file == HERE
    assert source.tree.name == "construct"
    assert source.first_line == line_of("def construct(self, x,")
    assign = source.tree.body[1]
    span = source.span(assign.value)
    assert span.line == line_of("# the product")
    assert (span.column, span.end) == (13, 13 + len("self.matmul(x, x) + self.__hidden"))
    assert span.text == "        y = self.matmul(x, x) + self.__hidden  # the product"
    assert source.segment(assign.value.left) == "self.matmul(x, x)"
    assert span.tag.endswith("| y = self.matmul(x, x) + self.__hidden  # the product")


def test_a_node_of_several_lines_ends_with_its_first_line():
    source = read_source(Net.construct)
    returned = source.tree.body[2]
    span = source.span(returned)
    assert (span.line, span.column, span.end) == (source.first_line + 4, 9, 9 + len("return ("))
    assert source.segment(returned.value).split("\n")[1:] == [
        "            y * scale,",
        "            text,",
        "        )",
    ]


def test_the_end_of_a_long_string_at_column_zero_does_not_matter():
    assert read_source(Net.construct).tree.body[0].value.value == "a string\nat column zero"


def test_private_names_are_those_of_the_class():
    attributes = {n.attr for n in gast.walk(read_source(Net.construct).tree) if hasattr(n, "attr")}
    assert attributes == {"matmul", "_Net__hidden"}


def test_columns_count_characters_not_bytes():
    source = read_source(one)
    total = source.tree.body[0].value.elts[1]
    assert source.segment(total) == "x + 1"
    assert source.span(total).column == 1 + TEXT[source.first_line - 1].index("x + 1")


def test_operators_and_nodes_made_later_have_a_span():
    source = read_source(one)
    assert source.span(gast.Add()).line == source.first_line


def test_decorators_are_dropped():
    source = read_source(decorated.__wrapped__.__wrapped__)
    assert source.tree.name == "decorated"
    assert source.tree.decorator_list == []
    assert source.first_line == line_of("def decorated(x):")


def test_closures_with_the_same_text_share_a_source():
    assert read_source(twice(one)) is read_source(twice(len))


def test_a_lambda_is_a_function_of_one_return():
    source = read_source(lambda x, k=2: x**k)
    assert (source.tree.name, type(source.tree.body[0])) == ("<lambda>", gast.Return)
    assert source.segment(source.tree.body[0].value) == "x**k"
    assert [a.id for a in source.tree.args.args] == ["x", "k"]


def body(function) -> str:
    source = read_source(function)
    return source.segment(source.tree.body[0].value)


def test_lambdas_on_one_line_are_told_apart():
    k = 3
    first, second, third = lambda x: x + k, lambda x: x * k, lambda x: x + HERE  # fmt: skip
    assert [body(f) for f in (first, second, third)] == ["x + k", "x * k", "x + HERE"]
    one, real = lambda x: x + 1, lambda x: x + 1.0
    assert [body(one), body(real)] == ["x + 1", "x + 1.0"]
    outer = lambda a: lambda b: a - b
    assert [body(outer), body(outer(1))] == ["lambda b: a - b", "a - b"]


def test_lambdas_that_compile_alike():
    same, again = lambda x: x - 1, lambda x: x - 1
    assert body(same) == body(again) == "x - 1"
    with pytest.raises(SourceNotFound, match="put each lambda on its own line"):
        left, right = lambda x=1: x, lambda x=2: x
        body(left if right else right)


def test_exec_needs_linecache():
    text = textwrap.dedent("""
        def made(x):
            return x + 1
    """)
    space: dict = {}
    exec(compile(text, "<nowhere to be found>", "exec"), space)  # noqa: S102
    with pytest.raises(SourceNotFound, match="put the function in a file") as caught:
        read_source(space["made"])
    assert "'made'" in str(caught.value)
    linecache.cache["<nowhere to be found>"] = (len(text), None, text.splitlines(True), "")
    assert read_source(space["made"]).first_line == 2


def test_text_of_another_function_is_not_taken():
    text = "def made(a, b):\n    return a\n"
    space: dict = {}
    exec(compile("def made(x):\n    return x\n", "<other text>", "exec"), space)  # noqa: S102
    linecache.cache["<other text>"] = (len(text), None, text.splitlines(True), "")
    with pytest.raises(SourceNotFound):
        read_source(space["made"])


@pytest.mark.parametrize(
    "edited",
    [
        "def made(x, y):\n    return x + y\n",
        "def made(x, y):\n    return x - 2\n",
        "\n\n\n",
        "def (",
    ],
)
def test_a_file_that_was_edited_is_refused(tmp_path, edited):
    """The text on disk is not what runs any more: compiling it would be silently wrong."""
    path = tmp_path / "edited.py"
    text = "def made(x, y):\n    return x - y\n"
    path.write_text(text)
    space: dict = {}
    exec(compile(text, str(path), "exec"), space)  # noqa: S102
    path.write_text(edited)
    with pytest.raises(SourceNotFound):
        read_source(space["made"])


def test_edits_elsewhere_in_a_file_do_no_harm(tmp_path):
    path = tmp_path / "edited.py"
    text = "def made(x, y):\n    return x - y\n"
    space: dict = {}
    exec(compile(text, str(path), "exec"), space)  # noqa: S102
    path.write_text(text + "\n\nmore = 3\n")
    assert read_source(space["made"]).first_line == 1


def test_a_callable_that_is_not_python_is_refused():
    with pytest.raises(SourceNotFound, match="'sin' is not written in Python"):
        read_source(math.sin)


def made_elsewhere(text: str, name: str, shown: str) -> object:
    """A function compiled from ``text``, in a file that now says ``shown``."""
    file = f"<{name} made elsewhere>"
    scope: dict = {}
    exec(compile(textwrap.dedent(text), file, "exec"), scope)
    lines = textwrap.dedent(shown).splitlines(keepends=True)
    linecache.cache[file] = (len(shown), None, lines, file)
    return scope[name]


@pytest.mark.parametrize(
    ("text", "shown", "cause"),
    [
        (
            "def f(x):\n    assert x\n    return x\n",
            "def f(y):\n    assert y\n    return y\n",
            "has changed",
        ),
        ("f = lambda x: x * 9\n", "f, g = lambda x: x * 2, lambda x: x * 3\n", "was not found"),
    ],
)
def test_the_text_of_another_function(text: str, shown: str, cause: str) -> None:
    with pytest.raises(SourceNotFound, match=cause):
        read_source(made_elsewhere(text, "f", shown))


def test_a_function_among_many_is_told_from_what_it_was(tmp_path):
    """How a call is compiled depends on the imports of the whole file, even on one inside another
    function, and on what the file imports from the future."""
    others = "".join(f"def other_{k}(x):\n    return x + {k}\n\n" for k in range(50))
    text = (
        "from __future__ import annotations\nimport math\n\n"
        f"{others}def late():\n    global cmath\n    import cmath\n\n"
        "class Box:\n    @staticmethod\n    def held(x: int = 3):\n"
        "        def inner(y: float) -> float:\n            return math.exp(cmath.phase(y))\n"
        "        return inner(x)\n"
    )
    names = {}
    file = tmp_path / "long.py"
    file.write_text(text, encoding="utf-8")
    exec(compile(text, str(file), "exec", dont_inherit=True), names)
    for name in ("other_7", "other_49"):
        assert read_source(names[name]).tree.name == name
    source = read_source(names["Box"].held)
    assert source.lines[source.tree.lineno - 1].strip() == "def held(x: int = 3):"
    edited = tmp_path / "edited.py"
    edited.write_text(text.replace("phase(y)", "phase(-y)"), encoding="utf-8")
    exec(compile(text, str(edited), "exec", dont_inherit=True), names)
    with pytest.raises(SourceNotFound, match="has changed since the file was imported"):
        read_source(names["Box"].held)


@pytest.mark.parametrize(
    "now",
    [
        "def f(x):\n    assert x.ndim == 1\n    return (x * x * x).sum()\n",
        "\n\n\ndef f(x):\n    assert x.ndim == 1\n    return (x * x).sum()\n",
        "def other(x):\n    return x\n",
        "def f(x:\n",
    ],
)
def test_a_function_with_an_assert_that_changed_on_disk_is_refused(tmp_path, now):
    before = "def f(x):\n    assert x.ndim == 1\n    return (x * x).sum()\n"
    file, names = tmp_path / "asserted.py", {}
    file.write_text(before, encoding="utf-8")
    exec(compile(before, str(file), "exec", dont_inherit=True), names)
    assert read_source(names["f"]).tree.name == "f"
    changed = tmp_path / "changed.py"
    changed.write_text(now, encoding="utf-8")
    exec(compile(before, str(changed), "exec", dont_inherit=True), names)
    with pytest.raises(SourceNotFound, match="has changed since the file was imported"):
        read_source(names["f"])


def test_lambdas_of_one_line_are_told_apart_by_their_text():
    """A body that is a constant, too, and of several lines."""
    first, second, third = (lambda h: h() + 0.0), (lambda h, k: 7.0), (lambda h: (
        h() * 2.0))  # fmt: skip
    inner = (lambda a: lambda b: a)(1)
    for function, text in (
        (first, "lambda h: h() + 0.0"), (second, "lambda h, k: 7.0"),
        (third, "lambda h: (\n        h() * 2.0)"), (inner, "lambda b: a"),
    ):  # fmt: skip
        source = read_source(function)
        assert source.segment(source.tree).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    "line, name, below",
    [
        ("名 = '漢字'; y = nope", "nope", " " * 17),
        ("a\t= nope", "nope", " \t  "),
        ("e\u0301 = nope", "nope", " " * 4),
    ],
)
def test_a_caret_stands_below_its_text(line, name, below):
    start = line.index(name) + 1
    shown, carets = Span("f.py", 1, start, start + len(name), line).caret().split("\n")
    assert shown == f"    {line}" and carets == f"    {below}{'^' * len(name)}"


def test_of_a_long_line_the_part_around_the_caret_is_shown():
    line = "y = " + "x + " * 500 + "nope" + " + x" * 500
    start = line.index("nope") + 1
    shown, carets = Span("f.py", 1, start, start + 4, line).caret().split("\n")
    assert len(shown) < 260 and shown[carets.index("^") : carets.index("^") + 4] == "nope"
    assert shown.startswith("    ...x") and shown.endswith("...") and carets.count("^") == 4
