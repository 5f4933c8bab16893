"""The names of torch.nn: every public class, where PyTorch's programs look for it, made with the same arguments."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

import pytest

import minitorch
from tests.nn.beyond import LINEAR

torch = pytest.importorskip("torch", reason="the expected names are torch's")

LEFT_OUT = {
    "factory_kwargs": "internal to PyTorch's own layers",
}
OTHER_ARGUMENTS = {
    **dict.fromkeys(("Module", "RNNBase", "RNNCellBase"), "layers are made from it: programs don't make it"),
    **dict.fromkeys(("Parameter", "Buffer"), "a tensor, made by __new__"),
}

CLASSES = sorted(
    name
    for name, value in vars(torch.nn).items()
    if isinstance(value, type) and not name.startswith("_") and name not in LEFT_OUT
)


def public(namespace: ModuleType) -> set[str]:
    return {
        name for name in dir(namespace) if not name.startswith("_") and not inspect.ismodule(getattr(namespace, name))
    }


@pytest.mark.parametrize(
    ("theirs", "ours", "left_out"),
    [
        (torch.nn, minitorch.nn, LEFT_OUT),
        (torch.nn.init, minitorch.nn.init, {}),
        (torch.nn.parameter, minitorch.nn.parameter, {}),
    ],
    ids=["nn", "init", "parameter"],
)
def test_every_public_name_is_there(theirs: ModuleType, ours: ModuleType, left_out: dict[str, str]) -> None:
    defined = {
        name
        for name in public(theirs)
        if theirs is torch.nn or getattr(getattr(theirs, name), "__module__", None) == theirs.__name__
    }
    assert defined - public(ours) == left_out.keys() & defined, "missing, or left out but there"
    assert left_out.keys() <= defined, "left out, but torch doesn't have it"


def test_no_class_is_added() -> None:
    ours = {name for name, value in vars(minitorch.nn).items() if isinstance(value, type)}
    assert ours <= public(torch.nn)


def test_types_of_arguments_are_there() -> None:
    names = [name for name in vars(torch.nn.common_types) if name.endswith("_t")]
    assert [name for name in names if not hasattr(minitorch.nn.common_types, name)] == []
    assert str(minitorch.nn.common_types._size_2_t) == str(torch.nn.common_types._size_2_t)


def test_classes_are_where_programs_look_for_them() -> None:
    for name in CLASSES:
        path = getattr(torch.nn, name).__module__.replace("torch.", "minitorch.", 1)
        assert getattr(importlib.import_module(path), name) is getattr(minitorch.nn, name), name


@LINEAR
@pytest.mark.parametrize("method", ["__init__", "forward"])
def test_classes_take_the_same_arguments(method: str) -> None:
    for name in sorted(set(CLASSES) - OTHER_ARGUMENTS.keys()):
        theirs, ours = (getattr(getattr(library.nn, name), method, None) for library in (torch, minitorch))
        if theirs is not None:
            assert arguments(ours) == arguments(theirs), name


@pytest.mark.parametrize("method", ["__init__", "forward"])
def test_errors_name_a_class_that_programs_know(method: str) -> None:
    for name in sorted(set(CLASSES) - {"Module", "Parameter", "Buffer"}):
        ours = getattr(getattr(minitorch.nn, name), method, None)
        if inspect.isfunction(ours) and ours is not minitorch.nn.Module.forward:
            assert ours.__qualname__.partition(".")[0] in CLASSES, name


def arguments(method: Any) -> list[tuple[str, str, str]]:
    """Names, kinds and defaults."""
    return [
        (each.name, str(each.kind), getattr(each.default, "__name__", repr(each.default)))
        for each in inspect.signature(method).parameters.values()
    ]


def test_a_subclass_of_parameter_prints_its_name() -> None:
    def shown(library: Any) -> str:
        kind = type("Scale", (library.nn.Parameter,), {})
        return repr(kind(library.ones(2)))

    assert shown(minitorch) == shown(torch)
