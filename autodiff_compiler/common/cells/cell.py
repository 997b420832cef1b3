"""``Cell``: the base of models. Parameters and child cells are registered when they are stored.

A subclass defines ``construct``. A call of the Cell runs it, as Python or compiled.

>>> class Scale(Cell):
...     def __init__(self):
...         super().__init__()
...         self.factor = Parameter([2.0])
>>> [parameter.name for parameter in Scale().trainable_params()]
['factor']
"""

from __future__ import annotations

__macro__ = True

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from autodiff_compiler.common import dtype as mstype
from autodiff_compiler.common.cells.cell_tree import Tree
from autodiff_compiler.common.compiler_hook import engine
from autodiff_compiler.common.context import in_graph_mode
from autodiff_compiler.common.dtype import to_numpy_name
from autodiff_compiler.common.hooks import TO_FLOAT, Hook, HookHandle, register
from autodiff_compiler.common.parameter import Parameter, ParameterTuple
from autodiff_compiler.common.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")
Result = TypeVar("Result", covariant=True)


class _Constructs(Protocol[P, Result]):
    """Type of a Cell by the arguments and the result of its ``construct``."""

    def construct(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...


class Cell(Tree):
    """A model or a part of one."""

    #: Set by ``differentiable``: calls run the compiled forward function in every mode.
    _compiled_forward = False

    _bprop_debug = False
    #: True if the backward function rematerialises the values of this Cell.
    _recompute = False
    #: True for layers that stay in float32 at level O2 of ``auto_mixed_precision``.
    _keeps_float32 = False
    #: Hooks that run before and after ``construct`` and its backward.
    _hooks: tuple[Hook, ...] = ()

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None):
        self.__dict__.update(
            _params=OrderedDict(),
            _cells=OrderedDict(),
            _buffers={},
            _flags={},
            _hooks=(),  # in the instance, because the guards read it in every call
            _auto_prefix=auto_prefix,
            _name_prefix="",
            training=False,
            requires_grad=False,
        )
        self.add_flags(**(flags or {}))

    if TYPE_CHECKING:

        def __call__(self: _Constructs[P, R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    else:

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            if self._compiled_forward or in_graph_mode():
                return engine().run_cell(self, args, kwargs)
            return self._hooked(args, kwargs) if self._hooks else self.construct(*args, **kwargs)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the Cell's output; a subclass defines it."""
        raise AttributeError("For 'Cell', the method 'construct' is not defined.")

    @property
    def bprop_debug(self) -> bool:
        """MindSpore's flag for debugging a ``bprop``; it has no effect here."""
        return self._bprop_debug

    @bprop_debug.setter
    def bprop_debug(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                "For 'Cell', the property 'bprop_debug' must be bool type, but got type "
                f"{type(value)}."
            )
        self._bprop_debug = value

    def recompute(self, **options: Any) -> None:
        """Marks the Cell for rematerialisation, where it is part of another Cell.

        Its inputs are saved, and the backward function computes its other values again. The
        options are MindSpore's, and have no effect.
        """
        self._recompute = True

    # ---- hooks

    def register_forward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Registers ``hook_fn(cell, inputs)``, which runs before ``construct``.

        Its result, unless it is None, replaces the inputs.
        """
        return register(self, "forward_pre", hook_fn, "register_forward_pre_hook")

    def register_forward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Registers ``hook_fn(cell, inputs, output)``, which runs after ``construct``.

        Its result, unless it is None, replaces the output, and is differentiated.
        """
        return register(self, "forward", hook_fn, "register_forward_hook")

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Registers ``hook_fn(cell, grad_output)``, which runs before the Cell's backward.

        ``grad_output`` is a tuple; the hook's result, unless it is None, replaces it.
        """
        return register(self, "backward_pre", hook_fn, "register_backward_pre_hook")

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Registers ``hook_fn(cell, grad_input, grad_output)``, which runs after the backward.

        Both are tuples; the hook's result, unless it is None, replaces ``grad_input``.
        """
        return register(self, "backward", hook_fn, "register_backward_hook")

    @property
    def cls_name(self) -> str:
        """Returns the name of the class."""
        return type(self).__name__

    def _hooked(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Calls ``construct`` and the forward hooks."""
        for hook in self._hooks:
            answer = hook.function(self, args) if hook.kind == "forward_pre" else None
            if answer is not None:
                args = answer if isinstance(answer, tuple) else (answer,)
        output = self.construct(*args, **kwargs)
        for hook in self._hooks:
            answer = hook.function(self, args, output) if hook.kind == "forward" else None
            output = output if answer is None else answer
        return output

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        params, cells = self.__dict__.get("_params", {}), self.__dict__.get("_cells", {})
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, ParameterTuple):
            self._insert_parameter_tuple(name, value)
        elif isinstance(value, Cell):
            self._insert_child(name, value)
        elif name in params and isinstance(value, Tensor):
            params[name].set_data(value)
        elif name in params and value is not None:
            raise TypeError(
                f"Parameter '{name}' already exists in network, "
                f"can not assign this type: '{type(value)}' as a parameter."
            )
        elif name in cells and value is not None:
            raise TypeError(
                f"Sub cell '{name}' already exists in network, "
                f"can not assign this type: '{type(value)}' as a cell."
            )
        elif name in self.__dict__.get("_buffers", ()) and not isinstance(
            value, (Tensor, type(None))
        ):
            raise TypeError(
                f"Buffer '{name}' already exists in network, can not assign this type: "
                f"'{type(value)}' as a buffer."
            )
        else:
            params.pop(name, None)
            cells.pop(name, None)
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"The '{type(self).__name__}' object has no attribute '{name}'.")

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._params.pop(name, None)
        self._cells.pop(name, None)
        self._buffers.pop(name, None)

    def insert_param_to_cell(
        self, param_name: str, param: Parameter | None, check_name_contain_dot: bool = True
    ) -> None:
        """Registers a Parameter, which takes ``param_name`` as its name if it has none."""
        if "_params" not in self.__dict__:
            raise AttributeError("For 'insert_param_to_cell', please call Cell.__init__() firstly.")
        _check_key("insert_param_to_cell", "param_name", param_name, check_name_contain_dot)
        if not isinstance(param, (Parameter, type(None))):
            raise TypeError(
                "For 'insert_param_to_cell', the argument 'param' must be 'Parameter' if not "
                f"None, but got {type(param)}."
            )
        self._cells.pop(param_name, None)
        if param is None:
            self._params.pop(param_name, None)
        else:
            self._params[param_name] = param
            if not param.is_named:
                param.name = param_name
        self.__dict__[param_name] = param

    def insert_child_to_cell(self, child_name: str, child_cell: Cell) -> None:
        """Registers a child whose name is not an attribute yet."""
        if child_name in self.__dict__ and child_name not in self.__dict__.get("_cells", {}):
            raise _name_is_taken(child_name)
        if not isinstance(child_cell, Cell):
            raise TypeError(
                "For 'insert_child_to_cell', the argument 'child_cell' must be 'Cell', "
                f"but got {type(child_cell)}."
            )
        self._insert_child(child_name, child_cell)

    def _insert_child(self, name: str, child: Cell) -> None:
        if "_cells" not in self.__dict__:
            raise AttributeError("For 'insert_child_to_cell', please call Cell.__init__() firstly.")
        _check_key("insert_child_to_cell", "child_name", name, True)
        if callable(getattr(Cell, name, None)):
            raise _name_is_taken(name)
        self._params.pop(name, None)
        self._register_child(name, child)
        self.__dict__[name] = child

    def _register_child(self, name: str, child: Cell) -> None:
        """Enters a child under ``name``, which becomes the prefix of its parameters' names."""
        if self._auto_prefix:
            child.update_parameters_name(f"{self._name_prefix}{name}.")
        self._cells[name] = child

    def _insert_parameter_tuple(self, name: str, parameters: ParameterTuple) -> None:
        """Registers each Parameter under its own name; the attribute is the tuple."""
        if "_params" not in self.__dict__:
            raise AttributeError("For 'insert_param_to_cell', please call Cell.__init__() firstly.")
        for position, parameter in enumerate(parameters):
            if not parameter.is_named:
                parameter.name = f"{name}.{position}"
            if all(parameter is not known for known in self._params.values()):
                free = parameter.name not in self._params
                self._params[parameter.name if free else f"{name}.{position}"] = parameter
        object.__setattr__(self, name, parameters)

    # ---- modes

    def set_train(self, mode: bool = True) -> Cell:
        """Sets training or inference mode, for this Cell and all below it."""
        for _, cell in self.cells_and_names():
            cell.training = mode
        return self

    def set_grad(self, requires_grad: bool = True) -> Cell:
        """Sets ``requires_grad`` of the Cell; its Parameters do not change."""
        self.requires_grad = requires_grad
        return self

    def to_float(self, dst_type: mstype.Type) -> Cell:
        """Sets the compute dtype of this Cell and all below it: float16, bfloat16 or float32.

        Floating tensors among the arguments, and Parameters and Tensors that ``construct`` reads,
        are cast. The Parameters keep their dtype, and so do their gradients. The Cells run compiled
        in every mode from now on. Raises ValueError for another dtype.
        """
        if dst_type not in (mstype.float16, mstype.bfloat16, mstype.float32):
            raise ValueError(
                "For 'to_float', the argument 'dst_type' must be mstype.float32, mstype.float16 or "
                f"mstype.bfloat16, but got type: {type(dst_type)} and value: {dst_type}."
            )
        hook = Hook(TO_FLOAT, to_numpy_name(dst_type))
        for _, cell in self.cells_and_names():
            others = (other for other in cell._hooks if other.kind != TO_FLOAT)
            cell.__dict__["_hooks"] = (*others, hook)
            cell.__dict__["_compiled_forward"] = True
        return self

    def set_inputs(self, *inputs: Any, **named: Any) -> None:
        """Does nothing: the compiler reads types from each call.

        The inputs may be Tensors with unknown sizes: ``Tensor(shape=(None, 3), dtype=float32)``.
        """

    # ---- text

    def extend_repr(self) -> str:
        """Returns the text between the parentheses of ``repr``; a subclass overrides it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extend_repr()
        if not self._cells:
            return f"{type(self).__name__}({extra})"
        lines = [extra] if extra else []
        lines += [f"({name}): {cell!r}" for name, cell in self._cells.items()]
        body = "\n".join(lines).replace("\n", "\n  ")
        return f"{type(self).__name__}(\n  {body}\n)"


def cell_attr_register(fn: Any = None, attrs: Sequence[str] | None = None) -> Any:
    """Decorates ``__init__`` of a Cell: the string ``cell_init_args`` shows its arguments.

    If ``attrs`` is given, it shows only those named there. Stands before a ``def`` with or without
    parentheses.
    """
    if fn is None:
        return functools.partial(cell_attr_register, attrs=attrs)
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def initialised(self: Any, *args: Any, **kwargs: Any) -> None:
        fn(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        _, *given = bound.arguments.items()
        noted = {key: value for key, value in given if attrs is None or key in attrs}
        self.cell_init_args = f"{type(self).__name__}{noted}"

    return initialised


def _check_key(method: str, argument: str, key: Any, refuse_dots: bool) -> None:
    if not isinstance(key, str):
        raise TypeError(
            f"For '{method}', the argument '{argument}' must be str, but got {type(key)}."
        )
    if not key or (refuse_dots and "." in key):
        raise KeyError(f"For '{method}', the argument '{argument}' must be a name without '.'.")


def _name_is_taken(name: str) -> KeyError:
    return KeyError(
        f"For 'insert_child_to_cell', the {name} child cell already exists in the network. "
        "Cannot insert another child cell with the same name."
    )
