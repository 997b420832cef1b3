"""Calls: who is called decides what happens.

A Cell or a user's function becomes a function of its own (one per text and signature); a lambda or
inner function is written out where it is called; functions of this package run now, on values, as
macros; Python's built-ins have their table; what is known altogether is computed while compiling.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autodiff_compiler.common.cell import Cell
from autodiff_compiler.errors import (
    CallError,
    CompileError,
    DTypeError,
    SourceNotFound,
    UnsupportedSyntax,
    raise_all,
)
from autodiff_compiler.frontend.builtin_calls import BUILTINS, heap_method
from autodiff_compiler.frontend.desugar import desugared
from autodiff_compiler.frontend.expressions import Expressions
from autodiff_compiler.frontend.resolve import MISSING
from autodiff_compiler.frontend.source import read_source
from autodiff_compiler.frontend.subset import check
from autodiff_compiler.frontend.values import (
    BoundToValue,
    Closure,
    Frame,
    HeapMethod,
    PoisonTouched,
    Ref,
    State,
    leaves,
    rebuild,
)
from autodiff_compiler.ir.nodes import AnyOperand, Function, Op, Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import ArrayType, DictType, TupleType
from autodiff_compiler.operators import containers
from autodiff_compiler.operators.elementwise import stop_gradient
from autodiff_compiler.ops.gradient import GradientFunction, GradOperation

PACKAGE = "autodiff_compiler"
#: Rooms of the package whose functions are macros; Cells of ``nn`` compile like a user's.
MACROS = ("ops", "operators", "common")
DEPTH_LIMIT = 200


class Calls(Expressions):
    """Adds calls to ``Expressions``."""

    #: How many calls are being lowered around this text.
    depth: int

    def eval_Call(self, node: Any) -> Any:
        callee = self._super(node) or self.evaluate(node.func)
        args = self._items(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is None:
                kwargs.update(self.contents(value))
            else:
                kwargs[keyword.arg] = value
        return self.call(callee, args, kwargs)

    def _super(self, node: Any) -> Any:
        if getattr(node.func, "id", "") != "super" or node.args:
            return None
        owner = self.world.free_name(self.frame.function, "__class__", self.builder.span)
        first = next(iter(self.state.names.values()))
        return functools.partial(super, owner, first)

    def call(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The outcome of ``callee(*args, **kwargs)`` for compile-time values."""
        while hasattr(callee, "__wrapped__") and _is_ours(callee):
            callee = callee.__wrapped__  # jit and differentiable change nothing here
        if isinstance(callee, Closure):
            return self._inline_closure(callee, args, kwargs)
        if isinstance(callee, HeapMethod):
            return heap_method(self, callee, args)
        if isinstance(callee, BoundToValue):
            return self._macro(callee.function, [callee.value, *args], kwargs)
        if isinstance(callee, functools.partial):
            if callee.func is super:
                return super(*callee.args)
            return self.call(callee.func, [*callee.args, *args], {**callee.keywords, **kwargs})
        if isinstance(callee, GradientFunction):
            return self.call_gradient(callee, args, kwargs)
        if isinstance(callee, Cell):
            return self._call_text(callee, args, kwargs)
        if self._is_known(callee) and callee in BUILTINS:
            return BUILTINS[callee](self, *args, **kwargs)
        if isinstance(callee, GradOperation) or _makes_gradient(callee):
            return self._make_gradient(callee, args, kwargs)
        if _is_macro(callee):
            return self._macro(callee, args, kwargs)
        if isinstance(callee, (types.FunctionType, types.MethodType)):
            return self._call_text(callee, args, kwargs)
        return self._call_now(callee, args, kwargs)

    @staticmethod
    def _is_known(callee: Any) -> bool:
        try:
            hash(callee)
        except TypeError:
            return False
        return True

    # ---- macros and constants

    def _macro(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Runs a function of this package now; on values it adds operations."""
        given = [self._plain(arg) for arg in args]
        named = {key: self._plain(arg) for key, arg in kwargs.items()}
        try:
            result = function(*given, **named)
        except CompileError:
            raise
        except Exception as error:
            name = getattr(function, "__name__", type(function).__name__)
            raise self.translate(error, f"{name} fails") from None
        return self._adopt(result)

    def _plain(self, arg: Any) -> Any:
        """A heap list as a list, a heap dict as a dict, arrays as values."""
        if isinstance(arg, Ref):
            contents = self.state.heap[arg]
            if arg.kind == "list":
                return [self._plain(item) for item in contents]
            return {key: self._plain(item) for key, item in contents.items()}
        if isinstance(arg, tuple) and not hasattr(arg, "_fields") and type(arg) is tuple:
            return tuple(self._plain(item) for item in arg)
        return self.lifted(arg)

    def _adopt(self, result: Any) -> Any:
        """The outcome of library code as a compile-time value: its lists go to the heap."""
        if isinstance(result, list):
            return self.new_list([self._adopt(item) for item in result])
        if isinstance(result, tuple) and type(result) is tuple:
            return tuple(self._adopt(item) for item in result)
        return self.lifted(result)

    def _call_now(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls something that is neither ours nor a text, on known arguments."""
        name = getattr(callee, "__name__", type(callee).__name__)
        if not callable(callee):
            raise self.fail(DTypeError, f"a {type(callee).__name__} is not callable")
        values = [leaf for arg in (*args, *kwargs.values()) for leaf in leaves(self._plain(arg))]
        if any(isinstance(leaf, Value) for leaf in values):
            module = getattr(callee, "__module__", None) or ""
            numpy = module.partition(".")[0] == "numpy" or type(callee).__module__ == "numpy"
            raise self.fail(
                UnsupportedSyntax,
                f"'{name}' cannot be called with a run-time value",
                f"use the operator of ops that does the same as np.{name}"
                if numpy else "write it in Python, or with operators of ops",
            )  # fmt: skip
        return self._macro(callee, args, kwargs)

    # ---- texts

    def _call_text(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls a Cell, a method or a function that has a text."""
        if self.depth > DEPTH_LIMIT:
            raise self.fail(
                UnsupportedSyntax,
                f"'{getattr(callee, '__name__', callee)}' calls itself without an end that is "
                "known while compiling",
                "write the recursion as a loop",
            )
        if any(_hides_values(value) for value in (*args, *kwargs.values())):
            return self.enter(callee, args, kwargs)
        made = self.outline(callee, args, kwargs)
        if made.returned is MISSING:
            return self.enter(callee, args, kwargs)
        if not isinstance(made.returned, Value):
            return made.outcome  # known altogether: no call is needed
        shared = self.world.share(made.function)
        (result,) = self.builder.call(shared, made.operands)
        return self.unpacked(result)

    def enter(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Writes a text out here: its variables are its own, the heap is shared."""
        if isinstance(callee, Cell):
            path = self.world.path(callee)
            if path is not None:
                self.world.assume(f"type({path})", type(callee))
                self.world.assume(f"type({path}).construct", type(callee).construct)
            callee = callee.construct
        if not isinstance(callee, (types.FunctionType, types.MethodType)):
            return self.call(callee, args, kwargs)
        function = getattr(callee, "__func__", callee)
        owner = getattr(callee, "__self__", None)
        path = self.world.path(owner) if owner is not None else None
        if path is not None and not isinstance(owner, types.ModuleType):
            self.world.know(function, f"{path}.{function.__name__}.__func__")
        try:
            source = read_source(function)
        except SourceNotFound as error:
            raise self.builder.placed(error) from None
        bound = self._bind(callee, args, kwargs)
        raise_all(check(source))
        return self.inline(Frame(source, function), desugared(source), bound)

    def _bind(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The callee's variables by name; a wrong call is refused in Python's words."""
        signature = inspect.signature(callee, follow_wrapped=False)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            name = getattr(callee, "__qualname__", getattr(callee, "__name__", "the function"))
            raise self.fail(
                CallError, f"{name}(): {error}", "give the arguments that its signature names"
            ) from None
        bound.apply_defaults()
        names: dict[str, Any] = {}
        owner = getattr(callee, "__self__", None)
        if owner is not None:
            names[next(iter(inspect.signature(callee.__func__).parameters))] = owner
        for name, value in bound.arguments.items():
            if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                names[name] = self.allocate("dict", dict(value))
            else:
                names[name] = self.lifted(value)
        return names

    def _inline_closure(
        self, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        names = bind_tree(self, closure, args, kwargs)
        frame = Frame(closure.frame.source, closure.frame.function, closure.frame)
        return self.inline(frame, closure.tree, names)

    def inline(self, frame: Frame, tree: Any, names: dict[str, Any]) -> Any:
        """Lowers ``tree`` here and now in a frame of its own."""
        waiting = self.frame
        waiting.names = self.state.names
        self.frame, self.state.names = frame, names
        self.depth += 1
        try:
            return self.run_body(tree)
        finally:
            self.depth -= 1
            self.frame, self.state.names = waiting, waiting.names

    def run_body(self, tree: Any) -> Any:
        """Lowers a function's body in the present frame; gives what it returns."""
        raise NotImplementedError

    def child(self, label: str) -> Any:
        """A lowering like this one, for a function of its own."""
        raise NotImplementedError

    def outline(
        self,
        callee: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        aux: bool = False,
        keep: Sequence[Any] | None = (),
    ) -> Outlined:
        """Lowers ``callee(*args, **kwargs)`` as a function of its own, with the operands that a
        call of it takes. Outside arrays that it reads, and values of this text that it sees as a
        closure, are parameters after the arguments. ``keep`` names arrays that are parameters in
        any case (None: every trainable one that is read). With ``aux`` the outputs after the first
        are not differentiated.
        """  # fmt: skip
        self.frame.names = self.state.names
        child = self.child(_label(self.world.path(_owner(callee))))
        operands: list[AnyOperand] = []
        places: dict[int, int] = {}
        told = len(self.world.problems)
        with child.builder:
            child.state = State({}, dict(self.state.heap))
            given = []
            for slot, (name, value) in enumerate(_slot_names(callee, args, kwargs)):
                before = len(child.parameters)
                given.append(child.parameter_of(name, value))
                if len(child.parameters) > before:
                    places[slot] = before
            heap = dict(child.state.heap)
            outcome = child.enter(callee, given[: len(args)], dict(zip(kwargs, given[len(args) :])))
            if len(self.world.problems) > told:
                raise PoisonTouched
            if aux:
                outcome = (outcome[0], *(child.stopped(item) for item in outcome[1:]))
            kept = child.trainable() if keep is None else tuple(keep)
            for thing in kept:
                child.lift(thing)
            clean = all(child.state.heap.get(ref) is was for ref, was in heap.items())
            try:
                returned = child.packed(outcome) if clean else MISSING
            except DTypeError:
                returned = MISSING
        for slot, value in enumerate((*args, *kwargs.values())):
            if slot in places:
                operands.append(self.packed(value))
        wish, title = names_of(callee)
        function, extra = child.finish(returned, wish, title, kept)
        for thing in extra:
            operands.append(thing if isinstance(thing, Value) else
                            self.lift(thing, child.name_outside(thing)))  # fmt: skip
        weights = [len(operands) - len(extra) + _index_of(thing, extra) for thing in kept]
        return Outlined(function, operands, places, weights, returned, outcome)

    def stopped(self, value: Any) -> Any:
        """``value`` with no gradient through any part of it."""
        new = (stop_gradient(leaf) if isinstance(leaf, Value) else leaf for leaf in leaves(value))
        return rebuild(value, new)

    def unpacked(self, result: Value) -> Any:
        """A run-time tuple as the tuple of its items, a dict as a dict of the heap."""
        if isinstance(result.type, TupleType):
            items = (containers.item(result, key=k) for k in range(len(result.type.items)))
            return tuple(map(self._unpacked_item, items))
        if isinstance(result.type, DictType):
            items = {
                k: self._unpacked_item(containers.item(result, key=k)) for k in result.type.keys
            }
            return self.allocate("dict", items)
        return result

    def _unpacked_item(self, item: Any) -> Any:
        return self.unpacked(item) if isinstance(item, Value) else item

    # ---- gradients inside a text

    def _make_gradient(self, maker: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Runs ``GradOperation()``, ``grad_op(net, weights)`` or ``grad(net)`` now."""
        raw = [self.original(arg) for arg in args]
        named = {key: self.original(arg) for key, arg in kwargs.items()}
        try:
            return maker(*raw, **named)
        except CompileError:
            raise
        except Exception as error:
            raise self.translate(error, "this gradient cannot be made") from None

    def original(self, arg: Any) -> Any:
        """A Parameter as the object it is, for those who ask which one."""
        raise NotImplementedError

    def call_gradient(
        self, gradient: GradientFunction, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """A ``grad`` operation on the function that ``gradient`` differentiates."""
        given, named, sens = gradient.split_sens(list(args), dict(kwargs))
        slots = [*given, *named.values()]
        request = gradient.request([_is_tensor(slot) for slot in slots])
        made = self.outline(gradient.fn, given, named, request.aux, request.weights)
        if not isinstance(made.returned, (Value, int, float)):
            raise self.fail(DTypeError, "the differentiated function returns nothing to "
                            "differentiate", "return a tensor from it")  # fmt: skip
        wrt = [made.places[position] for position in request.positions] + made.weights
        attrs = {
            "callee": self.world.share(made.function), "wrt": tuple(wrt),
            "sens": request.sens == "given", "value": request.value or request.aux,
        }  # fmt: skip
        operands = [*made.operands, *([self.packed(sens)] if attrs["sens"] else [])]
        params = made.function.params
        results = [Value(type_of(v)) for v in (made.function.returns if attrs["value"] else ())]
        results += [Value(params[place].type, f"d_{params[place].name}") for place in wrt]
        self.builder.add(
            Op(OPERATORS["grad"], tuple(operands), attrs, tuple(results), self.builder.span)
        )
        value = self.unpacked(results.pop(0)) if attrs["value"] else None
        inputs, weights = results[: len(request.positions)], results[len(request.positions) :]
        return self._adopt(gradient.pack(value, inputs, weights))


@dataclass(frozen=True)
class Outlined:
    """A function made of a call: its operands here, where the slots went (slot -> parameter), the
    parameters that are the kept weights, what it returns packed, and as a compile-time value."""

    function: Function
    operands: list[AnyOperand]
    places: dict[int, int]
    weights: list[int]
    returned: Any
    outcome: Any


def _owner(callee: Any) -> Any:
    return callee if isinstance(callee, Cell) else getattr(callee, "__self__", None)


def _label(path: str | None) -> str:
    """What a sub-Cell is called where it is used: ``fc1``, or ``layers_0`` of a list."""
    found = re.search(r"\.(\w+)((\._?\w+)?\[[^]]*\])?$", path or "")
    if found is None:
        return ""
    key = re.sub(r"\W+|.*\[", "_", found.group(2) or "").strip("_")
    return f"{found.group(1)}_{key}" if key else found.group(1)


def _index_of(thing: Any, things: Sequence[Any]) -> int:
    return next(place for place, other in enumerate(things) if other is thing)


def _slot_names(
    callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """The arguments with the names that the callee gives them."""
    text = callee.construct if isinstance(callee, Cell) else callee
    if isinstance(text, GradientFunction):
        return _slot_names(text.fn, args, kwargs)
    known: list[str] = []
    if isinstance(text, Closure):
        spec = text.tree.args
        known = [arg.id for arg in (*spec.posonlyargs, *spec.args)]
    elif isinstance(text, (types.FunctionType, types.MethodType)):
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(text, follow_wrapped=False).parameters.values()
        known = [parameter.name for parameter in parameters if parameter.kind in kinds]
    known += [f"x{number}" for number in range(len(known), len(args))]
    return [*zip(known, args), *kwargs.items()]


def _hides_values(value: Any) -> bool:
    """Whether an argument sees values of this text that are not its own leaves."""
    return isinstance(value, (Closure, HeapMethod, BoundToValue))


def names_of(callee: Any) -> tuple[str, str]:
    """The printed name and the title of a text: ('net', 'Net.construct')."""
    if isinstance(callee, Cell):
        return snake(type(callee).__name__), f"{type(callee).__name__}.construct"
    if isinstance(callee, GradientFunction):
        name, title = names_of(callee.fn)
        return f"{name}_grad", f"gradient of {title}"
    owner = getattr(callee, "__self__", None)
    name = getattr(callee, "name", None) or getattr(callee, "__name__", "function")
    if isinstance(owner, Cell) and name == "construct":
        return names_of(owner)
    if owner is not None and not isinstance(owner, types.ModuleType):
        kind = owner if isinstance(owner, type) else type(owner)
        return f"{snake(kind.__name__)}_{name}", f"{kind.__name__}.{name}"
    return snake(name), name


def snake(name: str) -> str:
    """A class's name as a function is called.

    >>> snake("GradNetWrtX"), snake("MLP"), snake("LeNet5")
    ('grad_net_wrt_x', 'mlp', 'le_net5')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"\W", "_", spaced).lower().strip("_") or "function"


def bind_tree(
    low: Calls, closure: Closure, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The variables of an inner function by name."""
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
        raise low.fail(CallError, f"{closure.name}(): {error}") from None
    bound.apply_defaults()
    names = dict(bound.arguments)
    if spec.kwarg:
        names[spec.kwarg.id] = low.allocate("dict", names[spec.kwarg.id])
    return names


def _is_macro(callee: Any) -> bool:
    if isinstance(callee, OpDef):
        return True
    kind = callee if isinstance(callee, type) or hasattr(callee, "__module__") else type(callee)
    module = str(getattr(kind, "__module__", "") or "")
    if isinstance(callee, types.MethodType):
        module = str(type(callee.__self__).__module__)
    parts = module.split(".")
    return parts[0] == PACKAGE and len(parts) > 1 and parts[1] in MACROS


def _is_ours(callee: Any) -> bool:
    module = str(getattr(type(callee), "__module__", ""))
    return module.startswith(f"{PACKAGE}.")


def _makes_gradient(callee: Any) -> bool:
    return bool(getattr(callee, "makes_gradient", False))


def _is_tensor(slot: Any) -> bool:
    return isinstance(slot, Value) and isinstance(slot.type, ArrayType)
