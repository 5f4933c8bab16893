"""The modules, a file for each kind."""

from minitorch.nn.modules import (
    activation,
    batchnorm,
    container,
    conv,
    dropout,
    flatten,
    instancenorm,
    linear,
    loss,
    module,
    normalization,
    padding,
    pooling,
    rnn,
    sparse,
    transformer,
)
from minitorch.nn.modules.module import Module

_FILES = (
    activation,
    batchnorm,
    container,
    conv,
    dropout,
    flatten,
    instancenorm,
    linear,
    loss,
    module,
    normalization,
    padding,
    pooling,
    rnn,
    sparse,
    transformer,
)

# Every public module of every file.
for _file in _FILES:
    for _name, _class in list(vars(_file).items()):
        if isinstance(_class, type) and issubclass(_class, Module) and not _name.startswith("_"):
            globals()[_name] = _class

__all__ = [name for name, value in globals().items() if isinstance(value, type) and name[0] != "_"]
