"""What a cached gradient call adds to the generated functions, called directly on the same arrays.

The limit is 2 µs and 0.3 µs for each tensor that goes in: an argument, a Parameter, a sensitivity,
a tangent.
It is meant for a machine on which an empty Python call takes about 0.05 µs; how many of them the
call adds is told, too. What comes out, a tensor for each gradient, is in the time and not in the
limit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import autodiff_compiler as ad
from autodiff_compiler import Parameter, ParameterTuple, Tensor, compile_info, nn, ops
from benchmarks.rounds import interleaved, repeated

#: Seconds.
CALL, TENSOR = 2e-6, 0.3e-6

Gradient = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """A way to call: ``gradient(*inputs)``; the Parameters are read beside them."""

    title: str
    gradient: Gradient
    inputs: Sequence[Tensor]
    parameters: Sequence[Parameter] = ()

    @property
    def tensors(self) -> int:
        """How many go in."""
        return len(self.inputs) + len(self.parameters)


class Squares(nn.Cell):
    """The squares of x and of the Parameters, added up element by element."""

    def __init__(self, count: int):
        super().__init__()
        self.weights = ParameterTuple([Parameter(_tensor(), name=f"w{k}") for k in range(count)])

    def construct(self, x):  # type: ignore[no-untyped-def]
        out = x * x
        for w in self.weights:
            out = out + w * w
        return out


def squares(x, *others):  # type: ignore[no-untyped-def]
    """The squares of all, added up element by element."""
    out = x * x
    for other in others:
        out = out + other * other
    return out


def with_first(x, *others):  # type: ignore[no-untyped-def]
    """The squares, and that of the first beside them."""
    out = first = x * x
    for other in others:
        out = out + other * other
    return out, first


def total(*inputs):  # type: ignore[no-untyped-def]
    """The squares of all elements, added up."""
    out = 0.0
    for each in inputs:
        out = out + (each * each).sum()
    return out


def _tensor() -> Tensor:
    return Tensor(np.linspace(1, 2, 6, dtype=np.float32).reshape(2, 3))


def cases() -> Iterator[Case]:
    """Inputs and Parameters, 1, 2, 5 and 10 of them, by each way to ask."""
    for count in (1, 2, 5, 10):
        inputs, places = [_tensor() for _ in range(count)], tuple(range(count))
        plain = ops.GradOperation(get_all=True)(squares)
        seeded = ops.GradOperation(get_all=True, sens_param=True)(squares)
        yield Case(f"GradOperation, {count} inputs", plain, inputs)
        yield Case(f"GradOperation, {count} inputs, sens", seeded, [*inputs, _tensor()])
        yield Case(f"value_and_grad, {count} inputs", ops.value_and_grad(squares, places), inputs)
    for count in (1, 2, 5):
        inputs, places = [_tensor() for _ in range(count)], tuple(range(count))
        both = [*inputs, *(_tensor() for _ in range(count))]
        aux = ad.value_and_grad(with_first, places, has_aux=True)
        yield Case(f"jit, {count} inputs", ad.jit(squares), inputs)
        yield Case(f"value_and_grad with aux, {count} inputs", aux, inputs)
        yield Case(f"jvp, {count} inputs", _along(ad.jvp, squares, count), both)
        yield Case(f"vjp, {count} inputs", _pulled, [*inputs, _tensor()])
        yield Case(f"hvp, {count} inputs", _along(ad.hvp, total, count), both)
        yield Case(f"jacrev, {count} inputs", ad.jacrev(squares, places), inputs)
        yield Case(f"grad of grad, {count} inputs", ad.grad(ad.grad(squares), places), inputs)
    for count in (1, 2, 5, 10):
        cell, x = Squares(count), _tensor()
        weights = cell.weights
        listed = ops.GradOperation(get_by_list=True)(cell, weights)
        seeded = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(cell, weights)
        valued = ops.value_and_grad(cell, None, weights)
        yield Case(f"get_by_list, {count} Parameters", listed, [x], weights)
        yield Case(f"get_by_list, {count} Parameters, sens", seeded, [x, _tensor()], weights)
        yield Case(f"value_and_grad, {count} Parameters", valued, [x], weights)


def _along(way: Gradient, fn: Gradient, count: int) -> Gradient:
    """``way``, which takes inputs and their tangents as two tuples."""
    names = [f"a{k}" for k in range(2 * count)]
    rows = (f"({', '.join(row)},)" for row in (names[:count], names[count:]))
    return eval(f"lambda {', '.join(names)}: way(fn, {', '.join(rows)})", {"way": way, "fn": fn})


def _pulled(*inputs: Tensor) -> Any:
    """The gradients by ``vjp``; the sensitivity comes last."""
    _, pull = ad.vjp(squares, *inputs[:-1])
    return pull(inputs[-1])


def generated(case: Case) -> Callable[[], object]:
    """The generated function, or both, of the unit that the call has compiled, on its arrays."""
    (unit,) = compile_info().units
    scope: dict[str, Any] = {}
    exec(unit.source, scope)
    functions = {name: value for name, value in scope.items() if inspect.isfunction(value)}
    arrays = [tensor.asnumpy() for tensor in (*case.inputs, *case.parameters)]
    if len(functions) == 1:
        (function,) = functions.values()
        return lambda: function(*arrays)
    forward, backward = (
        next(value for name, value in functions.items() if name.endswith(half))
        for half in ("_forward", "_backward")
    )
    wanted = [name for name in inspect.signature(backward).parameters if name != "work"]
    seeds = []
    if len(wanted) > 1:  # after the residuals: the sensitivity, which is the last input
        seeds = [arrays.pop(len(case.inputs) - 1)]

    made = forward(*arrays)
    if not made or type(made[-1]) is not tuple:  # nobody asks for the value: it is not there
        return lambda: backward(forward(*arrays), *seeds)
    return lambda: backward(forward(*arrays)[1], *seeds)


def _empty() -> None:
    return None


def _with_arguments(function: Gradient, inputs: Sequence[Tensor]) -> Callable[[], object]:
    """A call as it is written, ``f(a, b)``: to unpack a list would cost as much as the call."""
    names = {f"a{k}": tensor for k, tensor in enumerate(inputs)}
    scope: dict[str, Any] = {"function": function, **names}
    exec(f"def bound({', '.join(f'{each}={each}' for each in scope)}):\n"
         f"    return function({', '.join(names)})", scope)  # fmt: skip
    return scope["bound"]


def added(case: Case) -> tuple[float, float]:
    """The seconds that the call adds, and those of an empty call."""
    compile_info().clear()
    for _ in range(4):  # the second makes the fast path: a round must not take that for a call
        case.gradient(*case.inputs)
    calls = {
        "call": _with_arguments(case.gradient, case.inputs),
        "generated": generated(case),
        "empty": _empty,
    }
    times = interleaved({name: repeated(call, 0.003) for name, call in calls.items()})
    return times["call"] - times["generated"], times["empty"]


def main() -> None:
    """Prints a row for each case, and what is over the limit."""
    print("| call | tensors in | adds | at most | empty calls |\n|---|---:|---:|---:|---:|")
    beyond = []
    for case in cases():
        seconds, empty = added(case)
        limit = CALL + TENSOR * case.tensors
        figures = f"{seconds * 1e6:.2f} µs | {limit * 1e6:.1f} µs | {seconds / empty:.0f}"
        print(f"| {case.title} | {case.tensors} | {figures} |", flush=True)
        if seconds > limit:
            beyond.append(f"{case.title} ({seconds / limit:.2f} of it)")
    print(f"\nOutside the limits: {', '.join(beyond)}." if beyond else "\nAll within the limits.")


if __name__ == "__main__":
    main()
