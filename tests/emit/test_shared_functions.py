"""Functions of equal text are printed once, whatever their shapes, and compute what each of them
would compute."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.emit.function_text import FunctionText, TextLine
from autodiff_compiler.emit.literal_sites import find_sites
from autodiff_compiler.emit.shared_functions import SharedFunctions, common_words
from autodiff_compiler.emit.size_expressions import SizeAgnosticText
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.types import array
from autodiff_compiler.operators import OPERATORS
from autodiff_compiler.span import NOWHERE

LEVELS = (0, 1, 3)


def functions(source: str) -> dict[str, str]:
    """Returns the code of each function of a module, by name."""
    parts = re.split(r"^def ", source, flags=re.M)[1:]
    return {part.partition("(")[0]: part for part in parts}


def tensors(*shapes: Sequence[int], dtype: Any = np.float32, seed: int = 3) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    return [Tensor(rng.normal(size=shape).astype(dtype)) for shape in shapes]


def gradients(net: nn.Cell, inputs: Sequence[Tensor], level: int) -> list[bytes]:
    """Returns the bytes of the value and of all gradients of ``net``."""
    ms.set_context(opt_level=level)
    try:
        every = ops.GradOperation(get_all=True, get_by_list=True)
        d_inputs, d_weights = every(net, ms.ParameterTuple(net.trainable_params()))(*inputs)
        value = ms.jit(net)(*inputs)
    finally:
        ms.set_context(opt_level=1)
    return [each.asnumpy().tobytes() for each in (value, *d_inputs, *d_weights)]


class Mlp(nn.Cell):
    """Dense layers of four sizes, one of them without bias."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.CellList(
            [nn.Dense(6, 5), nn.Dense(5, 4), nn.Dense(4, 3, has_bias=False), nn.Dense(3, 2)]
        )

    def construct(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = ops.tanh(layer(x))
        return x


class Block(nn.Cell):
    """A residual block, with a smaller copy of its input where the sizes change."""

    def __init__(self, channels: int, out: int, has_bias: bool) -> None:
        super().__init__()
        stride = 1 if channels == out else 2
        self.conv1 = nn.Conv2d(channels, out, 3, stride, has_bias=has_bias)
        self.conv2 = nn.Conv2d(out, out, 3, has_bias=has_bias)
        self.down = None if channels == out else nn.Conv2d(channels, out, 1, 2)

    def construct(self, x: Tensor) -> Tensor:
        before = x if self.down is None else self.down(x)
        return ops.relu(self.conv2(ops.relu(self.conv1(x))) + before)


class Residual(nn.Cell):
    """Blocks with and without a copy, with and without bias."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.CellList(
            [Block(4, 4, True), Block(4, 6, True), Block(6, 6, True), Block(6, 6, False)]
        )

    def construct(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


class Centred(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * x - ops.sum(x * x, -1, keepdim=True) / x.shape[-1]


class Ranks(nn.Cell):
    """The same layers on arrays of rank 2 and rank 3."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other, self.flat = nn.Dense(3, 4), nn.Dense(4, 5), nn.Dense(5, 3)
        self.last = nn.Dense(3, 2)

    def construct(self, x: Tensor) -> Tensor:
        x = ops.tanh(self.other(ops.tanh(self.one(x))))
        return self.last(ops.tanh(self.flat(x.reshape((-1, 5)))))


class Sizes(nn.Cell):
    """A layer without weights on three sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.centred = Centred()
        self.w = Parameter(Tensor(np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)))

    def construct(self, x: Tensor) -> Tensor:
        return self.centred(ops.matmul(self.centred(x), self.w)).sum() + self.centred(self.w).sum()


NETS: dict[str, tuple[Callable[[], nn.Cell], tuple[int, ...]]] = {
    "mlp": (Mlp, (2, 6)),
    "residual": (Residual, (2, 4, 8, 8)),
    "ranks": (Ranks, (2, 4, 3)),
    "sizes": (Sizes, (3, 5)),
}


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Returns a function that makes the compiler print every function on its own from then on."""

    def switch() -> None:
        monkeypatch.setattr(SizeAgnosticText, "admits", lambda self, text: False)

    return switch


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NETS)
def test_sharing_changes_no_bit(name: str, level: int, apart: Callable[[], None]) -> None:
    make, shape = NETS[name]
    inputs = tensors(shape)

    def net() -> nn.Cell:
        made = make()
        for parameter, value in zip(
            made.get_parameters(), tensors(*(p.shape for p in made.get_parameters()))
        ):
            parameter.set_data(value)
        return made

    shared = gradients(net(), inputs, level)
    shared_source = ms.gradient_source(net(), *inputs, opt_level=level)
    apart()
    assert gradients(net(), inputs, level) == shared
    apart_source = ms.gradient_source(net(), *inputs, opt_level=level)
    if level < 3:
        assert len(functions(shared_source)) < len(functions(apart_source))


