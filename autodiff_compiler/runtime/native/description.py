"""Descriptions of compiled functions: how Python calls them.

A printed C file has an adapter ``int32_t name(void **p)``. It takes its arguments as one array of
pointers: to the inputs, the symbolic sizes, the outputs, the services and the workspace, in this
order. The last two are there only if the description asks for them. The pointer of an array leads
to its first element. The pointer of a number leads to a ``double``, ``int64_t`` or ``bool``, and
that of a size to an ``int64_t``.

The adapter returns 0, or the number of an error. The number is 1 if there is no memory, and 2 if a
poll of the services returned true. It is 16 + k for row k of the description's table.
"""

from __future__ import annotations

import builtins
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np


class Array(NamedTuple):
    """An array. Each size is a number or the name of a symbolic size.

    ``holder`` is the class of the Tensor or Parameter that holds the array, if one does. An input
    must then be exactly of this class, and without hooks. An output is a new Tensor.
    """

    dtype: str
    shape: tuple[int | str, ...]
    holder: type[Any] | None = None


class Number(NamedTuple):
    """A Python number."""

    kind: Literal["float", "int", "bool"]


_KINDS: dict[str, Number] = {
    "float": Number("float"),
    "int": Number("int"),
    "bool": Number("bool"),
}


def number(kind: object) -> Number:
    """Returns the number of this kind, such as ``float``; raises KeyError for another one."""
    return _KINDS[str(kind)]


class Scalar(NamedTuple):
    """A NumPy scalar. Only an output can be one."""

    dtype: str


class ErrorRow(NamedTuple):
    """An exception that a compiled function raises.

    ``has_details`` is true if the message contains places ``{0}`` to ``{3}``. They are for the
    numbers that the function left in the services' ``details``. ``kinds`` are the types of these
    numbers, by default ``int``. The first one is ``%`` if this sign marks the places.
    """

    exception: type[Exception]
    message: str
    has_details: bool = False
    kinds: tuple[str, ...] = ()

    def text(self, details: Sequence[int]) -> str:
        """Returns the message with its numbers.

        >>> ErrorRow(ValueError, "%d of %s", True, ("%", "int", "bool")).text((2, 1, 0, 0))
        '2 of True'
        """
        if not self.has_details:
            return self.message
        kinds = [each for each in self.kinds if each != "%"]
        numbers = [_number(*each) for each in zip(kinds, details)] if kinds else details
        if len(kinds) < len(self.kinds):
            return self.message % tuple(numbers)
        return self.message.format(*numbers)


def stored_descriptions(descriptions: Sequence[Description]) -> list[Any]:
    """Returns descriptions as plain data, for JSON."""
    return [asdict(each) | _stored_parts(each) for each in descriptions]


def _stored_parts(description: Description) -> dict[str, Any]:
    """Returns the fields whose types JSON does not have."""
    ends = (description.inputs, description.outputs)
    inputs, outputs = ([(type(each).__name__, *each) for each in end] for end in ends)
    errors = [(row.exception.__name__, *row[1:]) for row in description.errors]
    return {"inputs": inputs, "outputs": outputs, "errors": errors}


def read_descriptions(stored: Sequence[Any]) -> tuple[Description, ...]:
    """Returns the descriptions that ``stored_descriptions`` returned, read from JSON.

    >>> about = Description("f", "f", (Array("f4", (2,)), number("int")), (Scalar("f4"),))
    >>> read_descriptions(stored_descriptions([about])) == (about,)
    True
    """
    return tuple(_read_description(_tuples(each)) for each in stored)


def _read_description(fields: dict[str, Any]) -> Description:
    inputs, outputs = (
        tuple(_ENDS[kind](*parts) for kind, *parts in fields[end]) for end in ("inputs", "outputs")
    )
    rows = fields["errors"]
    errors = tuple(ErrorRow(_exception(name), *rest) for name, *rest in rows)
    return Description(**{**fields, "inputs": inputs, "outputs": outputs, "errors": errors})


