"""Cell: registration, names, order, modes, text; against measured MindSpore behaviour."""

import copy
import pickle

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler.common import (
    GRAPH_MODE,
    PYNATIVE_MODE,
    Cell,
    CellDict,
    CellList,
    Parameter,
    ParameterTuple,
    SequentialCell,
    Tensor,
    compiler_hook,
    set_context,
)
from autodiff_compiler.common.cells.cell import cell_attr_register


class Leaf(Cell):
    def __init__(self, bias=False):
        super().__init__()
        self.weight = Parameter([2.0])
        if bias:
            self.bias = Parameter([1.0], requires_grad=False)

    def construct(self, x):
        return ("leaf", x)


class Relu(Cell):
    def construct(self, x):
        return ("relu", x)


class Net(Cell):
    def __init__(self):
        super().__init__()
        self.g = Parameter([1.0])
        self.layer = Leaf()
        self.layer2 = Leaf()
        self.h = Parameter([1.0], name="custom")
        self.seq = SequentialCell(Leaf(bias=True), Relu(), Leaf(bias=True))
        self.cl = CellList([Leaf(), Leaf()])

    def construct(self, x):
        return self.layer(x)


def names(cell):
    return [p.name for p in cell.get_parameters()]


def test_names_and_order():
    assert names(Net()) == [
        "g", "custom", "layer.weight", "layer2.weight", "seq.0.weight", "seq.0.bias",
        "seq.2.weight", "seq.2.bias", "cl.0.weight", "cl.1.weight",
    ]  # fmt: skip


def test_keys_are_paths_and_names_are_names():
    net = Net()
    assert [key for key, _ in net.parameters_and_names()][:3] == ["g", "h", "layer.weight"]
    assert list(net.parameters_dict())[:2] == ["g", "custom"]
    assert list(net.state_dict())[:2] == ["g", "h"]
    assert [p.name for p in net.trainable_params(recurse=False)] == ["g", "custom"]
    assert [p.name for p in net.untrainable_params()] == ["seq.0.bias", "seq.2.bias"]


def test_path_replaces_an_explicit_name_when_the_cell_becomes_a_child():
    leaf = Leaf()
    leaf.moving = Parameter([0.0], name="mean")
    outer = Cell()
    outer.bn = leaf
    assert names(outer) == ["bn.weight", "bn.moving"]


def test_cells():
    net = Net()
    paths = [path for path, _ in net.cells_and_names()]
    assert paths == [
        "", "layer", "layer2", "seq", "seq.0", "seq.1", "seq.2", "cl", "cl.0", "cl.1",
    ]  # fmt: skip
    assert list(net.name_cells()) == ["layer", "layer2", "seq", "cl"]
    assert list(net.cells()) == [net.layer, net.layer2, net.seq, net.cl]


def test_shared_parameter_is_listed_once():
    cell = Cell()
    cell.a = Parameter([1.0])
    cell.b = cell.a
    assert [key for key, _ in cell.parameters_and_names()] == ["a"]


def test_shared_cell_is_listed_once_and_named_last():
    cell = Cell()
    cell.a = Leaf()
    cell.b = cell.a
    assert [(key, p.name) for key, p in cell.parameters_and_names()] == [("a.weight", "b.weight")]
    assert len(cell.cells()) == 1


def test_without_auto_prefix():
    cell = Cell(auto_prefix=False)
    cell.a = Leaf()
    assert names(cell) == ["weight"]
    cell.update_parameters_name("pre_")
    assert names(cell) == ["pre_a.weight"]


def test_plain_containers_do_not_register_but_parameter_tuple_does():
    cell = Cell()
    cell.list = [Leaf(), Parameter([1.0], name="p")]
    cell.pair = ParameterTuple([Parameter([1.0], name="u"), Parameter([2.0], name="v")])
    assert names(cell) == ["u", "v"]
    assert type(cell.pair) is ParameterTuple


