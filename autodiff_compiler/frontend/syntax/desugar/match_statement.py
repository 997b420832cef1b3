'''``match`` as ``if``s: the conditions of a pattern become tests, its captures assignments.

>>> tree = gast.parse("""
... def f(x, kind):
...     match kind:
...         case [by] if by > 1:
...             return x * by
...         case "sin" | "cos":
...             return x
...         case _:
...             return x * 2
... """).body[0]
>>> from autodiff_compiler.frontend.syntax.nodes import PlainTree
>>> print(gast.unparse(PlainTree().visit(desugar_match(tree))).strip())
def f(x, kind):
    if isinstance(kind, (tuple, list)) and len(kind) == 1 and ((by := kind[0]),) and (by > 1):
        return x * by
    elif kind == 'sin' or kind == 'cos':
        return x
    else:
        return x * 2
'''

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gast

from autodiff_compiler.frontend.syntax import builders

#: Classes whose single positional pattern matches the object itself.
SELF_MATCHING = frozenset(
    "bool bytearray bytes dict float frozenset int list set str tuple".split()
)


def desugar_match(tree: gast.FunctionDef) -> gast.FunctionDef:
    """Returns ``tree`` with every ``match`` made ``if``s; changes it."""
    return _DesugarMatch().visit(tree)


class _DesugarMatch(gast.NodeTransformer):
    def __init__(self) -> None:
        self.count = 0

    def visit_Match(self, node: Any) -> Any:
        self.generic_visit(node)
        before: list[Any] = []
        subject = node.subject
        if not isinstance(subject, gast.Name):
            self.count += 1
            name = f"subject_{self.count}"
            before, subject = [builders.assign(name, subject, node)], builders.name(name, node)
        chain: list[Any] = []
        for case in reversed(node.cases):
            tests, captures = _Pattern(case.pattern).asks(case.pattern, subject)
            body = [*(builders.assign(n, value, case.pattern) for n, value in captures), *case.body]
            if case.guard is not None:
                tests, body = [*tests, *_capture_tests(captures), case.guard], case.body
            if tests:
                at = node if case is node.cases[0] else case.pattern
                chain = [
                    builders.at_position(
                        at, gast.If(builders.conjunction(tests, case.pattern), body, chain)
                    )
                ]
            else:
                chain = body
        return [*before, *chain]


PatternTests = tuple[list[Any], list[tuple[str, Any]]]


def _capture_tests(captures: Sequence[tuple[str, Any]]) -> list[Any]:
    """Returns captures as tests: a tuple of one item is always true."""
    tests = []
    for name, value in captures:
        target = builders.name(name, value, gast.Store)
        walrus = builders.at_position(value, gast.NamedExpr(target, value))
        tests.append(builders.at_position(value, gast.Tuple([walrus], gast.Load())))
    return tests


