"""The lowering of a function: its builder, its variables and heap, and the arrays that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.random import Generator
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.common.tensor_data import is_foreign, objection_to
from autodiff_compiler.errors import CompileError, DTypeError, UnknownName, UnsupportedSyntax
from autodiff_compiler.frontend.abstract import optional
from autodiff_compiler.frontend.abstract.heap import HeapOwnership, detach, dict_of
from autodiff_compiler.frontend.abstract.numpy_views import record_aliases
from autodiff_compiler.frontend.abstract.outcomes import ActiveHandler
from autodiff_compiler.frontend.abstract.packing import pack
from autodiff_compiler.frontend.abstract.runtime_lists import is_runtime_list
from autodiff_compiler.frontend.abstract.values import (
    NUMBERS,
    OBJECT,
    DictView,
    Frame,
    HeapRef,
    MaybeNone,
    MaybeUnset,
    NeedsKnownValue,
    ObjectDict,
    Poison,
    State,
    Unset,
    UsesPoison,
    leaves,
)
from autodiff_compiler.frontend.core.compilation import Compilation
from autodiff_compiler.frontend.core.error_translation import refused_object_dict, translate_error
from autodiff_compiler.frontend.core.guards import is_array
from autodiff_compiler.frontend.core.handlers import Handlers
from autodiff_compiler.frontend.core.naming import NAMELESS
from autodiff_compiler.frontend.core.operator_exceptions import exceptions_of, try_cure
from autodiff_compiler.frontend.syntax.source import Source
from autodiff_compiler.interface.compiled import Guard, PythonFunction
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Op, Region, Value, type_of
from autodiff_compiler.ir.opdef import PRECISION, value_type
from autodiff_compiler.ir.types import FUNCTION, SHORT, STR, ArrayType, in_double
from autodiff_compiler.operators.core import effects, scalar_conversion, structure
from autodiff_compiler.operators.core.control import is_unset
from autodiff_compiler.operators.core.declare import shape_of_type
from autodiff_compiler.operators.elementwise import comparisons
from autodiff_compiler.span import NOWHERE, Caller, Span


class Lowering:
    """The lowering of a function: its builder, variables and heap. Implements ``Evaluator``.

    No handler is defined here. The functions of ``handlers`` decide by the kind of a node, a callee
    or an operand. They call each other through the methods below.
    """

    def __init__(
        self,
        compilation: Compilation,
        handlers: Handlers,
        parent: Lowering | None = None,
        label: str = "",
        owner: Any = None,
    ):
        self.compilation, self.handlers, self.parent = compilation, handlers, parent
        #: The Cell whose method this is, and the prefix of its arrays' names in the caller.
        self.owner, self.label = owner, label
        known, call_inside = partial(_known_array, self), partial(handlers.call_inside, self)
        self.builder = Builder(self.lift, call_inside, known)
        if parent:
            self.builder.span = parent.builder.span
        self.builder.watch = partial(_check_operation, self)
        self.state = State()
        around = parent.frame if parent else Frame(None, None)
        self.frame: Frame = Frame(around.source, around.function, tree=around.function_tree)
        #: The frames of this function that wait for a call to end.
        self.waiting_frames: list[Frame] = []
        #: The place where the source function begins, and the number of open branches and loops.
        self.started: Span | None = None
        self.depth = 0

        self.parameters: list[Value] = []
        #: The caller's argument for each parameter, and the caller's value behind each leaf.
        self.arguments: dict[Value, Any] = {}
        self.caller_values: dict[Value, Any] = {}
        #: Values that stand here for values of the caller's.
        self.substituted: dict[Value, Value] = {}
        #: The caller's arrays that this function writes to.
        self.written_arrays: set[Any] = set()
        #: Arrays from outside, by identity, with the parameters that stand for them.
        self.hoisted: dict[int, tuple[Any, Value]] = {}
        #: The heap objects of the callers, which outlive this function.
        self.pinned: frozenset[HeapRef] = frozenset()

        #: The parameters of the loops that are being rolled around this point. Also the indices of
        #: loops that are short enough to be unrolled.
        self.loop_params: set[Value] = set()
        self.unrollable_indices: frozenset[Value] = frozenset()
        #: The recursions whose source functions are being lowered.
        self.recursions: tuple[Any, ...] = ()

        #: The active ``except`` clauses, the innermost first, those of callers included.
        self.catching: tuple[ActiveHandler, ...] = ()
        #: Exceptions that the operations being added have been tested for.
        self.tested_exceptions: tuple[type, ...] = ()
        #: The evaluated operands of the present statement: the node (or another key), the value,
        #: and the number of writes to memory until then. Then how many of them were reused.
        self.evaluated: list[tuple[Any, Any, int]] = []
        self.replayed = 0

        #: Expressions that are passed on or compared as they are, be they None. Generators that are
        #: consumed where they stand. Calls with nothing around them but their statement.
        self.may_be_none: set[Any] = set()
        self.used_at_once: set[Any] = set()
        self.sole_calls: set[Any] = set()

        #: Values with hooks on their whole cotangents, and the hooks' operations.
        self.hooks: list[tuple[Value, Op]] = []
        #: True if one of them is an argument, whose whole cotangent only the caller knows.
        self.hooks_argument = False
        #: The number of calls in this function that were marked for a later gradient.
        self.marked_calls = 0

    # ---- by kind

    def evaluate(self, node: Any) -> Any:
        """Returns the compile-time value of an expression."""
        return self.handlers.evaluate(self, node)

    def execute(self, node: Any, then: Callable[[Any], Any] = lambda outcome: outcome) -> Any:
        """Lowers a statement. Returns ``Returned``, ``Diverged`` or ``Unwinding``, or None."""
        return self.handlers.execute(self, node, then)

    def block(self, statements: Sequence[Any]) -> Any:
        """Lowers statements one after the other. Returns as ``execute`` does."""
        return self.handlers.block(self, statements)

    def assign(self, target: Any, value: Any) -> None:
        """Binds the target of an assignment."""
        self.handlers.assign(self, target, value)

    def call(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Returns the outcome of ``callee(*args, **kwargs)`` for compile-time values."""
        return self.handlers.call(self, callee, args, kwargs)

    def enter(self, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Inlines a source function or Cell: its variables are its own, the heap is shared."""
        return self.handlers.enter(self, callee, args, kwargs)

    def outline(
        self,
        callee: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        aux: bool = False,
        keep: Sequence[Any] | None = (),
        **options: bool,
    ) -> Any:
        """Lowers ``callee(*args, **kwargs)`` as a function of its own: an ``OutlinedCall``."""
        return self.handlers.outline(self, callee, args, kwargs, aux, keep, **options)

    def macro(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Runs a function of this package now; on values it adds operations."""
        return self.handlers.macro(self, function, args, kwargs)

    def attribute(self, owner: Any, name: str) -> Any:
        """Returns ``owner.name``, by the kind of the owner."""
        table = self.handlers.attributes
        kind = owner.kind if isinstance(owner, HeapRef) else type(owner)
        handler = table.get(kind) or table.get(type(owner)) or table[object]
        return handler(self, owner, name)

    def special(self, thing: Any, name: str) -> Callable[..., Any] | None:
        """Returns a method such as ``__add__`` of a user's class, or None."""
        method: Callable[..., Any] | None = self.handlers.special(self, thing, name)
        return method

    def binary(self, sign: str, left: Any, right: Any) -> Any:
        """Returns ``left sign right``; ``sign`` is the name of gast's class, such as ``Add``."""
        is_text = isinstance(left, str) or isinstance(left, Value) and left.type == STR
        return self.handlers.operators[str if is_text else object](self, sign, left, right)

    def truth(self, value: Any) -> Any:
        """Returns ``bool(value)``: a bool known now, or a value that is one at run time."""
        return self.handlers.truth(self, value)

    def sequence(self, value: Any) -> list[Any]:
        """Returns everything an iterable yields. Raises if the items are known only at run time."""
        items: list[Any] = self.handlers.sequence(self, value)
        return items

    def lifted(self, thing: Any) -> Any:
        """Returns ``thing`` with every outside array in it made a value."""
        value = _lift_arrays(self, thing)
        if self.compilation.precision is None:
            return value
        return self.handlers.cast_to_cell_precision(self, thing, value)

    def unpacked(
        self,
        result: Any,
        like: Any = None,
        heap: Mapping[HeapRef, Any] | None = None,
        known: bool = False,
    ) -> Any:
        """Returns a run-time container as its items; the inverse of ``packed``."""
        return self.handlers.unpacked(self, result, like, heap, known)

    def choose(self, test: Value, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """Returns the value of ``then()`` or ``orelse()`` by a run-time test; merges the states."""
        return self.handlers.choose(self, test, then, orelse)

    def heap_ownership(self, state: State, outcome: Any = None) -> HeapOwnership:
        """Returns who holds the lists and dicts of ``state`` when ``outcome`` was computed."""
        ownership: HeapOwnership = self.handlers.heap_ownership(self, state, outcome)
        return ownership

    def may_raise(
        self, kind: type, bad: Callable[[], Any], text: Callable[[], Any]
    ) -> AbstractContextManager[None]:
        """Enters a block whose operations raise ``kind`` only where ``bad()`` is true."""
        context: AbstractContextManager[None] = self.handlers.may_raise(self, kind, bad, text)
        return context

    # ---- values and the heap

    def static(self, value: Any, purpose: str) -> Any:
        """Returns ``value`` if it is known at compile time. Raises ``NeedsKnownValue`` otherwise:
        the compilation begins again with the number it depends on made known, or is refused.
        """
        if isinstance(value, Value):
            raise NeedsKnownValue(value, self.builder.span, purpose)
        for part in value if type(value) is tuple else ():
            self.static(part, purpose)
        self.compilation.guard_contents(value)
        return value

    def contents(self, value: Any) -> Any:
        """Returns the items of a container known now: a tuple, or a dict."""
        if isinstance(value, ObjectDict):
            raise refused_object_dict(self, self.state.heap[value.ref]["__class__"])
        self.compilation.guard_contents(value)
        if isinstance(value, HeapRef):
            return _heap_contents(self, value)
        if isinstance(value, DictView):
            return tuple(getattr(dict_of(self, value), value.kind)())
        return value

    def certainly(self, value: Any, guarded: bool = False) -> Any:
        """Returns what a variable holds. If it is set on some paths to here only, the generated
        function checks that, unless ``guarded``."""
        if isinstance(value, MaybeUnset):
            if not guarded:
                _check_set(self, value)
            value = value.value
        if isinstance(value, Unset):
            raise self.fail(UnknownName, value.cause, value.cure)
        if isinstance(value, Poison):
            raise UsesPoison
        return value

    def allocate(self, kind: str, contents: Any) -> HeapRef:
        """Returns a new heap object."""
        ref = HeapRef(kind, next(self.compilation.refs))
        self.state.heap[ref] = contents
        return ref

    def heap_object_of(self, thing: Any, name: Any = None) -> HeapRef | None:
        """Returns the heap object of a written Parameter or attribute; None for others, and for one
        of an abandoned trial."""
        ref = self.compilation.heap_objects.get((id(thing), name))
        return ref if ref in self.state.heap else None

    def new_list(self, items: Sequence[Any]) -> HeapRef:
        """Returns a new list of the heap."""
        return self.allocate("list", tuple(items))

    def packed(self, value: Any) -> Any:
        """Returns one operand that holds ``value``."""
        self.compilation.guard_contents(value)
        return pack(value, self.state.heap)

    def shape(self, value: Value) -> Any:
        """Returns ``value.shape``: ints where they are known."""
        shape = shape_of_type(value.type)
        if shape is None:
            return structure.shape_of(value)
        return tuple(
            dim if isinstance(dim, int) else scalar_conversion.dim(value, axis=axis)
            for axis, dim in enumerate(shape)
        )

    def lift(self, thing: Any, name: str = "") -> Value:
        """Returns the parameter for an outside array: the same one at each read."""
        if id(thing) not in self.hoisted:
            array = thing if isinstance(thing, (np.ndarray, np.generic)) else _data_of(self, thing)
            type_ = FUNCTION if isinstance(thing, PythonFunction) else value_type(array)
            _check_dtype(self, type_)
            if isinstance(array, (np.ndarray, np.generic)) and (objection := objection_to(array)):
                raise self.fail(DTypeError, *objection)
            if isinstance(thing, Tensor):
                self.compilation.guard_hooks(thing)
            if PRECISION.double:
                type_ = in_double(type_)
            name = name or _name_of(self, thing)
            value = Value(type_, name or NAMELESS, bool(name))
            if getattr(array, "ndim", None) == 0:
                self.compilation.aliases.set_is_array(value, isinstance(array, np.ndarray))
            self.hoisted[id(thing)] = (thing, value)
            self.compilation.lifted_arrays[id(thing)] = thing
        return self.hoisted[id(thing)][1]

    def original(self, arg: Any) -> Any:
        """Returns outside arrays as the objects that they are; the inverse of ``lifted``."""
        if isinstance(arg, Value):
            if arg in self.compilation.uncast:
                thing = self.original(self.compilation.uncast[arg])
                return arg if isinstance(thing, Value) else thing
            sources = [thing for thing, value in self.hoisted.values() if value is arg]
            if sources or self.parent is None:
                return sources[0] if sources else arg
            # A value of the caller may be an outside array's, and so its substitute here.
            return self.parent.original(self.substituted.get(arg, arg))
        if isinstance(arg, HeapRef) and arg.kind == "dict":
            return {key: self.original(item) for key, item in self.state.heap[arg].items()}
        if isinstance(arg, HeapRef):
            return [self.original(item) for item in self.state.heap[arg]]
        if type(arg) in (tuple, list):
            return type(arg)(self.original(item) for item in arg)
        return arg

    # ---- reports

    def fail(self, error: type[CompileError], cause: str, cure: str = "") -> CompileError:
        """Returns an error at the expression being evaluated."""
        return error(cause, cure, self.place)

    def translate(self, error: Exception, doing: str, called: Any = None) -> CompileError:
        """Returns an exception of library code that ran at compile time, in the user's terms."""
        return translate_error(error, doing, called, self.place)

    @staticmethod
    def described(value: Any) -> str:
        """Returns the words of a message for a compile-time value."""
        if isinstance(value, HeapRef):
            return value.kind
        plain = isinstance(value, (Value, *NUMBERS, str)) or value is None
        return str(type_of(value)) if plain else type(value).__name__

    @property
    def place(self) -> Span | None:
        """The place of the source being lowered; None in what only library code does."""
        return None if self.builder.span == NOWHERE else self.builder.span

    def span(self, node: Any) -> Span:
        """Returns the place of a node of the source function."""
        source: Source = self.frame.source
        return source.spans.get(node) or source.span(node)

    @property
    def source(self) -> Source:
        """The source function that is being lowered now."""
        source: Source = self.frame.source
        return source


# ---- operations that are added


def _check_operation(low: Lowering, op: Op) -> None:
    """Checks an operation that is added to this function, and records the values that share its
    memory.
    """
    for result in op.results:
        _check_dtype(low, result.type)
    _refuse_raising(low, op)
    if low.compilation.numpy:
        record_aliases(low, op)


def _check_dtype(low: Lowering, type_: Any) -> None:
    """Refuses arrays of strings and objects, which may be made but not computed with."""
    dtype = type_.dtype if isinstance(type_, ArrayType) else None
    if dtype is not None and dtype not in SHORT:
        raise low.fail(
            DTypeError,
            f"arrays of dtype {dtype.rstrip('0123456789')} are not supported",
            "use an array of numbers or bools, or a Python list",
        )


def _refuse_raising(low: Lowering, op: Op) -> None:
    """Refuses an operation that may raise what a handler around it catches."""
    watched = [h for h in low.catching if h.clause is not None and h.clause.must_run]
    for error in exceptions_of(op) if watched else ():
        for caught in (each for handler in watched for each in handler.classes):
            if error in low.tested_exceptions:
                continue
            if issubclass(error, caught) or issubclass(caught, error):
                raise low.fail(
                    UnsupportedSyntax,
                    f"an 'except' around this operation catches {caught.__name__}, "
                    "and whether the operation raises it is known only when the "
                    "function runs",
                    try_cure(caught),
                )


# ---- what comes from outside


def refuse_foreign(low: Lowering, *things: Any, installed: bool = False) -> None:
    """Refuses to compute with things that are no arrays but can be converted to one.

    ``installed``: only those of an installed package.
    """
    for thing in things:
        if isinstance(thing, (list, tuple)):
            refuse_foreign(low, *thing, installed=installed)
        if is_foreign(thing, installed):
            name = type(thing).__name__
            cure = f"convert it before the call: np.asarray(x), of the {name}"
            raise low.fail(DTypeError, f"a {name} is not supported in compiled code", cure)


def _lift_arrays(low: Lowering, thing: Any) -> Any:
    """Returns ``thing`` with every outside array in it made a value, in its own precision."""
    if is_array(thing):
        ref = low.heap_object_of(thing)
        return low.lift(thing) if ref is None else low.state.heap[ref]
    if isinstance(thing, (tuple, list, dict)) and _holds_array(thing):
        if low.compilation.holds_written(thing):
            return thing
        low.compilation.guard_contents(thing)
        if isinstance(thing, dict):
            lifted = {key: low.lifted(item) for key, item in thing.items()}
            low.compilation.copied_dicts[id(lifted)] = (lifted, thing)
            return lifted
        return type(thing)(low.lifted(item) for item in thing)
    return thing


def _holds_array(thing: Any) -> bool:
    """True if a plain container has an outside array anywhere inside."""
    if type(thing) in (tuple, list):
        return any(_holds_array(item) for item in thing)
    if type(thing) is dict:
        return any(_holds_array(item) for item in thing.values())
    return is_array(thing)


def _data_of(low: Lowering, thing: Any) -> Any:
    """Returns what a Tensor, a Parameter or another input is at run time."""
    if isinstance(thing, type) or not hasattr(thing, "_data"):
        raise low.fail(
            DTypeError,
            f"a {type(thing).__name__} cannot be an operand, or an item of an array",
            "use a number or an array here",
        )
    return thing._data


def _known_array(low: Lowering, value: Value) -> Any:
    """Returns the array behind a value from outside, and guards its contents.

    Returns None for a value that is not known at compile time: a Parameter, or a computed one.
    """
    if value in low.arguments and low.parent:
        return _known_array(low.parent, low.arguments[value])
    sources = [thing for thing, its in low.hoisted.values() if its is value]
    if not sources:
        return _known_array(low.parent, value) if low.parent else None
    (thing,) = sources
    if type(thing) is not Tensor and not isinstance(thing, np.ndarray):
        return None
    path = low.compilation.path(thing)
    array = np.array(thing)
    if path is not None:
        key = path if isinstance(thing, np.ndarray) else f"{path}._data"
        low.compilation.guards[key, "equal"] = Guard(key, "equal", array)
    return array


def _name_of(low: Lowering, thing: Any) -> str:
    """Returns the name of an outside object, from the path under which it is found."""
    if isinstance(thing, Generator) and thing.name:
        return thing.name
    path = low.compilation.path(thing) or ""
    last = path.replace("].", ".").rstrip("]'\"").rpartition(".")[2].rpartition("['")[2]
    name = last if last.isidentifier() else ""
    if not name and isinstance(thing, Parameter):
        name = thing.name.rpartition(".")[2]
    if name.isidentifier() and name != "cell_contents":
        return name
    return "generator" if isinstance(thing, Generator) else ""


# ---- variables


def require_value(low: Lowering, value: MaybeNone, name: str = "") -> Any:
    """Returns the value that is not None, as the generated function checks; the variable ``name``
    is not None from here on."""
    required = optional.require_value(low, value, f"'{name}'" if name else "this")
    if low.state.names.get(name) is value:
        low.state.names[name] = required
    return required


def _check_set(low: Lowering, variable: MaybeUnset) -> None:
    """Adds a check that raises where the path that was taken did not set a variable."""
    if variable.flag is None:
        test = is_unset(next(leaves(detach(variable.value, low.state))))
    else:
        test = comparisons.logical_not(variable.flag)
    with low.builder.block() as ops:
        fail_unset(low, variable.unset.cause)
    low.builder.branch(test, Region((), tuple(ops), ()), Region((), (), ()))


def fail_unset(low: Lowering, cause: str) -> None:
    """Adds an operation that raises ``UnboundLocalError``."""
    low.builder.make(effects.raise_error, (cause,), {"error": "UnboundLocalError"})


def _heap_contents(low: Lowering, ref: HeapRef) -> Any:
    """Returns the items of a heap object."""
    if ref.kind == OBJECT:
        name = low.state.heap[ref]["__class__"].__name__
        raise low.fail(
            DTypeError,
            f"an object of class '{name}' cannot be unpacked",
            "read the attributes one by one",
        )
    contents = low.state.heap[ref]
    if is_runtime_list(contents):
        raise low.fail(
            DTypeError,
            "this needs a list whose length is a compile-time constant, but a "
            "loop appends to this one",
            "index the list, or loop over it",
        )
    return contents


def call_site(low: Lowering) -> Caller | None:
    """Returns the place of the call that is lowered now; None for the outermost function."""
    return Caller(low.place, low.frame.title) if low.place else None
