"""Statements: each changes the state; ``return`` alone gives something."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import gast
import numpy as np

from autodiff_compiler.errors import CompileError, DTypeError, UnknownName, UnsupportedSyntax
from autodiff_compiler.fast_ast import nodes_in
from autodiff_compiler.frontend.abstract import iterators, runtime_lists
from autodiff_compiler.frontend.abstract.values import HeapRef, Poison, Unset, UsesPoison, own_name
from autodiff_compiler.frontend.control_flow.branches import Diverged, Returned
from autodiff_compiler.frontend.core.error_translation import KINDS_RAISED, checked
from autodiff_compiler.frontend.core.unwinding import Unwinding
from autodiff_compiler.frontend.statements.item_assignment import Storing
from autodiff_compiler.frontend.syntax import builders
from autodiff_compiler.frontend.syntax.exits import exits_of
from autodiff_compiler.frontend.syntax.exits import leaves as ends
from autodiff_compiler.ir.builder import Unreached
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import ArrayType
from autodiff_compiler.span import Span


class Statements(Storing):
    """Adds statements to ``Storing``."""

    #: Where the text of this function begins.
    started: Span | None = None

    def run_body(self, tree: Any) -> Any:
        """Lowers a function's body; gives what it returns."""
        if isinstance(tree, gast.Lambda):
            return self.stepwise(lambda: self.evaluate(tree.body))
        self.started = self.started or self.source.span(tree)
        outcome = self.block(tree.body)
        if isinstance(outcome, Diverged):
            raise Unreached
        return self.certainly(outcome.value) if isinstance(outcome, Returned) else None

    def block(self, statements: Sequence[Any]) -> Any:
        for number, statement in enumerate(statements):
            if self.handlers:
                return self._before(statement, statements[number + 1 :])
            outcome = self.execute(statement)
            if isinstance(outcome, (Returned, Diverged, Unwinding)):
                return outcome
        return None

    def _before(self, statement: Any, rest: Sequence[Any]) -> Any:
        """Lowers a statement and the rest of its block, which is not reached from where something
        was thrown."""
        if isinstance(statement, gast.If):
            statement, rest = _with_rest(statement, rest)
        waiting = [rest] if rest else []

        def go_on(outcome: Any) -> Any:
            if outcome is not None or not waiting:
                return outcome
            statements = waiting.pop()
            return self.unless_left(lambda: self.block(statements))

        return go_on(self.execute(statement, go_on))

    def execute(self, node: Any, then: Callable[[Any], Any] = lambda outcome: outcome) -> Any:
        """Lowers a statement. A problem is kept, what the statement sets is poisoned, and the
        lowering goes on, to find the other problems. If the statement is left from its middle, what
        follows it (``then``) stands where it ends."""
        told = len(self.world.problems)
        try:
            with self.builder.at(self.source.span(node)):
                try:
                    execute = getattr(self, f"exec_{type(node).__name__}")
                    return self.stepwise(lambda: execute(node), then)
                except CompileError as error:
                    if self.thrown_by(self.builder.placed(error)):
                        return Unwinding()
                    self.poison(self.builder.placed(error))
                except KINDS_RAISED as error:
                    refusal = checked(error, self.builder.span)
                    if refusal is None:
                        raise
                    self.poison(refusal)
        except Unreached:
            return Diverged()
        except UsesPoison:
            assert self.world.problems or told
        for part in nodes_in(node):
            held = self.state.names.get(getattr(part, "id", ""))
            if isinstance(part, gast.Name) and (
                isinstance(part.ctx, gast.Store) or isinstance(held, HeapRef)
            ):
                self.state.names[part.id] = Poison()
            if isinstance(part, gast.alias):
                self.state.names[part.asname or part.name.partition(".")[0]] = Poison()
        return Returned(Poison()) if gast.Return in exits_of([node]) else None

    def exec_Return(self, node: Any) -> Any:
        _alone(node.value)
        node.value.raw = True
        return Returned(self.evaluate(node.value))

    def exec_Expr(self, node: Any) -> None:
        _alone(node.value)
        found = self.evaluate(node.value)
        if isinstance(node.value, gast.Call):
            with self.builder.at(self.source.span(node)):
                runtime_lists.check_popped(self, found)

    def exec_Delete(self, node: Any) -> None:
        for target in node.targets:
            if isinstance(target, gast.Name) and target.id in self.state.names:
                cause = f"'{target.id}' was deleted on line {self.builder.span.line}"
                self.state.names[target.id] = Unset(cause, "delete it after its last use")
            elif isinstance(target, gast.Subscript):
                self._delete_item(self.evaluate(target.value), self.evaluate(target.slice))
            else:
                raise self.fail(
                    UnsupportedSyntax,
                    "'del' is not supported for this target",
                    "delete a variable or an item",
                )

    def _delete_item(self, owner: Any, key: Any) -> None:
        if not isinstance(owner, HeapRef):
            raise self.fail(
                DTypeError,
                f"the items of a {self.described(owner)} cannot be deleted",
                "delete items of a list or dict that the function itself made",
            )
        contents = self.state.heap[owner]
        if runtime_lists.is_long(contents) and not isinstance(key, slice):
            self.state.heap[owner] = runtime_lists.without(self, contents, key)
            return
        contents = self.contents(owner)
        changed = dict(contents) if isinstance(contents, dict) else list(contents)
        try:
            del changed[self.static(key, "the key of a deleted item")]
        except LookupError as error:
            raise self.no_item(contents, key, error) from None
        self.state.heap[owner] = changed if isinstance(changed, dict) else tuple(changed)

    def exec_Import(self, node: Any) -> None:
        for alias in node.names:
            module = self._module(alias.name)
            first = alias.name.partition(".")[0]
            top = self._module(first)
            self.state.names[alias.asname or first] = module if alias.asname else top

    def exec_ImportFrom(self, node: Any) -> None:
        package = self.frame.function.__globals__.get("__package__")
        module = self._module("." * node.level + (node.module or ""), package)
        for alias in node.names:
            found = self.lifted(self.world.attribute(module, alias.name, self.builder.span))
            self.state.names[alias.asname or alias.name] = found

    def _module(self, name: str, package: str | None = None) -> Any:
        try:
            module = importlib.import_module(name, package)
            self.world.assume_module(module, importlib.util.resolve_name(name, package))
            return module
        except (ImportError, TypeError, ValueError) as error:
            raise self.fail(
                UnknownName,
                f"importing '{name}' failed: {error}",
                "install the module, or correct the name",
            ) from None

    def exec_Pass(self, node: Any) -> None:
        """Nothing to do."""

    def exec_FunctionDef(self, node: Any) -> None:
        decorators = [self.evaluate(decorator) for decorator in node.decorator_list]
        made: Any = self.closure(node, node.args, node.name)
        for decorator in reversed(decorators):
            made = self.call(decorator, (made,), {})
        self.state.names[node.name] = made

    def exec_If(self, node: Any) -> Any:
        try:
            test = self.truth(self.evaluate(node.test))
        except (CompileError, UsesPoison):
            for side in (node.body, node.orelse):
                before = self.state.fork()
                self.block(side)
                self.state = before
            raise
        if isinstance(test, bool):
            return self.block(node.body if test else node.orelse)
        if not test.has_user_name and self.builder.producer(test):
            test.name = "branch"
        with self.builder.at(self.source.span(node)):
            return self.choose(test, lambda: self.block(node.body), lambda: self.block(node.orelse))

    def exec_Assign(self, node: Any) -> None:
        _alone(node.value)
        _hand_on(node)
        augmented = getattr(node.value, "augmented", False)
        old = self.evaluate(node.value.left) if augmented else None
        value = self.evaluate(node.value)
        if augmented:
            with self.builder.at(self.source.span(node)):
                value = self._augmented(old, value)
        value = iterators.named(self, value)
        self._assign_all(node.targets, (value,) * len(node.targets))

    def exec_AugAssign(self, node: Any) -> None:
        if isinstance(node.target, gast.Attribute):
            owner, name = self.evaluate(node.target.value), node.target.attr
            with self.builder.at(self.source.span(node)):
                old = self.once(name, lambda: self.attribute(owner, name))
                new = self.binary_in_place(type(node.op).__name__, old, self.evaluate(node.value))
                self.store_attribute(owner, name, self._augmented(old, new))
            return
        owner, key = self.evaluate(node.target.value), self.evaluate(node.target.slice)
        with self.builder.at(self.source.span(node)):
            old = self.once(node.target, lambda: self.subscript(owner, key))
            new = self.binary_in_place(type(node.op).__name__, old, self.evaluate(node.value))
            if isinstance(owner, Value):
                self._fits(
                    old,
                    new,
                    "cast the array first: y = y.astype(...); or cast the value that is written",
                )
            else:
                new = self._augmented(old, new)
            self.store(owner, key, new)

    def _augmented(self, old: Any, new: Any) -> Any:
        """What ``old += x`` leaves. NumPy's arrays are written to, so that every name sees it;
        its scalars, and Tensors, are not."""
        if not self._fits(old, new, "make a new array: x = x + y"):
            return new
        return self.changed(old, new)

    def _fits(self, old: Any, new: Any, cure: str) -> bool:
        """Whether ``new`` is put where the array ``old`` is; refused where NumPy would not do it,
        though it puts anything there that it is assigned."""
        if not self.world.numpy or not isinstance(old, Value) or not isinstance(new, Value):
            return False
        before, after = old.type, new.type
        if not isinstance(before, ArrayType) or not isinstance(after, ArrayType):
            return False
        if before.ndim == 0 and old not in self.world.memory.arrays:
            return False  # a scalar
        if before.dtype and after.dtype and not np.can_cast(after.dtype, before.dtype, "same_kind"):
            said = (
                f"NumPy does not cast {after.dtype} to {before.dtype}, the dtype of the array "
                "that is written to"
            )
            raise self.fail(DTypeError, said, cure)
        return True

    def eval_NamedExpr(self, node: Any) -> Any:
        value = self.evaluate(node.value)
        self.assign(node.target, value)
        return value

    def assign(self, target: Any, value: Any) -> None:
        if isinstance(target, gast.Name):
            self.bind(target.id, value)
        elif isinstance(target, (gast.Tuple, gast.List)):
            self._unpack(target, value)
        elif isinstance(target, gast.Subscript):
            self.store(self.evaluate(target.value), self.evaluate(target.slice), value)
        elif isinstance(target, gast.Starred):
            self.assign(target.value, value)
        else:
            with self.builder.at(self.source.span(target)):
                self.store_attribute(self.evaluate(target.value), target.attr, value)

    def _unpack(self, target: Any, value: Any) -> None:
        stars = [k for k, part in enumerate(target.elts) if isinstance(part, gast.Starred)]
        want = len(target.elts)
        contents = self.state.heap[value] if isinstance(value, HeapRef) else value
        if runtime_lists.is_long(contents) and not stars:
            items = runtime_lists.unpacked_to(self, contents, want)
        elif runtime_lists.is_long(contents):
            items = runtime_lists.unpacked_around(self, contents, stars[0], want - stars[0] - 1)
            self._assign_all(target.elts, items)
            return
        else:
            items = self.sequence(value)
        if len(items) != want if not stars else len(items) < want - 1:
            raise self.fail(
                DTypeError,
                f"{len(items)} values cannot be unpacked into {want} names",
                "use as many names as there are values",
            ).meaning(_not_unpacked(len(items), want, bool(stars)))
        if stars:
            tail = want - stars[0] - 1
            middle = self.new_list(items[stars[0] : len(items) - tail])
            items = [*items[: stars[0]], middle, *items[len(items) - tail :]]
        self._assign_all(target.elts, items)

    def _assign_all(self, targets: Sequence[Any], values: Sequence[Any]) -> None:
        """Assign one after the other. What a target writes to shows in the values that wait."""
        writing = any(isinstance(part, gast.Subscript) for part in targets[:-1])
        if not (self.world.numpy and writing):
            for target, value in zip(targets, values):
                self.assign(target, value)
            return
        waiting = own_name("waiting", len(self.state.names))
        self.state.names[waiting] = tuple(values)
        for place, target in enumerate(targets):
            held = self.certainly(self.state.names[waiting])
            self.assign(target, held[place])
        del self.state.names[waiting]


