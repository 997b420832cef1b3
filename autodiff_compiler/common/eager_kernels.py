"""Kernels: the generated functions that repeated calls on Tensors run.

A call of an operator on Tensors checks its operands, infers types, selects casts and formats a
template (``eager_operators``). All of that depends on a *key*: the operator, the types of the
operands, the attributes, and the rules of promotion. The first call with a key
generates a kernel. For that the operator is called on IR values of these types. The templates of
the operations that it adds become one Python function. A later call computes its key, finds the
kernel and runs it. If a kernel raises, the call starts again without it: so it has the result or
the error of a first call.

A function of ``ops`` that adds several operations may have one kernel for all of them. The
decorator ``as_one_kernel`` says so (``ops/core/one_kernel.py``).
"""

from __future__ import annotations

__macro__ = True

import contextvars
import marshal
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from autodiff_compiler.common.eager_operators import copy_if_shared, operand_type
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Op, Value
from autodiff_compiler.ir.opdef import PRECISION, OpDef, filled_template, function_of
from autodiff_compiler.ir.types import PROMOTION
from autodiff_compiler.operators.linalg.joined_products import JOINED

#: The classes whose instances have their array in ``_data``; each enters itself.
TENSORS: set[type] = set()
#: The number of kernels from which all are dropped. A program has one for each operator and shape,
#: and each costs a slow call again.
CAPACITY = 8192
#: Stands for the kernel of a key that no call has had.
UNKNOWN: Any = object()

_KERNELS: dict[Hashable, Callable[..., Any] | None] = {}
_PLAIN = (bool, int, float, complex, str, type(None))
_STATIC = object()


class _Quiet(threading.local):
    """For each thread, ``run(function, *args)``: a call without NumPy's floating-point warnings.

    NumPy keeps its error state in a context variable. To run in a context of ours takes a tenth of
    the time of ``np.errstate``.
    """

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


_QUIET = _Quiet()


def computed(
    function: Callable[..., Any],
    operands: Sequence[Any],
    attrs: Mapping[str, Any],
    numbers: frozenset[type],
    first: Callable[..., Any],
) -> Any:
    """Returns what ``function`` computes of these operands: arrays, or other values.

    The first call with a key generates the kernel. Operands of the classes ``numbers`` are its
    arguments; others that are no Tensors are its constants. Without a kernel the result is that of
    ``first(function, operands, attrs)``.
    """
    parts: list[Any] = [function, PROMOTION.numpy]
    arrays: list[Any] = []
    constants: list[Any] = []
    for operand in operands:
        kind = type(operand)
        if kind in TENSORS:
            operand = operand._data
            parts.append(operand.dtype)
            parts.append(operand.shape)
            arrays.append(operand)
        elif kind in numbers:
            parts.append(kind)
            arrays.append(operand)
        else:
            parts.append(_STATIC)
            constants.append(operand)
    if attrs or constants:
        try:
            # The bytes of 1, 1.0 and True differ, and those of 0.0 and -0.0.
            constant: Any = [attrs, constants] if constants else attrs
            parts.append(marshal.dumps(constant, 2))
        except ValueError:
            return first(function, operands, attrs)
    if PRECISION.double:
        return first(function, operands, attrs)
    key = tuple(parts)
    kernel: Any = _KERNELS.get(key, UNKNOWN)
    if kernel is UNKNOWN:
        if len(_KERNELS) >= CAPACITY:
            _KERNELS.clear()
        kernel = _KERNELS[key] = _kernel(function, operands, attrs, numbers)
    if kernel is None:
        return first(function, operands, attrs)
    try:
        result = _QUIET.run(kernel, *arrays)
    except Exception:
        return first(function, operands, attrs)
    if type(result) is np.ndarray:
        # The usual cases need no search: a view of an operand, and an array in memory of its own.
        base: Any = result.base
        owner = result if base is None else base
        for operand in arrays:
            if operand is owner:
                return result.copy()
        if base is None:
            return result
    return copy_if_shared(result, arrays)


class _KernelBuilder(Builder):
    """Collects the operations of a kernel; products become as few calls of BLAS as in compiled
    code."""

    def make(self, opdef: OpDef, given: Sequence[AnyOperand], attrs: Mapping[str, Any]) -> Any:
        joined = JOINED.get(opdef.name)
        result = None if joined is None else joined(given, attrs, self.producer)
        return super().make(opdef, given, attrs) if result is None else result


