"""What layers do with their arguments, and what programs do with the names in state dicts.

Source: https://github.com/pytorch/pytorch/blob/main/torch/nn/modules/utils.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    parse.__doc__ = f"One value for each of {n} dimensions; several stay as they are."
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[int], n: int) -> tuple[int, ...]:
    """Every element n times, the last first: the padding of a convolution as F.pad wants it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def changed(module: Any, **defaults: Any) -> str:
    """The attributes that aren't these, as a module's repr lists them: ", name=value" each."""
    values = {name: getattr(module, name) for name in defaults}
    return "".join(f", {name}={value}" for name, value in values.items() if value != defaults[name])


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes `prefix` off the names in a state dict, in place: a wrapped model's state for the model itself."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
