"""The fast path: one generated function that serves a call like an earlier one.

It is compiled at the second use of a compiled function: of a gradient, a tangent or a plain run.
It checks the arguments and the guards, runs the generated functions and packs the results. It
looks nothing up that was known at generation. If anything differs it returns False, and the call
takes the slow path.

A call has no fast path if it is unusual: arguments other than tensors, arrays, numbers or
constants; outputs other than these and tuples of them; writes; missing gradients.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from autodiff_compiler.common.context import OF_REQUEST, SETTINGS
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.structures import Node
from autodiff_compiler.common.tensor import BLANK, Tensor
from autodiff_compiler.interface.compiled import ArrayType, Compiled, ScalarType, TupleType, Type
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ops.transforms.gradient import ALL, GradientFunction
from autodiff_compiler.runtime.buffers import Workspace
from autodiff_compiler.runtime.guards import guard_lines

#: ``(fn, arguments) -> result``, or False if the call differs from the earlier one.
FastCall = Callable[[Any, tuple[Any, ...]], Any]

_NUMBERS = (int, float, complex)
_CONSTANTS = (bool, str, type(None))


class FastCallEntry(Protocol):
    """The attributes of a compiled function that its fast call reads; the fast call counts its
    calls.

    matches_request   True if backward returns, or the tangent takes, one value for each requested
                      place, in that order.
    returns_tensors   True if arrays are returned as tensors.
    has_target_of_its_own   True if the target is not that of ``set_context``.
    """

    compiled: Compiled
    request: Request
    loaded: Any
    workspace: Workspace
    calls: int
    matches_request: bool
    has_target_of_its_own: bool
    returns_tensors: bool


def compile_fast_call(
    unit: FastCallEntry,
    slots: Sequence[Any],
    copy_if_shared: Callable[[Any, Sequence[Any]], Any],
    gradient: GradientFunction[..., Any] | None = None,
    apply_pullback: Callable[[Any, Any], tuple[Any, ...]] | None = None,
) -> FastCall | None:
    """Returns the fast call of a compiled function, or None if it has none.

    copy_if_shared   ``copy_if_shared(value, arrays)`` returns the value in memory that ``arrays``
                     do not use.
    gradient         packs the gradients, if there are any.
    apply_pullback   given if the call returns the value and a pullback.
                     ``apply_pullback(residuals, sens)`` returns the gradients of the inputs and of
                     the weights, for any sensitivity that fits.
    """
    loaded, workspace = unit.loaded, unit.workspace
    writer = _Writer(unit, slots, gradient)
    if not writer.is_simple:
        return None
    if unit.compiled.is_joint:
        direct = _DirectWriter(unit, slots, gradient)
        writer = direct if direct.packing is not None else writer
    names = {
        "forward": loaded.forward,
        "backward": loaded.backward,
        "explain": loaded.explain,
        "copy_if_shared": copy_if_shared,
        "unit": unit,
        "blank": BLANK,
        "Tensor": Tensor,
        "ndarray": np.ndarray,
        "asarray": np.asarray,
        "acquire": workspace.acquire,
        "release": workspace.release,
        "settings": SETTINGS,
        "apply_pullback": apply_pullback,
    }
    text, constants = writer.text()
    body = "\n".join(text)
    used = set(re.findall(r"\w+", body))
    # A call fills in all defaults, so only names that are used get one.
    names = {name: value for name, value in (names | constants).items() if name in used}
    defaults = "".join(f", {name}={name}" for name in names)
    source = f"def fast_call(fn, args{defaults}):\n" + "".join(f"    {line}\n" for line in text)
    scope: dict[str, Any] = dict(names)
    exec(compile(source, "<autodiff call>", "exec", dont_inherit=True), scope)
    fast_call: FastCall = scope["fast_call"]
    return fast_call


def _holds_node(structure: Any) -> bool:
    """True if a named tuple or an object is returned, which has to be rebuilt."""
    if isinstance(structure, (tuple, list)):
        return any(map(_holds_node, structure))
    if isinstance(structure, dict):
        return any(map(_holds_node, structure.values()))
    return isinstance(structure, Node)


class _Writer:
    """Writes the lines of a fast call, and collects the constants that they name.

    main   the type of the differentiated output, of the sensitivity and of the tangent.
    """

    checks_hooks = True
    #: The numbers of hoisted tensors that the called function reads and checks.
    unread: frozenset[int] = frozenset()

    def __init__(
        self,
        unit: FastCallEntry,
        slots: Sequence[Any],
        gradient: GradientFunction[..., Any] | None,
    ):
        self.unit, self.slots, self.gradient = unit, slots, gradient
        self.compiled, self.request = unit.compiled, unit.request
        self.constants: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        out = self.compiled.output
        self.main = out.items[0] if self.request.aux and isinstance(out, TupleType) else out

    @property
    def is_simple(self) -> bool:
        request, compiled = self.request, self.compiled
        if (
            compiled.writes
            or not self.unit.matches_request
            or not all(map(self._is_plain, self.slots))
        ):
            return False
        if request.tangent and compiled.weights:
            return False
        if request.differentiates and not (self.gradient and self.gradient.packs_plainly):
            return False
        main = self.main
        if request.takes_sens and not (isinstance(main, ArrayType) and main.is_static):
            return False
        if _holds_node(compiled.structure):
            return False
        return not request.value or self._can_return(compiled.output)

    def _is_plain(self, slot: Any) -> bool:
        return type(slot) in (Tensor, np.ndarray, *_NUMBERS, *_CONSTANTS)

    def _can_return(self, type_: Type) -> bool:
        """True if a value of this type can be returned."""
        if isinstance(type_, TupleType):
            return bool(type_.items) and all(map(self._can_return, type_.items))
        if isinstance(type_, ArrayType):
            return type_.is_static
        # A result of False would mean that the call takes the slow path.
        return (
            isinstance(type_, ScalarType) and type_.kind != "bool" and not self.unit.returns_tensors
        )

    def constant(self, value: Any) -> str:
        name = self.names.setdefault(id(value), f"k{len(self.names)}")
        self.constants[name] = value  # keeps it alive, so its id stays unique
        return name

    def text(self) -> tuple[list[str], dict[str, Any]]:
        """Returns the lines of the function's body, and the constants."""
        lines, constants = self._checks(self._arguments())
        return [*lines, "unit.calls += 1", *self._run()], self.constants | constants

    def _checks(self, arguments: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """Returns lines that refuse a call unlike the earlier one, and their constants."""
        guard, constants = guard_lines(self.compiled.guards, self.compiled.hoisted, self.unread)
        checks = [*arguments, *guard]
        if not self.request.differentiates:  # a gradient function has settings of its own
            values = {name: getattr(self.request, name) for name in OF_REQUEST}
            if self.unit.has_target_of_its_own:
                del values["target"]
            other = (f"settings[{name!r}] != {value!r}" for name, value in values.items())
            checks.append(f"if {' or '.join(other)}: return False")
        lines = ["try:", *(f"    {line}" for line in checks)]
        return [*lines, "except Exception:", "    return False"], constants

    # ---- arguments

    def _arguments(self) -> list[str]:
        """Returns lines that unpack the arguments, and refuse other signatures."""
        self.given = [f"a{n}" for n in range(len(self.slots))]
        positions = self.compiled.positions if self.request.tangent else ()
        self.dots = [f"v{slot}" for slot in positions]
        given = self.request.sens == "given"
        names = [*self.given, *self.dots, *["sens"] * given]
        lines = [f"{''.join(f'{name}, ' for name in names)}= args" if names else "() = args"]
        for name, slot in zip(self.given, self.slots):
            lines += self._argument(name, slot)
            if type(slot) is Tensor and self.checks_hooks:
                lines.append(f"if {name}._hooks is not {self.constant(slot._hooks)}: return False")
        for name, slot in zip(self.dots, positions):
            lines += self._argument(name, self.slots[slot])
        if given:
            lines += self._sensitivity()
        if any("slots" in guard.path for guard in self.compiled.guards):
            lines.append(f"slots = ({''.join(f'{name}, ' for name in self.given)})")
        return lines

    def _sensitivity(self) -> list[str]:
        """Returns lines that refuse a sensitivity unless its dtype and shape fit exactly."""
        assert isinstance(self.main, ArrayType) and self.main.dtype is not None
        kind = "Tensor" if self.unit.returns_tensors else "ndarray"
        return self._array("sens", np.dtype(self.main.dtype), self.main.shape, kind)

    def _argument(self, name: str, like: Any) -> list[str]:
        """Returns lines that refuse an argument unlike this one. Of a number only the type
        counts."""
        if type(like) is Tensor:
            return self._array(name, like._data.dtype, like._data.shape)
        if type(like) is np.ndarray:
            return self._array(name, like.dtype, like.shape, "ndarray")
        if type(like) not in (*_NUMBERS, str):
            return [f"if {name} is not {like}: return False"]
        kind = self.constant(type(like))
        lines = [f"if type({name}) is not {kind}: return False"]
        if type(like) is str:
            lines.append(f"if {name} != {self.constant(like)}: return False")
        return lines

    def _array(self, name: str, dtype: np.dtype, shape: Any, kind: str = "Tensor") -> list[str]:
        known, size = self.constant(dtype), self.constant(shape)
        return [
            f"if type({name}) is not {kind}: return False",
            f"d_{name} = {name}{'._data' if kind == 'Tensor' else ''}",
            f"if d_{name}.dtype is not {known} or d_{name}.shape != {size}: return False",
        ]

    # ---- calls

    def _run(self) -> list[str]:
        """Returns lines that call the generated functions, and return the result."""
        compiled, request = self.compiled, self.request
        inputs = [self.slots[slot] for slot in compiled.dynamic_slots]
        arrays = [*map(self._array_of, (f"a{slot}" for slot in compiled.dynamic_slots), inputs)]
        arrays += [f"h{number}" for number in range(len(compiled.hoisted))]
        arrays += map(self._array_of, self.dots, (self.slots[slot] for slot in compiled.positions))
        work = [
            [f"buffers[{number}]"] * bool(places)
            for number, places in enumerate(compiled.work_arrays)
        ]
        if request.sens == "later":
            # No buffers: the residuals outlive the call.
            calls = [f"value, residuals = forward({', '.join(arrays)})"]
            return [*_with_note(calls), *self._return_value_and_pullback(arrays)]
        sens = ["d_sens"] * (request.sens == "given")
        value = "value, " if request.returns_value else ""
        if compiled.is_joint and request.differentiates:
            calls = [f"{value}outcome = forward({', '.join([*arrays, *sens])})"]
        elif request.differentiates:
            backward = ", ".join(["residuals", *sens, *work[1]])
            calls = [f"{value}residuals = forward({', '.join([*arrays, *work[0]])})"]
            calls.append(f"outcome = backward({backward})")
        else:
            results = "value, dot" if request.tangent else "value"
            calls = [f"{results} = forward({', '.join([*arrays, *work[0]])})"]
        lines = _with_note(calls)
        if compiled.allocations:
            lines = ["buffers = acquire()", *lines, "release(buffers)"]
        return [*lines, *self._return_result(arrays)]

    def _array_of(self, name: str, like: Any) -> str:
        """Returns the name of an argument's array, or of the number."""
        return name if type(like) in _NUMBERS else f"d_{name}"

    # ---- results

    def _return_result(self, arrays: list[str]) -> list[str]:
        """Returns lines that pack and return the results."""
        compiled, request = self.compiled, self.request
        out, structure = compiled.output, compiled.structure
        if request.tangent:
            in_use = [*arrays]
            lines, value = self._value("value", out, structure, in_use)
            first = structure[0] if request.aux and structure is not None else structure
            more, dot = self._value("dot", self.main, first, in_use)
            return [*lines, *more, f"return {value}, {dot}"]
        if not request.differentiates:
            lines, value = self._value("value", out, structure, arrays)
            return [*lines, f"return {value}"]
        assert self.gradient is not None
        lines, packed = self._gradients(self.gradient)
        if self.gradient.value:
            more, value = self._value("value", out, structure, arrays)
            return [*lines, *more, f"return {value}, {packed}"]
        if not isinstance(out, TupleType) or not request.aux:
            return [*lines, f"return {packed}"]
        rest = None if structure is None else (*structure[1:],)
        more, value = self._value("value", TupleType(out.items[1:]), rest, arrays)
        return [*lines, "value = value[1:]", *more, f"return {packed}, {value}"]

    def _return_value_and_pullback(self, arrays: list[str]) -> list[str]:
        """Returns lines that return the value, and a function from a sensitivity to the
        gradients."""
        assert self.gradient is not None
        in_use = [*arrays]
        lines, value = self._value("value", self.compiled.output, self.compiled.structure, in_use)
        unpacking, packed = self._gradients(self.gradient)
        rows = "tuple(rows[0]), tuple(rows[1])" if self.gradient.by_list else "tuple(rows[0])"
        other = f"rows = apply_pullback(residuals, sens); return {rows}"
        body = [
            *(line.replace("return False", other) for line in self._sensitivity()),
            *_with_note(["outcome = backward(residuals, d_sens)"]),
            *unpacking,
            f"return {packed}",
        ]
        return [
            *lines,
            f"residuals = copy_if_shared(residuals, [{', '.join(in_use)}])",
            "def back(sens):",
            *(f"    {line}" for line in body),
            f"return {value}, back",
        ]

    def _gradients(self, gradient: GradientFunction[..., Any]) -> tuple[list[str], str]:
        """Returns lines for the results of backward, and the expression of the packed gradients."""
        inputs, weights = len(self.compiled.positions), len(self.compiled.weights)
        names = [f"g{n}" for n in range(inputs + weights)]
        if len(names) == 1:
            lines = ["g0 = outcome"]
        else:
            lines = [f"{', '.join(names)} = outcome"] if names else []
        things = [self.slots[slot] for slot in self.compiled.positions] + [*self.compiled.weights]
        shapes = [getattr(thing, "shape", ()) for thing in things]
        tensors = [self._tensor(name, bool(shape)) for name, shape in zip(names, shapes)]
        for more, _ in tensors:
            lines += more
        packed = _packed_gradients(gradient, tuple(name for _, name in tensors), inputs)
        return lines, _tuple_text(packed)

    def _value(
        self, name: str, type_: Type, structure: Any, in_use: list[str]
    ) -> tuple[list[str], str]:
        """Returns lines for a value, and its expression.

        The value is in memory that neither ``in_use`` nor another part of it uses; see
        ``CompiledFunction.results``. Its arrays are added to ``in_use``.
        """
        if isinstance(type_, TupleType):
            parts = [f"{name}_{n}" for n in range(len(type_.items))]
            lines, answers = [f"{_row(parts)} = {name}"], []
            for part, item, tree in zip(parts, type_.items, structure or [None] * len(parts)):
                more, answer = self._value(part, item, tree, in_use)
                lines += more
                answers.append(answer)
            return lines, f"[{', '.join(answers)}]" if isinstance(structure, list) else _row(
                answers
            )
        if not isinstance(type_, ArrayType):
            return [], name
        lines = []
        if not self._owns_memory(name):
            others = "".join(f" or {name} is {array}" for array in in_use)
            lines = [
                f"if type({name}) is not ndarray or {name}.base is not None{others}:",
                f"    {name} = copy_if_shared({name}, [{', '.join(in_use)}])",
            ]
        in_use.append(name)
        more, answer = self._tensor(name, bool(type_.shape) and not self.request.tangent)
        return [*lines, *more], answer

    def _owns_memory(self, name: str) -> bool:
        """True if the variable ``name`` surely is in memory of its own."""
        is_value = name == "value" and not self.request.tangent
        return is_value and (self.compiled.owns_memory or not self.request.differentiates)

    def _tensor(self, name: str, array: bool) -> tuple[list[str], str]:
        """Returns lines for a tensor of the variable ``name``, and the tensor's name. ``array`` is
        true if the variable surely is an array, and not a NumPy number."""
        if not self.unit.returns_tensors:
            return [], name
        sure = [] if array else [f"if type({name}) is not ndarray: {name} = asarray({name})"]
        tensor = f"t_{name}"
        return [
            *sure,
            f"{tensor} = next(blank)",
            f"{tensor}._data = {name}",
            f"{tensor}._hooks = ()",
        ], tensor


class _DirectWriter(_Writer):
    """Writes a fast call of one C function, which checks its arguments and packs the results.

    packing  what the call returns, with the numbers of the outputs; None if C cannot pack it.
    """

    checks_hooks = False  # C refuses a tensor with hooks

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.packing = self._packing()
        sources = [item.source for item in self.compiled.hoisted]
        self.unread = frozenset(n for n, source in enumerate(sources) if _is_unhooked(source))

    def _packing(self) -> Any:
        request, returned = self.request, self.unit.loaded.packing
        if _holds_list(self.compiled.structure):
            return None
        if any(type(slot) is Tensor and slot._hooks for slot in self.slots):
            return None
        if not request.differentiates:
            return returned
        value, gradients = returned if request.returns_value else (None, returned)
        assert self.gradient is not None
        packed = _packed_gradients(
            self.gradient, _items(gradients, self._gradient_count), len(self.compiled.positions)
        )
        if self.gradient.value:
            return value, packed
        if isinstance(self.compiled.output, TupleType) and request.aux:
            return None
        return packed

    @property
    def _gradient_count(self) -> int:
        return len(self.compiled.positions) + len(self.compiled.weights)

    def text(self) -> tuple[list[str], dict[str, Any]]:
        """Returns the lines of the function's body, and the constants."""
        compiled, arguments = self.compiled, self._arguments()
        inputs = [self.slots[slot] for slot in compiled.dynamic_slots]
        names = [f"a{slot}" for slot in compiled.dynamic_slots]
        names += [f"h{number}" for number in range(len(compiled.hoisted))]
        holders = [Tensor if type(each) is Tensor else None for each in inputs]
        holders += [
            type(item.source) if number in self.unread else None
            for number, item in enumerate(compiled.hoisted)
        ]
        if self.request.sens == "given":
            names.append("sens")
            holders.append(Tensor if self.unit.returns_tensors else None)
        names += self.dots
        moved = (self.slots[slot] for slot in compiled.positions if self.dots)
        holders += [Tensor if type(each) is Tensor else None for each in moved]
        run = self.unit.loaded.direct(self.packing, holders, self.unit.returns_tensors)
        lines, constants = self._checks(arguments)
        lines += [
            f"outcome = {self.constant(run)}({', '.join(names)})",
            "if outcome is NotImplemented: return False",
            "unit.calls += 1",
            "return outcome",
        ]
        return lines, self.constants | constants

    def _array(self, name: str, dtype: np.dtype, shape: Any, kind: str = "Tensor") -> list[str]:
        """Returns no lines: the C function refuses an argument that does not fit."""
        return []


def _is_unhooked(source: Any) -> bool:
    """True if this is a tensor or Parameter without hooks, which C reads and checks."""
    return type(source) in (Tensor, Parameter) and source._hooks == ()


def _holds_list(structure: Any) -> bool:
    """True if a list or dict is returned, which C does not make."""
    if isinstance(structure, tuple):
        return any(map(_holds_list, structure))
    return isinstance(structure, (list, dict))


def _items(packing: Any, count: int) -> tuple[Any, ...]:
    """Returns what a packing of ``count`` things has of each."""
    return (packing,) if count == 1 else packing


def _packed_gradients(
    gradient: GradientFunction[..., Any], gradients: tuple[Any, ...], inputs: int
) -> Any:
    """Returns gradients of inputs and weights in the form that a caller gets."""
    parts: list[Any] = []
    if gradient.position is not None:
        first = gradients[:inputs]
        parts.append(first if gradient.position == ALL or inputs != 1 else first[0])
    if gradient.by_list:
        parts.append(gradients[inputs:])
    return parts[0] if len(parts) == 1 else tuple(parts)


def _with_note(calls: Sequence[str]) -> list[str]:
    """Returns lines for calls of generated functions. An exception that they raise gets a note."""
    return [
        "try:",
        *(f"    {call}" for call in calls),
        "except Exception as error:",
        "    explain(error)",
        "    raise",
    ]


def _tuple_text(parts: Any) -> str:
    """Returns the text of names in nested tuples."""
    return parts if isinstance(parts, str) else _row([*map(_tuple_text, parts)])


def _row(names: Sequence[str]) -> str:
    """Returns the text of a tuple."""
    return f"({''.join(f'{name}, ' for name in names)})"


__all__ = ["FastCall", "compile_fast_call"]
