"""Generated C functions and the extension module that calls them agree on return codes."""

from __future__ import annotations

import re
from pathlib import Path

import autodiff_compiler
from autodiff_compiler.emit.c import return_codes


def test_the_extension_module_has_the_same_codes() -> None:
    package = Path(autodiff_compiler.__file__).parent
    text = (package / "runtime" / "native" / "glue.c").read_text(encoding="utf-8")
    (codes,) = re.findall(r"enum \{ OUT_OF_MEMORY = (\d+), INTERRUPTED = (\d+) \}", text)
    assert tuple(map(int, codes)) == (return_codes.NO_MEMORY, return_codes.INTERRUPTED)


def test_errors_of_a_function_come_after_those_of_services() -> None:
    services = {return_codes.NO_MEMORY, return_codes.INTERRUPTED}
    assert len(services) == 2 and 0 not in services
    assert max(services) < return_codes.FIRST_ERROR
