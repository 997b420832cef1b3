"""jvp, vjp, linearize, Jacobians, Hessians, derivative and jet: structure, numbers, refusals.

The numbers are worked out by hand, or are NumPy's.
"""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops, pipeline
from autodiff_compiler.errors import CallError, CompileError
from tests.ops.gradients import Net, plain, product, t

X, Y, U, V = t(1, 2), t(3, 5), t(1, 0.5), t(2, -1)


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)


def several(x, y):
    return x * y, x + y, y


def cube(x):
    return x * x * x


# ---- jvp, vjp, linearize


def test_jvp_structure():
    assert plain(ms.jvp(product, (X, Y), (U, V))) == ([3, 10], [1 * 3 + 1 * 2, 0.5 * 5 - 2])
    assert plain(ms.jvp(cube, X, U)) == plain(ms.jvp(cube, (X,), (U,))) == ([1, 8], [3, 6])
    outs, dots = ms.jvp(several, (X, Y), (U, V))
    assert plain(outs) == ([3, 10], [4, 7], [3, 5])
    assert plain(dots) == ([5, 0.5], [3, -0.5], [2, -1])
    out, dot, aux = ms.jvp(several, (X, Y), (U, V), has_aux=True)
    assert (plain(out), plain(dot)) == ([3, 10], [5, 0.5])
    assert plain(aux) == ([4, 7], [3, 5])
    assert plain(ms.jvp(Net(), (X, Y), (U, V))[1]) == [10, 1]


@pytest.mark.parametrize("compiled", [False, True])
def test_one_auxiliary_output_comes_without_a_tuple(compiled):
    """As MindSpore 2.10 does, in both modes; ``grad`` has a tuple, which stays one."""

    def pair(x, y):
        return x * y, x + y

    def auxiliaries(x, y):
        return (
            ms.jvp(pair, (x, y), (x, y), has_aux=True)[2],
            ms.vjp(pair, x, y, has_aux=True)[2],
            ms.jacfwd(pair, has_aux=True)(x, y)[1],
            ms.jacrev(pair, has_aux=True)(x, y)[1],
            ms.grad(pair, has_aux=True)(x, y)[1],
        )

    asked = ms.jit(auxiliaries) if compiled else auxiliaries
    assert plain(asked(X, Y)) == (*[[4, 7]] * 4, ([4, 7],))


def test_a_list_as_output_stays_one():
    assert plain(ms.jvp(lambda x: [x, x * x], X, U)) == ([[1, 2], [1, 4]], [[1, 0.5], [2, 2]])


def test_v_is_stretched_and_never_cast():
    assert plain(ms.jvp(cube, X, t(2))[1]) == [6, 24]
    with pytest.raises(TypeError, match="should have the dtype float32"):
        ms.jvp(cube, X, Tensor(np.ones(2)))
    with pytest.raises(TypeError, match=r"should have the shape \[2\] of the input, but got \[3\]"):
        ms.jvp(cube, X, t(1, 2, 3))


def test_what_is_no_tensor_is_refused():
    for call in (
        lambda: ms.jvp(product, (X, 2.0), (X, X)),
        lambda: ms.jvp(cube, X, 1.0),
        lambda: ms.vjp(product, X, 2.0),
        lambda: ms.vjp(cube, X)[1](1.0),
        lambda: ms.linearize(cube, "x"),
    ):
        with pytest.raises(TypeError, match=r"The inputs type must be Tensor\."):
            call()
    with pytest.raises(ValueError, match="v has invalid length: should be 2, but got 1"):
        ms.jvp(product, (X, Y), (X,))
    with pytest.raises(TypeError, match="The fn should be callable, but got int"):
        ms.jvp(3, X, X)
    with pytest.raises(TypeError, match="The fn should be callable, but got int"):
        ms.vjp(3, X)