class _Pattern:
    """The tests and captures of patterns. Every new node has the position of ``at``."""

    def __init__(self, at: Any):
        self.at = at

    def asks(self, pattern: Any, subject: Any) -> PatternTests:
        """Returns the tests of a pattern, and its captures: names with expressions."""
        tests: PatternTests = getattr(self, f"of_{type(pattern).__name__}")(pattern, subject)
        return tests

    def of_MatchValue(self, pattern: Any, subject: Any) -> PatternTests:
        return [self.compared(subject, gast.Eq(), pattern.value)], []

    def of_MatchSingleton(self, pattern: Any, subject: Any) -> PatternTests:
        return [self.compared(subject, gast.Is(), builders.constant(pattern.value, self.at))], []

    def of_MatchAs(self, pattern: Any, subject: Any) -> PatternTests:
        tests, captures = self.asks(pattern.pattern, subject) if pattern.pattern else ([], [])
        return tests, [*captures, (pattern.name, subject)] if pattern.name else captures

    def of_MatchOr(self, pattern: Any, subject: Any) -> PatternTests:
        sides = []
        for one in pattern.patterns:
            tests, captures = self.asks(one, subject)
            sides.append(builders.conjunction([*tests, *_capture_tests(captures)], self.at))
        return [builders.at_position(self.at, gast.BoolOp(gast.Or(), sides))], []

    def of_MatchSequence(self, pattern: Any, subject: Any) -> PatternTests:
        parts = pattern.patterns
        stars = [k for k, part in enumerate(parts) if isinstance(part, gast.MatchStar)]
        size = self.called(len, subject)
        sign = gast.GtE() if stars else gast.Eq()
        kinds = builders.at_position(
            self.at, gast.Tuple([self.known(tuple), self.known(list)], gast.Load())
        )
        count = builders.constant(len(parts) - len(stars), self.at)
        tests = [self.called(isinstance, subject, kinds), self.compared(size, sign, count)]
        asked: PatternTests = tests, []
        for place, part in enumerate(parts):
            tail = place - len(parts)
            if place in stars:
                if part.name:
                    ends = [builders.constant(end, self.at) for end in (place, tail + 1 or None)]
                    rest = self.item(subject, gast.Slice(*ends, None))
                    asked[1].append((part.name, self.called(list, rest)))
                continue
            key = tail if stars and place > stars[0] else place
            self.add(asked, self.asks(part, self.item(subject, builders.constant(key, self.at))))
        return asked

    def of_MatchClass(self, pattern: Any, subject: Any) -> PatternTests:
        asked: PatternTests = [self.called(isinstance, subject, pattern.cls)], []
        matches_itself = (
            getattr(pattern.cls, "id", "") in SELF_MATCHING and len(pattern.patterns) == 1
        )
        for place, part in enumerate(pattern.patterns):
            names = builders.at_position(
                self.at, gast.Attribute(pattern.cls, "__match_args__", gast.Load())
            )
            name = self.item(names, builders.constant(place, self.at))
            attribute = subject if matches_itself else self.called(getattr, subject, name)
            self.add(asked, self.asks(part, attribute))
        for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns):
            read = builders.at_position(self.at, gast.Attribute(subject, name, gast.Load()))
            self.add(asked, self.asks(part, read))
        return asked

    def of_MatchMapping(self, pattern: Any, subject: Any) -> PatternTests:
        asked: PatternTests = [self.called(isinstance, subject, self.known(dict))], []
        for key, part in zip(pattern.keys, pattern.patterns):
            asked[0].append(self.compared(key, gast.In(), subject))
            self.add(asked, self.asks(part, self.item(subject, key)))
        if pattern.rest:
            asked[1].append((pattern.rest, self.rest(subject, pattern.keys)))
        return asked

    def rest(self, subject: Any, keys: Sequence[Any]) -> Any:
        """Returns ``{k: v for k, v in subject.items() if k not in (…)}``."""
        k, v = (builders.name(n, self.at, gast.Store) for n in ("k", "v"))
        items = builders.at_position(self.at, gast.Attribute(subject, "items", gast.Load()))
        pairs = builders.at_position(self.at, gast.Call(items, [], []))
        known = builders.at_position(self.at, gast.Tuple(list(keys), gast.Load()))
        test = self.compared(builders.name("k", self.at), gast.NotIn(), known)
        both = builders.at_position(self.at, gast.Tuple([k, v], gast.Store()))
        through = gast.comprehension(both, pairs, [test], 0)
        key, value = builders.name("k", self.at), builders.name("v", self.at)
        return builders.at_position(self.at, gast.DictComp(key, value, [through]))

    @staticmethod
    def add(asked: PatternTests, more: PatternTests) -> None:
        asked[0].extend(more[0])
        asked[1].extend(more[1])

    def compared(self, left: Any, sign: Any, right: Any) -> Any:
        return builders.at_position(self.at, gast.Compare(left, [sign], [right]))

    def called(self, function: Any, *args: Any) -> Any:
        return builders.at_position(self.at, gast.Call(self.known(function), list(args), []))

    def known(self, thing: Any) -> Any:
        """Returns a read of a builtin, also where a variable has its name."""
        return builders.builtin_name(thing, self.at)

    def item(self, owner: Any, key: Any) -> Any:
        return builders.at_position(self.at, gast.Subscript(owner, key, gast.Load()))
