"""The cache: identities of functions, limits, and when compiled functions are dropped."""

from __future__ import annotations

import functools
import gc
import weakref

from autodiff_compiler import ops
from autodiff_compiler.common import Cell, Parameter
from autodiff_compiler.runtime.cache import Cache, CallSite, identity
from tests.runtime.records import FakeCompiler


class Entry:
    """A compiled function with nothing but a guard."""

    def __init__(self, guard=lambda fn, slots: True):
        self.guards_hold, self.used, self.calls, self.noted, self.retired = guard, 0, 0, 0, False

    def drop_fast_calls(self):
        self.retired = True


def site(fn, key, slots=()):
    made = CallSite()
    made.fn, made.key, made.slots = fn, key, slots
    return made


class Net(Cell):
    def construct(self, x):
        return x

    def other(self, x):
        return x


def make(number):
    return lambda x: x + number


def test_identity():
    net = Net()
    assert identity(make(1)) == identity(make(2))
    assert identity(make(1)) != identity(lambda x: x)
    assert identity(net) != identity(Net())
    assert identity(net.construct) == identity(net.construct) != identity(net.other)
    assert identity(net.construct) != identity(Net().construct)
    partials = functools.partial(make, 1), functools.partial(make, 2), functools.partial(make)
    assert identity(partials[0]) == identity(partials[1]) != identity(partials[2])


def test_identity_of_gradients_is_their_question():
    net = Net()
    one, two = Parameter([1.0]), Parameter([2.0])
    by_list = ops.GradOperation(get_by_list=True)
    assert identity(by_list(net, [one])) == identity(by_list(net, [one]))
    assert identity(by_list(net, [one])) != identity(by_list(net, [two]))
    assert identity(by_list(net, [one])) != identity(by_list(Net(), [one]))
    assert identity(ops.GradOperation()(net)) != identity(ops.GradOperation(True)(net))


def test_guards_decide_and_the_most_recent_is_tried_first():
    cache, fn = Cache(FakeCompiler()), make(0)
    tried = []

    def guard(number):
        return lambda fn, slots: tried.append(number) or slots == (number,)

    first, second = Entry(guard(1)), Entry(guard(2))
    cache.add(site(fn, "key"), first)
    cache.add(site(fn, "key"), second)
    assert cache.find(site(fn, "key", (1,))) is first
    assert cache.find(site(fn, "key", (1,))) is first
    assert tried == [2, 1, 1]
    assert cache.find(site(fn, "key", (3,))) is None
    assert cache.find(site(fn, "other", (1,))) is None
    assert cache.find(site(lambda x: x, "key", (1,))) is None


def test_the_least_recently_used_is_dropped():
    cache, fn = Cache(FakeCompiler(), per_function=2), make(0)
    units = [Entry() for _ in range(3)]
    cache.add(site(fn, 0), units[0])
    cache.add(site(fn, 1), units[1])
    cache.find(site(fn, 0, ()))
    cache.add(site(fn, 2), units[2])
    assert [cache.find(site(fn, key, ())) for key in range(3)] == [units[0], None, units[2]]


def test_a_fast_call_counts_as_a_use():
    cache, fn = Cache(FakeCompiler(), per_function=2), make(0)
    units = [Entry() for _ in range(3)]
    cache.add(site(fn, 0), units[0])
    cache.add(site(fn, 1), units[1])
    units[0].calls += 1
    cache.add(site(fn, 2), units[2])
    assert [cache.find(site(fn, key, ())) for key in range(3)] == [units[0], None, units[2]]


def test_the_bound_over_all_functions():
    cache = Cache(FakeCompiler(), overall=3)
    nets = [Net() for _ in range(5)]
    for net in nets:
        cache.add(site(net, "key"), Entry())
    assert [cache.find(site(net, "key", ())) is not None for net in nets] == [False] * 2 + [
        True
    ] * 3
    assert len(cache.all()) == 3
    assert len(cache.functions) <= 4


def test_units_go_with_the_cell():
    cache, net = Cache(FakeCompiler()), Net()
    unit = Entry()
    gone = weakref.ref(unit)
    cache.add(site(net, "key"), unit)
    cache.add(site(ops.GradOperation()(net), "key"), unit)
    cache.add(site(net.construct, "key"), unit)
    assert len(cache.functions) == 3
    del net, unit
    gc.collect()
    assert not cache.functions
    assert gone() is None


def test_units_of_a_lambda_stay():
    cache = Cache(FakeCompiler())
    for number in range(3):
        fn = make(number)
        if cache.find(site(fn, "key", ())) is None:
            cache.add(site(fn, "key"), Entry())
    del fn
    gc.collect()
    assert len(cache.all()) == 1


def test_clear():
    cache = Cache(FakeCompiler())
    entry = Entry()
    cache.add(site(make(0), "key"), entry)
    cache.clear()
    assert entry.retired
    assert cache.all() == [] and cache.find(site(make(0), "key", ())) is None
