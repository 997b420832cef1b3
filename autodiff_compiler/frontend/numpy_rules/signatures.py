"""NumPy's signatures: how the arguments of a NumPy function reach the function that implements it.

A function of ``autodiff_compiler.numpy`` need not have every parameter of its NumPy counterpart.
``NumpyFunction`` stands between the two. It binds a call by NumPy's signature, and drops arguments
that equal their default. It raises what NumPy raises for invalid ones, and converts lists to
arrays. It refuses every other argument that the implementation does not have.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff_compiler import numpy as our_numpy
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
    """a A arr array ary b f fp m other p prototype self v val values weights x x1 x2 xp y z
    condition prepend append a_min a_max min max""".split()
)
#: Parameters that take a sequence of these.
SEQUENCES = frozenset(
    ("arrays", "arys", "choicelist", "condlist", "operands", "tup", "varargs", "xi")
)
#: Other parameters whose NumPy scalars keep their dtype.
_OF_DTYPE = frozenset(("object", "fill_value", "start", "stop", "step"))
#: Functions whose Python numbers adapt to the dtype of the arrays beside them, as ufuncs' do.
WEAK = frozenset((np.where, np.clip, np.select, np.full_like, np.linspace, np.isclose, np.gradient))
#: Ufuncs whose generated text is the ufunc or an operator: NumPy itself promotes the operands.
PROMOTING = frozenset(
    getattr(np, name)
    for name in """add subtract multiply divide floor_divide remainder power fmod maximum minimum
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not
    logical_xor isnan isinf isfinite""".split()
)
_REDUCTION = "self, /, axis=None, dtype=None, out=None"
_MOMENT = "ddof=0, keepdims=False, *, where=True, mean=None, correction=None"
#: Signatures that some NumPy from 2.0 on does not report, and those of methods that hide keywords.
SIGNATURES: dict[str, str] = {
    "arange": "start=None, stop=None, step=1, dtype=None, *, device=None, like=None",
    "array": "object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, like=None",
    "asanyarray": "a, dtype=None, order=None, *, device=None, copy=None, like=None",
    "asarray": "a, dtype=None, order=None, *, device=None, copy=None, like=None",
    "ascontiguousarray": "a, dtype=None, *, like=None",
    "concatenate": "arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'",
    "dot": "a, b, out=None",
    "empty": "shape, dtype=float, order='C', *, device=None, like=None",
    "empty_like": "prototype, /, dtype=None, order='K', subok=True, shape=None, *, device=None",
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
    "ndarray.cumprod": _REDUCTION,
    "ndarray.cumsum": _REDUCTION,
    "ndarray.diagonal": "self, /, offset=0, axis1=0, axis2=1",
    "ndarray.dot": "self, other, /, out=None",
    "ndarray.flatten": "self, /, order='C'",
    "ndarray.item": "self, /, *args",
    "ndarray.max": "self, /, axis=None, out=None, keepdims=False, initial=None, where=True",
    "ndarray.mean": f"{_REDUCTION}, keepdims=False, *, where=True",
    "ndarray.min": "self, /, axis=None, out=None, keepdims=False, initial=None, where=True",
    "ndarray.prod": f"{_REDUCTION}, keepdims=False, initial=None, where=True",
    "ndarray.ravel": "self, /, order='C'",
    "ndarray.repeat": "self, /, repeats, axis=None",
    "ndarray.reshape": "self, /, *shape, order='C', copy=None",
    "ndarray.round": "self, /, decimals=0, out=None",
    "ndarray.squeeze": "self, /, axis=None",
    "ndarray.std": f"{_REDUCTION}, {_MOMENT}",
    "ndarray.sum": f"{_REDUCTION}, keepdims=False, initial=None, where=True",
    "ndarray.swapaxes": "self, axis1, axis2, /",
    "ndarray.take": "self, /, indices, axis=None, out=None, mode='raise'",
    "ndarray.trace": "self, /, offset=0, axis1=0, axis2=1, dtype=None, out=None",
    "ndarray.transpose": "self, /, *axes",
    "ndarray.view": "self, /, dtype=None, type=None",
    "ndarray.var": f"{_REDUCTION}, {_MOMENT}",
}
_UFUNC = (
    "/, out=None, *, where=True, casting='same_kind', order='K', dtype=None, subok=True, "
    "signature=None"
)


@functools.cache
def signature_of(original: Any, method: str = "") -> inspect.Signature:
    """Returns the signature of a function of NumPy, or of a method of arrays.

    >>> list(signature_of(np.dot).parameters), list(signature_of(None, "swapaxes").parameters)
    (['a', 'b', 'out'], ['self', 'axis1', 'axis2'])
    """
    if isinstance(original, np.ufunc):
        operands = "x" if original.nin == 1 else ", ".join(f"x{k + 1}" for k in range(original.nin))
        text = f"{operands}, {_UFUNC}"
    elif isinstance(original, type):
        text = "x, /"
    else:
        text = SIGNATURES.get(f"ndarray.{method}" if method else original.__name__, "")
    if not text:
        return inspect.signature(original)
    scope: dict[str, Any] = {}
    exec(f"def f({text}): ...", scope)  # from the table above
    return inspect.signature(scope["f"])


@functools.lru_cache(maxsize=4096)
def _resolved_dtypes(ufunc: Any, kinds: tuple[Any, ...], dtype: np.dtype | None) -> list[str]:
    """Returns the dtypes in which a ufunc computes with operands of these kinds, and that of the
    result. ``dtype`` may fix the latter."""
    fixed: dict[str, Any] = {}
    if dtype is not None:
        fixed = {"signature": (*(None,) * len(kinds), dtype)}
    return [each.name for each in ufunc.resolve_dtypes((*kinds, None), **fixed)]


class NumpyFunction:
    """A function of NumPy, or a method of arrays, with the function that implements it."""

    def __init__(self, original: Any, implementation: Callable[..., Any], method: str = "") -> None:
        self.original, self.implementation, self.method = original, implementation, method
        self.__name__ = method or original.__name__

    @functools.cached_property
    def __signature__(self) -> inspect.Signature:
        return signature_of(self.original, self.method)

    @functools.cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """The parameters of the implementation."""
        return list(inspect.signature(self.implementation).parameters.values())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._raise_as_numpy(args, kwargs)
        bound = self.__signature__.bind(*args, **kwargs).arguments
        given = {
            name: thing
            for name, thing in ((name, _as_setting(name, bound[name])) for name in bound)
            if not _is_default(self.__signature__.parameters[name], thing)
        }
        if "dtype" in given:
            given["dtype"] = np.dtype(given["dtype"]).name
        if isinstance(self.original, np.ufunc):
            return self._call_ufunc(given)
        weak = self.original in WEAK or self.method == "clip"
        given = {name: as_arrays(name, thing, weak) for name, thing in given.items()}
        return self.implementation(*self._positional(given), **given)

    def _positional(self, given: dict[str, Any]) -> list[Any]:
        """Removes the positional arguments of the implementation from ``given`` and returns them.
        Refuses other arguments that it does not have."""
        positional: list[Any] = []
        declared = list(self.__signature__.parameters.values())
        names = {parameter.name for parameter in declared}
        own_parameters = [p for p in self.parameters if p.kind is not p.KEYWORD_ONLY]
        for k, parameter in enumerate(declared):
            if parameter.name not in given or k >= len(own_parameters):
                break
            if own_parameters[k].name != parameter.name and own_parameters[k].name in names:
                break
            thing = given.pop(parameter.name)
            if parameter.kind is parameter.VAR_POSITIONAL:
                several = any(p.kind is p.VAR_POSITIONAL for p in own_parameters)
                positional += thing if several else [thing]
                break
            positional.append(thing)
        accepted = {parameter.name for parameter in self.parameters}
        if declared[-1].kind is inspect.Parameter.VAR_KEYWORD:
            given.update(given.pop(declared[-1].name, {}))
        for name in given:
            if name not in accepted and not name.startswith("**"):
                raise self._unsupported(name)
        return positional

    def _unsupported(self, name: str) -> CompileError:
        return DTypeError(
            f"the argument '{name}' of '{self.__name__}' is not supported",
            "omit the argument",
        )

    # ---- ufuncs

    def _call_ufunc(self, given: dict[str, Any]) -> Any:
        """Calls a ufunc with bound arguments."""
        operands = [given.pop(name) for name in list(given) if name[0] == "x"]
        dtype = given.pop("dtype", None)
        for name in given:
            raise self._unsupported(name)
        return self.apply(
            *(as_arrays("x", operand, weak=True) for operand in operands), dtype=dtype
        )

    def apply(self, *operands: Any, dtype: Any = None) -> Any:
        """Returns the result of a ufunc, computed in the dtypes that NumPy computes in."""
        loop = self._loop_dtypes(operands, dtype)
        if loop is None:
            return self.implementation(*operands)
        *inputs, result_dtype = loop
        out = None
        promotes = self.original in PROMOTING and not self._is_integer_power(operands, inputs)
        if dtype is None and (promotes or not _differ(operands, inputs)):
            try:
                out = self.implementation(*operands)
            except CompileError:
                if not _differ(operands, inputs):
                    raise
        if out is None or dtype_of(out) not in (None, result_dtype):
            out = self.implementation(
                *(_cast(operand, name) for operand, name in zip(operands, inputs))
            )
        if dtype_of(out) in (None, result_dtype):
            return out
        return structure.cast(out, dtype=result_dtype)

    def _is_integer_power(self, operands: Sequence[Any], inputs: Sequence[str]) -> bool:
        """True for a power of integers or complex numbers in another dtype. There NumPy before 2.3
        returns ``x ** 2`` in a dtype of its own."""
        base = _operand_kind(operands[0]) if self.original is np.power else None
        if not isinstance(base, np.dtype) or base.kind not in "biuc":
            return False
        return inputs[0] not in (base.name, "float64")

    def _loop_dtypes(self, operands: Sequence[Any], dtype: Any) -> list[str] | None:
        """Returns the dtypes in which NumPy computes, and that of the result; None if not known."""
        kinds = [_operand_kind(operand) for operand in operands]
        if any(kind is None for kind in kinds) or self.original.signature:
            if dtype is not None:
                raise self._unsupported("dtype")
            return None
        if not any(isinstance(kind, np.dtype) for kind in kinds):
            kinds = [np.dtype(kind) for kind in kinds]
        return _resolved_dtypes(
            self.original, tuple(kinds), None if dtype is None else np.dtype(dtype)
        )

    # ---- NumPy's own checks

    def _raise_as_numpy(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raises what NumPy raises for arguments of these shapes and dtypes, where they are known.
        Calls NumPy with stand-ins."""
        try:
            budget = [costs().checked_array_elements]
            square = getattr(self.original, "__module__", "") == "numpy.linalg"
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
        called = self.original
        if self.method:
            called, given = getattr(given[0], self.method), given[1:]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                called(*given, **named)
        except (ArithmeticError, MemoryError):
            return  # caused by the stand-ins' numbers
        except Exception as error:
            if "ingular" in str(error) or "converge" in str(error):
                return
            raise translate_error(error, f"{self.__name__} fails", self, None).meaning(
                error
            ) from None


