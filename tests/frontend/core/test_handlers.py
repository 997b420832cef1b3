"""The record of handlers: dispatch fills in every field, and the front end uses every field."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import autodiff_compiler.frontend
from autodiff_compiler.frontend.core.handlers import Handlers
from autodiff_compiler.frontend.dispatch import HANDLERS

FRONTEND = Path(autodiff_compiler.frontend.__file__).parent
NAMES = {field.name for field in fields(Handlers)}


def test_every_handler_is_filled_in() -> None:
    for name in NAMES:
        handler = getattr(HANDLERS, name)
        rows = handler.values() if hasattr(handler, "values") else [handler]
        assert rows and all(callable(row) for row in rows), name


def test_every_handler_is_called_from_below() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FRONTEND.rglob("*.py"))
    assert set(re.findall(r"\bhandlers\.(\w+)", text)) & NAMES == NAMES