def _tuples(value: Any) -> Any:
    """Returns data of JSON with tuples in place of lists."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _exception(name: str) -> type[Exception]:
    """Returns an exception of Python or of ``numpy.linalg``."""
    exception: type[Exception] = getattr(builtins, name, None) or getattr(np.linalg, name)
    return exception


def error_row(row: Sequence[str]) -> ErrorRow:
    """Returns the row for an error: its exception, its message, and the types of its numbers.

    >>> error_row(("IndexError", "no {0}", "int")).text((7, 0, 0, 0))
    'no 7'
    """
    name, message, *kinds = row
    return ErrorRow(_exception(name), message, bool(kinds), tuple(kinds))


def _number(kind: str, bits: int) -> Any:
    """Returns the number of a type that 64 bits stand for."""
    if kind in ("int", "bool"):
        return bool(bits) if kind == "bool" else bits
    is_float = kind.startswith("float")
    value = struct.unpack("d", struct.pack("q", bits))[0] if is_float else bits
    return value if kind == "float" else np.dtype(kind).type(value)


#: The classes of inputs and outputs, by name.
_ENDS: dict[str, Any] = {each.__name__: each for each in (Array, Number, Scalar)}
Input: TypeAlias = Array | Number
Output: TypeAlias = Array | Number | Scalar
#: The number of an output, or a tuple of packings.
Packing: TypeAlias = Any


@dataclass(frozen=True)
class Description:
    """The call of a compiled function: its inputs, its outputs and what it needs.

    name           the name of the callable.
    adapter        the name of the adapter in the C text.
    packing        what the callable returns; every output stands in it once. By default one output
                   is returned as it is, and several as a tuple.
    errors         the exceptions, from error 16 on.
    least_size     the smallest value that a symbolic size can take.
    derived        further names of sizes. The C function ``derive_sizes(int64_t *sizes)`` computes
                   them from the symbolic sizes, which stand before them. It returns 0, or another
                   number if the compiled function does not serve these sizes.
    workspace      the bytes of the workspace, or the name of a size that has them.
    services       True if the function takes services.
    is_long        True if a call takes so long that other threads should run (some 20 µs).
    """

    name: str
    adapter: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    packing: Packing = None
    errors: tuple[ErrorRow, ...] = ()
    least_size: int = 0
    derived: tuple[str, ...] = ()
    derive_sizes: str | None = None
    workspace: int | str = 0
    services: bool = False
    is_long: bool = False

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbolic sizes, in the order of first use by the inputs.

        >>> x, y = Array("float32", ("n", 3)), Array("float32", ("m", "n"))
        >>> Description("f", "f_call", (x, y), ()).symbols
        ('n', 'm')
        """
        shapes = (each.shape for each in self.inputs if isinstance(each, Array))
        return tuple(dict.fromkeys(size for shape in shapes for size in shape if type(size) is str))

    @property
    def packing_or_default(self) -> Packing:
        """The packing, also if none is given."""
        if self.packing is not None:
            return self.packing
        return 0 if len(self.outputs) == 1 else tuple(range(len(self.outputs)))


def packing_code(packing: Packing) -> list[int]:
    """Returns a packing in prefix form: k for output k, -1 - n for a tuple of n items.

    >>> packing_code((0, (1, 2)))
    [-3, 0, -3, 1, 2]
    """
    if isinstance(packing, tuple):
        return [-1 - len(packing), *(code for item in packing for code in packing_code(item))]
    return [packing]


def check_packing(code: Sequence[int], outputs: int) -> None:
    """Raises ValueError unless every output stands in the packing once."""
    if sorted(item for item in code if item >= 0) != [*range(outputs)]:
        raise ValueError(f"a packing of {outputs} outputs cannot be {[*code]}")


__all__ = [
    "Array",
    "Description",
    "ErrorRow",
    "Input",
    "Number",
    "Output",
    "Packing",
    "Scalar",
    "check_packing",
    "error_row",
    "number",
    "packing_code",
    "read_descriptions",
    "stored_descriptions",
]
