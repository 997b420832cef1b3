"""The page on each class of error: it is in the documents, and its examples do what they say."""

from __future__ import annotations

import os
import re
import textwrap
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import errors
from autodiff_compiler.cli import main
from autodiff_compiler.ir.opdef import OPERATORS

PAGES = Path(__file__).parents[2] / "docs" / "errors"
KINDS = errors.by_code()
HEAD = "from autodiff_compiler import GradOperation, Tensor, grad, nn, ops\n\n\n"


def example(kind: type, title: str, folder: Path) -> Any:
    """The function ``f`` of an example, from a file of its own."""
    found = re.search(rf"^{title}::\n\n((?:    .*\n|\n)+)", errors.page(kind) + "\n", re.M)
    assert found is not None, f"the page of {kind.__name__} has no example '{title}'"
    file = folder / f"{title.lower()}.py"
    file.write_text(HEAD + textwrap.dedent(found[1]), encoding="utf-8")
    spec = util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def run(fn: Any) -> ms.Tensor:
    return ms.grad(fn)(ms.Tensor(np.array([[2.0, 1.0, 0.5]] * 3, np.float32)))


@pytest.mark.parametrize("code", KINDS)
def test_the_examples_of_a_page_do_what_it_says(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(OPERATORS["expm1"].adjoint, OPERATORS["expm1"].operands[0])
    kind = KINDS[code]
    with pytest.raises(kind) as caught:
        run(example(kind, "Refused", tmp_path))
    assert type(caught.value) is kind and str(caught.value).endswith(f"[{code}]")
    assert np.isfinite(run(example(kind, "Accepted", tmp_path)).asnumpy()).all()


def test_documents_and_classes_hold_the_same_pages() -> None:
    pages = {f"{code}.md": errors.page(kind) for code, kind in KINDS.items()}
    if os.environ.get("REWRITE_GOLDEN"):
        for name, text in pages.items():
            (PAGES / name).write_text(text, encoding="utf-8", newline="\n")
    assert {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")} == pages


def test_codes_are_unlike() -> None:
    kinds, waiting = set(), [errors.CompileError]
    while waiting:
        waiting += (more := waiting.pop().__subclasses__())
        kinds |= set(more)
    assert len(KINDS) == len(kinds) >= 10
    assert all(re.fullmatch(r"AD\d{3}", code) for code in KINDS)


def test_the_command_prints_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "ad201"]) == 0
    assert capsys.readouterr().out == errors.page(errors.ShapeError)
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(KINDS)
    assert lines[0] == "AD101  UnsupportedSyntax: Python that compiled code does not support."


def test_an_unknown_code_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "AD999"]) == 2
    assert "there is no code AD999; the codes are AD101, " in capsys.readouterr().err
