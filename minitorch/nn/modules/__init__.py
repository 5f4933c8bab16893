"""The modules, a file for each kind."""

import importlib
from types import FunctionType

from minitorch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from minitorch.nn.modules.module import Module

_FILES = (
    "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm linear "
    "loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling"
)
_INTERNAL = {"Applied", "Layer", "NonDynamicallyQuantizableLinear"}


def _own(module: type[Module], name: str) -> None:
    """Has a class that inherits a method from a base of ours own it, so that Python's errors name the class."""
    method = getattr(module, name)
    owner = method.__qualname__.partition(".")[0]
    if owner[0] == "_" or owner in _INTERNAL:
        own = FunctionType(method.__code__, method.__globals__, name, method.__defaults__, method.__closure__)
        own.__kwdefaults__, own.__annotations__ = method.__kwdefaults__, method.__annotations__
        own.__qualname__, own.__doc__, own.__module__ = f"{module.__name__}.{name}", method.__doc__, method.__module__
        setattr(module, name, own)


def _explained(module: type[Module]) -> str:
    """A module's docstring, what its private bases say of the family that it belongs to, and PyTorch's page."""
    private = [base for base in module.__mro__[1:] if base.__name__[0] == "_" and "__doc__" in vars(base)]
    texts = [str(each.__doc__).strip() for each in (module, *private) if each.__doc__]
    parts = [each for each in texts if each[0] != "_"]  # which a dataclass writes by itself
    if "Source" not in parts[0]:
        parts.append(f"Source: https://pytorch.org/docs/stable/generated/torch.nn.{module.__name__}.html")
    return "\n\n    ".join(parts) + "\n"


# Every public module of every file.
for _file in _FILES.split():
    for _name, _class in list(vars(importlib.import_module(f"{__name__}.{_file}")).items()):
        if isinstance(_class, type) and issubclass(_class, Module) and _name[0] != "_" and _name not in _INTERNAL:
            globals()[_name] = _class
            _class.__doc__ = _explained(_class)
            _own(_class, "__init__")
            _own(_class, "forward")

__all__ = [
    name
    for name, value in globals().items()
    if isinstance(value, type) and name[0] != "_" and value is not FunctionType
]
