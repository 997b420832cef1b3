"""Arithmetic: the signs between values, numbers, lists and dicts."""

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
from autodiff_compiler.frontend.core.assumptions import is_user_code, is_user_object
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.python_values import refuse_foreign
from autodiff_compiler.frontend.expressions.evaluation import evaluate_all
from autodiff_compiler.frontend.numpy_rules.signatures import Numpys
from autodiff_compiler.frontend.numpy_rules.writes import beside_arrays
from autodiff_compiler.frontend.syntax.nodes import AugmentedBinOp
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.types import FLOAT, INT, ArrayType, ScalarType
from autodiff_compiler.operators.core import scalar_conversion, structure
from autodiff_compiler.operators.elementwise import comparisons


def _shift(sign: Callable[[Any, Any], Any], change: Callable[[Any, Any], Any]) -> Any:
    """A shift, of a run-time int by a known number of places as Python defines it."""

    def shifted(left: Any, places: Any) -> Any:
        by_known = type(places) is int and places >= 0
        if by_known and isinstance(left, Value) and left.type == INT:
            return change(left, 2**places)
        return sign(left, places)

    shifted.__name__ = sign.__name__
    return shifted


#: The binary operators as they are written, for messages.
SIGNS = dict(
    Add="+", Sub="-", Mult="*", MatMult="@", Div="/", FloorDiv="//", Mod="%", Pow="**",
    LShift="<<", RShift=">>", BitOr="|", BitXor="^", BitAnd="&",
)  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow,
    "MatMult": operator.matmul, "BitAnd": operator.and_, "BitOr": operator.or_,
    "BitXor": operator.xor, "LShift": _shift(operator.lshift, operator.mul),
    "RShift": _shift(operator.rshift, operator.floordiv),
}  # fmt: skip


def _by(ufunc: Any, sign: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``sign`` in the dtypes that NumPy's ufunc computes in, where one side is an array."""
    typed = Numpys(ufunc, sign)

    def between(left: Any, right: Any) -> Any:
        arrays = any(isinstance(getattr(side, "type", None), ArrayType) for side in (left, right))
        return typed.of(left, right) if arrays else sign(left, right)

    return between


#: The signs in plain functions of NumPy arrays.
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    sign: _by(ufunc, BINARY[sign])
    for sign, ufunc in {
        "Add": np.add, "Sub": np.subtract, "Mult": np.multiply, "Div": np.true_divide,
        "FloorDiv": np.floor_divide, "Mod": np.remainder, "Pow": np.power,
        "BitAnd": np.bitwise_and, "BitOr": np.bitwise_or, "BitXor": np.bitwise_xor,
    }.items()
} | {sign: BINARY[sign] for sign in ("MatMult", "LShift", "RShift")}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert,
}  # fmt: skip


def evaluate_bin_op(low: Lowering, node: Any) -> Any:
    left, right = evaluate_all(low, (node.left, node.right))
    if isinstance(node, AugmentedBinOp):
        return augmented_operation(low, type(node.op).__name__, left, right)
    return low.binary(type(node.op).__name__, left, right)


