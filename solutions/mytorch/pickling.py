"""The pickle machine: a value is a program, which builds it again; names that are not in `ALLOWED` are refused."""

# 20 · Saving and loading
from __future__ import annotations

import _compat_pickle
import io
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .nn.parameter import Parameter
from .settings import DTYPES, TYPE_NAMES, dtype
from .tensor import Storage, Tensor


def rebuild_tensor(storage: Storage, offset: int, size: Any, stride: Any, requires_grad: bool, *_: Any) -> Tensor:
    """A tensor on a storage that has been loaded."""
    return Tensor(storage, size, stride, offset).requires_grad_(requires_grad)


def rebuild_parameter(data: Tensor, requires_grad: bool, *_: Any) -> Parameter:
    """A parameter on the memory of a tensor that has been loaded."""
    return Parameter(data, requires_grad)


ALLOWED: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "torch._utils._rebuild_tensor_v2": rebuild_tensor,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    **{f"torch.{TYPE_NAMES[each.name]}Storage": each for each in DTYPES},
    **{f"torch.{each.name}": each for each in DTYPES},
}
"""What a program may name. A class of storages stands for the type of their elements."""

PATHS = {id(value): path for path, value in ALLOWED.items()}


class Pickler(pickle._Pickler):
    """Writes programs with PyTorch's names in them, and references where storages are."""

    def __init__(self, file: Any, key_of: Callable[[Storage], str]) -> None:
        super().__init__(file, protocol=2)
        self.key_of = key_of  # the name under which the bytes of a storage are saved

    def persistent_id(self, value: Any) -> Any:
        """The reference to a storage; None for any other value."""
        if type(value) is not Storage:
            return None
        return ("storage", StorageType(value.dtype), self.key_of(value), str(value.device), len(value))

    def reducer_override(self, value: Any) -> Any:
        """The name under which a value is found again, or the function and the arguments that make it again."""
        if type(value) is StorageType:
            return f"torch.{TYPE_NAMES[value.dtype.name]}Storage"
        if type(value) is Tensor:
            place = (value.storage, value.offset, tuple(value.shape), value.strides)
            return rebuild_tensor, (*place, value.requires_grad, OrderedDict())
        if type(value) is Parameter:
            return rebuild_parameter, (value.detach(), value.requires_grad, OrderedDict())
        return PATHS.get(id(value), NotImplemented)

    def save_global(self, value: Any, name: str | None = None) -> None:
        """Write a name: PyTorch's, where the value has one."""
        if name not in ALLOWED:
            super().save_global(value, name)
            return
        self.write(pickle.GLOBAL + "{}\n{}\n".format(*name.rsplit(".", 1)).encode())
        self.memoize(value)


class StorageType:
    """Stands in a reference for a class of storages, such as torch.FloatStorage."""

    def __init__(self, dtype: dtype) -> None:
        self.dtype = dtype


def little(count: int, signed: bool = False) -> Callable[[Any], int]:
    """How to read an integer of so many bytes from a file."""
    return lambda file: int.from_bytes(file.read(count), "little", signed=signed)


PUSHED: dict[bytes, Callable[[Any], Any]] = {
    pickle.NONE: lambda file: None,
    pickle.NEWTRUE: lambda file: True,
    pickle.NEWFALSE: lambda file: False,
    pickle.EMPTY_TUPLE: lambda file: (),
    pickle.EMPTY_LIST: lambda file: [],
    pickle.EMPTY_DICT: lambda file: {},
    pickle.BININT: little(4, signed=True),
    pickle.BININT1: little(1),
    pickle.BININT2: little(2),
    pickle.LONG1: lambda file: int.from_bytes(file.read(file.read(1)[0]), "little", signed=True),
    pickle.BINFLOAT: lambda file: struct.unpack(">d", file.read(8))[0],
    pickle.BINUNICODE: lambda file: file.read(little(4)(file)).decode(),
}
"""By opcode, how to read a value that goes onto the stack."""

PUT = {pickle.BINPUT: little(1), pickle.LONG_BINPUT: little(4)}
GET = {pickle.BINGET: little(1), pickle.LONG_BINGET: little(4)}
"""By opcode, how to read a place in the memo."""


def unpickle(program: bytes, find: Callable[[str], Any], load_storage: Callable[[Any], Any]) -> Any:
    """Run a program of protocol 2; the value that it builds."""
    file = io.BytesIO(program)
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def take(count: int | None = None) -> list[Any]:
        start = marks.pop() if count is None else len(stack) - count
        taken = stack[start:]
        del stack[start:]
        return taken

    while (code := file.read(1)) != pickle.STOP:
        if code in PUSHED:
            stack.append(PUSHED[code](file))
        elif code == pickle.PROTO:
            file.read(1)
        elif code == pickle.MARK:
            marks.append(len(stack))
        elif code in (pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
            stack.append(tuple(take(1 + code[0] - pickle.TUPLE1[0])))
        elif code == pickle.TUPLE:
            stack.append(tuple(take()))
        elif code in (pickle.APPEND, pickle.APPENDS):
            values = take(1 if code == pickle.APPEND else None)
            stack[-1].extend(values)
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            values = take(2 if code == pickle.SETITEM else None)
            stack[-1].update(zip(values[::2], values[1::2], strict=True))
        elif code in PUT:
            memo[PUT[code](file)] = stack[-1]
        elif code in GET:
            stack.append(memo[GET[code](file)])
        elif code == pickle.GLOBAL:
            module, name = (file.readline().decode().rstrip("\n") for _ in range(2))
            stack.append(find(f"{module}.{name}"))
        elif code == pickle.REDUCE:
            function, args = take(2)
            stack.append(function(*args))
        elif code == pickle.BUILD and isinstance(stack[-2], OrderedDict):
            attributes = stack.pop()
            vars(stack[-1]).update(attributes)
        elif code == pickle.BINPERSID:
            stack.append(load_storage(stack.pop()))
        else:
            raise failed(f"Unsupported operand {code[0]}") if code else EOFError("the program ends before it stops")
    return stack.pop()


def find_allowed(path: str) -> Any:
    """What a program of weights may name."""
    if path not in ALLOWED:
        raise refused(path)
    return ALLOWED[path]


class AnyUnpickler(pickle.Unpickler):
    """Python's own machine, which imports and calls whatever the program names."""

    def __init__(self, program: bytes, load_storage: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(program))
        self.load_storage = load_storage

    def persistent_load(self, reference: Any) -> Any:
        """The storage of a reference."""
        return self.load_storage(reference)

    def find_class(self, module: str, name: str) -> Any:
        """What a name means."""
        path = f"{module}.{name}"
        return ALLOWED[path] if path in ALLOWED else super().find_class(module, name)


def refused(path: str) -> pickle.UnpicklingError:
    """PyTorch's words for a name that is not allowed; Python 3 has some names in other modules than the program."""
    module, _, name = path.rpartition(".")
    path = f"{_compat_pickle.IMPORT_MAPPING.get(module, module)}.{name}".removeprefix("builtins.")
    found = f"Unsupported global: GLOBAL {path} was not an allowed global by default."
    advice = f"`torch.serialization.add_safe_globals([{path}])` or the `torch.serialization.safe_globals([{path}])`"
    why = "context manager to allowlist this global if you trust this class/function."
    return failed(f"{found} Please use {advice} {why}")


def failed(what: str) -> pickle.UnpicklingError:
    """PyTorch's error of a load with `weights_only`, without its advice."""
    return pickle.UnpicklingError(f"Weights only load failed. WeightsUnpickler error: {what}")
