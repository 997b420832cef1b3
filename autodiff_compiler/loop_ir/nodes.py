"""The nodes of the loop-nest IR: expressions, statements and functions.

A *buffer* is a row of elements; an array of several dimensions is addressed by one flat position,
an ``Affine`` form of loop indices and integers. A *scalar* is a number in a register. Expressions
have no effect. Statements run in order; a loop is the only one that repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from autodiff_compiler.span import NOWHERE, Span

#: The dtypes of elements and scalars, by NumPy's names.
DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
)
#: The uses of a buffer.
ROLES = ("input", "output", "temporary", "constant")


class Scalar:
    """A number in a register. Identity is equality.

    mutable  True if ``Set`` may change it: an accumulator, or a value carried by a loop.
    """

    __slots__ = ("name", "dtype", "mutable")

    def __init__(self, name: str, dtype: str, mutable: bool = False):
        self.name, self.dtype, self.mutable = name, dtype, mutable

    def __repr__(self) -> str:
        return f"%{self.name}"


class Buffer:
    """Elements of one dtype in memory. Identity is equality.

    size    the number of elements.
    role    input, output, temporary or constant.
    values  the elements of a constant, as Python numbers; empty for other buffers.
    grows   True if ``Reserve`` makes room for its elements; ``size`` is 0 then.
    """

    __slots__ = ("name", "dtype", "size", "role", "values", "grows")

    def __init__(
        self,
        name: str,
        dtype: str,
        size: int,
        role: str = "temporary",
        values: tuple[int | float | bool, ...] = (),
        grows: bool = False,
    ):
        self.name, self.dtype, self.size, self.role, self.values = name, dtype, size, role, values
        self.grows = grows

    def __repr__(self) -> str:
        return f"@{self.name}"


@dataclass(frozen=True)
class Affine:
    """A position: ``constant + sum(coefficient * scalar)``. The scalars are integers.

    >>> i, j = Scalar("i", "int64"), Scalar("j", "int64")
    >>> Affine.of(i) * 4 + Affine.of(j) + 2
    4*%i + %j + 2
    """

    constant: int = 0
    terms: tuple[tuple[Scalar, int], ...] = ()

    @staticmethod
    def of(scalar: Scalar, coefficient: int = 1) -> Affine:
        return Affine(0, ((scalar, coefficient),) if coefficient else ())

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms)
        total = dict(self.terms)
        for scalar, coefficient in other.terms:
            total[scalar] = total.get(scalar, 0) + coefficient
        terms = tuple((scalar, count) for scalar, count in total.items() if count)
        return Affine(self.constant + other.constant, terms)

    def __mul__(self, factor: int) -> Affine:
        if not factor:
            return Affine()
        terms = tuple((scalar, factor * count) for scalar, count in self.terms)
        return Affine(factor * self.constant, terms)

    def coefficient(self, scalar: Scalar) -> int:
        """Returns the coefficient of a scalar; 0 if it does not occur."""
        return next((count for each, count in self.terms if each is scalar), 0)

    def without(self, scalar: Scalar) -> Affine:
        """Returns the form without the term of a scalar."""
        return Affine(self.constant, tuple(term for term in self.terms if term[0] is not scalar))

    def substitute(self, mapping: Mapping[Scalar, Affine]) -> Affine:
        """Returns the form with some scalars replaced by forms; the same object if none occurs."""
        if not any(scalar in mapping for scalar, _ in self.terms):
            return self
        total = Affine(self.constant)
        for scalar, count in self.terms:
            total += mapping.get(scalar, Affine.of(scalar)) * count
        return total

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(scalar for scalar, _ in self.terms)

    def __repr__(self) -> str:
        parts = [repr(s) if count == 1 else f"{count}*{s!r}" for s, count in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


# ---- expressions


@dataclass(frozen=True)
class Literal:
    """A number of a dtype."""

    value: int | float | bool
    dtype: str


@dataclass(frozen=True)
class Read:
    """The value of a scalar."""

    scalar: Scalar

    @property
    def dtype(self) -> str:
        return self.scalar.dtype


@dataclass(frozen=True)
class Load:
    """An element of a buffer."""

    buffer: Buffer
    at: Affine

    @property
    def dtype(self) -> str:
        return self.buffer.dtype


@dataclass(frozen=True)
class Position:
    """The number that an affine form of integers stands for."""

    at: Affine
    dtype: str = "int64"


@dataclass(frozen=True)
class Apply:
    """A scalar operation: ``add``, ``exp``, ``select``, ``cast``, … (see ``operations``)."""

    name: str
    operands: tuple[Expression, ...]
    dtype: str


Expression: TypeAlias = "Literal | Read | Load | Position | Apply"


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """Yields an expression and all in it, operands before their operation."""
    if isinstance(expression, Apply):
        for operand in expression.operands:
            yield from subexpressions(operand)
    yield expression


# ---- statements


@dataclass(frozen=True, eq=False)
class Let:
    """Defines a scalar."""

    scalar: Scalar
    value: Expression
    span: Span = NOWHERE


@dataclass(frozen=True, eq=False)
class Set:
    """Changes a mutable scalar; with ``combine`` it is combined with the value: ``add``, ``mul``,
    ``maximum`` or ``minimum``."""

    scalar: Scalar
    value: Expression
    combine: str = ""
    span: Span = NOWHERE


@dataclass(frozen=True, eq=False)
class Store:
    """Writes an element of a buffer; with ``combine`` it is combined with the value."""

    buffer: Buffer
    at: Affine
    value: Expression
    combine: str = ""
    span: Span = NOWHERE


@dataclass(frozen=True, eq=False)
class Loop:
    """Runs its body for ``index`` = 0, 1, … below ``extent``.

    independent  True if no iteration reads what another one writes, but for combined writes.
    """

    index: Scalar
    extent: int | Scalar
    body: Body
    independent: bool = True
    span: Span = NOWHERE


@dataclass(frozen=True, eq=False)
class While:
    """Runs ``test`` and then its body, while ``condition`` holds after ``test``."""

    test: Body
    condition: Expression
    body: Body
    span: Span = NOWHERE


@dataclass(frozen=True, eq=False)
class If:
    """Runs one of two bodies."""

    condition: Expression
    then: Body
    orelse: Body = ()
    span: Span = NOWHERE


@dataclass(frozen=True)
class Matrix:
    """A matrix in a buffer: the element (i, j) is at ``at + i * strides[0] + j * strides[1]``."""

    buffer: Buffer
    at: Affine
    strides: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Product:
    """Writes the matrix product of ``left`` (m, k) and ``right`` (k, n) to ``result`` (m, n).

    adds  True if the product is added to the result.
    """

    result: Matrix
    left: Matrix
    right: Matrix
    m: int
    n: int
    k: int
    adds: bool = False
    span: Span = NOWHERE


@dataclass(frozen=True, eq=False)
class Reserve:
    """Makes room for ``size`` elements in a buffer that grows. Its elements stay."""

    buffer: Buffer
    size: Affine
    span: Span = NOWHERE


@dataclass(frozen=True)
class Part:
    """``size`` adjacent elements of a buffer, from ``at`` on."""

    buffer: Buffer
    at: Affine
    size: int


@dataclass(frozen=True, eq=False)
class Call:
    """Runs an algorithm of C, such as ``argsort_f32``, on parts of buffers.

    numbers  its sizes and choices, which come first among its operands.
    changed  the parts that it writes, and may read.
    read     the parts that it reads alone.
    error    the error with which it may leave the function: a row of ``Function.errors``.
    """

    name: str
    numbers: tuple[int, ...]
    changed: tuple[Part, ...]
    read: tuple[Part, ...]
    error: int | None = None
    span: Span = NOWHERE

    @property
    def parts(self) -> tuple[Part, ...]:
        return (*self.changed, *self.read)


@dataclass(frozen=True, eq=False)
class Fail:
    """Leaves the function with an error: the number of a row of ``Function.errors``.

    details  the numbers in its message.
    """

    error: int
    span: Span = NOWHERE
    details: tuple[Expression, ...] = ()


Statement: TypeAlias = "Let | Set | Store | Loop | While | If | Product | Call | Reserve | Fail"
Body: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A function on buffers and scalars.

    inputs   buffers, and scalars by value, in the order of the parameters.
    outputs  buffers; a number that is returned is a buffer of one element.
    errors   the exception and message of each error that a statement names. If the message has
             places for numbers, the names of their types follow. The places are those of
             ``str.format``, or of ``%`` if this sign stands before the types.
    offsets  the temporaries that lie in the workspace, each with its first byte there. All other
             temporaries are on the stack.
    """

    name: str
    inputs: tuple[Buffer | Scalar, ...]
    outputs: tuple[Buffer, ...]
    body: Body
    errors: tuple[tuple[str, ...], ...] = ()
    offsets: tuple[tuple[Buffer, int], ...] = ()
    title: str = ""
    span: Span = NOWHERE


