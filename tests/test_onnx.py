"""`onnx.export`: onnx's checker accepts its files, and in onnxruntime they give minitorch's results."""

from __future__ import annotations

import importlib.util
import inspect
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.dispatch import apply
from minitorch.jit import TracerWarning
from minitorch.models import GPT, GPTConfig, LeNet, resnet18
from minitorch.onnx import protobuf
from minitorch.onnx.errors import UnsupportedOperatorError

needs_onnx = pytest.mark.needs("onnxruntime")
BATCH = ({0: "batch"},)


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.eval()

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def check(model: nn.Module, args: tuple[Any, ...], others: Sequence[tuple[Any, ...]] = (), **options: Any) -> Any:
    """Export; the file is accepted, and gives the model's results for the example and the other inputs."""
    import onnx

    program = torch.onnx.export(model.eval(), args, **options)
    proto = program.model_proto
    onnx.checker.check_model(proto, full_check=True)
    for inputs in (args, *others):
        with torch.no_grad():
            expected = model(*(each.clone() for each in inputs))
        expected = [expected] if isinstance(expected, torch.Tensor) else [each for each in expected if each is not None]
        for one, other in zip(program(*inputs), expected, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-5)
    return proto


def shapes(proto: Any) -> list[list[Any]]:
    infos = [*proto.graph.input, *proto.graph.output]
    return [[each.dim_param or each.dim_value for each in info.type.tensor_type.shape.dim] for info in infos]


def kinds(proto: Any) -> list[str]:
    return [node.op_type for node in proto.graph.node]


# The interface


@pytest.mark.needs("torch")
def test_the_signature_is_pytorchs() -> None:
    import torch as pytorch

    ours, theirs = (inspect.signature(each.onnx.export).parameters for each in (torch, pytorch))
    assert [(name, each.kind) for name, each in ours.items()] == [(name, each.kind) for name, each in theirs.items()]
    enums = {"training", "operator_export_type"}  # of which minitorch has none
    assert all(ours[name].default == theirs[name].default for name in ours.keys() - enums)
    missing = set(pytorch.onnx.__all__) - set(torch.onnx.__all__)
    assert missing == {"ops", "ExportableModule", "InputObserver"}
    assert issubclass(pytorch.onnx.OnnxExporterError, RuntimeError)


@pytest.mark.parametrize(
    ("option", "value"),
    {
        "kwargs": {"x": 1},
        "custom_translation_table": {1: 2},
        "report": True,
        "verify": True,
        "profile": True,
        "dump_exported_program": True,
        "keep_initializers_as_inputs": True,
        "training": 1,
        "operator_export_type": 1,
        "custom_opsets": {"a": 1},
        "export_modules_as_functions": True,
        "export_params": False,
        "opset_version": 13,
        "dynamic_shapes": ({0: 1.5},),
    }.items(),
)
def test_an_argument_that_is_not_supported_is_named(option: str, value: Any) -> None:
    with pytest.raises(NotImplementedError, match=option if option != "dynamic_shapes" else "named by a string"):
        torch.onnx.export(nn.Linear(2, 2).eval(), (torch.ones(1, 2),), **{option: value})


def test_other_faults_of_a_call() -> None:
    model, x = nn.Linear(2, 2).eval(), torch.ones(1, 2)
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"expected a torch\.nn\.Module, got function"):
        torch.onnx.export(lambda x: x, (x,))
    with pytest.raises(ValueError, match="a path is needed"):
        torch.onnx.export(model, (x,), dynamo=False)
    with pytest.raises(torch.onnx.OnnxExporterError, match="names 'y', the inputs are input"):
        torch.onnx.export(model, (x,), dynamic_shapes={"y": {0: "batch"}})
    with pytest.raises(torch.onnx.OnnxExporterError, match="at least one tensor"):
        torch.onnx.export(Function(lambda x: torch.ones(x)), (2,))
    with pytest.raises(torch.onnx.OnnxExporterError, match="output of type str"):
        torch.onnx.export(Function(lambda x: "a"), (x,))
    two = Function(lambda x, y: x + y)
    with pytest.raises(torch.onnx.OnnxExporterError, match="n is 2 in one example and 3 in another"):
        torch.onnx.export(two, (torch.ones(2), torch.ones(3)), dynamic_shapes=({0: "n"}, {0: "n"}))