def test_three_sizes_of_dense_are_one_function() -> None:
    found = functions(ms.gradient_source(Mlp(), "f32[2,6]"))
    assert list(found) == [
        "dense_forward", "dense_1_forward", "mlp_forward", "dense_backward", "mlp_backward",
    ]  # fmt: skip
    assert "dense_forward(x, weight, bias):" in found["dense_forward"]
    assert "dense_1_forward(x, weight):" in found["dense_1_forward"]
    calls = Counter(re.findall(r" (dense\w*)\(", found["mlp_forward"]))
    assert calls == {"dense_forward": 3, "dense_1_forward": 1}


def test_each_rank_is_one_function() -> None:
    """The text of a product depends on the rank."""
    found = functions(ms.gradient_source(Ranks(), "f32[2,4,3]", get_all=True, get_by_list=True))
    assert [name for name in found if name.startswith("dense")] == [
        "dense_forward", "dense_1_forward", "dense_1_backward", "dense_backward",
    ]  # fmt: skip
    deep, flat = found["dense_backward"], found["dense_1_backward"]
    assert "np.matmul" in found["dense_forward"] and "np.dot" in found["dense_1_forward"]
    assert ".reshape(x.shape)" in deep and "axis=(0, 1))" in deep
    assert "reshape" not in flat and "axis=0)" in flat


