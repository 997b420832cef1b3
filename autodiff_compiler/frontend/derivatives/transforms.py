"""Derivatives taken inside a source function, such as ``grad``, ``jvp`` and ``vmap``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autodiff_compiler.errors import CallError, CompileError, DTypeError, SensitivityError
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.in_place_writes import record_write
from autodiff_compiler.frontend.abstract.runtime_lists import conform_sensitivity
from autodiff_compiler.frontend.abstract.values import HeapRef, leaves
from autodiff_compiler.frontend.calls.outlining import OutlinedCall, apply_writes, link_aliases
from autodiff_compiler.frontend.core.guards import MISSING
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.python_values import from_python, python_containers
from autodiff_compiler.frontend.derivatives.vmap_arguments import Batch, is_mapped
from autodiff_compiler.frontend.objects.user_objects import call_flat
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import (
    COMPLEX,
    FLOAT,
    NO_SENSITIVITY,
    ArrayType,
    DictType,
    ScalarType,
    TupleType,
    Type,
    as_cotangent,
    batch_type,
    join,
    takes_sensitivity,
)
from autodiff_compiler.operators.core.declare import shape_of_type
from autodiff_compiler.operators.core.structure import broadcast_to, cast, full
from autodiff_compiler.ops.transforms.gradient import GradientFunction
from autodiff_compiler.ops.transforms.nested_arguments import Flat, flattened, is_active
from autodiff_compiler.ops.transforms.pullback import Pullback, Pulled
from autodiff_compiler.ops.transforms.tangent import TangentFunction
from autodiff_compiler.ops.transforms.transformed import Transformed, is_whole, whole_numbers
from autodiff_compiler.ops.transforms.vmap import BatchedFunction


@dataclass(frozen=True)
class Called:
    """A function with the operands of one call, to be differentiated there. ``mark`` tells that
    call from others, if it matters which is meant."""

    request: Request
    outlined: OutlinedCall
    slots: Sequence[Any]
    mark: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ContainerGradient:
    """A gradient with respect to containers: the function of their leaves, its gradient, the
    leaves, and the arguments that are asked for."""

    flat: Flat
    inner: GradientFunction
    leaves: Sequence[Any]
    slots: Sequence[int]


def call_inside(low: Lowering, fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Calls ``fn(*args, **kwargs)`` for library code that runs on values."""
    given = [from_python(low, arg) for arg in args]
    return python_containers(
        low, low.call(fn, given, {k: from_python(low, v) for k, v in kwargs.items()})
    )


def _is_active(low: Lowering, slot: Any) -> bool:
    """True if this argument is differentiated: a tensor, what ``mutable`` marks, and in plain
    functions a number."""
    marked = slot in low.compilation.mutables
    if not isinstance(slot, Value):
        return marked and any(isinstance(leaf, Value) for leaf in leaves(detach(slot, low.state)))
    floats = (FLOAT, COMPLEX) if marked or low.compilation.numpy else ()
    return isinstance(slot.type, ArrayType) or slot.type in floats