def _kernel(
    function: Callable[..., Any],
    operands: Sequence[Any],
    attrs: Mapping[str, Any],
    numbers: frozenset[type],
) -> Callable[..., Any] | None:
    """Generates the kernel for operands of these types; None if there cannot be one."""
    constants = [each for each in operands if type(each) not in TENSORS | numbers]
    if not _is_plain([dict(attrs), *constants]):
        return None
    # A kernel outlives the call: its constants are copies.
    attrs, operands = (
        _copied(dict(attrs)),
        [
            Value(operand_type(getattr(each, "_data", each)))
            if type(each) in TENSORS or type(each) in numbers
            else _copied(each)
            for each in operands
        ],
    )
    builder = _KernelBuilder()
    try:
        with builder:
            result = function(*operands, **attrs)
        params = [each for each in operands if isinstance(each, Value)]
        return _generated(params, builder.ops, result)
    except Exception:  # what cannot be traced runs as it is
        return None


def _copied(value: Any) -> Any:
    return marshal.loads(marshal.dumps(value, 2))


def _is_plain(value: Any) -> bool:
    """True if ``value`` is made of numbers, strings and None, which a key tells apart."""
    if type(value) is dict:
        return all(map(_is_plain, value)) and all(map(_is_plain, value.values()))
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN


def _generated(
    params: Sequence[Value], ops: Sequence[Op], result: Any
) -> Callable[..., Any] | None:
    """Returns a function of ``params`` that runs the operations and returns ``result``."""
    results = result if isinstance(result, tuple) else (result,)
    inner = {value for op in ops for value in op.results}
    # An effect must not happen twice, and an operand itself is no new Tensor.
    if any(op.regions or op.functions or op.opdef.effect for op in ops):
        return None
    if not inner.issuperset(each for each in results if isinstance(each, Value)):
        return None
    ops = _needed(ops, results)
    names = {value: f"p{n}" for n, value in enumerate(params)}
    constants: list[Any] = []

    def text(thing: Any) -> str:
        if isinstance(thing, Value):
            return names[thing]
        constants.append(thing)
        return f"c{len(constants) - 1}"

    lines = []
    last_uses: dict[Any, int] = {}
    for n, op in enumerate(ops):
        last_uses.update(dict.fromkeys(op.operands, n))
    for n, op in enumerate(ops):
        operands = [text(operand) for operand in op.operands]
        settings = {name: text(op.attrs[name]) for name in sorted(op.attrs)}
        for k, value in enumerate(op.results):
            names[value] = f"v{n}" if len(op.results) == 1 else f"v{n}_{k}"
        template, operand_names = (
            op.opdef.template(op.types, op.attrs),
            op.opdef.names(len(operands)),
        )
        lines += filled_template(template, operand_names, operands, settings, f"v{n}")
        if len(op.results) != 1:
            lines.append("".join(f"{names[value]}, " for value in op.results) + f"= v{n}")
        dead = [names[v] for v in inner if last_uses.get(v) == n and v not in results]
        lines += [f"del {', '.join(sorted(dead))}"] * bool(dead)
    returned = ", ".join(map(text, results)) + "," * (len(results) == 1)
    lines.append(f"return ({returned})" if isinstance(result, tuple) else f"return {text(result)}")
    arguments = [*(names[param] for param in params), *(f"c{n}" for n in range(len(constants)))]
    function = _compiled(", ".join(arguments), tuple(lines))
    # The last parameters are the constants, whose values become defaults.
    return FunctionType(function.__code__, function.__globals__, "kernel", tuple(constants))


def _needed(ops: Sequence[Op], results: Sequence[Any]) -> list[Op]:
    """Returns the operations that the results depend on."""
    read = {each for each in results if isinstance(each, Value)}
    needed = []
    for op in reversed(ops):
        if not read.isdisjoint(op.results):
            needed.append(op)
            read.update(each for each in op.operands if isinstance(each, Value))
    return needed[::-1]


@lru_cache(maxsize=4096)
def _compiled(arguments: str, lines: tuple[str, ...]) -> Any:
    return function_of(arguments, lines)
