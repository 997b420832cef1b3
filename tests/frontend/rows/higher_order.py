"""MindSpore's own helpers: functions of functions, constants, order."""

import autodiff_compiler.numpy as mnp
import autodiff_compiler.ops.composite as C
import autodiff_compiler.ops.functional as F
import autodiff_compiler.ops.operations as P
from autodiff_compiler import Parameter, Tensor, constexpr, nn, ops
from tests.frontend.rows.rows import of, row

combine = C.MultitypeFuncGraph("combine")


@combine.register("Tensor", "Tensor")
def combine_tensors(a, b):
    return a * b


@combine.register("Number", "Tensor")
def combine_number_and_tensor(a, b):
    return ops.sin(b) * a


@combine.register("Tuple", "None")
def combine_tuple(a, b):
    return a[0] * a[1]


@row("MultitypeFuncGraph")
def multitype(x):
    return combine(x, x) + combine(2.5, x) * combine((x, x * x), None)


def square(v):
    return v * v


@row("HyperMap")
class UsesHyperMap(nn.Cell):
    def __init__(self):
        super().__init__()
        self.map = C.HyperMap()
        self.combine = C.HyperMap(combine)
        self.w = Parameter(of(0.5, -0.5), name="w")

    def construct(self, x):
        a, (b, c) = self.map(square, (x, (x * 2, self.w)))
        d, [e, f] = self.combine((x, [2.0, x]), (self.w, [x, x]))
        return a * b * c + d * e * f


@row("HyperMap")
def hyper_map_of_dict_and_partial(x):
    scaled = ops.HyperMap()(F.partial(ops.mul, x), {"a": x, "b": [x * x]})
    return scaled["a"] * scaled["b"][0] * C.HyperMap()(lambda v: v + 1, x)


@row("Map")
def map_of_pairs(x):
    first, second = C.Map()(lambda pair, k: pair[0] * pair[1] * k, [(x, x * x), (x, 2.0)], [3.0, x])
    return first * second


@row("WhileLoop")
@row("WhileLoop", of(0.1, 0.2))
def while_loop(x):
    return P.WhileLoop()(lambda v: v.sum() < 50, lambda v: v * v + x + 1, x)


@row("ForiLoop")
def fori_loop(x):
    return ops.ForiLoop()(0, 4, lambda i, v: v * x + i, x) + ops.ForiLoop()(0, 2, step, x, False)


def step(i, v):
    return ops.sin(v) * (i + 1)


def running(total, part):
    return total * part, total + part


@row("Scan")
def scan(x):
    last, parts = ops.Scan()(running, x, [x, x * x, x + 1])
    doubled, powers = ops.Scan()(lambda v, _: (v * 2, v), x, None, 3)
    return last * parts[0] + parts[2] * doubled * powers[1]


@row("Depend")
def depends(x):
    y = ops.depend(x * x, x)
    return P.Depend()(y, (x, y)) * F.depend(x, None)


@constexpr(check=False)
def made_at_once(shape):
    return Tensor([[float(k) for k in range(shape[0])]])


@row("constexpr fn")
def constexpr_of_a_tensor(x):
    return x * made_at_once(x.shape) * x


@row("ms.numpy call")
def calls_mindspore_numpy(x):
    y = mnp.concatenate((x, mnp.ones((2,)), mnp.array([x[0], 2.0])))
    return mnp.sum(y * mnp.arange(6), axis=0) * mnp.linalg.norm(x) + mnp.split(y, 3)[0] * mnp.pi