def test_protocol_buffers() -> None:
    assert protobuf.varint(150).hex() == "9601"  # the examples of protobuf's documentation
    assert protobuf.varint(-2).hex() == "fe" + "ff" * 8 + "01"
    assert protobuf.message({1: 150, 2: "testing", 3: [b"", None], 4: None}).hex() == "089601120774657374696e671a00"
    assert protobuf.field(16, 0.5).hex() == "85010000003f"


# Models


def with_statistics(model: nn.Module, *size: int) -> nn.Module:
    """A model whose running statistics, weights and biases of batch norms are no zeros and ones."""
    for _ in range(3):
        model(torch.randn(*size) * 2 + 1)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias)
    return model


@needs_onnx
@pytest.mark.parametrize("opset", [18, 20, 23])
def test_a_multilayer_perceptron(opset: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3, bias=False), nn.Softmax(-1))
    others = [(torch.randn(size, 4),) for size in (1, 7)]
    proto = check(model, (torch.randn(3, 4),), others, dynamic_shapes=BATCH, opset_version=opset)
    assert proto.opset_import[0].version == opset
    assert shapes(proto) == [["batch", 4], ["batch", 3]]
    assert [each.name for each in proto.graph.initializer][:2] == ["0.weight", "0.bias"]
    assert list(proto.graph.initializer[0].dims) == [8, 4]  # as the parameter is, for Gemm has transB


@needs_onnx
@pytest.mark.parametrize("optimize", [True, False])
def test_lenet_with_batch_norms(optimize: bool) -> None:
    torch.manual_seed(0)
    model: Any = LeNet()
    model.conv1 = nn.Sequential(model.conv1, nn.BatchNorm2d(6))
    model.conv2 = nn.Sequential(nn.Conv2d(6, 16, 5, bias=False), nn.BatchNorm2d(16))
    with_statistics(model, 8, 1, 32, 32)
    others = [(torch.randn(size, 1, 32, 32),) for size in (1, 5)]
    proto = check(model, (torch.randn(2, 1, 32, 32),), others, dynamic_shapes=BATCH, optimize=optimize)
    assert ("BatchNormalization" in kinds(proto)) is not optimize
    if optimize:
        assert kinds(proto) == ["Conv", "Relu", "MaxPool"] * 2 + ["Reshape", "Gemm", "Relu", "Gemm", "Relu", "Gemm"]


@needs_onnx
@pytest.mark.parametrize("opset", [18, 20])
@pytest.mark.parametrize(("batch_first", "norm_first"), [(True, True), (True, False), (False, True)])
def test_a_transformer_block(batch_first: bool, norm_first: bool, opset: int) -> None:
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(16, 4, 32, activation="gelu", batch_first=batch_first, norm_first=norm_first)
    named = ({0: "batch", 1: "length"},)
    others = [(torch.randn(*size, 16),) for size in ((1, 1), (4, 9), (2, 3))]
    proto = check(model, (torch.randn(2, 5, 16),), others, dynamic_shapes=named, opset_version=opset)
    assert shapes(proto) == [["batch", "length", 16]] * 2


@needs_onnx
def test_a_gpt() -> None:
    torch.manual_seed(0)
    model = GPT(GPTConfig(block_size=8, vocab_size=11, n_layer=2, n_head=2, n_embd=8))
    check(model, (torch.randint(0, 11, (2, 6)),), [(torch.randint(0, 11, (5, 6)),)], dynamic_shapes=BATCH)


@pytest.mark.turns(8)
@needs_onnx
def test_a_residual_network_with_writes_in_place() -> None:
    torch.manual_seed(0)
    model = with_statistics(resnet18(num_classes=5), 4, 3, 32, 32)
    proto = check(model, (torch.randn(1, 3, 32, 32),), [(torch.randn(3, 3, 32, 32),)], dynamic_shapes=BATCH)
    assert "BatchNormalization" not in kinds(proto)
    assert kinds(proto).count("Conv") == 20


