"""The nodes of the IR: ``Value``, ``Op``, ``Region``, ``Function``. They are immutable.

An operation may hold regions (the branches of an ``if``, the body of a loop). A region sees the
values of the regions around it. A function sees only its parameters.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard, Union

from autodiff_compiler.ir.opdef import BUILDING, OPERATORS, OpDef
from autodiff_compiler.ir.types import ArrayType, Type, type_of_literal
from autodiff_compiler.span import Span

Literal: TypeAlias = int | float | complex | bool | str | None


def _binary(name: str, swapped: bool = False) -> Any:
    if swapped:
        return lambda self, other: OPERATORS[name](other, self)
    return lambda self, other: OPERATORS[name](self, other)


class Operand:
    """The arithmetic that a ``Value`` and a ``Tensor`` share: each sign applies an operator."""

    __slots__ = ()
    #: Of operands of different classes, the one of the highest rank applies the operator.
    apply_rank = 0

    __add__, __radd__ = _binary("add"), _binary("add", swapped=True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", swapped=True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", swapped=True)
    __truediv__, __rtruediv__ = _binary("div"), _binary("div", swapped=True)
    __floordiv__, __rfloordiv__ = _binary("floor_div"), _binary("floor_div", swapped=True)
    __mod__, __rmod__ = _binary("mod"), _binary("mod", swapped=True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", swapped=True)
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", swapped=True)
    __and__, __rand__ = _binary("bit_and"), _binary("bit_and", swapped=True)
    __or__, __ror__ = _binary("bit_or"), _binary("bit_or", swapped=True)
    __xor__, __rxor__ = _binary("bit_xor"), _binary("bit_xor", swapped=True)
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")

    def __neg__(self) -> Any:
        return OPERATORS["neg"](self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return OPERATORS["abs"](self)

    def __invert__(self) -> Any:
        return OPERATORS["invert"](self)


class Value(Operand):
    """An SSA value. Identity is equality.

    name            a wish that the emitter tries to honour.
    has_user_name   True if the user wrote the name, or if it is that of such a value's cotangent;
                    False if an operator made it up.
    """

    __slots__ = ("name", "type", "has_user_name")
    apply_rank = 2
    #: NumPy's arrays and scalars leave arithmetic with a value to the value.
    __array_ufunc__ = None

    def __init__(self, type_: Type, name: str = "", has_user_name: bool = False):
        self.type, self.name, self.has_user_name = type_, name, has_user_name

    def __apply_operator__(self, opdef: OpDef, operands: tuple, attrs: Mapping[str, Any]) -> Any:
        return BUILDING.stack[-1].apply(opdef, operands, attrs)

    def __repr__(self) -> str:
        return f"%{self.name or '_'}: {self.type}"

    def __bool__(self) -> bool:
        # Python would call it true, so library code that tests a value must fail.
        raise TypeError("the truth value of a tensor is known only when the function runs")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a constant is needed here, and this value is known only at run time")

    @property
    def ndim(self) -> int | None:
        return self.type.ndim if isinstance(self.type, ArrayType) else 0

    @property
    def dtype_name(self) -> str | None:
        """NumPy's name of the dtype; None if it is unknown, and for a Python number."""
        return self.type.dtype if isinstance(self.type, ArrayType) else None


AnyOperand: TypeAlias = Union[Value, Literal]  # noqa: UP007 (Value has no | of types)


def type_of(operand: AnyOperand) -> Type:
    """Returns the type of a value or of a literal."""
    return operand.type if isinstance(operand, Value) else type_of_literal(operand)


def expect_value(operand: AnyOperand) -> Value:
    """Returns an operand that is known to be a value, and not a literal."""
    assert isinstance(operand, Value), operand
    return operand


def array_type(operand: AnyOperand) -> ArrayType:
    """Returns the type of an operand that is known to be an array."""
    type_ = type_of(operand)
    assert isinstance(type_, ArrayType), type_
    return type_


def is_real_literal(operand: AnyOperand) -> TypeGuard[int | float]:
    """True if the operand is an ``int`` or a ``float`` that stands in the IR, and no bool."""
    return isinstance(operand, (int, float)) and not isinstance(operand, bool)


@dataclass(frozen=True, eq=False)
class Region:
    """Operations in order, with parameters before them and yields after them."""

    params: tuple[Value, ...]
    ops: tuple[Op, ...]
    yields: tuple[AnyOperand, ...]

    def walk(self) -> Iterator[Op]:
        """Yields every operation, those of nested regions right after their owner."""
        return self._walk_nested() if self.is_nested else iter(self.ops)

    @cached_property
    def is_nested(self) -> bool:
        """True if an operation has a region."""
        return bool([op for op in self.ops if op.regions])

    def _walk_nested(self) -> Iterator[Op]:
        open_ones = [iter(self.ops)]
        while open_ones:
            for op in open_ones[-1]:
                yield op
                if op.regions:
                    open_ones.append(iter([each for region in op.regions for each in region.ops]))
                    break
            else:
                open_ones.pop()


