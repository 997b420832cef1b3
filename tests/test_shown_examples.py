"""The examples: the source that they show is what runs, and what they claim holds."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor
from autodiff_compiler.testing import check_grads

FOLDER = Path(__file__).parents[1] / "examples"
SHOWN = re.compile(r"(?<=^SHOWN = '''\\\n).*?(?=^'''$)", re.M | re.S)


@pytest.fixture(autouse=True)
def beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples find the file that they share, as when one of them is run."""
    monkeypatch.syspath_prepend(str(FOLDER))


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def batches() -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(1)
    return tuple(Tensor(rng.normal(size=(5, n)).astype(np.float32)) for n in (3, 2))


def per_example_gradients(module: Any) -> str:
    loss = module.Loss()
    ms.vmap(ms.grad(loss, None, loss.trainable_params()))(*batches())
    return ms.compile_info().units[-1].source


def physics_informed(module: Any) -> str:
    cell = module.Residual(module.Solution())
    weights = cell.trainable_params()
    return ms.gradient_source(cell, "f32[24,1]", get_by_list=True, weights=weights)


def shipped_gradient(module: Any) -> str:
    loss = module.Loss()
    weights = loss.trainable_params()
    return ms.gradient_source(loss, "f32[n,2]", "f32[n,1]", get_by_list=True, weights=weights)


@pytest.mark.parametrize("make", [per_example_gradients, physics_informed, shipped_gradient])
def test_the_shown_source_is_what_runs(make: Any) -> None:
    path = FOLDER / f"{make.__name__}.py"
    source = make(load(make.__name__)).replace("\\", "\\\\")
    text = path.read_text(encoding="utf-8")
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(SHOWN.sub(lambda _: source, text), encoding="utf-8", newline="\n")
        text = path.read_text(encoding="utf-8")
    found = SHOWN.search(text)
    assert found is not None
    assert found[0] == source, "if the change is wanted: make golden"


def test_the_network_learns_the_sine(capsys: pytest.CaptureFixture[str]) -> None:
    module = load("physics_informed")
    assert module.main() < 0.002
    cell = module.Residual(module.Solution())
    cell.u.v.set_data(Tensor(np.linspace(-1, 1, 16, dtype=np.float32).reshape(16, 1)))
    check_grads(cell, [np.linspace(0.1, 1.0, 4).reshape(-1, 1)], order=1)


def test_every_example_has_its_gradient(capsys: pytest.CaptureFixture[str]) -> None:
    module = load("per_example_gradients")
    module.main()
    assert "d_w (5, 3, 4), d_v (5, 4, 2)" in capsys.readouterr().out
    loss = module.Loss()
    gradient = ms.grad(loss, None, loss.trainable_params())
    x, y = batches()
    for k, (d_w, d_v) in enumerate(zip(*ms.vmap(gradient)(x, y))):
        for found, expected in zip((d_w, d_v), gradient(x[k], y[k])):
            np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)


def test_a_gradient_trains_without_the_compiler(capsys: pytest.CaptureFixture[str]) -> None:
    module = load("shipped_gradient")
    losses = [float(line.rpartition(" ")[2]) for line in module.main().splitlines()]
    assert len(losses) == 3 and losses[-1] < 0.01 < 0.2 < losses[0]
    assert module.SHOWN in capsys.readouterr().out


def test_the_convnet_learns_and_its_checkpoint_knows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load("small_convnet")
    running = importlib.import_module("running")
    monkeypatch.setattr(running, "tqdm", None)
    assert module.main(30) > 0.95
    assert "training: 21 of 30" in capsys.readouterr().out
    bars: list[range] = []
    monkeypatch.setattr(running, "tqdm", lambda steps, **_: bars.append(steps) or steps)
    assert list(module.progress(range(3))) == [0, 1, 2] and bars == [range(3)]


def test_the_steps_of_the_convnet_are_clipped() -> None:
    module = load("small_convnet")
    net = module.ConvNet()
    with_loss = ms.nn.WithLossCell(net, ms.nn.CrossEntropyLoss())
    sgd = ms.nn.SGD(net.trainable_params(), 0.0)
    step = module.ClippedStep(with_loss, sgd, return_grad=True)
    images, labels = map(Tensor, module.drawn(8, 0))
    _, gradients = step(images * 100.0, labels)
    plain = ms.grad(with_loss, None, sgd.parameters)(images * 100.0, labels)
    size = np.sqrt(sum(float((g.asnumpy() ** 2).sum()) for g in plain))
    assert size > 1.0
    for clipped, gradient in zip(gradients.values(), plain):
        np.testing.assert_allclose(
            clipped.asnumpy(), gradient.asnumpy() / size, rtol=1e-3, atol=1e-6
        )


def test_the_tagger_remembers(capsys: pytest.CaptureFixture[str]) -> None:
    module = load("lstm_tagger")
    assert module.main() > 0.98
    loops = ["for t in range(1200):", "for t in reversed(range(1200)):"]
    # The rows of the table, four sequences at a time; i is a gate.
    loops += ["for i_1 in range(0, 16, 4):"]
    assert module.loops(1200) == loops
    assert "\n  ".join(loops) in capsys.readouterr().out


def glyphs(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten patterns of 8 x 8 pixels with noise, in the place of digits, and their numbers."""
    rng = np.random.default_rng(5)
    labels = np.arange(count, dtype=np.int32) % 10
    images = rng.integers(0, 2, (10, 1, 8, 8))[labels] + 0.2 * rng.normal(size=(count, 1, 8, 8))
    return images.astype(np.float32), labels


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "epochs"), [("lenet", 5), ("vision_transformer", 6), ("resnet", 2)]
)
def test_networks_that_read_digits(
    name: str, epochs: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = load(name)
    images, labels = glyphs(500)
    parts = images[:400], labels[:400], images[400:], labels[400:]
    monkeypatch.setattr(module, "digits", lambda: parts)
    assert module.main(epochs=epochs) > 0.9
    assert "of 100 digits that were held out" in capsys.readouterr().out


def test_the_transformer_shows_one_block() -> None:
    source = load("vision_transformer").gradient()
    assert source.count("def transformer_block_forward(") == 1
    assert source.count("= transformer_block_backward(") == 3


def test_the_line_is_found_and_dumped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = load("line_fit")
    running = importlib.import_module("running")
    monkeypatch.setattr("sys.argv", ["line_fit.py", "--epochs", "50"])
    running.start(module.main, module.gradient)
    text = capsys.readouterr().out
    w, b = map(float, re.findall(r"y = ([\d.]+) x \+ ([\d.]+)$", text.strip())[0])
    x, y = module.get_data(160)
    np.testing.assert_allclose((w, b), np.polyfit(x[:, 0], y[:, 0], 1), atol=0.05)
    monkeypatch.setattr("sys.argv", ["line_fit.py", "--dump"])
    running.start(module.main, module.gradient)
    assert "def with_loss_cell_backward(" in capsys.readouterr().out


@pytest.mark.thorough
def test_letters_are_foretold(capsys: pytest.CaptureFixture[str]) -> None:
    module = load("char_lstm")
    assert module.main(epochs=3) > 0.5
    assert len(module.written(module.CharLSTM(len(module.LETTERS)), "one", 20)) == 20
    assert module.gradient().count("for t in reversed(range(40)):") == 1


def test_what_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    running = importlib.import_module("running")
    monkeypatch.setattr(running, "load_digits", None)
    with pytest.raises(SystemExit, match=r"scikit-learn: pip install autodiff-compiler\[examples"):
        running.digits()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SystemExit, match="a plot needs matplotlib"):
        running.plot_losses([1.0], "loss.png", "")
