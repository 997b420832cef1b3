"""``python -m tests.fuzz.threads [threads] [calls] [seed]``: many threads call ten compiled pairs,
while what they read changes; every answer is held against that of one thread alone.

The law: a call answers for one state of what it reads. What changes together changes between calls,
at a barrier (the first half of the calls); a change of one attribute may happen at any time (the
second half), and then each call sees it wholly or not at all. What is compiled meanwhile is right.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import autodiff_compiler as ad
from autodiff_compiler import Parameter, Tensor, nn, ops

#: How many states each subject has.
STATES = 3
#: How often states change at a barrier.
ROUNDS = 10


class Options:
    """What functions read."""

    def __init__(self) -> None:
        self.scale = 1.0
        self.kind = "sum"

    def power(self, x: Any) -> Any:
        return x * x


def cube(self: Any, x: Any) -> Any:
    return x * x * x


def once(self: Any, x: Any) -> Any:
    return x


class Net(nn.Cell):
    """A Cell with a Parameter, a mode, a number and a Cell below."""

    def __init__(self, below: Any = None):
        super().__init__()
        self.w = Parameter(Tensor(np.linspace(1.0, 2.0, 6)), name="w")
        self.scale, self.below = 1.0, below

    def construct(self, x: Any) -> Any:
        y = ops.sin(x * self.w) * self.scale
        if self.training:
            y = y * y
        return y if self.below is None else self.below(y) * x


@dataclass
class Subject:
    """What is called, on what, and what puts it into one of its states."""

    call: Callable[[], Any]
    put: Callable[[int], None]
    expected: list[Any] = field(default_factory=list)


def subjects() -> list[Subject]:
    """Ten pairs, each with things of its own to read."""
    x, big = np.linspace(0.5, 1.5, 6), np.linspace(0.0, 1.0, 9_000)
    t = Tensor(x)
    free, given, held, large = (Options() for _ in range(4))
    swapped, table, counts = Options(), {"a": 1.0}, [1.0]
    net, trained, upper = Net(), Net(), Net(Net())

    def by_closure(x: Any) -> Any:
        return np.sum(np.sin(x) * free.scale)

    def by_argument(x: Any, options: Any) -> Any:
        return np.sum(np.sin(x) * x) if options.kind == "sum" else np.prod(x) * options.scale

    def by_method(x: Any) -> Any:
        return np.sum(swapped.power(x))

    def by_dict(x: Any) -> Any:
        return np.sum(np.exp(x * table["a"]))

    def by_list(x: Any) -> Any:
        y = x
        for count in counts:
            y = np.sin(y) * count
        return np.sum(y)

    def on_large(x: Any) -> Any:
        y = np.sin(x) * large.scale
        return np.sum(np.cos(y) * y * x)

    power = type("Power", (Options,), {})
    swapped.__class__ = power
    gradients = [
        ad.grad(by_closure), ad.grad(by_argument), ad.grad(by_method), ad.value_and_grad(by_dict),
        ad.jacfwd(by_list), ad.value_and_grad(on_large),
        ops.GradOperation(get_all=True, get_by_list=True)(net, net.trainable_params()),
        ops.GradOperation(get_by_list=True)(trained, trained.trainable_params()),
        ops.GradOperation()(upper), ad.jit(lambda x: np.sum(np.tanh(x * held.scale))),
    ]  # fmt: skip
    inputs: Sequence[tuple] = [
        (x,), (x, given), (x,), (x,), (x,), (big,), (t,), (t,), (t,), (x,),
    ]  # fmt: skip
    puts: list[Callable[[int], None]] = [
        lambda n: setattr(free, "scale", 1.0 + n),
        lambda n: setattr(given, "kind", ("sum", "prod", "other")[n]),
        lambda n: setattr(power, "power", (Options.power, cube, once)[n]),
        lambda n: table.update(a=1.0 + n),
        lambda n: counts.__setitem__(slice(None), [1.5] * (n + 1)),
        lambda n: setattr(large, "scale", 1.0 + n),
        lambda n: setattr(net, "scale", 1.0 + n),
        lambda n: setattr(trained, "training", bool(n % 2)),
        lambda n: setattr(upper.below, "scale", 1.0 + n),
        lambda n: setattr(held, "scale", 1.0 + n),
    ]

    def made(gradient: Any, args: tuple, put: Callable[[int], None]) -> Subject:
        return Subject(lambda: gradient(*args), put)

    return [made(*row) for row in zip(gradients, inputs, puts)]


def same(found: Any, expected: Any) -> bool:
    """Whether two answers are bit for bit the same."""
    if isinstance(found, (tuple, list)):
        return len(found) == len(expected) and all(map(same, found, expected))
    one, other = (a.asnumpy() if isinstance(a, Tensor) else a for a in (found, expected))
    return bool(np.array_equal(one, other))


def copied(answer: Any) -> Any:
    """An answer that nobody else holds."""
    if isinstance(answer, (tuple, list)):
        return tuple(map(copied, answer))
    return np.array(answer.asnumpy() if isinstance(answer, Tensor) else answer)


def alone(pairs: Sequence[Subject]) -> None:
    """Notes what each subject answers in each state, called by one thread."""
    for pair in pairs:
        for state in range(STATES):
            pair.put(state)
            pair.expected.append(copied(pair.call()))


def run(threads: int, calls: int, seed: int = 0) -> tuple[int, list[str]]:
    """Calls; how many they were, and what was wrong."""
    ad.compile_info().clear()
    pairs = subjects()
    alone(pairs)
    ad.compile_info().clear()  # what the threads call is compiled while they call
    states = [0] * len(pairs)
    wrong: list[str] = []
    made = [0] * threads
    free = threading.Event()
    over = threading.Event()

    def change() -> None:
        rng = random.Random(f"{seed} change {barrier.n_waiting} {time.perf_counter()}")
        for number, pair in enumerate(pairs):
            states[number] = rng.randrange(STATES)
            pair.put(states[number])

    barrier = threading.Barrier(threads, change)

    def check(number: int, allowed: Sequence[int]) -> None:
        found = pairs[number].call()
        if not any(same(found, pairs[number].expected[state]) for state in allowed):
            wrong.append(f"pair {number} in the states {list(allowed)}: {found}")

    def caller(me: int) -> None:
        rng = random.Random(f"{seed} {me}")
        try:
            for _ in range(ROUNDS):
                barrier.wait()
                for _ in range(calls // 2 // ROUNDS):
                    number = rng.randrange(len(pairs))
                    check(number, [states[number]])
                    made[me] += 1
            barrier.wait()
            free.set()
            while made[me] < calls:
                check(rng.randrange(len(pairs)), range(STATES))
                made[me] += 1
        except Exception as error:
            wrong.append(repr(error))
            barrier.abort()

    def changer() -> None:
        rng = random.Random(f"{seed} changer")
        while not over.is_set():
            if free.wait(0.01):
                rng.choice(pairs).put(rng.randrange(STATES))
                time.sleep(0.0002)

    workers = [threading.Thread(target=caller, args=(me,)) for me in range(threads)]
    changing = threading.Thread(target=changer)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-3)
    try:
        for worker in (*workers, changing):
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        over.set()
        changing.join()
        sys.setswitchinterval(interval)
    return sum(made), wrong


def main(threads: int = 24, calls: int = 2000, seed: int = 0) -> int:
    """Runs, and tells; the exit status."""
    begun = time.perf_counter()
    count, wrong = run(threads, calls, seed)
    took = time.perf_counter() - begun
    print(f"{count} calls in {threads} threads, {took:.1f} s: {len(wrong)} wrong")
    print("\n".join(wrong[:10]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
