"""The main program beside a C file: it compares the functions with recorded numbers."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autodiff_compiler.cost_model import costs
from autodiff_compiler.emit.c.expressions import literal
from autodiff_compiler.emit.c.formula import SCATTERED, Formula
from autodiff_compiler.emit.c.names import Names
from autodiff_compiler.emit.c.signature import Port, Signature, header_type, macro_name, wrapped
from autodiff_compiler.emit.c.source import array_lines
from autodiff_compiler.ir.types import SHORT
from autodiff_compiler.loop_ir.nodes import Literal

#: The relative tolerance of each dtype, and the smallest difference from 1.
PRECISION = {"float32": (1e-4, 2.0**-23), "float64": (1e-9, 2.0**-52)}
#: The tolerance for numbers near zero: roundings of the largest number of the same output, and
#: of the largest number of all, up to 1. A sum that cancels is no exact zero.
ROUNDINGS, ROUNDINGS_OF_ALL = 64, 4
#: The format of a number, and the type that it is cast to.
_FORMATS = {
    "float32": ("%.9g", "double"),
    "float64": ("%.17g", "double"),
    "bool": ("%d", "int"),
    **{f"int{bits}": ('%" PRId64 "', "int64_t") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": ('%" PRIu64 "', "uint64_t") for bits in (8, 16, 32, 64)},
}

_HEAD = """\
/* Compares the functions of {stem}.c with recorded numbers. Compile and run it with

     {command}
     ./{program} --self-test

   NumPy computed the numbers.{sampled}
*/
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "{stem}.h"
"""
_MEMORY = """\
/* ---- memory */

static void *blocks[{blocks}];
static int block_count = 0;

static void *allocate(int64_t bytes) {{
  void *block = malloc(bytes ? (size_t)bytes : 1);
  if (!block) {{
    printf("out of memory\\n");
    exit(1);
  }}
  memset(block, 0x5a, (size_t)bytes); /* a number that is not written deviates */
  return blocks[block_count++] = block;
}}

static void release(int first) {{
  while (block_count > first) free(blocks[--block_count]);
}}
"""
_REALLOCATE = """\
static void *reallocate(const Services *services, void *memory, int64_t bytes) {
  (void)services;
  int number = 0;
  while (number < block_count && blocks[number] != memory) number++;
  void *block = realloc(memory, (size_t)bytes);
  if (!block) return 0;
  if (number == block_count) block_count++;
  return blocks[number] = block;
}
"""
_FILL = """\
/* element i is low + step * k; all of these numbers are exact */
static void fill_{short}({type} *array, int64_t size, {wide} low, {wide} step, uint32_t count,
                     uint32_t seed) {{
  for (int64_t i = 0; i < size; i++) {{
    const uint32_t k = ({scattered}) % count;
    array[i] = ({type})(low + step * k);
  }}
}}
"""
_POSITION = """\
/* ---- comparisons */

/* how many deviating numbers of an output are printed */
enum { SHOWN = 20 };

