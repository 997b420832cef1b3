"""The cost model: the thresholds by which the compiler decides if something is worth it.

``Costs`` holds the thresholds: the compiler compares each with a size, a count or a depth before it
decides. ``costs()`` is the record in force. A test changes it for a block:

>>> with changed_costs(large_bytes=1):
...     costs().large_bytes
1
>>> costs().large_bytes
65536

A change holds for one context, and ends with its block. A context is a thread, with the large stack
on which it compiles. It is for tests: functions compiled before stay in the caches, whose keys do
not name the thresholds. Users cannot set them.

The package is in the lowest layer, because all others read numbers of it: operators, the front end,
analyses, transforms, passes, emission and the run time. It imports nothing else of ours.

Rules of correctness are no thresholds. They stand where they are applied. Examples are the
tolerances of formulas (``analysis/magnitude.py``), the digits of a dtype, and the layout of source.
Others are the depth of indentation that Python reads, and the stack of a thread (``faults.py``).
"""

from autodiff_compiler.cost_model.current import changed_costs, costs
from autodiff_compiler.cost_model.record import Costs

__all__ = ["Costs", "changed_costs", "costs"]
