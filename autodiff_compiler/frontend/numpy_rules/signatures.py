"""Arguments of NumPy's functions: bound by NumPy's own signatures, and honoured or refused.

A function of ``autodiff_compiler.numpy`` need not have every parameter that NumPy's function of the
same name has. ``Numpys`` stands between the two. It binds a call by NumPy's signature, leaves out
what is given as its default, raises what NumPy raises for such arguments, makes arrays of lists,
and refuses every argument that is left and that our function does not have.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler import numpy as ours_of_numpy
from autodiff_compiler.common.tensor import Tensor
from autodiff_compiler.cost_model import costs
from autodiff_compiler.errors import CompileError, DTypeError, ShapeError
from autodiff_compiler.frontend.core.error_translation import translate_error
from autodiff_compiler.ir.nodes import Value
from autodiff_compiler.ir.types import BOOL, COMPLEX, FLOAT, INT, ArrayType, ScalarType
from autodiff_compiler.operators.core import structure
from autodiff_compiler.ops.core.shape_queries import dtype_of, shape_of
from autodiff_compiler.ops.functions.gather_scatter import item_at

#: Parameters that take anything NumPy makes an array of.
ARRAYS = frozenset(
    ("a", "A", "arr", "array", "ary", "b", "f", "fp", "m", "other", "p", "prototype", "self",
     "v", "val", "values", "weights", "x", "x1", "x2", "xp", "y", "z",
     "condition", "prepend", "append", "a_min", "a_max", "min", "max")
)  # fmt: skip
#: Parameters that take several of these.
SEQUENCES = frozenset(
    ("arrays", "arys", "choicelist", "condlist", "operands", "tup", "varargs", "xi")
)
#: Parameters that have a dtype of their own beside these.
_OF_DTYPE = frozenset(("object", "fill_value", "start", "stop", "step"))
#: Functions whose numbers take on the dtype of the arrays beside them, as those of ufuncs do.
WEAK = frozenset((np.where, np.clip, np.select, np.full_like, np.linspace, np.isclose, np.gradient))
#: Ufuncs that are printed as themselves or as operators, so that NumPy promotes their operands.
PROMOTING = frozenset(
    (np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.power, np.fmod,
     np.maximum, np.minimum, np.equal, np.not_equal, np.less, np.less_equal, np.greater,
     np.greater_equal, np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.isnan,
     np.isinf, np.isfinite)
)  # fmt: skip
#: The signatures that not every NumPy from 2.0 on tells, and those of methods that hide keywords.
SIGNATURES: dict[str, str] = {
    "arange": "start=None, stop=None, step=1, dtype=None, *, device=None, like=None",
    "array": "object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, like=None",
    "asanyarray": "a, dtype=None, order=None, *, device=None, copy=None, like=None",
    "asarray": "a, dtype=None, order=None, *, device=None, copy=None, like=None",
    "ascontiguousarray": "a, dtype=None, *, like=None",
    "concatenate": "arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'",
    "dot": "a, b, out=None",
    "empty": "shape, dtype=float, order='C', *, device=None, like=None",
    "empty_like":
        "prototype, /, dtype=None, order='K', subok=True, shape=None, *, device=None",
    "inner": "a, b, /",
    "vdot": "a, b, /",
    "where": "condition, x=None, y=None, /",
    "zeros": "shape, dtype=float, order='C', *, device=None, like=None",
    "ndarray.all": "self, /, axis=None, out=None, keepdims=False, *, where=True",
    "ndarray.any": "self, /, axis=None, out=None, keepdims=False, *, where=True",
    "ndarray.argmax": "self, /, axis=None, out=None, *, keepdims=False",
    "ndarray.argmin": "self, /, axis=None, out=None, *, keepdims=False",
    "ndarray.argsort": "self, /, axis=-1, kind=None, order=None, *, stable=None",
    "ndarray.astype": "self, /, dtype, order='K', casting='unsafe', subok=True, copy=True",
    "ndarray.clip": "self, /, min=None, max=None, out=None, *, casting='same_kind', dtype=None",
    "ndarray.conj": "self, /",
    "ndarray.conjugate": "self, /",
    "ndarray.copy": "self, /, order='C'",
    "ndarray.cumprod": "self, /, axis=None, dtype=None, out=None",
    "ndarray.cumsum": "self, /, axis=None, dtype=None, out=None",
    "ndarray.diagonal": "self, /, offset=0, axis1=0, axis2=1",
    "ndarray.dot": "self, other, /, out=None",
    "ndarray.flatten": "self, /, order='C'",
    "ndarray.item": "self, /, *args",
    "ndarray.max": "self, /, axis=None, out=None, keepdims=False, initial=None, where=True",
    "ndarray.mean": "self, /, axis=None, dtype=None, out=None, keepdims=False, *, where=True",
    "ndarray.min": "self, /, axis=None, out=None, keepdims=False, initial=None, where=True",
    "ndarray.prod":
        "self, /, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True",
    "ndarray.ravel": "self, /, order='C'",
    "ndarray.repeat": "self, /, repeats, axis=None",
    "ndarray.reshape": "self, /, *shape, order='C', copy=None",
    "ndarray.round": "self, /, decimals=0, out=None",
    "ndarray.squeeze": "self, /, axis=None",
    "ndarray.std": "self, /, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, "
        "where=True, mean=None, correction=None",
    "ndarray.sum":
        "self, /, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True",
    "ndarray.swapaxes": "self, axis1, axis2, /",
    "ndarray.take": "self, /, indices, axis=None, out=None, mode='raise'",
    "ndarray.trace": "self, /, offset=0, axis1=0, axis2=1, dtype=None, out=None",
    "ndarray.transpose": "self, /, *axes",
    "ndarray.view": "self, /, dtype=None, type=None",
    "ndarray.var": "self, /, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, "
        "where=True, mean=None, correction=None",
}  # fmt: skip
_UFUNC = (
    "/, out=None, *, where=True, casting='same_kind', order='K', dtype=None, subok=True, "
    "signature=None"
)


@functools.cache
def signature_of(theirs: Any, method: str = "") -> inspect.Signature:
    """The parameters of a function of NumPy, or of a method of arrays.

    >>> list(signature_of(np.dot).parameters), list(signature_of(None, "swapaxes").parameters)
    (['a', 'b', 'out'], ['self', 'axis1', 'axis2'])
    """
    if isinstance(theirs, np.ufunc):
        operands = "x" if theirs.nin == 1 else ", ".join(f"x{k + 1}" for k in range(theirs.nin))
        text = f"{operands}, {_UFUNC}"
    elif isinstance(theirs, type):
        text = "x, /"
    else:
        text = SIGNATURES.get(f"ndarray.{method}" if method else theirs.__name__, "")
    if not text:
        return inspect.signature(theirs)
    scope: dict[str, Any] = {}
    exec(f"def f({text}): ...", scope)  # a text of the table above
    return inspect.signature(scope["f"])


@functools.lru_cache(maxsize=4096)
def _resolved(ufunc: Any, kinds: tuple[Any, ...], dtype: np.dtype | None) -> list[str]:
    """The dtypes in which a ufunc computes with operands of these kinds, and that of the result,
    which may be given."""
    fixed: dict[str, Any] = {}
    if dtype is not None:
        fixed = {"signature": (*(None,) * len(kinds), dtype)}
    return [each.name for each in ufunc.resolve_dtypes((*kinds, None), **fixed)]


class Numpys:
    """A function of NumPy, or a method of arrays, as compiled code has it."""

    def __init__(self, theirs: Any, ours: Callable[..., Any], method: str = "") -> None:
        self.theirs, self.ours, self.method = theirs, ours, method
        self.__name__ = method or theirs.__name__

    @functools.cached_property
    def __signature__(self) -> inspect.Signature:
        return signature_of(self.theirs, self.method)

    @functools.cached_property
    def own(self) -> list[inspect.Parameter]:
        """The parameters of our function."""
        return list(inspect.signature(self.ours).parameters.values())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._ask(args, kwargs)
        bound = self.__signature__.bind(*args, **kwargs).arguments
        given = {
            name: thing
            for name, thing in ((name, _setting(name, bound[name])) for name in bound)
            if not _is_default(self.__signature__.parameters[name], thing)
        }
        if "dtype" in given:
            given["dtype"] = np.dtype(given["dtype"]).name
        if isinstance(self.theirs, np.ufunc):
            return self._elementwise(given)
        weak = self.theirs in WEAK or self.method == "clip"
        given = {name: as_arrays(name, thing, weak) for name, thing in given.items()}
        return self.ours(*self._positional(given), **given)

    def _positional(self, given: dict[str, Any]) -> list[Any]:
        """Takes what our function is given by its place out of ``given``. Raises where something
        is left that it does not have."""
        positional: list[Any] = []
        theirs = list(self.__signature__.parameters.values())
        names = {parameter.name for parameter in theirs}
        own = [p for p in self.own if p.kind is not p.KEYWORD_ONLY]
        for k, parameter in enumerate(theirs):
            if parameter.name not in given or k >= len(own):
                break
            if own[k].name != parameter.name and own[k].name in names:
                break
            thing = given.pop(parameter.name)
            if parameter.kind is parameter.VAR_POSITIONAL:
                several = any(p.kind is p.VAR_POSITIONAL for p in own)
                positional += thing if several else [thing]
                break
            positional.append(thing)
        taken = {parameter.name for parameter in self.own}
        if theirs[-1].kind is inspect.Parameter.VAR_KEYWORD:
            given.update(given.pop(theirs[-1].name, {}))
        for name in given:
            if name not in taken and not name.startswith("**"):
                raise self._refused(name)
        return positional

    def _refused(self, name: str) -> CompileError:
        return DTypeError(
            f"the argument '{name}' of '{self.__name__}' is not supported",
            "omit the argument",
        )

    # ---- ufuncs

    def _elementwise(self, given: dict[str, Any]) -> Any:
        """A ufunc of its operands: in the dtypes of the loop that NumPy takes for them."""
        operands = [given.pop(name) for name in list(given) if name[0] == "x"]
        dtype = given.pop("dtype", None)
        for name in given:
            raise self._refused(name)
        return self.of(*(as_arrays("x", operand, weak=True) for operand in operands), dtype=dtype)

    def of(self, *operands: Any, dtype: Any = None) -> Any:
        """A ufunc of arrays and numbers."""
        loop = self._loop(operands, dtype)
        if loop is None:
            return self.ours(*operands)
        *inputs, wanted = loop
        out = None
        promotes = self.theirs in PROMOTING and not self._squares(operands, inputs)
        if dtype is None and (promotes or not _differ(operands, inputs)):
            try:
                out = self.ours(*operands)
            except CompileError:
                if not _differ(operands, inputs):
                    raise
        if out is None or dtype_of(out) not in (None, wanted):
            out = self.ours(*(_cast(operand, name) for operand, name in zip(operands, inputs)))
        return out if dtype_of(out) in (None, wanted) else structure.cast(out, dtype=wanted)

    def _squares(self, operands: Sequence[Any], inputs: Sequence[str]) -> bool:
        """Decide whether this is a power of integers or complex numbers in another dtype: there
        NumPy before 2.3 gives ``x ** 2`` in a dtype of its own."""
        base = _kind(operands[0]) if self.theirs is np.power else None
        if not isinstance(base, np.dtype) or base.kind not in "biuc":
            return False
        return inputs[0] not in (base.name, "float64")

    def _loop(self, operands: Sequence[Any], dtype: Any) -> list[str] | None:
        """The dtypes in which NumPy computes, and that of the result; None if not known."""
        kinds = [_kind(operand) for operand in operands]
        if any(kind is None for kind in kinds) or self.theirs.signature:
            if dtype is not None:
                raise self._refused("dtype")
            return None
        if not any(isinstance(kind, np.dtype) for kind in kinds):
            kinds = [np.dtype(kind) for kind in kinds]
        return _resolved(self.theirs, tuple(kinds), None if dtype is None else np.dtype(dtype))

    # ---- what NumPy says

    def _ask(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raises what NumPy raises for arguments of such shapes and dtypes, as far as these are
        known: it is given stand-ins."""
        try:
            budget = [costs().checked_array_elements]
            square = getattr(self.theirs, "__module__", "") == "numpy.linalg"
            given = [stand_in(arg, square, budget) for arg in args]
            named = {key: stand_in(arg, square, budget) for key, arg in kwargs.items()}
        except LookupError:
            return
        if (
            not named.get("copy", True)
            or "out" in self.__signature__.parameters
            and (named.get("out") is not None)
        ):
            return
        called = self.theirs
        if self.method:
            called, given = getattr(given[0], self.method), given[1:]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                called(*given, **named)
        except (ArithmeticError, MemoryError):
            return  # by the numbers that stand there
        except Exception as error:
            if "ingular" in str(error) or "converge" in str(error):
                return
            raise translate_error(error, f"{self.__name__} fails", self, None).meaning(
                error
            ) from None


