"""Python's less common forms: private names, decorators, cached functions, imports, ``zip``.

Each function has Python's value and the gradient of central differences. Code that Python refuses
is refused at the user's line.
"""

import importlib.util
import sys

import numpy as np
import pytest

from autodiff_compiler import grad, value_and_grad
from autodiff_compiler.errors import CallError, CompileError, DTypeError, UnknownName
from autodiff_compiler.frontend.numpy_rules.names import NUMPY
from autodiff_compiler.frontend.numpy_rules.signatures import SIGNATURES

X = np.array([0.4, -1.2, 2.1])
DECORATOR = """
import functools
def doubled(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) * 2
    return inner
"""
TEXTS = {
    "private names of a method": ("K().f", """
class K:
    def __init__(self):
        self.__w = 2.0
    def __scaled(self, x):
        return x * self.__w
    def f(self, x):
        __y = self.__scaled(x)
        return np.sum(__y * x)
"""),
    "a private inner function and its parameters": ("_K().f", """
class _K:
    __k = 3.0
    def f(self, x):
        def __g(__a, *, _K__b=2.0):
            return __a * self.__k * __b
        return sum([__g(v, _K__b=4.0) for v in x]) * x[0]
"""),
    "private names in patterns": ("K().f", """
class K:
    def __init__(self):
        self.__w = 2.0
    def f(self, x):
        match [x, self, 5.0, 6.0]:
            case [__a, K(_K__w=__q), *__rest]:
                match {"k": __q, "z": __a}:
                    case {"k": __s, **__others}:
                        return np.sum(__others["z"] * x) * __s * __rest[1]
"""),
    "private names of imports": ("K().f", """
class K:
    def f(self, x):
        import math as __m
        from math import pi as __pi
        return np.sum(x * x) * __m.tau * __pi
"""),
    "a private variable that an inner function sets": ("K().f", """
class K:
    def f(self, x):
        __s = 0.0
        def add(v):
            nonlocal __s
            __s = __s + v * v
        for v in x:
            add(v)
        return __s
"""),
    "comprehensions that hide a variable that an inner function sets": ("f", """
def f(x):
    def outer(q):
        def inner(scale):
            nonlocal q
            q = q * scale
            total = sum([q for q in x]) + sum(q for q in x[q:2] if q > -9)
            return total + len({q: q for q in "ab"})
        q = 1
        inner(1)
        return inner(2) * q
    return outer(3)
"""),
    "no private names in a class of underscores": ("__().f", """
class __:
    def __init__(self):
        self.__w = 2.0
    def f(self, x):
        return np.sum(x * x) * self.__w
"""),
    "a decorated method": ("K().f", DECORATOR + """
class K:
    k = 3.0
    @doubled
    def f(self, x, y=2.0, *, z=3.0):
        return np.sum(x * x) * self.k * y * z
"""),
    "a decorated method called by another": ("K().f", DECORATOR + """
class K:
    k = 3.0
    @doubled
    @doubled
    def g(self, x, y=2.0):
        return x * x * self.k * y
    def f(self, x):
        return np.sum(self.g(x) + self.g(x, y=3.0))
"""),
    "a decorated class method": ("K.f", DECORATOR + """
class K:
    k = 3.0
    @classmethod
    @doubled
    def f(cls, x):
        return np.sum(x * x) * cls.k
"""),
    "a method without a name for its object": ("K().f", """
class K:
    k = 3.0
    def f(*args):
        return np.sum(args[1] * args[1]) * args[0].k
"""),
    "a wrapper that names the arguments otherwise": ("K().f", """
import functools
def tripled(function):
    @functools.wraps(function)
    def inner(me, q):
        return function(me, q) * 3
    return inner
class K:
    k = 3.0
    @tripled
    def f(self, x):
        return np.sum(x * x) * self.k
"""),
    "lru_cache around what is called with a constant": ("f", """
from functools import lru_cache
@lru_cache(maxsize=None)
def fibonacci(n):
    return 1.0 if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
def f(x):
    return np.sum(x * x) * fibonacci(60)
"""),
    "lru_cache around what is called with a number": ("f", """
from functools import lru_cache
@lru_cache
def square(a, k=1.0):
    return a * a * k
def f(x):
    return square(float(x[0])) * square(float(x[1]), k=3.0) * x[2]
"""),
    "zip with strict": ("f", """
def f(x):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, x * 2, strict=True), start=1):
        s += a * b * i
    named = dict(zip("abc", x, strict=True))
    return s * named["a"] * named["c"]
"""),
    "zip with strict of different lengths, caught": ("f", """
def f(x):
    s = np.sum(x * x)
    try:
        list(zip(x, (1.0, 2.0), strict=True))
    except ValueError:
        s = s * 2
    return s
"""),
    "zip without strict of different lengths": ("f", """
def f(x):
    return sum(a * b for a, b in zip(x, x[1:], strict=False))
"""),
}  # fmt: skip


