"""The C text of functions of the loop-nest IR: one self-contained C11 file."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from autodiff_compiler.cost_model import costs
from autodiff_compiler.emit.c.algorithms import algorithm_lines, words_of
from autodiff_compiler.emit.c.expressions import (
    C_TYPES,
    ELEMENT_TYPES,
    UNARY,
    ExpressionPrinter,
    literal,
    may_wrap,
)
from autodiff_compiler.emit.c.library import FUNCTIONS, functions_for
from autodiff_compiler.emit.c.names import LINKED, Names
from autodiff_compiler.emit.c.polls import poll_line, poll_period
from autodiff_compiler.emit.c.products import product_lines
from autodiff_compiler.emit.c.return_codes import FIRST_ERROR
from autodiff_compiler.ir.types import SHORT, item_size
from autodiff_compiler.loop_ir.accesses import summary_of
from autodiff_compiler.loop_ir.nodes import (
    Affine,
    Body,
    Buffer,
    Call,
    Fail,
    Function,
    If,
    Let,
    Literal,
    Load,
    Loop,
    Matrix,
    Part,
    Product,
    Reserve,
    Scalar,
    Set,
    Statement,
    Store,
    While,
    expressions,
    subexpressions,
    walk,
)
from autodiff_compiler.loop_ir.verifier import ALIGNMENT
from autodiff_compiler.span import NOWHERE, Span

SERVICES = """\
typedef struct Services Services;
struct Services {
  void *(*reallocate)(const Services *services, void *memory, int64_t bytes);
  int32_t (*poll)(const Services *services);
  void (*product_f32)(const Services *services, int32_t transpose_a, int32_t transpose_b,
                      int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                      const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
  void (*product_f64)(const Services *services, int32_t transpose_a, int32_t transpose_b,
                      int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                      const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
  int64_t *details;
};
"""


#: The columns of a line of numbers.
COLUMNS = 100


@dataclass(frozen=True)
class Parameter:
    """A parameter of a C function.

    by_value   True if it is a number; else it is a pointer to the first element.
    is_output  True if the function writes there.
    """

    name: str
    dtype: str
    by_value: bool
    is_output: bool


@dataclass(frozen=True)
class Entry:
    """A function that a C file exports.

    adapter     the name of the function that takes an array of pointers.
    parameters  its inputs and then its outputs; services and workspace stand after them.
    workspace   the bytes of the workspace.
    services    True if the function takes services.
    tapes       the number of arrays that the services allocate in a call.
    polls       True if a poll of the services may end it.
    """

    name: str
    adapter: str
    parameters: tuple[Parameter, ...]
    workspace: int
    services: bool
    tapes: int
    polls: bool


@dataclass(frozen=True)
class CSource:
    """The text of a C file, and its functions."""

    text: str
    entries: tuple[Entry, ...]


def emit_c(
    functions: Sequence[Function], constants: Mapping[Buffer, np.ndarray] | None = None
) -> CSource:
    """Returns the C text of functions.

    ``constants`` are inputs whose elements stand in the text. They are no parameters.
    """
    constants = constants or {}
    names = Names(LINKED)
    printed = [names(function.name) for function in functions]
    constant_lines = [
        line
        for buffer, array in constants.items()
        for line in array_lines(f"static const {ELEMENT_TYPES[buffer.dtype]}", names(buffer), array)
    ]
    emitters = [
        _Emitter(function, name, {each: names(each) for each in constants})
        for function, name in zip(functions, printed)
    ]
    lines = [line for each in emitters for line in each.function_lines()]
    head = _head(functions[0], emitters)
    text = "\n".join([*head, *constant_lines, *[""] * bool(constant_lines), *lines])
    return CSource(text, tuple(each.entry() for each in emitters))


def _head(function: Function, emitters: Sequence[_Emitter]) -> list[str]:
    """Returns the lines before the functions, after all of these were printed."""
    lines = [f"/* {title(function)} */", "#include <stdint.h>", ""]
    if any(each.services for each in emitters):
        lines += SERVICES.splitlines() + [""]
    products: dict[str, bool] = {}
    for each in emitters:
        for dtype, is_large in each.products.items():
            products[dtype] = products.get(dtype, False) or is_large
    lines += product_lines(products)
    used = dict.fromkeys(name for each in emitters for name in each.printer.functions)
    algorithms = dict.fromkeys(name for each in emitters for name in each.algorithms)
    needed = FUNCTIONS.keys() & words_of(algorithms)
    library = functions_for([*used, *needed])
    lines += library.splitlines() + [""] if library else []
    return lines + [*algorithm_lines(algorithms)]


def title(function: Function) -> str:
    """Returns the title of a function, with its place in a file."""
    where = f" ({function.span.where.rpartition(':')[0]})" if function.span != NOWHERE else ""
    return f"{function.title or function.name}{where}"


def array_lines(declaration: str, name: str, array: np.ndarray) -> list[str]:
    """Returns the lines of an array with its elements, in C order.

    >>> array_lines("double", "x", np.array([0.5, -1.0]))
    ['double x[2] = {0.5, -1.0};']
    """
    dtype = str(array.dtype)
    numbers = map(float, map(str, array.ravel())) if dtype == "float32" else array.ravel().tolist()
    texts = [literal(Literal(each, dtype))[0] for each in numbers] or ["0"]
    head, text = f"{declaration} {name}[{len(texts)}] = {{", ", ".join(texts)
    if len(head) + len(text) + 2 <= COLUMNS:
        return [f"{head}{text}}};"]
    filled = textwrap.wrap(text, COLUMNS - 2, break_long_words=False, break_on_hyphens=False)
    return [head, *(f"  {line}" for line in filled), "};"]


class _Emitter:
    """Prints one function. ``constants`` are the names of inputs that the file contains."""

    def __init__(self, function: Function, name: str, constants: Mapping[Buffer, str]) -> None:
        self.function, self.name = function, name
        self.names = Names((name, *constants.values()))
        self.names.names.update((id(buffer), text) for buffer, text in constants.items())
        self.printer = ExpressionPrinter(self.names)
        self.lines: list[str] = []
        #: The dtypes of products, and whether some are large.
        self.products: dict[str, bool] = {}
        self.algorithms: dict[str, None] = {}
        statements = list(walk(function.body))
        used = dict.fromkeys(each for s in statements for each in _buffers(s))
        self.inputs = [each for each in function.inputs if each not in constants]
        parameters = {*function.inputs, *function.outputs}
        self.temporaries = [b for b in used if b not in parameters and not b.grows]
        self.growing = [b for b in used if b.grows]
        self.polls = any(map(_iterations_per_poll, statements))
        self.services = self.polls or bool(self.growing) or any(map(_needs_services, statements))
        self.workspace = 0

    def function_lines(self) -> list[str]:
        """Returns the lines of the function and of its adapter."""
        function = self.function
        parameters = [*map(self._parameter, (*self.inputs, *function.outputs))]
        declarations = self._placements()
        if self.services:
            parameters.append("const Services *services")
        if self.workspace:
            parameters.append("void *workspace")
        self._body(function.body, 1)
        words = set(re.findall(r"\w+", "\n".join(self.lines)))
        taken = (*self.inputs, *function.outputs)
        unused = [name for each in taken if (name := self.names(each)) not in words]
        return [
            f"int32_t {self.name}({', '.join(parameters)}) {{",
            *(f"  (void){name};" for name in unused),
            *declarations,
            *self.lines,
            *("  return 0;", "}", ""),
            *self._adapter(),
        ]

    def entry(self) -> Entry:
        """Returns the record of the function, after it was printed."""
        parameters = tuple(
            Parameter(self.names(each), each.dtype, isinstance(each, Scalar), is_output)
            for things, is_output in ((self.inputs, False), (self.function.outputs, True))
            for each in things
        )
        return Entry(
            self.name,
            f"{self.name}_call",
            parameters,
            self.workspace,
            self.services,
            len(self.growing),
            self.polls,
        )

    # ---- the frame

    def _parameter(self, thing: Buffer | Scalar) -> str:
        if isinstance(thing, Scalar):
            return f"{C_TYPES[thing.dtype]} {self.names(thing)}"
        const = "const " if thing.role == "input" else ""
        return f"{const}{ELEMENT_TYPES[thing.dtype]} *restrict {self.names(thing)}"

    def _placements(self) -> list[str]:
        lines, on_stack = [], 0
        offsets = dict(self.function.offsets)
        ends = {each: start + _bytes(each) for each, start in offsets.items()}
        self.workspace = -(-max(ends.values(), default=0) // ALIGNMENT) * ALIGNMENT
        for buffer in self.temporaries:
            c_type, name = ELEMENT_TYPES[buffer.dtype], self.names(buffer)
            if buffer.role == "constant":
                values = (literal(Literal(each, buffer.dtype))[0] for each in buffer.values)
                text = f"static const {c_type} {name}[{buffer.size}] = {{{', '.join(values)}}};"
                lines.append(f"  {text}")
            elif buffer not in offsets:
                on_stack += _bytes(buffer)
                lines.append(f"  {c_type} {name}[{max(buffer.size, 1)}];")
            else:
                start = offsets[buffer]
                shares = any(
                    offsets[each] < ends[buffer] and start < end
                    for each, end in ends.items()
                    if each is not buffer
                )
                sign = "*" if shares else "*restrict "
                place = f"(char *)workspace + {start}" if start else "workspace"
                lines.append(f"  {c_type} {sign}{name} = ({c_type} *)({place});")
        assert on_stack <= costs().stack_bytes, "assign_workspace has not run"
        for buffer in self.growing:
            name = self.names(buffer)
            lines.append(f"  {ELEMENT_TYPES[buffer.dtype]} *{name} = 0;")
            lines.append(f"  int64_t {name}_capacity = 0;")
        return [*lines, "  int64_t polls = 0;"] if self.polls else lines

    def _adapter(self) -> list[str]:
        arguments = []
        for place, thing in enumerate((*self.inputs, *self.function.outputs)):
            is_scalar = isinstance(thing, Scalar)
            c_type = (C_TYPES if is_scalar else ELEMENT_TYPES)[thing.dtype]
            arguments.append(f"{'*' * is_scalar}({c_type} *)p[{place}]")
        more = ["(const Services *)p"] * self.services + ["p"] * bool(self.workspace)
        for extra in more:
            arguments.append(f"{extra}[{len(arguments)}]")
        call = f"{self.name}({', '.join(arguments)})"
        return [f"int32_t {self.name}_call(void **p) {{", f"  return {call};", "}", ""]

    # ---- statements

    def _body(self, body: Body, depth: int) -> None:
        for statement in body:
            self._statement(statement, depth)

    def _line(self, text: str, depth: int, span: Span = NOWHERE) -> None:
        comment = f"  // {span.line}" if span != NOWHERE else ""
        self.lines.append("  " * depth + text + comment)

    def _statement(self, statement: Statement, depth: int) -> None:
        _PRINTERS[type(statement)](self, statement, depth)

    def _let(self, let: Let, depth: int) -> None:
        scalar = let.scalar
        const = "" if scalar.mutable else "const "
        declared = f"{const}{C_TYPES[scalar.dtype]} {self.names(scalar)}"
        self._line(f"{declared} = {self.printer.text(let.value)};", depth, let.span)

    def _set(self, statement: Set, depth: int) -> None:
        target = self.names(statement.scalar)
        self._line(self._write(target, statement), depth, statement.span)

    def _store(self, store: Store, depth: int) -> None:
        target = f"{self.names(store.buffer)}[{self.printer.position(store.at)}]"
        self._line(self._write(target, store), depth, store.span)

    def _while(self, loop: While, depth: int) -> None:
        self._line("for (;;) {", depth, loop.span)
        with self.names.block():
            self._body(loop.test, depth + 1)
            self._line(f"if (!{self.printer.text(loop.condition, UNARY)}) break;", depth + 1)
            self._poll(loop, depth + 1)
            self._body(loop.body, depth + 1)
        self._line("}", depth)

    def _poll(self, loop: Loop | While, depth: int) -> None:
        if period := _iterations_per_poll(loop):
            self._line(poll_line(period), depth)

    def _if(self, branch: If, depth: int) -> None:
        self._line(f"if ({self.printer.condition(branch.condition)}) {{", depth, branch.span)
        with self.names.block():
            self._body(branch.then, depth + 1)
        if branch.orelse:
            self._line("} else {", depth)
            with self.names.block():
                self._body(branch.orelse, depth + 1)
        self._line("}", depth)

    def _fail(self, fail: Fail, depth: int) -> None:
        for place, each in enumerate(fail.details):
            bits = self.printer.bits(each)
            self._line(f"services->details[{place}] = {bits};", depth, fail.span)
        self._line(f"return {FIRST_ERROR + fail.error};", depth, fail.span)

    def _write(self, target: str, statement: Set | Store) -> str:
        signs = {"": "=", "add": "+=", "mul": "*="}
        if statement.value.dtype == "bool":
            signs = {"": "=", "add": "|=", "mul": "&="}
        value = self.printer.text(statement.value)
        wraps = isinstance(statement, Store) and may_wrap(statement.combine, statement.value.dtype)
        if statement.combine in signs and not wraps:
            return f"{target} {signs[statement.combine]} {value};"
        name = f"{statement.combine}_{SHORT[statement.value.dtype]}"
        self.printer.functions[name] = None
        return f"{target} = {name}({target}, {value});"

    def _loop(self, loop: Loop, depth: int) -> None:
        if _is_vector_loop(loop):
            sums = [self.names(each.scalar) for each in loop.body if isinstance(each, Set)]
            clause = f" reduction(+ : {', '.join(dict.fromkeys(sums))})" if sums else ""
            self._line(f"#pragma omp simd{clause}", depth)
        extent = loop.extent if isinstance(loop.extent, int) else self.names(loop.extent)
        with self.names.block():
            name = self.names.index(loop.index)
            head = f"for (int64_t {name} = 0; {name} < {extent}; {name}++) {{"
            self._line(head, depth, loop.span)
            self._poll(loop, depth + 1)
            self._body(loop.body, depth + 1)
        self._line("}", depth)

    def _product(self, product: Product, depth: int) -> None:
        dtype = product.result.buffer.dtype
        is_large = _is_large(product)
        self.products[dtype] = self.products.get(dtype, False) or is_large
        matrices = ", ".join(map(self._matrix, (product.result, product.left, product.right)))
        sizes = f"{product.m}, {product.n}, {product.k}"
        function = f"product_{SHORT[dtype]}("
        if is_large:
            function = f"large_{function}services, "
        call = f"{function}{sizes}, {matrices}, {int(product.adds)});"
        self._line(call, depth, product.span)

    def _call(self, call: Call, depth: int) -> None:
        self.algorithms[call.name] = None
        operands = ", ".join([*map(str, call.numbers), *map(self._address, call.parts)])
        text = f"{call.name}({operands})"
        fails = f"if ({text}) return {FIRST_ERROR + (call.error or 0)};"
        self._line(f"{text};" if call.error is None else fails, depth, call.span)

    def _matrix(self, matrix: Matrix) -> str:
        return f"{self._address(matrix)}, {matrix.strides[0]}, {matrix.strides[1]}"

    def _address(self, part: Matrix | Part) -> str:
        at = self.printer.position(part.at)
        return self.names(part.buffer) + (f" + {at}" if at != "0" else "")

    def _reserve(self, statement: Reserve, depth: int) -> None:
        name, needed = self.names(statement.buffer), self.printer.position(statement.size)
        c_type = ELEMENT_TYPES[statement.buffer.dtype]
        self._line(f"if ({needed} > {name}_capacity) {{", depth, statement.span)
        size = needed if needed.isidentifier() else f"({needed})"
        self._line(f"{name}_capacity = 2 * {size} + 64;", depth + 1)
        self._line(
            f"{name} = services->reallocate(services, {name}, "
            f"{name}_capacity * (int64_t)sizeof({c_type}));",
            depth + 1,
        )
        self._line(f"if (!{name}) return 1;", depth + 1)
        self._line("}", depth)


def _needs_services(statement: Statement) -> bool:
    return isinstance(statement, Fail) and bool(statement.details) or _is_large(statement)


def _iterations_per_poll(statement: Statement) -> int:
    """Returns the iterations from one poll to the next, or 0."""
    if isinstance(statement, Loop):
        return 0 if _is_vector_loop(statement) else poll_period(statement)
    return poll_period(statement) if isinstance(statement, While) else 0


def _is_large(statement: Statement) -> bool:
    """True for a product that a BLAS computes."""
    if not isinstance(statement, Product):
        return False
    return statement.m * statement.n * statement.k >= costs().blas_product_terms


def _bytes(buffer: Buffer) -> int:
    return buffer.size * item_size(buffer.dtype)


def _is_vector_loop(loop: Loop) -> bool:
    """True if the iterations of a loop can run as elements of vectors.

    Two iterations may not combine with the same element, nor read what another one combines. A sum
    of floats has the order of the iterations: ``block_reductions`` gives it slots.
    """
    if not loop.independent:
        return False
    if not all(isinstance(each, (Let, Store)) or _is_integer_sum(each) for each in loop.body):
        return False
    accesses = summary_of(loop).accesses
    combined = [access for access in accesses if access.combine]
    return all(
        _never_meet(one.at, other.at, loop)
        for one in combined
        for other in accesses
        if other.buffer is one.buffer
    )


def _is_integer_sum(statement: Statement) -> bool:
    if not isinstance(statement, Set) or statement.combine != "add":
        return False
    dtype = statement.scalar.dtype  # a sum of bools is no sum of the bits of vectors
    return dtype != "bool" and not dtype.startswith("float")


def _never_meet(one: Affine, other: Affine, loop: Loop) -> bool:
    """True if two positions of different iterations differ."""
    step, distance = one.coefficient(loop.index), one + other * -1
    if not step or distance.terms:
        return False
    extent = loop.extent if isinstance(loop.extent, int) else inf
    is_apart = abs(distance.constant) >= abs(step) * extent
    return distance.constant == 0 or distance.constant % step != 0 or is_apart


def _buffers(statement: Statement) -> Iterator[Buffer]:
    """Yields the buffers that a statement names, without those of its bodies."""
    for expression in expressions(statement):
        for each in subexpressions(expression):
            if isinstance(each, Load):
                yield each.buffer
    if isinstance(statement, (Store, Reserve)):
        yield statement.buffer
    if isinstance(statement, Product):
        yield from (each.buffer for each in (statement.left, statement.right, statement.result))
    if isinstance(statement, Call):
        yield from (part.buffer for part in statement.parts)


_PRINTERS: Mapping[type, Callable[[Any, Any, int], None]] = {
    Let: _Emitter._let,
    Set: _Emitter._set,
    Store: _Emitter._store,
    Loop: _Emitter._loop,
    While: _Emitter._while,
    If: _Emitter._if,
    Product: _Emitter._product,
    Call: _Emitter._call,
    Reserve: _Emitter._reserve,
    Fail: _Emitter._fail,
}
