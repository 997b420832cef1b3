"""Arithmetic: the operators between values, numbers, lists and dicts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import CompileError, DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract import runtime_lists
from autodiff_compiler.frontend.abstract.runtime_lists import is_runtime_list
from autodiff_compiler.frontend.abstract.values import NUMBERS, DictView, HeapRef, leaves
from autodiff_compiler.frontend.core.guards import is_user_code, is_user_object
from autodiff_compiler.frontend.core.lowering import Lowering, refuse_foreign
from autodiff_compiler.frontend.expressions.evaluation import evaluate_all
from autodiff_compiler.frontend.numpy_rules.signatures import NumpyFunction
from autodiff_compiler.frontend.numpy_rules.writes import beside_arrays
from autodiff_compiler.frontend.syntax.nodes import AugmentedBinOp
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ScalarType
from autodiff_compiler.operators.core import scalar_conversion, structure
from autodiff_compiler.operators.elementwise import comparisons


def _shift(sign: Callable[[Any, Any], Any], change: Callable[[Any, Any], Any]) -> Any:
    """Returns a shift. A run-time int is shifted by known places as Python defines it: ``change``
    of a power of two."""

    def shifted(left: Any, places: Any) -> Any:
        by_known = type(places) is int and places >= 0
        if by_known and isinstance(left, Value) and left.type == INT:
            return change(left, 2**places)
        return sign(left, places)

    shifted.__name__ = sign.__name__
    return shifted


#: The binary operators as they are written, for messages.
SIGNS = dict(
    zip(
        "Add Sub Mult MatMult Div FloorDiv Mod Pow LShift RShift BitOr BitXor BitAnd".split(),
        "+ - * @ / // % ** << >> | ^ &".split(),
    )
)
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "MatMult": operator.matmul,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LShift": _shift(operator.lshift, operator.mul),
    "RShift": _shift(operator.rshift, operator.floordiv),
}


def _with_numpy_dtypes(ufunc: Any, sign: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns ``sign`` in the dtypes that NumPy's ufunc computes in, where one side is an array."""
    typed = NumpyFunction(ufunc, sign)

    def operation(left: Any, right: Any) -> Any:
        arrays = any(isinstance(getattr(side, "type", None), ArrayType) for side in (left, right))
        return typed.apply(left, right) if arrays else sign(left, right)

    return operation


_UFUNCS = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mult": np.multiply,
    "Div": np.true_divide,
    "FloorDiv": np.floor_divide,
    "Mod": np.remainder,
    "Pow": np.power,
    "BitAnd": np.bitwise_and,
    "BitOr": np.bitwise_or,
    "BitXor": np.bitwise_xor,
}
#: The operators in plain functions of NumPy arrays.
_NUMPY_BINARY: dict[str, Callable[[Any, Any], Any]] = BINARY | {
    sign: _with_numpy_dtypes(ufunc, BINARY[sign]) for sign, ufunc in _UFUNCS.items()
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "USub": operator.neg,
    "UAdd": operator.pos,
    "Invert": operator.invert,
}


def evaluate_bin_op(low: Lowering, node: Any) -> Any:
    left, right = evaluate_all(low, (node.left, node.right))
    if isinstance(node, AugmentedBinOp):
        return augmented_operation(low, type(node.op).__name__, left, right)
    return low.binary(type(node.op).__name__, left, right)


