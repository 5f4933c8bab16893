"""The libraries that PyTorch's builds stand on, and their switches, for programs that ask and set.

minitorch computes with NumPy and CuPy alone: of these libraries none is there, and the switches are kept but change
nothing, unless their file says otherwise. Source: https://pytorch.org/docs/stable/backends.html
"""

from minitorch.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp"]
