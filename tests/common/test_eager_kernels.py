"""A repeated eager call runs a kernel, with the result and the errors of the first call."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.common import eager_kernels, eager_operators
from autodiff_compiler.ir.opdef import OPERATORS, double_precision
from autodiff_compiler.operators.core.declare import numpy_promotion

FLOATS = ("float16", "float32", "float64")
INTS = ("bool", "int8", "uint8", "int32", "int64")


@pytest.fixture(autouse=True)
def _no_kernels() -> Iterator[None]:
    eager_kernels._KERNELS.clear()
    yield
    eager_kernels._KERNELS.clear()


def _data(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 3.0, shape).astype(dtype)


def _arrays(result: Any) -> list[Any]:
    """Lists the arrays in a result, and its other values."""
    if isinstance(result, (tuple, list)):
        return [array for item in result for array in _arrays(item)]
    return [result.asnumpy()] if isinstance(result, Tensor) else [result]


def _same(left: Any, right: Any) -> None:
    for a, b in zip(_arrays(left), _arrays(right), strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and a.shape == b.shape


def _kernels() -> int:
    return sum(kernel is not None for kernel in eager_kernels._KERNELS.values())


#: Calls of operators with what NumPy says, on matrices x and y.
NUMPY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (lambda x, y: x + y, np.add),
    "sub": (lambda x, y: x - y, np.subtract),
    "mul": (lambda x, y: x * y, np.multiply),
    "rows": (lambda x, y: x * y[0], lambda x, y: x * y[0]),
    "less": (lambda x, y: x < y, np.less),
    "maximum": (ops.maximum, np.maximum),
    "where": (lambda x, y: ops.where(x > y, x, y), np.maximum),
    "matmul": (lambda x, y: x @ y, np.matmul),
    "exp": (lambda x, y: ops.exp(x), lambda x, y: np.exp(x)),
    "negative": (lambda x, y: -x, lambda x, y: -x),
    "sum": (lambda x, y: x.sum(0), lambda x, y: x.sum(0)),
    "mean": (lambda x, y: ops.mean(x, 1, True), lambda x, y: x.mean(1, keepdims=True)),
    "max": (lambda x, y: x.max(), lambda x, y: x.max()),
    "argmax": (lambda x, y: x.argmax(1), lambda x, y: x.argmax(1)),
    "reshape": (lambda x, y: x.reshape(2, 8), lambda x, y: x.reshape(2, 8)),
    "transpose": (lambda x, y: ops.transpose(x, (1, 0)), lambda x, y: x.T),
    "broadcast": (lambda x, y: ops.broadcast_to(x, (2, 4, 4)), lambda x, y: np.stack([x, x])),
    "concat": (lambda x, y: ops.concat((x, y), 1), lambda x, y: np.concatenate((x, y), 1)),
    "cast": (lambda x, y: ops.cast(x, ms.float64), lambda x, y: x.astype("float64")),
    "cumsum": (lambda x, y: ops.cumsum(x, 0), lambda x, y: x.cumsum(0)),
    "gather": (lambda x, y: ops.gather(x, Tensor([2, 0]), 0), lambda x, y: x[[2, 0]]),
    "number": (lambda x, y: 2.0 * x - 1, lambda x, y: 2.0 * x - 1),
    "expand": (lambda x, y: ops.expand_dims(x, 1), lambda x, y: x[:, None]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NUMPY)
def test_each_call_is_numpys(name: str, dtype: str):
    function, reference = NUMPY[name]
    a, b = _data((4, 4), dtype), _data((4, 4), dtype, 1)
    for _ in range(3):
        (found,) = _arrays(function(Tensor(a), Tensor(b)))
        np.testing.assert_allclose(found, reference(a, b), rtol=1e-6)
        assert found.dtype == (bool if name == "less" else reference(a, b).dtype)
    assert _kernels() > 0 or (name, dtype) == ("cast", "float64")  # which is x itself


@pytest.mark.parametrize("left", [*INTS, *FLOATS, "complex64"])
def test_dtypes_promote_the_same_way_in_each_call(left: str):
    binary = [OPERATORS[name] for name in ("add", "mul", "div", "pow", "maximum", "less", "mod")]
    unary = [OPERATORS[name] for name in ("exp", "neg", "abs", "square", "tanh", "sqrt", "sign")]
    for right in (*INTS, *FLOATS, "complex64", int, float, bool):
        x = Tensor(_data((3,), left))
        y = Tensor(_data((3,), right, 1)) if isinstance(right, str) else right(3)
        for opdef, operands in [(op, (x, y)) for op in binary] + [(op, (x,)) for op in unary]:
            results = []
            for _ in range(3):
                try:
                    results.append(opdef(*operands))
                except Exception as error:
                    results.append((type(error).__name__, str(error)))
            _same(results[0], results[1])
            _same(results[0], results[2])
    assert _kernels() > 50


def test_attributes_that_compare_equal_are_told_apart():
    def times(x: Any, value: float) -> Any:
        return x * value

    def first(function: Any, operands: Any, attrs: Any) -> Any:
        return function(*operands, **attrs).asnumpy()

    x = Tensor(np.ones(2, np.int32))
    for value in (0.0, -0.0, 0, False, 1, 1.0, True, 0.0, -0.0) * 2:
        found = eager_kernels.computed(times, [x], {"value": value}, frozenset(), first)
        _same(found, (x * value).asnumpy())
        assert np.signbit(found[0]) == (str(value) == "-0.0")
    a = np.arange(4.0).reshape(2, 2)
    index, x = OPERATORS["index"], Tensor(a)
    for _ in range(3):
        assert index(x, index=(1,)).shape == (2,) and index(x, index=(0,)).shape == (2,)
        np.testing.assert_array_equal(index(x, index=(1,)).asnumpy(), a[1])


def test_a_list_among_the_settings_may_change_afterwards():
    x, sizes = Tensor(np.ones((2, 3, 4), np.float32)), [2, 12]
    for _ in range(2):
        assert ops.reshape(x, sizes).shape == (2, 12)
    sizes[:] = 6, 4
    for _ in range(2):
        assert ops.reshape(x, sizes).shape == (6, 4)


@pytest.mark.parametrize("name", NUMPY)
def test_results_share_no_memory(name: str):
    function, _ = NUMPY[name]
    x, y = Tensor(_data((4, 4), "float32")), Parameter(_data((4, 4), "float32", 1))
    before = x.asnumpy().copy(), y.asnumpy().copy()
    results = [function(x, y) for _ in range(3)]
    for result in results:
        assert result.asnumpy().flags.writeable
        result.asnumpy()[...] = 1
    np.testing.assert_array_equal(x.asnumpy(), before[0])
    np.testing.assert_array_equal(y.asnumpy(), before[1])
    strided = Tensor.from_numpy(before[0][::2, ::2])
    for _ in range(3):
        np.testing.assert_array_equal(
            ops.reshape(strided, (4,)).asnumpy(), before[0][::2, ::2].ravel()
        )
        ops.reshape(strided, (4,)).asnumpy()[...] = 0
        np.testing.assert_array_equal(x.asnumpy(), before[0])


def test_errors_stay_in_each_call():
    x, y = Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones((2, 4), np.float32))
    cases: list[Callable[[], Any]] = [
        lambda: x + y,
        lambda: x @ x,
        lambda: x + "text",
        lambda: x + np.ones(3),
        lambda: x & 1.5,
        lambda: ops.reshape(x, (4, 4)),
        lambda: ops.concat((x, y)),
    ]
    for call in cases:
        texts = []
        for _ in range(3):
            with pytest.raises(Exception) as caught:
                call()
            texts.append((caught.type, str(caught.value)))
        assert len(set(texts)) == 1


def test_numbers_that_do_not_fit_wrap_around_in_each_call():
    x = Tensor(np.array([1, 2], np.int8))
    for number in (1, 300, 1, 300, -1000):
        expected = np.array([1, 2], np.int8) + np.array(number).astype(np.int8)
        np.testing.assert_array_equal((x + number).asnumpy(), expected)


def test_no_warning_and_no_trap():
    x = Tensor(np.array([1e30, -1.0, 0.0], np.float32))
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for _ in range(3):
            assert np.isinf((x * x).asnumpy()[0]) and np.isnan(ops.log(x).asnumpy()[1])
        with pytest.raises(FloatingPointError):  # the caller's state is what it was
            np.float32(1e30) * np.float32(1e30)


def test_the_settings_are_part_of_the_key():
    x = Tensor(np.array([1, 2], np.int32))
    for _ in range(3):
        assert ops.sqrt(x).dtype == ms.float32
        with numpy_promotion():
            assert ops.sqrt(x).dtype == ms.float64
        with double_precision():
            assert ops.sqrt(x).dtype == ms.float64
        y = Tensor(np.ones(2, np.float32))
        assert (y * 2).dtype == ms.float32
        with double_precision():
            assert (y * 2).dtype == ms.float64


def test_a_call_inside_a_kernels_context():
    x = Tensor(np.ones(2, np.float32))
    ops.exp(x)
    found = eager_kernels._QUIET.run(lambda: ops.exp(x))  # as a signal handler may do
    np.testing.assert_allclose(found.asnumpy(), np.exp(np.ones(2)), rtol=1e-6)


def test_random_numbers_are_drawn_once():
    ms.set_seed(3)
    drawn = [ops.uniform((2,), Tensor(0.0), Tensor(1.0)).asnumpy() for _ in range(4)]
    assert len({array.tobytes() for array in drawn}) == 4
    ms.set_seed(3)
    again = [ops.uniform((2,), Tensor(0.0), Tensor(1.0)).asnumpy() for _ in range(4)]
    np.testing.assert_array_equal(drawn, again)


def test_threads_share_kernels():
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for size in range(1, 40):
                a = _data((size, 3), "float32", seed)
                for _ in range(4):
                    found = ops.softmax(Tensor(a) * 2.0, -1).sum(-1)
                    np.testing.assert_allclose(found.asnumpy(), np.ones(size), rtol=1e-5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_number_of_kernels_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(eager_kernels, "CAPACITY", 10)
    for size in range(1, 50):
        x = Tensor(np.ones(size, np.float32))
        for _ in range(2):
            assert (x + x).asnumpy().sum() == 2 * size
        assert len(eager_kernels._KERNELS) <= 10


def test_a_repeated_call_goes_the_short_way(monkeypatch: pytest.MonkeyPatch):
    net = nn.SequentialCell(nn.Dense(8, 8), nn.GELU(), nn.Dense(8, 3))
    x = Tensor(_data((5, 8), "float32"))
    first = net(x)

    def refused(*args: Any) -> Any:
        raise AssertionError("the long way")

    monkeypatch.setattr(eager_operators, "operand_type", refused)
    _same(net(x), first)


def test_a_subclass_with_a_view_of_its_own_goes_the_long_way():
    class Doubled(Tensor):
        def asnumpy(self) -> np.ndarray:
            return 2 * self._data

    x = Doubled(np.ones(2, np.float32))
    for _ in range(3):
        assert (x + Tensor(np.ones(2, np.float32))).asnumpy().tolist() == [3, 3]


#: Functions of several operators that are one kernel, with arguments.
IMAGE, TAPS = _data((2, 4, 6, 6), "float32"), _data((8, 4, 3, 3), "float32", 1)
COMPOSED: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "dense": (ops.dense, (_data((2, 5), "float32"), _data((3, 5), "float32", 1), np.ones(3, "f4"))),
    "dense of rank 3": (ops.dense, (_data((2, 4, 5), "float64"), _data((3, 5), "float64", 1))),
    "dense of a vector": (ops.dense, (_data((2, 5), "float32"), _data((5,), "float32", 1))),
    "bias_add": (ops.bias_add, (IMAGE, np.ones(4, "f4"))),
    "conv2d": (ops.conv2d, (IMAGE, TAPS)),
    "conv2d with all": (ops.conv2d, (IMAGE, TAPS, np.ones(8, "f4"), 2, "pad", 1, (2, 1))),
    "conv2d of groups": (ops.conv2d, (IMAGE, TAPS[:, :2], None, 1, "same", 0, 1, 2)),
    "depthwise": (ops.conv2d, (IMAGE, TAPS[:4, :1], None, 1, "same", 0, 1, 4)),
    "conv1d": (ops.conv1d, (IMAGE[:, :, 0], TAPS[:, :, 0])),
    "conv3d": (ops.conv3d, (IMAGE[:, :, None], TAPS[:, :, None])),
    "layer_norm": (ops.layer_norm, (IMAGE, (6,), np.ones(6, "f4"), np.ones(6, "f4"), 1e-3)),
    "group_norm": (ops.group_norm, (IMAGE, 2)),
    "rms_norm": (ops.rms_norm, (IMAGE, np.ones((6, 6), "f4"))),
    "gelu": (ops.gelu, (IMAGE,)),
    "gelu of integers": (ops.gelu, (IMAGE.astype("int32"),)),
    "gelu by tanh": (ops.gelu, (IMAGE.astype("float16"), "tanh")),
    "fast_gelu": (ops.fast_gelu, (IMAGE,)),
    "silu": (ops.silu, (IMAGE.astype("int64"),)),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_a_composed_function_is_one_kernel(name: str):
    function, given = COMPOSED[name]
    args = [Tensor(each) if isinstance(each, np.ndarray) else each for each in given]
    plain = function.__wrapped__(*args)
    for _ in range(3):
        _same(function(*args), plain)
    kernels = [
        key
        for key, kernel in eager_kernels._KERNELS.items()
        if kernel and key[0] is function.__wrapped__
    ]
    assert len(kernels) == 1
    for found in _arrays(function(*args)):
        found[...] = 0
    for tensor, array in zip(args, given):
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(tensor.asnumpy(), array)
    with double_precision():
        double, _ = [function(*args) for _ in range(2)]
    for wide, narrow in zip(_arrays(double), _arrays(plain), strict=True):
        np.testing.assert_allclose(wide, narrow, rtol=1e-2)


def test_a_composed_function_refuses_in_each_call():
    x = Tensor(_data((2, 5), "float32"))
    for _ in range(3):
        with pytest.raises(ValueError, match="approximate"):
            ops.gelu(x, "quickly")
        with pytest.raises(Exception, match="matrix product"):
            ops.dense(x, Tensor(np.ones((3, 4), np.float32)))
