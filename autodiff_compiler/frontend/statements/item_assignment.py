"""Writes to items: of lists and dicts that the text made, and of tensors, under all their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import DTypeError, UnsupportedSyntax
from autodiff_compiler.frontend.abstract import numpy_views, runtime_lists
from autodiff_compiler.frontend.abstract.aliasing import copied, written
from autodiff_compiler.frontend.abstract.values import HeapRef, leaves
from autodiff_compiler.frontend.control_flow.exceptions import Raising
from autodiff_compiler.frontend.core import outside_items
from autodiff_compiler.ir.nodes import Value, type_of
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.operators.elementwise import arithmetic
from autodiff_compiler.operators.indexing import indexing, scatter_reduce
from autodiff_compiler.operators.indexing.concat_and_pad import stack
from autodiff_compiler.ops.methods.in_place import as_before

#: What ``ufunc.at`` does.
_AT = {
    np.add: indexing.add_at, np.subtract: indexing.add_at, np.multiply: scatter_reduce.multiply_at,
    np.maximum: scatter_reduce.maximum_at, np.minimum: scatter_reduce.minimum_at,
}  # fmt: skip
#: And what it computes at a place that is surely named once.
_ONCE = {
    np.multiply: arithmetic.mul, np.maximum: arithmetic.maximum, np.minimum: arithmetic.minimum
}  # fmt: skip


class Storing(Raising):
    """Adds writes to items to ``Raising``."""

    def store(self, owner: Any, key: Any, value: Any) -> None:
        """``owner[key] = value``."""
        method = self.special(owner, "__setitem__")
        if method is not None:
            self.call(method, (key, value), {})
            return
        if outside_items.store(self, owner, key, value):
            return
        if isinstance(owner, HeapRef) and self._store_in_long(owner, key, value):
            return
        if isinstance(owner, HeapRef):
            if isinstance(key, slice):
                ends = (key.start, key.stop, key.step)
                key = slice(*(self.static(end, "a bound") for end in ends))
            key = self.static(key, "an index into a list or dict")
            contents = self.contents(owner)
            if not isinstance(contents, (dict, list, tuple)):
                raise self.fail(
                    DTypeError,
                    f"the items of a {self.described(owner)} cannot be set",
                    "assign items of a list or dict",
                )
            changed = dict(contents) if isinstance(contents, dict) else list(contents)
            if isinstance(key, slice):
                value = self.sequence(value)
            try:
                changed[key] = value
            except (LookupError, TypeError, ValueError) as error:
                if isinstance(error, IndexError):
                    raise self.no_item(contents, key, error) from None
                raise self.translate(error, "assigning this item fails") from None
            self.state.heap[owner] = changed if isinstance(changed, dict) else tuple(changed)
        elif isinstance(owner, Value) and isinstance(owner.type, ArrayType):
            self._store_in_tensor(owner, key, value)
        else:
            raise self.fail(
                DTypeError,
                f"the items of a {self.described(owner)} cannot be set here",
                "assign items of a Tensor, or of a list or dict that the function itself made",
            )

    def _store_in_long(self, owner: HeapRef, key: Any, value: Any) -> bool:
        """Sets an item of a list of run-time length, or at a run-time position; whether it did."""
        contents = self.state.heap[owner]
        if self._wants_long(contents, key):
            contents = runtime_lists.as_long(self, contents)
        if not runtime_lists.is_long(contents) or isinstance(key, slice):
            self.contents(owner)
            return False
        self.state.heap[owner] = runtime_lists.set_item(self, contents, key, value)
        return True

    def _store_in_tensor(self, owner: Value, key: Any, value: Any) -> None:
        """``owner[key] = value``, where the value is a tensor, a number or a list of these."""
        parameter = self.parameter_behind(owner)
        if parameter is None:
            self._refuse_write(owner)
        rest, index = self.encode_index(key)
        if isinstance(value, (HeapRef, tuple, list)):
            value = self.macro(_array_of, [value], {"dtype": owner.type.dtype})  # type: ignore[attr-defined]
        new = numpy_views.written_at(owner, self.lifted(value), rest, index)
        if rest:
            runtime_lists.demanded_at(self, new)
        if parameter is None:
            self._replace(owner, new)
        else:
            self.store_parameter(parameter, new)

    def changed(self, owner: Value, new: Value) -> Value:
        parameter = self.parameter_behind(owner)
        new = as_before(owner, new)
        if parameter is not None:
            stored: Value = self.store_parameter(parameter, new)
            return stored
        self._refuse_write(owner)
        return owner if new is owner else self._replace(owner, new)

    def _replace(self, owner: Value, new: Value) -> Value:
        """A new value takes the place of ``owner`` under every name that holds it."""
        memory = self.world.memory.of(owner)
        self.wrote |= {self.taken[value] for value in memory if value in self.taken}
        new.name, new.has_user_name = owner.name, owner.has_user_name
        changes = numpy_views.changes(self, owner, new) if self.world.numpy else {owner: new}
        written(self, memory, changes)
        return changes[owner]

    def written_at(self, function: Any, owner: Any, key: Any, value: Any) -> None:
        """``np.add.at(owner, key, value)`` and its like."""
        if function not in _AT or not isinstance(owner, Value):
            raise self.fail(
                UnsupportedSyntax,
                f"np.{function.__name__}.at is not supported here",
                "use np.add.at, np.subtract.at, np.multiply.at, np.maximum.at or "
                "np.minimum.at, on an array that the function itself made",
            )
        rest, index = self.encode_index(key)
        value = -self.lifted(value) if function is np.subtract else self.lifted(value)
        once = _ONCE.get(function) if _is_part(owner, value, rest, index) else None
        if once is not None:
            item = indexing.index(owner, *rest, index=index)
            self.changed(owner, numpy_views.written_at(owner, once(item, value), rest, index))
        else:
            self.changed(owner, _AT[function](owner, value, *rest, index=index))

    def _refuse_write(self, owner: Value) -> None:
        """Refuses to write to what is not this text's to write to."""
        memory = self.world.memory.of(owner)
        things = ((value, self.original(value)) for value in memory)
        if any(thing is not value and id(thing) not in self.world.made for value, thing in things):
            raise self.fail(
                UnsupportedSyntax,
                "compiled code cannot write in place to a Tensor made outside of the function",
                f"make a copy first: x = x{copied(self)}",
            )
        if owner in self.world.memory.read_only:
            raise self.fail(
                UnsupportedSyntax,
                "this array is a read-only view (np.broadcast_to, np.diagonal, ...), and NumPy "
                "raises ValueError on a write to it",
                "write to a copy: x.copy()",
            )
        if not self.world.numpy:
            self._refuse_views(owner)
        self._refuse_outer(memory)

    def _refuse_outer(self, memory: frozenset[Any]) -> None:
        """Variables of a function around this one, which cannot be given a new value from here."""
        within = {id(frame) for frame in (self.frame, *self.waiting)}
        frame = self.frame.outer
        while frame is not None:
            if id(frame) not in within:
                for name, thing in frame.names.items():
                    if memory & self.world.memory.of_all(leaves(thing)):
                        raise self.fail(
                            UnsupportedSyntax,
                            f"this writes in place to '{name}', a variable of the "
                            "enclosing function",
                            "write to a copy, and return the copy",
                        )
            frame = frame.outer

    def _refuse_views(self, owner: Value) -> None:
        """A view shares its tensor's memory, so a write through one would show in the other."""
        held = self.holders(self.state).count  # a list that was only just assigned is dropped
        live = [self.state.heap[ref] for ref in held]
        for names in (self.state.names, *(frame.names for frame in self.waiting)):
            live += names.values()
        for value in (leaf for thing in live for leaf in leaves(thing)):
            for view, base in ((value, owner), (owner, value)):
                maker = self.builder.producer(view)
                if maker is not None and any(each is base for each in maker.viewed):
                    raise self.fail(
                        UnsupportedSyntax,
                        f"this writes in place to '{owner.name}', which shares its memory "
                        "with another variable (a view)",
                        "make the view a copy first: view * 1",
                    )