/* prints the name of an element, such as d_x[0,2] */
static void print_element(const char *name, int64_t at, int rank, const int64_t *shape) {
  int64_t step = 1;
  for (int axis = 0; axis < rank; axis++) step *= shape[axis];
  printf("%s", name);
  for (int axis = 0; axis < rank; axis++) {
    step /= shape[axis];
    printf("%c%" PRId64, axis ? ',' : '[', at / step % shape[axis]);
  }
  if (rank) printf("]");
}
"""
_AGREE = """\
static int agree_{short}({type} actual, {type} expected, double tolerance) {{
  if (isnan(expected)) return isnan(actual);
  if (isinf(expected)) return actual == expected;
  return fabs((double)actual - expected) <= {relative!r} * fabs((double)expected) + tolerance;
}}
"""
_COMPARE = """\
/* compares every element of number k * step, and counts those that deviate */
static int64_t compare_{short}(const char *name, int rank, const int64_t *shape,
                           const {type} *actual, const {type} *expected, int64_t count,
                           int64_t step{parameter}) {{
  int64_t deviations = 0;
  for (int64_t k = 0; k < count; k++) {{
    const {type} one = actual[k * step], other = expected[k];
    if ({agrees}) continue;
    if (++deviations > SHOWN) continue;
    print_element(name, k * step, rank, shape);
    printf(": expected {format}, actual {format}\\n", ({wide})other, ({wide})one);
  }}
  if (deviations > SHOWN) printf("%s: %" PRId64 " numbers deviate\\n", name, deviations);
  return deviations;
}}
"""
_MESSAGES = """\
static const char *error_of_{name}(int32_t error) {{
  switch (error) {{
{cases}
  }}
  return "an unknown error";
}}
"""
_RESULT = """\
  if (deviations)
    printf("%" PRId64 " of {numbers} numbers deviate\\n", deviations);
  else
    printf("all {numbers} numbers agree\\n");
  return deviations != 0;
}}
"""
_MAIN = """\
int main(int count, char **arguments) {{
  if (count == 2 && !strcmp(arguments[1], "--self-test")) {{
    const int failed = self_test();
    release(0);
    return failed;
  }}
  fprintf(stderr,
          "usage: %s --self-test\\n"
          "compares the functions of {stem}.c with recorded numbers\\n",
          count ? arguments[0] : "{stem}");
  return 2;
}}
"""


@dataclass(frozen=True)
class RecordedCall:
    """A call of a self-test.

    arguments  for each input its elements.
    recorded   for each output its elements.
    """

    signature: Signature
    arguments: tuple[np.ndarray | Formula, ...]
    recorded: tuple[np.ndarray, ...]


def command(stem: str) -> str:
    """Returns the command that compiles a file with its self-test."""
    program, library, main = map(shlex.quote, (stem, f"{stem}.c", f"{stem}_main.c"))
    return f"cc -O3 -fopenmp-simd -o {program} {library} {main} -lm"


def self_test_text(stem: str, calls: Sequence[RecordedCall]) -> str:
    """Returns the text of the main program for the file ``stem``.c."""
    numbers = [each for call in calls for each in (*call.arguments, *call.recorded)]
    writer = _Writer(stem, _rounding(calls), max(map(_largest, numbers), default=0.0))
    for call in calls:
        writer.call(call)
    entries = [call.signature.entry for call in calls]
    tapes = max(entry.tapes for entry in entries)
    sampled = " Of large arrays, some elements are compared." if writer.is_sampled else ""
    head = _HEAD.format(
        stem=stem, program=shlex.quote(stem), command=command(stem), sampled=sampled
    )
    parts = [
        head,
        "/* ---- arguments and recorded numbers */\n",
        "\n".join([*writer.arrays, ""]),
        _MEMORY.format(blocks=writer.blocks + tapes),
        *([_REALLOCATE] if tapes else []),
        *map(_fill, writer.filled),
        *([_POSITION] if writer.compared else []),
        *map(_comparison, writer.compared),
        "/* ---- the test */\n",
        *(_messages(call.signature) for call in calls if call.signature.all_errors),
        "static int self_test(void) {",
    ]
    if any(entry.services for entry in entries):
        allocator = "reallocate" if tapes else "0"
        parts.append("  int64_t details[4] = {0};")
        parts.append(
            f"  const Services services = {{.reallocate = {allocator}, .details = details}};"
        )
    parts += ["  int64_t deviations = 0;", "  int32_t error = 0;", *writer.lines]
    return "\n".join([*parts, _RESULT.format(numbers=writer.numbers), _MAIN.format(stem=stem)])


class _Writer:
    """Writes the calls of a self-test.

    rounding  the relative rounding; ``largest`` is the largest of all numbers.
    arrays    the lines of arguments and recorded numbers.
    lines     the lines of the function ``self_test``.
    filled    the dtypes of arrays that formulas fill; ``compared`` those of compared outputs.
    blocks    the number of arrays that are allocated.
    numbers   the number of elements that are compared.
    """

    def __init__(self, stem: str, rounding: float, largest: float) -> None:
        self.stem, self.rounding, self.largest = stem, rounding, largest
        self.arrays: list[str] = []
        self.lines: list[str] = []
        self.filled: dict[str, None] = {}
        self.compared: dict[str, None] = {}
        self.blocks = self.numbers = 0
        self.is_sampled = False
        self.names = Names()

    def call(self, call: RecordedCall) -> None:
        """Writes the arguments of a call, the call, and the comparisons of its outputs."""
        signature, entry = call.signature, call.signature.entry
        arguments = [
            self._argument(*each) for each in zip(signature.inputs, call.arguments, strict=True)
        ]
        outputs = [self._output(port) for port in signature.outputs]
        arguments += outputs
        if entry.services:
            arguments.append("&services")
        if entry.workspace:
            arguments.append(self._workspace(entry.name))
        mark = f"blocks_before_{entry.name}"
        if entry.tapes:
            self.lines.append(f"  const int {mark} = block_count;")
        self.lines += _statement(f"error = {entry.name}", arguments)
        if entry.tapes:
            self.lines.append(f"  release({mark});")
        printed = [
            f'"{entry.name} returned the error %d{": %s" if signature.all_errors else ""}\\n"'
        ]
        printed += ["(int)error", *[f"error_of_{entry.name}(error)"] * bool(signature.all_errors)]
        failed = [f"  {line}" for line in _statement("printf", printed)]
        self.lines += ["  if (error) {", *failed, "    return 1;", "  }"]
        for port, name, numbers in zip(signature.outputs, outputs, call.recorded, strict=True):
            if port.size:
                self._compare(port, name, numbers)

    def _name(self, prefix: str, port: Port) -> str:
        """Returns a new name, which the prefix keeps apart from those of C's libraries."""
        return self.names.new(f"{prefix}_{port.name}")

    def _argument(self, port: Port, source: np.ndarray | Formula) -> str:
        name, dtype = self._name("in", port), port.parameter.dtype
        c_type = header_type(dtype, port.parameter.by_value)
        if isinstance(source, Formula):
            self.filled[dtype] = None
            self._allocate(name, c_type, port.size)
            low, step = (literal(Literal(x, _wide(dtype)))[0] for x in (source.low, source.step))
            numbers = f"{port.size}, {low}, {step}, {source.count}, {source.seed}"
            self.lines.append(f"  fill_{SHORT[dtype]}({name}, {numbers});")
        elif port.parameter.by_value:
            text, _ = literal(Literal(source.item(), dtype))
            self.arrays.append(f"static const {c_type} {name} = {text};")
        else:
            self.arrays += array_lines(f"static const {c_type}", name, source.astype(dtype))
        return name

    def _output(self, port: Port) -> str:
        name = self._name("out", port)
        self._allocate(name, header_type(port.parameter.dtype), port.size)
        return name

    def _allocate(self, name: str, c_type: str, size: int) -> None:
        self.blocks += 1
        self.lines.append(f"  {c_type} *{name} = allocate({size} * (int64_t)sizeof({c_type}));")

    def _workspace(self, function: str) -> str:
        """Allocates the workspace. Returns its name."""
        self.blocks += 1
        size = f"{macro_name(self.stem)}_WORKSPACE_BYTES"
        self.lines += [
            f"  uintptr_t work_of_{function} = (uintptr_t)allocate({size} + 63);",
            f"  work_of_{function} = (work_of_{function} + 63) / 64 * 64;",
        ]
        return f"(void *)work_of_{function}"

    def _compare(self, port: Port, name: str, numbers: np.ndarray) -> None:
        dtype = port.parameter.dtype
        step = sampling_step(port.size)
        some = numbers.astype(dtype).ravel()[::step]
        self.is_sampled |= step > 1
        self.numbers += some.size
        self.compared[dtype] = None
        expected, shape = self._name("recorded", port), "0"
        self.arrays += array_lines(f"static const {header_type(dtype)}", expected, some)
        if port.shape:
            shape = self._name("shape", port)
            sizes = np.array(port.shape, np.int64)
            self.arrays += array_lines("static const int64_t", shape, sizes)
        arguments = [f'"{port.name}"', str(len(port.shape)), shape, name, expected]
        arguments += [str(some.size), str(step)]
        if dtype in PRECISION:
            roundings = ROUNDINGS * _largest(numbers) + ROUNDINGS_OF_ALL * min(1.0, self.largest)
            arguments.append(f"{self.rounding * roundings:.3g}")
        self.lines += _statement(f"deviations += compare_{SHORT[dtype]}", arguments)


