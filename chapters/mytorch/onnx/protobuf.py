"""Protocol buffers: rows of fields, each a number and a value; see https://protobuf.dev/programming-guides/encoding/"""

# 20b · Export
from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any


def varint(number: int) -> bytes:
    """An integer in as few bytes as it needs, 7 bits in each, the lowest first; the top bit says that more follow."""
    number &= 2**64 - 1  # a negative number is written as 64 bits, so it takes ten bytes
    groups = [number & 127]
    while number := number >> 7:
        groups[-1] |= 128
        groups.append(number & 127)
    return bytes(groups)


def field(number: int, value: Any) -> bytes:
    """A field: its number and the kind of its value in one varint, then an integer, a float, or bytes or text."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3 | 0) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(fields: Mapping[int, Any]) -> bytes:
    """Fields by number. A list stands for a field that is repeated; None is left out."""
    data = b""
    for number, value in fields.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        data += b"".join(field(number, each) for each in values if each is not None)
    return data
