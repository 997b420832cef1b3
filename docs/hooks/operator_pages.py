"""The reference page of each operator, as Markdown made from its definition and its samples.

The source that a page shows is what the compiler prints for the gradient of the first sample.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import autodiff_compiler
from autodiff_compiler import gradient_source, pipeline
from autodiff_compiler.frontend.lower import TypedProgram
from autodiff_compiler.interface.request import Request
from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS, OpDef, value_type
from autodiff_compiler.ir.types import SHAPE, ListType, Type
from autodiff_compiler.program import Program
from autodiff_compiler.span import Span
from autodiff_compiler.testing import vocabulary
from autodiff_compiler.testing.samples import SAMPLES, Sample
from docs.hooks.sample_programs import PROGRAMS

ROOT = Path(__file__).parents[2]
FOLDER = Path(autodiff_compiler.__file__).parent / "operators"

#: The number of a source line in generated source: in a tag, or in the place of a function.
TAG = re.compile(r"(?<=# )(\d+)(?=\|)|sample_programs\.py:(\d+)")

#: The derivative of operators of a kind.
KINDS = {
    "elementwise": "elementwise: each element of the result depends on the elements at its place",
    "linear": "linear: the tangent is the operator itself",
    "bilinear": "bilinear: linear in each of its two operands",
    "zero": "zero wherever it exists",
    "container": "structural: a cotangent has the structure of its value",
    "control": "of its regions or its callee, which are differentiated themselves",
    "effect": "none: an effect has no result",
    "lowered": "none: passes introduce it after differentiation",
    "general": "by rules of its own",
}
#: The types of operators without samples.
ANY_TYPES = {
    "container": "Items of any type.",
    "control": "The types of its regions, or of its callee.",
    "effect": "Operands of any type.",
    "lowered": "Arrays.",
}
#: Words for the batching rules.
BATCHES = {
    "": "one example after another",
    "elements": "elementwise, on one more axis",
    "axes": "unchanged, with each axis moved by one",
    "trailing": "unchanged: it works on the last axes",
    "items": "each item of a list has one more axis",
}

PAGE = """\
# {name}

{doc}

| definition | `{file}` |
|---|---|
{facts}
## Types

{types}
## Gradient