def _statement(call: str, arguments: Sequence[str]) -> list[str]:
    """Returns the lines of a call, below the head of a function."""
    return wrapped(f"  {call}(", arguments, ");", indent=6)


def _wide(dtype: str) -> str:
    """Returns the widest dtype of the same kind."""
    if dtype.startswith("float"):
        return "float64"
    return "uint64" if dtype.startswith("uint") else "int64"


def _fill(dtype: str) -> str:
    return _FILL.format(
        short=SHORT[dtype],
        type=header_type(dtype),
        wide=header_type(_wide(dtype)),
        scattered=SCATTERED,
    )


def _comparison(dtype: str) -> str:
    """Returns the function that compares the elements of a dtype."""
    format_, wide = _FORMATS[dtype]
    short, c_type, agree, call, parameter = SHORT[dtype], header_type(dtype), "", "one == other", ""
    if dtype in PRECISION:
        relative, _ = PRECISION[dtype]
        agree = _AGREE.format(short=short, type=c_type, relative=relative) + "\n"
        call, parameter = f"agree_{short}(one, other, tolerance)", ", double tolerance"
    return agree + _COMPARE.format(
        short=short,
        type=c_type,
        parameter=parameter,
        agrees=call,
        format=format_,
        wide=wide,
    )


def _messages(signature: Signature) -> str:
    """Returns the function that names the errors of a function."""
    cases = [f"    case {number}: return {_quoted(text)};" for number, text in signature.all_errors]
    return _MESSAGES.format(name=signature.entry.name, cases="\n".join(cases))


