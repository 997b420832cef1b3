"""The table of callees: who is called decides what happens.

A Cell or a user's function becomes a function of its own, one for each signature. A lambda or inner
function is inlined where it is called. Functions of this package run now, on values, as macros.
Python's built-ins have a table of their own. A call of other functions with known arguments is
computed at compile time.
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor, tensor
from autodiff_compiler.frontend.abstract.values import (
    CONTEXT,
    CallableChoice,
    Closure,
    ContainerMethod,
    CustomRule,
    HeapRef,
    InPlaceTensorMethod,
    Partial,
    SuperProxy,
    TensorMethod,
)
from autodiff_compiler.frontend.calls.external import (
    call_known,
    call_now,
    is_hashable,
    is_numpy,
    macro_for,
    stays_outside,
    takes_numbers,
)
from autodiff_compiler.frontend.calls.recursion import (
    RecursionStep,
    call_function,
    inline_closure,
)
from autodiff_compiler.frontend.core.guards import PLAIN, is_user_code
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.derivatives.custom_rules import context_method
from autodiff_compiler.frontend.derivatives.hooks import (
    CompiledHookHandle,
    register_hook,
    with_hook,
)
from autodiff_compiler.frontend.derivatives.recompute import call_recomputed, is_recomputed
from autodiff_compiler.frontend.derivatives.transforms import call_transformed, take_functions
from autodiff_compiler.frontend.expressions.subscripts import subscript
from autodiff_compiler.frontend.library.builtins import BUILTINS, call_builtin
from autodiff_compiler.frontend.library.cell_queries import answer_query, is_query
from autodiff_compiler.frontend.library.container_methods import call_container_method
from autodiff_compiler.frontend.library.math_domains import math_domain_tests
from autodiff_compiler.frontend.library.warning_filters import SilencedWarnings
from autodiff_compiler.frontend.numpy_rules.arguments import call_method, call_numpy
from autodiff_compiler.frontend.numpy_rules.names import NUMPY
from autodiff_compiler.frontend.numpy_rules.writes import WRITERS, write_by
from autodiff_compiler.frontend.objects.array_updates import replace_array
from autodiff_compiler.frontend.objects.attribute_protocol import (
    call_attribute_protocol,
    is_user_function,
)
from autodiff_compiler.frontend.objects.outside_writes import update_parameter
from autodiff_compiler.frontend.objects.user_objects import is_user_class, make_object
from autodiff_compiler.frontend.statements.item_assignment import update_at
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.core.macros import is_macro
from autodiff_compiler.ops.core.primitive_base import Primitive
from autodiff_compiler.ops.transforms.gradient import GradOperation
from autodiff_compiler.ops.transforms.hooks import GradientHook, insert_grad_of
from autodiff_compiler.ops.transforms.transformed import Transformed, is_cached, unwrapped

Arguments = Sequence[Any]
Keywords = Mapping[str, Any]


@dataclass(frozen=True)
class CallRule:
    """A row of the table: callees of one kind, and their handler.

    ``applies`` and ``call`` take the lowering, the callee, its positional arguments and its
    keywords.
    """

    name: str
    summary: str
    applies: Callable[[Lowering, Any, Arguments, Keywords], bool]
    call: Callable[[Lowering, Any, Arguments, Keywords], Any]


def call(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Returns the outcome of ``callee(*args, **kwargs)`` for compile-time values."""
    callee = _below_jit(low, callee)
    low.compilation.register_callee_parts(callee)
    reached = call_attribute_protocol(low, callee, args)
    if reached is not None:
        return reached[0]
    callee = low.special(callee, "__call__") or callee
    return rule_for(low, callee, args, kwargs).call(low, callee, args, kwargs)


