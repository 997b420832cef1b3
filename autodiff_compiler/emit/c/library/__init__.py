"""Functions in C that a printed file includes if it uses them: ``functions_for`` has their text.

Their names are those of operators with the dtype at the end, such as ``exp_f32`` or ``mod_i64``.
"""

from autodiff_compiler.emit.c.library.record import CFunction
from autodiff_compiler.emit.c.library.table import FUNCTIONS, functions_for, needs

__all__ = ["FUNCTIONS", "CFunction", "functions_for", "needs"]
