"""Datasets, samplers, and the loader that makes batches. Source: https://pytorch.org/docs/stable/data.html"""

# 18 · Data
from .collate import default_collate
from .dataloader import DataLoader
from .dataset import Dataset, IterableDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
