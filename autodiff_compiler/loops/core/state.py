"""The state of a lowering to loop nests: the statements so far, and what stands for each value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from autodiff_compiler.ir.nodes import AnyOperand, Op, Region, Value
from autodiff_compiler.ir.types import BOOL, FLOAT, INT, ArrayType, ScalarType, Type
from autodiff_compiler.loop_ir.nodes import (
    DTYPES,
    Affine,
    Apply,
    Body,
    Buffer,
    Call,
    Expression,
    Fail,
    If,
    Let,
    Literal,
    Loop,
    Part,
    Position,
    Read,
    Scalar,
    Set,
    Statement,
    Store,
    expressions,
    subexpressions,
)
from autodiff_compiler.loop_ir.operations import has_c_text
from autodiff_compiler.loops.core.liveness import Frame, frame_of, is_dead, uses_in_regions
from autodiff_compiler.loops.core.values import (
    Array,
    Columns,
    Items,
    Jagged,
    Joined,
    NoNativeText,
    Representation,
    Rows,
    Text,
    Unset,
    row_major,
)
from autodiff_compiler.span import NOWHERE, Span

#: The dtypes of Python's numbers.
NUMBER_DTYPES: Mapping[Type, str] = {BOOL: "bool", INT: "int64", FLOAT: "float64"}
#: Arithmetic of bools, which is logic.
LOGIC: Mapping[str, str] = {
    "add": "logical_or",
    "mul": "logical_and",
    "maximum": "logical_or",
    "minimum": "logical_and",
}
#: The combinations of bools that C has under another name.
SUMS_OF_BOOLS: Mapping[str, str] = {"maximum": "add", "minimum": "mul"}
#: The names of the indices of nested loops; loops of the user have ``k``.
INDICES = "ijlmpq"
#: From the indices of an element to its value.
Element = Callable[[Sequence[Affine]], Expression]


class Lowering:
    """Builds the statements of one function.

    destinations  the buffers of outputs, by the value that is returned.
    holders       the values that stand in each buffer, or in a part of it.
    frames        the regions that are being lowered, from the outside inward.
    trips         the number of iterations of a loop, by its index.
    errors        the exceptions and messages that statements name.
    tested        the values that operations test whether they are set, and their sources.
    unset         whether a value is unset, for the values in ``tested``.
    """

    def __init__(self, destinations: Mapping[Value, Array]) -> None:
        self.destinations = destinations
        self.environment: dict[Value, Representation] = {}
        self.holders: dict[Buffer, set[Value]] = {}
        self.frames: list[Frame] = []
        self.trips: dict[Scalar, int] = {}
        self.errors: dict[tuple[str, ...], int] = {}
        self.tested: set[Value] = set()
        self.unset: dict[Value, Expression] = {}
        self.blocks: list[list[Statement]] = [[]]
        self.span: Span = NOWHERE

    # ---- statements

    def add(self, statement: Statement) -> None:
        """Adds a statement; raises NoNativeText if an operation in it has no text in C."""
        check_c_text(statement)
        self.blocks[-1].append(statement)

    @contextmanager
    def block(self) -> Iterator[list[Statement]]:
        """Opens a block whose statements are collected in a list of their own."""
        self.blocks.append([])
        try:
            yield self.blocks[-1]
        finally:
            self.blocks.pop()

    def loop(
        self,
        extent: int | Scalar,
        body: Callable[[Affine], None],
        independent: bool = True,
        name: str = "i",
    ) -> None:
        """Adds a loop. ``body`` adds the statements of an iteration."""
        index = Scalar(name, "int64")
        if isinstance(extent, int):
            self.trips[index] = extent
        with self.block() as statements:
            body(Affine.of(index))
        self.add(Loop(index, extent, tuple(statements), independent, self.span))

    def nest(
        self,
        shape: Sequence[int],
        body: Callable[[list[Affine]], None],
        independent: bool = True,
    ) -> None:
        """Adds loops over all elements of ``shape``. Axes of length one need none."""

        def enter(axis: int, indices: list[Affine]) -> None:
            if axis == len(shape):
                body(indices)
            elif shape[axis] == 1:
                enter(axis + 1, [*indices, Affine()])
            else:
                enter_next = lambda index: enter(axis + 1, [*indices, index])  # noqa: E731
                name = INDICES[min(axis, len(INDICES) - 1)]
                self.loop(shape[axis], enter_next, independent, name)

        enter(0, [])

    def let(self, name: str, value: Expression) -> Expression:
        """Defines a scalar, and returns its value; literals and scalars need no definition."""
        if isinstance(value, (Literal, Read, Position)):
            return value
        scalar = Scalar(name, value.dtype)
        self.add(Let(scalar, value, self.span))
        return Read(scalar)

    def variable(self, name: str, value: Expression) -> Scalar:
        """Defines a scalar that may be changed."""
        scalar = Scalar(name, value.dtype, mutable=True)
        self.add(Let(scalar, value, self.span))
        return scalar

    def current(self, scalar: Scalar) -> Expression:
        """Returns the value that a scalar has now, whatever it is changed to later."""
        return self.let(scalar.name, Apply("copy", (Read(scalar),), scalar.dtype))

    def set(self, scalar: Scalar, value: Expression, combine: str = "") -> None:
        self.add(Set(scalar, value, _combination(combine, scalar.dtype), self.span))

    def store(
        self, array: Array, indices: Sequence[Affine], value: Expression, combine: str = ""
    ) -> None:
        """Writes an element of an array."""
        value = cast(value, array.dtype)
        combine = _combination(combine, array.dtype)
        self.add(Store(array.buffer, array.position(indices), value, combine, self.span))

    def fail_if(self, condition: Expression, exception: str, message: str | Text) -> None:
        """Leaves the function with an error if a condition holds."""
        with self.block() as statements:
            self.fail(exception, message)
        self.add(If(condition, tuple(statements), (), self.span))

    def fail(self, exception: str, message: str | Text) -> None:
        """Leaves the function with an error."""
        if isinstance(message, str):
            self.add(Fail(self.error(exception, message), self.span))
            return
        signs = ("%",) if message.sign == "%" else ()
        error = self.error(exception, message.pattern, *signs, *message.kinds)
        self.add(Fail(error, self.span, message.numbers))

    def error(self, *row: str) -> int:
        """Returns the number of an error: its exception, its message, the types of its numbers."""
        return self.errors.setdefault(row, len(self.errors))

    def call(
        self,
        name: str,
        numbers: Sequence[int],
        changed: Sequence[Part],
        read: Sequence[Part] = (),
        error: int | None = None,
    ) -> None:
        """Runs an algorithm of C on parts of arrays; ``name`` ends in a dtype."""
        self.add(Call(name, tuple(numbers), tuple(changed), tuple(read), error, self.span))

    # ---- values

    def bind(self, value: Value, to: Representation) -> None:
        """Sets what stands for a value."""
        self.environment[value] = to
        for buffer in buffers_of(to):
            self.holders.setdefault(buffer, set()).add(value)

    def may_overwrite(self, op: Op, operand: AnyOperand) -> bool:
        """True if nothing reads the elements of an operand after ``op``, nor ``op`` itself."""
        value = self.represent(operand) if isinstance(operand, Value) else None
        if isinstance(value, Array) and (not value.is_contiguous or value.buffer.grows):
            return False
        if not isinstance(value, (Array, Rows)):
            return False
        return all(self._is_last_reader(op, buffer) for buffer in buffers_of(value))

    def _is_last_reader(self, op: Op, buffer: Buffer) -> bool:
        """True if ``op`` reads a buffer of this function once, and nothing reads it afterwards."""
        if buffer.role not in ("temporary", "output"):
            return False
        holders = self.holders.get(buffer, set())
        read = [each for each in op.operands if isinstance(each, Value) and each in holders]
        if len(read) != 1 or any(each in holders for each in uses_in_regions(op)):
            return False
        return all(is_dead(value, self.frames) for value in holders)

    def take_over(self, taken: Array | Rows) -> None:
        """Forgets the values that stand in an array or list. All of them are dead."""
        for buffer in buffers_of(taken):
            self.holders[buffer] = set()

    @contextmanager
    def region(self, region: Region, is_branch: bool) -> Iterator[Frame]:
        """Opens the frame of a region. Its values hold no buffers after it."""
        frame = frame_of(region, is_branch)
        before = {buffer: set(values) for buffer, values in self.holders.items()}
        self.frames.append(frame)
        yield frame
        self.frames.pop()
        if is_branch:  # the other branch runs in place of this one
            self.holders = before
        for values in self.holders.values():
            values -= frame.defined

    def represent(self, operand: AnyOperand) -> Representation:
        """Returns what stands for an operand."""
        if isinstance(operand, Value):
            return self.environment[operand]
        if isinstance(operand, (bool, int, float)):
            kind = "bool" if isinstance(operand, bool) else "int64"
            return Literal(operand, "float64" if isinstance(operand, float) else kind)
        raise NoNativeText(f"the constant {operand!r}")

    def unset_flag(self, operand: AnyOperand) -> Expression:
        """Returns whether a value is unset on the path that was taken."""
        if not isinstance(operand, Value):
            return Literal(False, "bool")
        if isinstance(self.environment[operand], Unset):
            return Literal(True, "bool")
        return self.unset.get(operand, Literal(False, "bool"))

    def array(self, operand: AnyOperand) -> Array:
        """Returns an operand as an array; a number is stored in one without axes."""
        representation = self._plain(operand)
        if isinstance(representation, Array):
            return representation
        stored = self.new_array(representation.dtype, (), "number")
        self.store(stored, (), representation)
        return stored

    def number(self, operand: AnyOperand) -> Expression:
        """Returns an operand without axes as an expression."""
        representation = self._plain(operand)
        return (
            self.let("item", representation.load(()))
            if isinstance(representation, Array)
            else representation
        )

    def _plain(self, operand: AnyOperand) -> Array | Expression:
        """Returns what stands for an operand that is an array or a number."""
        representation = self.represent(operand)
        if isinstance(representation, Unset):
            raise NoNativeText("a variable that is not set")
        if isinstance(representation, (Rows, Items, Joined, Text)):
            raise NoNativeText("a container or a text in place of an array")
        return representation

    def element(self, operand: AnyOperand, indices: Sequence[Affine]) -> Expression:
        """Returns the element of an operand at ``indices``, as NumPy broadcasts."""
        representation = self._plain(operand)
        return representation.load(indices) if isinstance(representation, Array) else representation

    # ---- arrays

    def new_array(self, dtype: str, shape: Sequence[int], name: str) -> Array:
        """Returns a new temporary array in C order."""
        size = 1
        for each in shape:
            size *= each
        return Array(Buffer(name, dtype, size), Affine(), tuple(shape), row_major(shape))

    def result_array(self, value: Value) -> Array:
        """Returns the array for the elements of a result: an output, or a new temporary."""
        place = self.destinations.get(value)
        if place is not None:
            return place
        dtype, shape = array_facts(value.type)
        return self.new_array(dtype, shape, value.name)

    def map(self, value: Value, element: Element) -> None:
        """Computes a result element by element."""
        dtype, shape = array_facts(value.type)
        if not shape:
            self.bind(value, self.let(value.name, cast(element(()), dtype)))
            return
        result = self.result_array(value)
        self.nest(shape, lambda indices: self.store(result, indices, element(indices)))
        self.bind(value, result)

    def mapped(self, name: str, dtype: str, shape: Sequence[int], element: Element) -> Array:
        """Returns a new temporary array, computed element by element."""
        result = self.new_array(dtype, shape, name)
        self.nest(shape, lambda indices: self.store(result, indices, element(indices)))
        return result

    def copied(self, array: Array, name: str) -> Array:
        """Returns a copy in C order."""
        return self.mapped(name, array.dtype, array.shape, array.load)

    def in_order(self, array: Array, name: str, dtype: str | None = None) -> Array:
        """Returns an array in C order and of a dtype: a copy, unless it is so."""
        dtype = dtype or array.dtype
        if array.is_contiguous and array.dtype == dtype:
            return array
        return self.mapped(name, dtype, array.shape, lambda at: cast(array.load(at), dtype))


def buffers_of(value: Representation) -> Iterator[Buffer]:
    """Yields the buffers in which a value stands."""
    if isinstance(value, Array):
        yield value.buffer
    elif isinstance(value, Rows):
        yield from (array.buffer for array in arrays_of(value.rows))
    elif isinstance(value, Items):
        for item in value.items:
            yield from buffers_of(item)
    elif isinstance(value, Joined):
        yield from buffers_of(value.first)
        yield from buffers_of(value.second)


def arrays_of(columns: Columns) -> Iterator[Array]:
    """Yields the arrays of which the items of a list consist."""
    if isinstance(columns, Array):
        yield columns
    elif isinstance(columns, Jagged):
        yield from arrays_of(columns.rows)
        yield from (columns.first, columns.lengths)
    else:
        for column in columns:
            yield from arrays_of(column)


def array_facts(type_: Type) -> tuple[str, tuple[int, ...]]:
    """Returns dtype and shape of an array or number; raises NoNativeText for other types."""
    if isinstance(type_, ScalarType) and type_ in NUMBER_DTYPES:
        return NUMBER_DTYPES[type_], ()
    if isinstance(type_, ArrayType) and type_.is_static and type_.dtype in DTYPES:
        return type_.dtype, type_.static_shape
    raise NoNativeText(f"a value of type {type_}")


def cast(value: Expression, dtype: str) -> Expression:
    """Returns an expression in another dtype, as NumPy's ``astype``."""
    if value.dtype == dtype:
        return value
    if isinstance(value, Literal):
        kind = float if dtype.startswith("float") else bool if dtype == "bool" else int
        return Literal(kind(value.value), dtype)
    return Apply("cast", (value,), dtype)


