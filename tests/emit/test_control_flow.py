"""The source of small loops and branches, compared exactly; every program also runs."""

from autodiff_compiler.emit.module import emit_module
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.types import INT, ListType, array
from autodiff_compiler.operators.core.control import undefined
from autodiff_compiler.operators.core.structure import shape_of, unbroadcast_to
from autodiff_compiler.span import NOWHERE
from tests.emit.programs import even, inc, less, lines, mix, twice
from tests.interpreter import run


def integer(name="", given=True):
    return Value(INT, name, given and bool(name))


def given(value, name):
    value.name, value.has_user_name = name, True
    return value


def body_of(params, builder, returns):
    function = Function("f", Region(tuple(params), tuple(builder.ops), tuple(returns)), NOWHERE)
    source = emit_module([function]).source
    scope = {}
    exec(source, scope)
    for arguments in ((1, 2), (4, 3), (3, 0)):
        expected = run(function, arguments[: len(params)])
        found = scope["f"](*arguments[: len(params)])
        assert (list(found) if len(returns) > 1 else [found]) == expected, source
    return source.partition(":\n")[2]


def loop(b, bounds, carries, work, **kinds):
    """Returns a loop over ``carries``: pairs of a parameter and its initial value."""
    params = [param for param, _ in carries]
    lead = [integer("k", False)] + ([integer("i")] if bounds else [])
    with b.block() as ops:
        yields = work(*params)
    region = Region((*lead, *params), tuple(ops), tuple(yields))
    return b.loop(bounds, [init for _, init in carries], [], region, **kinds).results


def test_carries_that_change_places_move_at_once():
    x, n, a, b_ = integer("x"), integer("n"), integer("a"), integer("b")
    with Builder() as b:
        a_out, b_out, _ = loop(b, (0, n, 1), [(a, x), (b_, 1)], lambda p, q: (q, mix(p, q)))
    assert body_of([x, n], b, [a_out, b_out]) == (
        """\
    a = x
    b = 1
    for i in range(n):
        a, b = b, (a * 31 + b * 7 + 1) % 1009
    return a, b
"""
    )


def test_an_array_filled_line_by_line_shares_no_operand():
    x, n, h = integer("x"), integer("n"), integer("h")
    with Builder() as b:
        out, _ = loop(b, (0, n, 1), [(h, x)], lambda p: (lines(p, p),))
    assert body_of([x, n], b, [out]) == (
        """\
    h = x
    for i in range(n):
        part = h + 1
        t_lines_h = part * 3
        t_lines_h = (t_lines_h + h * h) % 1009
        h = t_lines_h
    return h
"""
    )


def test_a_carry_used_after_its_update_is_updated_last():
    x, n, h = integer("x"), integer("n"), integer("h")

    def work(p):
        new = given(inc(p), "h")
        return new, mix(new, p)

    with Builder() as b:
        out, tape, _ = loop(b, (0, n, 1), [(h, x)], work)
    tape.name = "tape"
    assert body_of([x, n], b, [out, tape]) == (
        """\
    h = x
    tape = []
    for i in range(n):
        h_1 = h + 1
        tape.append((h_1 * 31 + h * 7 + 1) % 1009)
        h = h_1
    return h, tape
"""
    )


def test_while_with_a_plain_test_and_with_a_long_one():
    x, n, h, t = (integer(name) for name in "xnht")
    with Builder() as b:
        with b.block() as ops:
            goes = less(t, n)
        test = Region((t,), tuple(ops), (goes,))
        out, count = loop(b, None, [(h, 0)], lambda p: (inc(p),), condition=test)
        count.name = "steps"
    assert body_of([x, n], b, [out, count]) == (
        """\
    h = 0
    steps = 0
    while h < n:
        h = h + 1
        steps += 1
    return h, steps
"""
    )
    with Builder() as b:
        with b.block() as ops:
            long = less(given(twice(t), "u"), n)
        test = Region((t,), tuple(ops), (long,))
        out, _ = loop(b, None, [(h, 0)], lambda p: (inc(p),), condition=test)
    assert body_of([x, n], b, [out]) == (
        """\
    h = 0
    while True:
        u = (h + h) % 1009
        if not u < n:
            break
        h = h + 1
    return h
"""
    )


def test_until_reads_the_carry_after_it_moved():
    x, n, h = integer("x"), integer("n"), integer("h")

    def work(p):
        new = inc(p)
        return new, even(new)

    with Builder() as b:
        out, count = loop(b, (0, n, 1), [(h, x)], work, until=True)
    assert body_of([x, n], b, [out, count]) == (
        """\
    h = x
    count = 0
    for i in range(n):
        h = h + 1
        count += 1
        if h % 2 == 0:
            break
    return h, count
"""
    )


