"""Random structured programs on small ints, with many live ranges that intersect under one name."""

from __future__ import annotations

from random import Random

from autodiff_compiler.ir.builder import Builder
from autodiff_compiler.ir.nodes import Function, Loop, Region, Value
from autodiff_compiler.ir.opdef import OPERATORS, OpDef
from autodiff_compiler.ir.types import BOOL, INT, ListType
from autodiff_compiler.operators.core.containers import item, make_tuple
from autodiff_compiler.operators.core.control import undefined
from autodiff_compiler.span import NOWHERE, Span


def _int(types):
    return INT


def _bool(types):
    return BOOL


mix = OpDef("t_mix", "", ("x", "y"), "({x} * 31 + {y} * 7 + 1) % 1009", _int)
twice = OpDef("t_twice", "", ("x",), "({x} + {x}) % 1009", _int)
inc = OpDef("t_inc", "", ("x",), "{x} + 1", _int)
small = OpDef("t_small", "", ("x",), "{x} % 4", _int)
parity = OpDef("t_parity", "", ("x",), "{x} % 2", _int)
less = OpDef("t_less", "", ("x", "y"), "{x} < {y}", _bool)
even = OpDef("t_even", "", ("x",), "{x} % 2 == 0", _bool)
lines = OpDef(
    "t_lines", "", ("x", "y"),
    "part = {x} + 1\n{out} = part * 3\n{out} = ({out} + {x} * {y}) % 1009", _int,
)  # fmt: skip
total = OpDef("t_total", "", ("xs",), "sum([a for a in {xs}]) % 1009", _int)
note = OpDef("t_note", "", ("log", "x"), "{log}.append({x}) or {x}", _int, effect=True)
seen = OpDef("t_seen", "", ("log",), "len({log})", _int)
pair = OpDef("t_pair", "", ("x", "y"), "({y} + 1, {x} + 2)", lambda types: (INT, INT))

# They are known to these programs only, and not among the operators that have samples.
for _name in [name for name in OPERATORS if name.startswith("t_")]:
    del OPERATORS[_name]

NAMES = ("x", "h", "t", "len", "xs", "part", "", "", "")


