"""Random numbers in NumPy arrays, the same as PyTorch draws on the CPU from the same state of the generator.

A function whose name ends in `_` fills the array it is given, of any strides; the others make a new one.
docs/random.md says which algorithm is used when.
"""

from minitorch.kernels.sampling.binomial import binomial
from minitorch.kernels.sampling.continuous import cauchy_, exponential_, log_normal_, uniform_
from minitorch.kernels.sampling.discrete import bernoulli_, dropout_mask, geometric_, random_, randperm, randperm_
from minitorch.kernels.sampling.gamma import dirichlet, standard_gamma
from minitorch.kernels.sampling.multinomial import multinomial
from minitorch.kernels.sampling.normal import normal, normal_
from minitorch.kernels.sampling.poisson import poisson

__all__ = [
    "bernoulli_", "binomial", "cauchy_", "dirichlet", "dropout_mask", "exponential_", "geometric_", "log_normal_",
    "multinomial", "normal", "normal_", "poisson", "random_", "randperm", "randperm_",
    "standard_gamma", "uniform_",
]  # fmt: skip
