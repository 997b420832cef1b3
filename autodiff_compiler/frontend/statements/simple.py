"""Handlers of statements. Each changes the state; ``return`` alone gives an outcome."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import gast
import numpy as np

from autodiff_compiler.errors import CompileError, DTypeError, UnknownName, UnsupportedSyntax
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.abstract import iterators, runtime_lists
from autodiff_compiler.frontend.abstract.outcomes import Diverged, Returned, Unwinding
from autodiff_compiler.frontend.abstract.values import (
    HeapRef,
    LazyIterable,
    Poison,
    Unset,
    UsesPoison,
    internal_name,
)
from autodiff_compiler.frontend.core.error_translation import (
    KINDS_RAISED,
    failed_check,
    missing_item,
)
from autodiff_compiler.frontend.core.lowering import Lowering
from autodiff_compiler.frontend.core.number_or_array import refuse_array_or_scalar
from autodiff_compiler.frontend.core.unwinding import evaluate_once, resumable, unless_thrown
from autodiff_compiler.frontend.expressions.arithmetic import augmented_operation
from autodiff_compiler.frontend.expressions.attributes import make_closure
from autodiff_compiler.frontend.expressions.evaluation import bind_name, poison
from autodiff_compiler.frontend.expressions.subscripts import subscript
from autodiff_compiler.frontend.objects.array_updates import replace_array
from autodiff_compiler.frontend.objects.attribute_protocol import store_attribute
from autodiff_compiler.frontend.statements.item_assignment import assign_item
from autodiff_compiler.frontend.syntax import builders
from autodiff_compiler.frontend.syntax.exits import exits_of
from autodiff_compiler.frontend.syntax.exits import never_falls_through as ends
from autodiff_compiler.frontend.syntax.nodes import AugmentedBinOp
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType


def block(low: Lowering, statements: Sequence[Any]) -> Any:
    """Lowers statements one after the other, until one leaves the block."""
    for number, statement in enumerate(statements):
        if low.catching:
            return _execute_guarded(low, statement, statements[number + 1 :])
        outcome = low.execute(statement)
        if isinstance(outcome, (Returned, Diverged, Unwinding)):
            return outcome
    return None


def _execute_guarded(low: Lowering, statement: Any, rest: Sequence[Any]) -> Any:
    """Lowers a statement and the rest of its block, which is not reached after an exception."""
    if isinstance(statement, gast.If):
        statement, rest = _with_rest(statement, rest)
    waiting = [rest] if rest else []

    def go_on(outcome: Any) -> Any:
        if outcome is not None or not waiting:
            return outcome
        statements = waiting.pop()
        return unless_thrown(low, lambda: low.block(statements))

    return go_on(low.execute(statement, go_on))


def execute(low: Lowering, node: Any, then: Callable[[Any], Any] = lambda outcome: outcome) -> Any:
    """Lowers a statement.

    A problem is recorded, and the variables that the statement assigns are poisoned. Lowering
    continues, to find the other problems. If an exception may leave the statement, the code after
    it (``then``) stands at its end.
    """
    problems_before = len(low.compilation.problems)
    try:
        with low.builder.at(low.span(node)):
            try:
                handler = low.handlers.statements[type(node)]
                return resumable(low, lambda: handler(low, node), then)
            except CompileError as error:
                if low.handlers.throw_if_caught(low, low.builder.with_span(error)):
                    return Unwinding()
                poison(low, low.builder.with_span(error))
            except KINDS_RAISED as error:
                refusal = failed_check(error, low.builder.span)
                if refusal is None:
                    raise
                poison(low, refusal)
    except Unreached:
        return Diverged()
    except UsesPoison:
        assert low.compilation.problems or problems_before
    for part in nodes_in(node):
        bound = low.state.names.get(getattr(part, "id", ""))
        if isinstance(part, gast.Name) and (
            isinstance(part.ctx, gast.Store) or isinstance(bound, HeapRef)
        ):
            low.state.names[part.id] = Poison()
        if isinstance(part, gast.alias):
            low.state.names[part.asname or part.name.partition(".")[0]] = Poison()
    return Returned(Poison()) if gast.Return in exits_of([node]) else None


def execute_return(low: Lowering, node: Any) -> Any:
    low.sole_calls |= _method_chain(node.value)
    low.may_be_none.add(node.value)
    return Returned(low.evaluate(node.value))


def execute_expr(low: Lowering, node: Any) -> None:
    low.sole_calls |= _method_chain(node.value)
    value = low.evaluate(node.value)
    if isinstance(node.value, gast.Call):
        with low.builder.at(low.span(node)):
            runtime_lists.require_popped_item(low, value)


def execute_delete(low: Lowering, node: Any) -> None:
    for target in node.targets:
        if isinstance(target, gast.Name) and target.id in low.state.names:
            cause = f"'{target.id}' was deleted on line {low.builder.span.line}"
            low.state.names[target.id] = Unset(cause, "delete it after its last use")
        elif isinstance(target, gast.Subscript):
            _delete_item(low, low.evaluate(target.value), low.evaluate(target.slice))
        else:
            raise low.fail(
                UnsupportedSyntax,
                "'del' is not supported for this target",
                "delete a variable or an item",
            )


def _delete_item(low: Lowering, owner: Any, key: Any) -> None:
    if not isinstance(owner, HeapRef):
        raise low.fail(
            DTypeError,
            f"the items of a {low.described(owner)} cannot be deleted",
            "delete items of a list or dict that the function itself made",
        )
    contents = low.state.heap[owner]
    if runtime_lists.is_runtime_list(contents) and not isinstance(key, slice):
        low.state.heap[owner] = runtime_lists.delete_item(low, contents, key)
        return
    contents = low.contents(owner)
    changed = dict(contents) if isinstance(contents, dict) else list(contents)
    try:
        del changed[low.static(key, "the key of a deleted item")]
    except LookupError as error:
        raise missing_item(low, contents, key, error) from None
    low.state.heap[owner] = changed if isinstance(changed, dict) else tuple(changed)


def execute_import(low: Lowering, node: Any) -> None:
    for alias in node.names:
        module = _module(low, alias.name)
        first = alias.name.partition(".")[0]
        top = _module(low, first)
        low.state.names[alias.asname or first] = module if alias.asname else top


def execute_import_from(low: Lowering, node: Any) -> None:
    package = low.frame.function.__globals__.get("__package__")
    module = _module(low, "." * node.level + (node.module or ""), package)
    for alias in node.names:
        value = low.lifted(low.compilation.read_attribute(module, alias.name, low.builder.span))
        low.state.names[alias.asname or alias.name] = value


def _module(low: Lowering, name: str, package: str | None = None) -> Any:
    try:
        module = importlib.import_module(name, package)
        low.compilation.guard_module(module, importlib.util.resolve_name(name, package))
        return module
    except (ImportError, TypeError, ValueError) as error:
        raise low.fail(
            UnknownName,
            f"importing '{name}' failed: {error}",
            "install the module, or correct the name",
        ) from None


def execute_pass(low: Lowering, node: Any) -> None:
    """Does nothing."""


def execute_function_def(low: Lowering, node: Any) -> None:
    decorators = [low.evaluate(decorator) for decorator in node.decorator_list]
    function: Any = make_closure(low, node, node.args, node.name)
    for decorator in reversed(decorators):
        function = low.call(decorator, (function,), {})
    low.state.names[node.name] = function


def execute_if(low: Lowering, node: Any) -> Any:
    try:
        test = low.truth(low.evaluate(node.test))
    except (CompileError, UsesPoison):
        for side in (node.body, node.orelse):
            before = low.state.fork()
            low.block(side)
            low.state = before
        raise
    if isinstance(test, bool):
        return low.block(node.body if test else node.orelse)
    if not test.has_user_name and low.builder.producer(test):
        test.name = "branch"
    with low.builder.at(low.span(node)):
        return low.choose(test, lambda: low.block(node.body), lambda: low.block(node.orelse))


def execute_assign(low: Lowering, node: Any) -> None:
    low.sole_calls |= _method_chain(node.value)
    low.may_be_none |= _handed_on(node)
    augmented = isinstance(node.value, AugmentedBinOp)
    old = low.evaluate(node.value.left) if augmented else None
    value = low.evaluate(node.value)
    if augmented:
        with low.builder.at(low.span(node)):
            value = _augmented(low, old, value)
    if isinstance(value, LazyIterable):
        value = iterators.as_variable(low, value)
    _assign_all(low, node.targets, (value,) * len(node.targets))


def execute_aug_assign(low: Lowering, node: Any) -> None:
    if isinstance(node.target, gast.Attribute):
        owner, name = low.evaluate(node.target.value), node.target.attr
        with low.builder.at(low.span(node)):
            old = evaluate_once(low, name, lambda: low.attribute(owner, name))
            new = augmented_operation(low, type(node.op).__name__, old, low.evaluate(node.value))
            store_attribute(low, owner, name, _augmented(low, old, new))
        return
    owner, key = low.evaluate(node.target.value), low.evaluate(node.target.slice)
    with low.builder.at(low.span(node)):
        old = evaluate_once(low, node.target, lambda: subscript(low, owner, key))
        new = augmented_operation(low, type(node.op).__name__, old, low.evaluate(node.value))
        if isinstance(owner, Value):
            _fits(
                low,
                old,
                new,
                "cast the array first: y = y.astype(...); or cast the value that is written",
            )
        else:
            new = _augmented(low, old, new)
        assign_item(low, owner, key, new)


def _augmented(low: Lowering, old: Any, new: Any) -> Any:
    """Returns the value of ``old += x``. An array of NumPy is written to, so that every name sees
    it; a scalar or Tensor is not."""
    if not _fits(low, old, new, "make a new array: x = x + y"):
        return new
    refuse_array_or_scalar(low, old)
    return replace_array(low, old, new)


def _fits(low: Lowering, old: Any, new: Any, cure: str) -> bool:
    """True if ``new`` is written into the array ``old``. Refuses a dtype that NumPy does not cast
    in place."""
    if not low.compilation.numpy or not isinstance(old, Value) or not isinstance(new, Value):
        return False
    before, after = old.type, new.type
    if not isinstance(before, ArrayType) or not isinstance(after, ArrayType):
        return False
    if before.ndim == 0 and low.compilation.aliases.is_array(old) is False:
        return False  # a scalar
    if before.dtype and after.dtype and not np.can_cast(after.dtype, before.dtype, "same_kind"):
        said = (
            f"NumPy does not cast {after.dtype} to {before.dtype}, the dtype of the array "
            "that is written to"
        )
        raise low.fail(DTypeError, said, cure)
    return True


def evaluate_named_expr(low: Lowering, node: Any) -> Any:
    value = low.evaluate(node.value)
    low.assign(node.target, value)
    return value


def assign(low: Lowering, target: Any, value: Any) -> None:
    """Binds the target of an assignment."""
    if isinstance(target, gast.Name):
        bind_name(low, target.id, value)
    elif isinstance(target, (gast.Tuple, gast.List)):
        _unpack(low, target, value)
    elif isinstance(target, gast.Subscript):
        assign_item(low, low.evaluate(target.value), low.evaluate(target.slice), value)
    elif isinstance(target, gast.Starred):
        low.assign(target.value, value)
    else:
        with low.builder.at(low.span(target)):
            store_attribute(low, low.evaluate(target.value), target.attr, value)


def _unpack(low: Lowering, target: Any, value: Any) -> None:
    """Binds the targets of ``a, b = value``."""
    stars = [k for k, part in enumerate(target.elts) if isinstance(part, gast.Starred)]
    want = len(target.elts)
    contents = low.state.heap[value] if isinstance(value, HeapRef) else value
    if runtime_lists.is_runtime_list(contents) and not stars:
        items = runtime_lists.unpack_exactly(low, contents, want)
    elif runtime_lists.is_runtime_list(contents):
        items = runtime_lists.unpack_starred(low, contents, stars[0], want - stars[0] - 1)
        _assign_all(low, target.elts, items)
        return
    else:
        items = low.sequence(value)
    if len(items) != want if not stars else len(items) < want - 1:
        raise low.fail(
            DTypeError,
            f"{len(items)} values cannot be unpacked into {want} names",
            "use as many names as there are values",
        ).meaning(_not_unpacked(len(items), want, bool(stars)))
    if stars:
        tail = want - stars[0] - 1
        middle = low.new_list(items[stars[0] : len(items) - tail])
        items = [*items[: stars[0]], middle, *items[len(items) - tail :]]
    _assign_all(low, target.elts, items)


def _assign_all(low: Lowering, targets: Sequence[Any], values: Sequence[Any]) -> None:
    """Assigns one after the other. A write to one target shows in the values that wait."""
    writing = any(isinstance(part, gast.Subscript) for part in targets[:-1])
    if not (low.compilation.numpy and writing):
        for target, value in zip(targets, values):
            low.assign(target, value)
        return
    waiting = internal_name("waiting", len(low.state.names))
    low.state.names[waiting] = tuple(values)
    for place, target in enumerate(targets):
        waiting_values = low.certainly(low.state.names[waiting])
        low.assign(target, waiting_values[place])
    del low.state.names[waiting]


def _with_rest(statement: Any, rest: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Returns an ``if`` and the rest of its block. If a branch raises, the rest joins the other
    branch."""
    body, orelse = statement.body, statement.orelse
    if ends(body):
        orelse = [*orelse, *rest]
    elif ends(orelse):
        body = [*body, *rest]
    else:
        return statement, rest
    return builders.at_position(statement, gast.If(statement.test, body, orelse)), ()