def test_vjp_structure():
    out, pull = ms.vjp(product, X, Y)
    assert plain((out, pull(U), pull(V))) == ([3, 10], ([3, 2.5], [1, 1]), ([6, -5], [2, -2]))
    assert plain(ms.vjp(cube, X)[1](U)) == ([3, 6],)
    outs, pull = ms.vjp(several, X, Y)
    assert plain(outs) == ([3, 10], [4, 7], [3, 5])
    want = ([3 + 2, 2.5 - 1], [1 + 2 + 1, 1 - 1 + 0.5])
    assert plain(pull(U, V, U)) == plain(pull((U, V, U))) == want
    out, pull, aux = ms.vjp(several, X, Y, has_aux=True)
    assert plain((out, pull(U), aux)) == ([3, 10], ([3, 2.5], [1, 1]), ([4, 7], [3, 5]))


def test_vjp_of_weights():
    net = Net()
    both = ms.vjp(net, X, Y, weights=[net.z, net.u])[1](t(1, 1))
    assert plain(both) == (([6, 10], [2, 4]), ([13], [0, 0]))
    assert plain(ms.vjp(net, X, Y, weights=net.z)[1](t(1, 1))) == (([6, 10], [2, 4]), [13])


def test_a_pullback_remembers_its_inputs():
    x, y = t(1, 2), t(3, 5)
    _, pull = ms.vjp(product, x, y)
    _, linear = ms.linearize(product, (x, y))
    before = plain((pull(U), linear((U, V))))
    x[0] = 100.0
    y.asnumpy()[:] = 0
    assert plain((pull(U), linear((U, V)))) == before == (([3, 2.5], [1, 1]), [5, 0.5])


@pytest.mark.usefixtures("memory_level")
def test_pullbacks_of_large_arrays_do_not_share_memory():
    """Large arrays are lent from call to call; what a pullback keeps must not be."""

    def f(x):
        return ops.exp(ops.sin(x) * 0.5) * x

    def slope(x):
        x = x.asnumpy().astype(float)
        return np.exp(np.sin(x) / 2) * (1 + x * np.cos(x) / 2)

    xs = [Tensor(np.linspace(k, k + 1, 40_000).astype(np.float32)) for k in range(3)]
    one = Tensor(np.ones(40_000, np.float32))
    pulls = [ms.vjp(f, x)[1] for x in xs]
    ms.grad(f)(xs[2]), ms.jvp(f, xs[1], one)
    found = [[pull(one)[0].asnumpy() for pull in pulls] for _ in range(2)]
    for again in found:
        for got, x in zip(again, xs):
            np.testing.assert_allclose(got, slope(x), rtol=1e-5, atol=1e-6)
    tangents = [ms.jvp(f, x, one)[1] for x in xs]
    for got, x in zip(tangents, xs):
        np.testing.assert_allclose(got.asnumpy(), slope(x), rtol=1e-5, atol=1e-6)


def test_linearize():
    out, linear = ms.linearize(product, (X, Y))
    assert plain((out, linear((U, V)))) == ([3, 10], [5, 0.5])
    assert plain(ms.linearize(cube, X)[1](U)) == [3, 6]


# ---- Jacobians and Hessians

W = np.array([[1.0, 2.0, -1.0], [0.5, 3.0, 4.0]], np.float32)


def squares_times(x):
    return ops.matmul(Tensor(W), x * x)


@pytest.mark.parametrize("make", [ms.jacfwd, ms.jacrev, ms.jacobian])
def test_jacobian(make):
    x = t(1, 2, 3)
    expected = W * (2 * x.asnumpy())
    np.testing.assert_allclose(make(squares_times)(x).asnumpy(), expected)
    assert plain(make(product, (0,))(X, Y)) == [[3, 0], [0, 5]]
    assert plain(make(product, (0, 1))(X, Y)) == ([[3, 0], [0, 5]], [[1, 0], [0, 2]])
    assert plain(make(product, (1, 0))(X, Y)) == ([[1, 0], [0, 2]], [[3, 0], [0, 5]])
    rows = make(several, (0, 1))(X, Y)
    eye, none = [[1, 0], [0, 1]], [[0, 0], [0, 0]]
    assert plain(rows) == (([[3, 0], [0, 5]], [[1, 0], [0, 2]]), (eye, eye), (none, eye))
    assert plain(make(lambda x: (x * x).sum())(X)) == [2, 4]
    assert plain(make(lambda s: s * X)(Tensor(np.float32(2.0)))) == [1, 2]
    found, aux = make(several, has_aux=True)(X, Y)
    assert (plain(found), plain(aux)) == ([[3, 0], [0, 5]], ([4, 7], [3, 5]))
    x, y = Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones((3, 4), np.float32))
    assert make(lambda x, y: ops.matmul(x, y), 1)(x, y).shape == (2, 4, 3, 4)


