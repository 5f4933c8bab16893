"""A package of two chapters and a later one."""

# 02 · Strides
from .strides import offset, strides
from .tensor import Tensor

# 06 · Derivatives
from .derivatives import DERIVATIVES, derivative, slope

# 09 · Later
from .nn.module import Module