def _handed_on(node: Any) -> set[Any]:
    """Returns the expressions that are assigned to a variable as they are, be they None."""
    handed_on: set[Any] = set()
    names = [target for target in node.targets if isinstance(target, gast.Name)]
    pairs = [(target, node.value) for target in node.targets]
    for target, value in pairs:
        targets, values = (getattr(each, "elts", None) for each in (target, value))
        if targets and values and len(targets) == len(values):
            pairs += zip(targets, values)
    for target, value in pairs:
        all_names = value is not node.value or len(names) == len(node.targets)
        if isinstance(target, gast.Name) and all_names:
            handed_on.add(value)
    return handed_on


def _not_unpacked(have: int, want: int, starred: bool) -> ValueError:
    """Returns Python's error of an assignment with too many or too few names."""
    if have > want:
        return ValueError(f"too many values to unpack (expected {want})")
    least = f"at least {want - 1}" if starred else str(want)
    return ValueError(f"not enough values to unpack (expected {least}, got {have})")


def _method_chain(value: Any) -> set[Any]:
    """Returns the calls of an expression that consists of method calls alone, each on the result of
    the one before. No other part of it can have been read before they change something."""
    calls: set[Any] = set()
    while isinstance(value, gast.Call) and isinstance(value.func, gast.Attribute):
        calls.add(value)
        value = value.func.value
    return calls
