"""The modules, a file for each kind."""

from types import FunctionType

from minitorch.nn.modules import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    loss,
    module,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from minitorch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from minitorch.nn.modules.module import Module

_FILES = (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    loss,
    module,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)

_INTERNAL = {"NonDynamicallyQuantizableLinear"}

_PYTORCHS_BASES = (
    "_AdaptiveAvgPoolNd.__init__ _AdaptiveMaxPoolNd.__init__ _BatchNorm.__init__ _BatchNorm.forward "
    "_ConstantPadNd.forward _DropoutNd.__init__ _InstanceNorm.__init__ _InstanceNorm.forward _LPPoolNd.__init__ "
    "_LazyNormBase.__init__ _Loss.__init__ _MaxPoolNd.__init__ _PadNd.forward _WeightedLoss.__init__ "
    "_forward_unimplemented"
)


def _own(module: type[Module], name: str) -> None:
    """Has a class that inherits a method from a base of ours own it, so that Python's errors name the class."""
    method = getattr(module, name)
    if method.__qualname__[0] == "_" and method.__qualname__ not in _PYTORCHS_BASES.split():
        own = FunctionType(method.__code__, method.__globals__, name, method.__defaults__, method.__closure__)
        own.__kwdefaults__, own.__annotations__ = method.__kwdefaults__, method.__annotations__
        own.__qualname__, own.__doc__, own.__module__ = f"{module.__name__}.{name}", method.__doc__, method.__module__
        setattr(module, name, own)


# Every public module of every file.
for _file in _FILES:
    for _name, _class in list(vars(_file).items()):
        if isinstance(_class, type) and issubclass(_class, Module) and _name[0] != "_" and _name not in _INTERNAL:
            globals()[_name] = _class
            _own(_class, "__init__")
            _own(_class, "forward")

__all__ = [
    name
    for name, value in globals().items()
    if isinstance(value, type) and name[0] != "_" and value is not FunctionType
]
