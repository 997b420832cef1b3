# ruff: noqa: E501  (IR text has lines of its own length)
"""Every rewrite rule: its replacement, and the same bits before and after."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import autodiff_compiler.operators as _records  # noqa: F401  fills OPERATORS
from autodiff_compiler.ir.parser import parse_function
from autodiff_compiler.ir.printer import print_function
from autodiff_compiler.ir.verify.structure import verify
from autodiff_compiler.passes.simplify.algebra.axes_of_one import AXES_OF_ONE
from autodiff_compiler.passes.simplify.algebra.scaling import FOLDING, SCALING
from autodiff_compiler.passes.simplify.algebra.simplify_algebra import RULES, simplify_algebra
from autodiff_compiler.passes.simplify.dce import dce
from tests.interpreter import run
from tests.passes.conftest import Optimised, arguments
from tests.passes.item_cases import ITEMS

FULL = "full {{dtype='float32', shape={shape}, value={value}}}"
ONES, ZEROS = (FULL.format(shape="(2, 3)", value=value) for value in (1, 0))
PAIRS = "{axis=-1, size=2, stride=2, dilation=1}"
BASIS = "f32[3,3] = basis {count=3, dtype='float32'}"
A, B = "%x: f32[2,3]", "%y: f32[2,3]"


def text(params: str, result: str, *lines: str) -> str:
    names = ["%a", "%b", "%c", "%d", "%e"]
    ops = [f"  {name}: {line}" for name, line in zip(names, lines)]
    last = names[len(ops) - 1] if ops else "%x"
    return "\n".join([f"func @f({params}) -> ({result}) {{", *ops, f"  return {last}", "}", ""])


M = "f32[2,3]"
ALL = "('slice', None, None, None)"
CASES: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    "x * 1": (A, M, (f"{M} = mul 1, %x",), ()),
    "x * ones": (A, M, (f"{M} = {ONES}", f"{M} = mul %x, %a"), ()),
    "ones * mask": (A, M, (f"{M} = {ONES}", "bool[2,3] = greater %x, 0.0", f"{M} = mul %a, %b"),
                    ("bool[2,3] = greater %x, 0.0", f"{M} = cast %a {{dtype='float32'}}")),
    "x * -1": (A, M, (f"{M} = mul %x, -1.0",), (f"{M} = neg %x",)),
    "-x * -y": (f"{A}, {B}", M, (f"{M} = neg %x", f"{M} = neg %y", f"{M} = mul %a, %b"),
                (f"{M} = mul %x, %y",)),
    "x / 1": (A, M, (f"{M} = div %x, 1.0",), ()),
    "x ** 1": (A, M, (f"{M} = pow %x, 1",), ()),
    "x + zeros": (A, M, (f"{M} = {ZEROS}", f"{M} = add %a, %x"), ()),
    "x + 0": ("%x: i32[2]", "i32[2]", ("i32[2] = add %x, 0",), ()),
    "x + -y": (f"{A}, {B}", M, (f"{M} = neg %x", f"{M} = add %a, %y"), (f"{M} = sub %y, %x",)),
    "x - 0": (A, M, (f"{M} = sub %x, 0.0",), ()),
    "x - -y": (f"{A}, {B}", M, (f"{M} = neg %y", f"{M} = sub %x, %a"), (f"{M} = add %x, %y",)),
    "x + -y * z": (f"{A}, {B}", M, (
        f"{M} = neg %y", f"{M} = mul %x, %a", f"{M} = div %b, 3.0", f"{M} = add %c, %x"), (
        f"{M} = mul %x, %y", f"{M} = div %a, 3.0", f"{M} = sub %x, %b")),
    "x - -y * z": (f"{A}, {B}", M, (
        f"{M} = neg %y", f"{M} = mul %a, %x", f"{M} = sub %x, %b"), (
        f"{M} = mul %y, %x", f"{M} = add %x, %a")),
    "-(number / x)": (A, M, (f"{M} = div 2.5, %x", f"{M} = neg %a"), (f"{M} = div -2.5, %x",)),
    "--x": (A, M, (f"{M} = neg %x", f"{M} = neg %a"), ()), "copy": (A, M, (f"{M} = copy %x",), ()),
    "conj twice": ("%x: c64[3]", "c64[3]", ("c64[3] = conj %x", "c64[3] = conj %a"), ()),
    "cast to its own dtype": ("%x: f32[?]", "f32[?]", ("f32[?] = cast %x {dtype='float32'}",), ()),
    "cast of full": ("", "f16[2,3]", (f"{M} = {ONES}", "f16[2,3] = cast %a {dtype='float16'}"),
                     ("f16[2,3] = full {dtype='float16', shape=(2, 3), value=1}",)),
    "reshape to its own shape": (A, M, (f"{M} = reshape %x {{shape=(2, -1)}}",), ()),
    "reshape of full": ("", "f32[6]", (f"{M} = {ONES}", "f32[6] = reshape %a {shape=(6,)}"),
                        ("f32[6] = full {dtype='float32', shape=(6,), value=1}",)),
    "reshape of reshape": (A, "f32[3,2]", ("f32[6] = reshape %x {shape=(6,)}",
                                           "f32[3,2] = reshape %a {shape=(3, 2)}"),
                           ("f32[3,2] = reshape %x {shape=(3, 2)}",)),
    "transposed product": ("%x: f32[4,2], %y: f32[4,3]", "f32[3,2]", (
        "f32[2,4] = transpose %x {perm=(1, 0)}", "f32[2,3] = matmul %a, %y",
        "f32[3,2] = transpose %b {perm=(1, 0)}"),
        ("f32[3,4] = swap_last_axes %y", "f32[3,2] = matmul %a, %x")),
    "swapped product": ("%x: f32[4,2], %y: f32[4,3]", "f32[3,2]", (
        "f32[2,4] = swap_last_axes %x", "f32[2,3] = matmul %a, %y", "f32[3,2] = swap_last_axes %b"),
        ("f32[3,4] = swap_last_axes %y", "f32[3,2] = matmul %a, %x")),
    "disjoint windows": (
        "%x: f32[2,4,3]", "f32[2,2,1,2,3]",
        ("f32[2,2,1,2,3] = windows %x {dilation=(1, 1), size=(2, 3), stride=(2, 3)}",),
        ("f32[2,2,2,1,3] = reshape %x {shape=(2, 2, 2, 1, 3)}",
         "f32[2,2,1,2,3] = transpose %a {perm=(0, 1, 3, 2, 4)}")),
    "axes of one repeated": (
        "%x: f32[2,1]", "f32[2,3]", ("f32[2,3] = tile %x {counts=(1, 3)}",),
        ("f32[2,3] = broadcast_to %x {shape=(2, 3)}",)),
    "broadcast to its own shape": (A, M, (f"{M} = broadcast_to %x {{shape=(2, 3)}}",), ()),
    "broadcast full": ("", M, ("f32[3] = full {dtype='float32', shape=(3,), value=0.5}",
                               f"{M} = broadcast_to %a {{shape=(2, 3)}}"),
                       (f"{M} = full {{dtype='float32', shape=(2, 3), value=0.5}}",)),
    "broadcast in where": ("%x: f32[3], %y: f32[2,3], %m: bool[2,3]", M, (
        f"{M} = broadcast_to %x {{shape=(2, 3)}}", f"{M} = where %m, %a, %y"),
        (f"{M} = where %m, %x, %y",)),
    "broadcast in maximum": (f"%x: f32[3], {B}", M, (f"{M} = broadcast_to %x {{shape=(2, 3)}}",
                             f"{M} = maximum %a, %y"), (f"{M} = maximum %x, %y",)),
    "broadcast in minimum": (f"%x: f32[], {B}", M, (f"{M} = broadcast_to %x {{shape=(2, 3)}}",
                             f"{M} = minimum %y, %a"), (f"{M} = minimum %y, %x",)),
    "x + padded": (f"{A}, %v: f32[2,1]", M, (
        f"{M} = pad %v {{value=0, widths=((0, 0), (1, 1))}}", f"{M} = add %a, %x"), (
        f"{M} = add_at %x, %v {{index=(('slice', None, None, None), ('slice', 1, -1, None))}}",)),
    "x + scattered": (f"{A}, %v: f32[3]", M, (
                      f"{M} = scatter %v {{index=(1,), shape=(2, 3)}}", f"{M} = add %x, %a"),
                      (f"{M} = add_at %x, %v {{index=(1,)}}",)),
    "x - padded": (f"{A}, %v: f32[2,1]", M, (
        f"{M} = pad %v {{value=0, widths=((0, 0), (1, 1))}}", f"{M} = sub %a, %x"), (
        f"{M} = neg %x",
        f"{M} = add_at %a, %v {{index=(('slice', None, None, None), ('slice', 1, -1, None))}}")),
    "x - scattered": (f"{A}, %v: f32[3]", M, (
                      f"{M} = scatter %v {{index=(1,), shape=(2, 3)}}", f"{M} = sub %x, %a"),
                      ("f32[3] = neg %v", f"{M} = add_at %x, %a {{index=(1,)}}")),
    "negative full": ("", M, (f"{M} = {ONES}", f"{M} = neg %a"),
                      (f"{M} = full {{dtype='float32', shape=(2, 3), value=-1}}",)),
    "full in a product": ("%x: float, %y: f64[3]", "f64[3]", (
        "f64[3] = full {dtype='float64', shape=(3,), value=0.5}",
        "f64[3] = mul %a, %x", "f64[3] = mul %b, %y"),
        ("float = mul 0.5, %x", "f64[3] = mul %a, %y")),
    "broadcast in add": ("%x: f32[3], %y: f32[2,3]", M, (f"{M} = broadcast_to %x {{shape=(2, 3)}}",
                         f"{M} = add %a, %y"), (f"{M} = add %x, %y",)),
    "broadcast in sub": ("%x: f32[], %y: f32[2,3]", M, (f"{M} = broadcast_to %x {{shape=(2, 3)}}",
                         f"{M} = sub %y, %a"), (f"{M} = sub %y, %x",)),
    "broadcast in mul": ("%x: f32[2,1], %y: f32[2,3]", M, (f"{M} = broadcast_to %x {{shape=(2, 3)}}",
                         f"{M} = mul %a, %y"), (f"{M} = mul %x, %y",)),
    "broadcast in div": ("%x: f32[1,1], %y: f32[2,3]", M, (f"{M} = broadcast_to %x {{shape=(2, 3)}}",
                         f"{M} = div %y, %a"), (f"{M} = div %y, %x",)),
    "swap of transpose": ("%x: f32[4,3,2]", "f32[3,2,4]", (
                          "f32[3,4,2] = transpose %x {perm=(1, 0, 2)}",
                          "f32[3,2,4] = swap_last_axes %a"),
                          ("f32[3,2,4] = transpose %x {perm=(1, 2, 0)}",)),
    "transposed by the identity": (A, M, (f"{M} = transpose %x {{perm=(0, 1)}}",), ()),
    "transposed full": ("", "f32[3,2]", (f"{M} = {ONES}", "f32[3,2] = transpose %a {perm=(1, 0)}"),
                        ("f32[3,2] = full {dtype='float32', shape=(3, 2), value=1}",)),
    "transpose of transpose": (
        "%x: f32[2,3,4]", "f32[4,3,2]",
        ("f32[3,4,2] = transpose %x {perm=(1, 2, 0)}", "f32[4,3,2] = transpose %a {perm=(1, 0, 2)}"),
        ("f32[4,3,2] = transpose %x {perm=(2, 1, 0)}",)),
    "swapped twice": (A, M, ("f32[3,2] = swap_last_axes %x", f"{M} = swap_last_axes %a"), ()),
    "zeros of a list": (A, f"list[{M}]", (
        f"list[{M}] = make_list %x", f"list[{M}] = list_zeros %a"),
        (f"{M} = {ZEROS}", f"list[{M}] = make_list %a")),
    "expanded full": ("", "f32[1,2,3]", (f"{M} = {ONES}", "f32[1,2,3] = expand_dims %a {axes=(0,)}"),
                      ("f32[1,2,3] = full {dtype='float32', shape=(1, 2, 3), value=1}",)),
    "sum of full": ("", "f32[3]", (f"{M} = {ONES}", "f32[3] = sum %a {axes=(0,), keepdims=False}"),
                    ("f32[3] = full {dtype='float32', shape=(3,), value=2}",)),
    "sum over axes of one": ("%x: f32[1,3]", "f32[1,3]",
                             ("f32[1,3] = sum %x {axes=(0,), keepdims=True}",), ()),
    "sum of -x": (A, "f32[3]", (
        f"{M} = neg %x", f"{M} = mul %a, %x", "f32[3] = sum %b {axes=(0,), keepdims=False}"),
        (f"{M} = mul %x, %x", "f32[3] = sum %a {axes=(0,), keepdims=False}", "f32[3] = neg %b")),
    "sum of permuted squares": ("%x: f32[3,2]", "f32[]", (
        "f32[6] = reshape %x {shape=(6,)}", "f32[6] = mul %a, %a",
        "f32[] = sum %b {axes=None, keepdims=False}"),
        ("f32[3,2] = mul %x, %x", "f32[] = sum %a {axes=None, keepdims=False}")),
    "einsum as few products": (A, "f32[3,2]", (
        "f32[3,2] = einsum %x {equation='ij->ji'}",), ("f32[3,2] = swap_last_axes %x",)),
    "matmul as few products": ("%x: f32[64,2,64], %y: f32[64,64]", "f32[64,2,64]", (
        "f32[64,2,64] = matmul %x, %y",), (
        "f32[128,64] = reshape %x {shape=(128, 64)}", "f32[128,64] = matmul %a, %y",
        "f32[64,2,64] = reshape %b {shape=(64, 2, 64)}")),
    "ones * number": ("", "f32[2,3]", (f"{M} = {ONES}", f"{M} = mul %a, 2.5"),
                      ("f32[2,3] = full {dtype='float32', shape=(2, 3), value=2.5}",)),
    "x * full": (A, "f32[2,3]", (
        f"{M} = full {{dtype='float32', shape=(2, 3), value=2.5}}", f"{M} = mul %a, %x"),
        (f"{M} = mul %x, 2.5",)),
    "x + full": (A, M, (
        f"{M} = full {{dtype='float32', shape=(2, 3), value=2.5}}", f"{M} = add %x, %a"),
        (f"{M} = add %x, 2.5",)),
    "x - full": (A, M, (
        f"{M} = full {{dtype='float32', shape=(2, 3), value=0.1}}", f"{M} = sub %a, %x"),
        (f"{M} = sub 0.1, %x",)),
    "x / full": (A, M, (
        f"{M} = full {{dtype='float32', shape=(2, 3), value=0.1}}", f"{M} = div %a, %x"),
        (f"{M} = div 0.1, %x",)),
    "product with a diagonal": ("%x: f32[3], %y: f32[3,2]", "f32[3,2]", (
        BASIS, "f32[3,3] = mul %a, %x", "f32[3,2] = matmul %b, %y"),
        ("f32[3,1] = expand_dims %x {axes=(-1,)}", "f32[3,2] = mul %y, %a")),
    "column of one number times a row": ("%x: f32[1,3]", M, (
        "f32[2,1] = full {dtype='float32', shape=(2, 1), value=-2}",
        f"{M} = matmul %a, %x  # adjoint"),
        ("f32[1,3] = mul %x, -2", f"{M} = broadcast_to %a {{shape=(2, 3)}}")),
    "sum of put": ("%x: f32[2,1], %i: i64[2,1]", "f32[2]", (
        "f32[2,9] = put_along %x, %i {axis=1, shape=(2, 9)}",
        "f32[2] = sum %a {axes=(1,), keepdims=False}"),
        ("f32[2] = sum %x {axes=(1,), keepdims=False}",)),
    "permuted after relu": (A, "f32[6]", ("f32[6] = reshape %x {shape=(6,)}", "f32[6] = relu %a"),
                         (f"{M} = relu %x", "f32[6] = reshape %a {shape=(6,)}")),
    **{f"permuted after {name}": (A, "f32[3,2]", (
        "f32[3,2] = transpose %x {perm=(1, 0)}", f"f32[3,2] = {name} %a"),
        (f"{M} = {name} %x", "f32[3,2] = transpose %a {perm=(1, 0)}"))
        for name in ("tanh", "sigmoid")},
    **{f"transposed {name}": ("%x: f32[2,4,3]", "f32[3,2,2]", (
        "f32[3,2,4] = transpose %x {perm=(2, 0, 1)}", f"f32[3,2,2] = {name} %a {PAIRS}"),
        (f"f32[2,2,3] = {name} %x {PAIRS.replace('-1', '-2')}",
         "f32[3,2,2] = transpose %a {perm=(2, 0, 1)}")) for name in ("window_max", "window_sum")},
    "transposed windows": ("%x: f32[2,3,4]", "f32[3,2,3,2]", (
        "f32[3,2,4] = transpose %x {perm=(1, 0, 2)}",
        "f32[3,2,3,2] = windows %a {size=(2,), stride=(1,), dilation=(1,)}"), (
        "f32[2,3,3,2] = windows %x {size=(2,), stride=(1,), dilation=(1,)}",
        "f32[3,2,3,2] = transpose %a {perm=(1, 0, 2, 3)}")),
    "largest of relu": ("%x: f32[4,2]", "f32[2,2]", (
        "f32[4,2] = relu %x", "f32[2,4] = transpose %a {perm=(1, 0)}",
        f"f32[2,2] = window_max %b {PAIRS}"), (
        "f32[2,4] = transpose %x {perm=(1, 0)}", f"f32[2,2] = window_max %a {PAIRS}",
        "f32[2,2] = relu %b")),
    "x + put along": ("%x: f32[2,99], %v: f32[2,1], %i: i64[2,1]", "f32[2,99]", (
        "f32[2,99] = put_along %v, %i {axis=1, shape=(2, 99)}", "f32[2,99] = add %a, %x"),
        ("f32[2,99] = add_along %x, %v, %i {axis=1}",)),
    "gathered of each row": ("%x: f32[2,99], %i: i64[2]", "f32[2]", (
        "i32[2] = arange {bounds=(0, 2, 1), dtype='int32'}",
        "f32[2] = index %x, %a, %i {index=(('op', 0), ('op', 1))}"), (
        "i64[2,1] = expand_dims %i {axes=(1,)}", "f32[2,1] = take_along %x, %a {axis=1}",
        "f32[2] = reshape %b {shape=(2,)}")),
    "added to each row": ("%x: f32[99,2], %v: f32[2], %i: i64[2]", "f32[99,2]", (
        "i64[2] = arange {bounds=(0, 2, 1), dtype='int64'}",
        "f32[99,2] = add_at %x, %v, %i, %a {index=(('op', 0), ('op', 1))}"), (
        "i64[1,2] = expand_dims %i {axes=(0,)}", "f32[1,2] = expand_dims %v {axes=(0,)}",
        "f32[99,2] = add_along %x, %b, %a {axis=0}")),
    **ITEMS,
    "gathered of arithmetic": ("%x: f32[2,99], %v: f32[2,1], %i: i64[2,1]", "f32[2,1]", (
        "f32[2,99] = div %v, %x", "f32[2,1] = take_along %a, %i {axis=-1}"), (
        "f32[2,1] = take_along %x, %i {axis=-1}", "f32[2,1] = div %v, %a")),
    **{f"leading ones in {name}": ("%x: f32[3], %v: f32[2,3,4]", "f32[2,3,4]", (
        "f32[1,3,1] = reshape %x {shape=(1, 3, 1)}", f"f32[2,3,4] = {name} %v, %a"), (
        "f32[3,1] = reshape %x {shape=(3, 1)}", f"f32[2,3,4] = {name} %v, %a"))
        for name in ("add", "sub", "mul", "div")},
    **{f"broadcast after {name}": ("%x: f32[3]", M, (
        f"{M} = broadcast_to %x {{shape=(2, 3)}}", f"{M} = {name} {operands.format('a')}"), (
        f"f32[3] = {name} {operands.format('x')}", f"{M} = broadcast_to %a {{shape=(2, 3)}}"))
        for name, operands in (("neg", "%{}"), ("mul", "0.3, %{}"), ("div", "%{}, 7"))},
    **{f"one number {name}d" if name == "reshape" else "one number transposed": (
        "%x: f32[]", "f32[3,2]", (
            f"{M} = broadcast_to %x {{shape=(2, 3)}}", f"f32[3,2] = {name} %a {{{attr}}}"),
        ("f32[3,2] = broadcast_to %x {shape=(3, 2)}",))
        for name, attr in (("reshape", "shape=(3, 2)"), ("transpose", "perm=(1, 0)"))},
    **{f"{name} of permuted": (A, "f32[]", (
        "f32[6] = reshape %x {shape=(6,)}", f"f32[] = {name} %a {{axes=None, keepdims=False}}"),
        (f"f32[] = {name} %x {{axes=(0, 1), keepdims=False}}",)) for name in ("sum", "mean")},
    "one number, expand_dims": ("%x: f32[]", "f32[2,1,3]", (
        f"{M} = broadcast_to %x {{shape=(2, 3)}}", "f32[2,1,3] = expand_dims %a {axes=(1,)}"), (
        "f32[2,1,3] = broadcast_to %x {shape=(2, 1, 3)}",)),
    "one number, squeeze": ("%x: f32[]", "f32[3]", (
        "f32[1,3] = broadcast_to %x {shape=(1, 3)}", "f32[3] = squeeze %a {axes=(0,)}"), (
        "f32[3] = broadcast_to %x {shape=(3,)}",)),
    "sum of broadcast": ("%x: f32[2,1]", "f32[2]", (
        f"{M} = broadcast_to %x {{shape=(2, 3)}}",
        "f32[2] = sum %a {axes=(1,), keepdims=False}  # adjoint"), (
        "f32[2,1] = mul %x, 3.0  # adjoint", "f32[2] = reshape %a {shape=(2,)}  # adjoint")),
    "added to zeros": ("%x: f32[5,3]", M, (
        "i32[5] = full {dtype='int32', shape=(5,), value=1}", f"{M} = {ZEROS}",
        f"{M} = add_at %b, %x, %a {{index=(('op', 0),)}}"), (
        "i32[5] = full {dtype='int32', shape=(5,), value=1}",
        f"{M} = scatter %x, %a {{index=(('op', 0),), shape=(2, 3)}}")),
    "product with zeros around": ("%x: f32[2,1], %y: f32[3,4]", "f32[2,4]", (
        f"{M} = scatter %x {{index=({ALL}, ('slice', 1, 2, None)), shape=(2, 3)}}  # adjoint",
        "f32[2,4] = matmul %a, %y  # adjoint"), (
        "f32[1,4] = index %y {index=(('slice', 1, 2, None),)}  # adjoint",
        "f32[2,4] = matmul %x, %a  # adjoint")),
    "block of a product": ("%x: f32[2,1], %y: f32[1,4]", "f32[2,1]", (
        "f32[2,4] = matmul %x, %y  # adjoint",
        f"f32[2,1] = index %a {{index=({ALL}, ('slice', 2, 3, None))}}"), (
        f"f32[1,1] = index %y {{index=({ALL}, ('slice', 2, 3, None))}}",
        "f32[2,1] = matmul %x, %a")),
    "softmax of shifted": (A, M, (
        "f32[2,1] = max %x {axes=(1,), first=True, keepdims=True}", f"{M} = sub %x, %a",
        f"{M} = softmax %b {{axis=-1}}"), (f"{M} = softmax %x {{axis=-1}}",)),
    "log_softmax of shifted": (A, M, (
        "f32[1,3] = max %x {axes=(0,), first=True, keepdims=True}", f"{M} = sub %x, %a",
        f"{M} = log_softmax %b {{axis=0}}"), (f"{M} = log_softmax %x {{axis=0}}",)),
    "softmax by hand": (A, M, (
        "f32[2,1] = max %x {axes=(1,), first=True, keepdims=True}", f"{M} = sub %x, %a",
        f"{M} = exp %b", "f32[2,1] = sum %c {axes=(1,), keepdims=True}", f"{M} = div %c, %d"),
        (f"{M} = softmax %x {{axis=1}}",)),
    "x * 0": (A, M, (f"{M} = mul %x, 0.0",), (f"{M} = {ZEROS}",)),
    "x + 0.0": (A, M, (f"{M} = add 0.0, %x",), ()),
}  # fmt: skip

#: Negative bytes as factors: -1 is 255.
NARROW = ("u8[2,3] = cast %x {dtype='uint8'}", "u8[2,3] = neg %a", f"{M} = mul %b, %x")
COMPLEX = ("c64[2,3] = cast %x {dtype='complex64'}", "c64[2,3] = neg %a", "c64[2,3] = mul %b, %a")

FAST = {row.name for row in RULES if row.fast_only}


def test_every_rule_has_a_case() -> None:
    elsewhere = (*SCALING, *FOLDING, *AXES_OF_ONE)  # test_scaling.py, test_axes_of_one.py
    tested = {row.name for row in RULES if "choice" not in row.name and row not in elsewhere}
    assert tested == set(CASES)  # test_choices.py has the others
    assert len({row.name for row in RULES}) == len(RULES)


#: Rules after which a BLAS may add the terms in another order.
REORDERED = {"matmul as few products"}


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str, optimised: Optimised) -> None:
    params, result, before, after = CASES[name]
    function = parse_function(text(params, result, *before))
    verify(function, "typed")
    hits: dict[str, int] = {}
    rules = partial(simplify_algebra, fast=name in FAST, hits=hits)
    new = optimised(function, rules, dce, atol=1e-5 if name in REORDERED else 0.0)
    assert hits == {name: 1}
    bare = parse_function(text(params, result, *after))
    assert [op.name for op in new.body.ops] == [op.name for op in bare.body.ops]
    assert [op.attrs for op in new.body.ops] == [op.attrs for op in bare.body.ops]
    given = arguments(function, 0)
    for found, wanted in zip(run(new, given), run(bare, given), strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("name", sorted(FAST))
def test_inexact_rules_are_off(name: str) -> None:
    params, result, before, _ = CASES[name]
    function = parse_function(text(params, result, *before))
    assert simplify_algebra(function) is function


@pytest.mark.parametrize(
    "lines",
    [
        (f"{M} = mul %x, 2.0",),
        ("f64[2,3] = full {dtype='float64', shape=(2, 3), value=0}", "f64[2,3] = add %x, %a"),
        ("f32[4,2,3] = full {dtype='float32', shape=(4, 2, 3), value=1}", "f32[4,2,3] = mul %x, %a"),
        ("f32[4,2,3] = full {dtype='float32', shape=(4, 2, 3), value=2}", "f32[4,2,3] = add %x, %a"),
        ("f16[2,3] = full {dtype='float16', shape=(2, 3), value=1000000.0}", f"{M} = mul %x, %a"),
        ("f32[3,3] = eye {columns=3, dtype='float32', rows=3}", f"{M} = matmul %x, %a"),  # the user's own: NaN spreads in a product
        (BASIS, "f32[2,3,3] = full {dtype='float32', shape=(2, 3, 3), value=3}",
         "f32[2,3,3] = matmul %b, %a"),
        ("f32[2,1] = full {dtype='float32', shape=(2, 1), value=1}",
         "f32[1,3] = sum %x {axes=(0,), keepdims=True}", f"{M} = matmul %a, %b"),
        ("f32[2,2] = full {dtype='float32', shape=(2, 2), value=1}",
         f"{M} = matmul %a, %x  # adjoint"),
        ("f32[3,2] = reshape %x {shape=(3, 2)}",), ("f32[3,2] = transpose %x {perm=(1, 0)}",),
        (f"{M} = sub 0.0, %x",),
        (f"{M} = {ZEROS}", f"{M} = neg %a"),  # the zeros are negative
        ("i32[2,3] = cast %x {dtype='int32'}", "i32[3] = index %a {index=(0,)}",
         "i32[2,3] = scatter %b {index=(1,), shape=(2, 3)}", "i32[2,3] = sub %c, %a"),
        ("f32[2,1] = sum %x {axes=(1,), keepdims=True}",),
        ("f16[70,70] = full {dtype='float16', shape=(70, 70), value=1}",
         "f16[] = sum %a {axes=None, keepdims=False}"),
        *((*NARROW, line) for line in (
            f"{M} = sub %x, %c", f"{M} = add %c, %x", "f32[] = sum %c {axes=None, keepdims=False}")),
        (*COMPLEX, "c64[2,3] = add %c, %a"),
        (f"{M} = neg %x", f"{M} = mul %a, %x", f"{M} = add %x, %b", f"{M} = mul %b, %c"),
        ("f32[] = index %x {index=(0, 1)}", "f32[3] = scatter %a {index=(0,), shape=(3,)}",
         f"{M} = add %x, %b"),
    ],
)  # fmt: skip
def test_near_misses_stay(lines: tuple[str, ...]) -> None:
    result = lines[-1].partition(" = ")[0]
    function = parse_function(text(A, result, *lines))
    verify(function, "typed")
    assert simplify_algebra(function) is function


def test_a_number_stays_in_a_narrow_product() -> None:
    """The product of 0.1 and x is rounded to float32 before it meets y."""
    function = parse_function(text(
        "%x: float, %y: f32[3]", "f32[3]", "f32[3] = full {dtype='float32', shape=(3,), value=0.1}",
        "f32[3] = mul %a, %x", "f32[3] = mul %b, %y"))  # fmt: skip
    assert simplify_algebra(function) is function


def test_one_in_a_product_with_a_number() -> None:
    """The sensitivity of a number disappears, also behind a sign."""
    function = parse_function(text(
        "%x: float, %y: f64[]", "f64[]", "f64[] = full {dtype='float64', shape=(), value=1}",
        "f64[] = mul %a, %x", "f64[] = neg %b", "f64[] = mul %c, %y"))  # fmt: skip
    new = dce(simplify_algebra(function))
    assert [(op.name, str(op.result.type)) for op in new.body.ops] == [
        ("neg", "float"), ("mul", "f64[]")]  # fmt: skip


def test_windows_of_an_order_that_counts_from_the_back(optimised: Optimised) -> None:
    function = parse_function(text(
        "%x: f32[2,4,6,3]", "f32[2,1,4,6]", "f32[2,3,4,6] = transpose %x {perm=(0, -1, 1, 2)}",
        "f32[2,1,4,6] = window_max %a {axis=-3, size=2, stride=2, dilation=1}"))  # fmt: skip
    new = optimised(function, simplify_algebra, dce)
    assert [op.name for op in new.body.ops] == ["window_max", "transpose"]


def test_operands_that_broadcast_alike_are_multiplied_before(optimised: Optimised) -> None:
    function = parse_function(text(
        "%x: f32[3], %y: f32[1,3]", M, f"{M} = broadcast_to %x {{shape=(2, 3)}}",
        f"{M} = broadcast_to %y {{shape=(2, 3)}}", f"{M} = mul %a, %b"))  # fmt: skip
    new = optimised(function, simplify_algebra, dce)
    assert [(op.name, str(op.result.type)) for op in new.body.ops] == [
        ("mul", "f32[1,3]"), ("broadcast_to", M)]  # fmt: skip


def test_a_column_of_one_unknown_number_times_a_row(optimised: Optimised) -> None:
    function = parse_function(text(
        "%x: f32[1,3], %c: f32[]", M, "f32[2,1] = broadcast_to %c {shape=(2, 1)}",
        f"{M} = matmul %a, %x  # adjoint"))  # fmt: skip
    new = optimised(function, simplify_algebra, dce)
    assert [(op.name, str(op.result.type)) for op in new.body.ops] == [
        ("mul", "f32[1,3]"), ("broadcast_to", M)]  # fmt: skip


@pytest.mark.parametrize("shape", [(3,), (1, 3), (3, 1)])
@pytest.mark.parametrize("side", ["%b, %y", "%y, %b"])
def test_every_way_to_scale_the_identity(
    shape: tuple[int, ...], side: str, optimised: Optimised
) -> None:
    function = parse_function(text(
        f"%x: f32[{','.join(map(str, shape))}], %y: f32[3,3]", "f32[3,3]", BASIS,
        "f32[3,3] = mul %a, %x", f"f32[3,3] = matmul {side}"))  # fmt: skip
    new = optimised(function, simplify_algebra, dce)
    assert not {"basis", "matmul"} & {op.name for op in new.body.ops}


@pytest.mark.parametrize(("narrow", "shape"), [("f32[1]", (0,)), ("any[...]", (4, 3))])
def test_broadcasts_to_no_elements_or_of_unknown_shape_are_summed(
    narrow: str, shape: tuple[int, ...]
) -> None:
    """A sum without terms is 0, and infinity times 0 is NaN."""
    dtype = narrow.split("[")[0]
    whole = f"{dtype}[{','.join(map(str, shape))}]"
    function = parse_function(text(
        f"%x: {narrow}", f"{dtype}[]", f"{whole} = broadcast_to %x {{shape={shape}}}",
        f"{dtype}[] = sum %a {{axes=None, keepdims=False}}  # adjoint"))  # fmt: skip
    assert simplify_algebra(function) is function


@pytest.mark.parametrize(
    ("ones", "dtype", "stays"),
    [("2, 3", "float32", 0), ("4, 2, 3", "float32", 1), ("2, 3", "float16", 1)],
)
def test_ones_that_only_give_a_number_a_shape(
    ones: str, dtype: str, stays: int, optimised: Optimised
) -> None:
    """Ones of more axes give them to the result; half precision rounds the number."""
    short = {"float32": "f32", "float16": "f16"}[dtype]
    shape = f"{short}[{ones.replace(' ', '')}]"
    result = shape.replace("f16", "f32")
    function = parse_function(text(
        "%x: f32[2,3], %s: float", result,
        f"{shape} = full {{dtype='{dtype}', shape=({ones}), value=1}}",
        f"{shape} = mul %s, %a", f"{result} = mul %b, %x"))  # fmt: skip
    new = optimised(function, simplify_algebra, dce)
    assert sum(op.name == "full" for op in new.body.ops) == stays


def test_a_product_that_the_user_named_stays() -> None:
    function = parse_function(text(
        A, M, f"{M} = neg %x", f"{M} = mul %a, %x", f"{M} = sub %x, %b"
    ).replace("%b: ", "%b!: "))  # fmt: skip
    assert simplify_algebra(function) is function


def test_names_and_places_are_kept() -> None:
    function = parse_function("""
func @f(%x: f32[2], %y: f32[2]) -> (f32[2]) {  # net.py:3
  %n: f32[2] = neg %y  # 4
  %out!: f32[2] = if True {  # 5
    %d!: f32[2] = sub %x, %n  # 6 adjoint
    yield %d
  } else {
    yield %y
  }
  return %out
}
""")
    lines = [
        " ".join(line.split()) for line in print_function(simplify_algebra(function)).splitlines()
    ]
    assert "%d!: f32[2] = add %x, %y # 6 adjoint" in lines