def test_a_shape_may_stand_for_two_ranks() -> None:
    class Total(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return ops.exp(x.sum()) * ops.sin(x).sum()

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.total = Total()

        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return self.total(x) * self.total(y)

    source = ms.gradient_source(Net(), "f32[2,3]", "f32[4,2,3]", get_all=True)
    assert list(functions(source)) == [
        "total_forward", "net_forward", "total_backward", "net_backward",
    ]  # fmt: skip


def test_blocks_differ_in_structure_alone() -> None:
    net, inputs = Residual(), "f32[2,4,4,4]"
    found = functions(ms.gradient_source(net, inputs, get_all=True, get_by_list=True))
    blocks = [text for name, text in found.items() if re.match(r"block\w*_forward", name)]
    assert len(blocks) == 3  # as it is; with a copy; without bias
    layers = [text for name, text in found.items() if re.match(r"conv2d\w*_forward", name)]
    assert len(layers) == 4  # the smaller copy; with a stride; as it is; without bias
    assert sum("x.shape[2] + 2" in text for text in layers) == 1  # in three sizes


def test_a_dtype_in_the_text_keeps_functions_apart() -> None:
    class Mixed(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.half = nn.Conv2d(2, 2, 3, dtype=ms.float16)
            self.single = nn.Conv2d(2, 2, 3)
            self.relu = nn.ReLU()

        def construct(self, x: Tensor) -> Tensor:
            half = self.relu(self.half(x.astype(ms.float16)))
            return half.astype(ms.float32) * self.relu(self.single(x))

    found = functions(ms.gradient_source(Mixed(), "f32[1,2,4,4]"))
    kinds = Counter(re.sub(r"_\d", "", name) for name in found)
    assert kinds["conv2d_forward"] == 2 and kinds["re_lu_forward"] == 1


class Scaled(nn.Cell):
    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def construct(self, x: Tensor) -> Tensor:
        return ops.sin(x) * self.factor


class Summed(nn.Cell):
    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return ops.sin(x).sum(self.axis, keepdims=True) * x


@pytest.mark.parametrize("kind", [Scaled, Summed])
def test_numbers_that_are_no_sizes_stay_numbers(kind: type[nn.Cell]) -> None:
    """The factors and axes are the sizes of the arguments here, by chance."""

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = kind(1), kind(2)

        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return self.one(x).sum() + self.other(y).sum()

    source = ms.gradient_source(Net(), "f32[3,1,3]", "f32[3,2,3]", get_all=True)
    assert ".shape" not in source
    assert sum(name.endswith("_forward") for name in functions(source)) >= 2


def test_a_value_that_may_be_missing_is_not_asked_for_its_shape() -> None:
    """The residuals of a branch that is not taken are None."""

    class Branch(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            total = x.sum()
            if total > 0:
                total = (ops.sin(x) * ops.exp(x)).sum()
            return total

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.branch = Branch()

        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return self.branch(x) + self.branch(y)

    for sign in (1.0, -1.0):
        x, y = Tensor(np.full((2, 3), sign, np.float32)), Tensor(np.full((2, 4), sign, np.float32))
        for each in ops.GradOperation(get_all=True)(Net())(x, y):
            slope = (np.sin(sign) + np.cos(sign)) * np.exp(sign) if sign > 0 else 1.0
            np.testing.assert_allclose(each.asnumpy(), slope, rtol=1e-6)


def test_empty_arrays_have_no_inferred_sizes() -> None:
    """NumPy cannot compute a size of an empty array from the others."""

    class Flat(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return ops.exp(x.reshape((x.shape[0] * x.shape[1], x.shape[2]))) * 2.0

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.flat = Flat()

        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return self.flat(x).sum() + self.flat(y).sum()

    x, y = np.zeros((0, 3, 2), np.float32), np.zeros((2, 0, 0), np.float32)
    d_x, d_y = ops.GradOperation(get_all=True)(Net())(Tensor(x), Tensor(y))
    assert d_x.shape == x.shape and d_y.shape == y.shape


def test_equal_texts_of_two_sources_stay_two_functions() -> None:
    def one(x: Any) -> Any:
        return np.sin(x)

    def other(x: Any) -> Any:
        return np.sin(x)

    def both(x: Any) -> Any:
        return np.sum(one(x) * one(x) * other(x) * other(x))

    found = functions(ms.gradient_source(both, "f64[3]"))
    assert {"one", "other"} <= {name.split("_")[0] for name in found}


def test_a_note_keeps_the_words_that_are_true_everywhere() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Dense(3, 4), nn.Dense(4, 5)

        def construct(self, x: Tensor) -> Tensor:
            return self.other(ops.tanh(self.one(x)))

    source = ms.gradient_source(Net(), "f32[2,3]", get_all=True, get_by_list=True)
    assert source.count("# bias was broadcast\n") == 1
    assert common_words("a b", "a c") == "a" and common_words("a b", "a b") == "a b"


#: Lines with sizes of ``a`` (rank 3) and ``b`` (rank 2), and with other numbers in their place.
TEMPLATES = (
    "y = np.zeros(({}, {}, {}))", "y = a.reshape(({}, {}))", "y = a.reshape({})",
    "y = np.broadcast_to(b, ({}, {}, {}))", "y = b.sum(axis=1) / {}", "y = np.arange({})",
    "y = b.reshape(({}, {})) // {}", "y = a[:, {}] * {}", "y = np.ones(({}, {} + 1))",
    "y = np.concatenate([b[i : i + {}] for i in range({})])", "y = a.sum(axis={})",
)  # fmt: skip


def member(rng: np.random.Generator, line: str) -> tuple[FunctionText, tuple[np.ndarray, ...]]:
    """Returns a function of two arrays with sizes in a line, and its arguments."""
    sizes = [int(size) for size in rng.integers(0 if rng.random() < 0.2 else 1, 4, 3)]
    shapes = sizes, [sizes[2], sizes[1] + 1]
    known = [*sizes, *shapes[1], prod(sizes), prod(sizes[1:]), sizes[0] * sizes[2], sizes[1] + 2]
    numbers = [int(rng.choice(known)) for _ in range(line.count("{}"))]
    if "-1" not in line and rng.random() < 0.2:
        numbers[int(rng.integers(len(numbers)))] = -1
    with Builder() as builder:
        params = [Value(array("float64", *shape), name) for shape, name in zip(shapes, "ab")]
        out = [OPERATORS["exp"](param) for param in params]
    function = Function("f", Region(tuple(params), tuple(builder.ops), tuple(out)), NOWHERE)
    lines = [TextLine(1, line.format(*numbers)), TextLine(1, "return y")]
    names = dict(zip(params, "ab"))
    return FunctionText(function, names, "a, b", lines), tuple(rng.random(s) for s in shapes)


def outcome(code: str, arguments: tuple[np.ndarray, ...]) -> Any:
    """Returns the array that a function returns, or the class of its exception."""
    space: dict[str, Any] = {"np": np}
    exec(code, space)
    try:
        return space["f"](*arguments)
    except Exception as error:  # whatever NumPy raises
        return type(error)


@pytest.mark.parametrize("line", TEMPLATES)
def test_a_shared_text_computes_what_each_text_computes(line: str) -> None:
    rng = np.random.default_rng(len(line))
    shared = 0
    for _ in range(150):
        first, arguments = member(rng, line)
        text = SizeAgnosticText(first)
        members = [(first, arguments)]
        for _ in range(2):
            other = member(rng, line)
            if text.admits(other[0]):
                members.append(other)
        code = "\n".join(["def f(a, b):", *(f"    {line}" for line in text.codes())])
        shared += len({one.code for one, _ in members}) > 1
        for one, arguments in members:
            with np.errstate(all="ignore"):
                expected, found = outcome(one.code, arguments), outcome(code, arguments)
            if isinstance(expected, np.ndarray):
                assert found.tobytes() == expected.tobytes() and found.shape == expected.shape
            else:
                assert isinstance(found, np.ndarray) or found is expected, (one.code, code)
    assert bool(shared) is not any(part in line for part in ("axis={}", "a[:", "[b[", "{} + 1"))


def test_sites_are_where_a_person_writes_sizes() -> None:
    code = """\
def f(x, y):
    z = np.zeros((2, 5), np.float32)
    a = x.reshape((10, 1)).sum(axis=1) / 5 + x[2] * 3
    b = [np.ones(2) for x in y]
    for i in range(2):
        z[:, i : i + 2] += "2, 5"
    return np.broadcast_to(a, (2, 10)).transpose(1, 0)"""
    sites = find_sites(code, {"x": (2, 5), "z": (2, 5), "a": (10,)}).values()
    rows = [(code[slice(*site.columns)], site.kind, list(site.arrays)) for site in sites]
    assert rows == [
        ("2, 5", "new", ["x"]),
        ("10, 1", "reshape", ["x", "z"]),
        ("5", "count", ["x", "z"]),
        ("2", "count", ["a", "z", "x"]),
        ("2", "length", ["z", "a", "x"]),
        ("2, 10", "shape", ["a", "z", "x"]),
    ]


def test_entries_keep_their_names() -> None:
    class Tree(nn.Cell):
        """A Cell that holds Cells of its own class."""

        def __init__(self, depth: int) -> None:
            super().__init__()
            self.inner = Tree(depth - 1) if depth else None

        def construct(self, x: Tensor) -> Tensor:
            inner = x if self.inner is None else self.inner(ops.concat((x, x)))
            return ops.sin(inner).sum() * x

    found = functions(ms.gradient_source(Tree(2), "f32[3]"))
    assert found.keys() >= {"tree_forward", "tree_backward"}
    assert SharedFunctions([], ["f"]).names == {}
