"""Return codes of generated C functions. Zero is success."""

from __future__ import annotations

#: The services returned no memory.
NO_MEMORY = 1
#: A poll of the services ended the call, such as after Ctrl-C.
INTERRUPTED = 2
#: The code of the first row of ``Function.errors``. Smaller codes are kept for the services.
FIRST_ERROR = 16

__all__ = ["FIRST_ERROR", "INTERRUPTED", "NO_MEMORY"]
