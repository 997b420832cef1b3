"""Random statements on tensors, numbers, attributes and functions: those without a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.fuzz.expressions import Expressions


class Statements(Expressions):
    """Writes lines, and keeps what each name holds after them."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.lines: list[str] = []
        self.inner = self.loop = self.caught = False

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def assign(self, indent: int, kind: str, text: str) -> None:
        name = self.target(kind)
        self.put(indent, f"{name} = {text}")
        self.scope[name] = kind

    @contextmanager
    def within(self, scope: dict[str, str], **changed: Any) -> Iterator[None]:
        """In a block whose names nothing behind it reads; ``changed`` are other fields."""
        kept = {name: getattr(self, name) for name in ("scope", "locked", *changed)}
        vars(self).update(changed, scope=dict(scope))
        self.locked = set(self.locked)
        yield
        vars(self).update(kept)

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
        """What a pattern names, it binds also where the test after it fails: a name of its own."""
        target = self.target("v")
        self.put(indent, f"match {self.int()}:")
        cases = ["0", "1 | 3", f"c if c > 1 and {self.test()}", "_"]
        for pattern in cases:
            self.put(indent + 1, f"case {pattern}:")
            self.put(indent + 2, f"{target} = {self.stored()}")
        self.scope[target] = "v"

    def put_match_on_structure(self, indent: int) -> None:
        target = self.target("v")
        subject = f"({self.stored()}, {self.int()})"
        cases = [f"(q, 0) if {self.test(1)}", "[q, 1 | 2]", "(q, int(z)) if z > 2", "q, *_"]
        for name in self.some("d", 1) if self.chance(0.3) else ():
            subject, cases = name, ["{'none': q}", "{'p': q, **z}"]
        for name in self.some("L", 1) if self.chance(0.3) else ():
            subject, cases = name, ["[q]", "[q, *z] if len(z) > 1", "[*_, q]"]
        self.put(indent, f"match {subject}:")
        for pattern in cases:
            self.put(indent + 1, f"case {pattern}:")
            self.put(indent + 2, f"{target} = q * {self.vector(1)}")
        self.scope[target] = "v"

    def put_walrus(self, indent: int) -> None:
        name, target = self.target("v"), self.target("v")
        if name != target:
            forms = (
                "(# := @) * #",
                "sum([# := @, # * #])",
                "(# * 2 if ops.sum(# := @) > 0.2 else #)",
            )
            text = self.one(*forms).replace("@", self.stored()).replace("#", name)
            self.put(indent, f"{target} = {text}")
            self.scope |= {name: "v", target: "v"}

    def put_attribute(self, indent: int) -> None:
        """What is written here must be there after a call."""
        tensors = "self.state = ops.cos(@)", "self.state = ops.tanh(@)", "self.state *= @"
        ints = "self.calls += 1", "self.calls = n + 1"
        parameters = "ops.assign(self.seen, @)", "self.seen += @", "ops.assign_add(self.seen, @)"
        self.put(indent, self.one(*tensors, *ints, *parameters).replace("@", self.stored()))

    def put_print(self, indent: int) -> None:
        self.put(indent, f"print(f'{{{self.int()}}}:', {self.test(1)})")

    def put_raise(self, indent: int) -> None:
        """Mostly where it is caught."""
        if not (self.caught or self.chance(0.1)):
            return
        if self.chance(0.25):
            self.put(indent, f"assert {self.test()}, f'not with {{{self.int()}}}'")
            return
        error = self.one("ValueError", "KeyError", "OverflowError", "RuntimeError")
        self.put(indent, f"if {self.test()}:")
        self.put(indent + 1, f"raise {error}(f'at {{{self.int()}}}')")

    def put_row(self, indent: int) -> None:
        """A matrix written in place."""
        for name in self.free("m")[-1:]:
            if self.chance(0.6):
                self.put(indent, f"{name} = ops.sin({name})")
            row, column = self.index(2), self.index(3)
            places = (f"[{row}] = {self.vector(1)}", f"[{row}] *= {self.vector(1)}",
                      f"[:, {column}] = {self.scalar()}", f"[..., 1:] += {self.number()}",
                      f"[{row}, {column}] = {self.scalar()}", f"[0, {column}] += {self.number()}",
                      f"[{row}, 1:] = {self.vector(1)}[:2]",
                      f"[{name} > 0.5] = 0.5")  # fmt: skip
            self.put(indent, f"{name}{self.one(*places)}")

    def put_nonlocal(self, indent: int) -> None:
        """A function inside that binds variables of the function around it."""
        self.count += 1
        for name in self.free("v")[-1:]:
            self.put(indent, f"def g{self.count}(given):")
            self.put(indent + 1, f"nonlocal {name}")
            self.put(indent + 1, f"{name} = {self.one(name + ' * given', self.stored())}")
            self.put(indent + 1, f"return {self.vector(1)} + given")
            first = f"g{self.count}({self.vector(1)})"
            self.assign(indent, "v", f"{first} * g{self.count}({name})")

    def put_decorated(self, indent: int) -> None:
        self.count += 1
        self.put(indent, "@doubled")
        self.put(indent, f"def f{self.count}(q, z=0.5):")
        self.put(indent + 1, f"return ops.sin(q * z) * {self.vector(1)}")
        self.scope[f"f{self.count}"] = "f"

    def put_deleted(self, indent: int) -> None:
        self.count += 1
        name = f"a{self.count}"
        self.put(indent, f"{name} = {self.stored()}")
        self.assign(indent, "v", f"{name} * {self.vector(1)}")
        self.put(indent, f"del {name}")

    def put_imported(self, indent: int) -> None:
        self.put(indent, "from math import tau")
        self.assign(indent, "v", f"{self.vector(1)} * (tau / 7)")

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