def _quoted(text: str) -> str:
    """Returns a string of C.

    >>> print(_quoted('not "x"?'))
    "not \\"x\\"\\?"
    """
    escapes = {"\\": r"\\", '"': r"\"", "?": r"\?", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
    return '"' + "".join(escapes.get(each, each) for each in text) + '"'


def sampling_step(size: int) -> int:
    """Returns the distance of the elements that are recorded of an output.

    It has no divisor in common with the size, so that all columns of a matrix are met.
    """
    step = -(-size // costs().recorded_elements)
    while step > 1 and math.gcd(step, size) > 1:
        step += 1
    return step


def _rounding(calls: Sequence[RecordedCall]) -> float:
    """Returns the relative rounding of the least precise dtype."""
    dtypes = {port.parameter.dtype for call in calls for port in call.signature.ports}
    return max((PRECISION[each][1] for each in dtypes & PRECISION.keys()), default=0.0)


def _largest(numbers: np.ndarray | Formula) -> float:
    """Returns the largest finite magnitude of floats."""
    if isinstance(numbers, Formula):
        last = numbers.low + numbers.step * (numbers.count - 1)
        return float(max(abs(numbers.low), abs(last)))
    if numbers.dtype.kind != "f":
        return 0.0
    return float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))


__all__ = ["PRECISION", "RecordedCall", "command", "sampling_step", "self_test_text"]
