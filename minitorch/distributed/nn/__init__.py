"""Collectives through which gradients flow: the names alone, each of which raises NotImplementedError when it is used.

Source: https://github.com/pytorch/pytorch/blob/main/torch/distributed/nn/functional.py
"""

from minitorch.distributed.nn import functional
from minitorch.distributed.nn.functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)  # fmt: skip
