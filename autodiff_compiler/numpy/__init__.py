"""NumPy's functions by NumPy's names and arguments, on tensors and in compiled functions.

``import autodiff_compiler.numpy as mnp`` is MindSpore's ``mindspore.numpy``. A compiled function
that calls ``np.sin`` calls the function of that name here.
"""

from math import e, inf, nan, pi

from autodiff_compiler.numpy import argument_aliases as _names
from autodiff_compiler.numpy import linalg
from autodiff_compiler.numpy.creation import *  # noqa: F403
from autodiff_compiler.numpy.differences import *  # noqa: F403
from autodiff_compiler.numpy.elementwise import *  # noqa: F403
from autodiff_compiler.numpy.padding import *  # noqa: F403
from autodiff_compiler.numpy.products import *  # noqa: F403
from autodiff_compiler.numpy.reductions import *  # noqa: F403
from autodiff_compiler.numpy.shapes import *  # noqa: F403

newaxis, norm = None, linalg.norm
_names.accept(globals())

__all__ = ["e", "inf", "linalg", "nan", "newaxis", "norm", "pi"]