def test_branches_with_nothing_to_do_vanish():
    x, n = integer("x"), integer("n")
    with Builder() as b:
        with b.block() as ops:
            new = given(inc(x), "x")
        test = even(n)
        (out,) = b.branch(test, Region((), (), (x,)), Region((), tuple(ops), (new,)))
        given(out, "x")
    assert body_of([x, n], b, [out]) == (
        """\
    if not n % 2 == 0:
        x = x + 1
    return x
"""
    )


def test_elif_and_a_name_that_is_not_set():
    x, n = integer("x"), integer("n")
    with Builder() as b:
        with b.block() as inner:
            with b.block() as ops:
                new = inc(x)
            (deep,) = b.branch(
                less(x, 2), Region((), tuple(ops), (new,)), Region((), (), (undefined(),))
            )
            given(deep, "h")
        (out,) = b.branch(even(n), Region((), (), (x,)), Region((), tuple(inner), (deep,)))
        given(out, "h")
    assert body_of([x, n], b, [out]) == (
        """\
    if n % 2 == 0:
        h = x
    elif x < 2:
        h = x + 1
    else:
        h = None
    return h
"""
    )


def test_names_of_the_user_win_and_names_of_python_are_not_used():
    taken, np_, keyword = integer("f"), integer("np"), integer("lambda")
    with Builder() as b:
        made = mix(taken, np_)
        made.name = "x_1"
        kept = given(mix(made, made), "x_1")
    source = body_of([taken, np_], b, [made, kept, kept])
    assert source.endswith("return x_1_1, x_1, x_1\n")
    function = Function("f", Region((taken, np_, keyword), (), (taken,)), NOWHERE)
    assert "def f(f_1, np_1, lambda_):" in emit_module([function]).source


def test_a_loop_backward_that_starts_at_a_number_counts_its_positions():
    x, n = integer("x"), integer("n")
    k, i = integer("k", False), integer("i")
    with Builder() as b:
        with b.block() as ops:
            made = mix(i, x)
        region = Region((k, i), tuple(ops), (made,))
        tape, _ = b.loop((3, n, 1), [], [], region, reverse=True).results
    tape.name = "tape"
    text = body_of([x, n], b, [tape])
    assert text == (
        """\
    tape = [None] * len(range(3, n))
    for k in reversed(range(n - 3)):
        i = k + 3
        tape[k] = (i * 31 + x * 7 + 1) % 1009
    return tape
"""
    )
    for n in (2, 3, 6):
        names: dict = {}
        exec(f"def made(x, n):\n{text}", names)
        assert names["made"](5, n) == [(i * 31 + 36) % 1009 for i in range(3, n)]


def test_a_loop_backward_fills_its_list_by_position():
    x, n = integer("x"), integer("n")
    k, i = integer("k", False), integer("i")
    with Builder() as b:
        with b.block() as ops:
            made = mix(i, x)
        region = Region((k, i), tuple(ops), (made,))
        tape, _ = b.loop((x, n, 2), [], [], region, reverse=True).results
    tape.name = "tape"
    assert body_of([x, n], b, [tape]) == (
        """\
    tape = [None] * len(range(x, n, 2))
    for k, i in reversed(list(enumerate(range(x, n, 2)))):
        tape[k] = (i * 31 + x * 7 + 1) % 1009
    return tape
"""
    )


def test_the_helper_is_printed_where_it_is_called():
    import numpy as np

    x, y = Value(array("float64", None), "x"), Value(array("float64", None), "y")
    with Builder() as b:
        out = unbroadcast_to(x, shape_of(y))
    function = Function("f", Region((x, y), tuple(b.ops), (out,)), NOWHERE)
    scope = {}
    exec(emit_module([function]).source, scope)
    x = np.arange(24.0).reshape(2, 3, 4)
    for shape in ((4,), (3, 1), (1, 1, 4), (), (1, 3, 4), (2, 3, 4)):
        (expected,) = run(function, [x, np.zeros(shape)])
        found = scope["f"](x, np.zeros(shape))
        assert found.shape == shape
        np.testing.assert_array_equal(found, expected)


def test_unused_ports_leave_no_trace():
    x, n, h = integer("x"), integer("n"), integer("h")
    xs = Value(ListType(INT), "xs")
    with Builder() as b:
        item = integer("item")
        with b.block() as ops:
            new = inc(h)
        region = Region((integer("k"), integer("i"), h, item), tuple(ops), (new, new))
        out, _, _ = b.loop((0, n, 1), [x], [xs], region).results
    function = Function("f", Region((x, n, xs), tuple(b.ops), (out,)), NOWHERE)
    assert emit_module([function]).source.partition(":\n")[2] == (
        "    h = x\n    for i in range(n):\n        h = h + 1\n    return h\n"
    )
