"""Static graphs against TensorFlow 2.21 (`tf.compat.v1`), whose names and messages stand here, and eager code.

The two tests "as TensorFlow names them" pass as they stand with `import tensorflow.compat.v1 as tf`, after
`tf.disable_v2_behavior()`, and with TensorFlow's dtypes in the place of torch's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from course import tensorflow1 as tf


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    tf.reset_default_graph()
    yield
    tf.reset_default_graph()


def names() -> list[str]:
    return [op.name for op in tf.get_default_graph().get_operations()]


def test_operations_are_named_as_tensorflow_names_them() -> None:
    x, c = tf.placeholder(torch.float32, (3, 3), name="x"), tf.constant(2.0)
    made = [x + 1.0, x * c, x - c, x / c, -x, x**2.0, tf.exp(x), tf.log(x), tf.tanh(x), tf.sigmoid(x), tf.square(x)]
    made += [tf.reduce_sum(x), tf.reduce_mean(x, axis=0), tf.matmul(x, x), x > c, x < c, tf.identity(x), tf.sqrt(x)]
    made += [tf.sin(x), tf.maximum(x, c), tf.abs(x), tf.reshape(x, (9,)), 1.0 + x, 2.0 * x]
    made += [tf.add(x, x), tf.multiply(x, x), tf.subtract(x, x), tf.add_n([x, x])]
    expected = "add mul sub truediv Neg pow Exp Log Tanh Sigmoid Square Sum Mean MatMul Greater Less Identity Sqrt Sin "
    expected += "Maximum Abs Reshape add_1 mul_1 Add_2 Mul_2 Sub_1 AddN"
    assert [each.name for each in made] == [f"{name}:0" for name in expected.split()]
    assert {"add/y", "pow/y", "add_1/x", "mul_1/x"} <= set(names())
    assert [tf.group(x).name, tf.no_op().name, x.op.type, made[0].op.type] == [
        "group_deps",
        "NoOp",
        "Placeholder",
        "AddV2",
    ]


def test_variables_and_scopes_are_named_as_tensorflow_names_them() -> None:
    found = [tf.Variable([0.0, 1.0], name="w").name, tf.Variable(1.0, name="w").name, tf.Variable(1.0).name]
    assert found == ["w:0", "w_1:0", "Variable:0"]
    assert names()[:4] == ["w/initial_value", "w", "w/Assign", "w/read"]
    assert tf.get_variable("w", shape=()).name == "w_2:0"
    with tf.name_scope("a"):
        found = [tf.Variable(1.0, name="w").name, tf.get_variable("n", shape=()).name, tf.constant(1.0).name]
        assert found == ["a/w:0", "n:0", "a/Const:0"]
        with tf.name_scope("b"):
            assert tf.constant(1.0, name="k").name == "a/b/k:0"
    with tf.name_scope("a"):
        assert [tf.Variable(1.0, name="w").name, tf.constant(1.0).name] == ["a_1/w:0", "a_1/Const:0"]
    with tf.name_scope("a/"):
        assert tf.constant(1.0).name == "a/Const_1:0"
        with tf.name_scope(None):
            assert tf.constant(1.0, name="top").name == "top:0"
    with tf.variable_scope("v"):
        found = [tf.Variable(1.0, name="w").name, tf.get_variable("w", shape=(2,)).name, tf.constant(1.0).name]
        assert found == ["v/w:0", "v/w_1:0", "v/Const:0"]
        with tf.name_scope("ns"):
            found = [tf.get_variable("inner", shape=()).name, tf.Variable(1.0, name="q").name]
            assert found == ["v/inner:0", "v/ns/q:0"]
        with tf.variable_scope("u"):
            assert [tf.get_variable("deep", shape=()).name, tf.constant(1.0).name] == ["v/u/deep:0", "v/u/Const:0"]
    with tf.variable_scope("v", reuse=True):
        first, again = tf.get_variable("w", shape=(2,)), tf.get_variable("w")
        assert first is again
        assert [first.name, tf.constant(1.0).name] == ["v/w_1:0", "v_1/Const:0"]
        assert tf.Variable(1.0, name="w").name == "v_1/w:0"
    with tf.variable_scope("v") as scope:
        with pytest.raises(ValueError, match=r"Variable v/w already exists, disallowed\. Did you mean to set"):
            tf.get_variable("w")
        scope.reuse_variables()
        assert tf.get_variable("w").name == "v/w_1:0"
        assert [scope.name, scope.reuse, scope.original_name_scope] == ["v", True, "v_2/"]
    with tf.variable_scope("v", reuse=tf.AUTO_REUSE):
        assert [tf.get_variable("w").name, tf.get_variable("fresh", shape=()).name] == ["v/w_1:0", "v/fresh:0"]
    with tf.variable_scope(scope, reuse=True):
        assert [tf.get_variable("w").name, tf.constant(1.0).name] == ["v/w_1:0", "v_4/Const:0"]
    expected = "w w_1 Variable w_2 a/w n a_1/w v/w v/w_1 v/inner v/ns/q v/u/deep v_1/w v/fresh"
    assert [each.name for each in tf.global_variables()] == [f"{name}:0" for name in expected.split()]


SHARING: dict[str, Callable[[], Any]] = {
    "Variable v/no does not exist, or was not created with tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE "
    "in VarScope?": lambda: tf.get_variable("no", shape=()),
    "Trying to share variable v/w, but specified shape (3,) and found shape (2,).": lambda: tf.get_variable("w", (3,)),
    "Trying to share variable v/w, but specified dtype float64 and found dtype float32.": lambda: tf.get_variable(
        "w", dtype=torch.float64
    ),
}


@pytest.mark.parametrize("message", SHARING)
def test_what_cannot_be_shared(message: str) -> None:
    with tf.variable_scope("v"):
        tf.get_variable("w", shape=(2,))
    with tf.variable_scope("v", reuse=True), pytest.raises(ValueError) as error:
        SHARING[message]()
    assert str(error.value) == message


def test_a_variable_without_a_shape() -> None:
    with pytest.raises(ValueError, match="Variable v did not get an initializer, so its `shape` argument must be"):
        tf.get_variable("v")
    assert tf.get_variable("init", initializer=torch.ones(2)).name == "init:0"


@pytest.mark.parametrize("name", ["a b", "", "/x", "a:0", "_x", "-x"])
def test_names_that_no_node_can_have(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid node name"):
        tf.constant(1.0, name=name)


def model() -> tuple[Any, Any, Any]:
    x = tf.placeholder(torch.float32, (None, 3), name="x")
    w = tf.Variable([1.0, 2.0, 3.0], name="w")
    return x, w, tf.reduce_sum(x * w)


def test_a_session_computes_what_is_fetched() -> None:
    x, w, y = model()
    ones = np.ones((2, 3), np.float32)
    with tf.Session() as session:
        assert session.run(tf.global_variables_initializer()) is None
        total, inner = session.run([y, {"a": w}], {x: ones})
        assert (total.item(), inner["a"].tolist()) == (12.0, [1.0, 2.0, 3.0])
        assert session.run("Sum:0", {"x:0": ones[:1]}).item() == 6.0
        assert session.run(y * 2.0, {y: 5.0}).item() == 10.0  # any tensor may be given
        assert session.executed == ["mul_1/y", "mul_1"]
        assert session.run(w.assign_sub([1.0, 1.0, 1.0])).tolist() == [0.0, 1.0, 2.0]
        session.run(w.initializer)
        assert session.run(w).tolist() == [1.0, 2.0, 3.0]
        session.run(y, {x: ones})
        assert session.executed == ["w", "w/read", "mul", "Sum"]


def test_two_sessions_have_variables_of_their_own() -> None:
    _, w, _ = model()
    one, other = tf.Session(), tf.Session()
    for session in (one, other):
        session.run(w.initializer)
    one.run(w.assign_add([1.0, 1.0, 1.0]))
    assert [each.run(w).tolist() for each in (one, other)] == [[2.0, 3.0, 4.0], [1.0, 2.0, 3.0]]


def failing(call: Callable[[Any, Any, Any, Any], Any]) -> str:
    x, w, y = model()
    session = tf.Session()
    try:
        call(session, x, w, y)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


ERRORS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "InvalidArgumentError: You must feed a value for placeholder tensor 'x' with dtype float32 and shape [?,3]": (
        lambda session, x, w, y: session.run(y)
    ),
    "FailedPreconditionError: Attempting to use uninitialized value w": lambda session, x, w, y: session.run(
        y, {x: np.ones((1, 3))}
    ),
    "ValueError: Cannot feed value of shape (2, 4) for Tensor x:0, which has shape (None, 3)": (
        lambda session, x, w, y: session.run(y, {x: np.ones((2, 4))})
    ),
    "OperatorNotAllowedInGraphError: Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: it has a value "
    "only while a session runs.": lambda session, x, w, y: bool(y > 0),
    "OperatorNotAllowedInGraphError: Iterating over a symbolic `tf.Tensor` is not allowed: it has a value only while a "
    "session runs.": lambda session, x, w, y: list(y),
    'TypeError: Argument `fetch` = None has invalid type "NoneType".': lambda session, x, w, y: session.run(None),
    "ValueError: Argument `fetch` = nope:0 cannot be interpreted as a Tensor. (\"The name 'nope:0' refers to a Tensor "
    "which does not exist. The operation, 'nope', does not exist in the graph.\")": (
        lambda session, x, w, y: session.run("nope:0")
    ),
    "TypeError: Cannot interpret feed_dict key as Tensor: Can not convert a int into a Tensor.": (
        lambda session, x, w, y: session.run(y, {3: 1})
    ),
    "TypeError: 'pred' must not be a Python bool.": lambda session, x, w, y: tf.cond(True, lambda: y, lambda: y),
    "RuntimeError: Graph is finalized and cannot be modified.": lambda session, x, w, y: (y.graph.finalize(), y + y),
    "RuntimeError: Attempted to use a closed Session.": lambda session, x, w, y: (session.close(), session.run(y)),
    "ValueError: No gradients provided for any variable: ['w:0'].": (
        lambda session, x, w, y: tf.train.GradientDescentOptimizer(0.1).minimize(tf.stop_gradient(y))
    ),
}


@pytest.mark.parametrize("message", ERRORS)
def test_what_goes_wrong(message: str) -> None:
    assert failing(ERRORS[message]) == message


def test_a_kernel_that_fails_names_its_node() -> None:
    product = tf.matmul(torch.zeros(2, 3), torch.zeros(2, 3))
    with pytest.raises(tf.InvalidArgumentError, match=r"\[\[node MatMul\]\]"):
        tf.Session().run(product)


def test_graphs_do_not_mix() -> None:
    inside = tf.constant(1.0)
    with tf.Graph().as_default() as other:
        outside = tf.constant(1.0)
    with pytest.raises(ValueError, match="must be from the graph"):
        tf.add(inside, outside)
    with pytest.raises(ValueError, match="is not an element of this graph"):
        tf.Session().run(outside)
    assert tf.Session(other).run("Const:0").item() == 1.0


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x, y: (x + y) * x - y / x,
    "power": lambda x, y: x**y,
    "elementary": lambda x, y: x.exp().log() + x.sqrt() * y.sin() - x.cos(),
    "activations": lambda x, y: x.tanh() * y.sigmoid() + (x - 1.0).relu() + (y - 1.0).abs(),
    "squares": lambda x, y: (x - y).square().mean(),
    "sums": lambda x, y: x.sum(1) * y.mean(1),
    "products": lambda x, y: x.matmul(y.t()).tanh(),
    "shape": lambda x, y: x.reshape((3, 2)).matmul(y),
    "several uses": lambda x, y: x * x + x * y + x,
    "broadcast": lambda x, y: (x * y.sum(0) + 1.0) * 2.0,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_eager_code(name: str) -> None:
    arrays = [np.random.default_rng(seed).uniform(0.5, 2.0, (2, 3)).astype(np.float32) for seed in range(2)]
    eager = [torch.tensor(each, requires_grad=True) for each in arrays]
    expected = FUNCTIONS[name](*eager)
    expected.sum().backward()
    placeholders = [tf.placeholder(torch.float32, (2, 3)) for _ in arrays]
    result = FUNCTIONS[name](*placeholders)
    grads = tf.gradients(result, placeholders)
    found = tf.Session().run([result, *grads], dict(zip(placeholders, arrays, strict=True)))
    for one, other in zip(found, [expected.detach(), *(each.grad for each in eager)], strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_gradients_of_what_does_not_depend() -> None:
    x, _, y = model()
    assert tf.gradients(y, tf.constant(1.0)) == [None]
    assert tf.gradients(tf.stop_gradient(y), x) == [None]
    with pytest.raises(LookupError, match=r"No gradient defined for operation 'while/Exit' \(op type: While\)"):
        tf.gradients(tf.while_loop(lambda a: tf.less(a, 10.0), lambda a: a * 2.0, [y]), x)


def test_a_line_is_fitted_as_eager_code_fits_it() -> None:
    x = np.linspace(-1, 1, 20, dtype=np.float32)
    y = 3 * x + 1

    w, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([w, b], lr=0.3)
    expected = []
    for _ in range(10):
        loss = (torch.tensor(x) * w + b - torch.tensor(y)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        expected.append(loss.item())

    xs, ys = tf.placeholder(torch.float32, (None,)), tf.placeholder(torch.float32, (None,))
    weight, bias = tf.Variable([0.0], name="weight"), tf.Variable([0.0], name="bias")
    static_loss = tf.reduce_mean(tf.square(xs * weight + bias - ys))
    step = tf.train.GradientDescentOptimizer(0.3).minimize(static_loss)
    assert (step.name, step.type) == ("GradientDescent", "NoOp")
    expected_names = [f"GradientDescent/update_{each}/ApplyGradientDescent" for each in ("weight", "bias")]
    assert [each.name for each in step.control_inputs] == expected_names
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run([static_loss, step], {xs: x, ys: y})[0].item() for _ in range(10)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_decision_and_a_loop_are_part_of_the_graph() -> None:
    x = tf.placeholder(torch.float32, name="x")
    outside = x * 5.0
    chosen = tf.cond(tf.greater(x, 2.0), lambda: outside * 2.0, lambda: x - 1.0)
    counted = tf.while_loop(lambda i, a: tf.less(i, 10.0), lambda i, a: (i + 1.0, a * x), (0.0, 1.0))
    with tf.Session() as session:
        assert [session.run(chosen, {x: value}).item() for value in (3.0, 1.0)] == [30.0, 0.0]
        assert {"cond/sub", "mul"} <= set(session.executed)  # what a branch takes from outside is computed anyway
        assert "cond/mul" not in session.executed
        assert [each.item() for each in session.run(counted, {x: 2.0})] == [10.0, 1024.0]
        first, total = counted
        assert [each.item() for each in session.run([first, total], {x: 2.0, first: -1.0})] == [-1.0, 1024.0]
    assert chosen.name == "cond/Merge:0"
    assert [each.name for each in counted] == ["while/Exit:0", "while/Exit:1"]


def test_what_a_branch_returns_may_come_from_outside() -> None:
    x = tf.placeholder(torch.float32)
    same = tf.cond(tf.greater(x, 0.0), lambda: x, lambda: tf.constant(0.0))
    assert [tf.Session().run(same, {x: value}).item() for value in (3.0, -1.0)] == [3.0, 0.0]
    with pytest.raises(TypeError, match="the same number of results"):
        tf.cond(tf.greater(x, 0.0), lambda: (x, x), lambda: x)


def test_control_dependencies_order_what_data_does_not() -> None:
    w = tf.Variable([1.0], name="w")
    with tf.control_dependencies([w.assign_add([1.0])]):
        late = tf.identity(w.op.outputs[0])
    session = tf.Session()
    session.run(w.initializer)
    assert session.run(late).tolist() == [2.0]


INITIALIZERS: dict[str, tuple[Callable[[], Any], float, float]] = {
    "zeros": (tf.zeros_initializer, 0.0, 0.0),
    "ones": (tf.ones_initializer, 1.0, 0.0),
    "uniform": (lambda: tf.random_uniform_initializer(-2.0, 4.0), 1.0, 36 / 12),
    "normal": (lambda: tf.random_normal_initializer(1.0, 2.0), 1.0, 4.0),
    "Glorot": (tf.glorot_uniform_initializer, 0.0, 2 / (200 + 100)),
}


@pytest.mark.parametrize("name", INITIALIZERS)
def test_initializers(name: str) -> None:
    torch.manual_seed(0)
    make, mean, variance = INITIALIZERS[name]
    v = tf.get_variable("v", (200, 100), initializer=make())
    session = tf.Session()
    session.run(v.initializer)
    value = session.run(v)
    assert tuple(value.shape) == (200, 100)
    np.testing.assert_allclose(value.mean().item(), mean, atol=0.05)
    np.testing.assert_allclose(value.var().item(), variance, rtol=0.05)


def test_what_nobody_needs_goes_and_what_never_changes_is_computed_once() -> None:
    x = tf.placeholder(torch.float32, name="x")
    with tf.name_scope("scale"):
        scale = tf.sqrt(tf.constant(2.0) * 8.0)
    tf.exp(x, name="unused")
    y = x * scale
    assert [op.name for op in tf.prune(y).get_operations()] == [
        "x",
        "scale/Const",
        "scale/mul/y",
        "scale/mul",
        "scale/Sqrt",
        "mul",
    ]
    folded = tf.fold_constants(y)
    assert [(op.name, op.type) for op in folded.get_operations()] == [
        ("x", "Placeholder"),
        ("scale/Sqrt", "Const"),
        ("mul", "Mul"),
    ]
    assert tf.Session(folded).run("mul:0", {"x:0": 3.0}).item() == 12.0
    assert "unused" in names()


def test_random_numbers_and_variables_are_not_folded() -> None:
    w = tf.Variable([1.0], name="w")
    y = tf.random_uniform((2,)) + w + (tf.constant(1.0) + 1.0)
    folded = {op.name: op.type for op in tf.fold_constants(y).get_operations()}
    assert folded["random_uniform"] == "RandomUniform"
    assert folded["w"] == "VariableV2"
    assert folded["add_1"] == "Const"
    assert tf.fold_constants(w.initializer).get_operation_by_name("w/Assign").type == "Assign"
    with pytest.raises(NotImplementedError, match="'cond/Merge' is a Cond"):
        tf.prune(tf.cond(tf.greater(y, 1.0), lambda: y, lambda: y))


def test_listing_edges_and_drawing() -> None:
    x = tf.placeholder(torch.float32, name="x")
    y = x + 1.0
    tf.group(y, name="all")
    lines = ["x      Placeholder", "add/y  Const", "add    AddV2        x:0, add/y:0", "all    NoOp         ^add"]
    assert tf.listing(tf.get_default_graph()).splitlines() == lines
    assert tf.edges(tf.get_default_graph()) == [("x:0", "add"), ("add/y:0", "add"), ("^add", "all")]
    source = tf.draw(tf.get_default_graph()).source
    assert "n0 --> n2" in source
    assert "n2 -.-> n3" in source
    assert 'n0["x<br/>Placeholder"]:::leaf' in source


def test_a_trace_is_the_function_on_its_example() -> None:
    weight = torch.tensor([2.0, 3.0])

    def function(x: Any, y: Any) -> Any:
        z = weight * x + y
        return (z.tanh() * 2.0).sum(), z

    examples = torch.tensor([1.0, -1.0]), torch.tensor([0.5, 0.5])
    traced = tf.trace(function, *examples)
    other = torch.tensor([0.1, 0.2]), torch.tensor([3.0, 4.0])
    for one, expected in zip(traced(*other), function(*other), strict=True):
        assert torch.equal(one, expected)
    with pytest.raises(TypeError, match="traced with 2 inputs, got 1"):
        traced(other[0])


def test_a_trace_loses_an_if_with_a_warning() -> None:
    def function(x: Any) -> Any:
        return x * 2.0 if x.sum() > 0 else x - 100.0

    with pytest.warns(torch.jit.TracerWarning, match="might cause the trace to be incorrect"):
        traced = tf.trace(function, torch.ones(2))
    assert function(-torch.ones(2)).tolist() == [-101.0, -101.0]
    assert traced(-torch.ones(2)).tolist() == [-2.0, -2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unrolled = tf.trace(lambda x: [x := x * 2.0 for _ in range(3)][-1], torch.ones(1))
    assert unrolled(torch.ones(1)).item() == 8.0
    assert [op.type for op in unrolled.graph.get_operations()].count("Mul") == 3
