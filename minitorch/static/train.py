"""Optimizers of static graphs, as `tf.train` has them."""

from minitorch.static.gradients import GradientDescentOptimizer

__all__ = ["GradientDescentOptimizer"]