def _is_part(owner: Value, value: Any, rest: Sequence[Any], index: Any) -> bool:
    """Decide whether an index of numbers and slices is written to in an array of floats."""
    types = [type_of(each) for each in rest]
    numbers = all(
        getattr(each, "ndim", 0) == 0 and getattr(each, "dtype", None) != "bool" for each in types
    )
    plain = not any(isinstance(part, bool) for part in index)
    real = getattr(type_of(value), "dtype", "float") or ""
    floats = "float" in (owner.type.dtype or "") and "complex" not in real  # type: ignore[attr-defined]
    return bool(index) and numbers and plain and floats and not isinstance(value, complex)


def _array_of(items: Sequence[Any], dtype: str | None) -> Any:
    """The array of what is in a list, in the dtype of the array that it is written to."""
    parts = [_array_of(item, dtype) if isinstance(item, (list, tuple)) else item for item in items]
    if all(isinstance(part, (bool, int, float, complex)) for part in parts):
        return Tensor(np.array(parts, dtype))
    for part in parts:
        if not isinstance(part, (Value, Tensor, np.ndarray, np.number, bool, int, float, complex)):
            raise DTypeError(
                f"a list that contains {part!r} cannot be written to a tensor",
                "use a list of numbers and tensors",
            )
    arrays = [part if isinstance(part, Value) else Tensor(np.array(part)) for part in parts]
    return stack(*(structure.cast(array, dtype=dtype) for array in arrays), axis=0)
