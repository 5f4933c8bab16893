"""The files that declare what layers are made of: `nn.functional` imports this one, so that `import minitorch` doesn't.

They declare functions only. An op with a method belongs in `table.py`.
"""

# ruff: noqa: F401
from minitorch.ops.activation import gelu
from minitorch.ops.loss import binary_cross_entropy, cross_entropy, ctc, linear_cross_entropy, margin, regression
from minitorch.ops.nn import (
    adaptive_pooling,
    attention,
    convolution,
    dropout,
    embedding,
    embedding_bag,
    folding,
    fractional_pooling,
    grid_sampling,
    interpolation,
    layer_forms,
    normalization,
    padding,
    pixels,
    pooling,
    unpooling,
)