@needs_onnx
def test_a_batch_norm_that_is_not_alone_is_not_folded() -> None:
    torch.manual_seed(0)
    convolution, norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
    model = Function(lambda x: convolution(x) + norm(convolution(x)))
    model.add_module("norm", norm)
    with_statistics(nn.Sequential(convolution, norm), 4, 1, 5, 5)
    assert kinds(check(model, (torch.randn(2, 1, 5, 5),))) == ["Conv", "Conv", "Add"]

    def twice(x: Any) -> Any:
        found = convolution(x)
        return found + norm(found)

    model = Function(twice)
    model.add_module("norm", norm)
    assert kinds(check(model, (torch.randn(2, 1, 5, 5),))) == ["Conv", "BatchNormalization", "Add"]


@needs_onnx
def test_pools_and_convolutions() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), groups=2),
        nn.MaxPool2d((2, 3), stride=1, padding=(0, 1), ceil_mode=True),
        nn.Conv2d(4, 4, 3, padding="same", dilation=2),
        nn.AvgPool2d(2, ceil_mode=True, count_include_pad=False),
        nn.AdaptiveAvgPool2d(1),
    )
    check(model, (torch.randn(2, 2, 11, 13),), [(torch.randn(5, 2, 11, 13),)], dynamic_shapes=BATCH)
    line = nn.Sequential(nn.Conv1d(2, 3, 3), nn.MaxPool1d(2), nn.Hardtanh(), nn.AvgPool1d(2))
    check(line, (torch.randn(2, 2, 12),), [(torch.randn(1, 2, 12),)], dynamic_shapes=BATCH)


@needs_onnx
def test_open_lengths_that_are_not_batches() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    named = {"input": {0: "n", 2: "height", 3: "width"}}
    others = [(torch.randn(3, 1, 10, 6),), (torch.randn(1, 1, 4, 12),)]
    assert shapes(check(model, (torch.randn(2, 1, 8, 8),), others, dynamic_shapes=named))[1] == ["n", 2]
    paired = Function(lambda x, y: torch.cat([x, y], 0).reshape(-1, 2, 2) * 2)
    proto = check(
        paired, (torch.randn(3, 4), torch.randn(2, 4)), [(torch.randn(1, 4), torch.randn(6, 4))],
        dynamic_shapes=({0: "a"}, {0: "b"}), input_names=["x", "y"], output_names=["z"],
    )  # fmt: skip
    assert shapes(proto)[:2] == [["a", 4], ["b", 4]]
    grown = Function(lambda x: torch.cat([x, x[:, :1], x], 1).unsqueeze(0).expand(2, -1, -1))
    proto = check(grown, (torch.randn(2, 3),), [(torch.randn(5, 4),)], dynamic_shapes=({0: "n", 1: "k"},))
    assert shapes(proto)[1] == [2, "n", "2*k + 1"]


