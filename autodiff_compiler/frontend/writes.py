"""Writes that outlive the call: to a Parameter, or to an attribute of an object from outside.

What is written is a cell of the heap from the beginning of the lowering on, so branches and loops
treat it as they treat a list. Forward returns its last value, and the run time puts it in place:
once per call, after forward has run, and never in backward. Nothing is written while forward runs,
so what backward needs of the old value is still there.
"""

from __future__ import annotations

import inspect
from typing import Any

import gast

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.errors import DTypeError, ShapeError, UnsupportedSyntax
from autodiff_compiler.frontend.calls import Calls
from autodiff_compiler.frontend.rules import CONTEXT
from autodiff_compiler.frontend.values import Ref
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators import structure


class Writes(Calls):
    """Adds writes to ``Calls``."""

    def store_attribute(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``."""
        if isinstance(owner, Ref) and owner.kind == CONTEXT:
            self.state.heap[owner] = {**self.state.heap[owner], name: value}
            return
        if isinstance(owner, Ref) and owner.kind == "object":
            self.store_in_object(owner, name, value)
            return
        if isinstance(owner, (Value, Ref)) or self.world.path(owner) is None:
            raise self.fail(
                UnsupportedSyntax,
                f"the attribute '{name}' of a {self.described(owner)} cannot be set",
                "keep it in a variable, and return it",
            )
        held = getattr(owner, name, None)
        if isinstance(held, Parameter):
            self.store_parameter(held, value)
            return
        self._put(self.world.cell_to_write(owner, name), value)

    def _put(self, cell: Ref, value: Any) -> None:
        if isinstance(value, Value) and not value.given and self.builder.producer(value):
            value.name, value.given = cell.kind, True
        self.state.heap[cell] = value

    def store_parameter(self, parameter: Parameter, value: Any) -> Any:
        """Gives a Parameter a new value, in its own dtype; its shape stays."""
        cell = self.world.cell_to_write(parameter)
        before = self.state.heap[cell]
        assert isinstance(before, Value) and isinstance(before.type, ArrayType)
        value = self.lifted(value)
        if not isinstance(value, Value):
            if not isinstance(value, (bool, int, float)):
                raise self.fail(
                    DTypeError, f"a Parameter cannot be set to a {self.described(value)}",
                    "assign a Tensor or a number",
                )  # fmt: skip
            value = structure.full_like(before, value=value)
        have = structure.shape_of_type(value.type)
        if have != before.type.shape:
            raise self.fail(
                ShapeError,
                f"the Parameter '{parameter.name}' is {before.type} and is given {value.type}",
                "assign a value of the same shape",
            )
        new = structure.cast_like(value, before)
        self._put(cell, new)
        return new

    def call_node(self, callee: Any, node: Any) -> Any:
        update = getattr(callee, "parameter_update", None)
        if update is None:
            return super().call_node(callee, node)
        parameter = self._outside(node.args[0]) if node.args else None
        wanted = list(inspect.signature(update).parameters)[1:]
        if not isinstance(parameter, Parameter) or len(node.args) != 1 + len(wanted):
            raise self.fail(
                DTypeError,
                f"{callee!r} needs a Parameter and {' and '.join(wanted)}, by position",
                "name the Parameter itself, such as self.weight",
            )
        before = self.state.heap[self.world.cell_to_write(parameter)]
        values = [self.lifted(self.evaluate(node)) for node in node.args[1:]]
        return self.store_parameter(parameter, update(before, *values))

    def _outside(self, node: Any) -> Any:
        """The object outside that an expression names."""
        if isinstance(node, gast.Attribute):
            owner = self.evaluate(node.value)
            if not isinstance(owner, (Value, Ref)):
                return getattr(owner, node.attr, None)
        found = self.evaluate(node)
        return self.original(found)
