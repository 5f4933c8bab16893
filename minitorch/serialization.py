"""Saving and loading, in PyTorch's file format: a zip archive of one pickle and the storages' bytes.

    name/data.pkl              the object, with references to storages in place of tensors' memory
    name/data/0, 1, …          the bytes of each storage, once, however many tensors see it
    name/byteorder, version …  how to read them

Nothing is compressed, and every record begins at a multiple of 64 bytes, so that it could be mapped into memory.
Source: https://pytorch.org/docs/stable/notes/serialization.html
"""

# ruff: noqa: I001 - names stand side by side
from __future__ import annotations

import hashlib
import io
import os
import pickle
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from minitorch import legacy_format
from minitorch.arrays import Array, gpus
from minitorch.devices import DEVICE_TYPES, cpu, device, tensor_device
from minitorch.pickling import (
    UNTYPED, Pickler, SavedStorage, Unpickler, WeightsUnpickler, add_safe_globals, clear_safe_globals,
    get_safe_globals, safe_globals,
)  # fmt: skip
from minitorch.storage import UntypedStorage

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

DEFAULT_PROTOCOL = 2
MAP_LOCATION = FILE_LIKE = Any  # what annotations name
_ALIGNMENT = 64
_SMALLEST_ARCHIVE = 22  # bytes: an empty one consists of the record that ends it
_PADDING_FIELD = b"FB"  # the identifier, in the zip format, of the extra field that holds the padding

