"""Ops that draw random numbers. Generators are in `minitorch.random`, the arithmetic in `kernels.sampling`."""
