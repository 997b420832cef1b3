"""Random small functions of odd but valid Python, and what may come of compiling one.

A program is a few statements, each with random expressions in its gaps, some inside a loop, a
branch or a ``try``. Most mean nothing. The compiler may refuse any of them at a place; else the
compiled function gives what Python gives, or raises what Python raises.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler.errors import CallError, CompileError

#: The gap that an expression takes in a statement.
GAP = "<>"

EXPRESSIONS = r"""
x; y; n; 0; 2.5; None; True; 'ab'; ''; (); []; {}; ...; NotImplemented; 1j; b'ab'; [x, y]; (x, 1)
{'a': x, 'b': 2}; {1, 2}; range(n); lambda v: v * 2; x[0]; x[5]; x[n]; x[::-1]; x[::0]; x[None]
x[[0, 1]]; x[[]]; x[x > 1]; x['a']; x[1.5]; x[0, 0]; x.T; x.shape; x.sum(); x.sum(axis=3); x.foo
x.tolist(); x.astype(int); x.astype('zz'); x.reshape(3, 3); len(x); np.foo(x); np.dot(x, x)
np.zeros(n); np.zeros(-1); np.ones(2.5); np.array([x, y]); np.array([[1, 2], [3]]); np.array('a')
np.array([1, 'a']); np.asarray(x, dtype=object); np.stack([x, y]); np.stack([]); np.outer(x, 2.0)
np.concatenate(x); np.where(x > 0, x, y); np.einsum('i,i', x, y); np.einsum('ij', x); np.clip(x)
math.sin(x[0]); math.sqrt(-1); int(x[0]); float('nan'); int('zz'); abs('a'); round(x[0], 1)
sum(x); sum(['a']); sorted([1, 'a']); max([]); zip(); zip(x, y); enumerate(3); iter(3)
next(iter([])); isinstance(1, 2); getattr(x, 'zz', 3); hash([]); eval('1'); globals()
divmod(7, 0); divmod(x[0], 2); 1 / 0; 1 % 0; 0.0 ** -1; 1 << -1; 1 << 100; 10 ** 400 * 1.0; x ** n
x // 2; x @ y; x @ 2; ~x; -'a'; not x; x and y; x[0] > 0 or n; x is None; n in [1, 2]; x in None
1 in ...; 'a' < 1; 0 < x[0] < 2; x if n else y; x if x[0] > 0 else 'a'; [v * 2 for v in x]
[v for v in 3]; sum(v for v in x); {k: v for k, v in enumerate(x)}; f'{n}'; f'{x}'; f'{3:zz}'
f"{f'{n}'}"; f'{n=}'; '%d' % 'a'; '{}'.format(); 'abc'.index('z'); ','.join(x); [*x]; [*3]
{**{'a': 1}, 'b': x}; g(x); g(); g(*3); g(**x); g(**{1, 2}); g(**{'v': x}); g(v=x, w=1); rec(n); K
K().v; KK(x).twice(); P(x, 1).a; D(x).a; Color.RED; GL; GD['zz']; undefined; (w := x * 2)
[1, 2][x[0]]; (1, 2)[5]; {}['a']; x[10 ** 30]; HE == 1; HE.foo; len(HE); HE in [1]; x if HE else y
str(HE); GM.v; hasattr(HE, 'zz'); x + HE; HE(); [x] * n; [x] + (y,); x + 'a'; x + None; {x[0]: 1}
[1, 2, 3][n:]; x[range(2)]; x[lambda: 0]; len(n); (lambda: x)(); (lambda v=x: v)()
[(lambda: i) for i in range(2)][0](); functools.partial(g, x)()
"""

STATEMENTS = r"""
z = <>; a, b = <>; a, *b = <>; x[0] = <>; y[:] = <>; y[<>] = <>; y += <>; z = [<>]\nz.append(<>)
z = {}\nz[<>] = <>; z = {'a': <>}\nz['a'] += 1; for z in <>: y = y + z
for a, b in zip(<>, <>): pass; while n > 0:\n    n -= 1\n    z = <>; while True: break
for i in range(3):\n    y = <>\n    if n: break; if <>: y = <>; if x[0] > 0: return <>
if x[0] > 9: raise ValueError(<>); raise ValueError('u')
try:\n    z = <>\nexcept Exception:\n    z = 1; try:\n    z = <>\nfinally:\n    z = <>; raise <>
assert x[0] < 9, <>; assert <>; with <>: pass; def inner(v, w=<>): return <>\nz = inner(x)
class C: pass; global GL; del y; del undefined; import nothing_there; from math import sin; pass
...; <>; return; yield <>
match <>:\n    case 1: y = <>\n    case [a, b]: y = a\n    case {'a': q}: y = q\n    case _: y = <>
z: int = <>; z: int; if (q := <>): z = q; x.foo = <>; GK.v = <>; GL[0] = <>; z = <>\nprint(z)
z = [<> for q in <>]; y = <> + <>; y = (<>, <>)[n > 1]; y = <> if <> else <>; y = (<>)(<>)
y = (<>)[<>]; y = np.sum(<>); y = np.array(<>); y = np.where(<>, <>, <>); y = np.outer(<>, <>)
y = len(<>); y = max(<>); y = np.zeros(<>); y = x.reshape(<>); y = isinstance(<>, <>)
y = <> ** <>; y = <> in <>; y = f'{<>}'; y = [*<>]; y = np.einsum(<>, x); y = np.maximum(<>, <>)
y = <> @ <>; y = float(<>)
"""

CONTEXTS = [
    "{}", "{}", "{}", "for i in range(2):{}", "for i in range(n):{}", "if x[0] > 0:{}", "if n:{}",
    "while x[1] < 0:{}", "try:{}\nexcept (TypeError, IndexError):\n    y = x",
]  # fmt: skip
ENDS = ["return y", "return y", "return x * 2", "return (x, y)", "return {'a': y}", "return None"]

AROUND = """
import collections, dataclasses, enum, functools, math
import numpy as np
def g(v, w=1): return v * w
def rec(k): return 1 if k <= 0 else rec(k - 1) * 2
class K: v = 2
class KK:
    def __init__(self, w): self.w = w
    def twice(self): return self.w * 2
