"""Writes that outlive the call: to a Parameter, or to an attribute of an object from outside.

What is written is a cell of the heap from the beginning of the lowering on, so branches and loops
treat it as they treat a list. Forward returns its last value, and the run time puts it in place:
once per call, after forward has run, and never in backward. Nothing is written while forward runs,
so what backward needs of the old value is still there. A variable that holds the Parameter itself
holds what was written to it.
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
from autodiff_compiler.frontend.abstract.in_place_writes import is_reachable, write_cell
from autodiff_compiler.frontend.abstract.values import NUMBERS, HeapRef
from autodiff_compiler.frontend.core.assumptions import MISSING, default_accessor
from autodiff_compiler.frontend.core.cotangents import custom_rule_operation, has_cotangent
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.interface import Item, Write, get_item, put_item
from autodiff_compiler.ir.nodes import Function, Region, Value, type_of
from autodiff_compiler.ir.rewrite import fresh
from autodiff_compiler.ir.types import ArrayType, ScalarType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.span import NOWHERE

#: What a written attribute may hold to be read at every call; all else is a guard.
READ_ANEW = (Tensor, np.ndarray, np.generic, int, float)


def store_outside(low: Lowering, owner: Any, name: str | Item, value: Any) -> None:
    """Writes an attribute of an outside object, as its own."""
    held = None if isinstance(name, Item) else Write(owner, name).held(None)
    if isinstance(held, Parameter):
        if isinstance(owner, Cell):
            _refuse_number(low, str(name), value)
        store_parameter(low, held, value)
        return
    if isinstance(value, Value) and isinstance(low.original(value), Parameter):
        raise low.fail(
            UnsupportedSyntax,
            f"this makes the attribute '{name}' refer to the same Parameter as another name",
            f"assign a copy of its value: self.{name} = parameter * 1",
        )
    cell = _cell_to_write(low, owner, name)
    _name(low, cell, value)
    low.state.heap[cell] = value


def _refuse_number(low: Lowering, name: str, value: Any) -> None:
    """A Cell lets no number stand in the place of its Parameter, and neither does its text."""
    if isinstance(value, (Value, *NUMBERS)) and isinstance(type_of(value), ScalarType):
        raise low.fail(
            DTypeError,
            f"the Parameter '{name}' of a Cell cannot be assigned a number",
            f"assign a Tensor of its shape: ops.full_like(self.{name}, 3.0)",
        )


def _cell_to_write(low: Lowering, thing: Any, name: str | Item | None = None) -> HeapRef:
    """The cell that stands for a Parameter or an attribute. One that was not known of lives
    from here on, for the time being, so that one lowering finds all of them."""
    found = low.compilation.heap_object_of(low.state.heap, thing, name)
    if found is None:
        ways = put_item, get_item
        if not isinstance(name, Item):
            ways = (
                default_accessor(thing, "__setattr__"),
                default_accessor(thing, "__getattribute__"),
            )
        key, write = (id(thing), name), Write(thing, name, *ways)
        low.compilation.discovered[key] = write
        found = _begin_cell(low, key, write)
    return found


def begin_own_cells(low: Lowering) -> None:
    """The written Parameters of this text's owner are values of its own, called as the owner
    calls them, so that one text serves every owner."""
    if not low.compilation.heap_objects or not isinstance(low.owner, Cell):
        return
    names = {id(p): name for name, p in low.owner.parameters_and_names()}
    for (thing, attribute), cell in low.compilation.heap_objects.items():
        held = low.state.heap.get(cell)
        if attribute is None and thing in names and isinstance(held, Value):
            name = names[thing].lstrip("0123456789.").replace(".", "_")
            own = low.state.heap[cell] = Value(held.type, name, True)
            low.substituted[own] = low.caller_values[own] = held


def begin_cells(low: Lowering) -> None:
    """Gives every cell of the outside world that the text writes its value before the call."""
    for key, write in low.compilation.written.items():
        _begin_cell(low, key, write)


def _begin_cell(low: Lowering, key: Any, write: Write) -> HeapRef:
    """Makes a cell that holds the value before the call."""
    name = str(write.name or write.target.name.replace(".", "_"))
    cell = low.compilation.heap_objects[key] = HeapRef(name, next(low.compilation.refs))
    held = MISSING if write.name is None else write.held(MISSING)
    if write.name is None:
        low.state.heap[cell] = low.lift(write.target, name)
    elif held is MISSING:
        low.compilation.guard_was_absent(write)
        low.state.heap[cell] = MISSING
    elif isinstance(held, READ_ANEW) and not isinstance(held, (bool, np.bool_)):
        source = low.compilation.attribute_input(write)
        low.state.heap[cell] = low.lift(source, name)
    else:
        low.state.heap[cell] = low.compilation.before(write, low.builder.span)
    return cell


def _name(low: Lowering, cell: HeapRef, value: Any) -> None:
    """A value that nobody named takes the name of the cell that it is put in."""
    if isinstance(value, Value) and not value.has_user_name and low.builder.producer(value):
        before = low.state.heap[cell]
        value.name = before.name if isinstance(before, Value) else cell.kind
        value.has_user_name = True


def store_parameter(low: Lowering, parameter: Parameter, value: Any) -> Any:
    """Gives a Parameter a new value, in its own dtype; its shape stays. Gives the Parameter."""
    cell = _cell_to_write(low, parameter)
    before = low.state.heap[cell]
    assert isinstance(before, Value) and isinstance(before.type, ArrayType)
    value = low.lifted(value)
    if not isinstance(value, (Value, bool, int, float)):
        raise low.fail(
            DTypeError, f"a Parameter cannot be assigned a {low.described(value)}",
            "assign a Tensor of its shape",
        )  # fmt: skip
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
        new = structure.copy(value)  # of its own: the next write changes no other tensor
    _name(low, cell, new)
    new = _kept(low, before, new)
    write_cell(low, cell, new)
    return new


def _kept(low: Lowering, before: Value, new: Value) -> Value:
    """``new`` as a Parameter holds it from now on: no gradient passes through what is stored,
    and each read counts for the Parameter itself, whose value was ``before``."""
    if not low.compilation.differentiates or not has_cotangent(before):
        return new
    ct = Value(new.type, f"d_{new.name}", True)
    body = Region((fresh(before), fresh(new), ct), (), (ct,))
    rule = low.compilation.share(Function("kept", body, NOWHERE))
    kept = Value(new.type, new.name, new.has_user_name)
    low.builder.add(custom_rule_operation(rule, [before], (0,), [new], [kept], low.builder.span))
    return kept


def update_parameter(
    low: Lowering, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Calls a function such as ``ops.assign_add``, which gives a Parameter a new value."""
    update = callee.parameter_update
    parameter = parameter_behind(low, args[0]) if args else None
    wanted = list(inspect.signature(update).parameters)[1:]
    if parameter is None or kwargs or len(args) != 1 + len(wanted):
        raise low.fail(
            DTypeError,
            f"{getattr(callee, '__name__', callee)} needs a Parameter and "
            f"{' and '.join(wanted)}, by position",
            "pass the Parameter itself, such as self.weight, first",
        )
    before = low.state.heap[_cell_to_write(low, parameter)]
    assert isinstance(before, Value)
    values = [low.lifted(value) for value in args[1:]]
    new = update(before, *values)
    stored = store_parameter(low, parameter, new)
    # The value of now: what is written later does not change it. A sum that was computed has
    # its derivative; what was given is what the Parameter holds.
    computed = isinstance(new, Value) and all(new is not value for value in values)
    return structure.copy(structure.cast_like(new, before) if computed else stored)


def parameter_behind(low: Lowering, value: Any) -> Parameter | None:
    """The Parameter whose value, as it stands now, this is. No two have one and the same."""
    found = low.original(value)
    if isinstance(found, Parameter):
        return found
    for key, write in {**low.compilation.written, **low.compilation.discovered}.items():
        if write.name is None and low.state.heap.get(low.compilation.heap_objects[key]) is value:
            return write.target
    if low.parent is None or value not in low.arguments:
        return None
    # An argument of a text that writes to it: that text is written out where it is called.
    low.written_arrays.add(value)
    return parameter_behind(low.parent, low.arguments[value])