# ---- traversal


def bodies(statement: Statement) -> tuple[Body, ...]:
    """Returns the bodies of a statement, in the order in which they run."""
    if isinstance(statement, Loop):
        return (statement.body,)
    if isinstance(statement, While):
        return (statement.test, statement.body)
    return (statement.then, statement.orelse) if isinstance(statement, If) else ()


def with_bodies(statement: Statement, new: tuple[Body, ...]) -> Statement:
    """Returns a statement with other bodies; the same object if they are the same."""
    if all(a is b for a, b in zip(bodies(statement), new)):
        return statement
    if isinstance(statement, Loop):
        return replace(statement, body=new[0])
    if isinstance(statement, While):
        return replace(statement, test=new[0], body=new[1])
    assert isinstance(statement, If), statement
    return replace(statement, then=new[0], orelse=new[1])


def map_bodies(statement: Statement, change: Callable[[Body], Body]) -> Statement:
    """Returns a statement with its bodies changed; the same object if they are the same."""
    return with_bodies(statement, tuple(map(change, bodies(statement))))


def with_body(function: Function, body: Body) -> Function:
    """Returns a function with another body; the same object if it is the same."""
    return function if body is function.body else replace(function, body=body)


def walk(body: Iterable[Statement]) -> Iterator[Statement]:
    """Yields every statement of a body, those of nested bodies right after their owner."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from walk(inner)


def expressions(statement: Statement) -> tuple[Expression, ...]:
    """Returns the expressions of a statement, without those of its bodies."""
    if isinstance(statement, (Let, Set, Store)):
        return (statement.value,)
    if isinstance(statement, Fail):
        return statement.details
    return (statement.condition,) if isinstance(statement, (While, If)) else ()


def positions(statement: Statement) -> tuple[Affine, ...]:
    """Returns the positions in a statement, without those in its expressions and bodies."""
    if isinstance(statement, Product):
        return tuple(each.at for each in (statement.result, statement.left, statement.right))
    if isinstance(statement, Call):
        return tuple(part.at for part in statement.parts)
    if isinstance(statement, Store):
        return (statement.at,)
    return (statement.size,) if isinstance(statement, Reserve) else ()