def as_arrays(name: str, thing: Any, weak: bool) -> Any:
    """Returns an argument with lists converted to arrays where NumPy does so. Numbers become
    arrays, too, unless they are ``weak``."""
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
        return our_numpy.array(thing)
    return thing


def _is_number(thing: Any) -> bool:
    kind = thing.type if isinstance(thing, Value) else thing
    return isinstance(kind, (bool, int, float, complex, np.generic, ScalarType))


def _as_setting(name: str, thing: Any) -> Any:
    """Returns an argument with NumPy's ints and bools as Python's, unless it becomes an array."""
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


_KINDS_OF_NUMBERS: dict[Any, Any] = {BOOL: np.dtype(bool), INT: int, FLOAT: float, COMPLEX: complex}


def _operand_kind(operand: Any) -> Any:
    """Returns an operand's dtype or Python type for ``resolve_dtypes``; None if not known."""
    if isinstance(operand, Value) and not isinstance(operand.type, ArrayType):
        return _KINDS_OF_NUMBERS.get(operand.type)
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
    """Returns an array or number of the same type, made without memory. Raises LookupError where
    the type is not known."""
    if isinstance(thing, Value):
        return _stand_in(thing.type, square, budget)
    if isinstance(thing, Tensor):
        return thing.asnumpy()
    if isinstance(thing, (list, tuple)):
        items = [stand_in(item, square, budget) for item in thing]
        return items if isinstance(thing, list) else tuple(items)
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


__all__ = ["NumpyFunction", "as_arrays", "signature_of", "stand_in"]
