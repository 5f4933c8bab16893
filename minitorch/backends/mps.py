"""Apple's GPUs, which minitorch doesn't use. Source: https://pytorch.org/docs/stable/backends.html#module-torch.backends.mps"""


def is_available() -> bool:
    """Whether there is such a GPU to compute on: False."""
    return False


def is_built() -> bool:
    """Whether the library was built for such GPUs: False."""
    return False
