"""Optimizers of static graphs, as `tf.train` has them."""

from course.tensorflow1.gradients import GradientDescentOptimizer

__all__ = ["GradientDescentOptimizer"]