P = collections.namedtuple("P", "a b")
@dataclasses.dataclass
class D:
    a: object
class Color(enum.Enum): RED = 1
GL, GD, GK = [1.0, 2.0], {"a": 2.0}, K()
def hostile(*_): raise RuntimeError("hostile")
METHODS = ("eq", "hash", "len", "bool", "getattr", "repr", "iter")
HE = type("Hostile", (), {f"__{name}__": hostile for name in METHODS})()
class Meta(type):
    def __getattr__(cls, name): raise RuntimeError("meta")
class GM(metaclass=Meta): pass
"""


def _parts(text: str) -> list[str]:
    pieces = [part for line in text.split("\n") for part in line.split("; ")]
    return [part.replace("\\n", "\n") for part in pieces if part]


_EXPRESSIONS, _STATEMENTS = _parts(EXPRESSIONS), _parts(STATEMENTS)


def program(seed: int) -> str:
    """The text of a random function ``f(x, y, n)``."""
    draw, lines = random.Random(seed), []
    for _ in range(draw.choice([1, 1, 2, 3])):
        statement = draw.choice(_STATEMENTS)
        while GAP in statement:
            statement = statement.replace(GAP, draw.choice(_EXPRESSIONS), 1)
        context = draw.choice(CONTEXTS)
        if context != "{}":
            statement = "\n" + _indented(statement)
        lines.append(context.replace("{}", statement))
    return "def f(x, y, n):\n" + _indented("\n".join([*lines, draw.choice(ENDS)])) + "\n"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def outcome(seed: int, way: Callable[[Any], Callable[..., Any]]) -> str:
    """What came of program ``seed``, compiled ``way``: '' where it is as it must be."""
    name, text = f"<odd {seed}>", AROUND + program(seed)
    try:
        code = compile(text, name, "exec", dont_inherit=True)
    except SyntaxError:
        return ""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    try:
        want, raised = _called(code, lambda f: f)
        found, error = _called(code, way)
    finally:
        linecache.cache.pop(name)
        ms.compile_info().clear()
    if isinstance(error, CompileError):
        placed = [
            problem.span is not None and problem.span.text.strip() for problem in error.problems
        ]
        return "" if all(placed) or isinstance(error, CallError) else f"no place: {error}"
    if error is not None:
        # What may be None is checked where a value is needed.
        expected = "hostile" in str(error) or "is None here" in str(error)
        alike = expected or isinstance(error, type(raised))
        return "" if alike else f"{error!r}, where Python has {raised!r} {want!r}"
    return "" if raised is not None or _same(found, want) else f"{found!r}, not {want!r}"


def _called(code: Any, way: Callable[[Any], Any]) -> tuple[Any, Exception | None]:
    scope: dict[str, Any] = {"__name__": "odd"}
    exec(code, scope)
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        try:
            return way(scope["f"])(np.array([0.5, 1.5]), np.array([2.0, -1.0]), 2), None
        except Exception as error:
            return None, error


def _same(found: Any, want: Any) -> bool:
    if isinstance(want, (tuple, list)):
        return len(found) == len(want) and all(map(_same, found, want))
    if isinstance(want, dict):
        return found.keys() == want.keys() and all(_same(found[key], want[key]) for key in want)
    if not isinstance(want, (np.ndarray, np.generic, int, float, complex)):
        return found is want or found == want
    return bool(np.allclose(np.asarray(found), np.asarray(want), rtol=1e-6, equal_nan=True))
