"""Level 1 writes large results over dead arrays that have a name, and over nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler import Tensor, nn, ops, pipeline
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.ir.nodes import Function, Op
from autodiff_compiler.passes.memory.overwrite_named_arrays import overwrite_named_arrays
from autodiff_compiler.testing import check_grads
from tests.passes.conftest import Optimised

LARGE, SMALL = "f32[200,200]", "f32[20,20]"


@pytest.fixture
def changed(optimised: Optimised) -> Callable[..., list[str]]:
    """Returns a function that applies the pass to lines, and lists what each operation is."""

    def changed(*lines: str, returns: str = "%y", type_: str = LARGE) -> list[str]:
        body = "\n".join(f"  {line}" for line in lines).replace("T", type_)
        results = ", ".join([type_] * len(returns.split(",")))
        text = f"func @f(%x: {type_}) -> ({results}) {{\n{body}\n  return {returns}\n}}\n"
        found = optimised(text, overwrite_named_arrays, stage="lowered")
        return [written(op) for op in found.body.ops]

    return changed


def written(op: Op) -> str:
    """Returns the text of an operation that overwrites, else its name."""
    return str(op.attrs["text"]) if op.name in ("compute_into", "update") else op.name


def test_another_name_writes_with_out(changed: Callable[..., list[str]]) -> None:
    found = changed("%u!: T = sin %x", "%v!: T = exp %u", "%y!: T = add %v, %v")
    assert found == ["sin", "np.exp({0}, out={1})", "np.add({0}, {1}, out={2})"]


def test_the_same_name_is_an_augmented_assignment(changed: Callable[..., list[str]]) -> None:
    lines = [f"%y.{k + 1}!: T = {name} %y.{k}, %x" for k, name in enumerate(("mul", "add", "sub"))]
    found = changed("%y.0!: T = sin %x", *lines, "%y.4!: T = div %y.3, 2.0", returns="%y.4")
    assert found == ["sin", "{out} *= {1}", "{out} += {1}", "{out} -= {1}", "{out} /= {1}"]


def test_only_signs_that_commute_take_the_second_operand(
    changed: Callable[..., list[str]],
) -> None:
    found = changed(
        "%y.0!: T = sin %x",
        "%y.1!: T = mul 2.0, %y.0",
        "%y.2!: T = sub 1.0, %y.1",
        "%y.3!: T = exp %y.2",
        returns="%y.3",
    )
    assert found == [
        "sin",
        "{out} *= {1}",
        "np.subtract({1}, {out}, out={out})",
        "np.exp({out}, out={out})",
    ]


def test_a_step_of_an_expression_takes_the_name_of_its_end(
    changed: Callable[..., list[str]],
) -> None:
    found = changed(
        "%u!: T = sin %x", "%t: T = mul %u, %x", "%s: T = add %t, %x", "%y!: T = mul %s, 2.0"
    )
    assert found == ["sin", "np.multiply({0}, {1}, out={2})", "{out} += {1}", "{out} *= {1}"]


@pytest.mark.parametrize(
    ("lines", "returns"),
    [
        # An argument; what is read later, returned, or a view.
        (("%y!: T = exp %x",), "%y"),
        (("%u!: T = sin %x", "%v!: T = sin %u", "%y!: T = add %v, %u"), "%y, %u, %v"),
        (("%u!: T = sin %x", "%y!: T = exp %u"), "%y, %u"),
        (("%u!: T = transpose %x {perm=(1, 0)}", "%y!: T = exp %u"), "%y"),
        # An operand that is part of the expression of its user.
        (("%u: T = sin %x", "%y!: T = exp %u"), "%y"),
        # A step that would need a name of its own.
        (("%u!: T = sin %x", "%t: T = mul %u, %x", "%y!: T = exp %t"), "%y"),
        # NumPy writes the result over the temporary array.
        (("%u!: T = sin %x", "%t: T = exp %x", "%y!: T = mul %u, %t"), "%y"),
        # A sign, and a product that mixes elements.
        (("%u!: T = sin %x", "%y!: T = sign %u"), "%y"),
        (("%u!: T = sin %x", "%y!: T = matmul %u, %x"), "%y"),
    ],
)
def test_nothing_is_overwritten(
    lines: tuple[str, ...], returns: str, changed: Callable[..., list[str]]
) -> None:
    assert not any("out" in text for text in changed(*lines, returns=returns))


def test_small_arrays_stay(changed: Callable[..., list[str]]) -> None:
    assert changed("%y.0!: T = sin %x", "%y.1!: T = exp %y.0", returns="%y.1", type_=SMALL) == [
        "sin",
        "exp",
    ]


def test_another_dtype_or_shape_stays(optimised: Optimised) -> None:
    found: Function = optimised(
        """func @f(%x: f32[300,300], %w: f64[300,300]) -> (f64[300,300], f32[2,300,300]) {
  %u!: f32[300,300] = sin %x
  %u.1!: f64[300,300] = mul %u, %w
  %v!: f32[300,300] = cos %x
  %o: f32[2,1,1] = full {dtype='float32', shape=(2, 1, 1), value=1}
  %v.1!: f32[2,300,300] = add %v, %o
  return %u.1, %v.1
}
""",
        overwrite_named_arrays,
        stage="lowered",
    )
    assert {"compute_into", "update"}.isdisjoint(op.name for op in found.body.ops)


# ---- texts of level 1


def chain(x: Any, y: Any) -> Any:
    u = np.sin(x) * y
    v = np.exp(-u * u)
    w = v / (1.0 + v)
    return np.sum(w * y + u)


def recurrent(x: Any, w: Any) -> Any:
    h = x[0]
    for k in range(1, 4):
        h = np.tanh(h @ w) * x[k] + h
    return np.sum(h * h)


def accumulated(x: Any, w: Any) -> Any:
    total = np.zeros((300, 300))
    for k in range(3):
        total = total + x[k] @ w
    return np.sum(total * total * total)


def softmax(x: Any, w: Any) -> Any:
    z = x @ w
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.sum((e / e.sum(axis=1, keepdims=True)) ** 2)


def scanned(x: Any, y: Any) -> Any:
    return np.sum(np.cumsum(x, axis=0) ** 2 * y) + np.sum(np.concatenate([x * y, y]) ** 3)


SQUARE = "f64[300,300]"
PROGRAMS = {
    chain: (SQUARE, SQUARE),
    recurrent: ("f64[4,300,300]", SQUARE),
    accumulated: ("f64[4,300,300]", SQUARE),
    softmax: (SQUARE, SQUARE),
    scanned: (SQUARE, SQUARE),
}
every_program = pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)


@every_program
def test_no_lent_buffers_no_tiles_and_every_destination_has_a_name(fn: Any) -> None:
    text = ms.gradient_source(fn, *PROGRAMS[fn], get_all=True, value=True, opt_level=1)
    assert "work" not in text and "buffer" not in text and "tile" not in text
    assert all(re.fullmatch(r"\w+", target) for target in re.findall(r"out=(.+?)\)", text))
    assert "Results are written" not in text
    memory = ms.gradient_source(fn, *PROGRAMS[fn], get_all=True, value=True, opt_level=2)
    assert "work" in memory and "Results are written into dead buffers (out=)." in memory


def test_small_powers_of_large_arrays_are_products() -> None:
    text = ms.gradient_source(lambda x: np.sum(x**3), SQUARE, value=True, opt_level=1)
    assert "np.square(x) * x" in text and "x ** 3" not in text
    text = ms.gradient_source(lambda x: np.sum(x**3), "f64[3,3]", value=True, opt_level=1)
    assert "(x**3)" in text


def test_a_careful_person_writes_the_same() -> None:
    text = ms.gradient_source(chain, "f64[300,300]", "f64[300,300]", opt_level=1)
    assert "    d_u = 1 - d_minus_u\n    d_u -= d_minus_u\n" in text
    assert "    d_x = np.multiply(d_u, y, out=d_u)\n    d_x *= np.cos(x)\n" in text


def test_a_tape_is_assigned_row_by_row_and_a_large_carry_is_updated() -> None:
    text = ms.gradient_source(recurrent, "f64[4,300,300]", SQUARE, get_all=True, opt_level=1)
    assert re.search(r"\w+_tape = np.empty\(\(3, 300, 300\), np.float64\)", text)
    assert re.search(r"        (\w+)_tape\[\w+\] = \1\n", text) and ".append(" not in text
    assert "        d_h += np.dot(" in text and "        d_w += np.dot(" in text
    text = ms.gradient_source(accumulated, "f64[4,300,300]", SQUARE, value=True, opt_level=1)
    assert "        total += np.dot(x_item, w)" in text


@every_program
def test_the_numbers_are_those_of_level_0(fn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    rng, found = np.random.default_rng(4), []
    sizes = [tuple(map(int, type_[4:-1].split(","))) for type_ in PROGRAMS[fn]]
    arrays = [rng.uniform(-0.1, 0.1, size) for size in sizes]
    before = [array.copy() for array in arrays]
    for level in (0, 1):
        ms.set_context(opt_level=level)
        gradient = ms.value_and_grad(fn, (0, 1))
        ms.set_context(opt_level=1)
        for _ in range(2):
            value, slopes = gradient(*arrays)
            found.append([value, *slopes])
    for one in found[1:]:
        for part, other in zip(one, found[0]):
            np.testing.assert_allclose(part, other, rtol=1e-9, atol=1e-12)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before))


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(4, 4, activation="sigmoid")

    def construct(self, x: Any) -> Any:
        h = self.dense(x)
        h = h * x + h
        for _ in range(2):
            h = ops.tanh(h) * h
        return ops.sum(h * h)


@changed_costs(large_bytes=1, medium_bytes=1, tape_row_bytes=1)
def test_two_orders_where_every_array_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", True)
    before = ms.get_context("opt_level")
    ms.set_context(opt_level=1)
    try:
        x = np.random.default_rng(2).normal(size=(3, 4))
        check_grads(Net(), (Tensor(x),), order=2)
    finally:
        ms.set_context(opt_level=before)