@needs_onnx
def test_a_dict_of_results() -> None:
    program = torch.onnx.export(Function(lambda x: {"a": x + 1, "b": (x * 2, None)}), (torch.ones(2),))
    assert [each.tolist() for each in program(torch.ones(2))] == [[2, 2], [2, 2]]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (2 - x * 3) / (x.abs() + 1) - x.neg() + torch.sub(x, x, alpha=3) + torch.add(x, 2, alpha=2),
    "powers": lambda x: (
        x.abs() ** 1.5 + x.abs().sqrt() + (x.abs() + 1).reciprocal() + (x.abs() + 1).rsqrt() + x.square()
    ),
    "exponentials": lambda x: x.exp().log() + x.sigmoid() + x.tanh() + x.erf() + x.sin() + x.cos(),
    "activations": lambda x: F.silu(x) + F.leaky_relu(x) + F.relu6(x) + F.hardswish(x) + F.gelu(x, approximate="tanh"),
    "rounding": lambda x: x.round() + x.floor() + x.ceil() + x.sign() + x.clamp(min=-0.5) + x.clamp(-1, 1),
    "extremes": lambda x: torch.maximum(x, x * 2) + torch.minimum(x, x * x) + x.amax(1, keepdim=True) - x.amin(),
    "choices": lambda x: torch.where(x > 0, x, 0.1) + x.masked_fill((x < 0.5) & (x >= -1) | (x == 0), 7.0),
    "comparisons": lambda x: [x != 1, x <= 0, ~(x > 0)],
    "types": lambda x: [x.to(torch.float64), (x > 0).float(), (x > 0) + x, x.int() * 2, x.int() / 2, x.int() * 0.5],
    "sums": lambda x: x.sum(2) + x.mean((1, 2), keepdim=False)[:, None] + x.sum() + x.mean() + x.prod(-1),
    "variances": lambda x: x.var(1) + x.var((1, 2), correction=0, keepdim=True)[:, 0],
    "softmax": lambda x: x.softmax(1) + x.log_softmax(-1),
    "layer norm": lambda x: F.layer_norm(x, (3, 4)) + F.layer_norm(x, (4,)),
    "places": lambda x: [x.argmax(1), x.argmin(-1, keepdim=True), x.argmax()],
    "shapes": lambda x: x.transpose(1, 2).unsqueeze(1).squeeze(1).permute(2, 0, 1).contiguous().flatten(1).t(),
    "squeezed": lambda x: x[:, :1].squeeze() + x[:, 1],
    "parts": lambda x: torch.cat([x[:, 1], x[:, -1, 1:3], x[:, 0, ::2]], 1),
    "splits": lambda x: [*x.split(2, 2), *x.chunk(2, 1), *x.unbind(1), *x.split([1, 3], 2)],
    "stacks": lambda x: torch.stack([x, x * 2], 1),
    "an index": lambda x: x[:, [2, 0]] + x[:, torch.tensor([[0, 1]])].sum((1, 2))[:, None],
    "padding": lambda x: F.pad(x, (1, 2), value=3.0) + F.pad(x, (1, 2)),
    "triangles": lambda x: x.tril() + x.triu(1),
    "products": lambda x: [x @ x.mT, torch.einsum("nij,nkj->nik", x, x), x[0] @ x[0, 0]],
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "written in place": lambda x: (x * 2).relu_().add_(1).clamp_(max=2),
    "a constant that is a result": lambda x: [x, torch.arange(3.0), x * 1],
    "nested lists": lambda x: [x + 1, x * 2],
}


@needs_onnx
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_op_gives_what_it_gives_here(name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4)
    many = {} if name in ("products", "squeezed") or "result" in name else {"dynamic_shapes": BATCH}
    others = [(torch.randn(5, 3, 4),), (torch.randn(1, 3, 4),)] if many else []
    check(Function(FUNCTIONS[name]), (x,), others if name != "splits" else others[:1], **many)


# What can't be a file


def brake(speed: Any) -> Any:
    return speed * 0.5 if speed.sum() > 100 else speed


@pytest.mark.parametrize(
    "ask", [brake, lambda x: x * x.sum().item(), lambda x: x * x.tolist()[0], lambda x: x * float(x[0])]
)
def test_a_question_for_a_value_is_refused(ask: Any) -> None:
    with pytest.raises(torch.onnx.OnnxExporterError, match="Could not guard on data-dependent expression"):
        torch.onnx.export(Function(ask), (torch.tensor([130.0]),))


@needs_onnx
def test_without_dynamo_it_warns_and_the_file_brakes(tmp_path: Path) -> None:
    import onnxruntime

    path = tmp_path / "brake.onnx"
    with pytest.warns(
        TracerWarning, match="Converting a tensor to a Python boolean might cause the trace to be incorrect"
    ):
        assert torch.onnx.export(Function(brake), (torch.tensor([130.0]),), path, dynamo=False) is None
    found = onnxruntime.InferenceSession(path).run(None, {"input_0": np.float32([50])})
    assert found[0].tolist() == [25]


def test_training_mode_warns_and_random_numbers_are_refused() -> None:
    model, state = nn.Dropout(0.5), torch.get_rng_state()
    warned = pytest.warns(UserWarning, match="Exporting a model while it is in training mode")
    refused = pytest.raises(UnsupportedOperatorError, match=r"random numbers .* Call model\.eval\(\) before export")
    with warned, refused:
        torch.onnx.export(model, (torch.ones(2),))
    assert (torch.get_rng_state() == state).all()
    assert model.training


