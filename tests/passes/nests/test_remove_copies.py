"""Copies disappear where the source stays as it is while they are read, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.loop_ir.accesses import local_buffers
from autodiff_compiler.loop_ir.printer import print_nests
from autodiff_compiler.loop_ir.reader import read_nests
from autodiff_compiler.loop_ir.verifier import verify_nests
from autodiff_compiler.passes.nests.remove_copies import remove_copies
from tests.loop_ir.interpreter import run_nests

HEAD = """\
func f(x: f64[12], k: i64) -> (y: f64[12]) {
  alloc t: f64[12]
  alloc u: f64[12]
"""
COPY = "for i in 0:12 {\n t[i] = x[i]\n }\n"
TRANSPOSE = "for i in 0:4 {\n for j in 0:3 {\n t[3*i + j] = x[i + 4*j]\n }\n }\n"
FILL = "for i in 0:12 {\n u[i] = x[i] * 2.0\n }\n"
FROM_U = "for i in 0:12 {\n t[i] = u[i]\n }\n"

#: Texts with one copy, and a piece of the text without it; nothing if the copy stays.
GONE = {
    COPY + "y[0] = t[3] + t[k]": "y[0] = x[3] + x[k]",
    COPY + "for i in 0:3 {\n y[i] = t[-4*i + 11]\n }": "y[i] = x[-4*i + 11]",
    TRANSPOSE + "for i in 0:4 {\n for j in 0:3 {\n y[3*i + j] = t[3*i + j]\n }\n }": "x[i + 4*j]",
    TRANSPOSE + "for j in 0:3 {\n y[j] = t[-j + 5]\n }": "y[j] = x[-4*j + 9]",
    TRANSPOSE + "for j in 0:3 {\n y[j] = t[3*k + j]\n }": "y[j] = x[k + 4*j]",
    FILL + FROM_U + "y[0] = t[k]": "y[0] = u[k]",
    FILL + FROM_U + "u[0] = 5.0\n y[0] = t[0] + u[0]": "",
    FILL + "for i in 0:12 {\n y[i] = u[i]\n }": "y[i] = x[i] * 2.0",
    FILL + "y[3] = 1.0\n for i in 0:12 {\n y[i] = u[i]\n }": "",
    TRANSPOSE + "for i in 0:12 {\n y[i] = t[i]\n }": "y[3*i + j] = x[i + 4*j]",
    TRANSPOSE + "y[0] = t[k]": "",
    TRANSPOSE + "y[0] = t[2] + t[3]": "y[0] = x[8] + x[1]",
    COPY + "t[3] = 0.0\n y[0] = t[3]": "",
    "for i in 0:11 {\n t[i] = x[i]\n }\n y[0] = t[0]": "",
    "for i in 0:12 {\n t[i] += x[i]\n }\n y[0] = t[0]": "",
    COPY + "u[0; 3x3 by 3,1] = t[0; 3x4 by 4,1] @ x[0; 4x3 by 3,1]\n y[0] = t[0]": "",
}


@pytest.mark.parametrize("text", GONE)
def test_one_copy(text: str) -> None:
    function = read_nests(HEAD + text + "\n}")
    after = remove_copies(function)
    verify_nests(after)
    assert GONE[text] in print_nests(after)
    assert (after is not function) is bool(GONE[text])


STATE = "for i in 0:4 {\n s[i] = x[i]\n }\n serial for k in 0:3 {\n%s\n}\n"
RETURN = "for i in 0:4 {\n y[i] = s[i]\n }"
NEXT = "for i in 0:4 {\n n[i] = x[4*k + i] * 2.0\n }\n"
CARRY = "for i in 0:4 {\n s[i] = n[i]\n }\n"
ROW = "for i in 0:4 {\n t[-4*k + i + 8] = n[i]\n }\n"
LAST = "for i in 0:12 {\n y[i] = t[-i + 11]\n }"
PRODUCT = "n[0; 4x1 by 1,0] = x[0; 4x4 by 1,0] @ s[0; 4x1 by 1,0]\n"

#: Texts of loops that carry ``s`` and compute ``n``, and a piece of the text without its copy.
#: Nothing if it stays.
STEPS = {
    STATE % (NEXT + CARRY) + RETURN: "s[i] = x[4*k + i] * 2.0",
    STATE % (NEXT + ROW + CARRY) + LAST: "s[i] = t[-4*k + i + 8]",
    STATE % (NEXT + ROW) + LAST: "t[-4*k + i + 8] = x[4*k + i] * 2.0",
    # the state is read before the new one is computed, and while it is
    STATE % ("y[k] = s[1]\n" + NEXT + CARRY) + "y[9] = s[0]": "s[i] = x[4*k + i] * 2.0",
    STATE % (NEXT + "y[k] = s[1]\n" + CARRY) + "y[9] = s[0]": "",
    STATE % (NEXT + CARRY + "y[k] = s[1] + n[1]") + "y[9] = s[0]": "y[k] = s[1] + s[1]",
    STATE % (NEXT + CARRY + "s[1] = 5.0\n y[k] = s[1] + n[1]") + "y[9] = s[0]": "",
    STATE % (NEXT + CARRY + "n[1] = 5.0\n y[k] = s[1] + n[1]") + "y[9] = s[0]": "",
    # a product has no operand in its result
    STATE % (PRODUCT + CARRY) + RETURN: "",
    # the next step reads elements that this step leaves as they were
    STATE % ("n[k] = x[k]\n" + CARRY) + RETURN: "",
    # the tape is read where the row comes, and elsewhere
    STATE % (NEXT + "y[k] = t[-4*k + 9]\n" + ROW) + LAST: "",
    STATE % (NEXT + "t[-4*k + 12] = 1.0\n" + ROW) + LAST: "t[-4*k + i + 8] = x[4*k + i] * 2.0",
    # the row is at a place that is computed after it
    STATE % (NEXT + "let p: i64 = index(k + k)\n for i in 0:4 {\n t[p + i] = n[i]\n }\n")
    + LAST: "",
    STATE % ("let p: i64 = index(k + k)\n" + NEXT + "for i in 0:4 {\n t[p + i] = n[i]\n }\n")
    + LAST: "t[p + i] = x[4*k + i] * 2.0",
    # a part of the temporary, and a part in another order
    STATE % (NEXT + "for i in 0:3 {\n t[4*k + i] = n[i]\n }\n") + LAST: "",
    STATE % (NEXT + "for i in 0:4 {\n t[4*k + i] = n[-i + 3]\n }\n") + LAST: "",
}


@pytest.mark.parametrize("text", STEPS)
def test_steps_of_time(text: str) -> None:
    head = "func f(x: f64[16]) -> (y: f64[12]) {\n"
    local = "alloc s: f64[4]\n alloc n: f64[4]\n alloc t: f64[13]\n"
    start = "for i in 0:12 {\n y[i] = 0.0\n }\n for i in 0:13 {\n t[i] = 0.0\n }\n"
    function = read_nests(f"{head}{local}{start}{text}\n}}")
    after = remove_copies(function)
    verify_nests(after)
    assert STEPS[text] in print_nests(after)
    assert ("n" in {each.name for each in local_buffers(after)}) is not bool(STEPS[text])
    inputs = [np.arange(16.0) / 7.0 - 1.0]
    np.testing.assert_array_equal(run_nests(after, inputs)[0], run_nests(function, inputs)[0])


def test_parts_are_computed_in_the_joined_array() -> None:
    parts = "for i in 0:6 {\n t[i] = exp(x[i])\n }\n for i in 0:6 {\n u[i] = -x[i + 6]\n }\n"
    join = "for i in 0:6 {\n y[i] = t[i]\n }\n for i in 0:6 {\n y[i + 6] = u[i]\n }\n"
    head = HEAD.replace("f64[12]\n  alloc u: f64[12]", "f64[6]\n  alloc u: f64[6]")
    function = read_nests(f"{head}{parts}{join}}}")
    after = remove_copies(function)
    assert [*local_buffers(after)] == []
    x = np.arange(12.0) / 5.0
    (result,) = run_nests(after, [x, 0])
    np.testing.assert_allclose(result, [*np.exp(x[:6]), *-x[6:]], rtol=1e-15)


def test_an_rnn_has_no_copies() -> None:
    """Each product is computed where it is used, and each gradient in its result."""

    def rnn(x, u, h):
        for k in range(6):
            h = np.tanh(x[k] + h @ u)
        return np.sum(h * h)

    rng = np.random.default_rng(1)
    x, u, h = rng.normal(size=(6, 4)), rng.normal(size=(4, 4)), rng.normal(size=4)
    text = ms.gradient_source(rnn, x, u, h, get_all=True, target="c", stage="nests")
    copies = [line.split("#")[0].strip() for line in text.splitlines() if " = h[i]" in line]
    assert copies == ["h.1[i] = h[i]"]  # the argument is not written
    gradients = run_nests(read_nests(text), [x.ravel(), u.ravel(), h])
    for place, gradient in enumerate(gradients):
        step = 1e-6
        for number in range(0, gradient.size, 3):
            moved = []
            for sign in (1, -1):
                given = [x.copy(), u.copy(), h.copy()]
                given[place].flat[number] += sign * step
                moved.append(rnn(*given))
            slope = (moved[0] - moved[1]) / (2 * step)
            np.testing.assert_allclose(gradient[number], slope, rtol=1e-6, atol=1e-8)


SERIAL = """\
func f(x: f64[12]) -> (y: f64[12]) {
  alloc state: f64[4]
  alloc next: f64[4]
  for i in 0:4 {
    state[i] = x[i]
  }
  serial for k in 0:3 {
    for i in 0:4 {
      next[i] = state[-i + 3] + x[4*k + i]
    }
    for i in 0:4 {
      state[i] = next[i]
    }
  }
  for i in 0:4 {
    y[i] = state[i]
  }
}
"""


def test_a_carried_array_is_copied() -> None:
    function = read_nests(SERIAL)
    after = remove_copies(function)
    verify_nests(after)
    values = np.arange(12.0)
    (result,) = run_nests(after, [values])
    np.testing.assert_array_equal(result[:4], run_nests(function, [values])[0][:4])
    assert "state[i] = next[i]" in print_nests(after)
