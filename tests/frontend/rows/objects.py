"""Objects that a text makes: named tuples, dataclasses, classes with methods and operators."""

from collections import namedtuple
from dataclasses import dataclass, field

from autodiff_compiler import Tensor, nn, ops
from tests.frontend.rows.rows import of, row

Pair = namedtuple("Pair", ["left", "right"])


@row("namedtuple")
def named_tuple(x):
    pair = Pair(x, right=x * x)
    left, right = pair
    return pair.left * pair.right + left * right * pair[0] + pair._replace(left=x * 2).left


@dataclass
class Sides:
    left: Tensor
    right: Tensor
    scale: float = 2.0

    def product(self):
        return self.left * self.right * self.scale


@row("dataclass made inside")
def dataclass_inside(x):
    sides = Sides(x, x * x)
    sides.left = sides.left * 3.0
    return sides.product() * sides.left


class Sum:
    def __init__(self, start):
        self.total = start
        self.seen = []

    def add(self, part):
        self.total = self.total + part
        self.seen.append(part)
        return self


@row("object made inside")
def object_inside(x):
    total = Sum(x)
    total.add(x * x).add(ops.sin(x))
    return total.total * total.seen[0] * len(total.seen)


@row("object made inside")
def changed_by_branch_and_loop(x):
    total = Sum(x)
    for i in range(3):
        total.add(x * i)
    if x.sum() > 3:
        total.total = total.total * x
    else:
        total.add(x)
    return total.total


class Vector:
    """Two numbers with the operators of a vector."""

    def __init__(self, a, b=0.0):
        self.a, self.b = a, b

    def __add__(self, other):
        return Vector(self.a + other.a, self.b + other.b)

    def __mul__(self, k):
        return Vector(self.a * k, self.b * k)

    def __rmul__(self, k):
        return self * k

    def __getitem__(self, place):
        return (self.a, self.b)[place]

    def __len__(self):
        return 2

    def __eq__(self, other):
        return len(self) == len(other)

    def __call__(self, x):
        return self.a * x + self.b

    @property
    def norm(self):
        return (self.a * self.a + self.b * self.b).sum()

    @norm.setter
    def norm(self, value):
        self.a = self.a * value


@row("object with operators")
def object_with_operators(x):
    v = Vector(x, x * x) + 2.0 * Vector(x)
    w = v * x
    w.norm = 2.0
    bigger = w if len(w) == 2 and w == v and not w != v else v
    return bigger[0] * v[1] * w(x) * v.norm


class Sized(Vector):
    """A Vector with a name, which is known while compiling."""

    def __init__(self, name, *args):
        super().__init__(*args)
        self.name = name


@row("object of a derived class")
def object_of_a_derived_class(x):
    v = Sized("sin", x, 2.0)
    assert isinstance(v, Vector) and type(v) is Sized and hasattr(v, "name")
    return (ops.sin(v.a) if v.name == "sin" else v.a) * v.b * v.__class__("a", x)(x)


@row("outer object with __call__")
class CallsObjectOutside(nn.Cell):
    def __init__(self):
        super().__init__()
        self.affine = Vector(3.0, of(0.5, 0.25))

    def construct(self, x):
        return self.affine(x) * x


@dataclass
class Range:
    low: float
    high: float = 4.0
    steps: list = field(default_factory=list)

    def __post_init__(self):
        self.width = self.high - self.low


@row("dataclass made inside")
def dataclass_with_factory(x):
    one, other = Range(x.sum(), high=x), Range(x.sum(), high=x)
    one.steps.append(x * 3)
    return one.width * len(other.steps) + one.steps[0] * other.width


class Bag:
    """Falsy while it is empty, and shown by its size."""

    scale = 2.5

    def __init__(self, *parts):
        self.parts = list(parts)

    def __len__(self):
        return len(self.parts)

    def __str__(self):
        return f"a bag of {len(self)}"


class Switch:
    def __init__(self, on):
        super().__init__()
        self.on = on

    def __bool__(self):
        return self.on


@row("truth and text of an object")
def truth_of_an_object(x):
    bag, none = Bag(x, x * x), Bag()
    if bag and not none and Switch(True) and not Switch(False) and f"{bag}" == "a bag of 2":
        return bag.parts[1] * bag.scale
    return x


@row("truth and text of an object")
def truth_at_run_time(x):
    return x * x if Switch(bool(x.sum() > 0)) else x


@dataclass
class Derived:
    left: float
    total: float = field(init=False)

    def __post_init__(self):
        self.total = self.left * self.left


@row("dataclass made inside")
def dataclass_with_a_derived_field(x):
    return Derived(x).total * (Derived(1.0) == Derived(1.0)) + x * (Derived(1.0) != Derived(2.0))