_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source."
)
_DOCUMENTATION = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Saves an object to a path or a writable file. Tensors that share memory still do when loaded.

    A path is written beside its place and then moved there, so that no reader ever sees half a file. Without
    `_use_new_zipfile_serialization` the file is of the format of before PyTorch 1.6, which `load` reads too.
    Raises AttributeError for what is neither, RuntimeError where there is no such directory.
    Source: https://pytorch.org/docs/stable/generated/torch.save.html
    """
    if pickle_module is not pickle:
        raise NotImplementedError("save: pickle_module is not supported")

    def write(file: Any, name: str) -> None:
        if _use_new_zipfile_serialization:
            _write(obj, file, name, pickle_protocol, not _disable_byteorder_record)
        else:
            legacy_format.write(obj, file, pickle_protocol)

    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        write(f, "archive")
        return
    path = os.fspath(f)
    with _replacing(path) as file:
        write(file, os.path.splitext(os.path.basename(path))[0] or "archive")


@contextmanager
def _replacing(path: str) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when the block ends well, and disappears when it doesn't.

    A symbolic link stays one, and leads to the new file. A file that has several names is overwritten instead, so that
    it keeps them. What is no file, such as /dev/null, is written to.
    """
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        try:
            file = open(path, "wb")  # noqa: SIM115
        except OSError as error:
            raise RuntimeError(f"open file failed with strerror: {error.strerror}") from None
        with file:
            yield file
        return
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    handle, temporary = tempfile.mkstemp(dir=folder or ".", prefix=os.path.basename(path) + ".")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        if os.path.exists(path) and os.stat(path).st_nlink > 1:
            shutil.copyfile(temporary, path)
            os.unlink(temporary)
            return
        os.chmod(temporary, _mode_of(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode_of(path: str) -> int:
    """The permissions that the file has, or that a new file would get."""
    if os.path.exists(path):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _write(obj: Any, file: Any, name: str, protocol: int, byteorder: bool) -> None:
    keys: dict[int, str] = {}
    storages: list[UntypedStorage] = []

    def key_of(storage: UntypedStorage) -> str:
        if id(storage) not in keys:
            keys[id(storage)] = str(len(storages))
            storages.append(storage)
        return keys[id(storage)]

    buffer = io.BytesIO()
    Pickler(buffer, protocol, key_of).dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        digest = hashlib.sha256(buffer.getvalue())
        _add(archive, f"{name}/data.pkl", buffer.getvalue())
        _add(archive, f"{name}/.format_version", b"1")
        _add(archive, f"{name}/.storage_alignment", str(_ALIGNMENT).encode())
        if byteorder:
            _add(archive, f"{name}/byteorder", sys.byteorder.encode())
        for key, storage in enumerate(storages):
            data = memoryview(storage.device.backend.to_host(storage._bytes))
            digest.update(data)
            _add(archive, f"{name}/data/{key}", data)
        _add(archive, f"{name}/version", b"3\n")
        _add(archive, f"{name}/.data/serialization_id", str(int(digest.hexdigest(), 16))[:40].encode())


def _add(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    """Adds a record whose first byte is at a multiple of the alignment, by padding in the record's header."""
    record = zipfile.ZipInfo(name)
    start = archive.fp.tell() + 30 + len(name.encode()) + 4  # type: ignore[union-attr]
    padding = -start % _ALIGNMENT
    record.extra = _PADDING_FIELD + padding.to_bytes(2, "little") + b"Z" * padding
    archive.writestr(record, data)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Loads what `save`, here or in PyTorch, has written to a path or a seekable file.

    With `weights_only`, which is the default, a file can hold tensors and plain containers of them, and nothing in it
    is run; without, it can hold anything, malicious code too. `map_location` is the device to put tensors on, a dict
    from saved device to device, or a function of (storage on the CPU, saved device) that returns a storage, or None
    for the saved device. With `mmap`, numbers are read from the file when they are looked at. Raises UnpicklingError
    for what `weights_only` doesn't allow, RuntimeError for broken files and missing devices, ValueError for `mmap` of
    what is no path. Source: https://pytorch.org/docs/stable/generated/torch.load.html
    """
    weights_only = _forced(weights_only)
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_module not in (None, pickle):
        raise NotImplementedError("load: pickle_module is not supported")
    restore = _restorer(map_location)
    if isinstance(f, (str, os.PathLike)):
        mapped = UntypedStorage.from_file(f, nbytes=os.path.getsize(f))._bytes if mmap else None
        with open(f, "rb") as file:
            return _load(file, restore, weights_only, pickle_load_args, mapped)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    for needed in ("seek", "tell", "read"):
        if not hasattr(f, needed):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{needed}'. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    return _load(f, restore, weights_only, pickle_load_args)


def _forced(weights_only: bool | None) -> bool | None:
    """What the environment says of `weights_only`, or else what the caller did."""
    always, by_default = (
        os.environ.get(name, "0").lower() in ("1", "y", "yes", "true")
        for name in ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    )
    if always and by_default:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both "
            "were set."
        )
    if always:
        return True
    if not by_default or weights_only is not None:
        return weights_only
    warnings.warn(
        "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not "
        "explicitly passed to `torch.load`, forcing weights_only=False.",
        stacklevel=3,
    )
    return False


Restore = Callable[[UntypedStorage, str], UntypedStorage]


def _load(file: Any, restore: Restore, weights_only: bool, options: dict[str, Any], mapped: Array | None = None) -> Any:
    start = file.tell()
    magic = file.read(len(legacy_format.MAGIC))
    file.seek(start)
    try:
        if magic[:4] == b"PK\x03\x04":
            return _read(file, restore, weights_only, options, mapped)
        if mapped is not None:
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({file.name}, "
                "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this option in order to "
                "use mmap."
            )
        if magic == legacy_format.MAGIC:

            def next_pickle(load_storage: Callable[[Any], Any] | None) -> Any:
                return _unpickle(file, load_storage or _no_storage, weights_only, options)

            return legacy_format.read(file, next_pickle, restore)
        _unpickle(file, _no_storage, weights_only, options)
        raise RuntimeError("Invalid magic number; corrupt file?")
    except pickle.UnpicklingError as error:
        if weights_only:
            raise pickle.UnpicklingError(_explained(str(error))) from None
        raise


def _no_storage(pid: Any) -> Any:
    raise pickle.UnpicklingError("unsupported persistent id encountered")


def _explained(message: str) -> str:
    """PyTorch's advice around an error of the weights-only unpickler."""
    if "was not an allowed global by default" in message:
        advice = (
            "This file can still be loaded, to do so you have two options, \033[1mdo those steps only if you trust the "
            f"source of the checkpoint\033[0m. \n\t(1) {_UNSAFE}\n\t(2) Alternatively, to load with "
            "`weights_only=True` please check the recommended steps in the following error "
            "message.\n\tWeightsUnpickler error: "
        )
    else:
        advice = f"{_UNSAFE}\n"
        if "is blocked" not in message:
            advice += (
                "Please file an issue with the following so that we can make `weights_only=True` compatible with your "
                "use case: WeightsUnpickler error: "
            )
        advice += "\n\n"
    return f"Weights only load failed. {advice}{message}{_DOCUMENTATION}"


def _read(file: Any, restore: Restore, weights_only: bool, options: dict[str, Any], mapped: Array | None) -> Any:
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        size = file.seek(0, os.SEEK_END)
        what = "not a ZIP archive" if size < _SMALLEST_ARCHIVE else "failed finding central directory"
        raise _corrupt(f"reading zip archive: {what}") from None
    with archive:
        names = set(archive.namelist())
        root = archive.namelist()[0].partition("/")[0]
        if f"{root}/data.pkl" not in names:
            raise _corrupt("locating file data.pkl: file not found")
        if f"{root}/constants.pkl" in names:
            raise NotImplementedError("load: TorchScript archives are not supported")
        order = archive.read(f"{root}/byteorder").decode() if f"{root}/byteorder" in names else "little"
        if order != sys.byteorder:
            raise NotImplementedError(f"load: files of {order}-endian machines are not supported")
        loaded: dict[str, UntypedStorage] = {}

        def storage_of(pid: Any) -> SavedStorage | UntypedStorage:
            _, kind, key, location, count = pid
            if key not in loaded:
                name, size = f"{root}/data/{key}", count * kind.dtype.itemsize
                data = _bytes_of(archive, name, size) if mapped is None else _part(mapped, archive, name, size)
                loaded[key] = restore(UntypedStorage(data, cpu), location)
            return loaded[key] if kind is UNTYPED else SavedStorage(loaded[key], kind.dtype)

        return _unpickle(io.BytesIO(archive.read(f"{root}/data.pkl")), storage_of, weights_only, options)


def _corrupt(what: str) -> RuntimeError:
    return RuntimeError(
        f"PytorchStreamReader failed {what}. This is an internal miniz error. If you are seeing this error, there is a "
        "high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was not saved "
        "properly, was transferred incorrectly, or the file was modified after saving."
    )


def _bytes_of(archive: zipfile.ZipFile, name: str, count: int) -> Any:
    if name not in archive.NameToInfo:
        raise _corrupt(f"locating file {name.partition('/')[2]}: file not found")
    size = archive.getinfo(name).file_size
    if size != count:
        raise RuntimeError(
            f"record size ({size} bytes) does not match expected size ({count} bytes = {count} elements * 1 "
            "bytes/element) for dtype Byte"
        )
    buffer = np.empty(count, np.uint8)
    with archive.open(name) as record:
        record.readinto(buffer)  # type: ignore[attr-defined]
    return buffer


def _part(mapped: Array, archive: zipfile.ZipFile, name: str, count: int) -> Array:
    """A record of an archive that is mapped into memory: it begins after a header and two fields of any length."""
    header = archive.getinfo(name).header_offset
    lengths = mapped[header + 26 : header + 30].view("<u2")
    start = header + 30 + int(lengths.sum())
    return mapped[start : start + count]


def _unpickle(file: Any, load_storage: Callable[[Any], Any], weights_only: bool, options: dict[str, Any]) -> Any:
    kind = WeightsUnpickler if weights_only else Unpickler
    return kind(file, load_storage, **{"encoding": "utf-8", **options}).load()


def _restorer(map_location: Any) -> Restore:
    """What puts a loaded storage where it belongs."""
    if map_location is None:
        return _moved
    if isinstance(map_location, dict):
        return lambda storage, location: _moved(storage, str(map_location.get(location, location)))
    if isinstance(map_location, (str, bytes, device)):
        target = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: _moved(storage, target)

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        chosen = map_location(storage, location)
        return _moved(storage, location) if chosen is None else chosen

    return restore


def _moved(storage: UntypedStorage, location: str) -> UntypedStorage:
    kind = location.partition(":")[0]
    if kind not in DEVICE_TYPES:
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})"
        )
    try:
        where = tensor_device(location)
    except AssertionError:
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        ) from None
    except RuntimeError:
        library: Any = gpus.library()
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {location.partition(':')[2]} but "
            f"torch.cuda.device_count() is {library.count()}. Please use torch.load with map_location to map your "
            "storages to an existing device."
        ) from None
    if where is cpu:
        return storage
    return UntypedStorage(where.backend.from_host(storage._bytes), where)
