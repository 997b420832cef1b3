"""Writes that outlive the call: to a Parameter, or to an attribute of an outside object.

Each written place has a heap object from the beginning of the lowering on. Branches and loops
treat a heap object as they treat a list. Forward returns the last value of the heap object, and the
run time stores it: once per call, after forward, and never in backward. Nothing is stored while
forward runs, so that backward can still read the old value. A variable that refers to the Parameter
sees the value that was written.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import DTypeError, ShapeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract.in_place_writes import is_reachable, write_heap_object
from autodiff_compiler.frontend.abstract.values import NUMBERS, HeapRef
from autodiff_compiler.frontend.core.cotangents import custom_rule_operation, has_cotangent
from autodiff_compiler.frontend.core.guards import MISSING, default_accessor
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.interface.compiled import Item, Write, get_item, put_item
from autodiff_compiler.ir.nodes import Function, Region, Value, type_of
from autodiff_compiler.ir.rewrite import fresh
from autodiff_compiler.ir.types import ArrayType, ScalarType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.span import NOWHERE

#: Values of written attributes that are read at every call. Values of other types become guards.
READ_EVERY_CALL = (Tensor, np.ndarray, np.generic, int, float)


def store_outside(low: Lowering, owner: Any, name: str | Item, value: Any) -> None:
    """Writes an attribute of an outside object itself, without its class's descriptors."""
    present = None if isinstance(name, Item) else Write(owner, name).present_value(None)
    if isinstance(present, Parameter):
        if isinstance(owner, Cell):
            _refuse_number(low, str(name), value)
        store_parameter(low, present, value)
        return
    if isinstance(value, Value) and isinstance(low.original(value), Parameter):
        raise low.fail(
            UnsupportedSyntax,
            f"this makes the attribute '{name}' refer to the same Parameter as another name",
            f"assign a copy of its value: self.{name} = parameter * 1",
        )
    ref = _ref_to_write(low, owner, name)
    _name_after_heap_object(low, ref, value)
    low.state.heap[ref] = value


def _refuse_number(low: Lowering, name: str, value: Any) -> None:
    """Refuses a number in place of a Cell's Parameter, as the Cell itself does."""
    if isinstance(value, (Value, *NUMBERS)) and isinstance(type_of(value), ScalarType):
        raise low.fail(
            DTypeError,
            f"the Parameter '{name}' of a Cell cannot be assigned a number",
            f"assign a Tensor of its shape: ops.full_like(self.{name}, 3.0)",
        )


def _ref_to_write(low: Lowering, thing: Any, name: str | Item | None = None) -> HeapRef:
    """Returns the heap object of a Parameter or attribute. A heap object that is missing is created
    here, so that one lowering finds all writes; then the function is lowered again."""
    known = low.heap_object_of(thing, name)
    if known is None:
        accessors = put_item, get_item
        if not isinstance(name, Item):
            accessors = (
                default_accessor(thing, "__setattr__"),
                default_accessor(thing, "__getattribute__"),
            )
        key, write = (id(thing), name), Write(thing, name, *accessors)
        low.compilation.discovered[key] = write
        known = _create_heap_object(low, key, write)
    return known


def rebind_owned_parameters(low: Lowering) -> None:
    """Gives the written Parameters of this function's Cell values of their own, with the Cell's
    names for them. A single generated function then serves every Cell of the class.
    """
    if not low.compilation.heap_objects or not isinstance(low.owner, Cell):
        return
    names = {id(p): name for name, p in low.owner.parameters_and_names()}
    for (thing, attribute), ref in low.compilation.heap_objects.items():
        present = low.state.heap.get(ref)
        if attribute is None and thing in names and isinstance(present, Value):
            name = names[thing].lstrip("0123456789.").replace(".", "_")
            owned = low.state.heap[ref] = Value(present.type, name, True)
            low.substituted[owned] = low.caller_values[owned] = present


def create_heap_objects(low: Lowering) -> None:
    """Creates a heap object for every known write, with the value before the call."""
    for key, write in low.compilation.written.items():
        _create_heap_object(low, key, write)


