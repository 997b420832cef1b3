"""Containers and attributes: what is inside a compile-time value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import gast
import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import (
    UnknownAttribute,
    UnsupportedSyntax,
)
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.abstract import numpy_sharing
from autodiff_compiler.frontend.abstract.iterators import begun, gone_through, named
from autodiff_compiler.frontend.abstract.numpy_names import ARRAY_METHODS, ARRAY_PROPERTIES
from autodiff_compiler.frontend.abstract.values import (
    Closure,
    ContainerMethod,
    DictView,
    Frame,
    HeapRef,
    InPlaceTensorMethod,
    LazyIterable,
    NeedsKnownValue,
    Own,
    SuperProxy,
    TensorMethod,
    own_name,
)
from autodiff_compiler.frontend.core.compilation import suggested
from autodiff_compiler.frontend.core.outside_items import without_dict
from autodiff_compiler.frontend.expressions.subscripts import Subscripts
from autodiff_compiler.frontend.library.numpy_writes import WRITING_METHODS
from autodiff_compiler.frontend.syntax import builders
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import TupleType
from autodiff_compiler.mindspore_names.suggestions import no_such
from autodiff_compiler.operators.core import scalar_conversion, structure
from autodiff_compiler.operators.elementwise import arithmetic
from autodiff_compiler.ops.methods.in_place import IN_PLACE
from autodiff_compiler.ops.methods.table import METHODS, PROPERTIES

#: What a comprehension goes through, and what it collects, in variables of its own.
SOURCE, ITEMS = own_name("source"), own_name("collected")


def _item(x: Value) -> Any:
    """The only element as a Python number."""
    dtype = x.dtype_name or "float64"
    kind = "float" if "float" in dtype else "bool" if dtype == "bool" else "int"
    return scalar_conversion.to_number(x, kind=kind)


#: Methods that leave the world of tensors: as in MindSpore, no gradient goes through them.
BARRIERS: dict[str, Callable[..., Any]] = {
    "asnumpy": arithmetic.stop_gradient, "numpy": arithmetic.stop_gradient, "item": _item,
}  # fmt: skip


#: What to write for methods that leave the world of arrays.
INSTEAD = {"tolist": "index it or loop over it: x[0], or 'for row in x'"}
#: What a Parameter has beside its numbers.
OF_PARAMETERS = ("name", "requires_grad")


class Access(Subscripts):
    """Adds containers and attributes to ``Subscripts``."""

    # ---- containers

    def _items(self, nodes: Sequence[Any]) -> list[Any]:
        values = self.evaluate_all([getattr(node, "value", node) if isinstance(node, gast.Starred)
                                    else node for node in nodes])  # fmt: skip
        items: list[Any] = []
        for node, value in zip(nodes, values):
            items.extend(self.sequence(value) if isinstance(node, gast.Starred) else [value])
        return items

    def eval_Tuple(self, node: Any) -> Any:
        return tuple(named(self, item) for item in self._items(node.elts))

    def eval_List(self, node: Any) -> Any:
        return self.new_list([named(self, item) for item in self._items(node.elts)])

    def eval_Dict(self, node: Any) -> Any:
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                made.update(self.contents(self.evaluate(value)))
            else:
                made[self._dict_key(self.evaluate(key))] = named(self, self.evaluate(value))
        return self.allocate("dict", made)

    def _dict_key(self, key: Any) -> Any:
        if isinstance(key, Value) and self.parameter(key) is not None:
            raise self.fail(
                UnsupportedSyntax,
                "a Parameter cannot be a dict key in compiled code",
                "use the Parameter's name as the key; a bprop returns gradients of its "
                "inputs only, so there pass the Parameter as an input",
            )
        return self.static(key, "a dict key")

    def eval_Set(self, node: Any) -> Any:
        return frozenset(self.static(item, "an item of a set") for item in self._items(node.elts))

    def eval_ListComp(self, node: Any) -> Any:
        found = self._comprehended(node, [node.elt])
        return found if isinstance(found, HeapRef) else self.new_list(found)

    def eval_GeneratorExp(self, node: Any) -> Any:
        """An iterator that makes its items; where it is used up at once (``spot``) the items."""
        if not getattr(node, "spot", False):
            source = self.evaluate(node.generators[0].iter)
            text = Closure(node, self.frame, (), "<genexpr>")
            kept = LazyIterable("generator", (source, ()), function=text)
            later = self.is_loop(source)
            return self.allocate("iterator", kept) if later else begun(self, kept)
        found = self._comprehended(node, [node.elt])
        return found if isinstance(found, HeapRef) else tuple(found)

    def comprehended(self, text: Closure, source: Any) -> Any:
        """All that a generator expression gives which goes through ``source``."""
        found = self._comprehended(text.tree, [text.tree.elt], source, text.frame)
        return found if isinstance(found, HeapRef) else tuple(found)

    def generated(self, text: Closure, item: Any) -> list[Any]:
        """What a generator expression gives for an item of its first source."""
        found: list[Any] = []
        first, *rest = text.tree.generators
        with self._comprehending(text.tree, text.frame):
            self._generate_from(first, item, rest, [text.tree.elt], found)
        return found

    def eval_SetComp(self, node: Any) -> Any:
        items = self.sequence(self._comprehended(node, [node.elt]))
        return frozenset(self.static(item, "an item of a set") for item in items)

    def eval_DictComp(self, node: Any) -> Any:
        pairs = self.sequence(self._comprehended(node, [node.key, node.value]))
        made = {self.static(key, "a dict key"): value for key, value in pairs}
        return self.allocate("dict", made)

    def _comprehended(
        self, node: Any, wanted: Sequence[Any], source: Any = None, around: Frame | None = None
    ) -> list[Any] | HeapRef:
        """The items of a comprehension, whose variables are its own: written out, or if they are
        many, or nobody knows how many, the list that a loop makes."""
        source = self.evaluate(node.generators[0].iter) if source is None else source
        items: list[Any] = []
        with self._comprehending(node, around or self.frame):
            before = self.state.fork()
            try:
                if len(wanted) == 1 and self.is_loop(source):
                    return self._collected(node, source)
                self._generate(list(node.generators), wanted, items, source)
            except NeedsKnownValue:
                if len(wanted) > 1 or not any(part.ifs for part in node.generators):
                    raise
                self.state.become(before)
                return self._collected(node, source)
        return items

    @contextmanager
    def _comprehending(self, node: Any, around: Frame) -> Iterator[None]:
        """Inside, a comprehension of the frame ``around`` is evaluated. What ``:=`` sets in it is a
        variable of that frame."""
        targets = [part.target for part in nodes_in(node) if isinstance(part, gast.NamedExpr)]
        bound = [target.id for target in targets if isinstance(target, gast.Name)]
        if bound and around is not self.frame:
            raise self.fail(
                UnsupportedSyntax,
                "a generator expression that assigns a variable with ':=' is consumed in "
                "another function",
                "make it a list first: [... for ... in ...]",
            )
        held = {name: self.state.names[name] for name in bound if name in self.state.names}
        with self.inside(Frame(around.source, around.function, around), held):
            yield
            held = {name: self.state.names[name] for name in bound if name in self.state.names}
        self.state.names |= held

    def _collected(self, node: Any, source: Any) -> HeapRef:
        """The list that a loop makes of a comprehension."""
        if not hasattr(node, "collecting"):
            node.collecting = builders.collecting(node, SOURCE, ITEMS)
        self.state.names |= {SOURCE: source, ITEMS: self.new_list(())}
        self.execute(node.collecting)
        made: HeapRef = self.certainly(self.state.names[ITEMS])
        return made

    def is_loop(self, iterable: Any) -> bool:
        """Whether a comprehension over ``iterable`` becomes a loop."""
        raise NotImplementedError

    def execute(self, node: Any) -> Any:
        """Lowers a statement."""
        raise NotImplementedError

    def inside(self, frame: Frame, names: dict[str, Any]) -> AbstractContextManager[None]:
        """``frame`` is the present one, with these variables, until the end of the block."""
        raise NotImplementedError

    def _generate(
        self, generators: list[Any], wanted: Sequence[Any], items: list[Any], source: Any = None
    ) -> None:
        if not generators:
            values = [self.evaluate(node) for node in wanted]
            items.append(values[0] if len(values) == 1 else tuple(values))
            return
        first, *rest = generators
        source = self.evaluate(first.iter) if source is None else source
        for item in gone_through(self, source):
            self._generate_from(first, item, rest, wanted, items)

    def _generate_from(
        self, first: Any, item: Any, rest: list[Any], wanted: Sequence[Any], items: list[Any]
    ) -> None:
        self.assign(first.target, item)
        tests = (self.truth(self.evaluate(test)) for test in first.ifs)
        if all(self.static(test, "the condition of a comprehension") for test in tests):
            self._generate(rest, wanted, items)

    def assign(self, target: Any, value: Any) -> None:
        """Binds a target."""
        raise NotImplementedError

    # ---- attributes

    def finds_missing(self, owner: Any, name: str) -> bool:
        """Return True if a compiled ``__getattr__`` looks up an attribute that is missing."""
        raise NotImplementedError

    def read(self, owner: Any, name: str) -> Any:
        """An attribute of an object that this text made, or of one from outside."""
        raise NotImplementedError

    def store_attribute(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``."""
        raise NotImplementedError

    def eval_Attribute(self, node: Any) -> Any:
        return self.attribute(self.evaluate(node.value), node.attr)

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name``."""
        if isinstance(owner, SuperProxy) or isinstance(owner, HeapRef) and owner.kind == "object":
            return self.read(owner, name)
        if isinstance(owner, HeapRef):
            kind = {"list": list, "dict": dict}.get(owner.kind, object)
            if not hasattr(kind, name):
                raise self.fail(
                    UnknownAttribute, f"a {owner.kind} has no attribute '{name}'",
                    suggested(name, dir(kind)) or f"use a method that every {owner.kind} has",
                )  # fmt: skip
            return ContainerMethod(owner, name)
        if isinstance(owner, Value):
            return self._value_attribute(owner, name)
        self.refuse_foreign(owner, installed=True)
        if isinstance(owner, Own):
            raise without_dict(self, self.state.heap[owner.ref]["__class__"])
        if isinstance(owner, DictView):
            kind = type(getattr({}, owner.kind)())
            raise self.fail(
                UnknownAttribute,
                f"the attribute '{name}' of a {kind.__name__} is not supported in compiled code",
                "loop over it, or use the dict itself",
            )
        if isinstance(owner, Closure) and name == "__name__":
            return owner.name
        return self.read(owner, name)

    def _value_attribute(self, owner: Value, name: str) -> Any:
        if name == "shape":
            return self.shape(owner)
        if isinstance(owner.type, TupleType):
            return getattr((), name)
        if self.world.numpy:
            return self._array_attribute(owner, name)
        if name in OF_PARAMETERS and (parameter := self.parameter(owner)) is not None:
            return self.world.attribute(parameter, name, self.builder.span)
        if name in PROPERTIES:
            return PROPERTIES[name](owner)
        if name == "register_hook":
            return TensorMethod(owner, Tensor.register_hook)
        if name in BARRIERS:
            return TensorMethod(owner, BARRIERS[name])
        if name in IN_PLACE:
            return InPlaceTensorMethod(owner, IN_PLACE[name])
        if name in METHODS:
            return TensorMethod(owner, METHODS[name])
        if not hasattr(Tensor, name):
            known = [*METHODS, *PROPERTIES, "shape"]
            raise self.builder.placed(no_such("Tensor", name, known))
        raise self.fail(
            UnknownAttribute,
            f"the Tensor method '{name}' is not supported in compiled code",
            INSTEAD.get(name)
            or "use a function of ops instead; 'autodiff-compiler ops' lists them",
        )

    def _array_attribute(self, owner: Value, name: str) -> Any:
        """An attribute of an array in plain NumPy code."""
        if name in ARRAY_PROPERTIES:
            made = ARRAY_PROPERTIES[name](owner)
            return numpy_sharing.settled(
                self, numpy_sharing.ATTRIBUTES[name], name, [owner], {}, made, True
            )
        if name in ARRAY_METHODS:
            return TensorMethod(owner, ARRAY_METHODS[name], name)
        if name in WRITING_METHODS:
            return TensorMethod(owner, WRITING_METHODS[name], name)
        exists = hasattr(np.ndarray, name)
        raise self.fail(
            UnknownAttribute,
            f"the ndarray attribute '{name}' is not supported in compiled code"
            if exists else f"an ndarray has no attribute '{name}'",
            INSTEAD.get(name)
            or suggested(name, [*ARRAY_METHODS, *WRITING_METHODS, *ARRAY_PROPERTIES, "shape"])
            or "use a NumPy function that returns a new array",
        )  # fmt: skip

    def shape(self, value: Value) -> Any:
        """``value.shape``: ints where they are known."""
        shape = structure.shape_of_type(value.type)
        if shape is None:
            return structure.shape_of(value)
        return tuple(
            dim if isinstance(dim, int) else scalar_conversion.dim(value, axis=axis)
            for axis, dim in enumerate(shape)
        )

    # ---- the rest

    def eval_Lambda(self, node: Any) -> Any:
        return self.closure(node, node.args, "<lambda>")

    def closure(self, tree: Any, args: Any, name: str) -> Closure:
        """An inner function: it sees the variables around it as they are when it is called."""
        nodes = [*args.defaults, *(d for d in args.kw_defaults if d is not None)]
        defaults = tuple(self.evaluate(node) for node in nodes)
        return Closure(tree, self.frame, defaults, name)

    def shown(self, value: Any) -> Any:
        """A compile-time value without run-time parts as the Python object that it stands for."""
        if isinstance(value, HeapRef):
            method = self.special(value, "__str__") or self.special(value, "__repr__")
            if method is not None:
                return self.static(self.call(method, (), {}), "text")
            inside = self.shown(self.contents(value))
            return list(inside) if value.kind == "list" else inside
        self.world.assume_held(value)
        if isinstance(value, dict):
            return {key: self.shown(item) for key, item in value.items()}
        if type(value) is tuple:
            return tuple(map(self.shown, value))
        return self.static(value, "text")
