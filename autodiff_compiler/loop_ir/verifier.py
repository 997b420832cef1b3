"""The verifier of loop nests. An illegal function is a bug of the compiler: ``InternalError``.

A scalar is defined once before its uses and in their scope. Only a mutable one changes, and no
index. Element types fit. Inputs and constants are not written. Positions lie in their buffers,
where the loops around them tell. Arrays in the workspace do not overlap if they are live at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from autodiff_compiler.errors import InternalError
from autodiff_compiler.ir.types import item_size
from autodiff_compiler.loop_ir.accesses import local_buffers
from autodiff_compiler.loop_ir.liveness import live_ranges
from autodiff_compiler.loop_ir.nodes import (
    DTYPES,
    ROLES,
    Affine,
    Apply,
    Body,
    Buffer,
    Call,
    Expression,
    Fail,
    Function,
    If,
    Let,
    Load,
    Loop,
    Position,
    Product,
    Read,
    Reserve,
    Scalar,
    Set,
    Statement,
    Store,
    While,
)
from autodiff_compiler.loop_ir.operations import COMBINATIONS, result_dtype
from autodiff_compiler.span import NOWHERE

#: The boundary on which an array in the workspace begins, in bytes.
ALIGNMENT = 64


def verify_nests(function: Function, stage: str = "nests") -> None:
    """Raises InternalError if a function breaks a law. The message names the ``stage``."""
    _Verifier(function, stage).check()


class _Verifier:
    """Checks statements in their order.

    visible    the scalars that are defined, and in scope.
    extents    the extents of the loops around the statement that are known.
    is_sure    True if the statement runs in each iteration of these loops.
    """

    def __init__(self, function: Function, stage: str) -> None:
        self.function, self.stage = function, stage
        self.statement: Statement | None = None
        self.visible: set[Scalar] = set()
        self.extents: dict[Scalar, int] = {}
        self.is_sure = True
        self.buffers = {*function.outputs}

    def demand(self, holds: bool, law: str) -> None:
        if not holds:
            place = ""
            if self.statement is not None:
                line = "" if self.statement.span == NOWHERE else f" line {self.statement.span.line}"
                place = f",{line} {type(self.statement).__name__}"
            raise InternalError(f"{self.stage}: @{self.function.name}{place}: {law}")

    def check(self) -> None:
        function = self.function
        parameters = [*function.inputs, *function.outputs]
        self.demand(len({*parameters}) == len(parameters), "a parameter is listed twice")
        for each in function.inputs:
            if isinstance(each, Buffer):
                self.buffer(each, "input")
            else:
                self.define(each, False)
        for each in function.outputs:
            self.buffer(each, "output")
        self.buffers = {each for each in parameters if isinstance(each, Buffer)}
        for each in local_buffers(function):
            self.demand(each.role in ("temporary", "constant"), f"{each} is no parameter")
            self.buffer(each, each.role)
            self.buffers.add(each)
        self.body(function.body)
        self.statement = None
        self.workspace()

    def buffer(self, buffer: Buffer, role: str) -> None:
        self.demand(buffer.role == role and role in ROLES, f"{buffer} is {buffer.role}, not {role}")
        self.demand(buffer.dtype in DTYPES, f"{buffer} has elements of {buffer.dtype}")
        if role == "constant":
            self.demand(len(buffer.values) == buffer.size, f"{buffer} lacks elements")
        else:
            self.demand(not buffer.values and buffer.size >= 0, f"{buffer} has elements")
        self.demand(not buffer.grows or role == "temporary" and not buffer.size, f"{buffer} grows")

    # ---- scopes

    def define(self, scalar: Scalar, mutable: bool) -> None:
        self.demand(scalar not in self.visible, f"{scalar} is defined twice")
        self.demand(scalar.dtype in DTYPES, f"{scalar} is a {scalar.dtype}")
        self.demand(mutable or not scalar.mutable, f"{scalar} may not change")
        self.visible.add(scalar)

    def body(self, body: Body) -> None:
        before, owner = {*self.visible}, self.statement
        self.statements(body)
        self.visible, self.statement = before, owner

    def statements(self, body: Body) -> None:
        for statement in body:
            self.statement = statement
            if isinstance(statement, (Let, Set, Store)):
                self.write(statement)
            elif isinstance(statement, (Loop, While, If)):
                self.nested(statement)
            elif isinstance(statement, Product):
                self.product(statement)
            elif isinstance(statement, Call):
                self.call(statement)
            elif isinstance(statement, Reserve):
                self.demand(statement.buffer.grows, f"{statement.buffer} does not grow")
                self.integers(statement.size)
            else:
                assert isinstance(statement, Fail), statement
                self.error(statement.error, len(statement.details))
                for each in statement.details:
                    self.expression(each)

    def nested(self, statement: Loop | While | If) -> None:
        if isinstance(statement, Loop):
            self.loop(statement)
            return
        sure, self.is_sure = self.is_sure, False
        before = {*self.visible}
        if isinstance(statement, While):
            self.statements(statement.test)
            self.statement = statement
        self.expression(statement.condition)
        self.demand(statement.condition.dtype == "bool", "the condition is no bool")
        if isinstance(statement, While):
            self.statements(statement.body)
        else:
            self.body(statement.then)
            self.body(statement.orelse)
        self.visible, self.is_sure = before, sure

    def loop(self, loop: Loop) -> None:
        self.demand(loop.index.dtype == "int64", "the index is no int64")
        extent, sure, before = loop.extent, self.is_sure, {*self.visible}
        if isinstance(extent, int):
            self.demand(extent >= 0, "the extent is negative")
            self.extents[loop.index] = extent
            self.is_sure = sure and extent > 0
        else:
            self.read(extent)
            self.demand(extent.dtype == "int64" and not extent.mutable, f"{extent} is no extent")
        self.define(loop.index, False)
        self.body(loop.body)
        self.visible, self.is_sure = before, sure

    # ---- writes

    def write(self, statement: Let | Set | Store) -> None:
        self.expression(statement.value)
        if isinstance(statement, Store):
            target: Scalar | Buffer = statement.buffer
            self.writable(statement.buffer)
            self.element(statement.buffer, statement.at)
        else:
            target = statement.scalar
        fits = statement.value.dtype == target.dtype
        self.demand(fits, f"{target} is a {target.dtype}, not a {statement.value.dtype}")
        if isinstance(statement, Let):
            self.define(statement.scalar, True)
            return
        self.demand(statement.combine in ("", *COMBINATIONS), f"there is no {statement.combine}")
        if isinstance(statement, Set):
            self.read(statement.scalar)
            self.demand(statement.scalar.mutable, f"{statement.scalar} may not change")

    def writable(self, buffer: Buffer) -> None:
        self.demand(buffer.role in ("output", "temporary"), f"{buffer} is only read")

    def product(self, product: Product) -> None:
        m, n, k = product.m, product.n, product.k
        self.writable(product.result.buffer)
        dtype = product.result.buffer.dtype
        self.demand(dtype in ("float32", "float64"), f"a product of {dtype}")
        for matrix, sizes in (
            (product.result, (m, n)),
            (product.left, (m, k)),
            (product.right, (k, n)),
        ):
            self.demand(matrix.buffer.dtype == dtype, f"{matrix.buffer} is no {dtype}")
            ends = [step * max(size - 1, 0) for step, size in zip(matrix.strides, sizes)]
            if 0 not in sizes:
                low, high = (sum(pick(0, end) for end in ends) for pick in (min, max))
                self.element(matrix.buffer, matrix.at, low, high)
        operands = (product.left.buffer, product.right.buffer)
        self.demand(product.result.buffer not in operands, "the result is an operand")

    def call(self, call: Call) -> None:
        for part in call.parts:
            self.element(part.buffer, part.at, 0, part.size - 1)
        for part in call.changed:
            self.writable(part.buffer)
        buffers = [part.buffer for part in call.changed]
        apart = len({*buffers}) == len(buffers)
        self.demand(apart and all(each.buffer not in buffers for each in call.read), "parts meet")
        if call.error is not None:
            self.error(call.error, 0)

    def error(self, number: int, details: int) -> None:
        rows = self.function.errors
        self.demand(0 <= number < len(rows), f"there is no error {number}")
        kinds = [each for each in rows[number][2:] if each != "%"]
        self.demand(len(kinds) == details, f"error {number} has {len(kinds)} numbers")

    # ---- expressions

    def expression(self, expression: Expression) -> None:
        self.demand(expression.dtype in DTYPES, f"there is no dtype {expression.dtype}")
        if isinstance(expression, Read):
            self.read(expression.scalar)
        elif isinstance(expression, Load):
            self.element(expression.buffer, expression.at)
        elif isinstance(expression, Position):
            self.integers(expression.at)
            self.demand(expression.dtype == "int64", "a position is no int64")
        elif isinstance(expression, Apply):
            sure = self.is_sure
            for place, operand in enumerate(expression.operands):
                self.is_sure = sure and not (place and expression.name == "select")
                self.expression(operand)
            self.is_sure = sure
            self.operation(expression)

    def operation(self, op: Apply) -> None:
        dtypes = [each.dtype for each in op.operands]
        fits = len(dtypes) == 1 if op.name == "cast" else result_dtype(op.name, dtypes) == op.dtype
        self.demand(fits, f"{op.name} of {', '.join(dtypes)} is no {op.dtype}")

    def read(self, scalar: Scalar) -> None:
        self.demand(scalar in self.visible, f"{scalar} is not defined here")

    def integers(self, at: Affine) -> None:
        for scalar in at.scalars:
            self.read(scalar)
            self.demand(scalar.dtype == "int64", f"{scalar} in a position is no int64")

    def element(self, buffer: Buffer, at: Affine, low: int = 0, high: int = 0) -> None:
        """Checks an access to the elements ``at + low`` to ``at + high``."""
        self.demand(buffer in self.buffers, f"{buffer} is not allocated")
        self.integers(at)
        if buffer.grows or not self.is_sure or not {*at.scalars} <= self.extents.keys():
            return
        reaches = [count * (self.extents[scalar] - 1) for scalar, count in at.terms]
        low += at.constant + sum(min(0, reach) for reach in reaches)
        high += at.constant + sum(max(0, reach) for reach in reaches)
        inside = low >= 0 and high < buffer.size
        self.demand(inside, f"{buffer}[{low}:{high + 1}] is outside its {buffer.size} elements")

    # ---- the workspace

    def workspace(self) -> None:
        ranges = live_ranges(self.function)
        spaces = [*self.spaces()]
        for place, (buffer, start, end) in enumerate(spaces):
            for other, first, last in spaces[:place]:
                if start < last and first < end and buffer in ranges and other in ranges:
                    (born, dies), (begins, ends) = ranges[buffer], ranges[other]
                    apart = dies < begins or ends < born
                    self.demand(apart, f"{buffer} and {other} are live in the same bytes")

    def spaces(self) -> Iterator[tuple[Buffer, int, int]]:
        """Yields each buffer in the workspace, with its first byte and the one after its last."""
        listed = [buffer for buffer, _ in self.function.offsets]
        self.demand(len({*listed}) == len(listed), "a buffer is allocated twice")
        for buffer, start in self.function.offsets:
            is_local = buffer.role == "temporary" and not buffer.grows
            self.demand(is_local, f"{buffer} is not of the workspace")
            self.demand(start >= 0 and start % ALIGNMENT == 0, f"{buffer} is not aligned")
            yield buffer, start, start + buffer.size * item_size(buffer.dtype)


__all__ = ["ALIGNMENT", "verify_nests"]
