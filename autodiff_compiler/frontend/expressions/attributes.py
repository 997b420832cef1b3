"""Attributes of compile-time values, and functions defined inside functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.errors import UnknownAttribute
from autodiff_compiler.frontend.abstract.path_dtypes import refuse_path_dtype
from autodiff_compiler.frontend.abstract.values import (
    Closure,
    ContainerMethod,
    DictView,
    HeapRef,
    InPlaceTensorMethod,
    ObjectDict,
    TensorMethod,
)
from autodiff_compiler.frontend.core.error_translation import refused_object_dict
from autodiff_compiler.frontend.core.guards import suggestion
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.parameters import as_parameter
from autodiff_compiler.frontend.numpy_rules.copies_and_views import (
    ATTRIBUTES,
    NumpyCall,
    place_result,
    row_of,
)
from autodiff_compiler.frontend.numpy_rules.names import ARRAY_METHODS, ARRAY_PROPERTIES
from autodiff_compiler.frontend.numpy_rules.writes import WRITING_METHODS
from autodiff_compiler.frontend.objects.attribute_protocol import get_attribute
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import TupleType
from autodiff_compiler.mindspore_names.suggestions import no_such
from autodiff_compiler.operators.core import scalar_conversion
from autodiff_compiler.operators.elementwise import arithmetic
from autodiff_compiler.ops.methods.in_place import IN_PLACE
from autodiff_compiler.ops.methods.table import METHODS, PROPERTIES


def _number_of_item(x: Value) -> Any:
    """Returns the only element as a Python number."""
    dtype = x.dtype_name or "float64"
    kind = "float" if "float" in dtype else "bool" if dtype == "bool" else "int"
    return scalar_conversion.to_number(x, kind=kind)


#: Methods whose results are no tensors: as in MindSpore, no gradient goes through them.
BARRIERS: dict[str, Callable[..., Any]] = {
    "asnumpy": arithmetic.stop_gradient,
    "numpy": arithmetic.stop_gradient,
    "item": _number_of_item,
}
#: The cures for methods whose results are no arrays.
INSTEAD = {"tolist": "index it or loop over it: x[0], or 'for row in x'"}
#: Attributes of a Parameter beside those of its value.
OF_PARAMETERS = ("name", "requires_grad")


def value_attribute(low: Lowering, owner: Value, name: str) -> Any:
    """Returns an attribute of a run-time value."""
    if name == "shape":
        return low.shape(owner)
    if isinstance(owner.type, TupleType):
        return getattr((), name)
    if low.compilation.numpy:
        return _array_attribute(low, owner, name)
    if name in OF_PARAMETERS and (parameter := as_parameter(low, owner)) is not None:
        return low.compilation.read_attribute(parameter, name, low.builder.span)
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
        raise low.builder.with_span(no_such("Tensor", name, known))
    raise low.fail(
        UnknownAttribute,
        f"the Tensor method '{name}' is not supported in compiled code",
        INSTEAD.get(name) or "use a function of ops instead; 'autodiff-compiler ops' lists them",
    )


def _array_attribute(low: Lowering, owner: Value, name: str) -> Any:
    """Returns an attribute of an array in plain NumPy code."""
    if name in ARRAY_PROPERTIES:
        if name == "dtype":
            refuse_path_dtype(low, owner, "its dtype is used here")
        kind = row_of(low, ATTRIBUTES, name, f"the attribute '{name}' of an array")
        call = NumpyCall(kind, name, [owner], of_array=True)
        return place_result(low, call, ARRAY_PROPERTIES[name](owner))
    if name in ARRAY_METHODS:
        return TensorMethod(owner, ARRAY_METHODS[name], name)
    if name in WRITING_METHODS:
        return TensorMethod(owner, WRITING_METHODS[name], name)
    cause = f"an ndarray has no attribute '{name}'"
    if hasattr(np.ndarray, name):
        cause = f"the ndarray attribute '{name}' is not supported in compiled code"
    raise low.fail(
        UnknownAttribute,
        cause,
        INSTEAD.get(name)
        or suggestion(name, [*ARRAY_METHODS, *WRITING_METHODS, *ARRAY_PROPERTIES, "shape"])
        or "use a NumPy function that returns a new array",
    )


def evaluate_lambda(low: Lowering, node: Any) -> Any:
    return make_closure(low, node, node.args, "<lambda>")


def make_closure(low: Lowering, tree: Any, args: Any, name: str) -> Closure:
    """Returns an inner function. It sees the variables around it as they are when it is called."""
    nodes = [*args.defaults, *(d for d in args.kw_defaults if d is not None)]
    defaults = tuple(low.evaluate(node) for node in nodes)
    return Closure(tree, low.frame, defaults, name)


def printable(low: Lowering, value: Any) -> Any:
    """Returns a value without run-time parts as the Python object that it stands for."""
    if isinstance(value, HeapRef):
        method = low.special(value, "__str__") or low.special(value, "__repr__")
        if method is not None:
            return low.static(low.call(method, (), {}), "text")
        inside = printable(low, low.contents(value))
        return list(inside) if value.kind == "list" else inside
    low.compilation.guard_contents(value)
    if isinstance(value, dict):
        return {key: printable(low, item) for key, item in value.items()}
    if type(value) is tuple:
        return tuple(map(partial(printable, low), value))
    return low.static(value, "text")


def container_attribute(low: Lowering, owner: HeapRef, name: str) -> ContainerMethod:
    """Returns a method of a container on the heap."""
    kind = {"list": list, "dict": dict}.get(owner.kind, object)
    if not hasattr(kind, name):
        raise low.fail(
            UnknownAttribute,
            f"a {owner.kind} has no attribute '{name}'",
            suggestion(name, dir(kind)) or f"use a method that every {owner.kind} has",
        )
    return ContainerMethod(owner, name)


def object_dict_attribute(low: Lowering, owner: ObjectDict, name: str) -> NoReturn:
    """Refuses to read an attribute of ``vars(obj)``."""
    raise refused_object_dict(low, low.state.heap[owner.ref]["__class__"])


def dict_view_attribute(low: Lowering, owner: DictView, name: str) -> NoReturn:
    """Refuses to read an attribute of a view of a dict."""
    kind = type(getattr({}, owner.kind)())
    raise low.fail(
        UnknownAttribute,
        f"the attribute '{name}' of a {kind.__name__} is not supported in compiled code",
        "loop over it, or use the dict itself",
    )


def closure_attribute(low: Lowering, owner: Closure, name: str) -> Any:
    """Returns an attribute of a function that was defined inside of another one."""
    return owner.name if name == "__name__" else get_attribute(low, owner, name)
