"""Live ranges agree with a search of every path."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from autodiff_compiler.analysis.liveness import Cycle, Fork, Leave, Step, exposed, live_ranges

NAMES = "abcd"
some = st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple)
steps = st.builds(Step, some, some)


def flows(depth):
    parts = steps
    if depth:
        inner = flows(depth - 1)
        parts = st.one_of(
            steps,
            st.builds(lambda left, right: Fork((left, right)), inner, inner),
            st.builds(lambda head, body, end: Cycle(head, (*body, *end)), inner, inner,
                      st.just(()) | some.map(lambda reads: (Leave(reads),))),
        )  # fmt: skip
    return st.lists(parts, max_size=3).map(tuple)


def paths(flow, limit=2):
    """Yields the paths through a flow: their steps, and True if they leave the cycle around it."""
    ways = [([], False)]
    for part in flow:
        ways = [
            (before + after, left)
            for before, gone in ways
            for after, left in (paths_of(part, limit) if not gone else [([], True)])
        ][:60]
    return ways


def paths_of(part, limit):
    if isinstance(part, Step):
        return [([part], False)]
    if isinstance(part, Leave):
        read = Step(part.reads, ())
        return [([read], True), ([read], False)]
    if isinstance(part, Fork):
        return [way for branch in part.branches for way in paths(branch, limit)]
    found, going = [], [[]]
    for _ in range(limit):
        heads = [way + head for way in going for head, _ in paths(part.head, limit)][:12]
        found += heads
        bodies = [(way + body, left) for way in heads for body, left in paths(part.body, limit)]
        found += [way for way, left in bodies if left]
        going = [way for way, left in bodies if not left][:12]
    return [(way, False) for way in found]


def conflicts(path):
    """Collects pairs of names of which one is written while the other is live."""
    for at, step in enumerate(path):
        for name in NAMES:
            later = [s for s in path[at + 1 :] if name in s.reads or name in s.writes]
            alive = name in step.writes or bool(later) and name in later[0].reads
            for other in step.writes:
                if alive and other != name:
                    yield name, other


@settings(max_examples=80, deadline=None)
@given(flows(2))
def test_names_that_conflict_on_a_path_have_overlapping_ranges(flow):
    ranges = live_ranges((Step((), tuple(NAMES)), *flow))
    for path, _ in paths(flow):
        for one, other in conflicts(path):
            assert ranges[one] & ranges[other], (one, other)


@settings(max_examples=80, deadline=None)
@given(flows(2))
def test_exposed_names_are_those_read_first_on_a_path(flow):
    read_first = set()
    for path, _ in paths(flow):
        written = set()
        for step in path:
            read_first |= set(step.reads) - written
            written |= set(step.writes)
    assert read_first <= exposed(flow)


def test_a_chain_of_values_has_disjoint_ranges():
    chain = [Step((a,), (b,)) for a, b in pairwise("abcd")]
    ranges = live_ranges((Step((), ("a",)), *chain))
    assert all(not ranges[a] & ranges[b] for a, b in pairwise("abcd"))


def test_a_name_that_a_cycle_reads_from_outside_is_live_in_all_of_it():
    cycle = Cycle((), (Step(("x",), ("t",)), Step(("t",), ("u",)), Step(("u",), ())))
    ranges = live_ranges((Step((), ("x",)), cycle))
    assert ranges["x"] & ranges["t"] and ranges["x"] & ranges["u"]
    assert not ranges["t"] & ranges["u"]


def test_a_name_that_is_read_after_a_cycle_is_live_where_it_is_left():
    def of(end):
        body = (Step((), ("t",)), end, Step((), ("x",)))
        return live_ranges((Step((), ("x",)), Cycle((), body), Step(("x",), ())))

    left, stayed = of(Leave(())), of(Step())
    assert left["x"] & left["t"]
    assert not stayed["x"] & stayed["t"]


def test_branches_have_disjoint_ranges():
    fork = Fork(((Step((), ("a",)), Step(("a",), ())), (Step((), ("b",)), Step(("b",), ()))))
    ranges = live_ranges((fork,))
    assert not ranges["a"] & ranges["b"]
