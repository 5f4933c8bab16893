"""Chapter 20b of mytorch: the ONNX files that it writes. onnx's checker accepts them, onnxruntime runs them."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from minitorch.models import lenet

part = pytest.mark.part
onnx = "mytorch.onnx."
needs_onnx = pytest.mark.needs("onnxruntime")


# Protocol buffers


@part(onnx + "protobuf:varint")
@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (150, "9601"),  # this one and -2 are the examples of protobuf's documentation
        (300, "ac02"),
        (2**63 - 1, "ff" * 8 + "7f"),
        (-1, "ff" * 9 + "01"),
        (-2, "fe" + "ff" * 8 + "01"),
    ],
)
def test_varints(mytorch: ModuleType, number: int, written: str) -> None:
    assert mytorch.onnx.protobuf.varint(number).hex() == written


@part(onnx + "protobuf:field")
@pytest.mark.parametrize(
    ("number", "value", "written"),
    [
        (1, 150, "089601"),  # the examples of protobuf's documentation
        (2, "testing", "120774657374696e67"),
        (3, b"\x08\x96\x01", "1a03089601"),
        (2, 0.5, "150000003f"),
        (16, 1, "800101"),  # the number and the kind take two bytes
        (1, "", "0a00"),
        (8, "é", "4202c3a9"),
        (3, -1, "18" + "ff" * 9 + "01"),
    ],
)
def test_fields(mytorch: ModuleType, number: int, value: Any, written: str) -> None:
    assert mytorch.onnx.protobuf.field(number, value).hex() == written


@part(onnx + "protobuf:message")
def test_a_message_repeats_lists_and_leaves_none_out(mytorch: ModuleType) -> None:
    assert mytorch.onnx.protobuf.message({1: [1, 2], 2: None, 3: "a", 4: []}).hex() == "080108021a0161"


@part(onnx + "runtime:read_varint", onnx + "runtime:signed")
def test_a_varint_is_read_back(mytorch: ModuleType) -> None:
    runtime = mytorch.onnx.runtime
    for number in (0, 1, 127, 128, 150, 2**31, 2**63 - 1):
        written = mytorch.onnx.protobuf.varint(number)
        assert runtime.read_varint(b"\x80" + written + b"\xff", 1) == (number, 1 + len(written))
        assert runtime.signed(number) == number
    assert [runtime.signed(2**64 - 1), runtime.signed(2**63)] == [-1, -(2**63)]


@part(onnx + "runtime:fields")
def test_fields_are_read_back(mytorch: ModuleType) -> None:
    data = mytorch.onnx.protobuf.message({1: [3, 300], 2: 0.5, 16: ["a", ""], 4: b"\x00\xff"})
    assert dict(mytorch.onnx.runtime.fields(data)) == {1: [3, 300], 2: [0.5], 16: [b"a", b""], 4: [b"\x00\xff"]}
    assert mytorch.onnx.runtime.fields(b"")[3] == []
    with pytest.raises(ValueError, match="fields of wire type 1 are not known"):
        mytorch.onnx.runtime.fields(b"\x09" + bytes(8))


@part(onnx + "messages:tensor", onnx + "messages:attribute", onnx + "messages:node", onnx + "messages:value_info")
@part(onnx + "messages:model")
@needs_onnx
def test_messages_are_those_of_onnx(mytorch: ModuleType) -> None:
    import onnx as package

    messages = mytorch.onnx.messages
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    read = package.TensorProto.FromString(messages.tensor("w", array.T))
    assert read.name == "w"
    np.testing.assert_array_equal(package.numpy_helper.to_array(read), array.T)
    for name in messages.TYPES:
        read = package.TensorProto.FromString(messages.tensor("x", np.ones(2, name)))
        assert package.numpy_helper.to_array(read).dtype.name == name
    for value in (0.5, -3, [1, -1]):
        read = package.AttributeProto.FromString(messages.attribute("a", value))
        assert (read.name, package.helper.get_attribute_value(read)) == ("a", value)
    node = package.NodeProto.FromString(messages.node("Conv", ["x", "w"], "y", {"group": 2}))
    assert (node.op_type, list(node.input), list(node.output), node.attribute[0].i) == ("Conv", ["x", "w"], ["y"], 2)
    info = package.ValueInfoProto.FromString(messages.value_info("x", "int64", ["batch", 3]))
    assert info == package.helper.make_tensor_value_info("x", package.TensorProto.INT64, ["batch", 3])
    model = package.ModelProto.FromString(messages.model([b""], [], [], []))
    assert (model.ir_version, model.opset_import[0].version, len(model.graph.node)) == (10, messages.OPSET, 1)


# Graphs: what is recognized, folded and left open


def steps(graph: Any) -> list[str]:
    return [step.op.name for step in graph.steps]


def traced(mytorch: ModuleType, function: Any, *examples: Any) -> Any:
    with mytorch.no_grad():
        return mytorch.graph.simplify(mytorch.graph.trace(function, *examples))


def convolutions(torch: ModuleType) -> Any:
    """Convolutions, with and without bias, in groups; batch norms whose numbers are no ones and zeros; pools."""
    torch.manual_seed(0)
    layers = torch.nn
    model = layers.Sequential(
        layers.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), bias=False),
        layers.BatchNorm2d(4),
        layers.ReLU(),
        layers.MaxPool2d((2, 3), stride=1, padding=(0, 1)),
        layers.Conv2d(4, 6, 3, dilation=(1, 2), groups=2),
        layers.BatchNorm2d(6),
    )
    for _ in range(5):
        model(torch.randn(8, 2, 9, 11) * 2 + 1)
    with torch.no_grad():
        model[1].weight.copy_(torch.tensor([0.5, -1.0, 2.0, 3.0]))
        model[5].bias.copy_(torch.arange(6.0))
    return model.eval()


@part(onnx + "fusing:recognize", onnx + "fusing:Whole")
def test_convolutions_layers_and_pools_are_recognized(mytorch: ModuleType) -> None:
    model = convolutions(mytorch)
    fused = mytorch.onnx.fuse(traced(mytorch, model, mytorch.randn(2, 2, 9, 11)))
    assert steps(fused) == ["conv2d", "relu", "max_pool2d", "conv2d"]
    assert fused.steps[2].args[1:] == ((2, 3), (1, 1), (0, 1), (1, 1))
    assert fused.steps[3].args[3:] == ((1, 1), (0, 0), (1, 2), 2)
    layer = mytorch.nn.Linear(3, 4)
    fused = mytorch.onnx.fuse(traced(mytorch, layer, mytorch.randn(2, 3)))
    assert steps(fused) == ["linear"]
    assert fused.steps[0].args[1].shape == (4, 3)


@part(onnx + "fusing:recognize")
def test_what_only_looks_like_a_layer_is_left_alone(mytorch: ModuleType) -> None:
    other = mytorch.randn(3, 3)
    graph = traced(mytorch, lambda x: x @ other + x, mytorch.randn(3, 3))  # the summand is no constant
    assert steps(mytorch.onnx.fuse(graph)) == ["matmul", "add"]
    graph = traced(mytorch, lambda x: x @ other + other, mytorch.randn(3, 3))  # nor is this one for each channel
    assert steps(mytorch.onnx.fuse(graph)) == ["matmul", "add"]
    average = mytorch.nn.functional.avg_pool2d
    graph = traced(mytorch, lambda x: average(x, 2), mytorch.randn(1, 1, 4, 4))
    assert "max_pool2d" not in steps(mytorch.onnx.fuse(graph))


@part(onnx + "fusing:fold", onnx + "fusing:fuse")
def test_folded_layers_compute_the_same(mytorch: ModuleType) -> None:
    model = convolutions(mytorch)
    x = mytorch.randn(3, 2, 9, 11)
    graph = traced(mytorch, model, x)
    with mytorch.no_grad():
        expected = model(x).array
        fused = mytorch.onnx.fuse(graph)
        np.testing.assert_allclose(mytorch.graph.run(fused, x).array, expected, rtol=1e-4, atol=1e-5)
    assert len(graph.steps) > 20  # the given graph is as it was


@part(onnx + "fusing:fold")
def test_constants_that_are_no_channels_are_not_folded(mytorch: ModuleType) -> None:
    layer, wide = mytorch.nn.Linear(3, 4), mytorch.arange(8.0).reshape(2, 4)
    x = mytorch.randn(2, 3)
    fused = mytorch.onnx.fuse(traced(mytorch, lambda x: layer(x) * wide, x))
    assert steps(fused) == ["linear", "mul"]
    per_channel = mytorch.arange(4.0)
    fused = mytorch.onnx.fuse(traced(mytorch, lambda x: (layer(x) - per_channel) * per_channel / 2, x))
    assert steps(fused) == ["linear", "div"]
    fused = mytorch.onnx.fuse(traced(mytorch, lambda x: (layer(x) > per_channel) * 1.0, x))
    assert steps(fused) == ["linear", "gt", "mul"]


@part(onnx + "symbolic:generalize", onnx + "symbolic:open_size")
def test_a_graph_for_every_batch(mytorch: ModuleType) -> None:
    def flat(x: Any) -> Any:
        return x.reshape(len(x), -1).exp()

    one, other = (traced(mytorch, flat, mytorch.randn(size, 2, 3)) for size in (4, 5))
    general = mytorch.onnx.generalize(one, other)
    assert [step.args[1] for step in general.steps if step.op.name == "view"] == [(-1, 6)]
    x = mytorch.randn(7, 2, 3)
    np.testing.assert_allclose(mytorch.graph.run(general, x).array, flat(x).array)
    assert one.steps[0].args[1] == (4, 6)  # as it was


@part(onnx + "symbolic:drop_whole_slices", onnx + "symbolic:results")
def test_slices_of_everything_are_left_out(mytorch: ModuleType) -> None:
    def left(function: Any, *size: int) -> list[str]:
        x = mytorch.randn(*size)
        return steps(mytorch.onnx.symbolic.drop_whole_slices(traced(mytorch, function, x), [x]))

    assert left(lambda x: x[:, 1:] * 2, 4, 3) == ["slice", "mul"]
    assert left(lambda x: x[:, :3] * 2, 4, 3) == ["mul"]
    assert left(lambda x: x.T[: len(x)] * 2, 2, 5) == [
        "permute",
        "slice",
        "mul",
    ]  # not all, though it ends at the batch size


@part(onnx + "symbolic:generalize", onnx + "symbolic:alike")
@pytest.mark.parametrize(
    ("name", "program"),
    {
        "div depends on the batch size": lambda torch, x: x / len(x),
        "slice depends on the batch size": lambda torch, x: x[1:],
        "add depends on the batch size": lambda torch, x: x + torch.ones(len(x), 1),
        "mul depends on the batch size": lambda torch, x: x * torch.rand(1),
        "cat depends on the batch size": lambda torch, x: torch.cat([x, torch.zeros(len(x), 2)], 1),
        "the number of steps depends": lambda torch, x: x if len(x) == 2 else x * 2,
        "exp depends on the batch size": lambda torch, x: x.exp() if len(x) == 2 else x.log(),
        "sub depends on the batch size": lambda torch, x: (lambda a, b: a - b if len(x) == 2 else b - a)(x.exp(), x),
        "view depends on the batch size": lambda torch, x: (
            lambda a, b: (a if len(x) == 2 else b).reshape(-1) + a.reshape(-1) + b.reshape(-1)
        )(x.exp(), x.tanh()),
        "the result depends on the batch size": lambda torch, x: (lambda a, b: (a, b) if len(x) == 2 else (b, a))(
            x.exp(), x.tanh()
        ),
        "more than one length of a view": lambda torch, x: (x @ x.T).reshape(len(x), len(x)),
    }.items(),
)
def test_what_depends_on_the_batch_is_refused(mytorch: ModuleType, name: str, program: Any) -> None:
    with pytest.raises(ValueError, match=name):
        mytorch.onnx.export(lambda x: program(mytorch, x), mytorch.rand(2, 3))


# Files


def mlp(torch: ModuleType) -> tuple[Any, list[Any]]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3), torch.nn.Softmax(-1))
    return model, [torch.randn(size, 4) for size in (3, 1, 8)]


def lenet_with_norms(torch: ModuleType) -> tuple[Any, list[Any]]:
    torch.manual_seed(0)
    program: dict[str, Any] = {"__name__": "lenet"}
    exec(inspect.getsource(lenet).replace("minitorch", torch.__name__), program)
    model = program["LeNet"]()
    for name, norm in {"conv1": torch.nn.BatchNorm2d(6), "fc1": torch.nn.BatchNorm1d(120)}.items():
        setattr(model, name, torch.nn.Sequential(getattr(model, name), norm))
    for _ in range(3):
        model(torch.randn(8, 1, 32, 32) + 1)
    return model.eval(), [torch.randn(size, 1, 32, 32) for size in (2, 1, 5)]


def block(torch: ModuleType) -> tuple[Any, list[Any]]:
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True, activation="gelu")
    return model.eval(), [torch.randn(size, 5, 16) for size in (2, 1, 4)]


MODELS: dict[str, Callable[[ModuleType], tuple[Any, list[Any]]]] = {
    "mlp": mlp,
    "lenet": lenet_with_norms,
    "block": block,
    "convolutions": lambda torch: (convolutions(torch), [torch.randn(size, 2, 9, 11) for size in (2, 1, 3)]),
}

FUNCTIONS: dict[str, Callable[[ModuleType, Any], Any]] = {
    "arithmetic": lambda torch, x: (2 - x * 3) / (x.abs() + 1) - x,
    "powers": lambda torch, x: x.abs() ** 1.5 + x.abs().sqrt() + (x.abs() + 1).reciprocal(),
    "exponentials": lambda torch, x: x.exp().log() + x.sigmoid() + x.tanh() - x.neg(),
    "extremes": lambda torch, x: torch.maximum(x, x * 2) + torch.minimum(x, x * x),
    "choices": lambda torch, x: (
        torch.where(x > 0, x, x * 0.1) + torch.where(x.masked_fill(x < 0.5, 7.0).round() == 7, 0.5, x)
    ),
    "sums": lambda torch, x: x.sum(2, keepdim=True) + x.sum((1, 2), keepdim=True) + x.mean(1, keepdim=True),
    "all": lambda torch, x: x.reshape(-1, 12).sum(1),
    "shapes": lambda torch, x: x.transpose(1, 2).unsqueeze(1).squeeze(1).permute(2, 0, 1).clone(),
    "parts": lambda torch, x: torch.cat([x[:, 1], x[:, -1], x[:, 0, 1:3]], 1),
    "steps": lambda torch, x: x[:, :, ::2] * x[:, :1, 1::2],
    "log_softmax": lambda torch, x: x.log_softmax(-1),
    "argmax": lambda torch, x: x.argmax(2),
    "argmax kept": lambda torch, x: x.argmax(-1, keepdim=True),
    "gelu": lambda torch, x: torch.nn.functional.gelu(x),
    "a matrix": lambda torch, x: x.mT @ x,
}


def everywhere(mytorch: ModuleType, function: Any, inputs: list[Any]) -> None:
    """Export on the first input; the file gives the function's results for all of them, in `run_onnx`."""
    data = mytorch.onnx.export(function, inputs[0])
    for x in inputs:
        with mytorch.no_grad():
            expected = function(x).array
        (found,) = mytorch.onnx.run_onnx(data, x.array)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def in_onnxruntime(mytorch: ModuleType, function: Any, inputs: list[Any]) -> None:
    """The same with onnxruntime, after the checker has accepted the file."""
    import onnx as package
    import onnxruntime

    data = mytorch.onnx.export(function, inputs[0])
    package.checker.check_model(package.load_from_string(data), full_check=True)
    session = onnxruntime.InferenceSession(data)
    for x in inputs:
        with mytorch.no_grad():
            expected = function(x).array
        (found,) = session.run(None, {"input_0": x.array})
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@part(onnx + "writing:export", onnx + "writing:gemm", onnx + "writing:conv", onnx + "writing:max_pool")
@part(onnx + "symbolic:results", onnx + "runtime:run_onnx", onnx + "runtime:conv", onnx + "runtime:max_pool")
@part(onnx + "runtime:windows", onnx + "runtime:softmax", onnx + "runtime:read_tensor", onnx + "runtime:read_attribute")
@pytest.mark.parametrize("name", MODELS)
def test_models_run_from_their_files(mytorch: ModuleType, name: str) -> None:
    everywhere(mytorch, *MODELS[name](mytorch))


