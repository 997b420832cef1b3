"""Variables that are None until a run gives them a value."""

from autodiff_compiler import ops
from tests.frontend.rows.rows import of, row

LARGE, SMALL = of(2.1, 0.3, 0.9), of(-0.7, 0.2, 1.1)


@row("None on one way", LARGE)
@row("None on one way", SMALL)
def on_one_way(x):
    h = None
    if x.sum() > 1:
        h = x * x
    y = x
    if h is not None:
        y = y + h
        h = h * 2
    if h is not None and h.sum() > 3:
        y = y * h
    if h is None or y.sum() < 0:
        return y * x * 5
    return h * y


@row("None before a loop of a run", LARGE)
@row("None before a loop of a run", SMALL)
def before_a_loop(x):
    best, arg, state = None, 0, None
    for i in range(int(x.sum() * 2) + 3):
        y = (x * (i - 1.5)).sum()
        if best is None or y > best:
            best, arg = y, i
        if state is None:
            state = (x, x * 0)
        else:
            h, c = state
            state = (h * x * 0.5, c + h)
    h, c = state
    return best * x * arg + h * c


@row("None kept in a loop", SMALL)
def kept_in_a_loop(x):
    kept = None
    for i in range(3):
        if ops.sum(x) > i * 0.5:
            kept = x * i
    return x if kept is None else kept * x


def scaled(x, by=None):
    return x * 3 if by is None else x * by


@row("None handed on", LARGE)
@row("None handed on", SMALL)
def handed_on(x):
    by = None
    if x.sum() > 1:
        by = x * x
    other = by
    a, b = other, x

    def of_both(v, w):
        if v is None:
            return w
        return v * w

    return scaled(x, by) + scaled(x, by=other) * of_both(a, b)


@row("None again", LARGE)
@row("None again", SMALL)
def again(x):
    h = x
    for _ in range(5):
        if h is not None:
            y = h * x
            h = None if y.sum() > 1 else y
    return x * 2 if h is None else h * x
