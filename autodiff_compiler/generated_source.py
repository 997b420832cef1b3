"""Generated code as text: ``gradient_source`` and ``export_source``."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from autodiff_compiler import pipeline
from autodiff_compiler.abstract_arguments import (
    argument_names,
    missing_keywords,
    required,
    slot_of,
    with_layout,
)
from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.context import LEVELS, TARGETS, new_request
from autodiff_compiler.common.files.atomic_files import atomic_write
from autodiff_compiler.emit.memory_report.table import memory_table
from autodiff_compiler.emit.outside_arrays import all_constants
from autodiff_compiler.errors import CallError
from autodiff_compiler.faults import compiling
from autodiff_compiler.frontend.lower import place_of
from autodiff_compiler.interface.compiled import (
    HookedSlot,
    NeedValues,
    NoNativeText,
    Slot,
    StaticSlot,
)
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.printer import print_functions
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.ops.transforms.gradient import ALL, GradientFunction, checked_position
from autodiff_compiler.ops.transforms.nested_arguments import Flat, flattened, is_active
from autodiff_compiler.ops.transforms.transformed import Transformed, is_whole, unwrapped
from autodiff_compiler.program import Program
from autodiff_compiler.runtime.arguments import check_not_whole_numbers, is_numpy_call, signatures
from autodiff_compiler.runtime.late_imports import imported_late
from autodiff_compiler.runtime.static_arguments import retry_with_static_numbers

Made = TypeVar("Made")

#: Returns the files of an exported C program, by their names.
c_export = imported_late("autodiff_compiler.stages.c_export", "c_export")

MODES = ("reverse", "forward", "value")
#: Prints a function of loop nests.
print_nests = imported_late("autodiff_compiler.loop_ir.printer", "print_nests")

#: The table of the values saved for backward: what ``stage`` may name besides a stage.
MEMORY = "memory"


def gradient_source(
    fn: Any,
    *inputs: Any,
    get_all: bool = False,
    get_by_list: bool = False,
    sens_param: bool = False,
    weights: Any = None,
    position: int | str | tuple[int | str, ...] | None = None,
    value: bool = False,
    has_aux: bool = False,
    keywords: Mapping[str, Any] | None = None,
    mode: str = "reverse",
    stage: str = "source",
    opt_level: int | None = None,
    stabilise: bool | None = None,
    target: str | None = None,
) -> str:
    """Returns the source of the gradient of ``fn``, or of ``fn`` itself.

    inputs      tensors, arrays, numbers, or types as strings: ``"f32[2,3]"``, ``"f32[b,3]"``,
                ``"any[...]"``, ``"int"``. Without any, each required one is ``any[...]``.
                A string argument is bound before: ``functools.partial(f, mode="sum")``.
    keywords    the same, for arguments that are given by keyword.
    get_all, get_by_list, sens_param   as for ``GradOperation``.
    position    what is differentiated, as for ``grad``: a position or the name of an argument, or
                a tuple of these. Without it the first input, or what ``weights`` names.
    weights     Parameters as for ``grad``, or their names; ``"trainable"`` or ``"all"`` of a Cell.
    value       True if forward returns the value of ``fn``, too, as for ``value_and_grad``.
    has_aux     True if only the first of several outputs is differentiated.
    mode        ``reverse``: a forward and a backward function. ``forward``: one function, which
                also takes tangents of the inputs and returns the tangent of the value. ``value``:
                ``fn`` itself, for functions that contain derivatives: a ``TrainOneStepCell``,
                ``grad(f)``, ``hessian(f)``, ``vmap(f)``.
    opt_level   0, 1, 2 or 3 (None: as ``set_context`` says, which is 1 if it says nothing).
    stage       a stage of the compiler, after which the program is printed: ``typed``, ``stable``,
                ``primal``, ``derivative``, ``simplified``, ``scheduled``, ``buffers`` or ``source``
                (see ``docs/passes.md``); ``memory`` for a table of the saved values. C has the
                stages ``typed``, ``stable``, ``primal``, ``gradient``, ``nests`` (loop nests) and
                ``c`` (or ``source``).
    stabilise   True if formulas that overflow or cancel are replaced by stable operators (None: as
                ``set_context`` says, which is yes if it says nothing).
    target      "numpy" or "c" (None: as ``set_context`` says). C raises a CallError where a
                function has no C text.

    Raises a CompileError with every problem of the source function, and CallError (a CompileError)
    for an unknown setting. Raises ValueError for a string that is no type.
    """
    settings = _Settings(
        get_all,
        get_by_list,
        sens_param,
        weights,
        position,
        value,
        has_aux,
        keywords or {},
        mode,
        opt_level,
        stabilise,
        target,
    )

    return settings.compiled(fn, inputs, lambda call: stage_text(call.start(), stage))


def stage_text(program: Program, stage: str) -> str:
    """Returns the text of a program after a stage; for ``MEMORY`` the table of saved values."""
    target = program.request.target
    stages = pipeline.PIPELINES[target].names
    stage = "c" if (target, stage) == ("c", "source") else stage
    if stage not in (*stages, MEMORY):
        raise CallError(
            f"there is no stage '{stage}' for target='{target}'", f"use one of {', '.join(stages)}"
        )
    if stage != MEMORY:
        program = _run(program, stage)
        printed = print_nests if program.nests else print_functions
        roots = map(printed, program.nests or program.functions)
        return program.source or "\n".join(text.rstrip("\n") + "\n" for text in roots)
    if not program.request.differentiates:
        raise CallError(
            "there is no backward function, so no values are saved for it", "compile a gradient"
        )
    program = pipeline.run(program)
    return memory_table(program.functions, program.names)


def _run(program: Program, stage: str) -> Program:
    """Returns the program after a stage of its target."""
    try:
        return pipeline.run(program, stage, program.request.target)
    except NoNativeText as error:
        raise _without_c(error) from None


def exported_files(
    fn: Any, path: str | os.PathLike[str], *inputs: Any, **flags: Any
) -> dict[Path, bytes]:
    """Returns the contents of the files that ``export_source`` writes; that at ``path`` is last."""
    settings = _Settings(**flags)
    if settings.target == "c":
        return settings.compiled(fn, inputs, partial(_c_files, Path(path)))
    text, arrays = settings.compiled(fn, inputs, _standalone)
    beside = {beside_of(path): stored(arrays)} if arrays else {}
    return {**beside, Path(path): text.encode("utf-8")}


def export_source(fn: Any, path: str | os.PathLike[str], *inputs: Any, **flags: Any) -> None:
    """Writes the source that ``gradient_source(fn, *inputs, **flags)`` returns to a file.

    The file needs NumPy alone. It holds the present values of the arrays that ``fn`` reads from
    outside; large ones are stored in a file of the same name that ends in ``.npz``. Parameters are
    not among them: they are arguments of the generated functions.

    With ``target="c"`` the file has a name such as ``net.c``, and holds all of these arrays. Two
    files are written beside it. ``net.h`` declares the functions and documents their arguments.
    ``net_main.c`` is a program that compares them with numbers of NumPy. Its arguments are
    ``inputs``; for types and large arrays, numbers by a formula.

    ``inputs``, ``flags`` and errors are those of ``gradient_source``. Raises OSError if a file
    cannot be written. Existing files stay if there is an error of the compiler.
    """
    for file, content in exported_files(fn, path, *inputs, **flags).items():
        with atomic_write(file) as out:
            out.write(content)


def _standalone(call: _Call) -> tuple[str, dict[str, np.ndarray]]:
    request = replace(call.request, target="numpy")
    program = pipeline.run(call.start(request), "buffers")
    constants, stored = all_constants(program)
    return pipeline.run(replace(program, constants=constants)).source, stored


def _c_files(path: Path, call: _Call) -> dict[Path, bytes]:
    if path.suffix != ".c":
        raise CallError(
            f"the name of a C file ends in .c, but got '{path}'", f"use '{path.with_suffix('.c')}'"
        )
    try:
        texts = c_export(call.start(), path.stem, call.given, pipeline.run)
    except NoNativeText as error:
        raise _without_c(error) from None
    files = {path.with_name(name): text.encode("utf-8") for name, text in texts.items()}
    return {**{file: text for file, text in files.items() if file != path}, path: files[path]}


def _without_c(error: NoNativeText) -> CallError:
    return CallError(f"this function has no C text: {error}", "use target='numpy'")


def beside_of(path: str | os.PathLike[str]) -> Path:
    """Returns the path of the file of arrays that belongs to a module."""
    return Path(path).with_suffix(".npz")


def stored(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Returns the contents of an ``.npz`` file: the same bytes for the same arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as folder:
        for name, array in arrays.items():
            entry = io.BytesIO()
            np.lib.format.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)
            folder.writestr(zipfile.ZipInfo(f"{name}.npy"), entry.getvalue())
    return buffer.getvalue()


@dataclass(frozen=True)
class _Call:
    """A function and its arguments, as the compiler takes them.

    given   for each slot its value, or its type as a string.
    """

    fn: Any
    request: Request
    slots: Sequence[Slot]
    keywords: Sequence[str]
    given: Sequence[Any]

    def start(self, request: Request | None = None) -> Program:
        """Returns the program after the first stage."""
        return pipeline.start(self.fn, request or self.request, self.slots, self.keywords)


@dataclass(frozen=True)
class _Settings:
    """The settings of ``gradient_source``."""

    get_all: bool = False
    get_by_list: bool = False
    sens_param: bool = False
    weights: Any = None
    position: Any = None
    value: bool = False
    has_aux: bool = False
    keywords: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "reverse"
    opt_level: int | None = None
    stabilise: bool | None = None
    target: str | None = None

    def compiled(self, fn: Any, inputs: Sequence[Any], make: Callable[[_Call], Made]) -> Made:
        """Returns the result of ``make`` for the call of the compiler."""
        target = unwrapped(fn)
        keywords = {
            **self.keywords,
            **dict.fromkeys(missing_keywords(target, self.keywords), "any[...]"),
        }
        given = (*(inputs or _any(required(target, keywords))), *keywords.values())
        signatures(given)  # refuses a container that holds itself
        slots = tuple(map(slot_of, given))
        names = [*argument_names(target, len(given) - len(keywords)), *keywords]
        if flat := flattened(target, given[: len(given) - len(keywords)], keywords):
            return self.of_leaves(*flat, names).compiled(*flat, make)
        request = self.request(target, given, slots, names)

        def attempt(known: frozenset[int]) -> Made:
            row = [
                StaticSlot(given[n]) if n in known else with_layout(slot, given[n])
                for n, slot in enumerate(slots)
            ]
            try:
                return make(_Call(target, request, row, tuple(keywords), given))
            except NeedValues as need:
                if not any(isinstance(given[n], str) for n in need.positions):
                    raise
                cure = "give the number itself instead of its type"
                raise CallError(str(need), cure) from None

        return compiling(
            lambda: retry_with_static_numbers(attempt, given, differentiated=request.positions)[0],
            lambda: place_of(target),
        )

    def of_leaves(self, flat: Flat, leaves: Sequence[Any], names: Sequence[str]) -> _Settings:
        """Returns the settings for the leaves of the containers among the arguments."""
        position = self.position
        if self.mode != "value":
            by_list = self.get_by_list or self.weights is not None
            asked = _position(position, names, self.get_all, by_list)
            if asked == ALL:
                asked = tuple(range(len(flat.skeletons)))
            wanted = () if asked is None else asked if isinstance(asked, tuple) else (asked,)
            position = tuple(
                place
                for slot in wanted
                for place in flat.places(slot)
                if flat.is_leaf(slot) or isinstance(leaves[place], str) or is_active(leaves[place])
            )
        weights = _weights(flat, self.weights)
        return replace(self, position=position or None, keywords={}, get_all=False, weights=weights)

    def request(
        self, target: Any, given: Sequence[Any], slots: Sequence[Slot], names: Sequence[str]
    ) -> Request:
        """Returns the request to the compiler."""
        if self.mode not in MODES:
            raise CallError(f"there is no mode '{self.mode}'", f"use one of {', '.join(MODES)}")
        values = [slot if isinstance(each, str) else each for each, slot in zip(given, slots)]
        numpy = is_numpy_call(target, values)
        if self.mode == "value":
            request = self.of_the_function(target)
        else:
            gradient = self.gradient(target, names)
            check_not_whole_numbers(target, values, gradient.wanted())
            request = gradient.request([_is_active(slot, numpy) for slot in slots])
        if self.mode == "forward":
            if self.sens_param:
                raise CallError("forward mode takes no sensitivity", "omit sens_param")
            request = replace(request, sens="none", value=True, tangent=True)
        return replace(request, numpy=numpy, **self.overrides())

    def overrides(self) -> dict[str, Any]:
        """Returns the fields of the request that are not as ``set_context`` says."""
        if self.opt_level is not None and self.opt_level not in LEVELS:
            raise CallError(f"there is no optimization level {self.opt_level}", "use 0, 1, 2 or 3")
        if self.target is not None and self.target not in TARGETS:
            raise CallError(f"there is no target {self.target!r}", 'use "numpy" or "c"')
        given = {
            "opt_level": self.opt_level,
            "stabilise": self.stabilise,
            "target": self.target,
        }
        return {name: value for name, value in given.items() if value is not None}

    def gradient(self, target: Any, names: Sequence[str]) -> GradientFunction[..., Any]:
        """Returns the gradient function that these settings ask for."""
        by_list = self.get_by_list or self.weights is not None
        gradient = GradientFunction(
            target,
            _weights(target, self.weights),
            position=_position(self.position, names, self.get_all, by_list),
            optional=True,
            by_list=by_list,
            sens_param=self.sens_param,
            value=self.value,
            has_aux=self.has_aux,
        )
        _check_positions(gradient, names)
        return gradient

    def of_the_function(self, target: Any) -> Request:
        """Returns the request for the function itself."""
        asked = (self.get_all, self.get_by_list, self.sens_param, self.value, self.has_aux)
        if any(asked) or self.position is not None or self.weights is not None:
            raise CallError(
                "mode='value' compiles the function itself, without a position, weight "
                "or sensitivity",
                "omit these settings, or omit mode='value'",
            )
        double = isinstance(target, Transformed) and target.double
        return new_request(double, target)


# ---- positions and weights


def _is_active(slot: Slot, numpy: bool) -> bool:
    """True if an argument has a gradient: a tensor; in a plain function of arrays, real numbers."""
    if numpy and not isinstance(slot, (StaticSlot, HookedSlot)):
        return not is_whole(slot)
    return isinstance(slot, ArrayType)


def _position(asked: Any, names: Sequence[str], get_all: bool, by_list: bool) -> Any:
    """Returns the positions that numbers and names mean."""
    if asked is None:
        return ALL if get_all else None if by_list else 0
    if get_all:
        raise CallError("get_all and a position are both given", "omit one of them")
    several = asked if isinstance(asked, tuple) else (asked,)
    positions = []
    for each in several:
        if isinstance(each, str):
            if each not in names:
                raise CallError(
                    f"there is no argument '{each}'", f"the arguments are {', '.join(names)}"
                )
            each = names.index(each)
        positions.append(each)
    return checked_position(tuple(positions) if isinstance(asked, tuple) else positions[0])


def _check_positions(gradient: GradientFunction[..., Any], names: Sequence[str]) -> None:
    """Refuses positions that no argument has."""
    for place in gradient.wanted():
        if place >= len(names) and place > 0:
            raise CallError(
                f"there is no argument at position {place}",
                f"positions count from 0 to {len(names) - 1}",
            )


def _weights(fn: Any, asked: Any) -> Any:
    """Returns the Parameters that are meant: themselves, by their names, or of a kind."""
    several = asked if isinstance(asked, (tuple, list)) else (asked,)
    if not any(isinstance(each, str) for each in several):
        return asked
    cell = _cell_of(fn)
    if asked == "trainable":
        return tuple(cell.trainable_params())
    if asked == "all":
        return tuple(cell.get_parameters())
    known = {path: each for path, each in cell.parameters_and_names()}
    known.update({each.name: each for each in cell.get_parameters()})
    for name in several:
        if isinstance(name, str) and name not in known:
            names = ", ".join(path for path, _ in cell.parameters_and_names())
            raise CallError(f"there is no weight '{name}'", f"there are {names or 'none'}")
    weights = tuple(known[each] if isinstance(each, str) else each for each in several)
    return weights if isinstance(asked, (tuple, list)) else weights[0]


def _cell_of(fn: Any) -> Cell:
    """Returns the Cell that a function differentiates, or is a method of."""
    while isinstance(fn, Transformed):
        fn = fn.fn
    cell = getattr(fn, "__self__", fn)
    if not isinstance(cell, Cell):
        raise CallError(
            "weights are given, but a plain function has none",
            "differentiate a Cell, or omit the weights",
        )
    return cell


def _any(names: Sequence[str]) -> tuple[str, ...]:
    return ("any[...]",) * len(names)


__all__ = [
    "beside_of",
    "export_source",
    "exported_files",
    "gradient_source",
    "stage_text",
    "stored",
]