def rule_for(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> CallRule:
    """Returns the rule of a callee: that of its class, else the first one that applies."""
    by_class = CALLABLE_VALUES.get(type(callee))
    if by_class is not None:
        return by_class
    return next(rule for rule in CALL_RULES if rule.applies(low, callee, args, kwargs))


# ---- compile-time values that can be called


def _call_choice(low: Lowering, callee: CallableChoice, args: Arguments, kwargs: Keywords) -> Any:
    """Calls one of two functions by a run-time test."""
    return low.choose(
        callee.test,
        lambda: low.call(callee.left, args, kwargs),
        lambda: low.call(callee.right, args, kwargs),
    )


def _call_custom_rule(low: Lowering, callee: CustomRule, args: Arguments, kwargs: Keywords) -> Any:
    """Lowers the function that a custom derivative is made of."""
    return callee.lower(low, args)


def _call_recursion_step(
    low: Lowering, callee: RecursionStep, args: Arguments, kwargs: Keywords
) -> Any:
    """Lowers one direction of a recursion that became two loops."""
    return callee.take(*args)


def _call_container_method(
    low: Lowering, callee: ContainerMethod, args: Arguments, kwargs: Keywords
) -> Any:
    """Calls a method of a list or dict of the heap, or of the ``ctx`` of a custom Function."""
    if callee.ref.kind == CONTEXT:
        return context_method(low, callee, args)
    return call_container_method(low, callee, args, kwargs)


def _call_tensor_method(
    low: Lowering, callee: TensorMethod, args: Arguments, kwargs: Keywords
) -> Any:
    """Calls a method of a Tensor, which is a macro, or one of an array."""
    if callee.function is Tensor.register_hook:
        return register_hook(low, callee.value, *args, **kwargs)
    if callee.name:
        return call_method(low, callee, args, kwargs)
    return low.macro(callee.function, [callee.value, *args], kwargs)


def _call_in_place_method(
    low: Lowering, callee: InPlaceTensorMethod, args: Arguments, kwargs: Keywords
) -> Any:
    """Calls a method that changes its Tensor: the new value stands under all its names."""
    new = low.macro(callee.function, [callee.value, *args], kwargs)
    return replace_array(low, callee.value, new)


def _call_partial(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Calls a ``functools.partial``, or makes a ``super()``."""
    if callee.func is super:
        return _super_of(low, *callee.args)
    return low.call(callee.func, [*callee.args, *args], {**callee.keywords, **kwargs})


def _super_of(low: Lowering, owner: type, first: Any) -> Any:
    """Returns ``super(owner, first)``."""
    if isinstance(first, HeapRef):
        return SuperProxy(owner, first)
    above = super(owner, first)
    compilation = low.compilation
    path = f"super({compilation.path(owner)}, {compilation.path(first)})"
    compilation.register_path(above, path)
    return above


def _always(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return True


#: Compile-time values with a class of their own.
CALLABLE_VALUES: Mapping[type, CallRule] = {
    CallableChoice: CallRule(
        "one of two functions",
        "A branch on the run-time test; each side calls its function.",
        _always,
        _call_choice,
    ),
    Closure: CallRule(
        "inner function or lambda",
        "Inlined; a recursion without a known end becomes two loops.",
        _always,
        inline_closure,
    ),
    CustomRule: CallRule(
        "custom derivative",
        "Lowered as a function of the inputs, the result and its cotangent.",
        _always,
        _call_custom_rule,
    ),
    RecursionStep: CallRule(
        "step of a recursion",
        "Lowered as the body of one of the two loops of a recursion.",
        _always,
        _call_recursion_step,
    ),
    ContainerMethod: CallRule(
        "method of a list or dict",
        "Computed on the contents of the heap object.",
        _always,
        _call_container_method,
    ),
    TensorMethod: CallRule(
        "method of a Tensor or array",
        "Its macro runs and adds operations.",
        _always,
        _call_tensor_method,
    ),
    InPlaceTensorMethod: CallRule(
        "in-place method of a Tensor",
        "Its macro runs; the Tensor is updated under all its names.",
        _always,
        _call_in_place_method,
    ),
    functools.partial: CallRule(
        "functools.partial",
        "The wrapped function is called with all arguments; `super()` is made here, too.",
        _always,
        _call_partial,
    ),
    Partial: CallRule(
        "functools.partial of run-time values",
        "The wrapped function is called with all arguments.",
        _always,
        _call_partial,
    ),
}


# ---- objects of Python


def _callee(test: Callable[[Any], Any]) -> Callable[..., bool]:
    """Returns the condition of a rule that asks about the callee alone."""
    return lambda low, callee, args, kwargs: bool(test(callee))


def _is_a(*classes: type) -> Callable[..., bool]:
    """Returns the condition of a rule about objects of some classes."""
    return _callee(lambda callee: isinstance(callee, classes))


def _is_of_named_tuple(callee: Any) -> bool:
    """True for a class of named tuples, and for a method that these come with."""
    kind = callee if isinstance(callee, type) else type(getattr(callee, "__self__", None))
    may_be_own = isinstance(callee, type) or getattr(callee, "__name__", "") in (
        "_replace",
        "_asdict",
    )
    return may_be_own and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _updates_parameter(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return getattr(callee, "parameter_update", None) is not None


def _is_handle_method(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return isinstance(getattr(callee, "__self__", None), (CompiledHookHandle, SilencedWarnings))


def _call_handle_method(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Calls a method of an object that lowering itself made, such as a hook's handle."""
    return callee(*args)


def _is_gradient_hook(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return callee is insert_grad_of and len(args) == 2 or isinstance(callee, GradientHook)


def _call_gradient_hook(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Puts a hook on the cotangent of a value, as ``InsertGradientOf`` does."""
    if callee is insert_grad_of:
        return with_hook(low, args[1], args[0])
    value = args[0] if len(args) == 1 else tuple(args)
    hook = low.attribute(callee, "function")
    return with_hook(low, hook, value, in_tuple=callee.in_tuple)


def _is_constexpr(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return bool(getattr(callee, "runs_while_compiling", False))


def _is_builtin(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return is_hashable(callee) and callee in BUILTINS


def _takes_functions(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return isinstance(callee, GradOperation) or bool(getattr(callee, "takes_functions", False))


def _is_ufunc_at(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return isinstance(getattr(callee, "__self__", None), np.ufunc) and callee.__name__ == "at"


def _call_ufunc_at(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Updates items of an array in place, as ``np.add.at`` does."""
    return update_at(low, callee.__self__, *args, **kwargs)


def _stays_outside(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return callee is Parameter or stays_outside(callee)


def _makes_tensor_of_value(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return (callee is Tensor or callee is tensor) and bool(args) and isinstance(args[0], Value)


def _make_tensor_of_value(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Value:
    """Makes a Tensor of a run-time value."""
    return _tensor_of(*args, **kwargs)


def _call_getter(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Calls an ``itemgetter`` or ``attrgetter``."""
    items = [_got(low, callee, key, *args) for key in callee.__reduce__()[1]]
    return items[0] if len(items) == 1 else tuple(items)


def _make_named_tuple(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Makes a named tuple of compile-time values."""
    return callee(*args, **kwargs)


def _is_recomputed(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return is_recomputed(low, callee)


def _call_macro(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Runs a function of this package now; on values it adds operations."""
    if isinstance(callee, Primitive):
        for setting in vars(callee):  # read by the macro, so that they are guarded
            low.compilation.read_attribute(callee, setting, low.builder.span)
    return low.macro(callee, args, kwargs)


def _is_library_on_plain_data(
    low: Lowering, callee: Any, args: Arguments, kwargs: Keywords
) -> bool:
    """True for a function of Python's library that is given plain data only."""
    of_library = isinstance(callee, types.FunctionType) and not is_user_code(callee)
    return of_library and all(_is_plain(low, thing) for thing in (*args, *kwargs.values()))


def _is_numpy_on_values(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return macro_for(low, callee, args, kwargs) is not None


def _call_numpy_on_values(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Runs the macro that stands for a function of NumPy or ``math``."""
    macro = macro_for(low, callee, args, kwargs)
    if low.compilation.numpy and callee in NUMPY:
        return call_numpy(low, callee, macro, args, kwargs)
    with math_domain_tests(low, callee, args):
        return low.macro(macro, args, kwargs)


def _is_numpy_writer(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return is_hashable(callee) and callee in WRITERS and low.compilation.numpy


def _call_numpy_writer(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Runs a function of NumPy that writes to an argument, such as ``np.copyto``."""
    return write_by(low, callee.__name__, WRITERS[callee], args, kwargs)


def _has_source(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return isinstance(callee, (types.FunctionType, types.MethodType)) and not is_numpy(callee)


def _is_cached_on_values(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    return is_cached(callee) and takes_numbers(low, args, kwargs)


def _call_below_cache(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Calls the function below ``functools.cache``, which cannot look a run-time number up."""
    path = low.compilation.path(callee)
    if path is not None:
        low.compilation.register_path(callee.__wrapped__, f"{path}.__wrapped__")
    return call_function(low, callee.__wrapped__, args, kwargs)


def _is_callable_object(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> bool:
    method = inspect.getattr_static(type(callee), "__call__", None)
    known_class = isinstance(callee, type) and not is_user_function(method)  # such as an enum
    return isinstance(method, types.FunctionType) and not known_class


def _call_object(low: Lowering, callee: Any, args: Arguments, kwargs: Keywords) -> Any:
    """Calls the ``__call__`` of an object."""
    return low.call(low.attribute(callee, "__call__"), args, kwargs)


#: The first rule that applies is the one that is followed.
CALL_RULES: Sequence[CallRule] = (
    CallRule(
        "update of a Parameter",
        "The Parameter gets a new value, which is stored after the call.",
        _updates_parameter,
        update_parameter,
    ),
    CallRule(
        "method of a handle",
        "Runs at compile time: it adds or removes the hook of the handle.",
        _is_handle_method,
        _call_handle_method,
    ),
    CallRule(
        "gradient hook",
        "The hook becomes a custom derivative of the value.",
        _is_gradient_hook,
        _call_gradient_hook,
    ),
    CallRule(
        "gradient, tangent or batched function",
        "The function is outlined; a `grad`, `jvp` or `vmap` operation takes its derivative.",
        _is_a(Transformed),
        call_transformed,
    ),
    CallRule(
        "Cell",
        "`construct` is outlined, one function for each signature, and called.",
        _is_a(Cell),
        call_function,
    ),
    CallRule(
        "query of a Cell's parts",
        "Evaluated at compile time, under a guard: `parameters_and_names()` and similar methods.",
        _callee(is_query),
        answer_query,
    ),
    CallRule(
        "constexpr function",
        "Runs at compile time; its arguments must be constants.",
        _is_constexpr,
        call_known,
    ),
    CallRule(
        "user's class",
        "A heap object is made; its `__init__` is inlined.",
        _callee(is_user_class),
        make_object,
    ),
    CallRule(
        "Python built-in",
        "The compiler's model of the built-in runs.",
        _is_builtin,
        call_builtin,
    ),
    CallRule(
        "grad, jvp, vmap and similar functions",
        "Runs at compile time and returns a transformed function.",
        _takes_functions,
        take_functions,
    ),
    CallRule(
        "ufunc.at",
        "The array is updated in place, under all its names.",
        _is_ufunc_at,
        _call_ufunc_at,
    ),
    CallRule(
        "function with side effects",
        "Runs at compile time (logging: at run time) or is refused: files, clocks, random numbers.",
        _stays_outside,
        call_now,
    ),
    CallRule(
        "Tensor of a run-time value",
        "The value itself, cast to the requested dtype.",
        _makes_tensor_of_value,
        _make_tensor_of_value,
    ),
    CallRule(
        "itemgetter or attrgetter",
        "The items or attributes are read.",
        _is_a(operator.itemgetter, operator.attrgetter),
        _call_getter,
    ),
    CallRule(
        "named tuple",
        "Made at compile time.",
        _callee(_is_of_named_tuple),
        _make_named_tuple,
    ),
    CallRule(
        "recomputed block",
        "Called; only its inputs are saved for backward.",
        _is_recomputed,
        call_recomputed,
    ),
    CallRule(
        "macro of this package",
        "Runs at compile time on values and adds operations.",
        _callee(is_macro),
        _call_macro,
    ),
    CallRule(
        "library function on plain data",
        "Runs at compile time.",
        _is_library_on_plain_data,
        call_now,
    ),
    CallRule(
        "NumPy or math on run-time values",
        "Its macro runs and adds operations.",
        _is_numpy_on_values,
        _call_numpy_on_values,
    ),
    CallRule(
        "NumPy function that writes to an argument",
        "The argument is updated in place, under all its names.",
        _is_numpy_writer,
        _call_numpy_writer,
    ),
    CallRule(
        "user's function or method",
        "Outlined, one function for each signature, and called; inlined if it has side effects.",
        _has_source,
        call_function,
    ),
    CallRule(
        "cached function of run-time numbers",
        "The cached function itself is called.",
        _is_cached_on_values,
        _call_below_cache,
    ),
    CallRule(
        "object with __call__",
        "Its `__call__` is called.",
        _is_callable_object,
        _call_object,
    ),
    CallRule(
        "anything else",
        "Runs at compile time, or is refused if an argument is known only at run time.",
        _always,
        call_now,
    ),
)


# ---- helpers of the rules


def _got(low: Lowering, getter: Any, key: Any, thing: Any) -> Any:
    """Returns what ``itemgetter`` or ``attrgetter`` gets."""
    if isinstance(getter, operator.itemgetter):
        return subscript(low, thing, key)
    return functools.reduce(low.attribute, key.split("."), thing)


def _tensor_of(value: Value, dtype: Any = None) -> Value:
    """Returns ``Tensor(x)`` of a run-time tensor or number."""
    if dtype is not None:
        name = to_numpy_name(dtype)
    elif isinstance(value.type, ArrayType):
        return value
    else:
        name = {"int": "int64", "bool": "bool"}.get(str(value.type), "float32")
    return value if name == value.dtype_name else structure.cast(value, dtype=name)


def _below_jit(low: Lowering, callee: Any) -> Any:
    """Returns the function under jit or differentiable, which change nothing here."""
    if is_cached(callee):
        return callee  # called with what is known, it is called once for each
    inner = unwrapped(callee)
    if inner is not callee:
        path = low.compilation.path(callee)
        owner = low.compilation.path(getattr(callee, "__self__", None))
        if owner is not None:
            path = f"{owner}.{callee.__name__}.__func__"
        if path is not None:
            low.compilation.register_path(getattr(inner, "__func__", inner), f"{path}.__wrapped__")
    return inner


def _is_plain(low: Lowering, thing: Any) -> bool:
    if isinstance(thing, HeapRef) and thing.kind == "list":
        thing = low.state.heap[thing]
    if type(thing) in (tuple, list):
        return all(map(partial(_is_plain, low), thing))
    return isinstance(thing, PLAIN)