def augmented_operation(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """What ``left sign= right`` leaves. A list or dict is changed where it stands: every name
    that holds it sees that."""
    method = low.special(left, f"__i{BINARY[sign].__name__.strip('_')}__")
    found = NotImplemented if method is None else low.call(method, (right,), {})
    if found is not NotImplemented:
        return found
    if isinstance(left, (set, frozenset)):
        _refuse_shared(low, left)
    joined = low.binary(sign, left, right)
    if not isinstance(left, HeapRef) or left.kind == "object":
        return joined
    low.state.heap[left] = low.state.heap[joined]
    return left


def _refuse_shared(low: Lowering, left: Any) -> None:
    """A set is a constant here: another name that holds it would not see it change."""
    here: list[Any] = []
    around: Lowering | None = low
    while around is not None:  # the functions around one of its own, too
        here += [around.state.names, *(frame.names for frame in around.waiting_frames)]
        here += around.state.heap.values()
        around = around.parent
    parts = [held.values() if isinstance(held, dict) else held
             for held in here if isinstance(held, (dict, tuple))]  # fmt: skip
    names = sum(part is left for held in parts for part in held)
    from_outside = low.compilation.path(left) is not None
    if isinstance(left, set) if from_outside else names > 1:
        raise low.fail(
            UnsupportedSyntax,
            "this changes a set in place, and another variable refers to the same set",
            "make a new set: s = s | t",
        )


def binary_operation(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    """``left sign right`` for compile-time values."""
    refuse_foreign(low, left, right, installed=True)
    name = BINARY[sign].__name__.strip("_")
    found = call_operator_method(low, left, right, f"__{name}__", f"__r{name}__")
    if found is not NotImplemented:
        return found
    left, right = map(_plain_number, (left, right))
    if isinstance(left, DictView) or isinstance(right, DictView):
        left, right = as_set(low, left), as_set(low, right)
    if low.compilation.numpy:
        left, right = beside_arrays(low, sign, left, right)
    if isinstance(left, HeapRef) or isinstance(right, HeapRef):
        return _heap_binary(low, sign, left, right)
    refuse_foreign(low, left, right)
    for side in (left, right):
        low.compilation.guard_contents(side)
    with _dividing(low, sign, left, right):
        try:
            return (_SIGNS if low.compilation.numpy else BINARY)[sign](left, right)
        except CompileError:
            raise
        except Exception as error:
            told = low.translate(error, "this operation fails")
            known = not isinstance(left, Value) and not isinstance(right, Value)
            raise (told.meaning(error) if known else told) from None


def call_operator_method(low: Lowering, left: Any, right: Any, name: str, reflected: str) -> Any:
    """What the methods of the user's objects make of ``left sign right``, those of a subclass
    first; NotImplemented where there are none."""
    kinds = [class_of(low, side) for side in (left, right)]
    ways = [(left, right, name), (right, left, reflected)]
    if kinds[0] is not kinds[1] and issubclass(kinds[1], kinds[0]):
        ways.reverse()
    for thing, other, method in ways:
        if thing is right and _numpy_goes_on(low, left, right):
            continue
        asked = low.special(thing, method)
        found = NotImplemented if asked is None else low.call(asked, (other,), {})
        if found is not NotImplemented:
            return found
    return NotImplemented


def _numpy_goes_on(low: Lowering, left: Any, right: Any) -> bool:
    """Return True if NumPy converts the right operand to an array and ignores its reflected
    method. Refuse an object whose method NumPy would call for each element.
    """
    if not (low.compilation.numpy and isinstance(left, Value) and isinstance(left.type, ArrayType)):
        return False
    if isinstance(right, (Value, np.generic, np.ndarray)):
        return False
    kind = class_of(low, right)
    priority = getattr(kind, "__array_priority__", -1)
    goes_before = isinstance(priority, (int, float)) and priority > 0
    if getattr(kind, "__array_ufunc__", False) is None or goes_before:
        return False
    if issubclass(kind, (int, float, complex, list, tuple)) or hasattr(kind, "__array__"):
        return True
    theirs = isinstance(right, HeapRef) and right.kind == "object" or is_user_object(right)
    if theirs and left.type.ndim != 0:
        raise low.fail(
            UnsupportedSyntax,
            f"NumPy calls the operators of a '{kind.__name__}' on the right of an array for "
            "each element by itself",
            f"set '__array_ufunc__ = None' in class {kind.__name__}, so that NumPy leaves "
            "the whole array to it",
        )
    return False


def class_of(low: Lowering, thing: Any) -> type:
    """The class of an object of the user's, made here or outside."""
    made_here = isinstance(thing, HeapRef) and thing.kind == "object"
    found: type = low.state.heap[thing]["__class__"] if made_here else type(thing)
    return found


def as_set(low: Lowering, side: Any) -> Any:
    """The set that a dict's keys or items are beside a sign, and what stands on its other
    side."""
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


def _heap_binary(low: Lowering, sign: str, left: Any, right: Any) -> Any:
    one, two = map(partial(_joinable, low), (left, right))
    if sign == "BitOr" and isinstance(one, dict) and isinstance(two, dict):
        return low.allocate("dict", {**one, **two})
    if sign == "Add" and isinstance(one, tuple) and isinstance(two, tuple):
        return low.new_list(one + two)
    if sign == "Add" and all(
        is_runtime_list(side) or isinstance(side, tuple) for side in (one, two)
    ):
        joined = runtime_lists.concatenate(low, one, two)
        if joined is not None:
            return low.allocate("list", joined)
    if sign == "Mult" and isinstance(one, int):
        one, two = two, one
    if sign == "Mult" and isinstance(one, tuple) and isinstance(two, int):
        most = costs().written_list_items
        long = runtime_lists.repeat(low, one, two) if len(one) * two > most else None
        return low.allocate("list", one * two if long is None else long)
    if sign == "Mult" and (is_runtime_list(one) or isinstance(one, tuple)) and _counts(two):
        long = runtime_lists.repeat(low, one, two)
        if long is not None:
            return low.allocate("list", long)
        low.static(two, "the length of this list")
    raise low.fail(
        DTypeError, f"the operator '{SIGNS[sign]}' does not take this list or dict",
        "make it an array first: ops.stack(items) or np.stack(items)",
    )  # fmt: skip


def _joinable(low: Lowering, side: Any) -> Any:
    """What is in a list or dict that may be one from outside."""
    if isinstance(side, HeapRef):
        return low.state.heap[side]
    low.compilation.guard_contents(side)
    return tuple(low.sequence(side)) if isinstance(side, list) else side


def _counts(thing: Any) -> bool:
    """Whether a list can be repeated so many times."""
    whole = "int" in (getattr(thing, "dtype_name", None) or str(getattr(thing, "type", "")))
    single = not isinstance(getattr(thing, "type", INT), ArrayType) or thing.type.shape == ()
    return isinstance(thing, (int, Value)) and whole and single


def evaluate_unary_op(low: Lowering, node: Any) -> Any:
    return unary(low, type(node.op).__name__, low.evaluate(node.operand))


def unary(low: Lowering, sign: str, value: Any) -> Any:
    """``sign value`` for a compile-time value."""
    if sign == "Not":
        truth = low.truth(value)
        return not truth if isinstance(truth, bool) else comparisons.logical_not(truth)
    method = low.special(value, f"__{UNARY[sign].__name__}__")
    if method is not None:
        return low.call(method, (), {})
    if sign == "Invert" and isinstance(value, Value):
        dtype = (value.dtype_name or "") if low.compilation.numpy else ""
        if dtype.startswith("uint"):
            return low.binary("Sub", 2 ** int(dtype[4:]) - 1, value)
        whole = dtype.startswith("int")
        if value.type == FLOAT:
            raise low.fail(
                DTypeError, "bad operand type for unary ~: 'float'", "convert it first: ~int(x)"
            ).meaning(TypeError("bad operand type for unary ~: 'float'"))
        if whole or isinstance(value.type, ScalarType):
            return low.binary("Sub", -1, value)  # the operator is a tensor's logical not
    try:
        found = UNARY[sign](value)
        array = low.compilation.numpy and isinstance(value, Value) and value.type != FLOAT
        memory = low.compilation.aliases
        scalar = array and value.ndim == 0 and memory.is_array(value) is False
        if found is value and array and not scalar:
            found = structure.copy(value)  # +x is a new array, or a scalar
            memory.set_is_array(found, False)
        return found
    except CompileError:
        raise
    except TypeError as error:
        raise low.translate(error, "this operation fails").meaning(error) from None


@contextmanager
def making_whole(low: Any, value: Value) -> Iterator[None]:
    """Inside, a number is made an int, which raises where it is not finite."""
    if value.type != FLOAT and "float" not in (value.dtype_name or ""):
        yield
        return

    def number() -> Any:
        return value if value.type == FLOAT else scalar_conversion.to_number(value, kind="float")

    text = "cannot convert float {} to integer".format
    with (
        low.may_raise(ValueError, lambda: comparisons.isnan(number()), lambda: text("NaN")),
        low.may_raise(OverflowError, lambda: comparisons.isinf(number()), lambda: text("infinity")),
    ):
        yield


def _plain_number(side: Any) -> Any:
    """A number of a class of the user's, below the methods of that, as a plain one."""
    for kind in (int, float, complex):
        if isinstance(side, kind) and type(side) not in (bool, kind) and is_user_code(type(side)):
            return kind.__pos__(side)  # type: ignore[arg-type]
    return side


#: What Python raises where numbers are divided by zero.
_DIVISIONS = {"Div": operator.truediv, "FloorDiv": operator.floordiv, "Mod": operator.mod}
_KINDS = {"int": int, "float": float, "bool": bool, "complex": complex}


@contextmanager
def _dividing(low: Lowering, sign: str, left: Any, right: Any) -> Iterator[None]:
    """Inside, numbers are divided; by zero that raises."""
    by_value = isinstance(right, Value) and isinstance(right.type, ScalarType)
    numpys = (
        isinstance(left, np.generic) or isinstance(left, Value) and isinstance(left.type, ArrayType)
    )  # NumPy warns, and gives infinity
    if sign not in _DIVISIONS or not by_value or numpys:
        yield
        return
    text = _told_of_zero(sign, type_of(left), type_of(right))
    with low.may_raise(ZeroDivisionError, lambda: comparisons.equal(right, 0), lambda: text):
        yield


def _told_of_zero(sign: str, *types: Any) -> str:
    """What Python says of a division of such numbers by zero."""
    one, zero = (_KINDS[str(type_)](value) for type_, value in zip(types, (1, 0)))
    try:
        _DIVISIONS[sign](one, zero)
    except ZeroDivisionError as error:
        return str(error)
    raise AssertionError("a division by zero raises")
