"""Imports the file that a command line names, as Python would."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from autodiff_compiler.cli.exit_codes import UsageError
from autodiff_compiler.errors import CompileError


def import_file(path: Path) -> Any:
    """Returns the module of a file: a module of its package, if the file is in one.

    Its siblings can be imported, as if the file were run.
    """
    path = path.resolve()
    root, name = _place(path)
    for folder in dict.fromkeys((str(root), str(path.parent))):
        if folder in sys.path:
            sys.path.remove(folder)
    sys.path[:0] = dict.fromkeys((str(path.parent), str(root)))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for the result
            if "." in name:
                importlib.invalidate_caches()
                return importlib.import_module(name)
            return _import_alone(path, name)
    except CompileError:
        raise
    except (Exception, SystemExit) as error:
        where = _place_of_error(error, path)
        raise UsageError(f"{where} cannot be imported: {type(error).__name__}: {error}") from None


def _place_of_error(error: BaseException, path: Path) -> str:
    """Returns the file, with the line of it in which an exception was raised, if any."""
    if isinstance(error, SyntaxError) and error.lineno and error.filename == str(path):
        return f"{path}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _place(path: Path) -> tuple[Path, str]:
    """Returns the folder from which a file is imported, and the name of its module."""
    names, folder = [path.stem], path.parent
    levels = _levels(path)
    while (folder / "__init__.py").is_file() or levels > 0:
        if folder.parent == folder:
            break
        names.insert(0, folder.name)
        folder, levels = folder.parent, levels - 1
    if names[-1] == "__init__" and len(names) > 1:
        names.pop()
    if not all(name.isidentifier() for name in names[:-1]):
        return path.parent, path.stem
    return folder, ".".join(names)


def _levels(path: Path) -> int:
    """Counts the packages around a file that its relative imports go through."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return 0
    return max((n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)), default=0)


def _import_alone(path: Path, name: str) -> Any:
    """Imports a file that is in no package."""
    if name in sys.stdlib_module_names or name in ("numpy", "gast", "astunparse"):
        name = f"{name}_file"  # other modules of the process import the one of this name
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


__all__ = ["import_file"]