def apply(name: str, dtype: str, *operands: Expression | int | float) -> Expression:
    """Returns an operation on operands of one dtype; Python's numbers take that dtype."""
    given = [Literal(o, dtype) if isinstance(o, (int, float)) else o for o in operands]
    same = tuple(cast(o, dtype) for o in given)
    return _of_bools(name, same) if dtype == "bool" else Apply(name, same, dtype)


def _of_bools(name: str, operands: tuple[Expression, ...]) -> Expression:
    """Returns arithmetic of bools as the logic that NumPy computes."""
    if name == "abs":
        return operands[0]
    if name == "clip":
        x, low, high = operands
        return _of_bools("minimum", (_of_bools("maximum", (x, low)), high))
    return Apply(LOGIC.get(name, name), operands, "bool")


def _combination(combine: str, dtype: str) -> str:
    """Returns the combination with an element; the extremes of bools are a sum and a product."""
    return SUMS_OF_BOOLS.get(combine, combine) if dtype == "bool" else combine


def check_c_text(statement: Statement) -> None:
    """Raises NoNativeText if C has neither an operator nor a function for an operation."""
    needed = [
        (each.name, each.operands[0].dtype)
        for expression in expressions(statement)
        for each in subexpressions(expression)
        if isinstance(each, Apply)
    ]
    if isinstance(statement, (Set, Store)) and statement.combine:
        needed.append((statement.combine, statement.value.dtype))
    for name, dtype in needed:
        if not has_c_text(name, dtype):
            raise NoNativeText(f"{name} of {dtype}")


__all__ = [
    "Body",
    "Element",
    "Lowering",
    "NUMBER_DTYPES",
    "apply",
    "array_facts",
    "arrays_of",
    "buffers_of",
    "cast",
    "check_c_text",
]
