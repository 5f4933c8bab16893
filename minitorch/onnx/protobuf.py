"""Protocol buffers: a message is a row of fields, each a number that says which one it is, and a value.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any


def varint(number: int) -> bytes:
    """An integer in groups of 7 bits, the lowest first. The top bit of a byte says that more follow.

    A negative number is written as 64 bits.
    """
    number &= 2**64 - 1
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def field(number: int, value: Any) -> bytes:
    """One field. How it is written follows from the type of the value: int, float, str or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return b"".join((varint(number << 3 | 2), varint(len(data)), data))


def message(fields: Mapping[int, Any]) -> bytes:
    """Fields by number. A list is a repeated field; None is left out."""
    parts = []
    for number, value in fields.items():
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if each is not None:
                parts.append(field(number, each))
    return b"".join(parts)
