"""The handle that registering a hook returns, where programs import it from.

Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/hooks.py
"""

from minitorch.autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