def as_arrays(name: str, thing: Any, weak: bool) -> Any:
    """An argument with arrays in the place of lists where NumPy makes these, and in the place of
    numbers, unless they are ``weak``."""
    if name in SEQUENCES:
        if isinstance(thing, Tensor) or isinstance(getattr(thing, "type", None), ArrayType):
            count = (shape_of(thing) or (None,))[0]
            if not isinstance(count, int):
                raise ShapeError(
                    f"the length of '{name}' must be known at compile time",
                    "pass a list or tuple of arrays",
                )
            thing = [item_at(thing, k) for k in range(count)]
        if isinstance(thing, (list, tuple)):
            return [as_arrays("a", item, weak) for item in thing]
        return thing
    if name not in ARRAYS:
        return thing
    if isinstance(thing, (list, tuple)) or not weak and _is_number(thing):
        return ours_of_numpy.array(thing)
    return thing


def _is_number(thing: Any) -> bool:
    kind = thing.type if isinstance(thing, Value) else thing
    return isinstance(kind, (bool, int, float, complex, np.generic, ScalarType))


def _setting(name: str, thing: Any) -> Any:
    """An argument with Python's ints and bools in the place of NumPy's, unless arrays are made
    of it: these have NumPy's dtypes."""
    return thing if name in ARRAYS or name in SEQUENCES or name in _OF_DTYPE else _plain(thing)