def augmented_operation(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """Returns the outcome of ``left sign= right``. A list or dict is changed in place, under all
    its names."""
    method = low.special(left, f"__i{BINARY[sign].__name__.strip('_')}__")
    outcome = NotImplemented if method is None else low.call(method, (right,), {})
    if outcome is not NotImplemented:
        return outcome
    if isinstance(left, (set, frozenset)):
        _refuse_shared_set(low, left)
    joined = low.binary(sign, left, right)
    if not isinstance(left, HeapRef) or left.kind == "object":
        return joined
    low.state.heap[left] = low.state.heap[joined]
    return left


def _refuse_shared_set(low: Lowering, left: Any) -> None:
    """Refuses to change a set that another name holds. A set is a constant here, so that name
    would not see the change."""
    containers: list[Any] = []
    around: Lowering | None = low
    while around is not None:  # this function and those around it
        containers += [around.state.names, *(frame.names for frame in around.waiting_frames)]
        containers += around.state.heap.values()
        around = around.parent
    names = 0
    for container in containers:
        if isinstance(container, (dict, tuple)):
            items = container.values() if isinstance(container, dict) else container
            names += sum(item is left for item in items)
    from_outside = low.compilation.path(left) is not None
    if isinstance(left, set) if from_outside else names > 1:
        raise low.fail(
            UnsupportedSyntax,
            "this changes a set in place, and another variable refers to the same set",
            "make a new set: s = s | t",
        )


def binary_operation(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """Returns ``left sign right`` for compile-time values."""
    refuse_foreign(low, left, right, installed=True)
    name = BINARY[sign].__name__.strip("_")
    outcome = call_operator_method(low, left, right, f"__{name}__", f"__r{name}__")
    if outcome is not NotImplemented:
        return outcome
    left, right = map(_plain_number, (left, right))
    if isinstance(left, DictView) or isinstance(right, DictView):
        left, right = as_set(low, left), as_set(low, right)
    if low.compilation.numpy:
        left, right = beside_arrays(low, sign, left, right)
    if isinstance(left, HeapRef) or isinstance(right, HeapRef):
        return _container_operation(low, sign, left, right)
    refuse_foreign(low, left, right)
    for side in (left, right):
        if not isinstance(side, Value):
            low.compilation.guard_contents(side)
    with _raising_division(low, sign, left, right):
        try:
            return (_NUMPY_BINARY if low.compilation.numpy else BINARY)[sign](left, right)
        except CompileError:
            raise
        except Exception as error:
            failure = low.translate(error, "this operation fails")
            known = not isinstance(left, Value) and not isinstance(right, Value)
            raise (failure.meaning(error) if known else failure) from None


def call_operator_method(low: Lowering, left: Any, right: Any, name: str, reflected: str) -> Any:
    """Returns ``left sign right`` by the methods of the user's objects, those of a subclass first.
    Returns NotImplemented where there are none."""
    kinds = [object_class(low, side) for side in (left, right)]
    attempts = [(left, right, name), (right, left, reflected)]
    if kinds[0] is not kinds[1] and issubclass(kinds[1], kinds[0]):
        attempts.reverse()
    for thing, other, method_name in attempts:
        if thing is right and _numpy_converts_right(low, left, right):
            continue
        method = low.special(thing, method_name)
        outcome = NotImplemented if method is None else low.call(method, (other,), {})
        if outcome is not NotImplemented:
            return outcome
    return NotImplemented


def _numpy_converts_right(low: Lowering, left: Any, right: Any) -> bool:
    """True if NumPy converts the right operand to an array and ignores its reflected method.
    Refuses an object whose method NumPy would call for each element.
    """
    if not (low.compilation.numpy and isinstance(left, Value) and isinstance(left.type, ArrayType)):
        return False
    if isinstance(right, (Value, np.generic, np.ndarray)):
        return False
    kind = object_class(low, right)
    priority = getattr(kind, "__array_priority__", -1)
    has_priority = isinstance(priority, (int, float)) and priority > 0
    if getattr(kind, "__array_ufunc__", False) is None or has_priority:
        return False
    if issubclass(kind, (int, float, complex, list, tuple)) or hasattr(kind, "__array__"):
        return True
    is_object = isinstance(right, HeapRef) and right.kind == "object" or is_user_object(right)
    if is_object and left.type.ndim != 0:
        raise low.fail(
            UnsupportedSyntax,
            f"NumPy calls the operators of a '{kind.__name__}' on the right of an array for "
            "each element by itself",
            f"set '__array_ufunc__ = None' in class {kind.__name__}, so that NumPy leaves "
            "the whole array to it",
        )
    return False


def object_class(low: Lowering, thing: Any) -> type:
    """Returns the class of an object, made here or outside."""
    made_here = isinstance(thing, HeapRef) and thing.kind == "object"
    class_: type = low.state.heap[thing]["__class__"] if made_here else type(thing)
    return class_


def as_set(low: Lowering, side: Any) -> Any:
    """Returns an operand beside a view of a dict as a set; numbers, strings and run-time values as
    they are."""
    if isinstance(side, DictView) and side.kind == "values":
        raise low.fail(
            DTypeError, "the values of a dict are not a set", "use d.keys(), or set(d.values())"
        )
    if isinstance(side, (str, *NUMBERS, Value)):
        return side
    items = low.sequence(side)
    for leaf in leaves(tuple(items)):
        low.static(leaf, "an item of a set")
    return frozenset(items)


def _container_operation(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """Returns ``left sign right`` for operands of which one is a list or dict on the heap."""
    sides = map(partial(_items_of_container, low), (left, right))
    operation = _CONTAINER_OPERATIONS.get(sign)
    outcome = None if operation is None else operation(low, *sides)
    if outcome is None:
        raise low.fail(
            DTypeError,
            f"the operator '{SIGNS[sign]}' does not take this list or dict",
            "make it an array first: ops.stack(items) or np.stack(items)",
        )
    return outcome


def _merge_dicts(low: Lowering, left: Any, right: Any) -> HeapRef | None:
    """Returns the union of two dicts; None for other operands."""
    if isinstance(left, dict) and isinstance(right, dict):
        return low.allocate("dict", {**left, **right})
    return None


def _concatenate(low: Lowering, left: Any, right: Any) -> HeapRef | None:
    """Returns the concatenation of two lists; None for other operands."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return low.new_list(left + right)
    if all(is_runtime_list(side) or isinstance(side, tuple) for side in (left, right)):
        joined = runtime_lists.concatenate(low, left, right)
        return None if joined is None else low.allocate("list", joined)
    return None


def _repeat(low: Lowering, left: Any, right: Any) -> HeapRef | None:
    """Returns a list repeated by a count on either side; None for other operands."""
    items, count = (right, left) if isinstance(left, int) else (left, right)
    if isinstance(items, tuple) and isinstance(count, int):
        is_large = len(items) * count > costs().unrolled_list_items
        long = runtime_lists.repeat(low, items, count) if is_large else None
        return low.allocate("list", items * count if long is None else long)
    if (is_runtime_list(items) or isinstance(items, tuple)) and _is_count(count):
        long = runtime_lists.repeat(low, items, count)
        if long is not None:
            return low.allocate("list", long)
        low.static(count, "the length of this list")
    return None


#: The operators of lists and dicts. Each takes the contents of both sides.
_CONTAINER_OPERATIONS: dict[str, Callable[[Lowering, Any, Any], HeapRef | None]] = {
    "Add": _concatenate,
    "BitOr": _merge_dicts,
    "Mult": _repeat,
}


def _items_of_container(low: Lowering, side: Any) -> Any:
    """Returns the contents of a list or dict of the heap, and a list from outside as a tuple."""
    if isinstance(side, HeapRef):
        return low.state.heap[side]
    low.compilation.guard_contents(side)
    return tuple(low.sequence(side)) if isinstance(side, list) else side


def _is_count(thing: Any) -> bool:
    """True if a list can be repeated this many times: an integer without axes."""
    is_integer = "int" in (getattr(thing, "dtype_name", None) or str(getattr(thing, "type", "")))
    is_single = not isinstance(getattr(thing, "type", INT), ArrayType) or thing.type.shape == ()
    return isinstance(thing, (int, Value)) and is_integer and is_single


def evaluate_unary_op(low: Lowering, node: Any) -> Any:
    return unary(low, type(node.op).__name__, low.evaluate(node.operand))


def unary(low: Lowering, sign: str, value: Any) -> Any:
    """Returns ``sign value`` for a compile-time value."""
    if sign == "Not":
        truth = low.truth(value)
        return not truth if isinstance(truth, bool) else comparisons.logical_not(truth)
    method = low.special(value, f"__{UNARY[sign].__name__}__")
    if method is not None:
        return low.call(method, (), {})
    if sign == "Invert" and isinstance(value, Value):
        inverted = _invert_integer(low, value)
        if inverted is not None:
            return inverted
    try:
        outcome = UNARY[sign](value)
    except CompileError:
        raise
    except TypeError as error:
        raise low.translate(error, "this operation fails").meaning(error) from None
    return _new_array(low, value) if outcome is value else outcome


def _invert_integer(low: Lowering, value: Value) -> Any:
    """Returns ``~value`` of an integer, as a subtraction; None for Tensors and bool arrays, whose
    operator is the logical not."""
    dtype = (value.dtype_name or "") if low.compilation.numpy else ""
    if dtype.startswith("uint"):
        return low.binary("Sub", 2 ** int(dtype[4:]) - 1, value)
    if value.type == FLOAT or dtype.startswith(("float", "complex")):
        cause = f"bad operand type for unary ~: '{dtype or 'float'}'"
        cure = "convert it first: ~y.astype(int)" if dtype else "convert it first: ~int(x)"
        raise low.fail(DTypeError, cause, cure).meaning(TypeError(cause))
    if dtype.startswith("int") or isinstance(value.type, ScalarType):
        return low.binary("Sub", -1, value)
    return None


def _new_array(low: Lowering, value: Any) -> Any:
    """Returns a copy of an array of plain NumPy code, as ``+x`` makes one; other values as they
    are."""
    if not low.compilation.numpy or not isinstance(value, Value) or value.type == FLOAT:
        return value
    memory = low.compilation.aliases
    if value.ndim == 0 and memory.is_array(value) is False:
        return value
    copied = structure.copy(value)
    memory.set_is_array(copied, False)  # without axes it is a scalar
    return copied


@contextmanager
def converting_to_int(low: Lowering, value: Value) -> Iterator[None]:
    """Enters a block in which a number becomes an int. Raises as Python does where it is not
    finite."""
    if value.type != FLOAT and "float" not in (value.dtype_name or ""):
        yield
        return

    def number() -> Any:
        return value if value.type == FLOAT else scalar_conversion.to_number(value, kind="float")

    message = "cannot convert float {} to integer".format
    with (
        low.may_raise(ValueError, lambda: comparisons.isnan(number()), lambda: message("NaN")),
        low.may_raise(
            OverflowError, lambda: comparisons.isinf(number()), lambda: message("infinity")
        ),
    ):
        yield


_POSITIVE: dict[type, Callable[[Any], Any]] = {
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
}


def _plain_number(side: Any) -> Any:
    """Returns a number of a class of the user's as a plain number; other values as they are."""
    for kind, positive in _POSITIVE.items():
        if isinstance(side, kind) and type(side) not in (bool, kind) and is_user_code(type(side)):
            return positive(side)
    return side


#: The operators that raise in Python where a number is divided by zero.
_DIVISIONS = {"Div": operator.truediv, "FloorDiv": operator.floordiv, "Mod": operator.mod}
_KINDS = {"int": int, "float": float, "bool": bool, "complex": complex}


@contextmanager
def _raising_division(low: Lowering, sign: str, left: Any, right: Any) -> Iterator[None]:
    """Enters a block that divides numbers. Raises ``ZeroDivisionError`` as Python does."""
    by_value = isinstance(right, Value) and isinstance(right.type, ScalarType)
    # NumPy's division warns, and returns infinity.
    by_numpy = isinstance(left, np.generic) or (
        isinstance(left, Value) and isinstance(left.type, ArrayType)
    )
    if sign not in _DIVISIONS or not by_value or by_numpy:
        yield
        return
    message = _zero_division_message(sign, type_of(left), type_of(right))
    with low.may_raise(ZeroDivisionError, lambda: comparisons.equal(right, 0), lambda: message):
        yield


def _zero_division_message(sign: str, *types: Any) -> str:
    """Returns Python's message for a division of such numbers by zero."""
    one, zero = (_KINDS[str(type_)](value) for type_, value in zip(types, (1, 0)))
    try:
        _DIVISIONS[sign](one, zero)
    except ZeroDivisionError as error:
        return str(error)
    raise AssertionError("a division by zero raises")
