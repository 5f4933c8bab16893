"""Tools beside the tensors and the layers."""

# 08 · Static and dynamic graphs
from .instruments import count_bytes

# 18 · Data
from . import data

# 21 · Features, transfer and pictures
from . import tensorboard
from .attribution import grad_cam, saliency
from .components import pca
from .inspection import features

# 22b · Where the memory goes
from . import checkpoint
from .instruments import clock, count_flops
