"""Event files, which TensorBoard draws: records (https://www.tensorflow.org/tutorials/load_data/tfrecord) of events.

The numbers of fields are those of TensorFlow's event.proto and summary.proto.
"""

# 21 · Features, transfer and pictures
from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Any

from ..onnx.protobuf import message, varint


def table() -> list[int]:
    """What each value of a byte does to the checksum: the remainder of a division of polynomials, bit by bit."""
    entries = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)  # Castagnoli's polynomial, with its bits reversed
        entries.append(crc)
    return entries


TABLE = table()


def crc32c(data: bytes) -> int:
    """The checksum CRC-32C."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    """Its checksum as the format has it: rotated by 15 bits, plus a constant."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """The length in 8 bytes and its checksum, then the data and theirs."""
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def event(wall_time: float, **fields: Any) -> bytes:
    """An event: a time in seconds, and what happened."""
    numbers = {"step": 2, "file_version": 3, "summary": 5}
    seconds = varint(1 << 3 | 1) + struct.pack("<d", wall_time)  # kind 1: 64 bits
    return seconds + message({numbers[name]: value for name, value in fields.items()})


class EventWriter:
    """Writes numbers into a new event file in a folder: `add_scalar("loss", 0.5, step)`."""

    def __init__(self, log_dir: Any) -> None:
        path = Path(log_dir) / f"events.out.tfevents.{time.time_ns()}"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("xb")
        self.write(event(time.time(), file_version="brain.Event:2"))

    def write(self, data: bytes) -> None:
        """Put an event at the end of the file, where a running TensorBoard sees it."""
        self.file.write(record(data))
        self.file.flush()

    def add_scalar(self, tag: str, value: Any, step: int, wall_time: float | None = None) -> None:
        """Write one point of the curve `tag`."""
        point = message({1: message({1: tag, 2: float(value)})})  # a summary of one value
        self.write(event(time.time() if wall_time is None else wall_time, step=step, summary=point))

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> EventWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