def test_the_old_exporter_switches_to_evaluation_and_back(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.onnx.export(model, (torch.ones(3, 2),), tmp_path / "model.onnx", dynamo=False)
    assert [each.training for each in model.modules()] == [True] * 3
    assert model[1].num_batches_tracked == 0


def overwritten(x: Any) -> Any:
    memory = torch.zeros(4, 2)
    memory[:2] = x
    return memory + 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.cumsum(0), "cumsum can't be exported"),
        (lambda x: torch.div(x, 2, rounding_mode="floor"), "_div_floor can't be exported"),
        (lambda x: ~x.int(), "bitwise_not of torch.int32"),
        (lambda x: x[x > 0], "indexing with several tensors, or with a mask"),
        (lambda x: x + torch.ones(len(x), 1), "a constant of add depends on batch"),
        (lambda x: x if len(x) == 2 else x * 2, "the ops that the model calls depend on batch"),
        (overwritten, "a tensor of which a part was overwritten"),
    ],
)
def test_what_can_not_be_exported_is_said(function: Any, message: str) -> None:
    with pytest.raises(torch.onnx.OnnxExporterError, match=message):
        torch.onnx.export(Function(function), (torch.randn(2, 2),), dynamic_shapes=BATCH)


@needs_onnx
def test_a_number_that_is_a_length_is_computed() -> None:
    check(
        Function(lambda x: x / len(x) + x.shape[0]), (torch.randn(2, 3),), [(torch.randn(5, 3),)], dynamic_shapes=BATCH
    )


def test_ops_run_as_before_after_an_export_that_failed() -> None:
    before = apply.apply, apply.apply_in_place
    with pytest.raises(ZeroDivisionError):
        torch.onnx.export(Function(lambda x: 1 // 0), (torch.ones(1),))
    assert (apply.apply, apply.apply_in_place) == before
    assert not torch.onnx.is_in_onnx_export()
    assert type(torch.ones(1) + 1) is torch.Tensor


def test_a_module_can_ask_whether_it_is_exported() -> None:
    asked = []
    torch.onnx.export(Function(lambda x: asked.append(torch.onnx.is_in_onnx_export()) or x + 1), (torch.ones(1),))
    assert asked == [True]


def test_the_example_is_not_written_to() -> None:
    x = torch.ones(2)
    torch.onnx.export(Function(lambda x: x.add_(1)), (x,))
    assert x.tolist() == [1, 1]
    assert type(x) is torch.Tensor


# Files


@needs_onnx
@pytest.mark.parametrize("external", [True, False])
def test_weights_can_have_a_file_of_their_own(tmp_path: Path, external: bool) -> None:
    import onnx
    import onnxruntime

    model, path, x = nn.Linear(100, 4).eval(), tmp_path / "model.onnx", torch.randn(3, 100)
    program = torch.onnx.export(model, (x,), path, external_data=external)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"][: 1 + external]
    stored = onnx.load(path, load_external_data=False).graph.initializer
    assert [(each.name, each.data_location) for each in stored] == [("weight", int(external)), ("bias", 0)]
    found = onnxruntime.InferenceSession(path).run(None, {"input": x.numpy()})
    np.testing.assert_allclose(found[0], model(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert repr(program) == "ONNXProgram(opset=20, 1 nodes, 2 initializers)"
    for option in ({"include_initializers": False}, {"keep_initializers_as_inputs": True}):
        with pytest.raises(NotImplementedError, match=next(iter(option))):
            program.save(path, **option)


@needs_onnx
def test_names_of_inputs_and_outputs() -> None:
    class Two(nn.Module):
        def forward(self, left: Any, factor: float, *others: Any) -> Any:
            return left * factor + others[0], left

    args = torch.ones(2, 3), 2.0, torch.ones(3)
    program = torch.onnx.export(Two().eval(), args, input_names=["a"], output_names=["sum"], dynamic_axes={"a": [0]})
    proto = program.model_proto
    assert [each.name for each in proto.graph.input] == ["a", "input_2"]
    assert [each.name for each in proto.graph.output] == ["sum", "output_1"]
    assert shapes(proto)[0] == ["a_dim_0", 3]


def test_the_packages_are_needed_to_run_files_alone() -> None:
    program = torch.onnx.export(nn.Linear(2, 2).eval(), (torch.ones(1, 2),))
    if importlib.util.find_spec("onnx") is None:
        with pytest.raises(ImportError, match="onnx"):
            _ = program.model_proto
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program._serialized()[0][:2] == b"\x08\x0a"
