"""Errors for unknown names: they say if MindSpore has the name, and suggest the nearest one.

>>> print(no_such("ops", "matmull", ["matmul", "mean"]))
UnknownAttribute: ops has no 'matmull'
  cure: did you mean 'matmul'? [AD103]
>>> print(no_such("ops", "lu_unpack", ["unstack", "mean"]))
UnknownAttribute: MindSpore's ops.lu_unpack is not part of this package
  cure: `autodiff-compiler ops` lists all [AD103]
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from autodiff_compiler.errors import UnknownAttribute
from autodiff_compiler.mindspore_names.supported import TIERS
from autodiff_compiler.mindspore_names.unsupported import OTHERS

#: The surfaces that a user sees under one name.
OWNERS = {"ops": ("function", "primitive"), "nn": ("layer",), "Tensor": ("method",)}


ALL = "`autodiff-compiler ops` lists all"


@cache
def names(surface: str, tier: int) -> tuple[str, ...]:
    """Returns the names of a tier of a surface, without marks."""
    return tuple(
        name.rstrip("°") for text in TIERS[surface][tier].values() for name in text.split()
    )


#: Names of PyTorch, TensorFlow and older MindSpore, with the names here.
EQUIVALENTS = {
    "Linear": "Dense",
    "Module": "Cell",
    "ModuleList": "CellList",
    "Sequential": "SequentialCell",
    "ModuleDict": "CellDict",
    "Conv2D": "Conv2d",
    "Conv1D": "Conv1d",
    "MaxPooling2D": "MaxPool2d",
    "AveragePooling2D": "AvgPool2d",
    "BatchNormalization": "BatchNorm2d",
    "LayerNormalization": "LayerNorm",
    "CrossEntropyLoss": "SoftmaxCrossEntropyWithLogits",
    "BCEWithLogitsLoss": "BCEWithLogitsLoss",
    "cat": "concat",
    "concatenate": "concat",
    "unsqueeze": "expand_dims",
    "permute": "transpose",
    "mm": "matmul",
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "where": "select",
    "reduce_mean": "mean",
    "reduce_sum": "sum",
    "reduce_max": "max",
    "reduce_min": "min",
    "view": "reshape",
    "detach": "stop_gradient",
    "softmax_cross_entropy_with_logits": "cross_entropy",
    "add_n": "addn",
    "clip": "clamp",
    "clip_by_value": "clamp",
    "no_grad": "stop_gradient",
    "SGDOptimizer": "SGD",
    "forward": "construct",
    "parameters": "get_parameters",
}


#: Functions of SciPy by name, with the equivalent ones here.
SCIPY = {
    "gammaln": "ops.lgamma",
    "loggamma": "ops.lgamma",
    "psi": "ops.digamma",
    "digamma": "ops.digamma",
    "polygamma": "ops.polygamma",
    "gammainc": "ops.igamma",
    "erf": "ops.erf",
    "erfc": "ops.erfc",
    "erfinv": "ops.erfinv",
    "expit": "ops.sigmoid",
    "logit": "ops.logit",
    "softmax": "ops.softmax",
    "log_softmax": "ops.log_softmax",
    "logsumexp": "ops.logsumexp",
    "xlogy": "ops.xlogy",
    "i0": "ops.i0",
    "log1p": "ops.log1p",
    "expm1": "ops.expm1",
    "cholesky": "np.linalg.cholesky",
    "inv": "np.linalg.inv",
    "det": "np.linalg.det",
    "norm": "np.linalg.norm",
    "pinv": "np.linalg.pinv",
    "solve": "np.linalg.solve",
    "svd": "np.linalg.svd",
}


def equivalent(function: Any) -> str | None:
    """Returns the equivalent of a SciPy function here, or None."""
    name, home = getattr(function, "__name__", ""), getattr(function, "__module__", None) or ""
    # SciPy's ufuncs have no __module__.
    theirs = home.startswith("scipy") or type(function).__name__ == "ufunc"
    return SCIPY.get(name) if theirs else None


@cache
def left_out(owner: str) -> frozenset[str]:
    """Returns all names that ``owner`` has in MindSpore."""
    return frozenset(
        name
        for surface in OWNERS[owner]
        for name in (*names(surface, 1), *names(surface, 2), *OTHERS[surface].split())
    )


def nearest(name: str, known: Iterable[str], likeness: float = 0.75) -> str | None:
    """Returns the known name most similar to ``name``, without regard to case and underscores."""
    plain: dict[str, str] = {}
    for other in known:
        if other[0] != "_":
            plain.setdefault(_plain(other), other)
    asked = _plain(name)
    matches = difflib.get_close_matches(asked, plain, 1, likeness)
    return (
        plain[matches[0]] if matches and _edits(asked, matches[0]) <= 1 + len(asked) // 5 else None
    )


def _edits(one: str, other: str) -> int:
    """Returns the Levenshtein distance: insertions, deletions and changes from one to the other.

    >>> _edits("reshap", "reshape"), _edits("accuracy", "gradaccumulationcell")
    (1, 14)
    """
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        before, row[0] = row[0], number
        for place, its in enumerate(other, 1):
            least = min(row[place] + 1, row[place - 1] + 1, before + (letter != its))
            before, row[place] = row[place], least
    return row[-1]


def _plain(name: str) -> str:
    return name.replace("_", "").lower() or name


def no_such(owner: str, name: str, known: Iterable[str]) -> UnknownAttribute:
    """Returns the error for ``owner.name``, where ``known`` are the names that ``owner`` has."""
    known = list(known)
    same = EQUIVALENTS.get(name)
    if same in known:
        cure = f"it is called '{same}' here"
        return UnknownAttribute(f"{_owner(owner)} has no {_kind(owner)}'{name}'", cure)
    if name not in left_out(owner):
        like = nearest(name, known)
        cure = f"did you mean '{like}'?" if like else ALL
        return UnknownAttribute(f"{_owner(owner)} has no {_kind(owner)}'{name}'", cure)
    like = nearest(name, known)
    cure = f"the nearest name here is '{like}'; {ALL}" if like else ALL
    return UnknownAttribute(f"MindSpore's {owner}.{name} is not part of this package", cure)


def _owner(owner: str) -> str:
    return "a Tensor" if owner == "Tensor" else owner


def _kind(owner: str) -> str:
    return "attribute " if owner == "Tensor" else ""


def module_getattr(owner: str, space: dict[str, Any]) -> Callable[[str], Any]:
    """Returns the ``__getattr__`` of a module whose names are those in ``space``."""

    def __getattr__(name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(f"module {space['__name__']!r} has no attribute {name!r}")
        raise no_such(owner, name, (key for key, value in space.items() if callable(value)))

    return __getattr__
