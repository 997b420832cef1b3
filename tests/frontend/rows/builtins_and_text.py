"""Python's built-in functions, operators on numbers, and strings."""

from autodiff_compiler import Tensor, ops
from tests.frontend.rows.rows import of, row


@row("f-string")
def f_string(x):
    name = f"{'si'}{chr(110)}{len(x.shape):d}"
    return ops.sin(x) if name == "sin1" else x


@row("str format/%")
def string_format(x):
    name = "{}_{b}".format("a", b=3) + "%s-%d" % ("c", 4)
    return x * x if name == "a_3c-4" else x


@row("string compare/in")
def string_compare(x):
    mode = "cosine"
    return (
        ops.cos(x) if mode == "cosine" and "cos" in mode and mode < "d" and "x" not in mode else x
    )


@row("string methods")
def string_methods(x):
    name = " Sin,Cos ".strip().lower().replace("cos", "tan")
    parts = name.split(",")
    y = x
    for part in parts:
        if part.startswith("si"):
            y = ops.sin(y)
        elif part.endswith("an") and part.upper() == "TAN":
            y = ops.tan(y)
    return y


@row("string concat/join")
def string_join(x):
    name = "-".join(["a", "b"]) + "c" * 2
    return x * x if name == "a-bcc" and name[0] == "a" else x


@row("builtin sum")
def builtin_sum(x):
    return sum([x, x * x]) + sum((x, 2.0), 3.0)


@row("builtin max/min scalars")
def extremes_of_numbers(x):
    return x * max(1, 3, 2) * min([2.5, 4.0]) + max("b", "a", key=ord).count("b")


@row("builtin max tensor")
def extremes_of_tensors(x):
    return max(x[0], x[1]) * min(x.sum(), x[0]) * x


@row("builtin map")
def builtin_map(x):
    parts = list(map(lambda a, b: a * b, [x, x * x], (2.0, 3.0)))
    return parts[0] * parts[1]


@row("builtin filter")
def builtin_filter(x):
    ks = list(filter(lambda k: k % 2, range(6)))
    return x * x * sum(ks) + len(list(filter(None, [0, 1, 2])))


@row("builtin all/any")
@row("builtin all/any", of(-1.0, 4.0))
def all_any(x):
    if all([x[0] > 0, x[1] > 0]) and any(k > 2 for k in (1, 2, 3)):
        return x * x
    return x * 3


@row("builtin int/float/bool of tensor", gradient=lambda x: 0 * x + 4 * x[0] + int(x[1]))
def barriers(x):
    k = float(x[0]) * 4 + int(x[1])
    return x * k if bool(x[0] > 0) else x


@row("int() of tensor then grad path", gradient=lambda x: 0 * x + int(x[1]))
def int_then_gradient(x):
    return x * int(x[1])


@row(".item()", gradient=lambda x: 0 * x + x[0])
def item(x):
    return x * x[0].item()


@row("builtin sorted")
def builtin_sorted(x):
    y = x
    for k in sorted([3, 1, 2], key=lambda n: -n, reverse=True):
        y = y * k + x
    return y * len(sorted({"b": 1, "a": 2})[0])


@row("builtin reversed")
def builtin_reversed(x):
    y = x
    for part in reversed([x, x * x, 2.0]):
        y = ops.sin(y) * part
    return y


@row("builtin range list")
def range_list(x):
    return x * list(range(5))[3] * range(3)[2] * len(range(2, 8, 2))


@row("builtin zip list")
def zip_list(x):
    pairs = list(zip([x, x * x], (2.0, 3.0)))
    return pairs[1][0] * pairs[0][1]


@row("builtin chr/ord/bin")
def chr_ord_bin(x):
    return x * ord("a") if chr(97) == "a" and bin(5) == "0b101" and hex(255) == "0xff" else x


@row("builtin divmod")
def builtin_divmod(x):
    quotient, rest = divmod(17, 5)
    return x * quotient + x * x * rest


@row("builtin id/hash")
def id_hash(x):
    table = {"a": 1}
    return x * x if id(table) == id(table) and hash("a") == hash("a") else x


@row("bitwise ops on ints")
def bitwise(x):
    return x * ((6 & 3) | (1 << 2) ^ (8 >> 1)) * ~-3


@row("matmul operator", of((1.0, 2.0), (3.0, -1.0)))
def matmul(x):
    return x @ x


@row("unary ops")
def unary(x):
    return -x * +x + x * (-3) * (not False)


@row("floor div / mod tensors", gradient=lambda x: 1 + 0 * x)
def floor_and_mod(x):
    return x // 2 + x % 2


@row("builtin abs/pow/round", of(1.5, -2.25), gradient=lambda x: abs(x) / x + 2 * x)
def abs_pow_round(x):
    return abs(x) + pow(x, 2) + round(2.6) + round(2.625, 2)


@row("int.bit_length and other methods of numbers")
def methods_of_numbers(x):
    return x * (5).bit_length() * (2.0).is_integer()


@row("tensor item of shape")
def shape_arithmetic(x):
    return x.reshape(x.shape[0] // 2, -1) * max(x.shape) * Tensor([2.0])


@row("f-string")
def f_string_of_a_tensor(x):
    print(f"x is {x} and its sum {x.sum()}")
    return x * x


@row("str format/%")
def texts_of_run_time_values(x):
    name = f"{x.shape}: {{{x}}} {x.sum()!s} {float(x[0]):.2f}"
    print(name + "!", "%s at %d" % (x, 3), "{} {}".format(x, [1, "a"]), str(x))
    assert isinstance(name, str) and x.sum() > 0, "sum: " + str(x.sum())
    return x * x