@pytest.fixture
def imported(tmp_path):
    """Imports source code as a module. Returns the value of an expression there."""
    made = []

    def load(text: str, expression: str):
        name = f"written_{tmp_path.name}_{len(made)}"
        path = tmp_path / f"{name}.py"
        path.write_text(f"import numpy as np\n{text}")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        made.append(name)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return eval(expression, vars(module))

    yield load
    for name in made:
        del sys.modules[name]


def differences(function, x):
    step = 1e-6 * np.eye(x.size)
    return np.array([(function(x + row) - function(x - row)) / 2e-6 for row in step])


@pytest.mark.parametrize("name", TEXTS)
def test_a_program_has_pythons_value_and_its_gradient(name, imported):
    expression, text = TEXTS[name]
    function = imported(text, expression)
    value, gradient = value_and_grad(function)(X)
    np.testing.assert_allclose(value, function(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(function, X), rtol=1e-6, atol=1e-7)


def test_a_cached_function_is_differentiated_itself(imported):
    cached = imported(
        "from functools import lru_cache\n@lru_cache\ndef f(x):\n    return x * x * x\n", "f"
    )
    assert grad(cached)(2.0) == 12.0
    assert grad(grad(cached))(2.0) == 12.0
    assert cached.cache_info().currsize == 0


REFUSED = [
    ("def f(x):\n    return sum(a * b for a, b in zip(x, (1.0, 2.0), strict=True))\n",
     DTypeError, "argument 2 is shorter than argument 1", 3),
    ("def f(x):\n    return sum(a * b for a, b in zip(x, iter(x), strict=True))\n",
     DTypeError, "lengths that are known at compile time", 3),
    ("def f(x):\n    from . import other\n    return np.sum(x)\n", UnknownName, "importing", 3),
    ("def f(x):\n    from ..pack import other\n    return np.sum(x)\n",
     UnknownName, "importing", 3),
    ("def f(x):\n    y: float\n    return np.sum(x) + y\n",
     UnknownName, "'y' is not defined", 4),
    ("class K:\n    def g(self, x):\n        def h(*, __b=2.0):\n            return __b\n"
     "        return np.sum(x) * h(__b=3.0)\nf = K().g\n",
     CallError, "unexpected keyword argument '__b'", 6),
]  # fmt: skip


@pytest.mark.parametrize("text, kind, cause, line", REFUSED)
def test_code_that_python_refuses_is_refused_at_its_line(text, kind, cause, line, imported):
    with pytest.raises(CompileError) as caught:
        grad(imported(text, "f"))(X)
    (problem,) = caught.value.problems
    assert isinstance(caught.value, kind) and cause in problem.cause
    assert problem.span.line == line and problem.cure and "did you mean 'y'" not in problem.cure


def test_signatures_that_numpy_does_not_report_are_in_the_table():
    """NumPy's version decides which functions written in C report their parameters."""
    written_in_c = type(np.asarray)
    hidden = {each.__name__ for each in NUMPY if type(each) is written_in_c}
    hidden |= {each.__name__ for each in (np.concatenate, np.dot, np.where, np.inner, np.vdot)}
    assert len(hidden) > 8 and hidden <= {*SIGNATURES}
