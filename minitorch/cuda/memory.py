"""How much of a GPU's memory is in use. Source: https://pytorch.org/docs/stable/cuda.html#memory-management"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from minitorch.arrays import gpus
from minitorch.cuda.selection import index_of, library_of_gpus


def _bytes(which: str, device: Any) -> int:
    return library_of_gpus().memory(index_of(device))[which] if gpus.in_use else 0


def memory_allocated(device: Any = None) -> int:
    """Bytes that living tensors occupy on a GPU; 0 as long as none has been used."""
    return _bytes("allocated", device)


def memory_reserved(device: Any = None) -> int:
    """Bytes that the array library holds, for living tensors and for later ones."""
    return _bytes("reserved", device)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were occupied at once, since the beginning or `reset_peak_memory_stats`."""
    return _bytes("max_allocated", device)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were held at once."""
    return _bytes("max_reserved", device)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin anew with the maxima."""
    if gpus.in_use:
        library_of_gpus().reset_peak(index_of(device))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and the total bytes of a GPU."""
    known = library_of_gpus().memory(index_of(device))
    return known["free"], known["total"]


def empty_cache() -> None:
    """Give back the memory that is held for later tensors."""
    if gpus.in_use:
        library_of_gpus().empty_cache()


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """The numbers above by PyTorch's names; empty as long as no GPU has been used.

    How many blocks tensors occupy (`allocation`) is known of simulated GPUs alone.
    """
    if not gpus.in_use:
        return OrderedDict()
    known = library_of_gpus().memory(index_of(device))
    names = {"allocated": "allocated_bytes", "reserved": "reserved_bytes", "blocks": "allocation"}
    return OrderedDict(
        (f"{name}.all.{when}", known[f"max_{what}" if when == "peak" else what])
        for what, name in names.items()
        for when in ("current", "peak")
        if what in known
    )


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The numbers above as a table."""
    index = index_of(device)
    known = library_of_gpus().memory(index)
    rows = [
        f"| {what.capitalize() + ' memory':<18} | {_size(known[what]):>12} | {_size(known[f'max_{what}']):>12} |"
        for what in ("allocated", "reserved")
    ]
    rule = "|" + "-" * 20 + "|" + "-" * 14 + "|" + "-" * 14 + "|"
    head = f"| {'GPU ' + str(index):<18} | {'now':>12} | {'at most':>12} |"
    return "\n".join([rule, head, rule, *rows, rule])


def _size(number: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def ipc_collect() -> None:
    """Give back memory that other processes shared: none do. Raises AssertionError without a GPU."""
    library_of_gpus()
