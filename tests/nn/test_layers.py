"""Every layer against torch: the same parameters from the same seed, repr, state dict, output and gradients."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch
from tests.nn.beyond import LINEAR, with_linear_marked
from tests.nn.layers import LAYERS
from tests.nn.losses import LOSSES
from tests.same import errors, exactly_the_same, same, same_within

CASES = LAYERS + LOSSES

# Without a forward of their own, or with tests of their own in test_module.py.
EXEMPT = {
    "Container", "LinearCrossEntropyOptions", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList",
    "RNNBase", "RNNCellBase",
}  # fmt: skip


def run(torch: Any, layer: str, call: str) -> Any:
    """What a layer is and does, twice in training and once in evaluation, in one comparable value."""
    inputs: list[Any] = []

    def x(*shape: int) -> Any:
        inputs.append(torch.randn(shape, requires_grad=True))
        return inputs[-1]

    names = {"torch": torch, "nn": torch.nn, "x": x}
    names["module"] = module = eval(layer, names)
    known = not any(map(torch.nn.parameter.is_lazy, [*module.parameters(), *module.buffers()]))
    found = [repr(module), dict(module.state_dict()) if known else sorted(module.state_dict())]
    for training in (module.training, module.training, False):
        module.train(training)
        module.zero_grad()
        inputs.clear()
        output = eval(f"module({call})", names)
        total = sum(weighted_sum(torch, each) for each in tensors(output) if each.requires_grad)
        if hasattr(total, "backward"):
            total.backward()
        found += [output, [each.grad for each in inputs], [each.grad for each in module.parameters()]]
    return [*found, repr(module), dict(module.state_dict())]


def tensors(output: Any) -> Iterator[Any]:
    """The tensors of nested tuples."""
    if isinstance(output, tuple):
        for each in output:
            yield from tensors(each)
    elif output is not None:
        yield output


def weighted_sum(torch: Any, output: Any) -> Any:
    """A number whose gradient is another for every element."""
    return (output.double() * torch.linspace(0.5, 1.5, output.numel()).reshape(output.shape)).sum()


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    ("layer", "call"), with_linear_marked(CASES), ids=[f"{layer} of {call}" for layer, call in CASES]
)
@same_within(2e-5)
def test_layer_is_torchs(torch: Any, layer: str, call: str) -> Any:
    return run(torch, layer, call)


def test_every_layer_has_four_configurations() -> None:
    counts = Counter(layer.split("(")[0].split(".")[1] for layer, _ in CASES)
    layers = {name for name in minitorch.nn.modules.__all__ if name not in EXEMPT}
    assert {name: counts[name] for name in layers if counts[name] < 4} == {}


ERRORS = [
    "nn.Dropout(1.5)",
    "nn.Linear(3, 2)(torch.ones(2, 4))",
    "nn.Linear(3, 2)(torch.ones(2, 3).double())",
    "nn.Linear(3, 2)('text')",
    "nn.Conv2d(3, 4, 3, groups=2)",
    "nn.Conv2d(4, 3, 3, groups=2)",
    "nn.Conv2d(4, 3, 3, groups=0)",
    "nn.Conv2d(4, 3, 3, padding='same', stride=2)",
    "nn.Conv2d(2, 4, 3)(torch.ones(1, 3, 5, 5))",
    "nn.Conv2d(2, 4, 3)(torch.ones(1, 2, 2, 2))",
    "nn.Conv2d(2, 4, 3)(torch.ones(5, 5))",
    "nn.ConvTranspose2d(2, 4, 3, padding_mode='reflect')",
    "nn.ConvTranspose2d(2, 4, 3, stride=2)(torch.ones(1, 2, 4, 4), [20, 20])",
    "nn.BatchNorm2d(3)(torch.ones(2, 3))",
    "nn.BatchNorm2d(3)(torch.ones(2, 4, 2, 2))",
    "nn.BatchNorm1d(3)(torch.ones(1, 3))",
    "nn.InstanceNorm2d(3)(torch.ones(2, 3))",
    "nn.InstanceNorm2d(3)(torch.ones(2, 3, 1, 1))",
    "nn.LayerNorm(3)(torch.ones(2, 4))",
    "nn.GroupNorm(2, 3)",
    "nn.Embedding(3, 2, padding_idx=3)",
    "nn.Embedding(3, 2)(torch.tensor([3]))",
    "nn.Embedding(3, 2)(torch.tensor([1.0]))",
    "nn.Unflatten(1, 'text')",
    "nn.MaxPool2d(2)(torch.ones(1, 1, 1, 1))",
    "nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0]))",
    "nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0, 3]))",
    "nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0.0, 1.0]))",
    "nn.BCELoss()(torch.tensor([2.0]), torch.tensor([1.0]))",
    "nn.BCELoss()(torch.ones(2), torch.ones(3))",
    "nn.MultiMarginLoss(p=3)",
    "nn.TripletMarginLoss(margin=-1)",
    "nn.MSELoss(reduction='other')(torch.ones(2), torch.ones(2))",
    "nn.Sequential(nn.ReLU())[1]",
    "nn.Sequential(nn.ReLU()) + 3",
    "nn.Sequential(nn.ReLU()) * 0",
    "nn.Sequential(nn.ReLU()).insert(5, nn.ReLU())",
    "nn.ModuleList([nn.ReLU()])[2]",
    "nn.ModuleList(3)",
    "nn.ModuleDict({'a': 3})",
    "nn.ModuleDict([('a', nn.ReLU(), 3)])",
    "nn.ParameterList(3)",
    "nn.ParameterList([])()",
    "nn.ParameterDict({3: 4})",
    "nn.Hardtanh(1.0, 1.0)",
    "nn.Upsample()(torch.ones(1, 1, 2))",
    "nn.Upsample(2, mode='bilinear')(torch.ones(1, 1, 2))",
    "nn.PixelShuffle(2)(torch.ones(3, 2, 2))",
    "nn.ChannelShuffle(2)(torch.ones(1, 3, 2))",
    "nn.Fold(3, 2)(torch.ones(1, 4, 5))",
    "nn.Unfold(3)(torch.ones(1, 1, 2, 2))",
    "nn.FractionalMaxPool2d(2)",
    "nn.FractionalMaxPool3d(2, 3, 0.5)",
    "nn.FractionalMaxPool2d(2, output_ratio=(0.5, 2))",
    "nn.CrossMapLRN2d(2)(torch.ones(2, 3))",
    "nn.SyncBatchNorm(3)(torch.ones(3))",
    "nn.SyncBatchNorm(3)(torch.ones(3, 0))",
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [])",
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [4, 2])",
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [6])",
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 2])",
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])(torch.ones(2, 4), torch.tensor([1, 6]))",
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])(torch.ones(2, 4), torch.tensor([1]))",
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])(torch.ones(4), torch.tensor([1, 2]))",
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])(torch.ones(2, 4), torch.tensor(1))",
    "nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])(torch.ones(2, 4), torch.tensor([[1]]))",
    "nn.CTCLoss()(torch.zeros(3, 1, 2), torch.tensor([[1]]), (4,), (1,))",
    "nn.MaxUnpool2d(2)(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 2, 1).long())",
    "nn.LazyConv2d(4, 2)(torch.ones(3, 3))",
    "nn.LinearCrossEntropyLoss(2, 3, weight=torch.ones(2))",
    "nn.LinearCrossEntropyLoss(2, 3, label_smoothing=2.0)",
]


@pytest.mark.parametrize("expression", with_linear_marked(ERRORS))
@same
def test_error_is_torchs(torch: Any, expression: str) -> Any:
    return errors(lambda: eval(expression, {"torch": torch, "nn": torch.nn}))


WARNINGS = [
    *(
        f"nn.init.{name}(torch.zeros(2, 2))"
        for name in ("uniform", "normal", "eye", "xavier_uniform", "xavier_normal", "kaiming_uniform",
                     "kaiming_normal", "orthogonal")
    ),
    "nn.init.constant(torch.zeros(2), 3.0)",
    "nn.init.dirac(torch.zeros(2, 2, 3))",
    "nn.init.sparse(torch.zeros(2, 2), 0.5)",
    "nn.Container(a=nn.ReLU())",
    "nn.NLLLoss2d()",
    "nn.Hardtanh(min_value=-2.0, max_value=3.0)",
    "nn.functional.upsample(torch.ones(1, 1, 2), 4)",
    "nn.functional.upsample_nearest(torch.ones(1, 1, 2), 4)",
    "nn.functional.upsample_bilinear(torch.zeros(1, 1, 2, 2), 4)",
    "nn.functional.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2))",
    "nn.functional.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 2))",
    "nn.functional.affine_grid(torch.ones(1, 2, 3), (1, 1, 1, 2), align_corners=True)",
]  # fmt: skip


@pytest.mark.parametrize("expression", WARNINGS)
@same
def test_warning_is_torchs(torch: Any, expression: str) -> Any:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        result = eval(expression, {"torch": torch, "nn": torch.nn})
    assert given
    return [(each.category.__name__, str(each.message)) for each in given], repr(result)


@LINEAR
@same
def test_adaptive_softmax_predicts_like_torchs(torch: Any) -> Any:
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 9, [3, 5], 2.0)
    layer.head.weight.data.mul_(5)  # so that some rows choose a cluster, and some don't
    x = torch.randn(12, 8)
    chosen = layer.predict(x)
    layer.reset_parameters()
    return chosen, layer.log_prob(x), layer.predict(x), list(layer.state_dict())


@LINEAR
@same
def test_synchronized_normalization_takes_over_what_was_learned(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, momentum=0.5), nn.Sequential(nn.BatchNorm1d(3)))
    model(torch.randn(4, 2))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model.eval())
    one = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2d(2, affine=False))
    return repr(converted), dict(converted.state_dict()), converted(torch.randn(4, 2)), repr(one)


@exactly_the_same
def test_masks_of_attention_are_merged_as_torch_does(torch: Any) -> Any:
    attention, query = torch.nn.MultiheadAttention(4, 2), torch.randn(3, 5, 4)
    masks = (None, torch.randn(5, 5), torch.randn(5, 5) > 0, torch.randn(6, 5, 5))
    padding = (None, torch.randn(3, 5) > 0)
    return [attention.merge_masks(*both, query) for both in itertools.product(masks, padding)]


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        ("float32", {}),
        ("float32", {"bidirectional": True}),
        ("float32", {"batch_first": True}),
        pytest.param("bfloat16", {}, marks=pytest.mark.needs("avx512")),
    ],
)
@exactly_the_same
def test_an_lstm_is_recorded_as_torch_does(torch: Any, dtype: str, options: dict[str, Any]) -> Any:
    kind = getattr(torch, dtype)
    output, (hidden, cell) = torch.nn.LSTM(3, 4, dtype=kind, **options)(torch.randn(5, 2, 3, dtype=kind))
    return [each.grad_fn.name() for each in (output, hidden, cell)]