def _create_heap_object(low: Lowering, key: Any, write: Write) -> HeapRef:
    """Creates a heap object that holds the value before the call."""
    name = str(write.name or write.target.name.replace(".", "_"))
    ref = low.compilation.heap_objects[key] = HeapRef(name, next(low.compilation.refs))
    present = MISSING if write.name is None else write.present_value(MISSING)
    if write.name is None:
        low.state.heap[ref] = low.lift(write.target, name)
    elif present is MISSING:
        low.compilation.guard_was_absent(write)
        low.state.heap[ref] = MISSING
    elif isinstance(present, READ_EVERY_CALL) and not isinstance(present, (bool, np.bool_)):
        source = low.compilation.attribute_input(write)
        low.state.heap[ref] = low.lift(source, name)
    else:
        low.state.heap[ref] = low.compilation.value_before(write, low.builder.span)
    return ref


def _name_after_heap_object(low: Lowering, ref: HeapRef, value: Any) -> None:
    """Gives a value without a name of the user's the name of its heap object."""
    if isinstance(value, Value) and not value.has_user_name and low.builder.producer(value):
        before = low.state.heap[ref]
        value.name = before.name if isinstance(before, Value) else ref.kind
        value.has_user_name = True


def store_parameter(low: Lowering, parameter: Parameter, value: Any) -> Any:
    """Stores a value of the same shape in a Parameter, cast to its dtype. Returns the stored
    value."""
    ref = _ref_to_write(low, parameter)
    before = low.state.heap[ref]
    assert isinstance(before, Value) and isinstance(before.type, ArrayType)
    value = low.lifted(value)
    if not isinstance(value, (Value, bool, int, float)):
        raise low.fail(
            DTypeError,
            f"a Parameter cannot be assigned a {low.described(value)}",
            "assign a Tensor of its shape",
        )
    if structure.shape_of_type(type_of(value)) != before.type.shape:
        raise low.fail(
            ShapeError,
            f"the Parameter '{parameter.name}' is {before.type} and is assigned {type_of(value)}",
            "assign a value of the same shape",
        )
    if not isinstance(value, Value):
        value = structure.full_like(before, value=value)
    new = structure.cast_like(value, before)
    if new is value and (low.builder.producer(value) is None or is_reachable(low, value)):
        new = structure.copy(value)  # the next write must change no other tensor
    _name_after_heap_object(low, ref, new)
    new = _without_gradient(low, before, new)
    write_heap_object(low, ref, new)
    return new


def _without_gradient(low: Lowering, before: Value, new: Value) -> Value:
    """Returns ``new`` as a Parameter holds it: no gradient passes to the stored value. The
    cotangent of each read goes to the Parameter itself, whose value was ``before``."""
    if not has_cotangent(before) or not low.compilation.wants_rules():
        return new
    ct = Value(new.type, f"d_{new.name}", True)
    body = Region((fresh(before), fresh(new), ct), (), (ct,))
    rule = low.compilation.unique_function(Function("kept", body, NOWHERE))
    stored = Value(new.type, new.name, new.has_user_name)
    low.builder.add(custom_rule_operation(rule, [before], (0,), [new], [stored], low.builder.span))
    return stored


def update_parameter(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Calls a function such as ``ops.assign_add``, which updates a Parameter. Returns the new
    value."""
    update = callee.parameter_update
    parameter = parameter_behind(low, args[0]) if args else None
    parameters = list(inspect.signature(update).parameters)[1:]
    if parameter is None or kwargs or len(args) != 1 + len(parameters):
        raise low.fail(
            DTypeError,
            f"{getattr(callee, '__name__', callee)} needs a Parameter and "
            f"{' and '.join(parameters)}, by position",
            "pass the Parameter itself, such as self.weight, first",
        )
    before = low.state.heap[_ref_to_write(low, parameter)]
    assert isinstance(before, Value)
    values = [low.lifted(value) for value in args[1:]]
    new = update(before, *values)
    stored = store_parameter(low, parameter, new)
    # A copy, which later writes do not change. A computed value keeps its derivative; a given one
    # is what the Parameter holds.
    is_computed = isinstance(new, Value) and all(new is not value for value in values)
    return structure.copy(structure.cast_like(new, before) if is_computed else stored)


def parameter_behind(low: Lowering, value: Any) -> Parameter | None:
    """Returns the Parameter whose current value this is; None for other values."""
    thing = low.original(value)
    if isinstance(thing, Parameter):
        return thing
    for key, write in {**low.compilation.written, **low.compilation.discovered}.items():
        if write.name is None and low.state.heap.get(low.compilation.heap_objects[key]) is value:
            return write.target
    if low.parent is None or value not in low.arguments:
        return None
    # A write to an argument: its function will be inlined where it is called.
    low.written_arrays.add(value)
    return parameter_behind(low.parent, low.arguments[value])
