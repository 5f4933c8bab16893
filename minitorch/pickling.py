"""How objects are written to and read from the pickle in a saved file: under the names that PyTorch gives them.

The file says `torch._utils._rebuild_tensor_v2`, not where this package has its function, so that either library reads
the other's files. `WeightsUnpickler` runs nothing but a few known functions, so that a file from a stranger is safe.
"""

from __future__ import annotations

import _codecs
import _compat_pickle
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import IO, Any, ClassVar

from minitorch import dtypes
from minitorch.bits import CONJUGATE, NEGATIVE
from minitorch.devices import device
from minitorch.dispatch.declaration import METHODS
from minitorch.layout import layout, strided
from minitorch.random import Generator
from minitorch.size import Size
from minitorch.storage import UntypedStorage
from minitorch.tensor import Tensor, _as_subclass, make_tensor


class StorageType:
    """One of PyTorch's storage classes, `torch.FloatStorage` and the like: a name for the dtype of what is stored."""

    def __init__(self, name: str, dtype: dtypes.dtype) -> None:
        self.name = name
        self.dtype = dtype


STORAGE_TYPES = {each: StorageType(f"{dtypes.SCALAR_TYPES[each.name]}Storage", each) for each in dtypes.DTYPES}
UNTYPED = StorageType("UntypedStorage", dtypes.uint8)
"""What a storage is called that is saved by itself, without a tensor."""

_BITS = {"conj": CONJUGATE, "neg": NEGATIVE}


class SavedStorage:
    """A storage and the dtype that its elements are saved as."""

    def __init__(self, storage: UntypedStorage, dtype: dtypes.dtype) -> None:
        self.storage = storage
        self.dtype = dtype


def rebuild_tensor(
    saved: SavedStorage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor on a loaded storage; offset and strides are in elements."""
    kind, where = saved.dtype, saved.storage.device
    steps = tuple(step * kind.itemsize for step in stride)
    array = where.backend.strided(saved.storage._bytes, kind.numpy, offset * kind.itemsize, tuple(size), steps)
    tensor = make_tensor(array, kind, where)
    saved.storage._take_in(tensor)
    for name, bit in _BITS.items():
        if metadata and metadata.get(name):
            tensor._bits |= bit
    return tensor.requires_grad_() if requires_grad else tensor


def rebuild_meta_tensor(
    kind: dtypes.dtype, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool
) -> Tensor:
    """A tensor of the meta device, which has no storage to be saved."""
    where = device("meta")
    memory = where.xp.empty(0, kind.numpy)
    array = where.backend.strided(memory, kind.numpy, 0, tuple(size), tuple(step * kind.itemsize for step in stride))
    tensor = make_tensor(array, kind, where)
    return tensor.requires_grad_() if requires_grad else tensor


def rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any = None) -> Tensor:
    """A parameter, with the attributes that its user gave it."""
    from minitorch.nn.parameter import Parameter  # loads the layers

    parameter: Tensor = Parameter(data, requires_grad)
    return _with_attributes(parameter, state)


def rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Tensor:
    return rebuild_parameter(data, requires_grad, backward_hooks, state)


def rebuild_from_type(function: Callable[..., Any], kind: type, args: tuple[Any, ...], state: Any) -> Tensor:
    """A tensor of a subclass, or with attributes of the user's."""
    return _with_attributes(_as_subclass(function(*args), kind), state)


def _with_attributes(tensor: Tensor, state: Any) -> Tensor:
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        setattr(tensor, name, value)
    return tensor


def get_layout(name: str) -> layout:
    """The layout of a name such as "torch.strided", which is what a file says in its place."""
    if name != str(strided):
        raise KeyError(name)
    return strided


def reduced(tensor: Tensor, protocol: Any = None) -> Any:
    """What a tensor is pickled as: a function, and its arguments, among them the whole storage."""
    if tensor.is_meta:
        return rebuild_meta_tensor, (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.requires_grad)
    saved = SavedStorage(tensor.untyped_storage(), tensor.dtype)
    place = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
    args: Any = (saved, *place, tensor.requires_grad, OrderedDict())
    if tensor._bits:
        args = (*args, {name: True for name, bit in _BITS.items() if tensor._bits & bit})
    attributes = tensor.__dict__
    if type(tensor) is Tensor and not attributes:
        return rebuild_tensor, args
    return rebuild_from_type, (rebuild_tensor, type(tensor), args, attributes)


METHODS["__reduce_ex__"] = reduced

_TORCH: dict[str, Any] = {
    "torch._utils._rebuild_tensor_v2": rebuild_tensor,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": rebuild_from_type,
    "torch.serialization._get_layout": get_layout,
    "torch.Size": Size,
    "torch.Tensor": Tensor,
    "torch.device": device,
    "torch.storage.UntypedStorage": UNTYPED,
    **{f"torch.{each.name}": each for each in STORAGE_TYPES.values()},
    **{f"torch.{each.name}": each for each in dtypes.DTYPES},
}
_NOT_SAFE: dict[str, Any] = {"torch._C.Generator": Generator}
"""Written and read under PyTorch's names too, but not allowed with `weights_only`."""
_NAMES = {id(value): path for path, value in {**_TORCH, **_NOT_SAFE}.items()}


def _torch_globals() -> dict[str, Any]:
    from minitorch.nn.parameter import Parameter  # loads the layers

    return {**_TORCH, "torch.nn.parameter.Parameter": Parameter}


# Writing


class Pickler(pickle._Pickler):
    """Writes tensors as references to storages, which `storage_key` makes keys of and which are saved elsewhere."""

    dispatch: ClassVar[dict[Any, Any]] = dict(pickle._Pickler.dispatch)

    def __init__(self, file: IO[bytes], protocol: int, storage_key: Callable[[UntypedStorage], str]) -> None:
        super().__init__(file, protocol)
        self._storage_key = storage_key

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, UntypedStorage):
            return ("storage", UNTYPED, self._storage_key(obj), str(obj.device), obj.nbytes())
        if not isinstance(obj, SavedStorage):
            return None
        count = obj.storage.nbytes() // obj.dtype.itemsize
        key = self._storage_key(obj.storage)
        return ("storage", STORAGE_TYPES[obj.dtype], key, str(obj.storage.device), count)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return NotImplemented if hasattr(obj, "materialize") else self._reduced(obj)
        if isinstance(obj, Size):
            return Size, (tuple(obj),)
        if isinstance(obj, layout):
            return get_layout, (str(obj),)
        return NotImplemented

    def _reduced(self, tensor: Tensor) -> Any:
        from minitorch.nn.parameter import Parameter  # loads the layers

        attributes = tensor.__dict__
        if type(tensor) is Parameter:
            rest: Any = (tensor.detach(), tensor.requires_grad, OrderedDict())
            return (rebuild_parameter_with_state, (*rest, attributes)) if attributes else (rebuild_parameter, rest)
        return reduced(tensor)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Writes the name of a function or class: PyTorch's name where PyTorch has the same."""
        path = _NAMES.get(id(obj))
        module = getattr(obj, "__module__", None) or ""
        if path is None and module.split(".")[0] == "minitorch":
            path = f"torch{module.removeprefix('minitorch')}.{obj.__qualname__}"
        if path is None and "<locals>" in (name or obj.__qualname__):
            raise AttributeError(f"Can't pickle local object {name or obj.__qualname__!r}")
        if path is None:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        prefix, _, last = path.rpartition(".")
        self.write(pickle.GLOBAL + f"{prefix}\n{last}\n".encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]

    dispatch[FunctionType] = save_global
    dispatch[StorageType] = save_global
    dispatch[dtypes.dtype] = save_global


