"""Assignment, unpacking, attributes of self and of other objects."""

from dataclasses import dataclass, field

import numpy as np

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from tests.frontend.rows.rows import of, row


@row("tuple unpack")
def unpacks(x):
    a, b = x * x, ops.sin(x)
    return a * b


@row("nested unpack")
def unpacks_nested(x):
    (a, [b, c]), d = (x, [x * x, 2.0]), ops.sin(x)
    return a * b * c * d


@row("starred unpack")
def unpacks_starred(x):
    first, *rest = [x, x * x, ops.sin(x)]
    *front, last = (x, 2.0, ops.cos(x))
    return first * rest[0] * rest[1] + front[0] * last


@row("swap")
def swaps(x):
    a, b = x, x * x * 2
    a, b = b, a
    return ops.sin(a) * b


@row("multiple targets")
def multiple_targets(x):
    a = b = x * x
    b = b * x
    return a + b


@row("aug assign all")
def augmented(x):
    y = x * 1
    y += x
    y -= 0.5
    y *= x
    y /= 3.0
    y **= 2
    return y


@row("aug // %", gradient=lambda x: 1 + 0 * x)
def augmented_floor(x):
    y = x * 1
    y //= 2
    z = x * 1
    z %= 2
    return y + z


@row("annotated assign")
def annotated(x):
    y: Tensor = x * x
    k: float
    k = 2.0
    return y * k


@dataclass
class Settings:
    scale: float = 2.5
    names: list = field(default_factory=lambda: ["sin", "cos"])
    table: dict = field(default_factory=lambda: {"a": 3.0})

    def doubled(self, x):
        return x * self.scale * 2


class Plain:
    def __init__(self):
        self.k = 2.0
        self.w = of(2.0, 3.0)

    def scaled(self, x):
        return x * self.k * self.w

    @property
    def both(self):
        return self.k * 2

    @staticmethod
    def squared(x):
        return x * x

    @classmethod
    def made(cls, x):
        return x * len(cls.__name__)


@ms.jit_class
class Compiled:
    def __init__(self, k):
        self.k = k

    def scaled(self, x):
        return x * x * self.k


@ms.constexpr
def shape_product(shape, k):
    return int(np.prod(shape)) * k


class Holder(nn.Cell):
    def __init__(self):
        super().__init__()
        self.settings = Settings()
        self.plain = Plain()
        self.compiled = Compiled(3.0)
        self.w = Parameter(of(2.0, -3.0), name="w")
        self.count = Parameter(Tensor(np.float32(2.0)), name="count", requires_grad=False)
        self.items = [2.0, 3.0]
        self.table = {"k": 4.0, "t": of(1.0, 2.0)}
        self.tensor = of(0.5, 0.25)


@row("self attribute read")
class ReadsAttribute(Holder):
    def construct(self, x):
        return x * self.w * self.tensor * x


@row("self list/dict read")
class ReadsContainers(Holder):
    def construct(self, x):
        return x * self.items[1] * self.table["t"] * x + self.table["k"] * len(self.items)


@row("self param assign")
class AssignsParameter(Holder):
    def construct(self, x):
        self.count = self.count * 2.0
        return x * x * self.count


@row("self param augassign")
class AugmentsParameter(Holder):
    def construct(self, x):
        self.count += 1.0
        return x * x * self.count


@row("self method call")
class CallsMethod(Holder):
    def scaled(self, x, k):
        return x * self.w * k

    def construct(self, x):
        return self.scaled(x, 2.0) * self.scaled(x * x, k=x)


