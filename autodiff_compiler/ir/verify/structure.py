"""The verifier of functions. An illegal function is a bug of the compiler: ``InternalError``.

All stages have the same laws; they differ in the operators that they allow (``FORMS``). Each value
is defined once, before its uses and in their scope. Operator definitions confirm the types of
operations. The ports of branches, loops and calls fit. Every operation has a place in the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autodiff_compiler.errors import DTypeError, InternalError
from autodiff_compiler.ir.builder import read_type
from autodiff_compiler.ir.nodes import AnyOperand, Function, Loop, Op, Region, Value, type_of
from autodiff_compiler.ir.types import BOOL, INT, ArrayType, ListType, Type, batch_type, join
from autodiff_compiler.ir.verify.conflicts import Placement
from autodiff_compiler.ir.verify.list_safety import check_list_safety
from autodiff_compiler.ir.verify.memory_safety import check_memory_safety
from autodiff_compiler.span import NOWHERE


@dataclass(frozen=True)
class StageRules:
    """The operators that a function of a stage may no longer, or not yet, contain."""

    without_names: tuple[str, ...] = ()
    without_kinds: tuple[str, ...] = ()


#: Operators that are replaced by calls of derived functions.
DERIVED = ("grad", "jvp", "vmap")

FORMS = {
    "typed": StageRules(without_kinds=("lowered",)),
    "differentiated": StageRules(without_names=DERIVED, without_kinds=("lowered",)),
    "lowered": StageRules(without_names=DERIVED),
}


def verify(function: Function, stage: str, placements: Sequence[Placement] = ()) -> None:
    """Raises InternalError if ``function``, or one that it calls, breaks a law.

    ``stage`` begins with a name in ``FORMS``. After a colon (``"typed: dce"``) follows the stage or
    pass that the message names. ``placements`` are the places in workspace buffers of the residuals
    of a backward function.
    """
    rules = FORMS[stage.partition(":")[0]]
    for each in function.callees():
        _Verifier(each, stage, rules).check()
    _Verifier(function, stage, rules).check(placements)


class _Verifier:
    def __init__(self, function: Function, stage: str, rules: StageRules):
        self.function, self.stage, self.rules = function, stage, rules
        self.op: Op | None = None
        self.defined: set[Value] = set()
        self.visible: set[Value] = set()

    def check(self, placements: Sequence[Placement] = ()) -> None:
        self.region(self.function.body)
        check_memory_safety(self.function, lambda law: self.demand(False, law), placements)
        check_list_safety(self.function, lambda law: self.demand(False, law))

    def demand(self, holds: bool, law: str) -> None:
        if not holds:
            place = "" if self.op is None else f", line {self.op.span.line}, {self.op.name}"
            raise InternalError(f"{self.stage}: @{self.function.name}{place}: {law}")

    # -- definitions and uses --------------------------------------------------------------------

    def region(self, region: Region) -> None:
        owner, here = self.op, list(region.params)
        self.define(region.params)
        for op in region.ops:
            self.op = op
            self.use(op.operands)
            for inner in op.regions:
                self.region(inner)
            self.typed(op)
            self.define(op.results)
            here += op.results
        self.op = owner
        self.use(region.yields)
        self.visible.difference_update(here)

    def define(self, values: Sequence[Value]) -> None:
        for value in values:
            self.demand(value not in self.defined, f"{value} is defined twice")
            self.defined.add(value)
            self.visible.add(value)

    def use(self, operands: Sequence[AnyOperand]) -> None:
        for operand in operands:
            if isinstance(operand, Value):
                why = "out of its region" if operand in self.defined else "before it is defined"
                self.demand(operand in self.visible, f"{operand} is used {why}")
            else:
                self.type_of(operand)

    def type_of(self, operand: AnyOperand) -> Type:
        try:
            return type_of(operand)
        except TypeError as error:
            self.demand(False, str(error))
            raise

    # -- types -----------------------------------------------------------------------------------

    def typed(self, op: Op) -> None:
        kind = op.opdef.kind
        fits = op.name not in self.rules.without_names and kind not in self.rules.without_kinds
        self.demand(fits, f"a {op.name} is not allowed in this stage")
        is_known = op.span.line > 0 or op.span.file == NOWHERE.file
        self.demand(is_known, "no line of the source")
        if op.name == "if":
            self.branch(op)
        elif op.name in ("for", "while"):
            self.loop(Loop(op))
        elif op.name == "call":
            self.call(op)
        elif op.name == "grad":
            self.gradient(op)
        elif op.name == "custom_rule":
            self.custom_rule(op)
        elif op.name == "jvp":
            self.tangent(op)
        elif op.name == "vmap":
            self.batch(op)
        elif kind != "control":
            self.plain(op)

    def plain(self, op: Op) -> None:
        try:
            types = op.opdef.result_type(op.types, op.attrs)
        except Exception as error:
            raise InternalError(
                f"{self.stage}: @{self.function.name}, line {op.span.line}, {op.name}: "
                f"its definition refuses {self.list(op.types)}: {error}"
            ) from error
        wanted = types if isinstance(types, tuple) else (types,)
        self.equal("results", [result.type for result in op.results], wanted)

    def branch(self, op: Op) -> None:
        self.demand(len(op.regions) == 2, "there must be two regions")
        self.demand(not any(region.params for region in op.regions), "a branch has parameters")
        left, right = (region.yields for region in op.regions)
        self.demand(
            len(left) == len(right) == len(op.results),
            "the branches yield different numbers of values",
        )
        joined = [join(type_of(a), type_of(b)) for a, b in zip(left, right)]
        self.equal("results", [result.type for result in op.results], joined)

    def loop(self, loop: Loop) -> None:
        self.demand(len(loop.op.regions) == (1 if loop.is_for else 2), "wrong number of regions")
        self.demand(len(loop.inits) == loop.carries, "an initial value is missing")
        self.demand(len(loop.bounds) == (3 if loop.is_for else 0), "a bound is missing")
        params = 1 + loop.is_for + loop.carries + len(loop.reads)
        self.demand(len(loop.body.params) == params, "the parameters do not match the ports")
        self.demand(loop.position.type == INT, "the position is not an int")
        yields = len(loop.body.yields) - loop.has_until
        self.demand(yields >= loop.carries, "a yield is missing")
        self.demand(len(loop.op.results) == yields + 1, "the results do not match the yields")
        self.demand(loop.count.type == INT, "the count is not an int")
        carried = [param.type for param in loop.carry_params]
        self.equal("carried results", [result.type for result in loop.carried], carried)
        self.holds("carry", carried, loop.inits)
        self.holds("carry", carried, loop.carry_yields)
        for result, item in zip(loop.stacked, loop.stack_yields):
            self.demand(isinstance(result.type, ListType), f"{result} is stacked but not a list")
            assert isinstance(result.type, ListType)
            self.holds("stack", [result.type.item], [item])
        for param, source in zip(loop.read_params, loop.reads):
            try:
                item_type = read_type(type_of(source))
            except DTypeError as error:
                self.demand(False, str(error))
            self.demand(join(param.type, item_type) == param.type, f"{param} reads a {item_type}")
        if loop.has_until:
            self.truth(loop.until)
        if loop.condition is not None:
            tested = [param.type for param in loop.condition.params]
            self.demand(len(tested) == loop.carries, "the test does not see every carry")
            self.holds("test", tested, loop.carry_params)
            self.demand(len(loop.condition.yields) == 1, "the test must yield one value")

    def truth(self, operand: AnyOperand) -> None:
        type_ = type_of(operand)
        is_array = isinstance(type_, ArrayType) and type_.dtype in ("bool", None)
        self.demand(type_ == BOOL or is_array, f"until is a {type_}")

    def call(self, op: Op) -> None:
        callee = op.attrs["callee"]
        self.demand(len(op.operands) == len(callee.params), "the number of operands is wrong")
        self.holds("parameter", [param.type for param in callee.params], op.operands)
        returns = [type_of(value) for value in callee.returns]
        if callee.order and len(returns) == len(op.results):
            # A gradient has its primal's type, which may be more exact than the inferred one.
            self.holds("result", returns, op.results)
        else:
            self.equal("results", [result.type for result in op.results], returns)

    def gradient(self, op: Op) -> None:
        callee, wrt = op.attrs["callee"], op.attrs["wrt"]
        inputs = op.operands[: len(op.operands) - bool(op.attrs.get("sens"))]
        self.demand(len(inputs) == len(callee.params), "the number of operands is wrong")
        self.demand(all(0 <= position < len(inputs) for position in wrt), "wrt names no operand")
        self.holds("parameter", [param.type for param in callee.params], inputs)
        values = len(callee.returns) if op.attrs.get("value") else 0
        self.demand(len(op.results) == values + len(wrt), "the number of results is wrong")

    def custom_rule(self, op: Op) -> None:
        rule, wrt = op.attrs["rule"], op.attrs["wrt"]
        reads = len(op.operands) - len(op.results)
        self.demand(all(0 <= position < reads for position in wrt), "wrt names no operand")
        self.demand(
            len(rule.params) == reads + 2 * len(op.results),
            "the rule has the wrong number of parameters",
        )
        self.demand(
            len(rule.returns) == len(wrt), "the rule returns the wrong number of cotangents"
        )
        self.holds("parameter", [p.type for p in rule.params[:reads]], op.operands[:reads])
        self.holds("result", [result.type for result in op.results], op.operands[reads:])

    def tangent(self, op: Op) -> None:
        callee, wrt = op.attrs["callee"], op.attrs["wrt"]
        inputs = op.operands[: len(callee.params)]
        wanted = [param.type for param in callee.params]
        self.demand(len(op.operands) == len(inputs) + len(wrt), "the number of operands is wrong")
        self.holds("parameter", wanted, inputs)
        self.holds("tangent", [wanted[place] for place in wrt], op.operands[len(inputs) :])
        returns = len(callee.returns) + len(op.attrs["outputs"])
        self.demand(len(op.results) == returns, "the number of results is wrong")

    def batch(self, op: Op) -> None:
        callee, mapped, size = op.attrs["callee"], op.attrs["mapped"], op.attrs["size"]
        count = len(callee.params)
        self.demand(len(op.operands) == len(mapped) == count, "the number of operands is wrong")
        pairs = zip(callee.params, mapped)
        wanted = [batch_type(p.type, size) if maps else p.type for p, maps in pairs]
        self.holds("parameter", wanted, op.operands)
        returns = [batch_type(type_of(value), size) for value in callee.returns]
        self.equal("results", [result.type for result in op.results], returns)

    def holds(self, port: str, wanted: Sequence[Type], operands: Sequence[AnyOperand]) -> None:
        for type_, operand in zip(wanted, operands, strict=True):
            given = type_of(operand)
            self.demand(join(type_, given) == type_, f"a {port} of type {type_} is given a {given}")

    def equal(self, what: str, have: Sequence[Type], wanted: Sequence[Type | None]) -> None:
        same = list(have) == list(wanted)
        self.demand(same, f"{what} are typed {self.list(have)}, not {self.list(wanted)}")

    @staticmethod
    def list(types: Sequence[Type | None]) -> str:
        return f"({', '.join(map(str, types))})"