# Reading


class Unpickler(pickle._Unpickler):
    """Reads what PyTorch or this package has written, and anything else that the file asks for: code too."""

    def __init__(self, file: IO[bytes], load_storage: Callable[[Any], Any], **options: Any) -> None:
        super().__init__(file, **options)
        self._load_storage = load_storage

    def persistent_load(self, pid: Any) -> Any:
        return self._load_storage(pid)

    def find_class(self, module: str, name: str) -> Any:
        known = {**_torch_globals(), **_NOT_SAFE}.get(f"{module}.{name}")
        if known is not None:
            return known
        if module.split(".")[0] == "torch":
            module = "minitorch" + module.removeprefix("torch")
        return super().find_class(module, name)


_SAFE: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "_codecs.encode": _codecs.encode,
    "builtins.bytearray": bytearray,
    "builtins.set": set,
    "builtins.complex": complex,
}
_BLOCKED = ("sys", "os", "posix", "nt")
_added: set[Any] = set()

_OPERANDS = (
    "PROTO STOP MARK GLOBAL REDUCE NEWOBJ BUILD APPEND APPENDS SETITEM SETITEMS TUPLE TUPLE1 TUPLE2 TUPLE3 NONE "
    "NEWFALSE NEWTRUE EMPTY_TUPLE EMPTY_LIST EMPTY_DICT EMPTY_SET BININT BININT1 BININT2 BINFLOAT BINUNICODE "
    "SHORT_BINSTRING BINPERSID BINGET LONG_BINGET BINPUT LONG_BINPUT LONG1 STACK_GLOBAL FRAME MEMOIZE SHORT_BINUNICODE"
)


_DICTS = "dict, collections.OrderedDict, collections.Counter"


class _Operands(dict[int, Any]):
    def __missing__(self, key: int) -> Any:
        raise pickle.UnpicklingError(f"Unsupported operand {key}")


