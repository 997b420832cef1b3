"""Calls of compiled C: what is accepted, what is returned, and that nothing leaks."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autodiff_compiler import Parameter, Tensor
from autodiff_compiler.runtime.native import Array, Compiler, Description, Number, Scalar
from autodiff_compiler.runtime.native import function as function_module
from autodiff_compiler.runtime.native.build import Library, build
from autodiff_compiler.runtime.native.function import load_native
from tests.runtime.native import gradients
from tests.runtime.native.gradients import CALL_ROWS, CALL_SQUARES, HEAD, ROWS, SQUARES

X = np.arange(1, 7, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def squares(c_compiler: Compiler) -> Any:
    return load_native(SQUARES, CALL_SQUARES, c_compiler)


@pytest.fixture(scope="module")
def rows(c_compiler: Compiler) -> Any:
    return load_native(ROWS, CALL_ROWS, c_compiler)


def check_squares(result: Any, x: np.ndarray = X, y: float = 0.5) -> None:
    value, (d_x, d_y) = result
    assert type(value) is np.float32 and type(d_y) is float
    assert value == np.sum(x * x) * y and d_y == np.sum(x * x)
    assert d_x.dtype == np.float32 and d_x.shape == (2, 3)
    np.testing.assert_array_equal(d_x, 2 * x * y)


def test_results_are_packed_as_described(squares: Any) -> None:
    check_squares(squares(X, 0.5))


def test_results_own_their_memory(squares: Any) -> None:
    first, second = squares(X, 0.5)[1][0], squares(X, 0.5)[1][0]
    assert first.flags.owndata and first.flags.writeable and first.base is None
    assert not np.shares_memory(first, second)


def unaligned(array: np.ndarray) -> np.ndarray:
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    copy = memory.view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "broadcast": lambda x: np.broadcast_to(x[:1], (2, 3)),
    "unaligned": unaligned,
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "swapped strided": lambda x: np.repeat(x, 2, 0).astype(x.dtype.newbyteorder())[::2],
    "read-only": read_only,
    "with metadata": lambda x: x.astype(np.dtype(x.dtype, metadata={"unit": "m"})),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_layouts_give_the_same_values(squares: Any, layout: str) -> None:
    x = LAYOUTS[layout](X)
    before = x.copy()
    check_squares(squares(x, 0.5), np.ascontiguousarray(x, np.float32))
    np.testing.assert_array_equal(x, before)


class Sub(np.ndarray):
    """A subclass of arrays."""


REFUSED: dict[str, tuple[Any, ...]] = {
    "too few": (X,),
    "too many": (X, 0.5, 0.5),
    "none": (),
    "dtype": (X.astype(np.float64), 0.5),
    "integers": (X.astype(np.int32), 0.5),
    "halves": (X.astype(np.float16), 0.5),
    "shape": (X.T, 0.5),
    "strided shape": (X[:, ::2], 0.5),
    "flat": (X.ravel(), 0.5),
    "more axes": (X[None], 0.5),
    "empty": (X[:0], 0.5),
    "subclass": (X.view(Sub), 0.5),
    "strided subclass": (np.repeat(X, 2, 1)[:, ::2].view(Sub), 0.5),
    "masked": (np.ma.MaskedArray(X), 0.5),
    "list": (X.tolist(), 0.5),
    "nothing": (None, 0.5),
    "an integer": (X, 1),
    "a bool": (X, True),
    "a NumPy number": (X, np.float64(0.5)),
    "an array for a number": (X, np.array(0.5)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_other_arguments_are_refused(squares: Any, what: str) -> None:
    assert squares(*REFUSED[what]) is NotImplemented


def test_keywords_are_refused(squares: Any) -> None:
    with pytest.raises(TypeError, match="keyword"):
        squares(X, y=0.5)


#: Each kind of number, as an input and as an output.
NUMBERS = (
    HEAD
    + """\
