"""The mark of macros.

A macro is a function or class of this package that runs while a user's function is compiled. It
is called with IR values, and its operators add operations to the function being compiled. A module
whose functions and classes are all macros says ``__macro__ = True``. In other modules a class
whose construction is a macro is decorated with ``macro``.
"""

from __future__ import annotations

import sys
import types
from typing import Any, TypeVar

from autodiff_compiler.ir.opdef import OpDef

__macro__ = True

ClassT = TypeVar("ClassT", bound=type)

_MACRO_CLASSES: set[type] = set()


def macro(kind: ClassT) -> ClassT:
    """Marks a class: its instances are made at compile time, but its methods are no macros."""
    _MACRO_CLASSES.add(kind)
    return kind


def is_macro(callee: Any) -> bool:
    """True if a call of ``callee`` runs at compile time, on IR values.

    The mark of a bound method is that of the module which defines the class of its instance.
    """
    if isinstance(callee, OpDef):
        return True
    if isinstance(callee, type) and callee in _MACRO_CLASSES:
        return True
    owner = type(callee.__self__) if isinstance(callee, types.MethodType) else callee
    module = sys.modules.get(_home(owner))
    return module is not None and vars(module).get("__macro__") is True


def _home(thing: Any) -> str:
    """Returns the name of the module that defines ``thing``, or its type."""
    named = isinstance(thing, type) or hasattr(thing, "__module__")
    return str(getattr(thing if named else type(thing), "__module__", "") or "")