def test_jacobian_takes_the_shorter_way():
    wide, tall = ms.jacobian(lambda x: x.sum()), ms.jacobian(lambda x: x * t(1, 2, 3))
    wide(t(1, 2, 3))
    source = ms.compile_info().units[-1].source
    assert "for " not in source and "dot_" not in source
    tall(Tensor(np.float32(2.0)))
    assert "d_" not in ms.compile_info().units[-1].source


@pytest.mark.parametrize("make", [ms.jacfwd, ms.jacrev, ms.jacobian])
def test_jacobian_refuses(make):
    with pytest.raises(TypeError, match="the 'grad_position' must be int or tuple"):
        make(product, None)
    with pytest.raises(TypeError, match="the element in 'grad_position' must be int"):
        make(product, ("a",))
    with pytest.raises(CompileError, match=r"grad_position must belong to \[0, args_num\)"):
        make(product, 2)(X, Y)
    with pytest.raises(CompileError, match="requires more than one outputs"):
        make(product, has_aux=True)(X, Y)


def test_a_hessian_has_its_name_and_no_loop():
    """The directions are the rows of one matrix, through slices and sums, too."""

    def valley(x):
        side = x[1:] - x[:-1] ** 2
        return (10.0 * side**2 + (1.0 - x[:-1]) ** 2).sum()

    hessian = ms.hessian(valley)
    assert repr(hessian).startswith("<Hessian of ")
    found = hessian(np.array([-0.5, 0.8, 1.2]))
    expected = [[10 * (12 * 0.25 - 4 * 0.8) + 2, 20, 0], [20, 10 * (12 * 0.64 - 4.8) + 22, -32]]
    np.testing.assert_allclose(found, [*expected, [0, -32, 20]], atol=1e-12)
    assert hessian.source.startswith('"""Hessian of valley ')
    assert "def valley_hessian(x):" in hessian.source and "for " not in hessian.source


def test_hessian_and_its_product():
    def f(x):
        return (x * x * x).sum() + x[0] * x[1]

    expected = [[6, 1], [1, 12]]
    assert plain(ms.hessian(f)(X)) == expected
    assert plain(ms.jacfwd(ms.grad(f))(X)) == plain(ms.jacrev(ms.jacrev(f))(X)) == expected
    assert plain(ms.hvp(f, X, V)) == [6 * 2 - 1, 2 - 12]
    assert plain(ms.hvp(f, (X,), (V,))) == ([11, -10],)
    assert plain(ms.hvp(product, (X, Y), (U, V))) == ([2, -1], [1, 0.5])
    table = ms.hessian(lambda x, y: (x * x * y).sum(), (0, 1))(X, Y)
    assert plain(table) == (
        ([[6, 0], [0, 10]], [[2, 0], [0, 4]]),
        ([[2, 0], [0, 4]], [[0, 0], [0, 0]]),
    )


# ---- derivative and jet


def test_derivative():
    value, third = ops.derivative(ops.sin, X, 3)
    np.testing.assert_allclose(value.asnumpy(), np.sin([1, 2]), rtol=1e-6)
    np.testing.assert_allclose(third.asnumpy(), -np.cos([1, 2]), rtol=1e-6)
    # (x + s)^2 (y + s) at x = 2, y = 3: the second derivative is 2 y + 4 x
    found = ops.derivative(lambda x, y: x * x * y, (Tensor(2), Tensor(3)), 2)
    assert plain(found) == (12, 14) and found[1].dtype == ms.float32


@pytest.mark.parametrize(("order", "kind"), [(0, ValueError), (-1, ValueError), (1.0, TypeError)])
def test_derivative_refuses(order, kind):
    with pytest.raises(kind, match="For `F.derivative`"):
        ops.derivative(ops.sin, X, order)


