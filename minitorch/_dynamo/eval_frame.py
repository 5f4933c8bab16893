"""The module by which packages ask whether a module is compiled: `torch._dynamo.eval_frame.OptimizedModule`."""

from minitorch._dynamo.compiling import OptimizedModule

__all__ = ["OptimizedModule"]
