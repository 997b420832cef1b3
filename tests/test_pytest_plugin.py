"""The fixtures in a test suite of their own: what is right passes, what is stale or wrong fails."""

from __future__ import annotations

import pytest

pytest_plugins = "pytester"

SUITE = """
    import numpy as np
    import autodiff_compiler as ms
    from autodiff_compiler import Tensor, nn, ops
    from autodiff_compiler.testing import numeric

    class Net(nn.Cell):
        def construct(self, x):
            return ops.sin(x) * {factor}

    X = Tensor(np.array([0.5, 2.0], np.float32))

    def test_right(check_grads):
        assert {{row.order for row in check_grads(Net(), [X]).rows}} == {{1, 2}}

    def test_wrong(check_grads, monkeypatch):
        right = numeric.GradientFunction.__call__

        def wrong(self, *args):
            inputs, weights = right(self, *args)
            inputs.asnumpy()[0] *= -1
            return inputs, weights

        monkeypatch.setattr(numeric.GradientFunction, "__call__", wrong)
        check_grads(Net(), [X], order=1)

    def test_committed(gradient_file):
        gradient_file(Net(), X, path="net_grad.py", sens_param=True)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester):
    def run(factor: int, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_net=SUITE.format(factor=factor))
        return pytester.runpytest_inprocess(*options)

    return run


def test_fixtures(suite, pytester):
    result = suite(3)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        ["*gradient of order 1 in 'x' is wrong along*", "there is no net_grad.py; *writes it*"]
    )
    suite(3, "--write-gradients").assert_outcomes(passed=2, failed=1)
    scope: dict = {}
    exec((pytester.path / "net_grad.py").read_text(), scope)
    assert {"net_forward", "net_backward"} <= set(scope)
    suite(3).assert_outcomes(passed=2, failed=1)
    stale = suite(4)
    stale.assert_outcomes(passed=1, failed=2)
    stale.stdout.fnmatch_lines(["*net_grad.py no longer matches the gradient*", "-*3*", "+*4*"])
