"""Running sums, products and extremes along an axis, and the positions of extremes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autodiff_compiler.ir.nodes import Op
from autodiff_compiler.loop_ir.nodes import Affine, Apply, Expression, If, Literal, Position, Read
from autodiff_compiler.loops.core.state import Element, Lowering, apply, array_facts, cast
from autodiff_compiler.loops.core.values import Array, row_major

#: From the running value and the next element to the next running value.
Step = Callable[[Expression, Expression], Expression]


def scan(low: Lowering, result: Array, axis: int, element: Element, step: Step) -> None:
    """Computes running values along an axis, a whole row of the axes behind it at a time."""
    size = result.shape[axis]
    if size == 0:
        return
    lead, rest = result.shape[:axis], result.shape[axis + 1 :]

    def enter(before: list[Affine]) -> None:
        def first(behind: list[Affine]) -> None:
            at = [*before, Affine(), *behind]
            low.store(result, at, element(at))

        def following(index: Affine) -> None:
            def one(behind: list[Affine]) -> None:
                last, at = [*before, index, *behind], [*before, index + 1, *behind]
                low.store(result, at, step(result.load(last), cast(element(at), result.dtype)))

            low.nest(rest, one)

        low.nest(rest, first)
        if size > 1:
            low.loop(size - 1, following, False)

    low.nest(lead, enter)


def _running(combine: str) -> Callable[[Lowering, Op], None]:
    def rule(low: Lowering, op: Op) -> None:
        dtype, shape = array_facts(op.result.type)
        result, x = low.result_array(op.result), op.operands[0]
        step: Step = lambda total, item: apply(combine, dtype, total, item)
        scan(low, result, op.attrs["axis"] % len(shape), lambda at: low.element(x, at), step)
        low.bind(op.result, result)

    return rule


def _running_place(combine: str) -> Callable[[Lowering, Op], None]:
    def rule(low: Lowering, op: Op) -> None:
        x, result = low.array(op.operands[0]), low.result_array(op.result)
        axis = op.attrs["axis"] % len(x.shape)
        best = low.new_array(x.dtype, x.shape, "best")
        extreme: Step = lambda total, item: apply(combine, x.dtype, total, item)
        scan(low, best, axis, x.load, extreme)

        def place(at: Sequence[Affine]) -> Expression:
            wins = Apply("equal", (x.load(at), best.load(at)), "bool")
            zero = Literal(0, "int64")
            return Apply("select", (wins, Position(at[axis]), zero), "int64")

        later: Step = lambda total, item: Apply("maximum", (total, low.let("place", item)), "int64")
        scan(low, result, axis, place, later)
        low.bind(op.result, result)

    return rule


def _place_of(wins: str) -> Callable[[Lowering, Op], None]:
    """Returns the rule of ``argmax`` or ``argmin``: the first best element, or the first NaN."""

    def rule(low: Lowering, op: Op) -> None:
        x, axis = low.array(op.operands[0]), op.attrs["axis"]
        rank = len(x.shape)
        axes = range(rank) if axis is None else [axis % rank]
        outer = [1 if each in axes else size for each, size in enumerate(x.shape)]
        inner = [size if each in axes else 1 for each, size in enumerate(x.shape)]
        steps = row_major(inner)
        places = low.new_array("int64", outer, op.result.name)

        def enter(at: list[Affine]) -> None:
            best = low.variable("best", low.let("first", x.load(at)))
            place = low.variable("place", Literal(0, "int64"))

            def compare(within: list[Affine]) -> None:
                item = low.let("item", x.load([a + b for a, b in zip(at, within)]))
                better = Apply(wins, (item, Read(best)), "bool")
                if x.dtype.startswith("float"):
                    better = Apply("logical_or", (better, _first_nan(item, Read(best))), "bool")
                flat = Affine()
                for index, step in zip(within, steps):
                    flat += index * step
                with low.block() as statements:
                    low.set(best, item)
                    low.set(place, Position(flat))
                low.add(If(better, tuple(statements), (), low.span))

            low.nest(inner, compare, False)
            low.store(places, at, Read(place))

        low.nest(outer, enter)
        _, shape = array_facts(op.result.type)
        axes_left = [each for each in range(rank) if each not in axes or len(shape) == rank]
        view = places.with_axes(
            [outer[a] for a in axes_left], [places.strides[a] for a in axes_left]
        )
        low.bind(op.result, view if shape else low.let(op.result.name, view.load(())))

    return rule


def _first_nan(item: Expression, best: Expression) -> Expression:
    here, before = (Apply("not_equal", (each, each), "bool") for each in (item, best))
    return Apply("logical_and", (here, Apply("logical_not", (before,), "bool")), "bool")


RULES: Mapping[str, Callable[[Lowering, Op], None]] = {
    "cumsum": _running("add"),
    "cumprod": _running("mul"),
    "logcumsumexp": _running("logaddexp"),
    "running_argmax": _running_place("maximum"),
    "running_argmin": _running_place("minimum"),
    "argmax": _place_of("greater"),
    "argmin": _place_of("less"),
}
