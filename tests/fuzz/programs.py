"""Random programs: the text of Cells with nested control flow over tensors, lists and dicts.

A ``Writer`` keeps what each name holds on every way to a line (``scope``), so that a program seldom
reads a name that is not set. Names begin with a letter for their kind: ``v`` a tensor of three
numbers, ``m`` of two by three, ``s`` of one; ``n`` and ``i`` Python ints, ``b`` a truth; ``L``,
``t`` and ``d`` a list, a pair and a dict of tensors, ``f`` a function. Most of what is stored goes
through ``sin`` or ``tanh``, so numbers stay small. The same seed gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.fuzz.expressions import Expressions

HEAD = """from autodiff_compiler import ops
from tests.fuzz.surroundings import POWER, Base, Scaled, blend, filled, grown, ordered, repeated
"""
SIMPLE = (
    "bool", "context", "count", "dict", "extend", "filling", "function", "gathered", "grown",
    "in_place", "inner", "item", "lambda", "list", "list_item", "match", "matrix", "maybe",
    "method", "nested", "pair", "pick", "pop", "scalar", "second_name", "swap", "vector",
    "vector", "vector", "vector", "walked",
)  # fmt: skip
NESTED = ("branch", "branch", "branch", "loop", "loop", "loop", "while")


def module(seeds: range) -> str:
    """A module with one class ``Program<seed>`` for each seed."""
    return HEAD + "".join(f"\n\n{Writer(seed).text()}" for seed in seeds)


class Writer(Expressions):
    """Writes one Cell."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seed, self.inner = seed, False
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole class."""
        self.form = self.one("@", "@", "(@, $)", "{'a': @, 'b': ($, @)}", "$", "[@, @]")
        self.put(0, f"class Program{self.seed}(Base):")
        self.put(1, "def construct(self, x, y, m, n, k):")
        self.block(2, self.random.randint(1, 3), self.random.randint(3, 8))
        told = [*self.some("v", 2), *(f"sum({name})" for name in self.some("L", 1))]
        told += [f"{name}['p']" for name in self.some("d", 1)]
        told += [f"{name}[1]" for name in self.some("t", 1)]
        self.put(2, f"return {self.result(' + '.join(told))}")
        return "\n".join(self.lines) + "\n"

    def result(self, first: str = "") -> str:
        """What the program returns, always in the same structure."""
        text = self.form.replace("@", first or self.stored(), 1)
        return text.replace("@", self.vector(1)).replace("$", f"ops.sum({self.vector(1)})")

    # ---- statements

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def assign(self, indent: int, kind: str, text: str) -> None:
        name = self.target(kind)
        self.put(indent, f"{name} = {text}")
        self.scope[name] = kind

    def block(self, indent: int, depth: int, size: int, loop: bool = False) -> None:
        begun = len(self.lines)
        for _ in range(size):
            kinds = [*SIMPLE, *(NESTED * bool(depth)), *(("leave",) * 2 * loop)]
            kind = "early" if self.chance(0.03) and not self.inner else self.one(*kinds)
            if kind == "leave":
                self.put_leave(indent)
            elif kind in NESTED:
                getattr(self, f"put_{kind}")(indent, depth)
            else:
                getattr(self, f"put_{kind}")(indent)
        if len(self.lines) == begun:
            self.put(indent, "pass")

    def put_vector(self, indent: int) -> None:
        self.assign(indent, "v", self.stored())

    def put_second_name(self, indent: int) -> None:
        kind = self.one("v", "L", "d")
        for name in self.some(kind, 1):
            self.assign(indent, kind, name)

    def put_matrix(self, indent: int) -> None:
        self.assign(indent, "m", f"ops.sin({self.matrix(2)})")

    def put_scalar(self, indent: int) -> None:
        self.assign(indent, "s", f"ops.sum({self.vector(1)}) * 0.3")

    def put_bool(self, indent: int) -> None:
        self.assign(indent, "b", self.test())

    def put_count(self, indent: int) -> None:
        self.assign(indent, "n", f"({self.int()} + {self.random.randint(0, 2)}) % 4")

    def put_list(self, indent: int) -> None:
        items = ", ".join(self.vector(1) for _ in range(self.random.randint(1, 3)))
        made = f"[{self.vector(1)} * (e + 1) for e in range({self.random.randint(1, 3)})]"
        self.assign(indent, "L", self.one(f"[{items}]", made))

    def put_extend(self, indent: int) -> None:
        for name in self.some("L", 1):
            item = self.vector(1)
            forms = ("@.append(#)", "@.append(#)", "@.extend([#])", "@ += [#]", "@ = @ + [#]")
            self.put(indent, self.one(*forms).replace("@", name).replace("#", item))

    def put_list_item(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.put(indent, f"{name}[{self.one('0', '-1')}] {self.one('', '+')}= {self.stored()}")

    def put_pop(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.put(indent, f"{name}.append({self.vector(1)})")
            self.assign(indent, "v", f"{name}.pop({self.one('', '', '0')})")

    def put_grown(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.assign(indent, "v", f"grown({name}, {self.vector(1)})")

    def put_dict(self, indent: int) -> None:
        for name in self.some("d", 1) if self.chance(0.5) else ():
            self.put(indent, f"{name}['{self.one('p', 'q')}'] {self.one('', '*')}= {self.stored()}")
            return
        self.assign(indent, "d", f"{{'p': {self.vector(1)}, 'q': {self.vector(1)}}}")

    def put_gathered(self, indent: int) -> None:
        """A list that grows, shrinks and is read by position in a loop of unknown length."""
        self.count += 1
        name, i = f"L{self.count}", f"i{self.count}"
        self.put(indent, f"{name} = [{self.one('', self.vector(1))}]")
        self.put(indent, f"for {i} in range({self.int()}):")
        with self.within(dict(self.scope) | {i: "n"}, self.locked, self.inner):
            item = f"ops.sin({self.vector(1)})"
            place = self.one("-1", "0", f"{i} % len({name})")
            self.put(indent + 1, f"if len({name}) > 0 and ({self.test()}):")
            changes = (f"{name}[{place}] = {name}[-1] * {item}", f"{name}.append({name}[{place}])",
                       f"{name}.pop()", f"{name}.insert(0, {item})",
                       f"{name} = {name} + [{item}, {name}[{place}] * 0.5]")  # fmt: skip
            self.put(indent + 2, self.one(*changes))
            self.put(indent + 1, self.one(f"{name}.append({item})", f"{name} += [{item}]"))
        self.put(indent, f"{name}.append({self.vector(1)})")
        self.scope[name] = "L"

    def put_pick(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.put(indent, f"{name}.append({self.vector(1)})")
            self.assign(indent, "v", f"{name}[{self.int()} % len({name})] * 0.7")

    def put_walked(self, indent: int) -> None:
        self.count += 1
        for name in self.some("L", 1):
            total, item = f"v{self.count}", f"v{self.count}_"
            head = self.one(f"{item} in {name}", f"{item} in reversed({name})")
            made = self.one(f"[q * 0.5 for q in {name}]", f"{name}[1:]", f"{name}[::-1] + {name}")
            self.put(indent, f"{total} = {self.vector(1)}")
            self.put(indent, f"for {head if self.chance(0.5) else f'{item} in {made}'}:")
            self.put(indent + 1, f"{total} = ops.tanh({total} * {item} + {self.vector(1)})")
            self.scope[total] = "v"

    def put_maybe(self, indent: int) -> None:
        """A variable that is set and read on one way only."""
        self.count += 1
        name, test = f"u{self.count}", f"b{self.count}"
        self.put(indent, f"{test} = {self.test()}")
        self.put(indent, f"if {test}:")
        self.put(indent + 1, f"{name} = {self.stored()}")
        target = self.target("v")
        self.put(indent, f"{target} = {name} * {self.vector(1)} if {test} else {self.vector(1)}")
        self.scope |= {target: "v", test: "b"}

    def put_match(self, indent: int) -> None:
        target = self.target("v")
        self.put(indent, f"match {self.int()}:")
        cases = ["0", "1 | 3", f"q if q > 1 and {self.test()}", "_"]
        for pattern in cases:
            self.put(indent + 1, f"case {pattern}:")
            self.put(indent + 2, f"{target} = {self.stored()}")
        self.scope[target] = "v"

    def put_context(self, indent: int) -> None:
        self.count += 1
        name, target = f"c{self.count}", self.target("v")
        self.put(indent, f"with Scaled({self.vector(1)}) as {name}:")
        self.put(indent + 1, f"{target} = ops.sin({name}.by * {self.vector(1)})")
        self.scope[target] = "v"

    def put_method(self, indent: int) -> None:
        for name in self.free("v")[-1:]:
            self.put(indent, f"{name} = {name} * 1.0")
            other = self.target("v")
            if other != name:
                self.put(indent, f"{other} = {name}")
                self.scope[other] = "v"
            by = self.vector(1)
            calls = (f"add_({by})", f"mul_({by}).tanh_()", f"sub_({by}, alpha=0.5)", "sigmoid_()",
                     "zero_()", f"copy_({by})", f"clamp_(-0.5, 0.5).add_({by})")  # fmt: skip
            self.put(indent, f"{name}.{self.one(*calls)}")

    def put_nested(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.count += 1
            tree = f"z{self.count}"
            self.put(indent, f"{tree} = {{'a': {name}, 'b': ({self.vector(1)}, {name})}}")
            change = self.one("['b'][1][0] = #", "['a'].append(#)", "['a'] = [#]")
            self.put(indent, tree + change.replace("#", self.vector(1)))
            self.assign(indent, "v", f"{tree}['b'][1][-1] * {tree}['b'][0]")

    def put_pair(self, indent: int) -> None:
        pair = f"({self.stored()}, {self.vector(1)})"
        self.assign(indent, "t", self.one(pair, f"ordered{pair}"))

    def put_swap(self, indent: int) -> None:
        first, second = self.target("v"), self.target("v")
        both = self.one(f"{self.stored()}, {self.stored()}", *self.some("t", 1))
        if first != second:
            self.put(indent, f"{first}, {second} = {both}")
            self.scope |= {first: "v", second: "v"}

    def put_item(self, indent: int) -> None:
        for name in self.free("v")[-1:]:
            if self.chance(0.5):
                self.put(indent, f"{name} = {self.stored()} * 1.0")
            key, part = self.random.choice([("1:", "[1:]"), ("::2", "[::2]"), (":2", "[1:]")])
            if self.chance(0.6):
                self.put(indent, f"{name}[{self.index(3)}] = {self.scalar()}")
            else:
                self.put(indent, f"{name}[{key}] = {self.vector(1)}{part}")

    def put_filling(self, indent: int) -> None:
        for name in self.free("v")[-1:]:
            target = self.target("v")
            self.put(indent, f"{target} = filled({name}, {self.scalar()}, {self.index(3)})")
            self.scope[target] = "v"

    def put_in_place(self, indent: int) -> None:
        for name in self.free("v")[:1]:
            self.put(indent, f"{name} {self.one('+=', '-=', '*=')} {self.vector(1)}")

    def put_lambda(self, indent: int) -> None:
        text = f"lambda q, r={self.number()}: ops.sin(q * r) * {self.vector(1)}"
        self.assign(indent, "f", text)

    def put_function(self, indent: int) -> None:
        """A function inside: its statements change variables of its own."""
        if self.inner:
            return
        self.count += 1
        name = f"f{self.count}"
        self.put(indent, f"def {name}(q):")
        with self.within(dict(self.scope), self.locked | set(self.scope), True):
            self.scope["q"] = "v"
            self.block(indent + 1, 1, 2)
            self.put(indent + 1, f"return {self.stored()}")
        self.scope[name] = "f"

    def put_inner(self, indent: int) -> None:
        """A function inside that changes a list or tensor of the function around it."""
        self.count += 1
        lists, vectors = self.names("L"), self.free("v")
        if not (lists or vectors):
            return
        self.put(indent, f"def w{self.count}(q):")
        if lists and self.chance(0.5):
            self.put(indent + 1, f"{self.one(*lists)}.append(q)")
        elif vectors:
            self.put(indent + 1, f"{self.one(*vectors)}[{self.index(3)}] = ops.sum(q)")
        self.put(indent + 1, f"return ops.sin({self.vector(1)} * q)")
        self.assign(indent, "v", f"w{self.count}({self.vector(1)})")

    def put_early(self, indent: int) -> None:
        self.put(indent, f"if {self.test()}:")
        self.put(indent + 1, f"return {self.result()}")

    def put_leave(self, indent: int) -> None:
        self.put(indent, f"if {self.test()}:")
        with self.within(dict(self.scope), self.locked, self.inner):
            if self.chance(0.4):
                self.put_vector(indent + 1)
        self.put(indent + 1, self.one("break", "continue"))

    # ---- control flow

    @contextmanager
    def within(self, scope: dict[str, str], locked: set[str], inner: bool) -> Iterator[None]:
        kept = self.scope, self.locked, self.inner
        self.scope, self.locked, self.inner = scope, set(locked), inner
        yield
        self.scope, self.locked, self.inner = kept

    def put_branch(self, indent: int, depth: int) -> None:
        before, ends = dict(self.scope), []
        heads = [f"if {self.test()}:"]
        heads += [f"elif {self.test()}:"] * self.chance(0.3) + ["else:"] * self.chance(0.6)
        for head in heads:
            self.scope = dict(before)
            self.put(indent, head)
            self.block(indent + 1, depth - 1, self.random.randint(1, 3))
            ends.append(self.scope)
        ends += [before] if heads[-1] != "else:" else []
        self.scope = {n: k for n, k in ends[0].items() if all(e.get(n) == k for e in ends)}

    def put_loop(self, indent: int, depth: int) -> None:
        self.count += 1
        i, v, rows = f"i{self.count}", f"v{self.count}", self.one(*self.names("m"))
        bound, items = self.int(), f"{self.vector(1)}, {self.vector(1)}"
        heads = [
            f"{i} in range({bound})", f"{i} in range({self.random.randint(0, 3)})",
            f"{i} in range(1, {bound} + 2)", f"{i} in range({bound}, 0, -1)",
            f"{i} in range({bound}, 5, 2)", f"{i} in reversed(range({bound}))",
            f"{v} in {rows}", f"{i}, {v} in enumerate({rows})", f"{v} in ({items})",
            f"{i}, {v} in enumerate([{items}])", f"{v}, {v}_ in zip({rows}, {self.matrix()})",
            f"{v} in self.layers", *(f"{v} in {name}[:]" for name in self.names("L")),
        ]  # fmt: skip
        head = self.one(*heads)
        self.put(indent, f"for {head}:")
        with self.within(dict(self.scope), self.locked, self.inner):
            made = head.partition(" in ")[0].split(", ")
            if head.endswith("layers"):
                self.assign(indent + 1, "v", f"{v}({self.vector(1)})")
            else:
                self.scope |= {name: name[0] for name in made}
            self.block(indent + 1, depth - 1, self.random.randint(1, 4), True)
        if self.chance(0.15):
            self.put(indent, "else:")
            with self.within(dict(self.scope), self.locked, self.inner):
                self.block(indent + 1, 0, 1)

    def put_while(self, indent: int, depth: int) -> None:
        self.count += 1
        c = f"n{self.count}"
        self.put(indent, f"{c} = 0")
        self.scope[c] = "n"
        self.locked.add(c)
        ends = f"{c} > {self.random.randint(0, 3)}{self.one('', f' or {self.test()}')}"
        tests = (f"{c} < {self.int()}", f"{c} < 3", f"{c} < 2 and ({self.test()})",
                 f"ops.sum({self.vector(1)}) < {c} and {c} < 3", "True")  # fmt: skip
        test = self.one(*tests)
        self.put(indent, f"while {test}:")
        self.put(indent + 1, f"{c} = {c} + 1")
        with self.within(dict(self.scope), self.locked, self.inner):
            if test == "True":
                self.put(indent + 1, f"if {ends}:")
                self.put(indent + 2, "break")
            self.block(indent + 1, depth - 1, self.random.randint(1, 3), True)
