"""Columns of comments, comments that do not fit, blank lines and the end of the text."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from autodiff_compiler.emit.text.document import Document


def test_comments_of_one_function_share_a_column() -> None:
    document = Document()
    document.add("import numpy as np")
    document.blank(2)
    document.add("def net_forward(x, y, z):")
    document.add("x_1 = x * z", 1, "13| x = x * self.z")
    document.add("out = np.matmul(x_1, y)", 1, "14| out = self.matmul(x, y)")
    document.add("return out, (x, x_1, y, z, and_a_long_line_without_any_comment)", 1)
    document.blank(2)
    document.add("def net_backward(residuals, d_out):")
    document.comment("13| x = x * self.z", 1)
    document.add("d_x = d_out", 1, "passed on")
    assert document.render() == (
        "import numpy as np\n"
        "\n"
        "\n"
        "def net_forward(x, y, z):\n"
        "    x_1 = x * z              # 13| x = x * self.z\n"
        "    out = np.matmul(x_1, y)  # 14| out = self.matmul(x, y)\n"
        "    return out, (x, x_1, y, z, and_a_long_line_without_any_comment)\n"
        "\n"
        "\n"
        "def net_backward(residuals, d_out):\n"
        "    # 13| x = x * self.z\n"
        "    d_x = d_out  # passed on\n"
    )


def test_one_long_line_does_not_push_the_others_comments_off() -> None:
    document = Document()
    document.add("def f():")
    for name in ("a", "b"):
        document.add(f"{name} = 1", 1, "c" * 60)
    document.add(f"x = {'y' * 60}", 1, "short")
    document.add(f"x = {'z' * 60}", 1, "d" * 50)
    assert document.render().splitlines() == [
        "def f():",
        f"    a = 1  # {'c' * 60}",
        f"    b = 1  # {'c' * 60}",
        f"    x = {'y' * 60}  # short",
        f"    # {'d' * 50}",
        f"    x = {'z' * 60}",
    ]


def test_a_comment_wider_than_the_page_is_cut() -> None:
    document = Document()
    document.add("x = 1", 2, "12| " + "word " * 30)
    document.comment("13| " + "w" * 200, 1)
    above, code, below = document.render().splitlines()
    assert above.startswith("        # 12| word word") and above.endswith("word …")
    assert code == "        x = 1"
    assert len(below) == 100 and below.endswith("w …")


def test_the_comment_of_wrapped_code_goes_above() -> None:
    document = Document()
    document.add("x = f(" + ", ".join(f"argument_{n}" for n in range(12)) + ")", 1, "9| x = f()")
    lines = document.render().splitlines()
    assert lines[:2] == ["    # 9| x = f()", "    x = f("]
    assert max(map(len, lines)) <= 100


def test_text_is_left_alone() -> None:
    document = Document()
    line = '"""' + "a, b and c; " * 12
    document.text(line)
    assert document.render() == line.rstrip() + "\n"


def test_the_text_ends_with_one_line_break() -> None:
    document = Document()
    document.blank()
    document.add("x = 1   ")
    document.blank(3)
    assert document.render() == "x = 1\n"


entries = st.tuples(
    st.integers(1, 90).map(lambda size: "x" * size),
    st.one_of(st.none(), st.integers(1, 120).map(lambda size: "c" * size)),
)


@given(st.lists(entries, min_size=1, max_size=8))
def test_every_line_keeps_the_width_and_every_comment_its_line(
    lines: list[tuple[str, str | None]],
) -> None:
    document = Document()
    document.add("def f():")
    for code, comment in lines:
        document.add(code, 1, comment)
    text = document.render()
    assert all(len(line) <= 100 and line == line.rstrip() for line in text.splitlines())
    assert [node.value.id for node in ast.parse(text).body[0].body] == [code for code, _ in lines]
    assert text.count("#") == sum(comment is not None for _, comment in lines)
    assert text == document.render()
