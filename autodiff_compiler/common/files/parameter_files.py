"""Checkpoint files: saves the Parameters of a net, and loads them.

A file is a NumPy archive (``.npz``, under any name) with an array for each name. Reading it
executes nothing. Files are written atomically, and a net gets new values only if all of them fit.
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
from autodiff_compiler.common.files.atomic_files import atomic_write
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

    ``append_dict`` adds Tensors, bools and numbers by name. ``choice_func(name)`` is False for the
    names to leave out. ``integrated_save`` and ``async_save`` are MindSpore's, and have no effect.
    Shapes and dtypes are kept. A file of that name is replaced, or unchanged after an error.

    Raises TypeError for anything else to save, ValueError for a missing directory and for a name
    that comes twice.
    """
    appended = {
        name: Tensor(value) if isinstance(value, (bool, int, float)) else value
        for name, value in (append_dict or {}).items()
    }
    pairs = [*_named_tensors(save_obj), *_named_tensors(appended)]
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("For 'save_checkpoint', two Parameters have the same name.")
    arrays = {
        name: np.asarray(data.asnumpy())
        for name, data in pairs
        if choice_func is None or choice_func(name)
    }
    path = Path(ckpt_file_name)
    if not path.parent.is_dir():
        raise ValueError(f"For 'save_checkpoint', there is no directory '{path.parent}'.")
    with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _named_tensors(save_obj: Any) -> Iterable[tuple[str, Tensor]]:
    """Returns (name, Tensor) for all that ``save_obj`` holds; else raises TypeError."""
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
    """Reads the Parameters of a file, and returns them by their names.

    ``net``, if given, gets their values, as by ``load_param_into_net``. Names must begin with
    ``specify_prefix``, and not with ``filter_prefix``; ``choice_func(name)`` is False for further
    names to leave out.

    Raises ValueError for a file that is missing, damaged or no checkpoint. Raises RuntimeError if a
    Parameter of the net has another shape (with ``strict_load``, another dtype). Then the net has
    not changed.
    """
    path = Path(ckpt_file_name)
    if not path.is_file():
        raise ValueError(f"For 'load_checkpoint', the checkpoint file: {path} does not exist.")
    wanted, unwanted = (
        (prefix,) if isinstance(prefix, str) else tuple(prefix)
        for prefix in (specify_prefix or "", filter_prefix or ())
    )
    parameters = {
        name: parameter
        for name, parameter in _read_parameters(path).items()
        if name.startswith(wanted)
        and not name.startswith(unwanted)
        and (choice_func is None or choice_func(name))
    }
    if net is not None:
        load_param_into_net(net, parameters, strict_load)
    return parameters


def _read_parameters(path: Path) -> dict[str, Parameter]:
    """Returns all Parameters of a file; raises ValueError if it cannot be read."""
    parameters: dict[str, Parameter] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                with archive.open(member) as file:
                    array = np.lib.format.read_array(file, allow_pickle=False)
                name = member.removesuffix(".npy")
                parameters[name] = Parameter(Tensor(array), name=name)
    except Exception as error:  # archives, their headers and the arrays fail in many ways
        raise ValueError(
            f"Failed to read the checkpoint file {path}: it is damaged, or is not a "
            f"checkpoint ({error})."
        ) from error
    return parameters


def load_param_into_net(
    net: Cell, parameter_dict: Mapping[str, Parameter], strict_load: bool = False
) -> tuple[list[str], list[str]]:
    """Copies values of Parameters into those of the same names in a net, cast to their dtypes.

    Returns the net's names without a value, and the given names that the net does not have. A
    checkpoint of a Cell around the net has prefixed names (``network.fc.weight``); one prefix is
    removed if it stands before all names that the net lacks.

    Raises TypeError for anything but a Cell and Parameters by name. Raises RuntimeError for another
    shape or, with ``strict_load``, for another dtype. Then no value has changed.
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
    shared = [name for name in parameter_dict if name in have]
    for name in shared:
        _check_alike(name, have[name], parameter_dict[name], strict_load)
    for name in shared:
        have[name].set_data(parameter_dict[name])
    missing = [name for name in have if name not in parameter_dict]
    return missing, [name for name in parameter_dict if name not in have]


def _check_alike(name: str, target: Parameter, given: Parameter, strict_load: bool) -> None:
    """Raises RuntimeError for another shape or, if ``strict_load``, for another dtype."""
    compared: dict[str, tuple[Any, Any]] = {"shape": (target.shape, given.shape)}
    if strict_load:
        compared["type"] = (target.dtype, given.dtype)
    for what, (one, other) in compared.items():
        if one != other:
            raise RuntimeError(
                f"For 'load_param_into_net', {name} in the argument 'net' should have the same "
                f"{what} as in the argument 'parameter_dict', but got {one} and {other}."
            )


def _prefix_of(have: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Returns the prefix with which all names that the net lacks are given; '' if there is none."""
    lacking = [name for name in have if name not in given]
    for name in given if lacking else ():
        if name not in have and name.endswith(lacking[0]):
            prefix = name.removesuffix(lacking[0])
            if prefix.endswith(".") and all(f"{prefix}{each}" in given for each in lacking):
                return prefix
    return ""


__all__ = ["load_checkpoint", "load_param_into_net", "save_checkpoint"]
