"""PyTorch's files: a zip archive of a pickle with references to storages, data.pkl, and the bytes of each, data/0, …"""

# 20 · Saving and loading
from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from . import cuda, device
from .arrays import library_of, move
from .pickling import AnyUnpickler, Pickler, find_allowed, unpickle
from .tensor import Storage


@contextmanager
def replacing(path: Any) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when the block ends well. Until then `path` is as it was."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.new"
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # the bytes are on the disk before the name is
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def save(obj: Any, f: Any) -> None:
    """Save tensors, containers of them and other values to a path or a writable file."""
    if isinstance(f, (str, os.PathLike)):
        with replacing(f) as file:
            write_archive(file, Path(f).stem, records_of(obj))
    else:
        write_archive(f, "archive", records_of(obj))


def records_of(obj: Any) -> dict[str, Any]:
    """The records of the archive by name: the program, and the bytes of each storage."""
    keys: dict[Storage, str] = {}
    program = io.BytesIO()
    Pickler(program, lambda storage: keys.setdefault(storage, str(len(keys)))).dump(obj)
    arrays = {key: library_of(storage.flat).to_numpy(storage.flat) for storage, key in keys.items()}
    data = {f"data/{key}": array.view(np.uint8) for key, array in arrays.items()}
    return {"data.pkl": program.getvalue(), "byteorder": b"little", **data, "version": b"3\n"}


def write_archive(file: IO[bytes], root: str, records: Mapping[str, Any]) -> None:
    """Write records as a zip archive. Nothing is compressed, and each begins at a multiple of 64 bytes."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in records.items():
            record = zipfile.ZipInfo(f"{root}/{name}")
            padding = -(file.tell() + 30 + len(record.filename.encode()) + 4) % 64
            record.extra = b"FB" + struct.pack("<H", padding) + bytes(padding)
            archive.writestr(record, data)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Load what `save`, here or in PyTorch, has written; without `weights_only` that may be malicious code, too."""
    try:
        archive = zipfile.ZipFile(f)
    except zipfile.BadZipFile:
        what = "PytorchStreamReader failed reading zip archive: failed finding central directory."
        raise RuntimeError(f"{what} It is likely that your checkpoint file is corrupted.") from None
    with archive:
        root = archive.namelist()[0].partition("/")[0]
        program = archive.read(f"{root}/data.pkl")
        load_storage = storage_reader(lambda name: archive.read(f"{root}/{name}"), map_location)
        if weights_only:
            return unpickle(program, find_allowed, load_storage)
        return AnyUnpickler(program, load_storage).load()


def storage_reader(read: Callable[[str], bytes], map_location: Any = None) -> Callable[[Any], Storage]:
    """What finds the storage of a reference, ("storage", type, key, location, length): one storage for each key."""
    storages: dict[str, Storage] = {}

    def load_storage(reference: tuple[Any, ...]) -> Storage:
        _, kind, key, location, _ = reference
        if key not in storages:
            flat = np.frombuffer(bytearray(read(f"data/{key}")), kind.numpy)
            storages[key] = Storage(move(flat, where_to(location, map_location)))
        return storages[key]

    return load_storage


def where_to(location: str, map_location: Any) -> device:
    """The device for a storage that was saved on the device `location`."""
    where = device(location if map_location is None else map_location)
    if where.type == "cuda" and not cuda.is_available():
        found = "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False."
        advice = "please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        raise RuntimeError(f"{found} If you are running on a CPU-only machine, {advice}")
    return where
