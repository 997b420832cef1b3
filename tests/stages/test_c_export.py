"""An exported C program is complete: it compiles, and its self-test compares with NumPy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.cost_model import changed_costs
from autodiff_compiler.emit.c.formula import formula_for
from autodiff_compiler.errors import CallError
from autodiff_compiler.runtime.native import Compiler
from tests.emit.c.exported import (
    SANITIZED,
    STRICT,
    assert_passes,
    can_sanitize,
    compiled,
    export,
    numbers,
    run,
)

X = np.array([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]])
SMALL = np.array([0.5, -2.0, 1.5])
LARGE = np.cos(np.arange(9000.0)).reshape(3, 3000)
PLACES, MASK, SCALE = np.array([2, 0, 2], np.int32), np.array([True, False, True]), np.array(1.25)


def energy(x, y):
    return np.sum(np.sin(x) * y**2)


def test_a_plain_function(c_compiler: Compiler, tmp_path: Path) -> None:
    path = export(tmp_path, energy, X, 2 * X, value=True, get_all=True)
    text = assert_passes(c_compiler, path)
    assert path.read_text() == ms.gradient_source(
        energy, X, 2 * X, target="c", value=True, get_all=True
    )
    np.testing.assert_array_equal(numbers(text, "in_x"), X.ravel())
    slopes = np.cos(X) * (2 * X) ** 2, 2 * np.sin(X) * (2 * X)
    np.testing.assert_allclose(numbers(text, "recorded_d_x"), slopes[0].ravel(), rtol=1e-14)
    np.testing.assert_allclose(numbers(text, "recorded_d_y"), slopes[1].ravel(), rtol=1e-14)
    np.testing.assert_allclose(numbers(text, "recorded_out"), energy(X, 2 * X), rtol=1e-14)
    header = path.with_suffix(".h").read_text()
    assert "   d_x  out  f64[2,3]  gradient of x\n" in header
    assert "#define NET_WORKSPACE_BYTES 0\n" in header and "Services" not in header


@pytest.mark.parametrize("name", ["out", "d_x", "d_y"])
def test_a_damaged_number_fails(c_compiler: Compiler, tmp_path: Path, name: str) -> None:
    path = export(tmp_path, energy, X, 2 * X, value=True, get_all=True)
    main = path.with_name("net_main.c")
    before = main.read_text()
    right = float(numbers(before, f"recorded_{name}")[-1])
    damaged = right * (1 + 1e-6)
    place = before.index(repr(right), before.index(f" recorded_{name}["))
    main.write_text(f"{before[:place]}{damaged!r}{before[place + len(repr(right)) :]}")
    outcome = run(compiled(c_compiler, tmp_path, "net.c", "net_main.c"), "--self-test")
    element = "out" if name == "out" else f"{name}[1,2]"
    first, last = outcome.stdout.splitlines()
    assert first.startswith(f"{element}: expected {damaged:.17g}, actual ")
    np.testing.assert_allclose(float(first.rpartition(" ")[2]), right, rtol=1e-14)
    assert (outcome.returncode, last) == (1, "1 of 13 numbers deviate")


def test_without_an_option_the_usage_is_printed(c_compiler: Compiler, tmp_path: Path) -> None:
    export(tmp_path, energy, X, X)
    program = compiled(c_compiler, tmp_path, "net.c", "net_main.c")
    for options in ((), ("--help",), ("--self-test", "--self-test")):
        outcome = run(program, *options)
        assert outcome.returncode == 2 and "--self-test" in outcome.stderr


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(np.array([[0.5, -0.2], [0.1, 0.4], [0.3, 0.9]], np.float32), name="w")
        self.offset = Tensor(np.array([0.5, -0.25], np.float32))

    def construct(self, x):
        return ops.tanh(ops.matmul(x, self.w) + self.offset)


def test_a_cell_with_its_weights(c_compiler: Compiler, tmp_path: Path) -> None:
    net, x = Net(), X.astype(np.float32)
    path = export(tmp_path, net, Tensor(x), value=True, weights="trainable", position=0)
    text = assert_passes(c_compiler, path, STRICT)
    np.testing.assert_array_equal(numbers(text, "in_w").astype(np.float32), net.w.asnumpy().ravel())
    out = np.tanh(x @ net.w.asnumpy() + net.offset.asnumpy())
    np.testing.assert_allclose(numbers(text, "recorded_d_w"), (x.T @ (1 - out**2)).ravel(), 1e-5)
    np.testing.assert_array_equal(numbers(path.read_text(), "offset"), [0.5, -0.25])
    header = path.with_suffix(".h").read_text()
    assert "w    in   f32[3,2]  Parameter\n" in header and "float *offset" not in header


def test_a_given_sensitivity_is_the_last_argument(c_compiler: Compiler, tmp_path: Path) -> None:
    net = Net()
    path = export(
        tmp_path,
        net,
        Tensor(X.astype(np.float32)),
        weights="trainable",
        sens_param=True,
        value=True,
    )
    text = assert_passes(c_compiler, path, STRICT)
    source, header = path.read_text(), path.with_suffix(".h").read_text()
    assert source.count("int32_t net_grad(") == 1 and "net_forward" not in source
    assert header.count("in   f32[2,2]  sensitivity: the gradient of the value\n") == 1
    out, sens = numbers(text, "recorded_out"), formula_for("float32", 3).array("float32", (2, 2))
    d_w = X.T @ ((1 - out**2).reshape(2, 2) * sens)
    np.testing.assert_allclose(numbers(text, "recorded_d_w"), d_w.ravel(), 1e-5)


def root(x, y):
    while np.sum(x * x) > 1.0:
        x = 0.5 * x * np.cos(y)
    return np.sum(x * y)


def test_a_loop_whose_tape_grows(c_compiler: Compiler, tmp_path: Path) -> None:
    path = export(tmp_path, root, 40 * X, 0.1 * X, value=True, get_all=True)
    text = assert_passes(c_compiler, path)
    x, factor, turns = 40 * X, 1.0, 0
    while np.sum(x * x) > 1.0:
        x, factor, turns = 0.5 * x * np.cos(0.1 * X), factor * 0.5 * np.cos(0.1 * X), turns + 1
    assert turns > 3
    np.testing.assert_allclose(numbers(text, "recorded_d_x"), (factor * 0.1 * X).ravel())
    header = path.with_suffix(".h").read_text()
    assert "const Services *services);" in header and "reallocate of the services" in header


def two_products(x, w):
    return np.sum(np.tanh(x @ w) @ w.T * x)


def test_large_products_without_a_blas(c_compiler: Compiler, tmp_path: Path) -> None:
    with changed_costs(blas_product_terms=2**20):
        path = export(tmp_path, two_products, "f32[130,128]", "f32[128,140]", get_all=True)
    text = assert_passes(c_compiler, path)
    header = path.with_suffix(".h").read_text()
    assert "large_product_f32(services" in path.read_text() and "void *workspace);" in header
    assert "Of large arrays, some elements are compared." in text
    assert "NET_WORKSPACE_BYTES 0" not in header


def test_the_workspace_is_not_exceeded(c_compiler: Compiler, tmp_path: Path) -> None:
    with changed_costs(stack_bytes=0):
        path = export(tmp_path, two_products, "f64[13,7]", "f64[7,9]", get_all=True)
    assert_passes(c_compiler, path)
    assert "NET_WORKSPACE_BYTES 0" not in path.with_suffix(".h").read_text()


def chosen(x, count, flag, places, mask):
    for _ in range(count):
        x = x * 1.5
    picked = x[places]
    if flag:
        picked = np.where(mask, picked, -picked)
    return np.sum(picked * np.arange(3.0))


@pytest.mark.parametrize("given", [True, False])
def test_integers_and_bools_as_arguments(c_compiler: Compiler, tmp_path: Path, given: bool) -> None:
    values = SMALL, 2, "bool", PLACES, MASK
    types = "f64[3]", "int", "bool", "i32[3]", "bool[3]"
    path = export(tmp_path, chosen, *(values if given else types), value=True)
    text = assert_passes(c_compiler, path, STRICT)
    assert "static const bool in_flag = 1;" in text
    if given:
        signs = np.where(MASK, 1.0, -1.0)
        wanted = np.bincount(PLACES, 1.5**2 * signs * np.arange(3.0), 3)
        np.testing.assert_array_equal(numbers(text, "in_places"), PLACES)
        np.testing.assert_allclose(numbers(text, "recorded_d_x"), wanted)


def test_integers_and_bools_as_results(c_compiler: Compiler, tmp_path: Path) -> None:
    def compare(x, k):
        return x > 0.5, k * 3 - 1, np.argmax(x), np.sum(k)

    path = export(tmp_path, compare, SMALL, np.array([-7, 2**62 - 1, 5]), mode="value")
    text = assert_passes(c_compiler, path, STRICT)
    results = [line for line in text.splitlines() if " recorded_" in line]
    assert results[0].startswith("static const uint8_t") and results[0].endswith("{0, 0, 1};")
    np.testing.assert_array_equal(numbers(text, "recorded_out_1"), [-22, 3 * 2**62 - 4 - 2**64, 14])


def from_outside(x):
    steps = np.array([1, 2, 4], np.int64)
    inner = np.sum(np.sin(x @ LARGE)) * SCALE + np.sum(x[PLACES] * steps)
    return inner + np.sum(np.where(MASK, x * SMALL, 0.0))


def test_outside_arrays_stand_in_the_file(c_compiler: Compiler, tmp_path: Path) -> None:
    path = export(tmp_path, from_outside, SMALL, value=True)
    text = assert_passes(c_compiler, path, STRICT)
    source = path.read_text()
    np.testing.assert_array_equal(numbers(source, "LARGE"), LARGE.ravel())
    np.testing.assert_array_equal(numbers(source, "PLACES"), PLACES)
    assert "int32_t from_outside_grad(const double *restrict x, double *restrict out" in source
    slope = np.cos(SMALL @ LARGE) @ LARGE.T * SCALE + MASK * SMALL
    slope += np.bincount(PLACES, [1, 2, 4], 3)
    np.testing.assert_allclose(numbers(text, "recorded_d_x"), slope, rtol=1e-9)
    np.testing.assert_allclose(numbers(text, "recorded_out"), from_outside(SMALL), rtol=1e-12)


def test_arrays_without_axes(c_compiler: Compiler, tmp_path: Path) -> None:
    def volume(r, h):
        return r * r * h, r + h

    path = export(tmp_path, volume, np.array(1.5), 2.5, value=True, has_aux=True, get_all=True)
    text = assert_passes(c_compiler, path, STRICT)
    for name, wanted in (("out", 1.5**2 * 2.5), ("d_r", 7.5), ("d_h", 2.25)):
        assert numbers(text, f"recorded_{name}") == wanted
    assert "double h, double *out" in path.with_suffix(".h").read_text()
    path = export(tmp_path, volume, "f32[]", "f64[]", mode="forward")
    assert_passes(c_compiler, path, STRICT)


def checked(x):
    if np.sum(x) > 100.0:
        raise ValueError('too /* large */ \\ "?')
    return x[0] ** 2 + x[2] ** 2


CALL = """\
#include <stdio.h>
#include "net.h"
int main(void) {
  double x[3] = {1.0, 2.0, 400.0}, d_x[3];
  printf("%d", (int)checked_grad(x, d_x));
  x[2] = 3.0;
  if (checked_grad(x, d_x)) return 1;
  printf(" %g %g %g", d_x[0], d_x[1], d_x[2]);
  return 0;
}
"""


def test_a_function_that_raises_returns_an_error(c_compiler: Compiler, tmp_path: Path) -> None:
    path = export(tmp_path, checked, SMALL)
    assert_passes(c_compiler, path, STRICT)
    assert '    16  ValueError: too / * large * / \\ "?\n' in path.with_suffix(".h").read_text()
    (tmp_path / "call.c").write_text(CALL)
    program = compiled(c_compiler, tmp_path, "net.c", "call.c", flags=STRICT)
    assert run(program).stdout == "16 2 0 6"
    main = path.with_name("net_main.c")
    main.write_text(main.read_text().replace("in_x[3] = {0.5", "in_x[3] = {500.5"))
    outcome = run(compiled(c_compiler, tmp_path, "net.c", "net_main.c"), "--self-test")
    message = 'checked_grad returned the error 16: ValueError: too /* large */ \\ "?\n'
    assert (outcome.returncode, outcome.stdout) == (1, message)


def test_arguments_for_which_numpy_raises_are_refused(tmp_path: Path) -> None:
    def positive(x, y):
        if np.sum(x) < 10.0:
            raise ValueError("too small")
        return np.sum(x * y)

    with pytest.raises(CallError, match="NumPy raises ValueError: too small") as refused:
        export(tmp_path, positive, "f64[2]", "f64[2]")
    assert "give values of x, y" in str(refused.value)
    with pytest.raises(CallError, match="give other values"):
        export(tmp_path, positive, SMALL, SMALL)
    with pytest.raises(CallError, match="NumPy returns NaN") as refused:
        export(tmp_path, lambda x, y: np.sum(np.log(y - 2.0) + x), SMALL, "f64[3]", value=True)
    assert "give values of y" in str(refused.value)
    assert not [*tmp_path.iterdir()]


def test_what_has_no_c_text_is_refused(tmp_path: Path) -> None:
    def pseudoinverse(x):
        return np.sum(np.linalg.pinv(x) ** 2)

    with pytest.raises(CallError, match="this function has no C text: pinv"):
        export(tmp_path, pseudoinverse, np.eye(2))
    with pytest.raises(CallError, match=r"this function has no C text: a value of type f64\[n\]"):
        export(tmp_path, energy, "f64[n]", "f64[n]")
    with pytest.raises(CallError, match=r"use '.*net\.c'"):
        ms.export_source(energy, tmp_path / "net.py", X, X, target="c")
    with pytest.raises(OSError):
        ms.export_source(energy, tmp_path / "none" / "net.c", X, X, target="c")
    assert not [*tmp_path.iterdir()]


def exp(new, int64_t, uint8_t, Services):
    return np.sum(np.sin(new) * int64_t + uint8_t * Services)


@pytest.mark.thorough
@pytest.mark.parametrize("fn", [root, chosen, two_products, Net], ids=lambda fn: fn.__name__)
def test_sanitizers_object_to_nothing(fn, c_compiler: Compiler, tmp_path: Path) -> None:
    if not can_sanitize(c_compiler, tmp_path):
        pytest.skip("the compiler has no sanitizers")
    inputs = {
        root: ("f64[5,3]", "f64[5,3]"),
        chosen: (SMALL, "int", "bool", PLACES, MASK),
        two_products: ("f32[13,7]", "f32[7,9]"),
        Net: ("f32[2,3]",),
    }
    function = fn() if fn is Net else fn
    with changed_costs(stack_bytes=0, blas_product_terms=100):
        path = export(tmp_path, function, *inputs[fn], sens_param=fn is Net)
    assert_passes(c_compiler, path, SANITIZED)


def test_names_of_c_its_libraries_and_cplusplus(c_compiler: Compiler, tmp_path: Path) -> None:
    y1 = np.array([0.5, 2.0])

    def main(x):
        return np.sum(x * y1)

    assert_passes(c_compiler, export(tmp_path, exp, *["f64[2]"] * 4, mode="value"), STRICT)
    assert_passes(c_compiler, export(tmp_path, main, "f64[2]", mode="value"), STRICT)


def test_equal_programs_have_equal_files(tmp_path: Path) -> None:
    path = export(tmp_path, root, "f64[2,3]", "f64[2,3]", get_all=True)
    names = ("net.c", "net.h", "net_main.c")
    before = [path.with_name(name).read_bytes() for name in names]
    export(tmp_path, root, "f64[2,3]", "f64[2,3]", get_all=True)
    assert before == [path.with_name(name).read_bytes() for name in names]


CPLUSPLUS = """\
#include <cstdio>
#include <cstdlib>
#include "first.h"
#include "second.h"
static void *reallocate(const Services *, void *memory, int64_t bytes) {
  return std::realloc(memory, bytes);
}
int main() {
  double x[2] = {8.0, 3.0}, y[2] = {0.0, 0.0}, one[2], two[2];
  Services services = {reallocate, 0, 0, 0, 0};
  if (root_grad(x, y, one, &services) || shrunk_grad(x, two, &services)) return 1;
  std::printf("%g %g %.12f %.12f", one[0], one[1], two[0], two[1]);
}
"""


def shrunk(new):
    while np.sum(new) > 1.0:
        new = np.sin(new)
    return np.sum(new)


def test_two_headers_in_a_program_of_cplusplus(c_compiler: Compiler, tmp_path: Path) -> None:
    ms.export_source(root, tmp_path / "first.c", "f64[2]", "f64[2]", position=1, target="c")
    ms.export_source(shrunk, tmp_path / "second.c", "f64[2]", target="c")
    header = (tmp_path / "second.h").read_text()
    assert '#ifdef __cplusplus\nextern "C" {\n#endif\n' in header and "double *new_" in header
    if (cplusplus := shutil.which("g++")) is None:
        return
    (tmp_path / "call.cpp").write_text(CPLUSPLUS)
    for command in (
        [*c_compiler.command, "-O1", "-c", "first.c", "second.c"],
        [cplusplus, "-Wall", "-Werror", "-o", "call", "call.cpp", "first.o", "second.o", "-lm"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    first = np.cos(8.0) * np.cos(np.sin(8.0)), np.cos(3.0) * np.cos(np.sin(3.0))
    assert run(tmp_path / "call").stdout == f"0.5 0.1875 {first[0]:.12f} {first[1]:.12f}"


def test_the_pytest_fixture_compares_all_files(pytester: pytest.Pytester) -> None:
    suite = """
        import numpy as np

        def loss(x):
            return np.sum(np.sin(x) * {factor})

        def test_committed(gradient_file):
            gradient_file(loss, "f64[3]", path="loss.c", target="c")
    """
    pytester.makepyfile(test_loss=suite.format(factor=2.0))
    pytester.runpytest_inprocess("--write-gradients").assert_outcomes(passed=1)
    header = pytester.path / "loss.h"
    header.write_text(header.read_text().replace("f64[3]", "f64[4]"))
    stale = pytester.runpytest_inprocess()
    stale.stdout.fnmatch_lines(["loss.h no longer matches the gradient of its code*"])


pytest_plugins = "pytester"