def _plain(thing: Any) -> Any:
    if isinstance(thing, (np.integer, np.bool_)):
        return thing.item()
    if isinstance(thing, (tuple, list)) and type(thing) in (tuple, list):
        return type(thing)(map(_plain, thing))
    return thing


def _is_default(parameter: inspect.Parameter, thing: Any) -> bool:
    default = parameter.default
    return thing is default or type(thing) is type(default) and thing == default


_KINDS: dict[Any, Any] = {BOOL: np.dtype(bool), INT: int, FLOAT: float, COMPLEX: complex}


def _kind(operand: Any) -> Any:
    """What ``resolve_dtypes`` is told of an operand; None if not known."""
    if isinstance(operand, Value) and not isinstance(operand.type, ArrayType):
        return _KINDS.get(operand.type)
    if isinstance(operand, bool):
        return np.dtype(bool)
    if isinstance(operand, (int, float, complex)) and not isinstance(operand, np.generic):
        return type(operand)
    dtype = dtype_of(operand)
    return None if dtype is None else np.dtype(dtype)


def _cast(operand: Any, dtype: str) -> Any:
    have = dtype_of(operand)
    if have is None and not isinstance(operand, Value):
        return Tensor(np.asarray(operand, dtype))
    return operand if have == dtype else structure.cast(operand, dtype=dtype)


