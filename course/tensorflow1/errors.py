"""What goes wrong in static graphs, under TensorFlow's names.

Source: https://www.tensorflow.org/api_docs/python/tf/errors
"""

from __future__ import annotations


class OpError(Exception):
    """A node failed while the graph ran."""


class InvalidArgumentError(OpError):
    """A node got something that it can't use; a placeholder got nothing."""


class FailedPreconditionError(OpError):
    """Something has to happen first: a variable was read before it was initialized."""


class OperatorNotAllowedInGraphError(TypeError):
    """Python asked a symbolic tensor for its value."""