def test_reassigning_a_parameter():
    leaf = Leaf(bias=True)
    weight = leaf.weight
    leaf.weight = Tensor([7])
    assert leaf.weight is weight
    assert weight.tolist() == [7.0]
    leaf.weight = Parameter([3.0])
    assert leaf.weight is not weight
    assert names(leaf) == ["weight", "bias"]
    with pytest.raises(TypeError) as error:
        leaf.weight = 1.5
    assert str(error.value) == (
        "Parameter 'weight' already exists in network, "
        "can not assign this type: '<class 'float'>' as a parameter."
    )
    leaf.weight = None
    assert leaf.weight is None
    assert names(leaf) == ["bias"]


def test_reassigning_a_child():
    net = Net()
    with pytest.raises(TypeError) as error:
        net.layer = 3
    assert str(error.value) == (
        "Sub cell 'layer' already exists in network, "
        "can not assign this type: '<class 'int'>' as a cell."
    )
    net.layer = Relu()
    net.layer2 = None
    assert net.layer2 is None
    assert list(net.name_cells()) == ["layer", "seq", "cl"]


def test_deleting_and_missing_attributes():
    net = Net()
    del net.g, net.layer
    assert names(net)[:2] == ["custom", "layer2.weight"]
    for name in ("g", "layer", "zzz"):
        with pytest.raises(AttributeError) as error:
            getattr(net, name)
        assert str(error.value) == f"The 'Net' object has no attribute '{name}'."


def test_before_init():
    class Early(Cell):
        def __init__(self, value):
            self.value = value

    with pytest.raises(AttributeError) as error:
        Early(Parameter([1.0]))
    assert str(error.value) == ("For 'insert_param_to_cell', please call Cell.__init__() firstly.")
    with pytest.raises(AttributeError, match=r"please call Cell.__init__\(\) firstly."):
        Early(Relu())


def test_insert_param_to_cell():
    cell = Cell()
    cell.insert_param_to_cell("a", Parameter([1.0]))
    cell.insert_param_to_cell("b", Parameter([1.0], name="mine"))
    assert names(cell) == ["a", "mine"]
    assert cell.b.name == "mine"
    with pytest.raises(KeyError):
        cell.insert_param_to_cell("a.b", Parameter([1.0]))
    with pytest.raises(TypeError) as error:
        cell.insert_param_to_cell("c", Tensor(1))
    assert str(error.value) == (
        "For 'insert_param_to_cell', the argument 'param' must be 'Parameter' if not None, "
        "but got <class 'autodiff_compiler.common.tensor.Tensor'>."
    )


def test_insert_child_to_cell():
    cell = Cell()
    cell.insert_child_to_cell("a", Leaf())
    assert names(cell) == ["a.weight"]
    cell.taken = 3
    for name in ("taken", "cells"):
        with pytest.raises(KeyError, match=f"the {name} child cell already exists in the network"):
            cell.insert_child_to_cell(name, Leaf())
    with pytest.raises(KeyError, match="the cells child cell already exists in the network"):
        cell.cells = CellList([Leaf()])


def test_modes_are_recursive():
    net = Net()
    assert net.training is False
    assert net.set_train() is net
    assert all(cell.training for _, cell in net.cells_and_names())
    assert not net.set_train(False).seq[0].training
    assert net.set_grad().requires_grad is True
    seen = []
    assert net.apply(lambda cell: seen.append(type(cell).__name__)) is net
    assert seen[0] == "Leaf"
    assert seen[-1] == "Net"


def test_calls():
    assert Net()(3) == ("leaf", 3)
    with pytest.raises(TypeError, match=r"Leaf.construct\(\) missing 1 required positional"):
        Leaf()()
    with pytest.raises(AttributeError) as error:
        Cell()(1)
    assert str(error.value) == "For 'Cell', the method 'construct' is not defined."


class Recorder:
    def run_cell(self, cell, args, kwargs):
        return type(cell).__name__, args, kwargs

    def run_gradient(self, gradient_function, args, kwargs):
        return gradient_function


