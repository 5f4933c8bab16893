"""The processor. Source: https://pytorch.org/docs/stable/backends.html#module-torch.backends.cpu"""


def get_cpu_capability() -> str:
    """The vector instructions that kernels are compiled for: "NO AVX", since NumPy chooses its own and doesn't say."""
    return "NO AVX"
