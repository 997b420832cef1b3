"""What holds for all tests: which of them a quick run takes, and that none ends in a fault of the
compiler itself, whatever else it asserts."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator

import pytest

from autodiff_compiler import compile_info, get_context, set_context
from autodiff_compiler.faults import COUNT
from autodiff_compiler.frontend.syntax import source
from autodiff_compiler.frontend.syntax.desugar import steps, subset
from autodiff_compiler.runtime.native import Compiler, NativeUnavailable, find_compiler
from tests.mirror import modules_by_test, recorded_modules


@pytest.fixture(autouse=True)
def no_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that reached the handler for internal errors, unless it plants the fault."""
    before = COUNT.faults
    yield
    if request.node.get_closest_marker("planted_fault") is None:
        assert COUNT.faults == before, "the compiler itself failed; see the InternalError"


@pytest.fixture
def memory_level() -> Iterator[None]:
    """Compiles at level 2, which plans all memory."""
    before = get_context("opt_level")
    set_context(opt_level=2)
    yield
    set_context(opt_level=before)


@pytest.fixture(scope="session")
def c_compiler() -> Compiler:
    """The C compiler of this machine. Where there is none, tests that need it are left out."""
    try:
        return find_compiler()
    except NativeUnavailable as missing:
        pytest.skip(str(missing))


#: A quick run (``make test``, which sets TEST_SAMPLE) takes at most so many parameter sets of a
#: test, spread evenly; of a test that is marked ``every_case`` it takes all of them, and of one
#: that is marked ``thorough`` none.
SAMPLE = 3


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects what a quick run leaves out."""
    if not os.environ.get("TEST_SAMPLE"):
        return
    by_test: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        by_test[item.nodeid.partition("[")[0]].append(item)
    left_out = {item for item in items if item.get_closest_marker("thorough")}
    for cases in by_test.values():
        if len(cases) > SAMPLE and cases[0].get_closest_marker("every_case") is None:
            taken = {cases[k * len(cases) // SAMPLE] for k in range(SAMPLE)}
            left_out.update(item for item in cases if item not in taken)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


#: The modules that single tests have to run, as ``tests/covering.py`` says.
MODULES_BY_TEST = modules_by_test()


def forget_compilations() -> None:
    """Empties the caches of compiled functions and of syntax trees: tests before may fill them."""
    compile_info().clear()
    for module in (source, steps, subset):
        for cached in vars(module).values():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Fails a test that runs no function of a module that it is to cover."""
    test, _, _ = pyfuncitem.nodeid.partition("[")
    covered = MODULES_BY_TEST.get(pyfuncitem.nodeid) or MODULES_BY_TEST.get(test)
    if covered is None:
        yield
        return
    forget_compilations()
    with recorded_modules() as entered:
        outcome = yield
    if outcome.excinfo is None and not covered <= entered:
        missed = ", ".join(sorted(covered - entered))
        problem = f"tests/covering.py says that this test runs {missed}, but it does not"
        outcome.force_exception(AssertionError(problem))