def test_jet():
    x = t(0.1, 0.4)
    rows = np.array([[1, 1], [0.5, 0], [0, 2]], np.float32)
    value, found = ops.jet(lambda x: ops.sin(ops.exp(x)), x, Tensor(rows))
    # derivatives of u = exp(x + s a + s^2 b / 2 + s^3 c / 6), then of sin(u), by hand
    a, b, c = rows.astype(float)
    u = np.exp(x.asnumpy().astype(float))
    u1, u2, u3 = u * a, u * (a**2 + b), u * (a**3 + 3 * a * b + c)
    expected = [
        np.cos(u) * u1,
        -np.sin(u) * u1**2 + np.cos(u) * u2,
        -np.cos(u) * u1**3 - 3 * np.sin(u) * u1 * u2 + np.cos(u) * u3,
    ]
    np.testing.assert_allclose(value.asnumpy(), np.sin(u), rtol=1e-6)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=2e-5)


def test_jet_of_several_inputs_as_measured():
    x = Tensor(np.array([0.1, 0.4], np.float32))
    rows = Tensor(np.array([[1, 1], [0.5, 0], [0, 2]], np.float32))
    value, found = ops.jet(lambda x, y: x * x * y, (x, x), (rows, rows))
    np.testing.assert_allclose(value.asnumpy(), [0.001, 0.064], rtol=1e-5)
    expected = [[0.03, 0.48], [0.615, 2.4], [6.9, 6.96]]
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("primals", "series", "kind"),
    [
        (X, (X,), TypeError), (X, t(1, 2), ValueError), (X, Tensor(np.ones((3, 3))), ValueError),
        ((X, Y), (Tensor(W[:, :2]),), ValueError),
        ((X, Y), (Tensor(W[:, :2]), Tensor(W[:1, :2])), ValueError),
    ],
)  # fmt: skip
def test_jet_refuses(primals, series, kind):
    with pytest.raises(kind):
        ops.jet(product, primals, series)


# ---- plain NumPy functions, and derivatives inside a text


def test_numpy_functions():
    def f(x, y):
        return np.sin(x) * y

    value, dot = ms.jvp(f, (0.5, 2.0), (1.0, 0.0))
    assert (value, dot) == pytest.approx((np.sin(0.5) * 2, np.cos(0.5) * 2))
    assert not isinstance(dot, Tensor)
    x = np.array([0.1, 0.7])
    found = ms.jacfwd(f)(x, 3.0)
    assert type(found) is np.ndarray and found.dtype == np.float64
    np.testing.assert_allclose(found, np.diag(3 * np.cos(x)))
    np.testing.assert_allclose(ms.jacrev(f)(x, 3.0), np.diag(3 * np.cos(x)))
    np.testing.assert_allclose(ms.vjp(f, x, 3.0)[1](x)[0], 3 * x * np.cos(x))


def test_derivatives_inside_a_text():
    def outer(x, y):
        out, pull = ms.vjp(product, x, y)
        d_x, d_y = pull(out)
        _, dot = ms.jvp(cube, x, d_y)
        _, linear = ms.linearize(cube, y)
        return d_x + dot + linear(x) + ms.jacrev(product)(x, y).sum(0) + ms.hvp(cube, x, y)

    x, y = X.asnumpy().astype(float), Y.asnumpy().astype(float)
    # x y y, 3 x^2 (x x y), 3 y^2 x, y, 6 x y
    np.testing.assert_allclose(
        ms.jit(outer)(X, Y).asnumpy(), x * y**2 + 3 * x**4 * y + 3 * y**2 * x + y + 6 * x * y
    )
    d_x, d_y = ms.grad(outer, (0, 1))(X, Y)
    np.testing.assert_allclose(d_x.asnumpy(), y**2 + 12 * x**3 * y + 3 * y**2 + 6 * y)
    np.testing.assert_allclose(d_y.asnumpy(), 2 * x * y + 3 * x**4 + 6 * y * x + 1 + 6 * x)


class Steps(nn.Cell):
    """A loop with a branch."""

    def construct(self, x, n):
        for _ in range(n):
            if x.sum() > 2.5:
                x = x * 0.5
            else:
                x = x * x + 1.0
        return x