int32_t numbers_call(void **p) {
    *(double *)p[3] = *(double *)p[0];
    *(int64_t *)p[4] = *(int64_t *)p[1];
    *(bool *)p[5] = *(bool *)p[2];
    *(float *)p[6] = (float)*(double *)p[0];
    *(int8_t *)p[7] = (int8_t)*(int64_t *)p[1];
    *(bool *)p[8] = *(bool *)p[2];
    *(double *)p[9] = *(double *)p[0];
    return 0;
}
"""
)


def test_numbers_keep_their_types(c_compiler: Compiler) -> None:
    kinds = Number("float"), Number("int"), Number("bool")
    scalars = Scalar("float32"), Scalar("int8"), Scalar("bool"), Array("float64", ())
    about = Description("numbers", "numbers_call", kinds, (*kinds, *scalars))
    numbers = load_native(NUMBERS, about, c_compiler)
    types = [float, int, bool, np.float32, np.int8, np.bool_, np.ndarray]
    cases = [(0.1, -3, True), (float("inf"), 2**63 - 1, False), (-0.0, -(2**63), True)]
    for real, whole, truth in cases:
        results = numbers(real, whole, truth)
        assert [*map(type, results)] == types
        assert results[:3] == (real, whole, truth)
        assert results[3] == np.float32(real) and results[4] == np.array(whole).astype(np.int8)
        assert results[5] == truth and results[6].shape == () and results[6] == real
    assert str(numbers(-0.0, 0, False)[0]) == "-0.0"
    for wrong in [(1.0, 2**63, True), (1.0, -(2**63) - 1, True), (1.0, 2, 1), (1.0, True, True)]:
        assert numbers(*wrong) is NotImplemented


@pytest.mark.parametrize("size", [2, 3, 12, 1000])
def test_sizes_may_be_symbols(rows: Any, size: int) -> None:
    x = np.random.default_rng(size).normal(size=(size, 3))
    value, d_x = rows(x)
    assert type(value) is np.ndarray and value.shape == ()
    np.testing.assert_allclose(value, np.sum(x * x), rtol=1e-14)
    np.testing.assert_array_equal(d_x, 2 * x)


@pytest.mark.parametrize("size", [0, 1, 13])
def test_sizes_that_do_not_fit_are_refused(rows: Any, size: int) -> None:
    assert rows(np.ones((size, 3))) is NotImplemented


def test_symbols_of_several_arrays_agree(c_compiler: Compiler) -> None:
    text = HEAD + "int32_t f(void **p) { *(int64_t *)p[4] = *(int64_t *)p[3]; return 0; }"
    inputs = Array("float64", ("n", 2)), Array("float64", ("n", "m"))
    # p: two arrays, then n and m, then the output.
    function = load_native(text, Description("f", "f", inputs, (Number("int"),)), c_compiler)
    assert function(np.ones((3, 2)), np.ones((3, 7))) == 7
    assert function(np.ones((0, 2)), np.ones((0, 0))) == 0
    assert function(np.ones((3, 2)), np.ones((4, 7))) is NotImplemented
    assert function(np.ones((3, 2)), np.ones((7, 4)).T[:2]) is NotImplemented


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,) * 32])
def test_arrays_without_axes_or_elements(c_compiler: Compiler, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape))
    text = HEAD + (
        f"int32_t f(void **p) {{ float *x = p[0], *y = p[1];"
        f" for (int i = 0; i < {size}; i++) y[i] = x[i] + 1; return 0; }}"
    )
    array = Array("float32", shape)
    function = load_native(text, Description("f", "f", (array,), (array,)), c_compiler)
    x = np.full(shape, 2, np.float32)
    result = function(x)
    assert type(result) is np.ndarray and result.shape == shape and np.all(result == 3)
    if not shape:
        assert function(np.float32(2)) == 3  # a NumPy number is an array without axes
        assert function(np.float64(2)) is NotImplemented


def test_types_of_the_same_dtype_are_the_same(c_compiler: Compiler) -> None:
    text = HEAD + "int32_t f(void **p) { *(int64_t *)p[1] = *(int64_t *)p[0]; return 0; }"
    about = Description("f", "f", (Array("int64", (1,)),), (Number("int"),))
    function = load_native(text, about, c_compiler)
    for letter in "lqi":
        x = np.array([7], letter)
        assert function(x) == (7 if x.dtype == np.int64 else NotImplemented)


def test_references_are_balanced(squares: Any, rows: Any) -> None:
    x, y, tall = X.copy(), 0.123, np.ones((5, 3))
    wrong, swapped = X.astype(np.float64), X.astype(">f4")
    things = [x, y, tall, wrong, swapped, x.dtype, np.dtype("f8"), NotImplemented, True, None]

    def work() -> None:
        for _ in range(1000):
            squares(x, y)
            rows(tall)
            squares(wrong, y)
            squares(swapped, y)

    work()
    before = [*map(sys.getrefcount, things)]
    work()
    assert [*map(sys.getrefcount, things)] == before


def test_results_are_freed(squares: Any) -> None:
    _, (d_x, _) = squares(X, 0.5)
    assert sys.getrefcount(d_x) == 2
    gone = weakref.ref(d_x)
    del d_x
    assert gone() is None


def test_nothing_leaks(squares: Any, rows: Any) -> None:
    resource = pytest.importorskip("resource")
    big = np.ones((100_000, 3))

    def peak() -> int:
        for _ in range(200):
            rows(big)
            for _ in range(50):
                squares(X, 0.5), squares(X.T, 0.5), squares(X[::-1], 0.5)
        kilobytes: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return kilobytes

    before = peak()
    assert peak() - before < 20_000  # of 480 MB if results were lost


def test_functions_are_freed_with_their_libraries(
    c_compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries: list[Any] = []

    def recorded(*arguments: Any) -> Library:
        library = build(*arguments)
        libraries.append(weakref.ref(library))
        return library

    monkeypatch.setattr(function_module, "build", recorded)
    text = f"{SQUARES}/* another text: the library of an equal one may be in use */\n"
    function = load_native(text, CALL_SQUARES, c_compiler)
    check_squares(function(X, 0.5))
    assert libraries[0]() is not None
    other = load_native(text, CALL_SQUARES, c_compiler)
    assert len(libraries) == 1
    gone = weakref.ref(function)
    del function
    assert gone() is None and libraries[0]() is not None
    check_squares(other(X, 0.5))
    del other
    assert libraries[0]() is None


def with_tensors(about: Description, holder: type = Tensor) -> Description:
    """Returns a description in which inputs are Tensors or Parameters, and outputs Tensors."""
    ends = (
        [each._replace(holder=kind) if isinstance(each, Array) else each for each in many]
        for many, kind in ((about.inputs, holder), (about.outputs, Tensor))
    )
    inputs, outputs = map(tuple, ends)
    return replace(about, inputs=inputs, outputs=outputs)


@pytest.fixture(scope="module")
def tensor_squares(c_compiler: Compiler) -> Any:
    return load_native(SQUARES, with_tensors(CALL_SQUARES), c_compiler)


@pytest.mark.parametrize("make", [Tensor, Parameter])
def test_tensors_and_parameters(c_compiler: Compiler, make: Any) -> None:
    tensor_squares = load_native(SQUARES, with_tensors(CALL_SQUARES, make), c_compiler)
    x, other = make(X), Parameter(X) if make is Tensor else Tensor(X)
    assert tensor_squares(other, 0.5) is NotImplemented
    value, (d_x, d_y) = tensor_squares(x, 0.5)
    assert type(d_x) is Tensor and d_x._hooks == () and not hasattr(d_x, "_init")
    check_squares((value, (d_x.asnumpy(), d_y)))
    assert "Float32" in repr(d_x) and isinstance(d_x + d_x, Tensor)
    for layout in ("Fortran", "unaligned", "swapped", "read-only"):
        x._data = LAYOUTS[layout](X)
        value, (d_x, d_y) = tensor_squares(x, 0.5)
        check_squares((value, (d_x.asnumpy(), d_y)))


def test_other_tensors_are_refused(tensor_squares: Any, squares: Any) -> None:
    class Sub(Tensor):
        pass

    hooked, strided = Tensor(X), Tensor(X)
    hooked.register_hook(lambda gradient: gradient)
    strided._data = np.repeat(X, 2, 1)[:, ::2]
    strided.register_hook(lambda gradient: gradient)
    wrong = [X, None, 1.0, hooked, strided, Sub(X), Tensor(X.astype(np.float64)), Tensor(X[0])]
    for x in wrong:
        assert tensor_squares(x, 0.5) is NotImplemented
    assert squares(Tensor(X), 0.5) is NotImplemented


def test_references_of_tensors_are_balanced(tensor_squares: Any) -> None:
    x, wrong = Tensor(X), Tensor(X.astype(np.float64))
    strided, hooked = Tensor(X), Tensor(X)
    strided._data = np.repeat(X, 2, 1)[:, ::2]
    hooked.register_hook(lambda gradient: gradient)
    tensors = [x, wrong, strided, hooked]
    things = [Tensor, *tensors, *(each._data for each in tensors)]

    def work() -> None:
        for _ in range(1000):
            for each in tensors:
                tensor_squares(each, 0.5)

    work()
    before = [*map(sys.getrefcount, things)]
    work()
    assert [*map(sys.getrefcount, things)] == before
    _, (d_x, _) = tensor_squares(x, 0.5)
    array, gone = d_x._data, weakref.ref(d_x)
    assert sys.getrefcount(d_x) == 2 and sys.getrefcount(array) == 3 and gc.is_tracked(d_x)
    del d_x
    assert gone() is None and sys.getrefcount(array) == 2


def test_an_array_stays_while_it_is_used(c_compiler: Compiler) -> None:
    """Another thread gives the Tensor another array during a call."""
    about = with_tensors(gradients.CALL_WAIT_LONG)
    wait = load_native(gradients.WAIT, about, c_compiler)
    x = Tensor(np.zeros(1, np.int32))

    def change() -> None:
        gone = weakref.ref(x._data)
        x._data = np.ones(1, np.int32)
        alive.append(gone() is not None)
        if gone() is not None:
            gone().fill(1)

    alive: list[bool] = []
    threading.Timer(0.1, change).start()
    assert wait(x) is True and alive == [True]


def test_results_too_large_for_memory(c_compiler: Compiler) -> None:
    """The first result has memory already when the second has none."""
    text = HEAD + (
        "int32_t f(void **p) { return 0; }\n"
        "int32_t sizes(int64_t *s) { s[1] = s[0] == 1 ? -5 : 1LL << 60; return 0; }"
    )
    results = Array("float64", ("n",)), Array("float64", ("huge",))
    about = Description(
        "f", "f", (Array("int8", ("n",)),), results, derived=("huge",), derive_sizes="sizes"
    )
    function = load_native(text, about, c_compiler)
    for _ in range(3):
        with pytest.raises((MemoryError, ValueError)):
            function(np.zeros(1_000_000, np.int8))
        with pytest.raises(ValueError, match="negative"):
            function(np.zeros(1, np.int8))


def test_wrong_packings_are_refused(c_compiler: Compiler) -> None:
    for packing in [(0, 1), (0, (1, 1)), (0, 1, 2, 2), 3]:
        with pytest.raises(ValueError, match="packing"):
            load_native(SQUARES, replace(CALL_SQUARES, packing=packing), c_compiler)