class Program:
    """A random function over ints ``x``, ``y``, a list ``xs`` and a list ``log``."""

    def __init__(self, random: Random, name: str = "main", callees: tuple[Function, ...] = ()):
        self.random, self.callees = random, callees
        self.builder = Builder()
        self.xs = Value(ListType(INT), "xs")
        self.log = Value(ListType(INT), "log")
        params = [Value(INT, "x"), Value(INT, random.choice(("y", "x", "part", "np"))),
                  self.xs, self.log]  # fmt: skip
        self.lists: list[Value] = []
        with self.builder:
            scope = params[:2]
            self.statements(scope, 3, random.randint(2, 7))
            returns = [self.pick(scope) for _ in range(random.randint(1, 3))] + self.lists[:2]
            if random.random() < 0.3:
                returns.append(make_tuple(*returns))
        body = Region(tuple(params), tuple(self.builder.ops), tuple(returns))
        self.function = Function(name, body, NOWHERE)

    def pick(self, scope: list, literals: bool = False):
        if literals and self.random.random() < 0.15:
            return self.random.randint(0, 3)
        recent = scope[-4:] if self.random.random() < 0.6 else scope
        return self.random.choice(recent)

    def rename(self, value: Value) -> Value:
        value.name = self.random.choice(NAMES)
        value.has_user_name = bool(value.name) and self.random.random() < 0.5
        return value

    def fresh(self, type_=INT) -> Value:
        return self.rename(Value(type_))

    def statements(self, scope: list, depth: int, count: int) -> None:
        for _ in range(count):
            line = self.random.randint(0, 2)
            self.builder.span = Span("f.py", line, 1, 2, f"line {line}") if line else NOWHERE
            kinds = [self.plain] * 6 + [self.effect, self.several]
            if depth:
                kinds += [self.branch] * 3 + [self.for_loop] * 3 + [self.while_loop] * 2
            if self.callees:
                kinds.append(self.call)
            self.random.choice(kinds)(scope, depth - 1)

    def plain(self, scope: list, depth: int) -> None:
        x, y = self.pick(scope), self.pick(scope, literals=True)
        kind = self.random.randint(0, 12)
        if kind < 5:
            made = mix(x, y)
        elif kind < 6:
            made = twice(x)
        elif kind < 7:
            made = lines(x, y)
        elif kind < 8:
            made = seen(self.log)
        elif kind < 9:
            made = total(self.xs)
        elif kind < 11:
            made = parity(x)
        elif kind < 12:  # one reads what the other writes
            made = mix(seen(self.log), note(self.log, x))
        else:
            made = self.unpack(make_tuple(x, mix(x, y)), x)
        scope.append(self.rename(made) if made not in scope else made)

    def unpack(self, both: Value, x: Value):
        """Adds an item of a tuple that the builder does not see through."""
        regions = [Region((), (), (both,)), Region((), (), (both,))]
        (result,) = self.builder.branch(even(x), *regions)
        return item(self.rename(result), key=self.random.randint(0, 1))

    def several(self, scope: list, depth: int) -> None:
        scope.extend(self.rename(v) for v in pair(self.pick(scope), self.pick(scope)))

    def effect(self, scope: list, depth: int) -> None:
        scope.append(self.rename(note(self.log, self.pick(scope))))

    def call(self, scope: list, depth: int) -> None:
        callee = self.random.choice(self.callees)
        results = self.builder.call(
            callee, [self.pick(scope, True), self.pick(scope), self.xs, self.log]
        )
        scope.extend(self.rename(r) for r in results if r.type == INT)

    def region(self, params: list, scope: list, depth: int, yields) -> Region:
        lists, self.lists = self.lists, []
        with self.builder.block() as ops:
            inner = [*scope, *(p for p in params if p.type == INT)]
            self.statements(inner, depth, self.random.randint(0, 3))
            results = yields(inner)
        self.lists = lists
        return Region(tuple(params), tuple(ops), tuple(results))

    def branch(self, scope: list, depth: int) -> None:
        count, loose = self.random.randint(0, 3), self.random.random() < 0.2
        test = even(self.pick(scope)) if self.random.random() < 0.7 else less(
            self.pick(scope), self.pick(scope, True))  # fmt: skip

        def yields(inner):
            made = [self.pick(inner, True) for _ in range(count)]
            return [*made, undefined() if self.random.random() < 0.5 else "set"] if loose else made

        regions = [self.region([], scope, depth, yields) for _ in range(2)]
        results = self.builder.branch(test, *regions)
        scope.extend(self.rename(result) for result in results[:count])
        if loose:
            self.lists.append(self.rename(results[-1]))

    def bound(self, scope: list):
        if self.random.random() < 0.5:
            return self.random.randint(0, 3)
        return small(self.pick(scope))

    def for_loop(self, scope: list, depth: int) -> None:
        start, step = 0, 1
        if self.random.random() < 0.4:
            start, step = self.bound(scope), self.random.choice((1, 2, -1))
        bounds = (start, self.bound(scope), step)
        reverse = self.random.random() < 0.3
        until = not reverse and self.random.random() < 0.4
        loop = self.loop(scope, depth, bounds, [self.xs], until, reverse)
        if self.random.random() < 0.6:  # the shape of a reverse sweep: read what was collected
            again = (0, loop.count, 1) if until else bounds
            self.loop(scope, depth, again, list(loop.stacked), False, not reverse)

    def while_loop(self, scope: list, depth: int) -> None:
        until = self.random.random() < 0.4
        loop = self.loop(scope, depth, None, [self.xs], until, False)
        if self.random.random() < 0.5:
            self.loop(scope, depth, (0, loop.count, 1), list(loop.stacked), False, True)

    def loop(self, scope, depth, bounds, sources, until, reverse) -> Loop:
        carries, stacks = self.random.randint(0, 3), self.random.randint(0, 2)
        inits = [self.pick(scope, True) for _ in range(carries)]
        counter = [Value(INT, "n")] if bounds is None else []
        inits = [0] * len(counter) + inits
        params = [*counter, *(self.fresh() for _ in range(carries))]
        lead = [self.fresh() for _ in range(1 if bounds is None else 2)]
        reads = [self.fresh(source.type.item) for source in sources]

        def yields(inner):
            own = [p for p in params if p not in counter]
            pool = [*inner, *own, *own, *lead]
            moved = [inc(counter[0])] if counter else []
            moved += [self.pick([self.random.choice(pool)], True) for _ in range(carries)]
            items = [self.random.choice(pool) for _ in range(stacks)]
            return [*moved, *items, *([self.stop([*pool, *moved])] if until else [])]

        body = self.region([*lead, *params, *reads], scope, depth, yields)
        condition = None
        if counter:
            tests = [Value(p.type, p.name, p.has_user_name) for p in params]

            def test(inner):
                if self.random.random() < 0.5:
                    self.rename(mix(self.pick(inner), self.pick(inner)))
                return [less(tests[0], self.random.randint(0, 3))]

            condition = self.region(tests, scope, 0, test)
        op = self.builder.loop(bounds, inits, sources, body, condition, until, reverse)
        loop = Loop(op)
        scope.extend(loop.carried)
        if self.random.random() < 0.5:
            scope.append(self.rename(loop.count))
        self.lists.extend(s for s in loop.stacked if self.random.random() < 0.5)
        return loop

    def stop(self, pool: list):
        chosen = [value for value in pool if isinstance(value, Value)]
        if self.random.random() < 0.3:
            return self.random.choice(chosen)  # any int is true or false
        return even(self.random.choice(chosen)) if self.random.random() < 0.8 else False


def program(random: Random) -> list[Function]:
    """Returns a few functions, callees first."""
    functions: tuple[Function, ...] = ()
    for name in ("part", "helper")[: random.randint(0, 2)]:
        functions += (Program(random, name, functions).function,)
    return [*functions, Program(random, "main", functions).function]
