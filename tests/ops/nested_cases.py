"""Containers of every kind, and functions of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import autodiff_compiler as ms


@dataclass
class Params:
    w: Any
    b: Any
    name: str = "params"
    power: int = 2
    shape: Any = np.sin

    def total(self):
        return np.sum(self.shape(self.w) ** self.power) * self.b


@dataclass(frozen=True)
class Pair:
    first: Params
    rest: tuple


class Point(NamedTuple):
    w: Any
    b: Any


class Opaque:
    """A class that is no dataclass; ``unit`` is no part of the gradient."""

    def __init__(self, values, scale, unit):
        self.values, self.scale, self.unit = values, scale, unit


ms.register_container(
    Opaque,
    lambda thing: ((thing.values, thing.scale), thing.unit),
    lambda unit, parts: Opaque(parts[0], parts[1], unit),
)


def of_parts(w, b):
    return np.sum(np.sin(w) * b) + np.sum(w * w) * b * b


def of_array(x):
    return np.sum(np.sin(x) * x)


def of_float(x):
    return np.sin(x) * x


def of_two(x, y):
    return of_parts(x, y)


def of_tuple(p):
    return of_parts(p[0], p[1])


def of_dict(p):
    return of_parts(p["w"], p["b"])


def of_nested(p):
    return of_parts(p["layers"][0], p["scale"][1]["b"]) * p["layers"][1].sum()


def of_object(p):
    return of_parts(p.w, p.b)


def of_methods(p):
    return p.total() + p.w[0]


def of_pair(p):
    return p.first.total() * p.rest[0] + np.sum(p.rest[1] * p.first.w)


def of_opaque(p):
    return of_parts(p.values, p.scale) if p.unit == "m" else p.scale


def with_keyword(x, *, k):
    return of_parts(x, k)


class Model:
    def __init__(self):
        self.scale = 2.0

    def loss(self, x):
        return np.sum(np.sin(x) * x) * self.scale


X = np.array([0.3, -0.7, 1.1])
