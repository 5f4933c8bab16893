"""Every layer against torch: the same parameters from the same seed, repr, state dict, output and gradients."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nn.same import assert_same

# A layer, and what it is called with.
LAYERS = [
    ("nn.Identity(3, any=2)", "x(2, 3)"),
    ("nn.Linear(3, 4)", "x(2, 3)"),
    ("nn.Linear(3, 4)", "x(3)"),
    ("nn.Linear(3, 4, bias=False)", "x(2, 5, 3)"),
    ("nn.Linear(3, 4)", "x(3, 2, 5).transpose(0, 2)"),
    ("nn.Linear(3, 4, dtype=torch.float64)", "x(2, 3).double()"),
    ("nn.Bilinear(3, 4, 2)", "x(5, 3), x(5, 4)"),
    ("nn.LazyLinear(4)", "x(2, 3)"),
    ("nn.Flatten()", "x(2, 3, 4)"),
    ("nn.Flatten(0, 1)", "x(2, 3, 4)"),
    ("nn.Unflatten(1, (2, 3))", "x(2, 6)"),
    *[
        (f"nn.{name}", "x(2, 6)")
        for name in (
            "Threshold(0.1, 2.0)",
            "ReLU()",
            "RReLU().eval()",
            "Hardtanh()",
            "Hardtanh(-0.5, 0.5)",
            "ReLU6()",
            "Sigmoid()",
            "Hardsigmoid()",
            "Tanh()",
            "SiLU()",
            "Mish()",
            "Hardswish()",
            "ELU()",
            "ELU(0.5)",
            "CELU(2.0)",
            "SELU()",
            "GLU()",
            "GELU()",
            "GELU('tanh')",
            "Hardshrink()",
            "LeakyReLU(0.2)",
            "LogSigmoid()",
            "Softplus(2, 1)",
            "Softshrink()",
            "PReLU()",
            "PReLU(6)",
            "Softsign()",
            "Tanhshrink()",
            "Softmin(1)",
            "Softmax(0)",
            "LogSoftmax(1)",
            "Dropout(0.3)",
            "Dropout(0.0)",
            "Dropout(1.0)",
            "Dropout().eval()",
            "AlphaDropout(0.3)",
        )
    ],
    ("nn.Softmax2d()", "x(2, 3, 4, 5)"),
    ("nn.Dropout1d(0.4)", "x(2, 3, 4)"),
    ("nn.Dropout2d(0.4)", "x(2, 3, 4, 5)"),
    ("nn.Dropout3d(0.4)", "x(2, 3, 4, 2, 2)"),
    ("nn.FeatureAlphaDropout(0.4)", "x(2, 3, 4)"),
    ("nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))", "x(2, 3)"),
    ("nn.Conv1d(2, 4, 3)", "x(3, 2, 7)"),
    ("nn.Conv1d(2, 4, 3, padding='same', dilation=2)", "x(2, 7)"),
    ("nn.Conv2d(2, 4, 3, padding=1)", "x(3, 2, 6, 5)"),
    ("nn.Conv2d(2, 4, (3, 2), stride=2, padding=1, dilation=(1, 2), groups=2, bias=False)", "x(3, 2, 6, 5)"),
    ("nn.Conv2d(4, 4, 3, groups=4)", "x(3, 4, 6, 5)"),
    ("nn.Conv2d(2, 4, 3, padding=1, padding_mode='reflect')", "x(3, 2, 6, 5)"),
    ("nn.Conv2d(2, 4, 3, padding='same', padding_mode='circular')", "x(3, 2, 6, 5)"),
    ("nn.Conv2d(8, 4, 3, padding=1)", "x(2, 8, 16, 16)"),
    ("nn.Conv3d(2, 3, 2)", "x(2, 2, 4, 3, 3)"),
    ("nn.ConvTranspose1d(2, 4, 3, stride=2)", "x(3, 2, 7)"),
    ("nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1, groups=2)", "x(3, 2, 4, 5)"),
    ("nn.ConvTranspose2d(2, 4, 3, stride=2)", "x(3, 2, 4, 5), [10, 12]"),
    ("nn.ConvTranspose3d(2, 3, 2)", "x(2, 2, 3, 2, 2)"),
    ("nn.LazyConv2d(4, 3, padding=1)", "x(3, 2, 6, 5)"),
    ("nn.LazyConvTranspose2d(4, 3)", "x(3, 2, 6, 5)"),
    *[
        (f"nn.{name}", "x(2, 3, 7, 8)")
        for name in (
            "MaxPool2d(2)",
            "MaxPool2d(3, 2, 1)",
            "MaxPool2d(2, ceil_mode=True)",
            "MaxPool2d(2, 1, dilation=2)",
            "MaxPool2d(2, return_indices=True)",
            "AvgPool2d(2)",
            "AvgPool2d(3, 2, 1, ceil_mode=True)",
            "AvgPool2d(3, 2, 1, count_include_pad=False)",
            "AvgPool2d(2, divisor_override=3)",
            "AdaptiveAvgPool2d(1)",
            "AdaptiveAvgPool2d((3, None))",
            "AdaptiveMaxPool2d(3)",
            "LPPool2d(2, 2)",
            "BatchNorm2d(3)",
            "BatchNorm2d(3).eval()",
            "BatchNorm2d(3, affine=False)",
            "BatchNorm2d(3, momentum=None)",
            "BatchNorm2d(3, track_running_stats=False)",
            "LazyBatchNorm2d()",
            "InstanceNorm2d(3)",
            "InstanceNorm2d(3, affine=True, track_running_stats=True)",
            "LayerNorm(8)",
            "LayerNorm((7, 8))",
            "LayerNorm(8, elementwise_affine=False)",
            "LayerNorm(8, bias=False)",
            "GroupNorm(3, 3)",
            "GroupNorm(1, 3)",
            "RMSNorm(8)",
            "LocalResponseNorm(2)",
            "ZeroPad2d(1)",
            "ZeroPad2d((1, 2, 0, 1))",
            "ConstantPad2d(1, 3.5)",
            "ReflectionPad2d((1, 2, 3, 0))",
            "ReplicationPad2d(2)",
            "CircularPad2d(1)",
        )
    ],
    *[
        (f"nn.{name}", "x(2, 3, 9)")
        for name in (
            "MaxPool1d(2)",
            "AvgPool1d(3)",
            "AdaptiveAvgPool1d(4)",
            "AdaptiveMaxPool1d(4)",
            "BatchNorm1d(3)",
            "InstanceNorm1d(3)",
            "ConstantPad1d(2, 1.0)",
            "ReflectionPad1d(2)",
            "ReplicationPad1d((1, 2))",
            "CircularPad1d(1)",
        )
    ],
    *[
        (f"nn.{name}", "x(2, 3, 4, 5, 4)")
        for name in ("MaxPool3d(2)", "AvgPool3d(2)", "AdaptiveAvgPool3d(2)", "BatchNorm3d(3)", "ReplicationPad3d(1)")
    ],
    ("nn.BatchNorm1d(3)", "x(4, 3)"),
    *[
        (f"nn.{name}", "x(4, 2, 3)")
        for name in (
            "RNN(3, 5)",
            "RNN(3, 5, 2, nonlinearity='relu', bidirectional=True)",
            "LSTM(3, 5)",
            "LSTM(3, 5, 2, batch_first=True, bidirectional=True)",
            "LSTM(3, 5, bias=False)",
            "LSTM(3, 5, proj_size=2)",
            "GRU(3, 5)",
            "GRU(3, 5, 2, dropout=0.5).eval()",
        )
    ],
    ("nn.LSTM(3, 5)", "x(4, 3)"),
    ("nn.GRU(3, 5)", "x(4, 2, 3), x(1, 2, 5)"),
    (
        "nn.LSTM(3, 5, bidirectional=True)",
        "nn.utils.rnn.pack_padded_sequence(x(4, 3, 3), [2, 4, 1], enforce_sorted=False)",
    ),
    ("nn.RNNCell(3, 5)", "x(2, 3)"),
    ("nn.GRUCell(3, 5)", "x(2, 3), x(2, 5)"),
    ("nn.LSTMCell(3, 5)", "x(3)"),
    ("nn.MultiheadAttention(6, 2)", "x(4, 3, 6), x(5, 3, 6), x(5, 3, 6)"),
    ("nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True)", "x(4, 3, 6), x(5, 3, 6), x(5, 3, 6)"),
    ("nn.MultiheadAttention(6, 2, kdim=3, vdim=4, batch_first=True)", "x(2, 4, 6), x(2, 5, 3), x(2, 5, 4)"),
    (
        "nn.MultiheadAttention(6, 2)",
        "x(4, 6), x(5, 6), x(5, 6), torch.tensor([False] * 4 + [True]), True, torch.zeros(4, 5), False",
    ),
    ("nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0)", "x(4, 3, 6)"),
    ("nn.TransformerEncoderLayer(6, 2, 8, 0.0, 'gelu', norm_first=True, batch_first=True, bias=False)", "x(4, 3, 6)"),
    (
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0), 2, nn.LayerNorm(6))",
        "x(4, 3, 6), nn.Transformer.generate_square_subsequent_mask(4)",
    ),
    ("nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0)", "x(4, 3, 6), x(5, 3, 6)"),
    ("nn.Transformer(6, 2, 1, 1, 8, dropout=0.0)", "x(4, 3, 6), x(5, 3, 6)"),
    ("nn.Embedding(5, 3)", "torch.tensor([[0, 2], [4, 2]])"),
    ("nn.Embedding(5, 3, padding_idx=2)", "torch.tensor([[0, 2], [4, 2]])"),
    ("nn.EmbeddingBag(5, 3)", "torch.tensor([[0, 2], [4, 2]])"),
    ("nn.EmbeddingBag(5, 3, mode='sum')", "torch.tensor([0, 2, 4, 2]), torch.tensor([0, 3])"),
    *[
        (f"nn.{name}", "x(3, 4), x(3, 4)")
        for name in (
            "L1Loss()",
            "MSELoss()",
            "MSELoss(reduction='sum')",
            "SmoothL1Loss(beta=0.5)",
            "HuberLoss(delta=0.3)",
            "BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))",
            "KLDivLoss(reduction='batchmean')",
            "PoissonNLLLoss()",
            "HingeEmbeddingLoss()",
            "MultiLabelSoftMarginLoss()",
        )
    ],
    ("nn.SoftMarginLoss()", "x(3), torch.tensor([1.0, -1, 1])"),
    ("nn.BCELoss()", "x(3, 4).sigmoid(), x(3, 4).sigmoid()"),
    ("nn.GaussianNLLLoss()", "x(3, 4), x(3, 4), x(3, 4).exp()"),
    ("nn.CrossEntropyLoss()", "x(3, 4), torch.tensor([0, 3, 1])"),
    ("nn.CrossEntropyLoss(torch.tensor([1.0, 2, 3, 4]), label_smoothing=0.1)", "x(3, 4), torch.tensor([0, 3, -100])"),
    ("nn.CrossEntropyLoss(reduction='none')", "x(3, 4, 2), torch.tensor([[0, 3], [1, 1], [2, 0]])"),
    ("nn.CrossEntropyLoss()", "x(3, 4), x(3, 4).softmax(1)"),
    ("nn.NLLLoss(ignore_index=1)", "x(3, 4).log_softmax(1), torch.tensor([0, 3, 1])"),
    ("nn.MultiMarginLoss()", "x(3, 4), torch.tensor([0, 3, 1])"),
    ("nn.MultiLabelMarginLoss()", "x(2, 4), torch.tensor([[0, 3, -1, 1], [-1, 0, 0, 0]])"),
    ("nn.MarginRankingLoss(0.1)", "x(3), x(3), torch.tensor([1.0, -1, 1])"),
    ("nn.CosineEmbeddingLoss(0.1)", "x(3, 4), x(3, 4), torch.tensor([1, -1, 1])"),
    ("nn.TripletMarginLoss(swap=True)", "x(3, 4), x(3, 4), x(3, 4)"),
]


def run(torch: Any, layer: str, call: str) -> Any:
    """What a layer is and does, in one comparable value."""

    def x(*shape: int) -> Any:
        return torch.randn(shape, requires_grad=True)

    names = {"torch": torch, "nn": torch.nn, "x": x}
    module = eval(layer, names)
    arguments = eval(f"({call},)", names)
    first = [repr(module), sorted(module.state_dict())]
    output = module(*arguments)
    total = output[0] if isinstance(output, tuple) else output
    total = total[0] if isinstance(total, tuple) else total  # a packed sequence
    if total.requires_grad:
        (total * torch.linspace(0.5, 1.5, total.numel()).to(total.dtype).reshape(total.shape)).sum().backward()
    return [
        first,
        repr(module),
        output,
        [parameter.grad for parameter in module.parameters()],
        dict(module.state_dict()),
    ]


@pytest.mark.parametrize(("layer", "call"), LAYERS, ids=[f"{layer} of {call}" for layer, call in LAYERS])
def test_layer_is_torchs(layer: str, call: str) -> None:
    assert_same(lambda torch: run(torch, layer, call), tolerance=2e-5)


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
]


@pytest.mark.parametrize("expression", ERRORS)
def test_error_is_torchs(expression: str) -> None:
    assert_same(lambda torch: repr(eval(expression, {"torch": torch, "nn": torch.nn})))
