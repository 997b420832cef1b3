"""Random expressions over the names of a scope."""

from __future__ import annotations

import random
from collections.abc import Callable


class Expressions:
    """Writes expressions. ``scope`` tells what kind of thing each name holds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.scope = dict.fromkeys(("x", "y"), "v") | {"m": "m", "n": "n", "k": "n", "j": "j"}
        self.locked: set[str] = {"n", "k"} if self.chance(0.3) else set()

    # ---- choices

    def one(self, *options: str) -> str:
        return self.random.choice(options)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def names(self, kind: str) -> list[str]:
        return [name for name, held in self.scope.items() if held == kind]

    def some(self, kind: str, count: int) -> list[str]:
        names = self.names(kind)
        return self.random.sample(names, min(count, len(names)))

    def free(self, kind: str) -> list[str]:
        return [name for name in self.names(kind) if name not in self.locked]

    def target(self, kind: str) -> str:
        """A name to store to: an old one, or a new one."""
        old = self.free(kind)
        if old and self.chance(0.65):
            return self.one(*old)
        self.count += 1
        return f"{kind}{self.count}"

    # ---- expressions

    def number(self) -> str:
        return self.one("0.5", "0.3", "-0.7", "1.1", "2", "-1")

    def int(self) -> str:
        return self.one(*self.names("n"), "0", "1", "2")

    def index(self, size: int) -> str:
        counters = self.names("i")
        if counters and self.chance(0.5):
            return f"{self.one(*counters)} % {size}"
        return str(self.random.randint(-size, size - 1))

    def vector(self, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.2):
            return self.one(*self.names("v") * 2, "self.w", "self.const", "self.state", "self.seen")

        def v() -> str:
            return self.vector(depth - 1)

        options: list[Callable[[], str]] = [
            lambda: f"({v()} {self.one('+', '-', '*')} {v()})",
            lambda: f"({v()} * {self.number()})",
            lambda: f"ops.{self.one('sin', 'tanh', 'sigmoid', 'cos')}({v()})",
            lambda: f"({v()} / (2.0 + ops.cos({v()})))",
            lambda: f"({v()} * {self.scalar(depth - 1)})",
            lambda: f"ops.matmul({v()}, self.u)",
            lambda: f"{self.matrix(depth - 1)}[{self.index(2)}]",
            lambda: f"ops.sum({self.matrix(depth - 1)}, 0)",
            lambda: f"{v()}[::-1]",
            lambda: f"ops.concat(({v()}[1:], {v()}[:1]))",
            lambda: f"({v()} if {self.test()} else {v()})",
            lambda: f"blend({v()}, {v()})",
            lambda: f"blend({v()}, scale={self.number()}, extra={v()})",
            lambda: f"blend({v()}, 0.2, {v()}, {v()})",
            lambda: f"self.method({v()}, k={self.random.randint(0, 3)})",
            lambda: f"self.method({v()}, {v()})",
            lambda: f"self.{self.one('a', 'b', 'chain')}({v()})",
            lambda: f"repeated({v()}, {self.int()})",
            lambda: f"ordered({v()}, {v()})[{self.random.randint(0, 1)}]",
            lambda: f"(lambda q: q * {v()})({v()})",
            lambda: f"({v()} ** POWER)",
            lambda: f"ops.where({v()} > 0.1, {v()}, {v()})",
            lambda: f"(-{v()})",
            lambda: f"sum([{v()}, {v()}])",
            lambda: self.one(f"(j * {v()})", f"({v()} + j)", f"{v()}[j]", f"({v()} * (j / 4))"),
            lambda: f"halved({v()}, {self.int()})",
            lambda: f"blend(*({v()}, {v()}), **{{'scale': {self.number()}}})",
            lambda: f"partial(blend, {v()}, scale={self.number()})({v()})",
            lambda: f"Pair({v()}, {v()}).{self.one('first', 'second')}",
            lambda: f"(Scale({v()}).by * Scale({v()}, 0.75).shift)",
            lambda: f"({v()} + sum(q * {v()} for q in ({v()}, {v()}) if {self.test(1)}))",
            lambda: f"[q * z for q in ({v()}, {v()}) for z in (0.5, {v()})][{self.one('1', '-2')}]",
            lambda: f"list(map(ops.sin, [{v()}, {v()}]))[{self.one('0', '-1')}]",
            lambda: f"({v()} * getattr(self, {self.one(repr('rate'), repr('none') + ', 0.5')}))",
            lambda: f"({v()} * {self.one('math.pi / 4', 'abs(-0.7)', 'round(0.7)', 'len(m)')})",
        ]
        for name in self.names("L"):
            options += [lambda name=name: f"{name}[{self.one('-1', '0')}]"] * 2
        for name in self.names("d"):
            options += [lambda name=name: f"{name}['{self.one('p', 'q')}']"] * 2
        for name in self.names("t"):
            options += [lambda name=name: f"{name}[{self.one('0', '1', '-1')}]"] * 2
        for name in self.names("f"):
            options += [lambda name=name: f"{name}({v()})"] * 2
        return self.random.choice(options)()

    def stored(self) -> str:
        text = self.vector()
        return f"ops.{self.one('sin', 'tanh')}({text})" if self.chance(0.6) else text

    def scalar(self, depth: int = 1) -> str:
        options: list[Callable[[], str]] = [
            lambda: f"ops.sum({self.vector(depth)})",
            lambda: f"{self.vector(0)}[{self.index(3)}]",
            lambda: f"ops.mean({self.matrix(depth)})",
            lambda: f"ops.sum({self.vector(0)} * {self.vector(0)})",
            lambda: f"{self.vector(depth)}.{self.one('sum', 'mean', 'max')}()",
            lambda: self.one("j[0]", "ops.sum(j)", "max(n, k)", "divmod(n + 5, 3)[1]", "min(n, 2)"),
            self.int,
        ]
        return self.random.choice(options)()

    def matrix(self, depth: int = 1) -> str:
        if depth <= 0 or self.chance(0.3):
            return self.one(*self.names("m"))
        options: list[Callable[[], str]] = [
            lambda: f"ops.stack(({self.vector(depth - 1)}, {self.vector(depth - 1)}))",
            lambda: f"({self.matrix(depth - 1)} * {self.vector(depth - 1)})",
            lambda: f"ops.matmul({self.matrix(depth - 1)}, self.u)",
            lambda: f"ops.tanh({self.matrix(depth - 1)})",
            lambda: f"({self.matrix(depth - 1)} + {self.number()})",
        ]
        return self.random.choice(options)()

    def test(self, depth: int = 3) -> str:
        ints = self.names("n") + self.names("i")
        options: list[Callable[[], str]] = [
            lambda: f"ops.sum({self.vector(1)}) > {self.number()}",
            lambda: f"{self.vector(0)}[{self.index(3)}] < {self.number()}",
            lambda: f"{self.one(*ints)} % 2 == {self.random.randint(0, 1)}",
            lambda: f"{self.one(*ints)} {self.one('>', '<=', '!=')} {self.random.randint(0, 3)}",
            lambda: self.one("self.flag", "hasattr(self, 'none')", "isinstance(x, Tensor)"),
            lambda: f"j[{self.index(3)}] > {self.random.randint(0, 2)}",
            lambda: f"{self.one(*ints)} in ({self.random.randint(0, 3)}, 1)",
            lambda: f"{self.one('any', 'all')}(e > {self.one(*ints)} for e in (0, 2))",
            lambda: f"self.calls {self.one('>', '==')} {self.random.randint(0, 2)}",
            lambda: f"0.1 < {self.scalar()} < 0.9",
            *(lambda name=name: name for name in self.names("b")),  # type: ignore[misc]
            *(lambda name=name: f"len({name}) > 2" for name in self.names("L")),
        ]
        if depth > 0:
            options += [
                lambda: f"not ({self.test(depth - 1)})",
                lambda: f"({self.test(depth - 1)}) {self.one('and', 'or')} ({self.test(0)})",
            ]
        return self.random.choice(options)()
