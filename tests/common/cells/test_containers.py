"""SequentialCell and CellList."""

from collections import OrderedDict

import pytest

from autodiff_compiler.common import Cell, CellList, Parameter, SequentialCell


class Plus(Cell):
    def __init__(self, amount):
        super().__init__()
        self.amount = amount
        self.w = Parameter([1.0])

    def construct(self, x):
        return [*x, self.amount]


def names(cell):
    return [p.name for p in cell.get_parameters()]


@pytest.mark.parametrize("build", [lambda *c: SequentialCell(*c), lambda *c: SequentialCell(c)])
def test_sequence(build):
    seq = build(Plus(1), Plus(2), Plus(3))
    assert seq([]) == [1, 2, 3]
    assert len(seq) == 3
    assert seq[-1].amount == 3
    assert type(seq[1:]) is SequentialCell
    assert seq[1:]([]) == [2, 3]
    assert names(seq[1:]) == ["1.w", "2.w"]
    assert SequentialCell()(5) == 5


def test_ordered_dict_gives_names():
    outer = Cell()
    outer.seq = SequentialCell(OrderedDict(fc=Plus(1), last=Plus(2)))
    assert names(outer) == ["seq.fc.w", "seq.last.w"]
    assert outer.seq([]) == [1, 2]
    assert outer.seq[1:]([]) == [2]


def test_changing_a_sequence():
    outer = Cell()
    outer.seq = SequentialCell(Plus(1), Plus(2))
    outer.seq.append(Plus(3))
    assert names(outer) == ["seq.0.w", "seq.1.w", "seq.2.w"]
    outer.seq[0] = Plus(9)
    assert outer.seq([]) == [9, 2, 3]
    assert names(outer)[0] == "seq.0.w"
    del outer.seq[1]
    assert outer.seq([]) == [9, 3]
    assert names(outer) == ["seq.0.w", "seq.1.w"]


def test_cell_list():
    cells = CellList([Plus(1), Plus(2)])
    cells.extend([Plus(3)]).append(Plus(4))
    cells.insert(0, Plus(0))
    cells += [Plus(5)]
    assert [cell.amount for cell in cells] == [0, 1, 2, 3, 4, 5]
    assert names(cells) == [f"{position}.w" for position in range(6)]
    assert [cell.amount for cell in cells[::2]] == [0, 2, 4]
    with pytest.raises(NotImplementedError, match="CellList is not callable"):
        cells(1)


def test_refuses():
    with pytest.raises(TypeError, match="For 'CellList', each item must be 'Cell', but got int"):
        CellList([3])
    cells = CellList([Plus(1)])
    with pytest.raises(IndexError, match=r"must be in range \[-1, 1\), but got 1"):
        cells[1]
    with pytest.raises(TypeError, match="the index must be int or slice, but got str"):
        cells["0"]
