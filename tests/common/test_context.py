"""Settings."""

import warnings

import pytest

import autodiff_compiler as ms
from autodiff_compiler.common import PYNATIVE_MODE, context, get_context, set_context


def test_defaults():
    assert get_context("mode") == PYNATIVE_MODE == 1
    assert get_context("device_target") == "CPU"


def test_another_device_is_accepted_with_one_warning(monkeypatch):
    monkeypatch.setattr(context, "SETTINGS", dict(context.SETTINGS))
    monkeypatch.setattr(context, "_warned_about", set())
    with pytest.warns(UserWarning, match="everything runs on the CPU; Ascend was requested"):
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


@pytest.mark.parametrize("name", ["zzz", "Mode", "enable_dump", "name", "memory_offload"])
def test_refuses_to_set_unknown_names(name, monkeypatch):
    monkeypatch.setattr(context, "SETTINGS", dict(context.SETTINGS))
    with pytest.raises(ValueError, match=f"the keyword argument {name} is not recognized"):
        set_context(opt_level=0, **{name: 1})
    assert get_context("opt_level") == 1 and name not in context.SETTINGS


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(ValueError, match="Perhaps 'stabilise' is meant"):
        set_context(stabilize=False)


@pytest.mark.parametrize("name", ["exception_dump", "precompile_only", "grad_for_scalar"])
@pytest.mark.parametrize("ask", [lambda name: set_context(**{name: True}), get_context])
def test_names_that_mindspore_has_removed(name, ask):
    with pytest.raises(ValueError, match=f"the parameter '{name}' has been removed"):
        ask(name)


def test_settings_without_effect_are_stored(monkeypatch):
    monkeypatch.setattr(context, "SETTINGS", dict(context.SETTINGS))
    for name, default in context.WITHOUT_EFFECT.items():
        assert get_context(name) == default
    set_context(max_call_depth=50, save_graphs=True, ascend_config={"precision_mode": "force_fp16"})
    assert get_context("max_call_depth") == 50 and get_context("save_graphs") is True


def test_levels_of_syntax_have_mindspores_numbers(monkeypatch):
    monkeypatch.setattr(context, "SETTINGS", dict(context.SETTINGS))
    assert (ms.STRICT, ms.COMPATIBLE, ms.LAX) == (0, 1, 2)
    assert get_context("jit_syntax_level") == ms.LAX
    set_context(jit_syntax_level=ms.STRICT)
    assert get_context("jit_syntax_level") == ms.STRICT
