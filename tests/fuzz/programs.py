"""Random programs: the text of Cells with nested control flow over tensors, lists and dicts.

A ``Writer`` keeps what each name holds on every way to a line (``scope``), so that a program seldom
reads a name that is not set. Names begin with a letter for their kind: ``v`` a tensor of three
numbers, ``m`` of two by three, ``s`` of one, ``j`` of three whole numbers; ``n`` and ``i`` Python
ints, ``b`` a truth; ``L``, ``t`` and ``d`` a list, a pair and a dict of tensors, ``f`` a function.
Most of what is stored goes through ``sin`` or ``tanh``, so numbers stay small. The same seed gives
the same text.
"""

from __future__ import annotations

from tests.fuzz.containers import Containers

HEAD = """import math
from functools import partial

from autodiff_compiler import Tensor, ops
from tests.fuzz.surroundings import (POWER, Base, Pair, Scale, Scaled, blend, checked, doubled,
                                     filled, grown, halved, ordered, repeated)
"""
SIMPLE = (
    "attribute", "bool", "changed", "comprehension", "context", "count", "decorated", "deleted",
    "dict", "dict_item", "dict_walked", "extend", "filling", "function", "gathered", "grown",
    "imported", "in_place", "inner", "item", "lambda", "list", "list", "list_item", "match",
    "match_on_structure", "matrix", "maybe", "method", "nested", "nonlocal", "pair", "pick", "pop",
    "print", "raise", "row", "scalar", "second_name", "swap", "vector", "vector", "vector",
    "vector", "vector", "walked", "walrus",
)  # fmt: skip
NESTED = ("branch", "branch", "loop", "loop", "while", "try")


def module(seeds: range) -> str:
    """A module with one class ``Program<seed>`` for each seed."""
    return HEAD + "".join(f"\n\n{Writer(seed).text()}" for seed in seeds)


class Writer(Containers):
    """Writes one Cell."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seed = seed

    def text(self) -> str:
        """The whole class."""
        self.form = self.one("@", "@", "(@, $)", "{'a': @, 'b': ($, @)}", "$", "[@, @]")
        self.put(0, f"class Program{self.seed}(Base):")
        self.put(1, "def construct(self, x, y, m, n, k, j):")
        self.block(2, self.random.choice((1, 1, 2, 2, 3)), self.random.randint(2, 6))
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

    def block(self, indent: int, depth: int, size: int) -> None:
        begun = len(self.lines)
        for _ in range(size):
            kinds = [*SIMPLE, *(NESTED * 2 * bool(depth)), *(("leave",) * 3 * self.loop)]
            kinds += ["raise"] * 8 * self.caught
            kind = "early" if self.chance(0.03) and not self.inner else self.one(*kinds)
            if kind == "leave":
                self.put_leave(indent)
            elif kind in NESTED:
                getattr(self, f"put_{kind}")(indent, depth)
            else:
                getattr(self, f"put_{kind}")(indent)
        if len(self.lines) == begun:
            self.put(indent, "pass")

    def put_function(self, indent: int) -> None:
        """A function inside: its statements change variables of its own."""
        if self.inner:
            return
        self.count += 1
        name = f"f{self.count}"
        self.put(indent, f"def {name}(q):")
        with self.within(
            self.scope | {"q": "v"},
            locked=self.locked | set(self.scope),
            inner=True,
            loop=False,
            caught=False,
        ):
            self.block(indent + 1, 1, 2)
            self.put(indent + 1, f"return {self.stored()}")
        self.scope[name] = "f"

    def put_early(self, indent: int) -> None:
        self.put(indent, f"if {self.test()}:")
        self.put(indent + 1, f"return {self.result()}")

    def put_leave(self, indent: int) -> None:
        self.put(indent, f"if {self.test()}:")
        with self.within(self.scope):
            if self.chance(0.4):
                self.put_vector(indent + 1)
        self.put(indent + 1, self.one("break", "continue"))

    # ---- control flow

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
        with self.within(self.scope, loop=True):
            made = head.partition(" in ")[0].split(", ")
            if head.endswith("layers"):
                self.assign(indent + 1, "v", f"{v}({self.vector(1)})")
            else:
                self.scope |= {name: name[0] for name in made}
            self.block(indent + 1, depth - 1, self.random.randint(1, 4))
        self.put_otherwise(indent)

    def put_otherwise(self, indent: int) -> None:
        """``else`` of a loop: for when it was not left."""
        if self.chance(0.15):
            self.put(indent, "else:")
            with self.within(self.scope):
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
        with self.within(self.scope, loop=True):
            if test == "True":
                self.put(indent + 1, f"if {ends}:")
                self.put(indent + 2, "break")
            self.block(indent + 1, depth - 1, self.random.randint(1, 3))
        self.put_otherwise(indent)

    def put_try(self, indent: int, depth: int) -> None:
        """Something is raised on some ways; what each way sets may be read by no other."""
        self.put(indent, "try:")
        with self.within(self.scope, caught=True):
            self.block(indent + 1, depth - 1, self.random.randint(1, 4))
            if self.chance(0.15):
                self.assign(indent + 1, "v", f"checked({self.vector(1)}, {self.number()})")
        self.count += 1
        error = f"error{self.count}"
        last = self.one("Exception", f"Exception as {error}", "(LookupError, RuntimeError)", "")
        heads = [f"except (ValueError, ArithmeticError) as {error}:"] * self.chance(0.6)
        heads += [f"except {last}".strip() + ":"] * (self.chance(0.6) or not heads)
        heads += ["else:"] * self.chance(0.3) + ["finally:"] * self.chance(0.3)
        for head in heads:
            self.put(indent, head)
            with self.within(self.scope, loop=self.loop and head != "finally:"):
                if f" as {error}" in head and self.chance(0.4):
                    self.put(indent + 1, f"print(f'{{{error}}}')")
                if head.startswith("except") and self.caught and self.chance(0.2):
                    self.put(indent + 1, f"if {self.test(1)}:")
                    self.put(indent + 2, self.one("raise", "raise KeyError('again') from None"))
                self.block(indent + 1, depth - 1, self.random.randint(1, 2))