def _with_rest(statement: Any, rest: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """If a branch of an ``if`` raises, what follows it is the rest of the other branch."""
    body, orelse = statement.body, statement.orelse
    if ends(body):
        orelse = [*orelse, *rest]
    elif ends(orelse):
        body = [*body, *rest]
    else:
        return statement, rest
    return builders.placed(statement, gast.If(statement.test, body, orelse)), ()


def _hand_on(node: Any) -> None:
    """Marks what is assigned to a variable as it is, though it may be None."""
    names = [target for target in node.targets if isinstance(target, gast.Name)]
    pairs = [(target, node.value) for target in node.targets]
    for target, value in pairs:
        both = [getattr(each, "elts", None) for each in (target, value)]
        if all(both) and len(both[0]) == len(both[1]):  # type: ignore[arg-type]
            pairs += zip(*both)
    for target, value in pairs:
        value.raw = isinstance(target, gast.Name) and (value is not node.value or len(names) == len(
            node.targets))  # fmt: skip


def _not_unpacked(have: int, want: int, starred: bool) -> ValueError:
    """What Python says of an assignment with too many or too few names."""
    if have > want:
        return ValueError(f"too many values to unpack (expected {want})")
    least = f"at least {want - 1}" if starred else str(want)
    return ValueError(f"not enough values to unpack (expected {least}, got {have})")


def _alone(value: Any) -> None:
    """Marks the calls of an expression that is nothing but calls of methods, one on the other: no
    other part of it can have been read before they change something."""
    while isinstance(value, gast.Call) and isinstance(value.func, gast.Attribute):
        value.alone = True
        value = value.func.value
