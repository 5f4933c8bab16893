"""Files that TensorBoard shows. Needs the package `tensorboard`, as PyTorch's module does.

Source: https://pytorch.org/docs/stable/tensorboard.html
"""

from minitorch.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
