"""The files that declare what layers are made of: `nn.functional` imports this one, so that `import minitorch` doesn't.

They declare functions only. An op with a method belongs in `table.py`.
"""

from minitorch.ops import (  # noqa: F401
    adaptive_pooling,
    attention,
    convolution,
    ctc,
    dropout,
    embedding,
    embedding_bag,
    folding,
    fractional_pooling,
    gelu,
    grid_sampling,
    interpolation,
    layer_forms,
    loss,
    loss_classification,
    loss_linear,
    loss_margin,
    normalization,
    padding,
    pixels,
    pooling,
    unpooling,
)
