"""Batches: every record against one example after the other, and programs with control flow."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from autodiff_compiler.errors import CompileError
from autodiff_compiler.ir.nodes import Function, Region
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.span import NOWHERE
from autodiff_compiler.testing.samples import Sample
from autodiff_compiler.transforms.batching.sweep import batched_function
from tests.interpreter import run
from tests.operators.test_records import CASES, Program
from tests.transforms.numeric import flat, read

SIZE = 3
#: What draws has a state, and nothing to compare.
ARRAYS = [p for p in CASES if not p.values[0].effect and p.values[0].name != "undefined"]


def examples(value: np.ndarray) -> list[np.ndarray]:
    """The sample and others near it, in its dtype: indices and bools stay what they are."""
    if value.dtype.kind != "f":
        return [value] * SIZE
    return [(value * (1.0 + 0.03 * k)).astype(value.dtype) for k in range(SIZE)]


def count_loops(function: Function) -> int:
    return sum(op.name in ("for", "while") for each in (function, *function.callees())
               for op in each.body.walk())  # fmt: skip


def compare(text: str, args: list, mapped: tuple) -> Function:
    """Holds a program's batch against one example after the other; gives what it became."""
    function, flags = read(text), tuple(map(bool, mapped))
    size = next(len(arg) for arg, maps in zip(args, flags) if maps)
    made = batched_function(function, flags, size)
    verify(made, "differentiated")
    got = run(made, args)
    single = [
        run(function, [a[k] if maps else a for a, maps in zip(args, flags)]) for k in range(size)
    ]
    for number, found in enumerate(got):
        parts = found if isinstance(found, tuple) else (found,)
        for part, value in enumerate(parts):
            wanted = [row[number] for row in single]
            wanted = [one[part] if isinstance(found, tuple) else one for one in wanted]
            assert len(value) == size
            np.testing.assert_allclose(flat(value), flat(wanted), rtol=1e-12)
    return made


@pytest.mark.parametrize(("opdef", "sample"), ARRAYS)
def test_a_batch_equals_the_examples_one_by_one(opdef: OpDef, sample: Sample) -> None:
    program = Program(opdef, sample)
    arrays = [n for n, arg in enumerate(program.args) if isinstance(arg, np.ndarray)]
    body = Region(tuple(program.params), tuple(program.builder.ops), (program.out,))
    function = Function("f", body, NOWHERE)
    if not isinstance(program.out.type, ArrayType):
        return
    for mapped in product([False, True], repeat=len(arrays)):
        if not any(mapped):
            continue
        chosen = {n for n, maps in zip(arrays, mapped) if maps}
        flags = tuple(n in chosen for n in range(len(program.args)))
        rows = [examples(a) if n in chosen else [a] * SIZE for n, a in enumerate(program.args)]
        with np.errstate(all="ignore"):
            single = [run(function, list(row))[0] for row in zip(*rows)]
            if len({np.shape(one) for one in single}) > 1:
                continue  # how large the result is depends on the values
            made = batched_function(function, flags, SIZE)
            verify(made, "differentiated")
            given = [np.stack(row) if n in chosen else row[0] for n, row in enumerate(rows)]
            (got,) = run(made, given)
        expected = np.stack(single)
        assert np.shape(got) == expected.shape and np.asarray(got).dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


PART, EVERY = "(('slice', 1, None, None),)", "(('slice', None, None, None), 1)"
#: Writes to one region: of the shape of the region, of fewer axes, and one number.
REGIONS = [(PART, "f64[2,4]"), (PART, "f64[4]"), (PART, "f64[]"), (EVERY, "f64[3]")]