def test_through_loops_and_branches():
    def by_hand(x, v, n):
        for _ in range(n):
            x, v = (x * 0.5, v * 0.5) if x.sum() > 2.5 else (x * x + 1.0, 2 * x * v)
        return x, v

    x, v = np.array([0.3, 0.9], np.float32), np.array([1.0, -2.0], np.float32)

    def steps(n):
        return lambda x: Steps().construct(x, n)

    for n in (0, 1, 4):
        value, dot = ms.jvp(steps(n), Tensor(x), Tensor(v))
        expected = by_hand(x, v, n)
        np.testing.assert_allclose(value.asnumpy(), expected[0], rtol=1e-6)
        np.testing.assert_allclose(dot.asnumpy(), expected[1], rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z * z, lambda z: 1.0 / z, ops.exp, ops.sin, ops.conj, ops.real, ops.abs,
        lambda z: ops.matmul(z, z), lambda z: (ops.conj(z) * z).sum(),
    ],
)  # fmt: skip
def test_tangents_of_complex_numbers(f):
    rng = np.random.default_rng(2)
    z, v = (rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)) for _ in range(2))
    ends = [f(Tensor(z + h * v)).asnumpy() for h in (1e-6, -1e-6)]
    found = ms.jvp(f, Tensor(z), Tensor(v))[1].asnumpy()
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-7)


# ---- confusion, and staleness


def test_no_perturbation_confusion():
    def d(f):
        return ms.grad(f)

    def along(f):
        return lambda x: ms.jvp(f, x, Tensor(np.float32(1.0)))[1]

    one, two = Tensor(np.float32(1.0)), Tensor(np.float32(2.0))
    for first in (d, along):
        for second in (d, along):
            # d/dx (x d/dy (x + y)) = 1, where confusion gives 2
            assert plain(first(lambda x: x * second(lambda y: x + y)(one))(one)) == 1  # noqa: B023
            # d/dx (x d/dy (x y)) = 2 x
            assert plain(first(lambda x: x * second(lambda y: x * y)(two))(two)) == 4  # noqa: B023
            # d/dx of d/dy (x y^2) at y = x: the inner derivative is 2 x y
            assert plain(first(lambda x: second(lambda y: x * y * y)(x))(two)) == 8  # noqa: B023


def test_what_a_transformed_function_is_made_of_is_guarded():
    def times(k):
        return lambda x: x * x * k

    for k in (2.0, 3.0):
        assert plain(ms.grad(ms.grad(times(k)))(X)) == [2 * k, 2 * k]
        assert plain(ms.jacfwd(times(k))(X)) == [[2 * k, 0], [0, 4 * k]]
        assert plain(ms.jvp(times(k), X, U)[1]) == [2 * k, 2 * k]
        assert plain(ms.hvp(times(k), X, V)) == [4 * k, -2 * k]


def test_a_jacobian_keeps_an_infinity_in_its_row() -> None:
    w = np.array([[1.0, np.inf], [2.0, 3.0]])
    rows = ops.jacrev(lambda x, w: ops.matmul(w, x))(Tensor(np.ones(2)), Tensor(w))
    np.testing.assert_array_equal(rows.asnumpy(), w)  # a product with an identity gives NaN
    spread = ops.jacrev(lambda x, w: ops.matmul(ops.eye(2, dtype=w.dtype), ops.matmul(w, x)))
    with np.errstate(invalid="ignore"):
        assert np.isnan(spread(Tensor(np.ones(2)), Tensor(w)).asnumpy()[1]).any()  # as written


@pytest.mark.parametrize("way", [ms.jacrev, ms.jacfwd, ms.hessian])
def test_jacobians_of_nested_outputs_are_refused(way):
    for nested in (lambda x: (x, [x, x]), lambda x: {"a": x}):
        with pytest.raises(
            CallError, match="a Jacobian needs a function that returns a tensor or a tuple"
        ):
            way(nested)(X)


@pytest.mark.parametrize("way", [ms.jacrev, ms.jacfwd])
def test_the_jacobian_of_a_known_number_is_zero(way):
    assert plain(way(lambda x: (x * x, 3.0))(X)) == ([[2, 0], [0, 4]], [0, 0])
