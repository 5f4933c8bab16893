"""MKL. Source: https://pytorch.org/docs/stable/backends.html#module-torch.backends.mkl"""


def is_available() -> bool:
    """Whether MKL is used: False, as far as minitorch knows."""
    return False
