"""PyTorch's own sample inputs, by which it tests its operators: they come with the installed torch, nothing is copied.

`OPERATORS` maps a name, such as "linalg.norm" or "div/trunc_rounding" (an operator and its variant), to PyTorch's
entry; `MODULES` does so with modules. A sample is translated into minitorch's objects: tensors with the same numbers,
strides and offset.
"""

from __future__ import annotations

import dataclasses
import io
import sys
import types
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import minitorch
import minitorch.linalg
import minitorch.nn.functional
import minitorch.nn.utils.rnn
import minitorch.special

torch = pytest.importorskip("torch", reason="the samples and the expected values are torch's")

# The module with the table imports this package for test classes of PyTorch's own, which aren't used here.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))  # type: ignore[arg-type]

from torch.testing._internal import common_utils  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402
from torch.testing._internal.opinfo import core  # noqa: E402

# PyTorch notes each sample on its own test, which it looks for on the stack; here there is none, and looking is slow.
common_utils.extract_test_fn = core.extract_test_fn = lambda: None

DTYPES = {
    getattr(torch, name): getattr(minitorch, name)
    for name in (
        *("bool", "uint8", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
}
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "strided")
WORDS = {**DTYPES, **{getattr(torch, name): getattr(minitorch, name) for name in FORMATS}}
OPERATORS = {f"{op.name}/{op.variant_test_name}" if op.variant_test_name else op.name: op for op in op_db}
MODULES = {info.name.removeprefix("nn."): info for info in module_db}


class OutOfScopeError(Exception):
    """A sample holds what minitorch leaves out, such as a sparse tensor."""


def minitorch_function(op: Any) -> Callable[..., Any] | None:
    """What minitorch has under the operator's name; None where it has nothing."""
    if isinstance(op.op, types.FunctionType) and "torch/testing" in op.op.__code__.co_filename.replace("\\", "/"):
        return rebound(op.op)
    first = getattr(torch, op.name.partition(".")[0], None)
    if op.name.startswith("__") or first is None or isinstance(first, torch.dtype):
        if not hasattr(minitorch.Tensor, op.name):
            return None
        return lambda self, *args, **kwargs: getattr(self, op.name)(*args, **kwargs)
    found: Any = minitorch
    for part in op.name.split("."):
        found = getattr(found, part, None)
    return found


def _seeded(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    minitorch.manual_seed(42)  # as PyTorch's function of this name does
    return op(*args, **kwargs)


def rebound(function: Any) -> Any:
    """A function of PyTorch's test modules, in which `torch` means minitorch."""
    names = {**function.__globals__, "torch": minitorch, "wrapper_set_seed": _seeded}
    cells = function.__closure__
    return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)


def translated(value: Any) -> Any:
    """The same value for minitorch, where tensors share memory as they do. Raises OutOfScopeError if there is none."""
    return _Translation().of(value)


class _Translation:
    def __init__(self) -> None:
        self.tensors: dict[int, Any] = {}
        self.memories: dict[Any, Any] = {}
        self.alive: list[Any] = []  # lest an address be used twice

    def of(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self.tensors:
                self.tensors[id(value)] = self._tensor(value)
            return self.tensors[id(value)]
        if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
            if value not in WORDS:
                raise OutOfScopeError(str(value))
            return WORDS[value]
        if isinstance(value, torch.device):
            return minitorch.device(str(value))
        if isinstance(value, torch.Size):
            return minitorch.Size(value)
        if isinstance(value, torch.nn.utils.rnn.PackedSequence):
            return minitorch.nn.utils.rnn.PackedSequence(*map(self.of, value))
        if isinstance(value, (list, tuple)):
            return (list if isinstance(value, list) else tuple)(self.of(each) for each in value)
        if isinstance(value, dict):
            return {key: self.of(each) for key, each in value.items()}
        if isinstance(value, torch.nn.Module):
            file = io.BytesIO()
            torch.save(value, file)
            file.seek(0)
            return minitorch.load(file, weights_only=False)
        if dataclasses.is_dataclass(value) and type(value).__module__.startswith("torch.nn"):  # options
            return getattr(minitorch.nn, type(value).__name__)(**dataclasses.asdict(value))
        name = getattr(value, "__name__", "")
        if name and getattr(torch.nn.functional, name, None) is value:
            return getattr(minitorch.nn.functional, name)
        return rebound(value) if isinstance(value, types.FunctionType) else value

    def _tensor(self, tensor: Any) -> Any:
        if tensor.layout is not torch.strided or tensor.dtype not in DTYPES or tensor.device.type != "cpu":
            raise OutOfScopeError(f"{tensor.layout}, {tensor.dtype}, {tensor.device}")
        plain = tensor.detach().resolve_conj().resolve_neg()
        self.alive.append(plain)
        copy = self._memory(plain).as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset()).detach()
        if isinstance(tensor, torch.nn.Parameter):
            return minitorch.nn.Parameter(copy, tensor.requires_grad)
        return copy.requires_grad_(tensor.requires_grad)

    def _memory(self, tensor: Any) -> Any:
        """All of the storage that a tensor lies in, as a vector."""
        storage = tensor.untyped_storage()
        size = storage.nbytes() // tensor.element_size()
        if not size and tensor.numel():
            raise OutOfScopeError("a tensor without its memory")
        place = (storage.data_ptr(), tensor.dtype, size)
        if place not in self.memories:
            memory = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (size,), (1,))
            as_bytes = memory.view(torch.int16) if tensor.dtype is torch.bfloat16 else memory
            known = minitorch.from_numpy(as_bytes.numpy().copy())
            known = known.view(minitorch.bfloat16) if tensor.dtype is torch.bfloat16 else known
            self.memories[place] = known
        return self.memories[place]


def leaves(value: Any) -> Iterator[Any]:
    """All tensors in nested lists, tuples and dicts."""
    if isinstance(value, (torch.Tensor, minitorch.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))


def described(sample: Any) -> str:
    """A sample's arguments, short."""
    return listed([sample.input, *sample.args], sample.kwargs)


def listed(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """Arguments as a call lists them; of tensors what matters."""

    def short(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            strides = "" if value.is_contiguous() else f" strides {value.stride()}"
            return f"{str(value.dtype)[6:]}{tuple(value.shape)}{strides}"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(short, value))}]"
        if isinstance(value, torch.nn.Module):
            return type(value).__name__
        return "function" if isinstance(value, types.FunctionType) else repr(value)

    return ", ".join([*map(short, args), *(f"{name}={short(value)}" for name, value in kwargs.items())])
