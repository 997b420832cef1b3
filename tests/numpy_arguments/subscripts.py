"""Random subscripts of every kind, read and written."""

from __future__ import annotations

import numpy as np

from tests.numpy_arguments.draw import Draw


def _slice(d: Draw, size: int) -> str:
    low, high = (d.pick("", "", str(int(d.rng.integers(-size - 1, size + 2)))) for _ in range(2))
    step = d.pick("", "", ":", ":2", ":-1", ":-2", ":1")
    if low == high == step == "" or not d.maybe(0.3) or ":" in (low, high):
        return f"{low}:{high}{step}"
    bounds = [text or "None" for text in (low, high)]
    return f"slice({', '.join(bounds)}{', ' + step[1:] if step[1:] else ''})"


def _place(d: Draw, size: int) -> str:
    place = int(d.rng.integers(-size, size)) if size else 0
    if d.maybe(0.03):
        place = size
    return d.pick(str(place), str(place), f"np.int64({place})", f"np.array({place})",
                  d.given(place, "n"), d.given(np.array(place)))  # fmt: skip


def _places(d: Draw, size: int, shape: tuple[int, ...]) -> str:
    places = d.rng.integers(-size, size, shape) if size else np.zeros(0, int)
    return d.pick(repr(places.tolist()), d.given(places), d.given(places.astype("int32")),
                  f"np.array({places.tolist()!r}, int)")  # fmt: skip


def _mask(d: Draw, shape: tuple[int, ...]) -> str:
    mask = d.rng.random(shape) < 0.5
    return d.pick(repr(mask.tolist()), d.given(mask), f"np.array({mask.tolist()!r}, bool)")


def subscript(d: Draw, shape: tuple[int, ...]) -> str:
    """The text between the brackets, for an array of a shape."""
    parts: list[str] = []
    advanced = d.pick((2,), (3,), (2, 2), (1,), (0,), (2, 1))
    axis = 0
    dotted = False
    while axis < len(shape) and d.maybe(0.85):
        way = int(d.rng.integers(12))
        size = shape[axis]
        if way < 3:
            parts.append(_slice(d, size))
        elif way < 5:
            parts.append(_place(d, size))
        elif way < 8:
            parts.append(_places(d, size, advanced))
        elif way == 8:
            parts.append(_mask(d, (size,)))
        elif way == 9 and axis + 1 < len(shape):
            parts.append(_mask(d, shape[axis : axis + 2]))
            axis += 1
        elif way == 10 and not dotted:
            parts.append("...")
            dotted = True
            axis += int(d.rng.integers(len(shape) - axis + 1)) - 1
        else:
            parts.append(d.pick("None", "np.newaxis", "True", "None"))
            continue
        axis += 1
    if not parts:
        return d.pick("...", "()", "None", "True", "False", "np.array(True)")
    if len(parts) > 1 and d.maybe(0.1) and not any(":" in part for part in parts):
        return f"({', '.join(parts)})"
    return ", ".join(parts)


def reading(d: Draw) -> str:
    a = d.array(tuple(int(d.pick(1, 2, 3, 3, 4)) for _ in range(int(d.rng.integers(0, 4)))),
                ("float64",) * 6 + ("float32", "int64", "bool"))  # fmt: skip
    return f"{a}[{subscript(d, d.shape_of(a))}]"


def writing(d: Draw) -> str:
    """Statements that write to a copy, as the text of a helper that returns it."""
    a = d.array(tuple(int(d.pick(1, 2, 3, 3, 4)) for _ in range(int(d.rng.integers(1, 4)))),
                ("float64",) * 6 + ("float32",))  # fmt: skip
    key = subscript(d, d.shape_of(a))
    try:
        place = np.shape(eval(f"{a}[{key}]", {"np": np}, dict(d.inputs)))
    except IndexError:
        place = ()
    shape = tuple(1 if d.maybe(0.2) else size for size in place[int(d.rng.integers(0, 2)) :])
    value = d.pick("2.5", d.array(shape, ("float64", "float64", "float32", "int64")),
                   d.array(place, ("float64",)))  # fmt: skip
    return f"{a}[{key}] {d.pick('=', '=', '+=', '-=', '*=')} {value}"


__all__ = ["reading", "subscript", "writing"]
