"""The modules, a file for each kind."""

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

# Every public module of every file.
for _file in _FILES:
    for _name, _class in list(vars(_file).items()):
        if isinstance(_class, type) and issubclass(_class, Module) and _name[0] != "_" and _name not in _INTERNAL:
            globals()[_name] = _class

__all__ = [name for name, value in globals().items() if isinstance(value, type) and name[0] != "_"]