def test_calls_through_the_engine(monkeypatch):
    monkeypatch.setattr(compiler_hook, "_installed", [])
    monkeypatch.setattr(compiler_hook, "_loaders", [])

    class Compiled(Leaf):
        _compiled_forward = True

    with pytest.raises(RuntimeError, match="no compiler is installed"):
        Compiled()(1)
    compiler_hook.install(Recorder())
    assert Compiled()(1, k=2) == ("Compiled", (1,), {"k": 2})
    assert Leaf()(1) == ("leaf", 1)
    set_context(mode=GRAPH_MODE)
    try:
        assert Leaf()(1) == ("Leaf", (1,), {})
    finally:
        set_context(mode=PYNATIVE_MODE)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies(again):
    net = Net()
    made = again(net)
    assert names(made) == names(net)
    assert made.g is next(made.get_parameters())
    assert made.seq[0] is made.seq.cell_list[0] is next(iter(made.seq.cells()))
    made.g[0] = 5
    assert net.g.tolist() == [1]


def test_text():
    class Outer(Cell):
        def __init__(self):
            super().__init__()
            self.layer = Relu()
            self.seq = SequentialCell(Sized(), Relu())

    class Sized(Cell):
        def extend_repr(self):
            return "size=3"

    assert str(Outer()) == (
        "Outer(\n"
        "  (layer): Relu()\n"
        "  (seq): SequentialCell(\n"
        "    (0): Sized(size=3)\n"
        "    (1): Relu()\n"
        "  )\n"
        ")"
    )


def test_cell_dict():
    cell = Cell()
    cell.cd = CellDict({"a": Leaf(), "keys": Relu()})
    assert names(cell) == ["cd.a.weight"]
    assert list(cell.cd.keys()) == list(cell.cd) == ["a", "keys"]
    assert cell.cd["a"](1) == ("leaf", 1)
    cell.cd["b"] = Leaf()
    assert names(cell)[1] == "cd.b.weight"
    assert cell.cd.pop("a").weight.name == "cd.a.weight"
    assert len(cell.cd) == 2
    with pytest.raises(TypeError):
        cell.cd["c"] = 3


# ---- what models use beside


def test_names_and_values_that_are_there() -> None:
    net = ms.nn.Dense(2, 3)
    assert net.cls_name == "Dense" and list(net.init_parameters_data()) == [net.weight, net.bias]
    net.check_names()
    net.bias.name = "weight"
    with pytest.raises(ValueError, match="already taken"):
        net.check_names()


def test_copies_and_shared_parts() -> None:
    class Shared(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(np.array([2.0], np.float32))
            self.inner = ms.nn.Dense(1, 1, has_bias=False)
            self.twice = ms.nn.SequentialCell(self.inner, self.inner)

        def construct(self, x):  # type: ignore[no-untyped-def]
            return self.twice(x) * self.w * self.w

    net = Shared()
    net.inner.weight.set_data(Tensor(np.array([[3.0]], np.float32)))
    other = copy.deepcopy(net)
    assert other.inner is other.twice[1] and other.inner is not net.inner
    weights = ms.ParameterTuple(other.trainable_params())
    assert [weight.name for weight in weights] == ["w", "twice.0.weight"]
    found = ms.GradOperation(get_by_list=True)(other, weights)(Tensor(np.ones((1, 1), np.float32)))
    assert [gradient.asnumpy().item() for gradient in found] == [36.0, 24.0]
    other.inner.weight.requires_grad = False
    assert other.trainable_params() == [other.w]
    assert net.inner.weight.requires_grad


def test_cell_attr_register_notes_the_arguments():
    class Noted(Cell):
        @cell_attr_register
        def __init__(self, size, name="a"):
            super().__init__()
            self.size = size

        def construct(self, x):
            return x * self.size

    class Partly(Cell):
        @cell_attr_register(attrs=["size"])
        def __init__(self, size, name="a"):
            super().__init__()

    assert Noted(3).cell_init_args == "Noted{'size': 3, 'name': 'a'}"
    assert Partly(3).cell_init_args == "Partly{'size': 3}"
    assert Noted(3)(Tensor([1.0, 2.0])).asnumpy().tolist() == [3, 6]
