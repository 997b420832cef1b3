"""The parameters of a function being lowered: arguments of its call, and arrays from outside."""

from __future__ import annotations

from typing import Any

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.random import Generator
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.values import HeapRef, leaves, tuple_like
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.number_or_array import is_surely_array
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.operators.core import containers


def add_parameter(low: Lowering, name: str, value: Any) -> Any:
    """Returns a value of the caller as this function sees it: a parameter, if it is not known."""
    before = detach(value, low.state)
    if not any(isinstance(leaf, Value) for leaf in leaves(before)):
        return value
    with low.parent.builder if low.parent else low.builder:
        type_ = type_of((low.parent or low).packed(value))
    param = Value(type_, name, True)
    low.parameters.append(param)
    low.arguments[param] = value
    seen = _components_of_parameter(low, param, value, name)
    pairs = zip(leaves(detach(seen, low.state)), leaves(before))
    for leaf, its in pairs:
        if isinstance(leaf, Value):
            low.caller_values[leaf] = its
            memory = low.compilation.aliases
            memory.set_path_dtypes(leaf, memory.dtypes_of(its))
            memory.set_is_array(leaf, memory.is_array(its))
            if low.parent and isinstance(its, Value) and is_surely_array(low.parent, its):
                memory.arrays.add(leaf)
    low.compilation.mutables.copy(value, seen)
    return seen


def _components_of_parameter(low: Lowering, param: Value, like: Any, name: str) -> Any:
    """Returns the components of a parameter in the structure of ``like``. Lists and dicts of the
    heap hold these components from here on."""
    if isinstance(like, HeapRef):
        low.state.heap[like] = _components_of_parameter(low, param, low.state.heap[like], name)
        return like
    if isinstance(like, (dict, tuple)):
        parts = like.items() if isinstance(like, dict) else enumerate(like)
        components = {}
        for key, part in parts:
            if isinstance(part, Value) or any(True for _ in leaves(detach(part, low.state))):
                item = containers.item(param, key=key)
                item.name, item.has_user_name = f"{name}_{key}", True
                components[key] = _components_of_parameter(low, item, part, f"{name}_{key}")
            else:
                components[key] = part
        return components if isinstance(like, dict) else tuple_like(like, components.values())
    return param if isinstance(like, Value) else like


def outer_name(low: Lowering, thing: Any) -> str:
    """Returns the caller's name of an array that this function reads: ``fc1_weight``."""
    inner = low.hoisted[id(thing)][1].name
    known_to_all = isinstance(thing, Generator) and thing.name
    return f"{low.label}_{inner}" if low.label and not known_to_all else inner


def slot_of(low: Lowering, value: Value) -> int | None:
    """Returns the slot of the argument that a value is, or None."""
    outer = low.caller_values.get(value, low.substituted.get(value, value))
    return slot_of(low.parent, outer) if low.parent else low.compilation.slots.get(value)


def as_parameter(low: Lowering, value: Value) -> Parameter | None:
    """Returns the Parameter that a value stands for, or None."""
    thing = low.original(value)
    if not isinstance(thing, Value):
        return thing if isinstance(thing, Parameter) else None
    value = low.compilation.uncast.get(value, value)
    outer = low.caller_values.get(value, low.substituted.get(value, value))
    return as_parameter(low.parent, outer) if low.parent else None


def trainable_parameters(low: Lowering) -> tuple[Any, ...]:
    """Returns the trainable Parameters that were read, in order, and guards ``requires_grad``."""
    read = parameters_read(low)
    for parameter in read:
        if (path := low.compilation.path(parameter)) is not None:
            low.compilation.guard_trainable(path, parameter)
    return tuple(parameter for parameter in read if parameter.requires_grad)


def parameters_read(low: Lowering) -> tuple[Parameter, ...]:
    """Returns the Parameters that were read, in order."""
    return tuple(thing for thing, _ in low.hoisted.values() if isinstance(thing, Parameter))