{gradient}"""


@dataclass(frozen=True)
class Application:
    """An operator, applied to the operands of a sample.

    active   the positions of parameters that have a derivative.
    """

    opdef: OpDef
    sample: Sample
    operands: tuple[Any, ...]
    params: tuple[Value, ...]
    active: tuple[int, ...]
    function: Function

    @property
    def signature(self) -> str:
        """The types of operands and result: ``f64[2,3], float -> f64[2,3]``."""
        given = ", ".join(map(_shown_operand, self.operands)) or "nothing"
        return f"{given} -> {_type_of(self.function.returns[0])}"


def apply(opdef: OpDef, sample: Sample) -> Application:
    """Returns a function of IR that applies an operator to the operands of a sample."""
    operands: list[Any] = []
    active: list[int] = []
    params: list[Value] = []
    for position, given in enumerate(sample.operands):
        if not isinstance(given, (list, tuple, np.ndarray, np.random.Generator)):
            operands.append(given)
            continue
        name = opdef.operand_name(position)
        name = f"x{name}" if name.isdigit() else name
        if _is_continuous(given):
            active.append(len(params))
        params.append(Value(_type_of_sample(given), name, has_user_name=True))
        operands.append(params[-1])
    builder = Builder()
    with builder:
        out = opdef(*operands, **sample.attrs)
    body = Region(tuple(params), tuple(builder.ops), (out,))
    span = Span(definition_file(opdef.name), 1, 1, 1, "")
    function = Function(opdef.name, body, span, opdef.name)
    return Application(opdef, sample, tuple(operands), tuple(params), tuple(active), function)


def source_of(applied: Application) -> str:
    """Returns the source of the gradient; of the value alone if nothing is differentiable."""
    has_gradient = applied.opdef.kind != "zero" and bool(applied.active)
    request = Request(
        positions=applied.active if has_gradient else (),
        sens="given" if has_gradient else "none",
        stabilise=False,
    )
    places = {position: position for position in range(len(applied.params))}
    typed = TypedProgram(
        applied.function, places, (), (), (), None, (), (), (), {}, False, (), frozenset()
    )
    program = pipeline.run(Program(request, typed, (applied.function,)), "typed")
    source = pipeline.run(program).source
    return source[source.index("import ") :]  # the docstring is about a file


def _type_of_sample(given: Any) -> Type:
    if isinstance(given, tuple):
        return SHAPE
    return ListType(value_type(given[0])) if isinstance(given, list) else value_type(given)


def _is_continuous(given: Any) -> bool:
    first = np.asarray(given[0]) if isinstance(given, list) else given
    return isinstance(first, np.ndarray) and first.dtype.kind in "fc"


def _type_of(operand: Any) -> str:
    return str(operand.type) if isinstance(operand, Value) else repr(operand)


def _shown_operand(operand: Any) -> str:
    return f"{operand.name}: {operand.type}" if isinstance(operand, Value) else repr(operand)


# ---- files of definitions


@cache
def _files() -> dict[str, str]:
    """Returns the file of each definition, relative to the project.

    It assigns the definition to a name, calls a constructor with the operator's name, or has the
    name in a table.
    """
    found: dict[str, str] = {}
    called: dict[str, str] = {}
    named: dict[str, str] = {}
    for path in sorted(FOLDER.rglob("*.py")):
        shown = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = sys.modules.get(shown.removesuffix(".py").replace("/", "."))
        for target in _assigned(tree):
            value = getattr(module, target, None)
            if isinstance(value, OpDef):
                found[value.name] = shown
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and _is_text(node.args[0]):
                called.setdefault(ast.literal_eval(node.args[0]), shown)
            elif _is_text(node):
                for word in ast.literal_eval(node).split():
                    named.setdefault(word, shown)
    return named | called | found


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _assigned(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def definition_file(name: str) -> str:
    """Returns the path of the file that declares an operator."""
    return _files()[name]


def family(name: str) -> str:
    """Returns the package of the file that declares an operator, such as ``elementwise``."""
    parent = Path(definition_file(name)).parent.name
    return "core" if parent == "operators" else parent


@cache
def _public_names() -> dict[str, list[str]]:
    """Returns the functions and methods that apply one operator alone, by operator."""
    found: dict[str, list[str]] = {}
    for entry in vocabulary.entries():
        if len(entry.operators) == 1:
            names = [name for name in entry.names if not name.startswith("nn.")]
            found.setdefault(entry.operators[0], []).extend(names)
    return found


# ---- pages


def summary(opdef: OpDef) -> str:
    """Returns the documentation of an operator, on one line; signs that mean markup are escaped."""
    text = re.sub(r"([*_])", r"\\\1", " ".join(opdef.doc.split()))
    return text.replace("<", "&lt;").replace("|", "&#124;")


@cache
def page(name: str) -> str:
    """Returns the page of an operator."""
    opdef = OPERATORS[name]
    applied = [apply(opdef, sample) for sample in SAMPLES.get(name, ())]
    rows = [
        ("operands", ", ".join(f"`{each}`" for each in opdef.operands) or "none"),
        ("derivative", KINDS[opdef.kind]),
        ("gradient in", _operands_with_gradient(applied)),
        ("NumPy text", _emission(applied)),
        ("under `vmap`", _batching(opdef)),
        ("public names", ", ".join(f"`{each}`" for each in _public_names().get(name, ()))),
    ]
    facts = "".join(f"| {head} | {text} |\n" for head, text in rows if text)
    return PAGE.format(
        name=name,
        file=definition_file(name),
        doc=summary(opdef),
        facts=facts,
        types=_types(applied) or f"{ANY_TYPES[opdef.kind]}\n",
        gradient=_gradient(opdef, applied),
    )


def _operands_with_gradient(applied: list[Application]) -> str:
    """Returns the operands that are differentiated in some sample."""
    names = dict.fromkeys(
        each.params[position].name
        for each in applied
        for position in each.active
        if each.opdef.kind != "zero"
    )
    return ", ".join(f"`{name}`" for name in names)


def _emission(applied: list[Application]) -> str:
    """Returns the template of the first sample."""
    if not applied:
        return ""
    first = applied[0]
    types = [each.type if isinstance(each, Value) else value_type(each) for each in first.operands]
    lines = first.opdef.template(types, first.sample.attrs).strip().splitlines()
    return "<br>".join(f"`{line}`" for line in lines)


def _batching(opdef: OpDef) -> str:
    if callable(opdef.batch):
        return "a rule of its own"
    return BATCHES.get(opdef.batch, f"`{opdef.batch}`")


def _types(applied: list[Application]) -> str:
    """Returns the types of operands, attributes and result of at most four samples."""
    rows: dict[tuple[str, str], None] = {}
    for each in applied:
        attrs = ", ".join(f"{name}={value!r}" for name, value in each.sample.attrs.items())
        rows[each.signature, attrs] = None
    lines = [f"{signature}    {attrs}".rstrip() for signature, attrs in list(rows)[:4]]
    return fenced("text", "\n".join(lines)) if lines else ""


def _gradient(opdef: OpDef, applied: list[Application]) -> str:
    """Returns the source of a gradient, and what it is of."""
    if applied:
        words = "For the first sample above, the compiler prints this forward and backward function"
        if opdef.kind == "zero":
            words = "The derivative is zero. For the first sample above, the compiler prints"
        elif not applied[0].active:
            words = "No operand has a derivative. For the first sample above, the compiler prints"
        return f"{words}:\n\n" + fenced("python", source_of(applied[0]))
    if opdef.kind == "lowered":
        return "Passes introduce this operator after differentiation, so it has no derivative.\n"
    program = PROGRAMS[opdef.name]
    source = gradient_source(program.function, *program.types)
    shown, numbers = program.text()

    def renumbered(found: re.Match[str]) -> str:
        return str(numbers[int(found[1])]) if found[1] else f"example.py:{numbers[int(found[2])]}"

    source = TAG.sub(renumbered, source[source.index("import ") :])
    words = f"A function that uses it, called with {' and '.join(map(_code, program.types))}:"
    return f"{words}\n\n{fenced('python', shown)}\nIts gradient:\n\n{fenced('python', source)}"


def _code(text: str) -> str:
    return f"`{text}`"


def tables() -> str:
    """Returns tables of all operators, a table for each family."""
    families: dict[str, list[str]] = {}
    for name in OPERATORS:
        families.setdefault(family(name), []).append(name)
    parts = []
    for title, names in sorted(families.items()):
        parts.append(f"\n## {title.capitalize()}\n\n")
        parts.append("| operator | what it computes | derivative |\n|---|---|---|\n")
        parts += [
            f"| [`{name}`](operators/{name}.md) | {summary(opdef)} | {opdef.kind} |\n"
            for name, opdef in sorted((name, OPERATORS[name]) for name in names)
        ]
    return "".join(parts)


def fenced(language: str, text: str) -> str:
    """Returns a fenced block.

    >>> fenced("python", "x = 1")
    '```python\\nx = 1\\n```\\n'
    """
    return f"```{language}\n{text.rstrip()}\n```\n"
