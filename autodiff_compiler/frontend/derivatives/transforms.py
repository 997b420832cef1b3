"""Derivatives taken inside a text: gradients, tangents, and what is written in terms of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autodiff_compiler.errors import (
    CallError,
    CompileError,
    DTypeError,
    SensitivityError,
)
from autodiff_compiler.frontend.abstract.aliasing import written
from autodiff_compiler.frontend.abstract.runtime_lists import sensitivity
from autodiff_compiler.frontend.abstract.values import HeapRef
from autodiff_compiler.frontend.calls.outlining import OutlinedCall
from autodiff_compiler.frontend.core.assumptions import MISSING
from autodiff_compiler.frontend.derivatives.cell_precision import Precision
from autodiff_compiler.frontend.derivatives.vmap_arguments import Batch, is_mapped
from autodiff_compiler.interface import Request
from autodiff_compiler.ir.effects import Effects
from autodiff_compiler.ir.nodes import AnyOperand, Op, Value, type_of
from autodiff_compiler.ir.opdef import OPERATORS
from autodiff_compiler.ir.types import (
    COMPLEX,
    FLOAT,
    ArrayType,
    DictType,
    ScalarType,
    TupleType,
    Type,
    as_cotangent,
    batched,
    join,
)
from autodiff_compiler.operators.core.declare import shape_of_type
from autodiff_compiler.operators.core.structure import broadcast_to, cast, full
from autodiff_compiler.ops.transforms.gradient import GradientFunction
from autodiff_compiler.ops.transforms.nested_arguments import Flat, flattened, is_active
from autodiff_compiler.ops.transforms.pullback import Pullback, Pulled
from autodiff_compiler.ops.transforms.tangent import TangentFunction
from autodiff_compiler.ops.transforms.transformed import Transformed, is_whole, whole_numbers
from autodiff_compiler.ops.transforms.vmap import BatchedFunction


@dataclass(frozen=True)
class Called:
    """A function at the operands of one call, to be differentiated there. ``mark`` tells that call
    from others, if it matters which of them is meant."""

    request: Request
    made: OutlinedCall
    mark: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Apart:
    """A gradient in containers: the function of their leaves, the gradient in these, the leaves,
    and the arguments that are asked for."""

    flat: Flat
    inner: GradientFunction
    leaves: Sequence[Any]
    slots: Sequence[int]


class Derivatives(Precision):
    """Adds transformed functions to ``Precision``."""

    #: How many calls in this function were marked.
    _marked = 0

    def original(self, arg: Any) -> Any:
        """A Parameter as the object it is, for those who ask which one."""
        raise NotImplementedError

    def call_inside(self, fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """``fn(*args, **kwargs)`` for library code that runs on values."""
        given = [self.adopted(arg) for arg in args]
        return self.plain(self.call(fn, given, {k: self.adopted(v) for k, v in kwargs.items()}))

    def _is_active(self, slot: Any) -> bool:
        """Return True if this argument is differentiated: a tensor; in plain functions a number."""
        floats = (FLOAT, COMPLEX) if self.world.numpy else ()
        return isinstance(slot, Value) and (isinstance(slot.type, ArrayType) or slot.type in floats)

    def take_functions(self, maker: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Runs ``GradOperation()``, ``grad_op(net, weights)``, ``grad(net)`` or ``jvp(…)`` now."""
        raw = [self.original(arg) for arg in args]
        named = {key: self.original(arg) for key, arg in kwargs.items()}
        try:
            return self.adopted(maker(*raw, **named))
        except CompileError:
            raise
        except Exception as error:
            raise self.translate(error, "this gradient cannot be taken") from None

    def call_transformed(
        self, function: Transformed, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """The outcome of calling what a transformation made."""
        if isinstance(function, Flat):
            return self.call_flat(function, args)
        if isinstance(function, GradientFunction):
            return self.call_gradient(function, args, kwargs)
        if type(function) is TangentFunction:
            return self.call_tangent(function, args)
        if isinstance(function, BatchedFunction):
            return self.call_batched(function, args)
        if isinstance(function, Pullback):
            return self.call_pullback(function.gradient, args)
        if isinstance(function, Pulled):
            return self.call_pulled(function, args[0])
        return self.macro(function.build, args, kwargs)

    def call_gradient(
        self, gradient: GradientFunction, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """A ``grad`` operation on the function that ``gradient`` differentiates."""
        if gradient.unconnected != "zero":
            raise self.fail(
                CallError,
                f"unconnected='{gradient.unconnected}' is not supported inside compiled code",
                "take the gradient outside of compiled code, or omit unconnected",
            )
        given, named, sens = gradient.split_sens(list(args), dict(kwargs))
        apart = self._apart(gradient, given, named)
        called = self._called(apart.inner, apart.leaves, {}) if apart else self._called(
            gradient, given, named
        )  # fmt: skip
        request, made = called.request, called.made
        values = self._returned(made) if request.value or request.aux or made.writes else []
        inputs, weights = self._gradients(called, sens, values)
        value = self._outcome(values, made) if values else None
        if apart:
            found = dict(zip(request.positions, inputs))
            grouped = apart.flat.gradients(apart.slots, found)
            return self.adopted(gradient.pack(value, grouped, weights, apart.slots))
        return self.adopted(gradient.pack(value, inputs, weights))

    def _apart(
        self, gradient: GradientFunction, given: Sequence[Any], named: Mapping[str, Any]
    ) -> Apart | None:
        """A call of a plain NumPy function with containers among what is asked for."""
        slots = [*given, *named.values()]
        if not (gradient.numpy and self.world.numpy):
            return None
        wanted = gradient.positions([True] * len(slots))
        if not any(isinstance(slots[n], (HeapRef, tuple, list, dict)) for n in wanted):
            return None
        row = [self.plain(slot) if n in wanted else slot for n, slot in enumerate(slots)]
        found = flattened(
            gradient.fn, row[: len(given)], dict(zip(named, row[len(given) :])), wanted
        )
        if found is None:
            return None
        flat, leaves = found
        active = [
            place for n in wanted for place in flat.places(n)
            if flat.is_leaf(n) or is_active(leaves[place])
        ]  # fmt: skip
        return Apart(flat, gradient.of(flat, tuple(active)), leaves, wanted)

    def call_pullback(self, gradient: GradientFunction, args: Sequence[Any]) -> tuple[Any, Pulled]:
        """A call, and what takes the gradients of that call, later."""
        called = self._called(gradient, args, {})
        values = self._returned(called.made)
        attrs = {"callee": self.world.share(called.made.function), **called.mark}
        self._add("call", called.made.operands, attrs, values, called.made)
        return self._outcome(values, called.made), Pulled(gradient, called)

    def call_pulled(self, pulled: Pulled, sens: Any) -> Any:
        """The gradients of a call that is there already."""
        found = self._gradients(pulled.called, sens, [])
        return self.adopted(pulled.gradient.pack(None, *found)[1])

    def _called(
        self, gradient: GradientFunction, given: Sequence[Any], named: Mapping[str, Any]
    ) -> Called:
        slots = [*given, *named.values()]
        asked = gradient.numpy and self.world.numpy
        for place in gradient.asked(len(slots)) if asked else ():
            if place < len(slots) and type(slots[place]) in (float, complex):
                slots[place] = self._number(slots[place])
        given, named = slots[: len(given)], dict(zip(named, slots[len(given) :]))
        request = gradient.request([self._is_active(slot) for slot in slots])
        for place in gradient.wanted() if asked else ():
            if place < len(slots) and is_whole(slots[place]):
                raise self.builder.placed(whole_numbers(place))
        made = self._outlined(gradient.fn, given, named, request.aux, request.weights)
        if not Effects().inside(made.function.body):
            return Called(request, made)
        self._marked += 1  # what another call at the same operands draws is something else
        return Called(request, made, {"pull": self._marked})

    @staticmethod
    def _number(number: float | complex) -> Any:
        """A number of the text as a value, for a derivative in it."""
        dtype = "complex128" if isinstance(number, complex) else "float64"
        return full(shape=(), dtype=dtype, value=number)

    def _gradients(
        self, called: Called, sens: Any, values: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """Adds a ``grad`` operation that also gives ``values``; the gradients of the inputs and
        those of the weights."""
        request, made = called.request, called.made
        wrt = [made.places[position] for position in request.positions] + made.weights
        attrs = {
            "callee": self.world.share(made.function), "wrt": tuple(wrt),
            "sens": request.sens == "given", "value": bool(values), **called.mark,
        }  # fmt: skip
        if request.aux or made.writes:
            attrs["outputs"] = (int(request.aux),)
        operands = list(made.operands)
        if attrs["sens"]:
            output = type_of(made.returned)
            operands.append(sensitivity(self, self.lifted(sens), output))
            if not request.aux:
                self._check_sens(type_of(operands[-1]), output)
        params = made.function.params
        results = [
            Value(as_cotangent(params[place].type), f"d_{params[place].name}") for place in wrt
        ]
        self._add("grad", operands, attrs, [*values, *results], made)
        return results[: len(request.positions)], results[len(request.positions) :]

    def _check_sens(self, have: Type, want: Type, place: str = "") -> None:
        """Refuses a sensitivity that is known not to fit its output, as the run time does."""
        if isinstance(want, (TupleType, DictType)):
            same = isinstance(have, type(want)) and len(have.items) == len(want.items)
            if same and isinstance(have, (TupleType, DictType)):
                for number, (one, other) in enumerate(zip(have.items, want.items)):
                    self._check_sens(one, other, f"{place}[{number}]")
                return
        elif not isinstance(want, ArrayType):
            return
        elif isinstance(have, ArrayType):
            if None not in (have.dtype, want.dtype) and have.dtype != want.dtype:
                raise self.fail(
                    CallError,
                    f"the sensitivity{place} should have the dtype {want.dtype} of the output, "
                    f"but is {have}",
                    f"cast it: sens.astype('{want.dtype}')",
                )
            if not (have.is_static and want.is_static) or have.shape == want.shape:
                return
        elif want.shape == () and isinstance(have, ScalarType):
            return
        raise self.fail(
            SensitivityError,
            f"the sensitivity{place} is {have}, but the output is {want}",
            "give the sensitivity one element per element of the output; it is not broadcast",
        )

    def call_tangent(self, function: TangentFunction, args: Sequence[Any]) -> Any:
        """A ``jvp`` operation; the value, and the tangent of what is differentiated of it."""
        request = function.request()
        count = function.inputs
        made = self._outlined(function.fn, args[:count], {}, request.aux, request.weights)
        for position in request.positions:
            if position not in made.places:
                raise self.fail(
                    CallError,
                    f"argument {position} holds no tensor, so it has no tangent",
                    "pass a Tensor or an array of floats",
                )
        wrt = [made.places[position] for position in request.positions] + made.weights
        dots = [
            self._direction(self.packed(self.lifted(dot)), made.function.params[place].type)
            for dot, place in zip(args[count:], wrt)
        ]
        output = int(request.aux)
        attrs = {
            "callee": self.world.share(made.function), "wrt": tuple(wrt), "outputs": (output,),
        }  # fmt: skip
        values = self._returned(made)
        pushed = values[output]
        dot = Value(pushed.type, f"dot_{pushed.name or 'out'}")
        self._add("jvp", [*made.operands, *dots], attrs, [*values, dot], made)
        like = made.outcome[0] if request.aux else made.outcome
        return self._outcome(values, made), self.unpacked(dot, like, made.heap)

    def call_batched(self, function: BatchedFunction, args: Sequence[Any]) -> Any:
        """A ``vmap`` operation: the examples lie along the first axis in it."""
        axes = self._chosen(function.axes_of, len(args))
        batch = Batch(self, axes)
        moved = [batch.moved(self.lifted(arg), axis) for arg, axis in zip(args, axes)]
        size = batch.size()
        with self.builder.block():  # what takes the examples apart is not computed
            examples = [batch.example(arg, axis) for arg, axis in zip(moved, axes)]
            made = self.outline(function.fn, examples, {}, opens=True)
        if made.returned is MISSING:
            raise self.fail(
                CallError,
                "the function given to vmap writes to a Parameter, an attribute or an "
                "argument, and each example would write a different value",
                "return the value, and write it after the vmap",
            )
        if not isinstance(made.returned, Value):
            raise self.fail(
                DTypeError,
                "the function given to vmap returns nothing that depends on its arguments",
                "return a tensor from the function",
            )
        places = {place: slot for slot, place in made.places.items()}
        operands = [
            self.packed(batch.whole(moved[places[n]], axes[places[n]])) if n in places else operand
            for n, operand in enumerate(made.operands)
        ]
        mapped = tuple(n in places and is_mapped(axes[places[n]]) for n in range(len(operands)))
        attrs = {"callee": self.world.share(made.function), "mapped": mapped, "size": size}
        values = [Value(batched(type_of(value), size)) for value in made.function.returns]
        self._add("vmap", operands, attrs, values, made)
        outcome = self.unpacked(values[0], made.outcome, made.heap)
        return batch.placed(outcome, function.out_axes)

    def _chosen(self, choose: Any, count: int) -> Any:
        try:
            return choose(count)
        except Exception as error:
            raise self.translate(error, "this function cannot be batched") from None

    def _direction(self, dot: AnyOperand, type_: Type) -> AnyOperand:
        """A tangent given for a value of ``type_``; it is stretched, and never cast."""
        if isinstance(type_, ArrayType):
            if isinstance(type_of(dot), ScalarType) and type_.dtype is not None:
                known = not isinstance(dot, Value)
                one = full(shape=(), dtype=type_.dtype, value=dot if known else 1)
                dot = one if known else cast(one * dot, dtype=type_.dtype)
            if type_.has_static_shape and shape_of_type(type_of(dot)) != type_.shape:
                dot = broadcast_to(dot, shape=type_.shape)
        elif type_ == FLOAT and type_of(dot) == ArrayType("float64", ()):
            return dot
        if join(type_, type_of(dot)) != type_:
            raise self.fail(
                DTypeError,
                f"the tangent of a {type_} is a {type_of(dot)}",
                "give the tangent the shape and the dtype of the input",
            )
        return dot

    def _outlined(
        self,
        fn: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        aux: bool,
        weights: Sequence[Any] | None,
    ) -> OutlinedCall:
        """The function to be differentiated, as a function of its own."""
        with self.world.differentiating():
            made = self.outline(fn, args, kwargs, aux, weights, effects=True)
        if not isinstance(made.returned, (Value, int, float)):
            raise self.fail(
                DTypeError,
                "the differentiated function returns no tensor or number",
                "return a tensor from the function",
            )
        return made

    def _add(
        self,
        name: str,
        operands: Sequence[AnyOperand],
        attrs: Mapping[str, Any],
        results: Sequence[Value],
        made: OutlinedCall,
    ) -> None:
        """Adds the operation, and notes what the function writes to."""
        self.builder.add(
            Op(OPERATORS[name], tuple(operands), attrs, tuple(results), self.builder.span)
        )
        memory = self.world.memory.of_all(made.wrote)
        self.wrote |= {self.taken[it] for it in memory if it in self.taken}
        written(self, memory)

    def _returned(self, made: OutlinedCall) -> list[Value]:
        """Values for what the function returns; what it writes comes last."""
        written = [str(write.name or write.target.name) for write in made.writes]
        returns = made.function.returns
        names = [""] * (len(returns) - len(written)) + written
        return [Value(type_of(value), name) for value, name in zip(returns, names)]

    def _outcome(self, values: Sequence[Value], made: OutlinedCall) -> Any:
        """What the function returned; what it wrote is written here."""
        self.write_back(made, values[len(values) - len(made.writes) :])
        return self.told(self.unpacked(values[0], made.outcome, made.heap), made)