def _differ(operands: Sequence[Any], dtypes: Sequence[str]) -> bool:
    return any(dtype_of(operand) != dtype for operand, dtype in zip(operands, dtypes))


def stand_in(thing: Any, square: bool, budget: list[int]) -> Any:
    """Something of the same type, made without memory. Raises LookupError where not known."""
    if isinstance(thing, Value):
        return _stand_in(thing.type, square, budget)
    if isinstance(thing, Tensor):
        return thing.asnumpy()
    if isinstance(thing, (list, tuple)):
        made = [stand_in(item, square, budget) for item in thing]
        return made if isinstance(thing, list) else tuple(made)
    return thing


def _stand_in(type_: Any, square: bool, budget: list[int]) -> Any:
    if type_ in (FLOAT, BOOL, COMPLEX):
        return {FLOAT: 1.0, BOOL: True, COMPLEX: 1j}[type_]
    shape = getattr(type_, "shape", None)
    if not isinstance(type_, ArrayType) or shape is None or type_.dtype is None:
        raise LookupError
    if not all(isinstance(dim, int) for dim in shape):
        raise LookupError
    budget[0] -= int(np.prod(shape, dtype=object))
    if budget[0] < 0:
        raise LookupError
    dtype = np.dtype(type_.dtype)
    if square and len(shape) > 1 and shape[-1] == shape[-2]:
        return np.broadcast_to(np.eye(shape[-1], dtype=dtype), shape)
    return np.broadcast_to(np.asarray(dtype.kind in "fc", dtype), shape)


__all__ = ["Numpys", "as_arrays", "signature_of", "stand_in"]
