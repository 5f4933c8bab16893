"""The file format of before PyTorch 1.6, in which many weights are still kept.

Five pickles, one after the other: a magic number, the version of the format, the machine that wrote it, the object,
with references in place of tensors' memory, and the keys of the storages that these refer to; then how many elements
the first storage has, and its bytes, and so on.

Source: https://github.com/pytorch/pytorch/blob/main/torch/serialization.py
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from minitorch.devices import cpu
from minitorch.pickling import UNTYPED, Pickler, SavedStorage
from minitorch.storage import UntypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
MAGIC = pickle.dumps(MAGIC_NUMBER, 2)
"""How a file begins."""
_MACHINE = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}

Load = Callable[[Callable[[Any], Any] | None], Any]
"""Reads the next pickle of a file, with a function that gives the storages that it refers to."""


class _LegacyPickler(Pickler):
    """Remembers each storage that it refers to, and how many elements it has of the type that is seen first."""

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol, lambda storage: str(id(storage)))
        self.storages: dict[str, tuple[UntypedStorage, int]] = {}

    def persistent_id(self, obj: Any) -> Any:
        reference = super().persistent_id(obj)
        if reference is None:
            return None
        _, _, key, _, count = reference
        self.storages.setdefault(key, (obj if isinstance(obj, UntypedStorage) else obj.storage, count))
        return (*reference, None)  # None: it is no view of another storage


def write(obj: Any, file: IO[bytes], protocol: int) -> None:
    """Writes an object. Tensors that share memory still do when it is read."""
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, _MACHINE):
        pickle.dump(part, file, protocol)
    pickler = _LegacyPickler(file, protocol)
    pickler.dump(obj)
    pickle.dump(list(pickler.storages), file, protocol)
    for storage, count in pickler.storages.values():
        file.write(count.to_bytes(8, sys.byteorder))
        file.write(memoryview(storage.device.backend.to_host(storage._bytes)))


def read(file: IO[bytes], load: Load, restore: Callable[[UntypedStorage, str], UntypedStorage]) -> Any:
    """Reads an object. `restore` puts a storage where it belongs.

    Raises RuntimeError for another version and for files that end too soon, NotImplementedError for files of machines
    with the other order of bytes, and for storages that are views of others.
    """
    load(None)  # the magic number, by which the caller knew the format
    version, machine = load(None), load(None)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    if machine["little_endian"] is not _MACHINE["little_endian"]:
        raise NotImplementedError("load: files of machines with another order of bytes are not supported")
    storages: dict[str, tuple[UntypedStorage, int]] = {}

    def storage_of(reference: Any) -> SavedStorage | UntypedStorage:
        _, kind, key, location, count, view = reference
        if view is not None:
            raise NotImplementedError("load: storages that are views of others are not supported")
        itemsize = kind.dtype.itemsize
        if key not in storages:
            empty = UntypedStorage(np.empty(count * itemsize, np.uint8), cpu)
            storages[key] = restore(empty, location), itemsize
        storage = storages[key][0]
        return storage if kind is UNTYPED else SavedStorage(storage, kind.dtype)

    result = load(storage_of)
    for key in load(None):
        storage, itemsize = storages[key]
        count = int.from_bytes(file.read(8), sys.byteorder)
        data = np.frombuffer(file.read(count * itemsize), np.uint8)
        if data.size != storage.nbytes():
            missing = storage.nbytes() - data.size
            raise RuntimeError(f"unexpected EOF, expected {missing} more bytes. The file might be corrupted.")
        storage._bytes[...] = storage.device.backend.from_host(data)
    return result
