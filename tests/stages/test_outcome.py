"""The choice of the target, and what happens where there is no C."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, cli, nn, ops
from autodiff_compiler.api import RUNTIME
from autodiff_compiler.errors import CallError, SensitivityError
from autodiff_compiler.runtime.native import Compiler, NativeUnavailable, build, errors, function
from autodiff_compiler.stages import native

X = np.array([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]])


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Each test leaves the settings as they were."""
    before = ms.get_context("target")
    ms.compile_info().clear()
    yield
    ms.set_context(target=before)


#: For tests of compiled C: they are left out where there is no compiler.
needs_compiler = pytest.mark.usefixtures("c_compiler")


def last() -> ms.api.CachedUnit:
    """Returns the unit that was called or compiled last."""
    return ms.compile_info().units[-1]


def energy(x, y):
    return np.sum(np.sin(x) * y**2)


@needs_compiler
def test_a_setting_chooses_the_target() -> None:
    gradient = ms.grad(energy, (0, 1))(X, X)
    assert last().target == "numpy" and last().source.startswith('"""Gradient')
    ms.set_context(target="c")
    d_x, d_y = ms.grad(energy, (0, 1))(X, X)
    assert last().target == "c" and "#include <stdint.h>" in last().source
    np.testing.assert_allclose(d_x, np.cos(X) * X**2, rtol=1e-14)
    np.testing.assert_allclose(d_y, 2 * np.sin(X) * X, rtol=1e-14)
    np.testing.assert_allclose(gradient, (d_x, d_y), rtol=1e-14)


@needs_compiler
def test_a_decorator_chooses_the_target_of_one_function() -> None:
    compiled = ms.differentiable(target="c")(energy)
    assert ms.jit(target="numpy")(lambda x: x * 2)(X).sum() == 2 * X.sum()
    assert last().target == "numpy"
    for _ in range(3):  # the third call takes the fast path
        np.testing.assert_allclose(compiled(X, X), energy(X, X), rtol=1e-14)
    (unit,) = [unit for unit in ms.compile_info().units if unit.title.startswith("energy")]
    assert (unit.target, unit.calls) == ("c", 3)
    energy.__dict__.clear()


@ms.differentiable(target="c")
class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(np.array([[0.5, -0.2], [0.1, 0.4], [0.3, 0.9]], np.float32), name="w")

    def construct(self, x):
        return ops.tanh(ops.matmul(x, self.w))


@needs_compiler
def test_a_cell_its_weights_and_a_given_sensitivity() -> None:
    net, x = Net(), Tensor(X.astype(np.float32))
    sens = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
    inputs, (d_w,) = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(
        net, net.trainable_params()
    )(x, Tensor(sens))
    assert last().target == "c" and last().fallback == ""
    inner = sens * (1 - np.tanh(x.asnumpy() @ net.w.asnumpy()) ** 2)
    np.testing.assert_allclose(d_w.asnumpy(), x.asnumpy().T @ inner, rtol=1e-5)
    np.testing.assert_allclose(inputs[0].asnumpy(), inner @ net.w.asnumpy().T, rtol=1e-5)
    assert isinstance(d_w, Tensor) and d_w.dtype == ms.float32


def compiled_functions() -> list[int]:
    """Returns the numbers of C functions of all compiled units."""
    return [len(unit.compiled.native) for unit in RUNTIME.cache.all()]


@needs_compiler
def test_a_given_sensitivity_makes_one_function_and_a_pullback_two() -> None:
    ms.set_context(target="c")

    def both(x, k):
        return np.sin(x) * k, np.sum(x * x)

    seeds, direction = (2 * X, np.array(3.0)), np.cos(X) * 2 * X
    gradient = ms.value_and_grad(both, (0, 1), sens_param=True)
    for _ in range(3):
        value, (d_x, d_k) = gradient(X, 2.0, seeds)
        np.testing.assert_allclose(value[0], 2 * np.sin(X), rtol=1e-14)
        np.testing.assert_allclose(d_x, 2 * direction + 6 * X, rtol=1e-13)
        np.testing.assert_allclose((value[1], d_k), (np.sum(X**2), np.sum(2 * X * np.sin(X))))
    assert compiled_functions() == [1]
    d_x, _ = ms.grad(both, (0,), has_aux=True, sens_param=True)(X, 2.0, X)
    np.testing.assert_allclose(d_x, 2 * np.cos(X) * X, rtol=1e-14)
    value, pull = ms.vjp(both, X, 2.0)
    for scale in (1.0, -2.0):  # one forward serves several sensitivities
        d_x, d_k = pull(scale * seeds[0], scale * seeds[1])
        np.testing.assert_allclose(d_x, scale * (2 * direction + 6 * X), rtol=1e-13)
    assert compiled_functions() == [1, 1, 2]
    with pytest.raises(SensitivityError, match="should have the shape"):
        gradient(X, 2.0, (X[:1], np.array(3.0)))