def take_functions(
    low: Lowering, maker: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Runs ``GradOperation()``, ``grad_op(net, weights)``, ``grad(net)`` or ``jvp(…)`` now."""
    raw = [low.original(arg) for arg in args]
    named = {key: low.original(arg) for key, arg in kwargs.items()}
    try:
        return from_python(low, maker(*raw, **named))
    except CompileError:
        raise
    except Exception as error:
        raise low.translate(error, "this gradient cannot be taken") from None


def call_transformed(
    low: Lowering, function: Transformed, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Returns the outcome of calling a transformed function."""
    if isinstance(function, Flat):
        return call_flat(low, function, args)
    if isinstance(function, GradientFunction):
        return _call_gradient(low, function, args, kwargs)
    if type(function) is TangentFunction:
        return _call_tangent(low, function, args)
    if isinstance(function, BatchedFunction):
        return _call_batched(low, function, args)
    if isinstance(function, Pullback):
        return _call_pullback(low, function.gradient, args)
    if isinstance(function, Pulled):
        return _call_pulled(low, function, args[0])
    return low.macro(function.build, args, kwargs)


def _call_gradient(
    low: Lowering, gradient: GradientFunction, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Adds a ``grad`` operation on the function that ``gradient`` differentiates."""
    if gradient.unconnected != "zero":
        raise low.fail(
            CallError,
            f"unconnected='{gradient.unconnected}' is not supported inside compiled code",
            "take the gradient outside of compiled code, or omit unconnected",
        )
    given, named, sens = gradient.split_sens(list(args), dict(kwargs))
    on_leaves = _container_gradient(low, gradient, given, named)
    if on_leaves:
        called = _called(low, on_leaves.inner, on_leaves.leaves, {})
    else:
        called = _called(low, gradient, given, named)
    request, outlined = called.request, called.outlined
    values = _returned(outlined) if request.value or request.aux or outlined.writes else []
    inputs, weights = _gradients(low, called, sens, values)
    value = _outcome(low, values, outlined) if values else None
    if on_leaves:
        gradients = dict(zip(request.positions, inputs))
        grouped = on_leaves.flat.gradients(on_leaves.slots, gradients)
        return from_python(low, gradient.pack(value, grouped, weights, on_leaves.slots))
    return from_python(low, gradient.pack(value, inputs, weights))


def _container_gradient(
    low: Lowering, gradient: GradientFunction, given: Sequence[Any], named: Mapping[str, Any]
) -> ContainerGradient | None:
    """Returns a gradient of a plain NumPy function with respect to containers as one with respect
    to their leaves; None if no container is asked for."""
    slots = [*given, *named.values()]
    if not (gradient.numpy and low.compilation.numpy):
        return None
    wanted = gradient.positions([True] * len(slots))
    if not any(isinstance(slots[n], (HeapRef, tuple, list, dict)) for n in wanted):
        return None
    row = [python_containers(low, slot) if n in wanted else slot for n, slot in enumerate(slots)]
    flattening = flattened(
        gradient.fn, row[: len(given)], dict(zip(named, row[len(given) :])), wanted
    )
    if flattening is None:
        return None
    flat, parts = flattening
    active = [
        place
        for n in wanted
        for place in flat.places(n)
        if flat.is_leaf(n) or is_active(parts[place])
    ]
    return ContainerGradient(flat, gradient.of(flat, tuple(active)), parts, wanted)


def _call_pullback(
    low: Lowering, gradient: GradientFunction, args: Sequence[Any]
) -> tuple[Any, Pulled]:
    """Returns the outcome of a call, and the function that takes its gradients later."""
    called = _called(low, gradient, args, {})
    values = _returned(called.outlined)
    attrs = {"callee": low.compilation.unique_function(called.outlined.function), **called.mark}
    _add(low, "call", called.outlined.operands, attrs, values, called.outlined)
    return _outcome(low, values, called.outlined), Pulled(gradient, called)


def _call_pulled(low: Lowering, pulled: Pulled, sens: Any) -> Any:
    """Returns the gradients of a call that was made before."""
    gradients = _gradients(low, pulled.called, sens, [])
    return from_python(low, pulled.gradient.pack(None, *gradients)[1])


def _called(
    low: Lowering, gradient: GradientFunction, given: Sequence[Any], named: Mapping[str, Any]
) -> Called:
    """Returns the outlined function of a call, with the request for its gradient."""
    slots = [*given, *named.values()]
    asked = gradient.numpy and low.compilation.numpy
    for place in gradient.asked(len(slots)) if asked else ():
        if place < len(slots) and type(slots[place]) in (float, complex):
            slots[place] = _number(slots[place])
    given, named = slots[: len(given)], dict(zip(named, slots[len(given) :]))
    request = gradient.request([_is_active(low, slot) for slot in slots])
    for place in gradient.wanted() if asked else ():
        if place < len(slots) and is_whole(slots[place]):
            raise low.builder.with_span(whole_numbers(place))
    outlined = _outlined(low, gradient.fn, given, named, request.aux, request.weights)
    if not Effects().inside(outlined.function.body):
        return Called(request, outlined, slots)
    low.marked_calls += 1  # what another call at the same operands draws is something else
    return Called(request, outlined, slots, {"pull": low.marked_calls})


def _number(number: float | complex) -> Any:
    """Returns a number of the source function as a value, to be differentiated."""
    dtype = "complex128" if isinstance(number, complex) else "float64"
    return full(shape=(), dtype=dtype, value=number)


def _gradients(
    low: Lowering, called: Called, sens: Any, values: Sequence[Value]
) -> tuple[list[Any], list[Value]]:
    """Adds a ``grad`` operation that also gives ``values``. Returns the gradients of the inputs and
    those of the weights."""
    request, outlined = called.request, called.outlined
    wrt = [outlined.places[position] for position in request.positions] + outlined.weights
    attrs = {
        "callee": low.compilation.unique_function(outlined.function),
        "wrt": tuple(wrt),
        "sens": request.takes_sens,
        "value": bool(values),
        **called.mark,
    }
    if request.aux or outlined.writes:
        attrs["outputs"] = (int(request.aux),)
    operands = list(outlined.operands)
    if attrs["sens"]:
        output = type_of(outlined.function.returns[int(request.aux)])
        if not takes_sensitivity(output):
            raise low.fail(CallError, *NO_SENSITIVITY)
        operands.append(conform_sensitivity(low, low.lifted(sens), output))
        _check_sens(low, type_of(operands[-1]), output)
    params = outlined.function.params
    results = [Value(as_cotangent(params[place].type), f"d_{params[place].name}") for place in wrt]
    _add(low, "grad", operands, attrs, [*values, *results], outlined)
    likes = [low.compilation.mutables.like(called.slots[n]) for n in request.positions]
    inputs = [low.unpacked(result, like) for result, like in zip(results, likes)]
    if not low.compilation.numpy:
        for n, place in enumerate(wrt[: len(inputs)]):
            if params[place].type == FLOAT:  # a number that is marked: as outside of compiled code
                inputs[n] = cast(inputs[n], dtype="float32")
    return inputs, results[len(request.positions) :]


def _check_sens(low: Lowering, have: Type, want: Type, place: str = "") -> None:
    """Refuses a sensitivity that is known not to fit its output, as the run time does."""
    if isinstance(want, (TupleType, DictType)):
        same = isinstance(have, type(want)) and len(have.items) == len(want.items)
        if same and isinstance(have, (TupleType, DictType)):
            for number, (one, other) in enumerate(zip(have.items, want.items)):
                _check_sens(low, one, other, f"{place}[{number}]")
            return
    elif not isinstance(want, ArrayType):
        return
    elif isinstance(have, ArrayType):
        if None not in (have.dtype, want.dtype) and have.dtype != want.dtype:
            raise low.fail(
                CallError,
                f"the sensitivity{place} should have the dtype {want.dtype} of the output, "
                f"but is {have}",
                f"cast it: sens.astype('{want.dtype}')",
            )
        if not (have.is_static and want.is_static) or have.shape == want.shape:
            return
    elif want.shape == () and isinstance(have, ScalarType):
        return
    raise low.fail(
        SensitivityError,
        f"the sensitivity{place} is {have}, but the output is {want}",
        "give the sensitivity one element per element of the output; it is not broadcast",
    )


def _call_tangent(low: Lowering, function: TangentFunction, args: Sequence[Any]) -> Any:
    """Adds a ``jvp`` operation. Returns the value, and the tangent of its differentiated part."""
    request = function.request()
    count = function.inputs
    outlined = _outlined(low, function.fn, args[:count], {}, request.aux, request.weights)
    for position in request.positions:
        if position not in outlined.places:
            raise low.fail(
                CallError,
                f"argument {position} holds no tensor, so it has no tangent",
                "pass a Tensor or an array of floats",
            )
    wrt = [outlined.places[position] for position in request.positions] + outlined.weights
    dots = [
        _direction(low, low.packed(low.lifted(dot)), outlined.function.params[place].type)
        for dot, place in zip(args[count:], wrt)
    ]
    output = int(request.aux)
    callee = low.compilation.unique_function(outlined.function)
    attrs = {"callee": callee, "wrt": tuple(wrt), "outputs": (output,)}
    values = _returned(outlined)
    pushed = values[output]
    dot = Value(pushed.type, f"dot_{pushed.name or 'out'}")
    _add(low, "jvp", [*outlined.operands, *dots], attrs, [*values, dot], outlined)
    like = outlined.outcome[0] if request.aux else outlined.outcome
    return _outcome(low, values, outlined), low.unpacked(dot, like, outlined.heap)


def _call_batched(low: Lowering, function: BatchedFunction, args: Sequence[Any]) -> Any:
    """Adds a ``vmap`` operation; the examples lie along the first axis in it."""
    axes = _chosen(low, function.axes_of, len(args))
    batch = Batch(low, axes)
    moved = [batch.moved(low.lifted(arg), axis) for arg, axis in zip(args, axes)]
    size = batch.size()
    with low.builder.block():  # what takes the examples apart is not computed
        examples = [batch.example(arg, axis) for arg, axis in zip(moved, axes)]
        outlined = low.outline(function.fn, examples, {}, opens=True)
    if outlined.returned is MISSING:
        raise low.fail(
            CallError,
            "the function given to vmap writes to a Parameter, an attribute or an argument; "
            "each example would write a different value",
            "return the value, and write it after the vmap",
        )
    if not isinstance(outlined.returned, Value):
        raise low.fail(
            DTypeError,
            "the function given to vmap returns nothing that depends on its arguments",
            "return a tensor from the function",
        )
    places = {place: slot for slot, place in outlined.places.items()}
    operands = [
        low.packed(batch.batched(moved[places[n]], axes[places[n]])) if n in places else operand
        for n, operand in enumerate(outlined.operands)
    ]
    mapped = tuple(n in places and is_mapped(axes[places[n]]) for n in range(len(operands)))
    attrs = {
        "callee": low.compilation.unique_function(outlined.function),
        "mapped": mapped,
        "size": size,
    }
    values = [Value(batch_type(type_of(value), size)) for value in outlined.function.returns]
    _add(low, "vmap", operands, attrs, values, outlined)
    outcome = low.unpacked(values[0], outlined.outcome, outlined.heap)
    return batch.with_out_axes(outcome, function.out_axes)


def _chosen(low: Lowering, choose: Any, count: int) -> Any:
    """Returns the axes of the arguments, in the user's terms."""
    try:
        return choose(count)
    except Exception as error:
        raise low.translate(error, "this function cannot be batched") from None


def _direction(low: Lowering, dot: AnyOperand, type_: Type) -> AnyOperand:
    """Returns a tangent given for a value of ``type_``; it is broadcast, and never cast."""
    if isinstance(type_, ArrayType):
        if isinstance(type_of(dot), ScalarType) and type_.dtype is not None:
            known = not isinstance(dot, Value)
            one = full(shape=(), dtype=type_.dtype, value=dot if known else 1)
            dot = one if known else cast(one * dot, dtype=type_.dtype)
        if type_.has_static_shape and shape_of_type(type_of(dot)) != type_.shape:
            dot = broadcast_to(dot, shape=type_.shape)
    elif type_ == FLOAT and type_of(dot) == ArrayType("float64", ()):
        return dot
    if join(type_, type_of(dot)) != type_:
        raise low.fail(
            DTypeError,
            f"the tangent of a {type_} is a {type_of(dot)}",
            "give the tangent the shape and the dtype of the input",
        )
    return dot


def _outlined(
    low: Lowering,
    fn: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    aux: bool,
    weights: Sequence[Any] | None,
) -> OutlinedCall:
    """Returns the function to be differentiated, outlined."""
    with low.compilation.differentiating():
        outlined = low.outline(fn, args, kwargs, aux, weights, effects=True, differentiated=True)
    if not isinstance(outlined.returned, (Value, int, float)):
        raise low.fail(
            DTypeError,
            "the differentiated function returns no tensor or number",
            "return a tensor from the function",
        )
    return outlined


def _add(
    low: Lowering,
    name: str,
    operands: Sequence[AnyOperand],
    attrs: Mapping[str, Any],
    results: Sequence[Value],
    outlined: OutlinedCall,
) -> None:
    """Adds the operation, and notes what the function writes to."""
    low.builder.add(Op(OPERATORS[name], tuple(operands), attrs, tuple(results), low.builder.span))
    memory = low.compilation.aliases.of_all(outlined.wrote)
    low.written_arrays |= {low.caller_values[it] for it in memory if it in low.caller_values}
    record_write(low, memory)


def _returned(outlined: OutlinedCall) -> list[Value]:
    """Returns values for what the function returns; what it writes comes last."""
    written = [str(write.name or write.target.name) for write in outlined.writes]
    returns = outlined.function.returns
    names = [""] * (len(returns) - len(written)) + written
    return [Value(type_of(value), name) for value, name in zip(returns, names)]


def _outcome(low: Lowering, values: Sequence[Value], outlined: OutlinedCall) -> Any:
    """Returns the outcome of the function; what it wrote is written here."""
    apply_writes(low, outlined, values[len(values) - len(outlined.writes) :])
    return link_aliases(low, low.unpacked(values[0], outlined.outcome, outlined.heap), outlined)
