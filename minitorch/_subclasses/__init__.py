"""PyTorch's own subclasses of Tensor, which packages ask for: there are none of them."""

from minitorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