@pytest.mark.parametrize("mapped", [(1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("name", ["add_at", "increment_at", "set_item"])
@pytest.mark.parametrize(("index", "part"), REGIONS)
def test_a_region_of_every_example_is_written_at_once(
    name: str, index: str, part: str, mapped: tuple[int, int]
) -> None:
    rng = np.random.default_rng(4)
    text = f"""func @f(%x: f64[3,4], %v: {part}) -> (f64[3,4]) {{
  %y: f64[3,4] = {name} %x, %v {{index={index}}}
  return %y
}}
"""
    shapes = [param.type.shape for param in read(text).params]
    args = [rng.normal(size=(5, *s) if m else s) for s, m in zip(shapes, mapped)]
    assert count_loops(compare(text, args, mapped)) == 0


@pytest.mark.parametrize(("index", "part"), [(PART, "f64[2,4]"), (EVERY, "f64[3]")])
def test_a_region_of_zeros_is_written_at_once(index: str, part: str) -> None:
    text = f"""func @f(%v: {part}) -> (f64[3,4]) {{
  %y: f64[3,4] = scatter %v {{index={index}, shape=(3, 4)}}
  return %y
}}
"""
    args = [np.random.default_rng(5).normal(size=(5, *read(text).params[0].type.shape))]
    assert count_loops(compare(text, args, (1,))) == 0


#: What takes a batch as it is: there must be no loop around these.
WHOLE = [
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "where",
    "sin",
    "exp",
    "log",
    "tanh",
    "relu",
    "maximum",
    "greater",
    "equal",
    "cast",
    "reshape",
    "broadcast_to",
    "sum",
    "mean",
    "max",
    "prod",
    "var",
    "logsumexp",
    "softmax",
    "log_softmax",
    "transpose",
    "swap_last_axes",
    "expand_dims",
    "concat",
    "stack",
    "index",
    "matmul",
    "outer",
    "einsum",
    "pad",
    "flip",
    "cumsum",
    "argmax",
]


@pytest.mark.parametrize("name", [name for name in WHOLE if name in OPERATORS])
def test_no_loop_around_operators_with_a_batching_rule(name: str) -> None:
    found = []
    for case in ARRAYS:
        opdef, sample = case.values
        if opdef.name != name:
            continue
        program = Program(opdef, sample)
        arrays = [isinstance(arg, np.ndarray) and arg.dtype.kind == "f" for arg in program.args]
        body = Region(tuple(program.params), tuple(program.builder.ops), (program.out,))
        if any(arrays):
            made = batched_function(Function("f", body, NOWHERE), arrays, SIZE)
            found.append(count_loops(made) > 0)
    assert found and not all(found)


LOOP = """
func @f(%x: f64[2], %w: f64[2,2], %n: int, %go: bool) -> (f64[2], f64[?,2]) {
  %h: f64[2], %tape: list[f64[2]], %count: int = for %at, %i in (0, %n, 1)
      carry (%h_in: f64[2] = %w0) {
    %u: f64[2] = matmul %h_in, %w
    %v: f64[2] = add %u, %x
    %o: f64[2] = if %go {
      %a: f64[2] = tanh %v
      yield %a
    } else {
      %s: f64[2] = sum %w {axes=(0,), keepdims=False}
      yield %s
    }
    yield carry %o stack %v
  }
  %rows: f64[?,2] = stack_rows %tape {length=None}
  return %h, %rows
}
""".replace("%w0", "%x")

BRANCH = """
func @f(%x: f64[2], %y: f64[2]) -> ((f64[2], f64[])) {
  %s: f64[] = sum %x {axes=None, keepdims=False}
  %p: bool[] = greater %s, 0.0
  %o: f64[2] = if %p {
    %a: f64[2] = mul %x, %y
    yield %a
  } else {
    yield %y
  }
  %t: (f64[2], f64[]) = make_tuple %o, %s
  return %t
}
"""

WHILE = """
func @f(%x: f64[2], %limit: f64[]) -> (f64[2]) {
  %h: f64[2], %count: int = while %at carry (%h_in: f64[2] = %x) test (%c: f64[2]) {
    %s: f64[] = sum %c {axes=None, keepdims=False}
    %p: bool[] = less %s, %limit
    yield %p
  } do {
    %u: f64[2] = mul %h_in, 1.5
    yield carry %u
  }
  return %h
}
"""

NUMBER = """
func @f(%x: f64[2]) -> (f64[2]) {
  %s: f64[] = sum %x {axes=None, keepdims=False}
  %k: float = to_number %s {kind='float'}
  %o: f64[2] = mul %x, %k
  return %o
}
"""

CALLS = """
func @g(%a: f64[2], %b: f64[2]) -> (f64[2], f64[2]) {
  %c: f64[2] = mul %a, %b
  %d: f64[2] = neg %b
  return %c, %d
}
func @f(%x: f64[2], %y: f64[2]) -> (f64[2], f64[2]) {
  %u: f64[2], %v: f64[2] = call @g(%x, %y)
  %w: f64[2] = add %u, %v
  return %w, %v
}
"""

X = np.array([[0.3, -0.8], [1.1, 0.4], [-0.6, 0.2]])
W = np.array([[0.5, -0.2], [0.3, 0.8]])


@pytest.mark.parametrize(
    ("text", "args", "mapped", "loops"),
    [
        (LOOP, [X, W, 3, True], (1, 0, 0, 0), 1),
        (LOOP, [X, W, 3, False], (1, 0, 0, 0), 1),
        (LOOP, [X, np.stack([W, W + 1, W - 1]), 2, True], (1, 1, 0, 0), 1),
        (LOOP, [X[0], np.stack([W, W + 1, W - 1]), 2, False], (0, 1, 0, 0), 1),
        (BRANCH, [X, X[1]], (1, 0), 1),
        (BRANCH, [X[1], X], (0, 1), 0),
        (BRANCH, [X, X + 1], (1, 1), 1),
        (WHILE, [np.abs(X), 7.0], (1, 0), None),
        (NUMBER, [X], (1,), 1),
        (CALLS, [X, X[2]], (1, 0), 0),
        (CALLS, [X[2], X], (0, 1), 0),
    ],
)
def test_programs(text: str, args: list, mapped: tuple, loops: Any) -> None:
    """``loops``: how many there are when the batch is done; one for each example only where the
    way differs."""
    made = compare(text, args, mapped)
    assert loops is None or count_loops(made) == loops


def test_numbers_that_differ_are_refused() -> None:
    text = """
func @f(%x: f64[2]) -> (float) {
  %s: f64[] = sum %x {axes=None, keepdims=False}
  %k: float = to_number %s {kind='float'}
  return %k
}
"""
    with pytest.raises(CompileError, match="differ between the examples"):
        batched_function(read(text), (True,), SIZE)