@needs_compiler
def test_a_sensitivity_for_a_number() -> None:
    ms.set_context(target="c")
    gradient = ms.grad(lambda k, n: k**n, sens_param=True)
    for sens in (2.0, 3, np.float64(2.0)):
        np.testing.assert_allclose(gradient(1.5, 3, sens), sens * 3 * 1.5**2, rtol=1e-14)
    assert compiled_functions() == [1]


@needs_compiler
def test_every_transform_runs_as_c() -> None:
    ms.set_context(target="c")
    direction = np.ones_like(X)
    value, dot = ms.jvp(energy, (X, X), (direction, direction))
    slope = np.cos(X) * X**2 + 2 * np.sin(X) * X
    np.testing.assert_allclose((value, dot), (energy(X, X), slope.sum()), rtol=1e-14)
    assert last().target == "c"
    value, pull = ms.vjp(energy, X, X)
    np.testing.assert_allclose(pull(2.0)[0], 2 * np.cos(X) * X**2, rtol=1e-14)
    assert last().target == "c"
    curvature = ms.grad(lambda x: np.sum(ms.grad(energy)(x, x) * direction))(X)
    np.testing.assert_allclose(curvature, -np.sin(X) * X**2 + 2 * np.cos(X) * X, rtol=1e-13)
    assert last().target == "c"


def test_results_own_their_memory_and_arguments_stay() -> None:
    ms.set_context(target="c")
    gradient, x = ms.grad(energy), X.copy()
    first = gradient(x, x)
    again = gradient(x * 2, x)
    assert not np.shares_memory(first, again) and first.flags.owndata
    np.testing.assert_allclose(first, np.cos(X) * X**2, rtol=1e-14)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_allclose(gradient(x.T[::-1], x.T[::-1]), np.cos(X.T[::-1]) * X.T[::-1] ** 2)


@needs_compiler
def test_a_number_and_a_loop_of_unknown_length() -> None:
    ms.set_context(target="c")

    def root(x, steps):
        y = x
        while y * y - x > 1e-9:
            y = 0.5 * (y + x / y)
        for _ in range(steps):
            y = y + 0.0 * x
        return y

    value, slope = ms.value_and_grad(root)(7.0, 3)
    assert last().target == "c"
    np.testing.assert_allclose((value, slope), (7**0.5, 0.5 / 7**0.5), rtol=1e-6)


def test_a_function_without_c_runs_as_numpy_and_says_why() -> None:
    ms.set_context(target="c")

    def of_complex(x):
        return np.sum(np.abs(np.exp(1j * x) + x))

    numbers = np.array([0.3, 0.8])
    slope = ms.grad(of_complex)(numbers)
    steps = [
        (of_complex(numbers + 1e-6 * e) - of_complex(numbers - 1e-6 * e)) / 2e-6 for e in np.eye(2)
    ]
    np.testing.assert_allclose(slope, steps, rtol=1e-8)
    assert last().target == "numpy" and last().fallback
    assert last().fallback in str(ms.compile_info())
    with pytest.raises(CallError, match="this function has no C text"):
        ms.gradient_source(of_complex, numbers, target="c")


