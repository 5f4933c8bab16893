"""Datasets, samplers, and the loader that makes batches of them. Source: https://pytorch.org/docs/stable/data.html"""

# ruff: noqa: I001

from minitorch.utils.data._utils.collate import default_collate, default_convert
from minitorch.utils.data._utils.worker import get_worker_info
from minitorch.utils.data.dataloader import DataLoader
from minitorch.utils.data.dataset import (
    ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split,
)  # fmt: skip
from minitorch.utils.data.distributed import DistributedSampler
from minitorch.utils.data.sampler import (
    BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler,
)  # fmt: skip

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip
