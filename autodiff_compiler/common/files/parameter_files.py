"""Checkpoints: the Parameters of a net in a file, and back.

A file is an archive of NumPy's (``.npz``, by whatever name) of one array for each name; nothing in
it is executed when it is read. It is written beside its place and moved there as a whole, and a
net takes new values only when all of them fit.
"""

from __future__ import annotations

__macro__ = True

import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autodiff_compiler.common.cells.cell import Cell
from autodiff_compiler.common.files.atomic_files import written_whole
from autodiff_compiler.common.parameter import Parameter
from autodiff_compiler.common.tensor import Tensor


def save_checkpoint(
    save_obj: Any,
    ckpt_file_name: str | os.PathLike[str],
    integrated_save: bool = True,
    async_save: bool = False,
    append_dict: Mapping[str, Any] | None = None,
    choice_func: Callable[[str], bool] | None = None,
) -> None:
    """Writes a Cell, a dict of Tensors by name, or a list of {'name', 'data'} to a file.

    ``append_dict`` are more of them: Tensors, bools and numbers. ``choice_func`` tells of a name
    whether it is written. ``integrated_save`` and ``async_save`` are MindSpore's, and change
    nothing here. Shapes and dtypes are kept. A file of that name is replaced, or stays as it was if
    anything goes wrong. Raises TypeError for anything else to save, ValueError where there is no
    such directory or two of the names are alike.
    """
    more = {
        name: Tensor(value) if isinstance(value, (bool, int, float)) else value
        for name, value in (append_dict or {}).items()
    }
    pairs = [*_named(save_obj), *_named(more)]
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("For 'save_checkpoint', two Parameters have the same name.")
    arrays = {
        name: np.asarray(data.asnumpy())
        for name, data in pairs
        if choice_func is None or choice_func(name)
    }
    place = Path(ckpt_file_name)
    if not place.parent.is_dir():
        raise ValueError(f"For 'save_checkpoint', there is no directory '{place.parent}'.")
    with written_whole(place) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _named(save_obj: Any) -> Iterable[tuple[str, Tensor]]:
    if isinstance(save_obj, Cell):
        pairs = [(p.name, p) for p in save_obj.get_parameters()]
    elif isinstance(save_obj, Mapping):
        pairs = list(save_obj.items())
    elif isinstance(save_obj, (list, tuple)):
        pairs = [(item["name"], item["data"]) for item in save_obj]
    else:
        raise TypeError(
            "For 'save_checkpoint', the 'save_obj' must be a Cell, a dict or a list, but got "
            f"{type(save_obj)}."
        )
    for name, data in pairs:
        if not isinstance(name, str) or not isinstance(data, Tensor):
            raise TypeError(
                "For 'save_checkpoint', each item must have a name and a Tensor, but got "
                f"{name!r} with {type(data)}."
            )
    return pairs


def load_checkpoint(
    ckpt_file_name: str | os.PathLike[str],
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None,
    specify_prefix: str | Sequence[str] | None = None,
    choice_func: Callable[[str], bool] | None = None,
) -> dict[str, Parameter]:
    """The Parameters of a file by their names; ``net``, if given, takes their values, as
    ``load_param_into_net`` has it.

    Only those whose names begin with ``specify_prefix``, do not begin with ``filter_prefix``, and
    are chosen by ``choice_func`` are taken.

    Raises ValueError where the file is missing, damaged or no checkpoint, RuntimeError where a
    Parameter of the net has another shape (with ``strict_load``, another dtype). The net then stays
    as it was.
    """
    place = Path(ckpt_file_name)
    if not place.is_file():
        raise ValueError(f"For 'load_checkpoint', the checkpoint file: {place} does not exist.")
    wanted, unwanted = (
        (prefix,) if isinstance(prefix, str) else tuple(prefix)
        for prefix in (specify_prefix or "", filter_prefix or ())
    )
    held: dict[str, Parameter] = {}
    try:
        with zipfile.ZipFile(place) as archive:
            for member in archive.namelist():
                with archive.open(member) as file:
                    array = np.lib.format.read_array(file, allow_pickle=False)
                name = member.removesuffix(".npy")
                held[name] = Parameter(Tensor(array), name=name)
    except Exception as error:  # archives, their headers and the arrays fail in many ways
        raise ValueError(
            f"Failed to read the checkpoint file {place}: it is damaged, or is not a "
            f"checkpoint ({error})."
        ) from error
    found = {
        name: parameter
        for name, parameter in held.items()
        if name.startswith(wanted)
        and not name.startswith(unwanted)
        and (choice_func is None or choice_func(name))
    }
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


def load_param_into_net(
    net: Cell, parameter_dict: Mapping[str, Parameter], strict_load: bool = False
) -> tuple[list[str], list[str]]:
    """Gives the Parameters of a net the values of those of the same names.

    Returns the names of the net that got none, and the names that the net does not have. Names of
    a checkpoint that was saved of a Cell around the net (``network.fc.weight``) have their prefix
    taken away, if it is the same for all that the net lacks. Values are cast to the dtype of the
    net's. Raises TypeError for what is no Cell or no Parameters by name, RuntimeError for another
    shape, with ``strict_load`` for another dtype; then nothing is changed.
    """
    if not isinstance(net, Cell):
        raise TypeError(
            f"For 'load_param_into_net', the argument 'net' should be a Cell, but got {type(net)}."
        )
    for name, value in parameter_dict.items():
        if not isinstance(name, str) or not isinstance(value, Parameter):
            raise TypeError(
                "For 'load_param_into_net', the 'parameter_dict' must be of Parameters by name, "
                f"but got {name!r} with {type(value)}."
            )
    have = {parameter.name: parameter for parameter in net.get_parameters()}
    prefix = _prefix_of(have, parameter_dict)
    if prefix:
        names = {f"{prefix}{name}": name for name in have if name not in parameter_dict}
        parameter_dict = {names.get(name, name): p for name, p in parameter_dict.items()}
    for name, value in parameter_dict.items():
        if name not in have:
            continue
        for what, one, other in (
            ("shape", have[name].shape, value.shape),
            ("type", have[name].dtype, value.dtype),
        ):
            if one != other and (what == "shape" or strict_load):
                raise RuntimeError(
                    f"For 'load_param_into_net', {name} in the argument 'net' should have the same "
                    f"{what} as in the argument 'parameter_dict', but got {one} and {other}."
                )
    for name, value in parameter_dict.items():
        if name in have:
            have[name].set_data(value)
    missing = [name for name in have if name not in parameter_dict]
    return missing, [name for name in parameter_dict if name not in have]


def _prefix_of(have: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What stands before the names of all that the net lacks, where they are given so; or ''."""
    lacking = [name for name in have if name not in given]
    for name in given if lacking else ():
        if name not in have and name.endswith(lacking[0]):
            prefix = name.removesuffix(lacking[0])
            if prefix.endswith(".") and all(f"{prefix}{each}" in given for each in lacking):
                return prefix
    return ""


__all__ = ["load_checkpoint", "load_param_into_net", "save_checkpoint"]
