"""Names of callees: printed names, labels of sub-Cells, and names of arguments."""

from __future__ import annotations

import inspect
import keyword
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import gast

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.errors import CallError
from autodiff_compiler.fast_ast import children
from autodiff_compiler.frontend.abstract.evaluator import Evaluator
from autodiff_compiler.frontend.abstract.values import (
    CallableChoice,
    Closure,
    ContainerMethod,
    CustomRule,
    DictView,
    HeapRef,
    InPlaceTensorMethod,
    MaybeNone,
    ObjectDict,
    Partial,
    TensorMethod,
)
from autodiff_compiler.ops.transforms.custom_rules import is_apply
from autodiff_compiler.ops.transforms.transformed import Transformed, unwrapped

#: The name of an outside array that is in no variable and no attribute.
NAMELESS = "constant"


def printed_names(callee: Any) -> tuple[str, str]:
    """Returns the printed name and the title of a callee: ('net', 'Net.construct')."""
    if isinstance(callee, Cell):
        return snake(type(callee).__name__), f"{type(callee).__name__}.construct"
    if isinstance(callee, Transformed):
        name, title = printed_names(callee.named_fn)
        if not callee.suffix:
            return name, title
        return f"{name}_{callee.suffix}", f"{callee.phrase} {title}"
    if isinstance(callee, CustomRule):
        return printed_names(callee.function)
    owner = getattr(callee, "__self__", None)
    own_name = str(getattr(callee, "name", "") or getattr(callee, "__name__", "function"))
    if isinstance(owner, Cell) and own_name == "construct":
        return printed_names(owner)
    if owner is not None and not isinstance(owner, types.ModuleType):
        kind = owner if isinstance(owner, type) else type(owner)
        return f"{snake(kind.__name__)}_{snake(own_name)}", f"{kind.__name__}.{own_name}"
    return snake(own_name), own_name


def snake(name: str) -> str:
    """Returns a class's name in the form of a function's.

    >>> snake("GradNetWrtX"), snake("MLP"), snake("LeNet5"), snake("<lambda>")
    ('grad_net_wrt_x', 'mlp', 'le_net5', 'lambda_function')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    text = re.sub(r"\W", "_", spaced).lower().strip("_") or "function"
    return f"{text}_function" if keyword.iskeyword(text) else text


def owner_of(callee: Any) -> Any:
    """Returns the Cell or object that a callee belongs to."""
    if isinstance(callee, CustomRule):
        return owner_of(callee.function)
    return callee if isinstance(callee, Cell) else getattr(callee, "__self__", None)


def member_label(path: str | None) -> str:
    """Returns the label of a sub-Cell in its user: ``fc1``, or ``layers_0`` of a list."""
    if re.fullmatch(r"fn(\.(fn|func|__self__|__wrapped__))*", path or ""):
        return ""
    match = re.search(r"\.(\w+)((\._?\w+)?\[[^]]*\])?$", path or "")
    if match is None:
        return ""
    key = re.sub(r"\W+|.*\[", "_", match.group(2) or "").strip("_")
    return f"{match.group(1)}_{key}" if key else match.group(1)


def slot_names(
    callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """Returns the arguments with the names of the callee's parameters."""
    return [*zip(positional_names(callee, len(args)), args), *kwargs.items()]


def positional_names(callee: Any, count: int) -> list[str]:
    """Returns the names of ``count`` positional arguments."""
    function: Any = unwrapped(callee.construct) if isinstance(callee, Cell) else callee
    known: list[str] = []
    if isinstance(function, Transformed):
        known = function.names(positional_names(function.fn, count))[:count]
    elif is_apply(function):
        first = 0 if hasattr(function.__self__, "setup_context") else 1
        known = _positional(function.__self__.forward)[first:]
    elif isinstance(function, CustomRule):
        known = list(function.names)
    elif isinstance(function, Closure):
        spec = function.tree.args
        known = [arg.id for arg in (*spec.posonlyargs, *spec.args)]
    elif isinstance(function, (types.FunctionType, types.MethodType)):
        known = _positional(function)
    return known + [f"x{number}" for number in range(len(known), count)]


def _positional(function: Any) -> list[str]:
    """Returns the names of the parameters that may be given by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind in kinds]


def hides_values(
    value: Any, heap: Mapping[HeapRef, Any], seen: frozenset[HeapRef] = frozenset()
) -> bool:
    """True if an argument can reach values of the caller that are not its leaves. An object can,
    and so can a list or dict that contains one.
    """
    if isinstance(value, (tuple, dict)):
        items = value.values() if isinstance(value, dict) else value
        return any(hides_values(item, heap, seen) for item in items)
    if isinstance(value, (types.MethodType, HeapRef)):
        ref = getattr(value, "__self__", value)
        if not isinstance(ref, HeapRef):
            return False
        if ref.kind in ("object", "iterator"):
            return True
        return ref not in seen and hides_values(heap.get(ref), heap, seen | {ref})
    return isinstance(
        value,
        (
            DictView,
            Closure,
            CallableChoice,
            MaybeNone,
            ContainerMethod,
            TensorMethod,
            InPlaceTensorMethod,
            ObjectDict,
            Partial,
        ),
    )


#: The variables of each function that was asked about.
_VARIABLES: WeakKeyDictionary[Any, frozenset[str]] = WeakKeyDictionary()


def variables(tree: Any) -> frozenset[str]:
    """Returns the names that a function assigns: they are its variables."""
    if tree is None:
        return frozenset()
    if tree not in _VARIABLES:
        body = tree.body if isinstance(tree.body, list) else []
        _VARIABLES[tree] = frozenset(name for part in body for name in _set_by(part))
    return _VARIABLES[tree]


def _set_by(part: Any) -> Iterator[str]:
    inner = (gast.Lambda, gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
    if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Store):
        yield part.id
    if isinstance(part, gast.FunctionDef):
        yield part.name
    elif not isinstance(part, inner):
        for child in children(part):
            yield from _set_by(child)


def bind_closure_arguments(
    low: Evaluator, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the variables of an inner function at its call, by name."""
    spec, defaults = closure.tree.args, list(closure.defaults)
    parameters, positional = [], [*spec.posonlyargs, *spec.args]
    plain = len(spec.defaults)
    kinds = inspect.Parameter
    for number, arg in enumerate(positional):
        place = number - (len(positional) - plain)
        default = defaults[place] if place >= 0 else kinds.empty
        kind = (
            kinds.POSITIONAL_ONLY if number < len(spec.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD
        )
        parameters.append(kinds(arg.id, kind, default=default))
    if spec.vararg:
        parameters.append(kinds(spec.vararg.id, kinds.VAR_POSITIONAL))
    keyword_defaults = iter(defaults[plain:])
    for arg, node in zip(spec.kwonlyargs, spec.kw_defaults):
        default = next(keyword_defaults) if node is not None else kinds.empty
        parameters.append(kinds(arg.id, kinds.KEYWORD_ONLY, default=default))
    if spec.kwarg:
        parameters.append(kinds(spec.kwarg.id, kinds.VAR_KEYWORD))
    try:
        bound = inspect.Signature(parameters).bind(*args, **kwargs)
    except TypeError as error:
        signature = inspect.Signature(parameters)
        raise low.fail(
            CallError, f"{closure.name}(): {error}", f"call it as {closure.name}{signature}"
        ) from None
    bound.apply_defaults()
    names = dict(bound.arguments)
    if spec.kwarg:
        names[spec.kwarg.id] = low.allocate("dict", names[spec.kwarg.id])
    return names
