"""The thresholds of the compiler: from which size, and up to which number, something is worth it.

One record, ``Costs``, holds every number that a part of the compiler compares with a size, a count
or a depth before it decides. ``costs()`` is the record in force. A test changes it for a block:

>>> with changed_costs(large_bytes=1):
...     costs().large_bytes
1
>>> costs().large_bytes
65536

Such a change holds for one context (a thread, with what it starts to compile on a large stack), and
ends with its block. It is for tests: what was compiled before stays in the caches, and their keys
do not name the thresholds. Users have no way to set them.

The package stands in the lowest layer, below the passes: operators, the front end, the analyses,
the sweeps, the emission and the run time read numbers of it too, and most of them are below the
passes. It imports nothing else of ours.

Rules of correctness are no thresholds and stay where they are applied: the tolerances of formulas
(``analysis/magnitude.py``), the digits of a dtype, the depth of indentation that Python reads, the
stack of a thread (``faults.py``). So does the layout of text.
"""

from autodiff_compiler.cost_model.current import changed_costs, costs
from autodiff_compiler.cost_model.record import Costs

__all__ = ["Costs", "changed_costs", "costs"]
