"""Which PyTorch this is: the release whose behaviour minitorch has, and what it was built with, which is nothing."""

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

__version__ = "2.13.0"
debug = False
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
git_version = "Unknown"
