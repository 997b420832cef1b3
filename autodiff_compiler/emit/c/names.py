"""Names in C text: each object has one of its own, which is no word of C or of its libraries."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from autodiff_compiler.emit.c.algorithms import ALGORITHMS
from autodiff_compiler.emit.c.expressions import C_TYPES
from autodiff_compiler.emit.c.library import FUNCTIONS
from autodiff_compiler.emit.c.products import NAMES
from autodiff_compiler.loop_ir.nodes import Scalar

#: Words of C and C++, and names that the file itself uses. A header may be read by C++.
RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if"
    " inline int long register restrict return short signed sizeof static struct switch typedef"
    " union unsigned void volatile while services workspace polls p Services"
    " alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class compl"
    " concept consteval constexpr constinit const_cast co_await co_return co_yield decltype delete"
    " dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr"
    " operator or or_eq private protected public reinterpret_cast requires static_assert"
    " static_cast template this thread_local throw true try typeid typename using virtual wchar_t"
    " xor xor_eq".split()
    + [name for name in C_TYPES.values() if name.endswith("_t")]
)
_MATHS = (
    "acos acosh asin asinh atan atan2 atanh cabs cacos cacosh carg casin casinh catan catanh cbrt"
    " ccos ccosh ceil cexp cimag clog conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan"
    " ctanh drem erf erfc exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp gamma hypot"
    " ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan"
    " nearbyint nextafter nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn"
    " significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn"
)
#: Names with external linkage that C libraries, or a program, define already.
LINKED = frozenset(
    "abort abs accept access alarm atexit atof atoi atol bcmp bcopy bind bsearch bzero calloc chdir"
    " clock close connect ctime difftime div dup environ errno execl exit fclose ffs fflush fgetc"
    " fgets fopen fork fprintf fputc fputs fread free fscanf fseek ftell fwrite getc getchar getenv"
    " getpid gets gmtime imaxabs index isalnum isalpha isascii isblank iscntrl isdigit isgraph"
    " islower isprint ispunct isspace isupper isxdigit kill labs ldiv link listen llabs lldiv"
    " localtime longjmp main malloc memchr memcmp memcpy memmove mempcpy memset mktime open perror"
    " pipe poll printf putc putchar puts qsort raise rand random read realloc recv remove rename"
    " rewind rindex scanf select send setjmp signal sleep snprintf socket sprintf srand srandom"
    " sscanf stat stderr stdin stdout stpcpy strcat strchr strcmp strcpy strdup strftime strlen"
    " strncat strncmp strncpy strrchr strspn strstr strtod strtok strtol system time times toascii"
    " tolower toupper truncate umask uname ungetc unlink vprintf wait write".split()
    + [f"{name}{suffix}" for name in _MATHS.split() for suffix in ("", "f", "l")]
)


#: The names of loop indices, from the outside inward.
INDICES = tuple("ijklmpq")
#: Names that a file may define.
DEFINED = NAMES | FUNCTIONS.keys() | ALGORITHMS.keys()


class Names:
    """The names of scalars, buffers and functions. No two that are visible at once are equal.

    ``taken`` are names that no object gets.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        self.names: dict[int, str] = {}
        self.taken = set(taken)
        self.visible: list[str] = []

    def index(self, scalar: Scalar) -> str:
        """Returns the name of an index: that of the user, or the next letter that is free."""
        if scalar.name not in INDICES:
            return self(scalar)
        letter = next((each for each in INDICES if each not in self.taken), scalar.name)
        return self(scalar, letter)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Opens a block of C. The names that are chosen in it are free after it."""
        count = len(self.visible)
        yield
        self.taken.difference_update(self.visible[count:])
        del self.visible[count:]

    def __call__(self, thing: object, wish: str = "") -> str:
        """Returns the name of an object, which must live as long as these names."""
        name = self.names.get(id(thing))
        if name is None:
            name = self.names[id(thing)] = self.new(wish or getattr(thing, "name", str(thing)))
        return name

    def new(self, wish: str) -> str:
        """Returns a name that nothing visible has."""
        wish = re.sub(r"\W", "_", wish) or "value"
        if wish[0].isdigit() or wish in RESERVED:
            wish += "_"
        name, number = wish, 0
        while name in self.taken or name in DEFINED:
            number += 1
            name = f"{wish}_{number}"
        self.taken.add(name)
        self.visible.append(name)
        return name


__all__ = ["DEFINED", "INDICES", "LINKED", "RESERVED", "Names"]
