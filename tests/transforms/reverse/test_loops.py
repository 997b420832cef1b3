"""Loops: first, second and some third derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import pipeline
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.transforms.reverse.sweep import gradient_function, split
from tests.transforms.numeric import check, read

X = np.array([[0.3, -0.5, 0.7], [0.2, 0.9, -0.4]])
W = np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.6], [-0.7, 0.4, 0.2]])
B = np.array([0.1, -0.3, 0.2])

DECAY = """
func @decay(%x!: f64[2,3], %w!: f64[3,3], %n!: int) -> (f64[2,3]) {
  %h!: f64[2,3], %count: int = for %k, %i! in (0, %n, 1) carry (%h_in!: f64[2,3] = %x) {
    %u!: f64[2,3] = matmul %h_in, %w
    %s: f64[] = sum %u {axes=None, keepdims=False}
    %branch: bool[] = greater %s, 0.0
    %h_out!: f64[2,3] = if %branch {
      %a: f64[2,3] = tanh %u
      yield %a
    } else {
      %b: f64[2,3] = mul %u, 0.5
      yield %b
    }
    yield carry %h_out
  }
  return %h
}
"""


@pytest.mark.parametrize("n", [0, 1, 4])
def test_decay(n: int) -> None:
    check(read(DECAY), [X, W, n], (0, 1), order=3 if n == 1 else 2)


def test_residuals_of_the_decay_loop() -> None:
    forward, backward = split(read(DECAY), (0, 1), sens=True)
    (loop,) = (op for op in forward.body.ops if op.name == "for")
    tapes = [result.name for result in loop.results[1:-1]]
    # One list has what enters and what leaves each iteration: it begins with what enters the first.
    assert tapes == ["h_in_tape", "branch_tape"]
    assert [op.name for op in forward.body.ops if op.name == "list_join"] == ["list_join"]
    assert [v.name for v in backward.returns] == ["d_x", "d_w"]


def test_index_and_position_are_not_saved() -> None:
    text = """
    func @f(%x: f64[3], %n: int) -> (f64[3]) {
      %h: f64[3], %c: int = for %k, %i in (2, %n, 3) carry (%p: f64[3] = %x) {
        %a: f64[3] = mul %p, %i
        %b: f64[3] = add %a, %k
        %s: f64[3] = sin %b
        yield carry %s
      }
      return %h
    }
    """
    check(read(text), [B, 9], (0,), order=3)
    forward, _ = split(read(text), (0,))
    (loop,) = (op for op in forward.body.ops if op.name == "for")
    assert [result.name for result in loop.results] == ["h", "b_tape", "c"]


def test_swap_passing_and_unused_carries() -> None:
    text = """
    func @f(%x: f64[3], %y: f64[3], %z: f64[3], %n: int) -> (f64[3]) {
      %a: f64[3], %b: f64[3], %s: f64[3], %o: f64[3], %c: int = for %k, %i in (0, %n, 1)
          carry (%p: f64[3] = %x, %q: f64[3] = %y, %r: f64[3] = %z, %u: f64[3] = %z) {
        %m: f64[3] = mul %p, %r
        %v: f64[3] = mul %u, %u
        yield carry %q, %m, %r, %v
      }
      %t: f64[3] = tanh %a
      return %t
    }
    """
    for n in (0, 1, 2, 3):
        check(read(text), [B, B + 1, B + 2, n], (0, 1, 2))


def test_carry_that_is_overwritten() -> None:
    text = """
    func @f(%x: f64[3], %y: f64[3], %n: int) -> (f64[3]) {
      %a: f64[3], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[3] = %x) {
        %m: f64[3] = mul %y, %i
        yield carry %m
      }
      %t: f64[3] = mul %a, %a
      return %t
    }
    """
    for n in (0, 3):
        check(read(text), [B, B + 1, n], (0, 1))


def test_carry_becomes_an_outer_value() -> None:
    text = """
    func @f(%x: f64[3], %y: f64[3], %n: int) -> (f64[3]) {
      %a: f64[3], %b: f64[3], %c: int = for %k, %i in (0, %n, 1)
          carry (%p: f64[3] = %x, %q: f64[3] = %x) {
        %m: f64[3] = mul %p, %q
        yield carry %y, %m
      }
      %t: f64[3] = mul %a, %b
      return %t
    }
    """
    for n in (0, 1, 3):
        check(read(text), [B, B + 1, n], (0, 1))


def test_undefined_carry() -> None:
    text = """
    func @f(%x: f64[3], %n: int) -> (f64[3]) {
      %none: undefined = undefined
      %a: f64[3], %b: f64[3], %c: int = for %k, %i in (0, %n, 1)
          carry (%p: f64[3] = %x, %q: f64[3] = %none) {
        %m: f64[3] = sin %p
        %o: f64[3] = mul %m, %p
        yield carry %o, %m
      }
      %t: f64[3] = mul %a, %b
      return %t
    }
    """
    check(read(text), [B, 3], (0,))


NESTED = """
func @f(%x: f64[3], %w: f64[3], %n: int) -> (f64[3]) {
  %a: f64[3], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[3] = %x) {
    %b: f64[3], %d: int = for %l, %j in (0, %i, 1) carry (%q: f64[3] = %p) {
      %m: f64[3] = mul %q, %w
      %s: f64[3] = sin %m
      %r: f64[3] = add %s, %p
      yield carry %r
    }
    yield carry %b
  }
  return %a
}
"""


@pytest.mark.parametrize("n", [0, 1, 3])
def test_nested_loops(n: int) -> None:
    check(read(NESTED), [B, B + 1, n], (0, 1), order=3 if n == 3 else 2)


def test_loop_in_a_branch_in_a_loop() -> None:
    text = """
    func @f(%x: f64[3], %w: f64[3], %n: int) -> (f64[3]) {
      %a: f64[3], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[3] = %x) {
        %s: f64[] = sum %p {axes=None, keepdims=False}
        %t: bool[] = greater %s, 0.2
        %g: f64[3] = if %t {
          %b: f64[3], %d: int = for %l, %j in (0, 2, 1) carry (%q: f64[3] = %p) {
            %m: f64[3] = mul %q, %w
            %r: f64[3] = sin %m
            yield carry %r
          }
          %h: f64[3] = sub %b, %x
          yield %h
        } else {
          %e: f64[3] = exp %p
          yield %e
        }
        yield carry %g
      }
      return %a
    }
    """
    for n in (0, 1, 4):
        check(read(text), [B, B + 1, n], (0, 1))


WHILE = """
func @f(%x: f64[3], %w: f64[3], %limit: float) -> (f64[3]) {
  %a: f64[3], %c: int = while %k carry (%p: f64[3] = %x) test (%t: f64[3]) {
    %s: f64[] = sum %t {axes=None, keepdims=False}
    %go: bool[] = less %s, %limit
    yield %go
  } do {
    %m: f64[3] = mul %p, %w
    %e: f64[3] = sin %m
    %r: f64[3] = add %p, %e
    %q: f64[3] = mul %r, 1.5
    yield carry %q
  }
  return %a
}
"""


@pytest.mark.parametrize("limit", [-9.0, 1.0, 6.0])
def test_while(limit: float) -> None:
    check(read(WHILE), [B, B + 1, limit], (0, 1), order=3 if limit == 1.0 else 2)


UNTIL = """
func @f(%x: f64[3], %w: f64[3], %n: int) -> (f64[3]) {
  %a: f64[3], %tape: list[f64[3]], %c: int = for %k, %i in (1, %n, 2) carry (%p: f64[3] = %x) {
    %m: f64[3] = mul %p, %w
    %e: f64[3] = mul %m, %i
    %r: f64[3] = add %p, %e
    %s: f64[] = sum %r {axes=None, keepdims=False}
    %stop: bool[] = greater %s, 20.0
    yield carry %r stack %m until %stop
  }
  %z: f64[3] = list_item %tape, -1
  %t: f64[3] = mul %a, %z
  return %t
}
"""


@pytest.mark.parametrize("n", [2, 6, 90])
def test_until(n: int) -> None:
    check(read(UNTIL), [B, B + 1, n], (0, 1))


READ = """
func @f(%xs: f64[4,3], %h: f64[3]) -> (f64[3]) {
  %a: f64[3], %tape: list[f64[3]], %c: int = for %k, %i in (0, {stop}, 1)
      carry (%p: f64[3] = %h) read (%x: f64[3] = %xs) {
    %m: f64[3] = mul %p, %x
    %s: f64[3] = sin %m
    yield carry %s stack %m{until}
  }
  %n: int = list_length %tape
  %b: f64[3], %d: int = for %l, %j in (0, %n, 1) carry (%q: f64[3] = %a) read (%y: f64[3] = %tape) {
    %u: f64[3] = mul %q, %y
    %v: f64[3] = add %u, %h
    yield carry %v
  }
  return %b
}
"""


@pytest.mark.parametrize("stop, until", [(4, ""), (2, ""), (0, ""), (4, " until True")])
def test_reading_an_array_and_a_tape(stop: int, until: str) -> None:
    text = READ.replace("{stop}", str(stop)).replace("{until}", until)
    check(read(text), [np.vstack([X, X + 0.3]), B], (0, 1))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_reading_an_array_of_unknown_length(count: int) -> None:
    text = """
    func @f(%xs: f64[?,3], %h: f64[3], %n: int) -> (f64[3]) {
      %a: f64[3], %c: int = for %k, %i in (0, %n, 1)
          carry (%p: f64[3] = %h) read (%x: f64[3] = %xs) {
        %m: f64[3] = mul %p, %x
        %s: f64[3] = sin %m
        yield carry %s
      }
      return %a
    }
    """
    rows = np.arange(3.0 * count).reshape(count, 3) / 10
    check(read(text), [rows, B, count], (0, 1))


@pytest.mark.parametrize("count", [1, 3])
def test_reading_a_list_of_tuples(count: int) -> None:
    text = """
    func @f(%xs: list[(f64[3], f64[])], %h: f64[3], %n: int) -> (f64[3]) {
      %start: (f64[3], f64[3]) = make_tuple %h, %h
      %a: (f64[3], f64[3]), %c: int = for %k, %i in (0, %n, 1)
          carry (%p: (f64[3], f64[3]) = %start) read (%x: (f64[3], f64[]) = %xs) {
        %x0: f64[3] = item %x {key=0}
        %p0: f64[3] = item %p {key=0}
        %p1: f64[3] = item %p {key=1}
        %m: f64[3] = mul %p0, %x0
        %s: f64[3] = sin %m
        %q: (f64[3], f64[3]) = make_tuple %p1, %s
        yield carry %q
      }
      %r: f64[3] = item %a {key=1}
      return %r
    }
    """
    rows = [(B + k, np.float64(k)) for k in range(3)]
    check(read(text), [rows, B, count], (0, 1))


def test_float_accumulated_in_a_loop() -> None:
    text = """
    func @f(%x: f64[3], %s: float, %n: int) -> (f64[3]) {
      %a: f64[3], %f: float, %c: int = for %k, %i in (0, %n, 1)
          carry (%p: f64[3] = %x, %q: float = %s) {
        %m: f64[3] = mul %p, %q
        %g: float = mul %q, %s
        yield carry %m, %g
      }
      return %a
    }
    """
    for n in (0, 1, 3):
        check(read(text), [B, 0.8, n], (0, 1))


def test_unknown_shapes_in_loop_and_branch() -> None:
    text = DECAY.replace("f64[2,3]", "f64[...]").replace("f64[3,3]", "f64[...]")
    for n in (0, 2):
        check(read(text), [X, W, n], (0, 1))


def test_bias_of_unknown_shape_is_broadcast_in_a_loop() -> None:
    text = """
    func @f(%x: f64[b,3], %w: f64[?], %n: int) -> (f64[b,3]) {
      %a: f64[...], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[...] = %x) {
        %m: f64[...] = mul %p, %w
        %s: f64[...] = sin %m
        yield carry %s
      }
      return %a
    }
    """
    check(read(text), [X, B, 2], (0, 1))


def test_calls_in_a_loop() -> None:
    text = """
    func @cell(%h: f64[3], %w: f64[3]) -> ((f64[3], f64[3])) {
      %m: f64[3] = mul %h, %w
      %s: f64[3] = sin %m
      %r: (f64[3], f64[3]) = make_tuple %s, %m
      return %r
    }
    func @f(%x: f64[3], %w: f64[3], %n: int) -> (f64[3]) {
      %a: f64[3], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[3] = %x) {
        %r: (f64[3], f64[3]) = call @cell(%p, %w)
        %q: f64[3] = item %r {key=0}
        yield carry %q
      }
      return %a
    }
    """
    for n in (0, 3):
        check(read(text), [B, B + 1, n], (0, 1))


def test_nothing_is_built_for_a_loop_that_does_not_vary() -> None:
    gradient = gradient_function(read(NESTED), ())
    assert not gradient.body.ops
    text = READ.replace("{stop}", "4").replace("{until}", "")
    loops = [op for op in gradient_function(read(text), (1,)).body.ops if op.name == "for"]
    assert len(loops) == 4
    assert "stack_rows" not in print_function(gradient_function(read(text), (1,)))


def replaced_by_a_number(m, s, n):
    for _ in range(n):
        m = s
    return np.sum(m * m)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loop_replaces_an_array_by_a_number(
    n: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    m = np.array([[1.0, 2.0], [3.0, 4.0]], dtype)
    d_m, d_s = ms.grad(replaced_by_a_number, (0, 1))(m, 0.7, n)
    np.testing.assert_allclose(d_m, np.zeros((2, 2)) if n else 2 * m)
    np.testing.assert_allclose(d_s, 1.4 if n else 0.0)
    assert np.shape(d_s) == ()


def with_a_number_added(y, s, n):
    for _ in range(n):
        y = y + s
    return np.sum(y)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loop_adds_a_number_to_an_array(
    n: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    y = np.array([[1.0, 2.0], [3.0, 4.0]], dtype)
    d_y, d_s = ms.grad(with_a_number_added, (0, 1))(y, 0.7, n)
    np.testing.assert_allclose(d_y, np.ones((2, 2)))
    np.testing.assert_allclose(d_s, 4.0 * n)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_gradient_has_the_sizes_of_its_input(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop may leave an array of another size, so that sizes in the loop are not known."""
    monkeypatch.setattr(pipeline, "VERIFY", True)

    def replaced(x, y):
        other = y * 2
        for _ in x:
            x = other * x[0]
        return np.sum(x)

    def slope(x, y):
        return np.sum(ms.grad(replaced)(x, y) * x)

    x, y = np.linspace(0.5, 1.5, size), np.linspace(0.2, 0.9, 3)
    for fn in (replaced, slope):
        steps = [(fn(x + 1e-6 * e, y) - fn(x - 1e-6 * e, y)) / 2e-6 for e in np.eye(size)]
        np.testing.assert_allclose(ms.grad(fn)(x, y), steps, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_a_gradient_of_a_number_is_a_number(
    turns: bool, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch may leave a number or an array, whose cotangent has any rank."""
    monkeypatch.setattr(pipeline, "VERIFY", True)

    def chosen(x, y, s):
        out = x
        if np.sum(y) > 0:
            out = s
        return out * 2.0

    def slope(x, y, s):
        d_x, d_s = ms.grad(chosen, (0, 2))(x, y, s)
        return np.sum(d_x) * 3.0 + d_s * s

    x, y = np.full(shape, 0.5), np.full(3, 1.0 if turns else -1.0)
    d_x, d_s = ms.grad(chosen, (0, 2))(x, y, 0.25)
    assert np.shape(d_s) == () and d_s == (2.0 if turns else 0.0)
    np.testing.assert_array_equal(d_x, np.zeros(shape) if turns else np.full(shape, 2.0))
    assert slope(x, y, 0.25) == (0.5 if turns else 6.0 * x.size)
    assert ms.grad(slope, 2)(x, y, 0.25) == (2.0 if turns else 0.0)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_reading_an_array_that_a_loop_of_equal_length_left(count: int) -> None:
    """The loop may read fewer items than the array has."""
    text = """
    func @f(%x: f64[3], %h: f64[], %n: int) -> (f64[]) {
      %xs: f64[3], %c: int = for %k, %i in (0, %n, 1) carry (%p: f64[3] = %x) {
        %q: f64[3] = mul %p, 1.5
        yield carry %q
      }
      %a: f64[], %d: int = for %l, %j in (0, %n, 1)
          carry (%s: f64[] = %h) read (%y: f64[] = %xs) {
        %m: f64[] = mul %s, %y
        %t: f64[] = sin %m
        yield carry %t
      }
      return %a
    }
    """
    check(read(text), [np.array([0.3, 0.7, -0.4]), np.array(0.9), count], (0, 1))