@needs_onnx
@pytest.mark.parametrize("name", MODELS)
def test_models_run_in_onnxruntime(mytorch: ModuleType, name: str) -> None:
    in_onnxruntime(mytorch, *MODELS[name](mytorch))


@part(onnx + "writing:ints", onnx + "writing:dims", onnx + "writing:exchanged", onnx + "writing:same")
@part(onnx + "writing:File.node", onnx + "writing:File.name", onnx + "writing:File.rank", onnx + "writing:File.dtype")
@part(onnx + "runtime:cut")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_operations_run_from_their_files(mytorch: ModuleType, name: str) -> None:
    mytorch.manual_seed(0)
    everywhere(mytorch, lambda x: FUNCTIONS[name](mytorch, x), [mytorch.randn(size, 3, 4) for size in (2, 1, 5)])


@needs_onnx
@pytest.mark.parametrize("name", FUNCTIONS)
def test_operations_run_in_onnxruntime(mytorch: ModuleType, name: str) -> None:
    mytorch.manual_seed(0)
    in_onnxruntime(mytorch, lambda x: FUNCTIONS[name](mytorch, x), [mytorch.randn(size, 3, 4) for size in (2, 1, 5)])


@part(onnx + "runtime:run_onnx")
def test_embeddings_and_several_inputs_and_outputs(mytorch: ModuleType) -> None:
    table = mytorch.nn.Embedding(5, 3)

    def program(ids: Any, scale: Any) -> Any:
        found = table(ids) * scale
        return found, found.sum(1)

    ids, scale = mytorch.tensor([[1, 4], [0, 0]]), mytorch.tensor([[[2.0]], [[3.0]]])
    data = mytorch.onnx.export(program, ids, scale)
    expected = [each.detach().array for each in program(ids, scale)]
    for one, other in zip(mytorch.onnx.run_onnx(data, ids.array, scale.array), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@part(onnx + "writing:to_onnx")
@needs_onnx
def test_names_types_and_open_lengths(mytorch: ModuleType) -> None:
    import onnx as package

    def shapes(data: bytes) -> list[list[Any]]:
        graph = package.load_from_string(data).graph
        infos = [*graph.input, *graph.output]
        return [[each.dim_param or each.dim_value for each in info.type.tensor_type.shape.dim] for info in infos]

    model, (x, *_) = mlp(mytorch)
    assert shapes(mytorch.onnx.export(model, x)) == [["batch", 4], ["batch", 3]]
    assert shapes(mytorch.onnx.export(model, x, batch=None)) == [[3, 4], [3, 3]]
    assert shapes(mytorch.onnx.export(lambda x: x * 2, mytorch.tensor(3.0), batch=None)) == [[], []]


@part(onnx + "writing:export")
def test_what_no_operator_stands_for_is_refused(mytorch: ModuleType) -> None:
    with pytest.raises(NotImplementedError, match="no ONNX operator for cumsum"):
        mytorch.onnx.export(lambda x: x.cumsum(1), mytorch.ones(2, 3))
    with pytest.raises(NotImplementedError, match=r"0\.5 with a tensor of type int64"):
        mytorch.onnx.export(lambda x: x * 0.5, mytorch.tensor([1, 2]))


def test_the_file_brakes_at_50(mytorch: ModuleType) -> None:
    data = mytorch.onnx.export(lambda speed: speed * 0.5 if speed.sum() > 100 else speed, mytorch.tensor([130.0]))
    assert mytorch.onnx.run_onnx(data, np.float32([50]))[0].tolist() == [25]


def test_dropout_in_training_is_a_constant_of_the_file(mytorch: ModuleType) -> None:
    mytorch.manual_seed(0)
    model, x = mytorch.nn.Dropout(0.5), mytorch.ones(4, 6)
    data = mytorch.onnx.export(model, x, batch=None)
    (first,), (second,) = (mytorch.onnx.run_onnx(data, x.array) for _ in range(2))
    assert sorted(set(first.flatten())) == [0, 2]
    assert (first == second).all()
    assert (mytorch.onnx.run_onnx(mytorch.onnx.export(model.eval(), x), x.array)[0] == 1).all()


@part(onnx + "runtime:run_onnx", onnx + "runtime:conv")
def test_the_runtime_needs_numpy_alone(mytorch: ModuleType, tmp_path: Path) -> None:
    model, (x, *_) = lenet_with_norms(mytorch)
    (tmp_path / "runtime.py").write_text(inspect.getsource(mytorch.onnx.runtime))
    (tmp_path / "model.onnx").write_bytes(mytorch.onnx.export(model, x))
    np.save(tmp_path / "x.npy", x.array)
    program = """
import sys, numpy as np, runtime
(found,) = runtime.run_onnx(open("model.onnx", "rb").read(), np.load("x.npy"))
np.save("found.npy", found)
print(sorted(name for name in sys.modules if "torch" in name))
"""
    command = [sys.executable, "-c", program]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert shown == "[]\n"
    with mytorch.no_grad():
        np.testing.assert_allclose(np.load(tmp_path / "found.npy"), model(x).array, rtol=1e-5, atol=1e-5)


@part(onnx + "runtime:softmax")
def test_softmax_of_large_numbers(mytorch: ModuleType) -> None:
    (found,) = mytorch.onnx.run_onnx(
        mytorch.onnx.export(lambda x: x.softmax(-1), mytorch.ones(1, 2)), np.float32([[1000, 1000 + math.log(3)]])
    )
    np.testing.assert_allclose(found, [[0.25, 0.75]], rtol=1e-4)
