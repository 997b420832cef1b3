"""Emitted source of random programs computes the same values as the IR."""

import ast
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autodiff_compiler.emit.module import emit_module
from tests.emit.programs import program
from tests.interpreter import run

XS = list(range(3, 30))


def executed(source, args):
    scope = {}
    exec(compile(source, "<emitted>", "exec"), scope)
    return scope["main"](*args)


def check(random):
    functions = program(random)
    source = emit_module(functions).source
    for x, y in ((1, 2), (4, 7)):
        expected_log, log = [], []
        expected = run(functions[-1], [x, y, XS, expected_log])
        found = executed(source, [x, y, XS, log])
        found = list(found) if len(expected) > 1 else [found]
        assert (found, log) == (expected, expected_log), source
    assert all(len(line) <= 100 for line in source.splitlines()), source
    assert emit_module(functions).source == source
    ast.parse(source, feature_version=(3, 10))


@pytest.mark.thorough
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_emitted_source_computes_the_same_as_the_ir(seed):
    check(Random(seed))