@dataclass(frozen=True, eq=False, init=False)
class Op:
    """An operation.

    ``role`` is its part in a derivative: 'primal', 'adjoint' or 'tangent'.
    """

    opdef: OpDef
    operands: tuple[AnyOperand, ...]
    attrs: Mapping[str, Any]
    results: tuple[Value, ...]
    span: Span
    role: str = "primal"
    regions: tuple[Region, ...] = ()
    name: str = field(init=False, repr=False)

    def __init__(
        self,
        opdef: OpDef,
        operands: tuple[AnyOperand, ...],
        attrs: Mapping[str, Any],
        results: tuple[Value, ...],
        span: Span,
        role: str = "primal",
        regions: tuple[Region, ...] = (),
    ):
        # Most objects of a compilation are operations, so all fields are set in one write. The
        # name is stored besides, because nothing is read more often.
        vars(self).update(
            opdef=opdef,
            operands=operands,
            attrs=attrs,
            results=results,
            span=span,
            role=role,
            regions=regions,
            name=opdef.name,
        )

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(type_of(operand) for operand in self.operands)

    def value_operand(self, place: int) -> Value:
        """Returns the operand at ``place``, which is known to be a value, and not a literal."""
        return expect_value(self.operands[place])

    @property
    def value_operands(self) -> tuple[Value, ...]:
        """The operands of an operation that is known to take no literal."""
        return tuple(map(expect_value, self.operands))

    @cached_property
    def viewed(self) -> list[AnyOperand]:
        """The operands whose memory the result may share."""
        return self.opdef.viewed(self.operands, self.types, self.attrs) if self.opdef.views else []

    @cached_property
    def value_key(self) -> Hashable:
        """The key of value numbering: equal keys mean equal results.

        It holds for operations without effects and regions. Beside arrays of floats 1 is 1.0.
        """
        operands = self.operands
        if self.opdef.batch == "elements" and any(type(operand) is int for operand in operands):
            operands = _beside_floats(operands)
        read = tuple([o if isinstance(o, Value) else _frozen(o) for o in operands])
        attrs = tuple([(name, _frozen(self.attrs[name])) for name in sorted(self.attrs)])
        return self.opdef, read, attrs

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The functions among the attributes: callees, and custom rules."""
        return tuple([thing for thing in self.attrs.values() if isinstance(thing, Function)])


@dataclass(frozen=True, eq=False)
class Function:
    """A named region that sees nothing but its parameters.

    name    the printed name: ``net``, ``net_backward``.
    title   the user's name: ``Net.construct``.
    order   the number of sweeps, of either kind, that made it: 0 for a source function.
    role    'primal', 'value' (the primal alone is wanted), 'forward', 'backward', 'gradient'
            (forward and backward in one body) or 'tangent'.
    safe_magnitude  values of a backward function that are neither tiny nor huge. The forward
            function computes them, and shows it.
    """

    name: str
    body: Region
    span: Span
    title: str = ""
    order: int = 0
    role: str = "primal"
    safe_magnitude: frozenset[Value] = frozenset()

    @property
    def params(self) -> tuple[Value, ...]:
        return self.body.params

    @property
    def returns(self) -> tuple[AnyOperand, ...]:
        return self.body.yields

    @property
    def residuals(self) -> AnyOperand:
        """The last return of a forward function: the tuple for its backward function. Else None."""
        return self.returns[-1] if self.role == "forward" else None

    @cached_property
    def op_names(self) -> frozenset[str]:
        """The names of all operations, those of nested regions too."""
        return frozenset([op.name for op in self.body.walk()])

    @cached_property
    def called(self) -> tuple[Function, ...]:
        """The functions that its operations name: callees, and custom rules."""
        return tuple(dict.fromkeys([each for op in self.body.walk() for each in op.functions]))

    def callees(self) -> list[Function]:
        """Lists every function reachable by calls and rules once, callees before callers."""
        callees: dict[int, Function] = {}
        active: set[int] = set()

        def visit(function: Function) -> None:
            for callee in function.called:
                if id(callee) not in callees and id(callee) not in active:
                    active.add(id(callee))
                    visit(callee)
                    callees[id(callee)] = callee

        visit(self)
        return list(callees.values())


@dataclass(frozen=True)
class Loop:
    """A ``for`` or ``while`` operation with its parts by name.

    Ports: ``carry`` goes from iteration to iteration; ``read`` takes one item per iteration of a
    list or of an array's first axis; ``stack`` collects one item per iteration in a list. Items
    are numbered by the iteration's ``position`` (0, 1, …), also if the loop runs in reverse.
    ``until``, if there is one, is yielded last and ends the loop after its iteration.
    A ``for`` has also ``index``, the user's variable over ``range(start, stop, step)``.
    ``count`` is the number of iterations that ran. A ``for`` with the attribute ``checkpoint``,
    ``("every", k)`` or ``("kept", s)``, saves some states for its backward loop, and no tapes.
    """

    op: Op

    @property
    def is_for(self) -> bool:
        return self.op.name == "for"

    @property
    def bounds(self) -> tuple[AnyOperand, ...]:
        return self.op.operands[:3] if self.is_for else ()

    @property
    def int_bounds(self) -> tuple[Value | int, Value | int, Value | int]:
        """The start, stop and step of a ``for``."""
        start, stop, step = self.bounds
        assert isinstance(start, (Value, int)), start
        assert isinstance(stop, (Value, int)), stop
        assert isinstance(step, (Value, int)), step
        return start, stop, step

    @property
    def starts_at_zero(self) -> bool:
        """True if index and position are the same."""
        if not self.is_for:
            return False
        start, _, step = self.bounds
        known = not isinstance(start, Value) and not isinstance(step, Value)
        return known and start == 0 and step == 1

    @property
    def stride(self) -> int:
        """The distance of two indices, if no two of them name the same row of an array; else 0.

        Negative indices count from the end, so the range must stay on one side of zero.
        """
        start, stop, step = self.bounds if self.is_for else (None, None, None)
        if type(step) is not int:
            return 0
        low, high, edge = (start, stop, 0) if step > 0 else (stop, start, -1)
        one_side = type(low) is int and low >= edge or type(high) is int and high <= edge
        return abs(step) if one_side else 0

    @property
    def _head(self) -> int:
        return 3 if self.is_for else 0

    @property
    def carries(self) -> int:
        return operator.index(self.op.attrs["carries"])

    @property
    def inits(self) -> tuple[AnyOperand, ...]:
        return self.op.operands[self._head : self._head + self.carries]

    @property
    def reads(self) -> tuple[AnyOperand, ...]:
        return self.op.operands[self._head + self.carries :]

    @property
    def body(self) -> Region:
        return self.op.regions[-1]

    @property
    def condition(self) -> Region | None:
        """A ``while``'s test: a region over the carries that yields one bool."""
        return None if self.is_for else self.op.regions[0]

    @property
    def position(self) -> Value:
        return self.body.params[0]

    @property
    def index(self) -> Value | None:
        return self.body.params[1] if self.is_for else None

    @property
    def _lead(self) -> int:
        return 2 if self.is_for else 1

    @property
    def carry_params(self) -> tuple[Value, ...]:
        return self.body.params[self._lead : self._lead + self.carries]

    @property
    def read_params(self) -> tuple[Value, ...]:
        return self.body.params[self._lead + self.carries :]

    @property
    def has_until(self) -> bool:
        return bool(self.op.attrs["until"])

    @property
    def until(self) -> AnyOperand:
        return self.body.yields[-1] if self.has_until else False

    @property
    def carry_yields(self) -> tuple[AnyOperand, ...]:
        return self.body.yields[: self.carries]

    @property
    def stack_yields(self) -> tuple[AnyOperand, ...]:
        stop = len(self.body.yields) - self.has_until
        return self.body.yields[self.carries : stop]

    @property
    def carried(self) -> tuple[Value, ...]:
        return self.op.results[: self.carries]

    @property
    def stacked(self) -> tuple[Value, ...]:
        return self.op.results[self.carries : -1]

    @property
    def count(self) -> Value:
        return self.op.results[-1]

    @property
    def runs_reversed(self) -> bool:
        return bool(self.op.attrs.get("reverse", False))


#: All whole numbers up to this one are exact in every float dtype.
WHOLE = 2**11


def _beside_floats(operands: tuple[AnyOperand, ...]) -> tuple[AnyOperand, ...]:
    """Converts whole numbers to floats if all arrays are of floats."""
    arrays = [type_ for type_ in map(type_of, operands) if isinstance(type_, ArrayType)]
    if not arrays or any("float" not in (type_.dtype or "") for type_ in arrays):
        return operands
    return tuple([float(o) if type(o) is int and -WHOLE <= o <= WHOLE else o for o in operands])


def _frozen(thing: Any) -> Hashable:
    """Returns a key of a literal; those of 1, 1.0 and True differ, as do those of 0.0 and -0.0."""
    if isinstance(thing, (tuple, list)):
        return type(thing), tuple([_frozen(item) for item in thing])
    if isinstance(thing, dict):
        return dict, tuple([(_frozen(key), _frozen(item)) for key, item in thing.items()])
    if isinstance(thing, (Value, Function)):
        return thing
    return type(thing), repr(thing)
