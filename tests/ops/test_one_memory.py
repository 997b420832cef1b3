"""Whether two Tensors are one: a write to either shows in the other, at once and compiled alike.

The tables were measured on MindSpore 2.10 in PyNative mode, with a write to the one and the other
side. ``SAME`` and ``OWN`` hold here, too. Of ``SHOWN`` MindSpore makes a view; here it keeps its
value when it runs at once, and compiled text with a write to either is refused.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
import autodiff_compiler.numpy as mnp
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.errors import CompileError
from autodiff_compiler.ops.methods.table import METHODS, PROPERTIES

#: One memory: of a row ``t``, the matrix ``m``, the image ``i``, the Parameter ``p``.
SAME = """Tensor(t); ms.tensor(t); Tensor(p); t.to(t.dtype); t.float(); t.type_as(t);
t.contiguous(); t.value(); t.positive(); +t; t.t(); t.sum_to_size((3,)); ops.AddN()([t]);
ops.addn([t]); ops.AccumulateNV2()([t]); ops.accumulate_n([t]); ops.Cast()(t, ms.float32);
ops.cast(t, ms.float32); ops.Depend()(t, t); ops.depend(t, t); ops.identity(t); ops.positive(t);
ops.t(t);
ops.dropout(t, 0.5, training=False); mnp.asarray(t); mnp.atleast_1d(t); mnp.atleast_2d(m);
mnp.rot90(m, 0); nn.Dropout(p=0.0)(t); nn.Dropout(p=0.5).set_train(False)(t); nn.Identity()(t)"""
OWN = """ops.Dropout(1.0)(t)[0]; ops.Identity()(t); ops.MatrixPower(1)(m[None]);
ops.matrix_power(m[None], 1); ops.MaxPool()(i); ops.Pad(((0, 0),))(t); ops.ReduceSum()(t, ());
ops.ReduceSum(skip_mode=True)(t, ()); ops.Tile()(t, (1,)); ops.tile(t, (1,)); ops.conj(t);
ops.dropout(t, 0.0); ops.dropout1d(m, 0.0); ops.max_pool2d(i, 1); ops.real(t);
ops.interpolate(i, size=(2, 2), mode='nearest'); t.conj(); t.flip(()); t.real();
t.repeat_interleave(1); t.tile((1,)); mnp.array(t); mnp.positive(t); mnp.tile(t, 1);
t.astype(ms.float32); t.copy(); t.abs(); ops.flip(t, ()); ops.stack([t])[0]; ops.concat([t]);
ops.add(t, 0); t + 0; Parameter(p); Parameter(t); p.clone(); p.copy(); p + 0; ops.sum(t, ());
ops.clamp(t, -9, 9)"""
SHOWN = """ops.stop_gradient(t); ops.broadcast_to(t, (3,)); ops.expand_dims(t, 0); t.reshape(3);
t.view(3); t[0:2]; t.T; ops.Reshape()(t, (3,)); ops.transpose(t, (0,))"""
#: MindSpore writes these back to ``t``, though a write to ``t`` does not show in them.
WRITTEN_BACK = "t[t > 0]; t[Tensor([0, 1])]"
#: What would be made anew in every call of compiled text.
REFUSED = {"Parameter(t)", "nn.Dropout(p=0.5).set_train(False)(t)"}


def _split(texts: str) -> list[str]:
    return [text.strip() for text in texts.split(";")]


def _source(text: str) -> str:
    found = [name for name in "tmip" if f"({name}" in text or text.startswith((f"{name}.",
             f"{name} ", f"{name}[", f"+{name}")) or f"[{name}]" in text]  # fmt: skip
    return found[0]


def _inputs() -> dict[str, Any]:
    row = np.array([1, 2, 3], np.float32)
    square = np.array([[1, 2], [3, 4]], np.float32)
    return {
        "t": Tensor(row), "m": Tensor(square), "i": Tensor(square[None, None]),
        "p": Parameter(Tensor(row), name="p"),
    }  # fmt: skip


def _function(text: str, written: int) -> Any:
    """Writes to one of the two, and gives the other."""
    source = _source(text)
    one, other = ((source, "r"), ("r", source))[written]
    lines = (f"def f({source}):\n    r = {text}\n    {one}[(0,) * {one}.ndim] = 9.0\n"
             f"    return {other} * 1\n")  # fmt: skip
    file = f"<{lines}>"
    linecache.cache[file] = (len(lines), None, lines.splitlines(True), file)
    names = {"ms": ms, "mnp": mnp, "ops": ops, "nn": nn, "Tensor": Tensor, "Parameter": Parameter}
    exec(compile(lines, file, "exec"), names)
    return names["f"]


def _shows(text: str, written: int, way: Any) -> bool | None:
    """Whether the write shows in the other; None where compiled text is refused."""
    given = _inputs()[_source(text)]
    names = {"ms": ms, "mnp": mnp, "ops": ops, "nn": nn, "Tensor": Tensor, "Parameter": Parameter}
    before = [eval(text, names, _inputs()).asnumpy().copy(), given.asnumpy().copy()][written]
    try:
        after = way(_function(text, written))(given).asnumpy()
    except CompileError as error:
        assert "^" in str(error)
        return None
    return not np.array_equal(after, before)


@pytest.mark.parametrize("written", [0, 1], ids=["to the source", "to the result"])
@pytest.mark.parametrize(("texts", "shows"), [(SAME, True), (OWN, False)], ids=["same", "own"])
def test_one_memory_or_two_as_in_mindspore(texts, shows, written):
    at_once = {text: _shows(text, written, lambda f: f) for text in _split(texts)}
    assert {text: found for text, found in at_once.items() if found is not shows} == {}
    compiled = {
        text: _shows(text, written, ms.jit) for text in _split(texts) if _source(text) != "p"
    }
    wrong = {text: found for text, found in compiled.items() if found is not shows}
    refused = {text for text, found in wrong.items() if found is None}
    assert set(wrong) == refused <= REFUSED


@pytest.mark.parametrize("text", _split(SHOWN))
@pytest.mark.parametrize("written", [0, 1])
def test_what_is_a_view_in_mindspore_keeps_its_value_or_is_refused(text, written):
    assert _shows(text, written, lambda f: f) is False
    assert _shows(text, written, ms.jit) is None


@pytest.mark.parametrize("text", _split(WRITTEN_BACK))
@pytest.mark.parametrize("written", [0, 1])
def test_what_is_picked_by_positions_is_a_copy(text, written):
    assert _shows(text, written, lambda f: f) is False
    assert _shows(text, written, ms.jit) is False


EXTRA = (
    "", "0", "1", "0, 0", "(3, 3)", "(1, 1)", "-1", "0.5", "-9, 9", "ms.float32", "m", "1, 0",
    "0, 1", "0, 0, 2", "0, Tensor([0, 1])", "Tensor([0, 1])", "m > 2", "m > 2, 0.0", "m > 2, m",
    "m, m", "2, 0", "(0, 1)",
)  # fmt: skip


def _call(name: str) -> str | None:
    """A call of a method on ``m`` that gives a float Tensor, or of a property."""
    for extra in EXTRA:
        text = f"m.{name}" if name in PROPERTIES else f"m.{name}({extra})"
        given = _inputs()
        try:
            made = eval(text, {"ms": ms, "Tensor": Tensor}, given)
        except Exception:
            continue
        if isinstance(made, Tensor) and made.dtype == ms.float32 and made.ndim and made.size:
            return text
    return None


RANDOM = {"bernoulli", "multinomial", "random_categorical", "exponential_"}


@pytest.mark.thorough
def test_every_method_and_property_shares_at_once_and_compiled_alike():
    found = [
        text for name in (*METHODS, *PROPERTIES) if name not in RANDOM and (text := _call(name))
    ]
    assert len(found) > 120
    wrong = []
    for text in found:
        for written in (0, 1):
            at_once, compiled = (_shows(text, written, way) for way in (lambda f: f, ms.jit))
            if compiled not in (None, at_once):
                wrong.append((text, written, at_once, compiled))
    assert wrong == []
