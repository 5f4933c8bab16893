"""Static graphs: a small TensorFlow 1 on minitorch, to set beside eager execution.

First a graph is built, out of symbols; then a session runs as much of it as is asked for.
Source: https://www.tensorflow.org/api_docs/python/tf/compat/v1
"""

# ruff: noqa: I001

from course.tensorflow1 import train
from course.tensorflow1.control_flow import cond, while_loop
from course.tensorflow1.errors import (
    FailedPreconditionError, InvalidArgumentError, OperatorNotAllowedInGraphError, OpError,
)  # fmt: skip
from course.tensorflow1.gradients import gradients
from course.tensorflow1.graph import (
    Graph, Operation, Tensor, control_dependencies, get_default_graph, name_scope, reset_default_graph,
)  # fmt: skip
from course.tensorflow1.listing import draw, edges, listing
from course.tensorflow1.operations import (
    abs, add, add_n, constant, cos, divide, exp, greater, greater_equal, group, identity, less, less_equal, log,
    matmul, maximum, multiply, negative, no_op, ones_like, placeholder, reduce_mean, reduce_sum, relu, reshape,
    sigmoid, sin, sqrt, square, stop_gradient, subtract, tanh, transpose, where, zeros_like,
)  # fmt: skip
from course.tensorflow1.session import Session
from course.tensorflow1.simplify import fold_constants, prune
from course.tensorflow1.tracing import Traced, trace
from course.tensorflow1.variables import (
    AUTO_REUSE, Variable, VariableScope, constant_initializer, get_variable, get_variable_scope, global_variables,
    global_variables_initializer, glorot_uniform_initializer, ones_initializer, random_normal,
    random_normal_initializer, random_uniform, random_uniform_initializer, trainable_variables, variable_scope,
    zeros_initializer,
)  # fmt: skip
