"""One function in the making: its parameters, and the outside arrays that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.random import Generator
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.common.tensor_data import objection_to
from autodiff_compiler.errors import DTypeError
from autodiff_compiler.frontend.abstract.heap import detach
from autodiff_compiler.frontend.abstract.numpy_views import note
from autodiff_compiler.frontend.abstract.values import Frame, HeapRef, State, as_tuple, leaves
from autodiff_compiler.frontend.core.assumptions import MISSING
from autodiff_compiler.frontend.core.compilation import Compilation
from autodiff_compiler.frontend.core.naming import NAMELESS, label_of, owner_of
from autodiff_compiler.frontend.statements.simple import Statements
from autodiff_compiler.interface import Assumption, PythonFunction
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Region, Value, type_of
from autodiff_compiler.ir.opdef import PRECISION, value_type
from autodiff_compiler.ir.rewrite import free_values, use_counts
from autodiff_compiler.ir.types import (
    FUNCTION,
    SHORT,
    ArrayType,
    in_double,
)
from autodiff_compiler.operators.core import containers
from autodiff_compiler.span import NOWHERE


class Lowering(Statements):
    """One function in the making."""

    def __init__(
        self, world: Compilation, parent: Lowering | None = None, label: str = "", owner: Any = None
    ):
        self.world, self.parent, self.label, self.owner = world, parent, label, owner
        self.builder = Builder(self.lift, self.call_inside, self.known)
        if parent:
            self.builder.span = parent.builder.span
        self.builder.watch = self.added
        self.state = State()
        around = parent.frame if parent else Frame(None, None)
        self.frame = Frame(around.source, around.function, tree=around.text)
        self.loop_params = set()
        self.waiting = []
        self.taken, self.wrote = {}, set()
        self.handed = {}
        self.parameters: list[Value] = []
        self.arguments: dict[Value, Any] = {}
        self.hoisted: dict[int, tuple[Any, Value]] = {}
        self.hooks: list[tuple[Value, Op]] = []

    def added(self, op: Op) -> None:
        """An operation is added to this function."""
        for result in op.results:
            self._check_dtype(result.type)
        self.refuse_raising(op)
        if self.world.numpy:
            note(self, op)

    def _check_dtype(self, type_: Any) -> None:
        """Refuse arrays of strings and objects, which may be made but not computed with."""
        dtype = type_.dtype if isinstance(type_, ArrayType) else None
        if dtype is not None and dtype not in SHORT:
            raise self.fail(
                DTypeError,
                f"arrays of dtype {dtype.rstrip('0123456789')} are not supported",
                "use an array of numbers or bools, or a Python list",
            )

    # ---- parameters

    def parameter_of(self, name: str, value: Any) -> Any:
        """``value`` of the caller as this function sees it: a parameter, where it is not known."""
        before = detach(value, self.state)
        if not any(isinstance(leaf, Value) for leaf in leaves(before)):
            return value
        with self.parent.builder if self.parent else self.builder:
            type_ = type_of((self.parent or self).packed(value))
        param = Value(type_, name, True)
        self.parameters.append(param)
        self.arguments[param] = value
        seen = self.projected(param, value, name)
        pairs = zip(leaves(detach(seen, self.state)), leaves(before))
        for leaf, its in pairs:
            if isinstance(leaf, Value):
                self.taken[leaf] = its
                self.world.memory.stands(leaf, self.world.memory.is_array(its))
        return seen

    def projected(self, param: Value, like: Any, name: str) -> Any:
        """The parts of a container parameter, in the structure of ``like``; what lists and dicts
        hold is so from here on."""
        if isinstance(like, HeapRef):
            self.state.heap[like] = self.projected(param, self.state.heap[like], name)
            return like
        if isinstance(like, (dict, tuple)):
            parts = like.items() if isinstance(like, dict) else enumerate(like)
            made = {}
            for key, part in parts:
                if isinstance(part, Value) or any(True for _ in leaves(detach(part, self.state))):
                    item = containers.item(param, key=key)
                    item.name, item.has_user_name = f"{name}_{key}", True
                    made[key] = self.projected(item, part, f"{name}_{key}")
                else:
                    made[key] = part
            return made if isinstance(like, dict) else as_tuple(like, made.values())
        return param if isinstance(like, Value) else like

    def lift(self, thing: Any, name: str = "") -> Value:
        """An outside array as a parameter of this function, once however often it is read."""
        if id(thing) not in self.hoisted:
            array = thing if isinstance(thing, (np.ndarray, np.generic)) else self._data_of(thing)
            type_ = FUNCTION if isinstance(thing, PythonFunction) else value_type(array)
            self._check_dtype(type_)
            if isinstance(array, (np.ndarray, np.generic)) and (told := objection_to(array)):
                raise self.fail(DTypeError, *told)
            if isinstance(thing, Tensor):
                self.watch(thing, self.world.path(thing))
            if PRECISION.double:
                type_ = in_double(type_)
            name = name or self._name_of(thing)
            value = Value(type_, name or NAMELESS, bool(name))
            self.world.memory.stands(value, isinstance(array, np.ndarray))
            self.hoisted[id(thing)] = (thing, value)
            self.world.lifted[id(thing)] = thing
        return self.hoisted[id(thing)][1]

    def _data_of(self, thing: Any) -> Any:
        """What a tensor, a Parameter or another input is at run time."""
        if isinstance(thing, type) or not hasattr(thing, "_data"):
            raise self.fail(
                DTypeError,
                f"a {type(thing).__name__} cannot be an operand, or an item of an array",
                "use a number or an array here",
            )
        return thing._data

    def known(self, value: Value) -> Any:
        """The array that stands behind a value from outside, assumed to stay as it is; None for
        what is not known while compiling: a Parameter, or anything that is computed."""
        if value in self.arguments and self.parent:
            return self.parent.known(self.arguments[value])
        found = [thing for thing, its in self.hoisted.values() if its is value]
        if not found:
            return self.parent.known(value) if self.parent else None
        (thing,) = found
        if type(thing) is not Tensor and not isinstance(thing, np.ndarray):
            return None
        path = self.world.path(thing)
        array = np.array(thing)
        if path is not None:
            key = path if isinstance(thing, np.ndarray) else f"{path}._data"
            self.world.assumptions[key, "equal"] = Assumption(key, "equal", array)
        return array

    def _name_of(self, thing: Any) -> str:
        if isinstance(thing, Generator) and thing.name:
            return thing.name
        path = self.world.path(thing) or ""
        last = path.replace("].", ".").rstrip("]'\"").rpartition(".")[2].rpartition("['")[2]
        name = last if last.isidentifier() else ""
        if not name and isinstance(thing, Parameter):
            name = thing.name.rpartition(".")[2]
        if name.isidentifier() and name != "cell_contents":
            return name
        return "generator" if isinstance(thing, Generator) else ""

    def name_outside(self, thing: Any) -> str:
        """What the caller calls an array that this function reads: ``fc1_weight``."""
        inner = self.hoisted[id(thing)][1].name
        known_to_all = isinstance(thing, Generator) and thing.name
        return f"{self.label}_{inner}" if self.label and not known_to_all else inner

    def original(self, arg: Any) -> Any:
        """Outside arrays as the objects they are."""
        if isinstance(arg, Value):
            if arg in self.world.uncast:
                thing = self.original(self.world.uncast[arg])
                return arg if isinstance(thing, Value) else thing
            found = [thing for thing, value in self.hoisted.values() if value is arg]
            if found or self.parent is None:
                return found[0] if found else arg
            # A value of the text around may be an array's, and so what stands for it here.
            return self.parent.original(self.handed.get(arg, arg))
        if isinstance(arg, HeapRef) and arg.kind == "dict":
            return {key: self.original(item) for key, item in self.state.heap[arg].items()}
        if isinstance(arg, HeapRef):
            return [self.original(item) for item in self.state.heap[arg]]
        if type(arg) in (tuple, list):
            return type(arg)(self.original(item) for item in arg)
        return arg

    def slot_of(self, value: Value) -> int | None:
        """Which argument of the call a value is, if it is one."""
        there = self.taken.get(value, self.handed.get(value, value))
        return self.parent.slot_of(there) if self.parent else self.world.slots.get(value)

    def parameter(self, value: Value) -> Parameter | None:
        thing = self.original(value)
        if not isinstance(thing, Value):
            return thing if isinstance(thing, Parameter) else None
        value = self.world.uncast.get(value, value)
        there = self.taken.get(value, self.handed.get(value, value))
        return self.parent.parameter(there) if self.parent else None

    def trainable(self) -> tuple[Any, ...]:
        """The trainable Parameters that were read, in order; one that is frozen later, or thawed,
        is another question."""
        read = [thing for thing, _ in self.hoisted.values() if isinstance(thing, Parameter)]
        for parameter in read:
            if (path := self.world.path(parameter)) is not None:
                self.world.assume(f"{path}.requires_grad", parameter.requires_grad)
        return tuple(parameter for parameter in read if parameter.requires_grad)

    def child(self, callee: Any) -> Lowering:
        owner = owner_of(callee)
        same = owner is not None and owner is self.owner  # a method calls one of its own Cell
        return Lowering(self.world, self, "" if same else label_of(self.world.path(owner)), owner)

    def _is_made(self, thing: Any) -> bool:
        """Whether this array is made by the text while it is compiled: such ones come last, for
        the generated source has values for them."""
        is_array = isinstance(thing, (np.ndarray, np.generic))
        return is_array and self.world.path(thing) is None

    def finish(
        self,
        returned: Any,
        name: str,
        title: str,
        keep: Sequence[Any] = (),
        written: Sequence[AnyOperand] = (),
    ) -> tuple[Function, list[Any]]:
        """The finished function, and what its parameters after the arguments are: values of the
        function around it, then outside arrays."""
        yields = () if returned is MISSING else (returned, *written)
        if (
            isinstance(returned, Value)
            and not returned.has_user_name
            and self.builder.producer(returned)
        ):
            returned.name, returned.has_user_name = "out", True
        body = self.with_hooks(Region((), tuple(self.builder.ops), yields))
        yields = body.yields
        used = {*free_values(body), *use_counts(body)}
        lifted = {value for _, value in self.hoisted.values()}
        own = {*self.parameters, *lifted}
        captured = [value for value in free_values(body) if value not in own]
        outside = [
            (thing, value) for thing, value in self.hoisted.values()
            if value in used or any(thing is kept for kept in keep)
        ]  # fmt: skip
        outside.sort(key=lambda pair: self._is_made(pair[0]))
        params = (*self.parameters, *captured, *(value for _, value in outside))
        span = self.started or NOWHERE
        function = Function(name, Region(params, body.ops, yields), span, title)
        return function, [
            *(self.handed.get(value, value) for value in captured),
            *(thing for thing, _ in outside),
        ]
