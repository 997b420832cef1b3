"""Identifiers that Python accepts, that hide no name of Python's, and that are not used yet."""

from __future__ import annotations

import keyword
import unicodedata

#: Python's own names, which generated text does not assign. A list, because the names in
#: ``builtins`` depend on the version, and on who started Python.
BUILTINS = frozenset(
    """
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod
    compile complex copyright credits delattr dict dir divmod enumerate eval exec exit filter float
    format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter
    len license list locals map max memoryview min next object oct open ord pow print property quit
    range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars
    zip Ellipsis NotImplemented
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError
    BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError
    ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError
    EncodingWarning EnvironmentError Exception ExceptionGroup FileExistsError FileNotFoundError
    FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning
    IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt
    LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplementedError
    OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
    PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError
    RuntimeWarning StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError
    SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError
    UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError
    Warning ZeroDivisionError
    """.split()
)
#: The modules that generated text imports.
MODULES = ("np", "ml_dtypes")


def as_identifier(name: str) -> str:
    """Returns ``name`` in the form that Python reads, made an identifier if needed.

    A keyword and a name of Python's get an underscore behind. A name of underscores alone becomes
    ``i``: a loop's count that the user ignores and backward reads.

    >>> as_identifier("lambda"), as_identifier("2 x"), as_identifier("h"), as_identifier("_")
    ('lambda_', '_2_x', 'h', 'i')
    >>> as_identifier("input"), as_identifier("sum")
    ('input_', 'sum_')
    """
    if not name.strip("_"):
        return "i"
    name = unicodedata.normalize("NFKC", name)
    if not name.isidentifier():
        name = "".join(char if f"_{char}".isidentifier() else "_" for char in name)
        name = name if name.isidentifier() else f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in BUILTINS else name


def function_identifier(name: str) -> str:
    """Returns the name of a function that hides no name of Python's and no module.

    >>> function_identifier("max"), function_identifier("max_forward")
    ('max_function', 'max_forward')
    """
    return f"{name}_function" if name in BUILTINS or name in MODULES else name


def unique_name(wish: str, used: set[str], tried: dict[str, int]) -> str:
    """Returns the first free name of ``wish``, ``wish_1``, ``wish_2`` and so on.

    ``tried`` remembers where the last search for this name ended: used names stay used.
    """
    name, number = wish, 0
    if name in used:
        number = tried.get(wish, 1)
        while (name := f"{wish}_{number}") in used:
            number += 1
    tried[wish] = number + 1
    return name
