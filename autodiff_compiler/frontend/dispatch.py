"""The tables by which lowering chooses the handler of a node, an operand, an owner or a callee.

This is the only module that imports all handlers. Each table is data, and lists its rows in the
order in which they are tried. The table of callees has a module of its own, ``call_rules.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import gast

from autodiff_compiler.frontend.abstract.values import (
    CONTEXT,
    OBJECT,
    Closure,
    DictView,
    HeapRef,
    ObjectDict,
    SuperProxy,
)
from autodiff_compiler.frontend.call_rules import call
from autodiff_compiler.frontend.calls.call_expression import evaluate_call
from autodiff_compiler.frontend.calls.external import macro
from autodiff_compiler.frontend.calls.inlining import inline_callee
from autodiff_compiler.frontend.calls.outlining import outline, unpacked
from autodiff_compiler.frontend.control_flow import branches, comprehensions, exceptions, loops
from autodiff_compiler.frontend.core.handlers import Handler, Handlers, NodeHandler
from autodiff_compiler.frontend.derivatives.cell_precision import (
    cast_to_cell_precision,
    in_cell_precision,
)
from autodiff_compiler.frontend.derivatives.custom_rules import context_attribute, with_custom_rule
from autodiff_compiler.frontend.derivatives.hooks import add_outside_hooks, with_cell_hooks
from autodiff_compiler.frontend.derivatives.transforms import call_inside
from autodiff_compiler.frontend.expressions import (
    arithmetic,
    attributes,
    comparisons,
    containers,
    evaluation,
    strings,
    subscripts,
)
from autodiff_compiler.frontend.objects.attribute_protocol import (
    get_attribute,
    outside_attribute,
    special_method,
)
from autodiff_compiler.frontend.statements import simple
from autodiff_compiler.frontend.syntax.desugar.try_statement import (
    CaughtException,
    Reraise,
    TryBody,
)
from autodiff_compiler.frontend.syntax.desugar.with_statement import WithBoundary
from autodiff_compiler.frontend.syntax.nodes import (
    AugmentedBinOp,
    ForUntil,
    GuardedName,
    KnownName,
    WhileUntil,
)
from autodiff_compiler.ir.nodes import Value

#: The handler of each kind of expression, Python's and those that desugaring makes.
EXPRESSIONS: Mapping[type, NodeHandler] = {
    gast.Constant: evaluation.evaluate_constant,
    gast.Name: evaluation.evaluate_name,
    GuardedName: evaluation.evaluate_name,
    KnownName: evaluation.evaluate_known_name,
    gast.BoolOp: evaluation.evaluate_bool_op,
    gast.IfExp: evaluation.evaluate_if_exp,
    gast.BinOp: arithmetic.evaluate_bin_op,
    AugmentedBinOp: arithmetic.evaluate_bin_op,
    gast.UnaryOp: arithmetic.evaluate_unary_op,
    gast.Compare: comparisons.evaluate_compare,
    gast.Subscript: subscripts.evaluate_subscript,
    gast.Slice: subscripts.evaluate_slice,
    gast.Tuple: containers.evaluate_tuple,
    gast.List: containers.evaluate_list,
    gast.Dict: containers.evaluate_dict,
    gast.Set: containers.evaluate_set,
    gast.ListComp: comprehensions.evaluate_list_comp,
    gast.SetComp: comprehensions.evaluate_set_comp,
    gast.DictComp: comprehensions.evaluate_dict_comp,
    gast.GeneratorExp: comprehensions.evaluate_generator_exp,
    gast.Attribute: evaluation.evaluate_attribute,
    gast.Lambda: attributes.evaluate_lambda,
    gast.JoinedStr: strings.evaluate_joined_str,
    gast.Call: evaluate_call,
    gast.NamedExpr: simple.evaluate_named_expr,
    CaughtException: exceptions.evaluate_caught_exception,
}

#: The handler of each kind of statement.
STATEMENTS: Mapping[type, NodeHandler] = {
    gast.Return: simple.execute_return,
    gast.Expr: simple.execute_expr,
    gast.Assign: simple.execute_assign,
    gast.AugAssign: simple.execute_aug_assign,
    gast.Delete: simple.execute_delete,
    gast.Pass: simple.execute_pass,
    gast.Import: simple.execute_import,
    gast.ImportFrom: simple.execute_import_from,
    gast.FunctionDef: simple.execute_function_def,
    gast.If: simple.execute_if,
    gast.For: loops.execute_for,
    ForUntil: loops.execute_for,
    gast.While: loops.execute_while,
    WhileUntil: loops.execute_while,
    gast.Assert: exceptions.execute_assert,
    gast.Raise: exceptions.execute_raise,
    TryBody: exceptions.execute_try_body,
    Reraise: exceptions.execute_reraise,
    WithBoundary: exceptions.execute_with_boundary,
}

#: The binary operators, by the left operand: a string (known now or not), or anything else.
OPERATORS: Mapping[type, Handler] = {
    str: strings.string_operation,
    object: arithmetic.binary_operation,
}

#: The attributes of each kind of owner: the kind of an object on the heap, or its class.
ATTRIBUTES: Mapping[type | str, Handler] = {
    Value: attributes.value_attribute,
    OBJECT: get_attribute,
    SuperProxy: get_attribute,
    CONTEXT: context_attribute,
    HeapRef: attributes.container_attribute,
    ObjectDict: attributes.object_dict_attribute,
    DictView: attributes.dict_view_attribute,
    Closure: attributes.closure_attribute,
    object: outside_attribute,
}

#: The wrappers of the inlining of a callee, the outermost first. Each is given the next one.
ENTERING: Sequence[Handler] = (in_cell_precision, with_cell_hooks, with_custom_rule)


def _around(inner: Handler, wrappers: Sequence[Handler]) -> Handler:
    """Returns ``inner`` with the wrappers around it, the first of them the outermost."""

    def wrap(enter: Handler, wrapper: Callable[..., Any]) -> Handler:
        return partial(wrapper, enter=enter)

    return reduce(wrap, reversed(wrappers), inner)


HANDLERS = Handlers(
    expressions=EXPRESSIONS,
    statements=STATEMENTS,
    attributes=ATTRIBUTES,
    operators=OPERATORS,
    evaluate=evaluation.evaluate,
    execute=simple.execute,
    block=simple.block,
    assign=simple.assign,
    call=call,
    enter=_around(inline_callee, ENTERING),
    macro=macro,
    special=special_method,
    truth=evaluation.truth,
    sequence=loops.sequence,
    unpacked=unpacked,
    choose=branches.choose,
    heap_ownership=branches.heap_ownership,
    may_raise=exceptions.may_raise,
    outline=outline,
    call_inside=call_inside,
    throw_if_caught=exceptions.throw_if_caught,
    iteration_space=loops.iteration_space,
    becomes_loop=loops.becomes_loop,
    evaluate_generator=comprehensions.evaluate_generator,
    generate_items=comprehensions.generate_items,
    add_outside_hooks=add_outside_hooks,
    cast_to_cell_precision=cast_to_cell_precision,
)
