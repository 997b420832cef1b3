"""Settings."""

import warnings

import pytest

from autodiff_compiler.common import PYNATIVE_MODE, context, get_context, set_context


def test_defaults():
    assert get_context("mode") == PYNATIVE_MODE == 1
    assert get_context("device_target") == "CPU"


def test_another_device_is_accepted_with_one_warning(monkeypatch):
    monkeypatch.setattr(context, "SETTINGS", dict(context.SETTINGS))
    monkeypatch.setattr(context, "_warned_about", set())
    with pytest.warns(UserWarning, match="everything runs on the CPU; Ascend was asked for"):
        set_context(device_target="Ascend")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        set_context(device_target="GPU")
    assert get_context("device_target") == "GPU"


@pytest.mark.parametrize("mode", [2, "graph", True, None])
def test_refuses_other_modes(mode):
    with pytest.raises(ValueError, match="the argument 'mode' should be context.GRAPH_MODE"):
        set_context(mode=mode)


def test_refuses_unknown_names():
    with pytest.raises(ValueError, match="the argument zzz is not recognized"):
        get_context("zzz")
