"""Copies and views of NumPy's functions. The table is compared with ``np.shares_memory``. Compiled
programs are compared with Python, with a write to either side afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.frontend.abstract.numpy_layouts import reshaped_layout, row_major
from autodiff_compiler.frontend.numpy_rules import copies_and_views
from autodiff_compiler.frontend.numpy_rules.copies_and_views import COPY, PERHAPS, VIEW
from autodiff_compiler.frontend.numpy_rules.names import ARRAY_METHODS, ARRAY_PROPERTIES, NUMPY
from tests.frontend.written_programs import problems, program, refused

#: An example of each function, of a matrix ``m`` of three rows; several where it may be a view.
FUNCTIONS = {
    "all": "m > 0", "allclose": "m, m", "amax": "m, 0", "amin": "m, 0", "angle": "m",
    "any": "m > 0", "append": "m, m, 0", "argmax": "m", "argmin": "m", "argsort": "m",
    "around": "m", "average": "m[None], 0", "clip": "m, -90, 90", "column_stack": "[m]",
    "concatenate": "[m]", "convolve": "m[0], m[1]", "copy": "m", "count_nonzero": "m",
    "cross": "m, m[0]", "cumprod": "m[None], 0", "cumsum": "m[None], 0", "dot": "m, np.eye(3)",
    "dstack": "[m]", "empty": "3", "empty_like": "m", "fix": "m", "full_like": "m, 2.0",
    "gradient": "m[0]", "hstack": "[m]", "inner": "m, np.eye(3)", "interp": "m[0], m[1], m[1]",
    "isclose": "m, m", "kron": "m, np.ones((1, 1))", "linspace": "m[0, 0], 2.0, 3",
    "max": "m[None], 0", "mean": "m[None], 0", "median": "m[None], 0", "min": "m[None], 0",
    "nanmean": "m[None], 0", "nansum": "m[None], 0", "ndim": "m", "ones": "3", "ones_like": "m",
    "outer": "m[0], m[1]", "pad": "m, 0", "polyval": "[1.0, 0.0], m", "prod": "m[None], 0",
    "ptp": "m, 0", "repeat": "m, 1, 0", "roll": "m, 0", "round": "m", "row_stack": "[m]",
    "select": "[m > -90], [m]", "shape": "m", "sinc": "m", "size": "m", "sort": "m",
    "stack": "[m]", "std": "m, 0", "sum": "m[None], 0", "take": "m, [0, 1, 2], 0",
    "take_along_axis": "m, np.array([[0], [1], [2]]), 1", "tensordot": "m, np.eye(3), 1",
    "tile": "m, 1", "trace": "m", "trapezoid": "m, axis=0", "tril": "m, 5", "triu": "m, -5",
    "vander": "m[0], 2", "var": "m, 0", "vdot": "m, m", "vstack": "[m]", "where": "m > -90, m, m",
    "zeros": "3", "zeros_like": "m",
    "linalg.cholesky": "m", "linalg.det": "m", "linalg.inv": "m",
    "linalg.multi_dot": "[m, np.eye(3)]", "linalg.norm": "m[None], axis=0", "linalg.pinv": "m",
    "linalg.slogdet": "m", "linalg.solve": "np.eye(3), m", "linalg.svd": "m",
    "array_split": "m, 2", "atleast_1d": "m", "atleast_2d": "m", "atleast_3d": "m",
    "broadcast_to": "m, (2, 3, 3)", "diagonal": "m", "dsplit": "m[None], 3", "expand_dims": "m, 0",
    "flip": "m", "fliplr": "m", "flipud": "m", "hsplit": "m, 3", "moveaxis": "m, 0, 1",
    "real": "m", "rollaxis": "m, 1", "rot90": "m", "split": "m, 3", "squeeze": "m[None]",
    "swapaxes": "m, 0, 1", "transpose": "m", "vsplit": "m, 3",
    "array": ("m", "m, copy=True", "m, copy=None", "m, order='F'", "m, subok=True", "[m[0], m[1]]"),
    "asanyarray": ("m", "m, np.float32"), "asarray": ("m", "m, np.float32", "m, order='C'",
                                                      "m.T, order='C'"),
    "ascontiguousarray": ("m", "m.T", "m[:, 0]"), "diag": ("m", "m, 1", "m[0]"),
    "diff": ("m, 0", "m"),
    "einsum": ("'ij->ji', m", "'ii->i', m", "'ij', m", "'ji', m", "'...ij->...ji', m",
               "'ij->i', m", "'ij,j->ij', m, m[0]"),
    "imag": "m", "linalg.matrix_power": ("m, 1", "m, 2"), "meshgrid": "m[0], m[1]",
    "nan_to_num": ("m", "m, copy=False", "m.T, False"),
    "ravel": ("m", "m.T", "m.T, 'F'", "m[1:]", "m[:, 1:]", "m[0]", "m[:, 0]", "m[0, ::2]"),
    "reshape": ("m, -1", "m.T, -1", "m.T, -1, order='F'", "m[1:], (3, 2)", "m[:, 1:], (3, 2)",
                "m[:, 0], (3, 1)", "m[::2], (2, 3, 1)", "m[:, ::2], (6,)", "m.T, (3, 1, 3)"),
}  # fmt: skip
METHODS = {
    **dict.fromkeys(("all", "any", "argmax", "argmin", "argsort", "copy", "flatten"), ""),
    **dict.fromkeys(("max", "mean", "min", "prod", "std", "sum", "var", "cumprod", "cumsum"), "0"),
    "clip": "-90, 90", "conj": "", "conjugate": "", "diagonal": "", "dot": "m", "item": "0",
    "repeat": "1, 0", "round": "", "squeeze": "", "swapaxes": "0, 1", "take": "[0, 1], 0",
    "trace": "", "transpose": "", "view": "",
    "astype": ("float", "np.float32", "float, copy=False", "np.float32, copy=False", "float, 'K'"),
    "ravel": ("", "'F'", "order='C'"), "reshape": ("9", "-1, order='C'", "(9,), order='F'"),
}  # fmt: skip
ATTRIBUTES = dict.fromkeys(("T", "mT", "real", "imag", "dtype", "ndim", "size"), "")
pytestmark = pytest.mark.filterwarnings("ignore:.row_stack:DeprecationWarning")


def _many(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


CALLS = [
    *((kind, name, f"np.{name}({given})")
      for name, kind in copies_and_views._rows(copies_and_views._FUNCTIONS).items()
      if copies_and_views._numpy_function(name)
      for given in _many(FUNCTIONS[name])),
    *((kind, f"m.{name}", f"m.{name}({given})")
      for name, kind in copies_and_views.METHODS.items()
      for given in _many(METHODS[name])),
    *((kind, f"m.{name}", f"m.{name}") for name, kind in copies_and_views.ATTRIBUTES.items()),
]  # fmt: skip
OPERATORS = [
    (COPY, text, text)
    for text in ("+m", "-m", "m * 1", "m + 0", "m ** 1", "m[[0, 1, 2]]", "m[m > -90]", "abs(m)",
                 "m[:, [0]]", "m[[True, False, True]]", "np.positive(m)", "np.conj(m)",
                 "np.maximum(m, m)", "m[0] * 1")
] + [
    (VIEW, text, text)
    for text in ("m", "m[0]", "m[:, 1]", "m[...]", "m[1:, ::2]", "m[None]", "m[()]", "m[0, ...]",
                 "list(m)[1]", "[r for r in m][0]", "next(iter(m))", "[*m][2]", "(m, 0)[0]",
                 "m.T[1:].T", "{'a': m[1]}['a']", "(lambda q: q[1:])(m)", "m[1:][0]",
                 "m.reshape(9)[2:5]", "m.reshape(-1).reshape(3, 3).T", "m[:2].T[0]")
]  # fmt: skip
BASE = "m = np.outer(x[:3], x[:3]) + 4 * np.eye(3)"


def _result(text: str) -> tuple[Any, Any]:
    m = np.outer([0.5, -1.25, 2.1], [0.5, -1.25, 2.1]) + 4 * np.eye(3)
    return eval(text, {"np": np, "m": m}), m


def _arrays(thing: Any) -> list[Any]:
    if isinstance(thing, (tuple, list)):
        return [array for item in thing for array in _arrays(item)]
    return [thing] if isinstance(thing, np.ndarray) else []


def test_every_compiled_function_has_a_row_and_every_row_is_compiled():
    new = {
        each
        for each in NUMPY
        if isinstance(each, (np.ufunc, type)) or each in copies_and_views.CREATORS
    }
    assert set(NUMPY) - new == set(copies_and_views.FUNCTIONS)
    assert set(ARRAY_METHODS) == set(copies_and_views.METHODS)
    assert set(ARRAY_PROPERTIES) == set(copies_and_views.ATTRIBUTES)
    assert all(copies_and_views.kind_of(None, each) == COPY for each in new)


@pytest.mark.parametrize(
    "table, key, text",
    [
        ("FUNCTIONS", np.flip, "np.flip(x)"),
        ("FUNCTIONS", np.where, "np.where(x > 0, x, 2 * x)"),
        ("FUNCTIONS", np.linalg.inv, "np.linalg.inv(np.outer(x, x))"),
        ("METHODS", "cumsum", "x.cumsum()"),
        ("ATTRIBUTES", "T", "x.T"),
    ],
)
def test_a_function_without_a_row_is_refused(table, key, text, monkeypatch):
    monkeypatch.delitem(getattr(copies_and_views, table), key)
    refused(program(f"return ({text}).sum()"), "copy or a view is not known to the compiler")


@pytest.mark.parametrize("kind", [COPY, VIEW, PERHAPS])
def test_the_table_is_numpys(kind):
    shared: dict[str, set[bool]] = {}
    for row, name, text in CALLS + OPERATORS:
        if row == kind:
            result, m = _result(text)
            found = {np.shares_memory(array, m) for array in _arrays(result)}
            shared[name] = shared.get(name, set()) | found
    always = {COPY: {False}, VIEW: {True}}.get(kind, {True, False})
    assert {name: found for name, found in shared.items() if not found <= always} == {}
    if kind == PERHAPS:
        sure = {"imag", "meshgrid", "m.imag", "m.conj", "m.conjugate"}  # by the dtype, or ``copy``
        assert {name for name, found in shared.items() if found != always} == sure


def _floats(text: str) -> bool:
    result, _ = _result(text)
    return isinstance(result, np.ndarray) and result.dtype == np.float64 and result.ndim > 0


def _written(text: str) -> bool:
    return _floats(text) and _result(text)[0].flags.writeable


#: Whose values can be told: what ``empty`` leaves is told by nobody.
TOLD = [(name, text) for _, name, text in CALLS + OPERATORS if "empty" not in name]
SHOWN = [text for _, text in TOLD] + [
    f"{text}[{place}]"
    for _, text in TOLD
    for place in (0, 1)
    if isinstance(_result(text)[0], (tuple, list))
]


def _together(texts: list[str], *body: str, after: str) -> list[str]:
    """Returns the problems of several results in one program; the name of each one that fails."""
    found = []
    for start in range(0, len(texts), 12):
        some = texts[start : start + 12]
        for group in ([some], [[text] for text in some]):
            wrong = [each for one in group for each in problems({
                str(one): program(BASE, *(f"v{k} = {text}" for k, text in enumerate(one)), *(
                    line.format(k=k) for line in body for k in range(len(one)) if "{" in line
                ), *(line for line in body if "{" not in line), "return " + " + ".join(
                    ["(m * m).sum()", *(f"{k + 1} * {after.format(k=k)}" for k in range(len(one)))]
                ))
            })]  # fmt: skip
            if not wrong:
                break
        found += wrong
    return found


@pytest.mark.thorough
def test_a_write_to_the_array_shows_in_its_views_and_in_no_copy():
    texts = [text for text in SHOWN if _floats(text)]
    assert len(texts) > 150
    assert _together(texts, "m[0] = 3 * x[1:]", after="(v{k} * v{k}).sum()") == []


@pytest.mark.thorough
def test_a_write_to_a_copy_does_not_show_in_the_array():
    result = {text: _result(text) for text in SHOWN if _written(text)}
    texts = [text for text, (v, m) in result.items() if not np.shares_memory(v, m)]
    body = ("v{k}[..., 0] = 3 * x[1]", "v{k} *= x[2]")
    assert _together(texts, *body, after="(v{k} * v{k}).sum()") == []


@pytest.mark.thorough
def test_a_write_to_a_view_shows_in_the_array():
    result = {text: _result(text) for text in SHOWN if _written(text)}
    texts = [text for text, (v, m) in result.items() if np.shares_memory(v, m)]
    assert problems({
        text: program(BASE, f"v = {text}", "v[..., 0] = 3 * x[1]", "v *= x[2]",
                      "return (m * m).sum() + (v * v * v).sum()")
        for text in texts
    }) == []  # fmt: skip


@pytest.mark.parametrize("text", [text for text in SHOWN if _floats(text) and not _written(text)])
def test_writes_to_read_only_views_are_refused(text):
    refused(program(BASE, f"v = {text}", "v[0] = x[0]", "return m.sum()"), "read-only view")


def test_a_result_does_not_share_memory_with_the_callers_arrays():
    for text in ("x", "x[1:]", "np.asarray(x)", "x.reshape(2, 2)", "+x", "np.array(x)", "x.T"):
        x = np.array([0.5, -1.25, 2.1, 0.75])
        value = ms.jit(program(f"return {text}"))(x)
        assert not np.shares_memory(value, x), text
        value[...] = 7.0
        np.testing.assert_array_equal(x, [0.5, -1.25, 2.1, 0.75])


LAYOUTS = [
    "a * 2 + b", "np.sin(a)", "np.where(a > 0, a, b)", "a @ b", "np.dot(a, b)", "np.outer(a, b)",
    "a[0] * 2", "np.maximum(a, b[0])", "a.astype(np.float32)", "np.zeros((3, 4))", "-a", "+a",
]  # fmt: skip


@pytest.mark.parametrize("text", LAYOUTS)
def test_results_that_are_assumed_row_major_are_so_in_numpy(text):
    rng = np.random.default_rng(3)
    sides = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    fortran = any(name in text for name in ("@", "dot", "outer", "zeros"))
    for a in (sides[0], *([np.asfortranarray(sides[0])] if fortran else [])):
        for b in (sides[1], *([sides[1].T] if fortran else [])):
            assert eval(text, {"np": np, "a": a, "b": b}).flags.c_contiguous


def test_layouts_say_when_a_reshape_is_a_view():
    rng = np.random.default_rng(5)
    shapes = [(2, 3, 4), (6, 4), (24,), (4, 6), (2, 12), (8, 3), (1, 24), (3, 8, 1)]
    ways = [lambda a: a, lambda a: a.T, lambda a: a[::-1], lambda a: a[..., ::2],
            lambda a: a[1:], lambda a: a[None]]  # fmt: skip
    for _ in range(200):
        one, other = rng.integers(len(ways), size=2)
        array = np.zeros(shapes[rng.integers(len(shapes))])
        array, layout = (ways[other](ways[one](each)) for each in (array, row_major(array.shape)))
        for shape in shapes + [array.shape[::-1], (array.size,)]:
            if np.prod(shape) == array.size and array.size:
                view = np.shares_memory(array.reshape(shape), array)
                found = reshaped_layout(layout, shape)
                assert (found is not None) == view
                assert not view or [8 * stride for stride in found.strides] == list(
                    array.reshape(shape).strides
                )