def _filling(operand: bytes, words: str, *kinds: type) -> Callable[[Any], None]:
    """The operation that puts elements into a container, which has to be of one of these types itself."""
    fill = pickle._Unpickler.dispatch[operand[0]]
    place = {pickle.APPEND: -2, pickle.SETITEM: -3}.get(operand)

    def checked(self: Any) -> None:
        container = self.metastack[-1][-1] if place is None else self.stack[place]
        if type(container) not in kinds:
            raise pickle.UnpicklingError(f"Can only {words}, but got {type(container)}")
        fill(self)

    return checked


class WeightsUnpickler(Unpickler):
    """Reads tensors, plain containers, numbers, strings, and what the user has declared safe. Nothing else is called.

    Raises UnpicklingError at the first byte that asks for more.
    """

    dispatch: ClassVar[dict[int, Any]] = _Operands(
        {getattr(pickle, name)[0]: pickle._Unpickler.dispatch[getattr(pickle, name)[0]] for name in _OPERANDS.split()}
    )

    def __init__(self, file: IO[bytes], load_storage: Callable[[Any], Any], *, encoding: str) -> None:
        super().__init__(file, load_storage, encoding=encoding)
        self._allowed = {**_torch_globals(), **_SAFE}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _compat_pickle.NAME_MAPPING:
            module, name = _compat_pickle.NAME_MAPPING[module, name]
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
        if module in _BLOCKED:
            raise pickle.UnpicklingError(
                f"Trying to load unsupported GLOBAL {module}.{name} whose module {module} is blocked."
            )
        path = f"{module}.{name}"
        if path not in self._allowed:
            self._allowed.update(_user_globals())
        if path in self._allowed:
            return self._allowed[path]
        path = path.removeprefix("builtins.")
        raise pickle.UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{path}])` or the `torch.serialization.safe_globals([{path}])` "
            "context manager to allowlist this global if you trust this class/function."
        )

    def persistent_load(self, pid: Any) -> Any:
        if not isinstance(pid, tuple) or not pid or pid[0] != "storage":
            raise pickle.UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(pid)}")
        return super().persistent_load(pid)

    def _is_allowed(self, value: Any) -> bool:
        return any(value is each for each in self._allowed.values())

    def _load_reduce(self) -> None:
        function = self.stack[-2]  # type: ignore[attr-defined]
        if not self._is_allowed(function):
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        self.load_reduce()  # type: ignore[attr-defined]

    def _load_newobj(self) -> None:
        kind = self.stack[-2]  # type: ignore[attr-defined]
        if not self._is_allowed(kind):
            raise pickle.UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
                f"{kind}"
            )
        self.load_newobj()  # type: ignore[attr-defined]

    def _load_build(self) -> None:
        kind = type(self.stack[-2])  # type: ignore[attr-defined]
        if not self._is_allowed(kind) or kind is type:
            raise pickle.UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{kind}"
            )
        self.load_build()  # type: ignore[attr-defined]

    dispatch[pickle.REDUCE[0]] = _load_reduce
    dispatch[pickle.NEWOBJ[0]] = _load_newobj
    dispatch[pickle.BUILD[0]] = _load_build
    dispatch[pickle.APPEND[0]] = _filling(pickle.APPEND, "append to lists", list)
    dispatch[pickle.APPENDS[0]] = _filling(pickle.APPENDS, "extend lists", list)
    dispatch[pickle.SETITEM[0]] = _filling(pickle.SETITEM, f"SETITEM for {_DICTS}", dict, OrderedDict, Counter)
    dispatch[pickle.SETITEMS[0]] = _filling(pickle.SETITEMS, f"SETITEMS for {_DICTS}", dict, OrderedDict, Counter)


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allows functions and classes, or pairs of one and its full name, in files loaded with `weights_only=True`."""
    _added.update(safe_globals)


def _user_globals() -> dict[str, Any]:
    """What `add_safe_globals` was given, by full names. Only here is looked whether that can be named."""
    found = {}
    for each in _added:
        if isinstance(each, tuple) and len(each) != 2:
            raise ValueError(
                f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(each)}"
            )
        value, path = each if isinstance(each, tuple) else (each, f"{each.__module__}.{each.__qualname__}")
        if type(path) is not str:
            raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(path)}")
        if path.split(".")[0] == "minitorch":
            path = "torch" + path.removeprefix("minitorch")
        found[path] = value
    return found


def get_safe_globals() -> list[Any]:
    """What was allowed by `add_safe_globals`, as it was given."""
    return list(_added)


def clear_safe_globals() -> None:
    """Takes back what `add_safe_globals` allowed."""
    _added.clear()


@contextmanager
def safe_globals(safe_globals: Iterable[Any]) -> Iterator[None]:
    """Allows functions and classes inside a block."""
    before = set(_added)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _added.clear()
        _added.update(before)
