"""Errors of the way to a callable: messages, classes and pickling."""

from __future__ import annotations

import pickle

from autodiff_compiler.errors import CompileError, InternalError
from autodiff_compiler.runtime.native.errors import CompilerRefused, NativeUnavailable


def test_a_refusal_is_a_fault_of_ours() -> None:
    error = CompilerRefused(["cc", "-o", "a b"], "int x", "gradient.c:1:6: error: no semicolon\n")
    assert isinstance(error, InternalError)
    lines = str(error).splitlines()
    assert lines[1:3] == ["  command: cc -o 'a b'", "gradient.c:1:6: error: no semicolon"]
    assert "this is a bug in autodiff_compiler" in lines[3] and lines[3].endswith("[AD900]")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is CompilerRefused and str(again) == str(error)
    assert (again.command, again.text, again.stderr) == (error.command, error.text, error.stderr)


def test_a_missing_compiler_is_none() -> None:
    error = NativeUnavailable("there is none")
    assert not isinstance(error, (InternalError, CompileError))
    assert str(pickle.loads(pickle.dumps(error))) == "there is none"
