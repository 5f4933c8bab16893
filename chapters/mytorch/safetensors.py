"""safetensors: a header's length, the header in JSON, the bytes of the tensors (https://huggingface.co/docs/safetensors)."""

# 20 · Saving and loading
from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from .arrays import move
from .serialization import replacing
from .settings import DTYPES
from .settings import device as device_type
from .tensor import Tensor, from_array, on_host

TYPES = dict(zip(["BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64"], DTYPES, strict=True))
"""By the name that the format has for them."""

NAMES = {kind: name for name, kind in TYPES.items()}


def save_file(tensors: Mapping[str, Tensor], filename: Any, metadata: Mapping[str, str] | None = None) -> None:
    """Save tensors by name; `metadata` goes into the header. Tensors that share a storage are refused."""
    refuse_shared(tensors)
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    data = b""
    for name, x in tensors.items():
        elements = on_host(x).tobytes()
        place = [len(data), len(data) + len(elements)]
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": place}
        data += elements
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers begin at a multiple of 8
    with replacing(filename) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def refuse_shared(tensors: Mapping[str, Tensor]) -> None:
    """Raise if tensors share a storage: each would be saved by itself, and they would not share when loaded."""
    names = defaultdict(list)
    for name, x in tensors.items():
        names[x.storage].append(name)
    if shared := [each for each in names.values() if len(each) > 1]:
        fear = "this will lead to duplicate memory on disk and potential differences when loading them again"
        raise RuntimeError(f"Some tensors share memory, {fear}: {shared}.")


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file by name, on a device."""
    tensors = {}
    with open(filename, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        for name, about in header.items():
            start, end = about["data_offsets"]
            file.seek(8 + length + start)
            elements = np.frombuffer(bytearray(file.read(end - start)), TYPES[about["dtype"]].numpy)
            tensors[name] = from_array(move(elements.reshape(about["shape"]), device_type(device)))
    return tensors