@row("subcell call")
class CallsCell(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = CallsMethod()
        self.act = nn.Tanh()

    def construct(self, x):
        return self.act(self.inner(x)) * x


@row("create cell in construct")
def creates_cell(x):
    return nn.Tanh()(x) * nn.LeakyReLU(0.5)(x)


@row("create primitive in construct")
def creates_primitive(x):
    return ops.ReduceSum(keep_dims=True)(ops.Sin()(x), 0) * x


@row("create Tensor in construct")
def creates_tensor(x):
    return x * Tensor([2.0, 3.0], ms.float32) + Tensor(2.0, ms.float32)


@row("numpy constant")
def numpy_constant(x):
    return x * np.pi + np.float32(2.0) + float(np.sqrt(4.0))


@row("is None")
def is_none(x, y=None):
    if y is None:
        return x * x
    return y


@row("is True")
def is_true(x, flag=True):
    return x * x if flag is True else x


@row("== None")
def equals_none(x, y=None):
    return x * x if y == None else y


@row("hasattr/getattr")
class AsksForAttributes(Holder):
    def construct(self, x):
        if hasattr(self, "w") and not hasattr(self, "nothing"):
            x = x * getattr(self, "w")
        return x * x if hasattr(x, "shape") else x


@row("getattr default")
class GetattrDefault(Holder):
    def construct(self, x):
        return x * getattr(self, "nothing", 2.5) * getattr(self.settings, "scale", 1.0)


@row("setattr builtin")
class SetsAttribute(Holder):
    def construct(self, x):
        setattr(self, "kept", 3.0)
        return x * x * self.kept


@row("isinstance Tensor")
def is_tensor(x):
    return x * x if isinstance(x, Tensor) and not isinstance(x, (int, float)) else x


@row("isinstance tuple types")
def is_any_of(x):
    items = [x, 2.0]
    return x * 2 if isinstance(items[1], (int, float)) and isinstance(items, (list, tuple)) else x


@row("type() compare")
def type_compare(x):
    items, pair = [x], (x, x)
    same = type(items) == list and type(pair) is tuple and type(3) == int
    return x * x if same and type({"a": 1}) is dict and type(x) is Tensor else x


@row("custom class object attr")
class ReadsObject(Holder):
    def construct(self, x):
        return x * self.plain.k * self.plain.w * x * self.plain.both


@row("custom class method")
class CallsObject(Holder):
    def construct(self, x):
        return self.plain.scaled(x) * self.plain.squared(x) + Plain.squared(x) + Plain.made(x)


@row("jit_class object")
class UsesJitClass(Holder):
    def construct(self, x):
        return self.compiled.scaled(x) + Compiled(2.0).scaled(x) * self.compiled.k


@row("dataclass instance attr")
class UsesDataclass(Holder):
    def construct(self, x):
        y = self.settings.doubled(x) * self.settings.table["a"]
        for name in self.settings.names:
            y = y * (ops.sin(x) if name == "sin" else ops.cos(x))
        return y


@row("constexpr fn")
def uses_constexpr(x):
    return x * x * shape_product(x.shape, 3)


@row("self attr write int")
class WritesNumber(Holder):
    def construct(self, x):
        self.k = 4
        return x * self.k


@row("self attr write tensor new")
class WritesTensor(Holder):
    def construct(self, x):
        self.kept = x * x
        return self.kept * x


@row("list ops extend/pop/insert/reverse")
def list_operations(x):
    items = [x]
    items.extend([x * 2, x * x])
    items.insert(0, ops.sin(x))
    last = items.pop()
    items.reverse()
    return items[0] * last + items[2]


@row("numpy call on tensor")
def numpy_on_tensor(x):
    return x * Tensor(np.sin(x))


@row("tensor setitem on input")
def writes_into_input(x):
    x[0] = 5.0
    return x * x


@row(".asnumpy()", gradient=lambda x: x)
def asnumpy(x):
    return x * Tensor(x.asnumpy())


def twice(fn):
    def wrapped(*args):
        return fn(*args) * 2

    return wrapped


@row("decorator inner fn")
def decorated_inner(x):
    @twice
    def scaled(v):
        return v * v

    return scaled(x)


@row("grad of inner def closure", gradient=lambda x: 4 * x)
def grad_of_closure(x):
    def inner(v):
        return v * v * x

    return ms.grad(inner)(x)


@row("method called on what a call gives")
def method_of_a_result(x):
    items = [x, x * x, ops.sin(x)]
    return items.pop().sum() * items.pop() * len(items)


@row("self attr write tensor new")
class WritesOnOneWay(Holder):
    def construct(self, x):
        self.kept = x * x
        if x.sum() > 3:
            self.kept = self.kept * 2
        return self.kept * x * (3 if hasattr(self, "kept") and not hasattr(self, "never") else 1)


@row("tuple index by tensor")
def tuple_by_tensor(x):
    return (x, x * x)[Tensor(1)] * x


@row("list index by tensor int")
def list_by_tensor(x):
    return [x, x * x, ops.sin(x)][Tensor(2)] * x


@row("inplace method add_")
def in_place_add(x):
    y = x * x
    y.add_(x)
    return y * x