def test_without_a_compiler_numpy_runs_after_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_compiler(folder: str | None) -> None:
        raise NativeUnavailable("no C compiler was found here")

    monkeypatch.setattr(native, "find_compiler", no_compiler)
    monkeypatch.setattr(errors, "_warned", set())
    ms.set_context(target="c")
    with pytest.warns(UserWarning, match="no C compiler was found here; NumPy source runs"):
        ms.grad(energy)(X, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(ms.grad(energy, 1)(X, X), 2 * np.sin(X) * X)
    assert last().target == "numpy" and last().fallback == "no C compiler was found here"


class FullDisk:
    """A temporary folder on a full disk."""

    def __truediv__(self, name: str) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("fault", ["full disk", "lost compiler", "killed compiler", "not loaded"])
def test_numpy_runs_if_the_compiler_cannot_finish(
    monkeypatch: pytest.MonkeyPatch, c_compiler: Compiler, fault: str
) -> None:
    """One warning says so, and results are those of NumPy source."""

    def refuse(*arguments: object) -> None:
        raise OSError("cannot map")

    def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        if fault == "lost compiler":
            raise FileNotFoundError("no such program")
        return subprocess.CompletedProcess(command, -9, "", "")

    if fault == "full disk":
        monkeypatch.setattr(build, "new_folder", FullDisk)
    elif fault == "not loaded":
        monkeypatch.setattr(build, "Library", refuse)
    else:
        monkeypatch.setattr(build, "run_compiler", run)
    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.setattr(function, "_IN_USE", WeakValueDictionary())
    ms.set_context(target="c")
    with pytest.warns(UserWarning, match="NumPy source runs instead of C") as caught:
        for position, slope in enumerate([np.cos(X) * X**2, 2 * np.sin(X) * X]):
            np.testing.assert_allclose(ms.grad(energy, position)(X, X), slope, rtol=1e-14)
    assert len(caught) == 1
    for unit in ms.compile_info().units:
        assert unit.target == "numpy" and unit.fallback in str(caught[0].message)
    ms.compile_info().clear()
    monkeypatch.undo()
    ms.grad(energy)(X, X)
    assert last().target == "c" and last().fallback == ""


@needs_compiler
def test_the_source_is_what_runs_and_the_same_every_time() -> None:
    text = ms.gradient_source(energy, X, X, target="c")
    assert text == ms.gradient_source(energy, X, X, target="c")
    assert "int32_t energy_grad(const double *restrict x, const double *restrict y" in text
    ms.set_context(target="c")
    gradient = ms.grad(energy)
    gradient(X, X)
    assert gradient.source == text


@pytest.mark.parametrize("target", ["fortran", None, 3])
def test_other_targets_are_refused(target: object) -> None:
    with pytest.raises(ValueError, match="'target' should be one of"):
        ms.set_context(target=target)
    if target is not None:
        with pytest.raises(CallError, match="there is no target"):
            ms.gradient_source(energy, X, X, target=target)
        with pytest.raises(ValueError, match="'target' should be one of"):
            ms.differentiable(target=target)(energy)


@pytest.mark.parametrize(("value", "target"), [("c", "c"), ("C", "c"), ("", "numpy")])
def test_the_environment_sets_the_target(value: str, target: str) -> None:
    code = "import autodiff_compiler as ms; print(ms.get_context('target'))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "AUTODIFF_TARGET": value},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == target


def test_an_unknown_target_in_the_environment_is_warned_of() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import autodiff_compiler"],
        env={**os.environ, "AUTODIFF_TARGET": "rust"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "AUTODIFF_TARGET is 'rust', and has no effect" in run.stderr


def test_the_command_line_prints_c(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "energy.py"
    file.write_text("import numpy as np\n\n\ndef energy(x):\n    return np.sum(x * x)\n")
    call = ["dump", f"{file}:energy", "--input", "f64[4]", "--target", "c"]
    assert cli.main(call) == 0
    text = capsys.readouterr().out
    assert "int32_t energy_grad(const double *restrict x" in text
    assert cli.main([*call, "--out", str(tmp_path / "net.c")]) == 0
    assert (tmp_path / "net.c").read_text() == text
    assert "f64[4]  gradient of x" in (tmp_path / "net.h").read_text()
    assert "--self-test" in (tmp_path / "net_main.c").read_text()
    assert cli.main([*call, "--out", str(tmp_path / "net.txt")]) == 1
    assert "use '" in capsys.readouterr().err


def test_an_export_is_numpy_source_unless_it_asks_for_c(tmp_path: Path) -> None:
    ms.set_context(target="c")
    ms.export_source(energy, tmp_path / "energy.py", X, X)
    assert "import numpy as np" in (tmp_path / "energy.py").read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["energy.py"]


@needs_compiler
def test_names_of_c_never_meet() -> None:
    """Names of the user are changed where C, its library or the printed file has them."""
    ms.set_context(target="c")

    def random(sin_f64, d_out, restrict, d_out_1):
        exp = np.sin(sin_f64) * d_out
        return np.sum(exp * restrict) + np.sum(d_out_1 * exp)

    arguments = [np.array([0.3, 0.8]) + k for k in range(4)]
    slopes = ms.grad(random, (0, 1, 2, 3))(*arguments)
    assert last().target == "c"
    a, b, c, d = arguments
    wanted = (np.cos(a) * b * (c + d), np.sin(a) * (c + d), np.sin(a) * b, np.sin(a) * b)
    np.testing.assert_allclose(slopes, wanted, rtol=1e-14)
    np.testing.assert_allclose(ms.jit(random)(*arguments), random(*arguments), rtol=1e-14)

    def pair(out):
        return out * 2, out * 3

    _, pull = ms.vjp(pair, a)
    np.testing.assert_allclose(pull((b, c))[0], 2 * b + 3 * c, rtol=1e-14)
    assert last().target == "c"


def test_a_target_that_would_have_no_effect_is_refused() -> None:
    def square(x):
        return x * x

    with pytest.raises(TypeError, match="to the function that is differentiated"):
        ms.jit(ms.grad(square), target="c")
    with pytest.raises(TypeError, match="a function or a class of Cells can have a target"):
        ms.jit(Path("a").joinpath, target="c")
    ms.jit(square, target="c")
    with pytest.raises(ValueError, match="has the target 'c', and cannot have 'numpy' as well"):
        ms.jit(square, target="numpy")
