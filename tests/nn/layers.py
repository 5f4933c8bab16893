"""Every layer of torch.nn in at least four configurations: how it is made, and what it is called with.

x(2, 3) draws an input whose gradient is compared too.
"""

from __future__ import annotations

import itertools


def each(calls: str | tuple[str, ...], *layers: str) -> list[tuple[str, str]]:
    """Every layer with every call."""
    return list(itertools.product((f"nn.{layer}" for layer in layers), [calls] if isinstance(calls, str) else calls))


def sizes(n: int, *rest: int) -> str:
    """A batch of two with three channels in n dimensions, as x takes it."""
    return ", ".join(map(str, (2, 3, *(rest or (7, 6, 5)[:n]))))


PIECEWISE = ("x(2, 6)", "x()", "x(2, 3, 4).transpose(0, 2)", "x(3).double() * 4")

ACTIVATIONS = [
    *each(
        PIECEWISE,
        "Threshold(0.1, 2.0)", "ReLU()", "RReLU(0.1, 0.3)", "Hardtanh(-0.5, 0.5)", "ReLU6()", "Sigmoid()",
        "Hardsigmoid()", "Tanh()", "SiLU()", "Mish()", "Hardswish()", "ELU(0.5)", "CELU(2.0)", "SELU()", "GELU()",
        "GELU('tanh')", "Hardshrink(0.2)", "LeakyReLU(0.2)", "LogSigmoid()", "Softplus(2, 1)", "Softshrink(0.2)",
        "Softsign()", "Tanhshrink()", "Identity(3, any=2)",
    ),
    *each(
        "x(2, 6) * 1",
        "Threshold(0.1, 2.0, True)", "ReLU(True)", "RReLU(inplace=True)", "Hardtanh(inplace=True)", "ReLU6(True)",
        "Hardsigmoid(True)", "SiLU(True)", "Mish(True)", "Hardswish(True)", "ELU(inplace=True)",
        "CELU(inplace=True)", "SELU(True)", "LeakyReLU(inplace=True)",
    ),
    *each("x(2, 6)", "PReLU()", "PReLU(6, 0.1)", "PReLU(dtype=torch.float32)", "GLU()", "GLU(0)"),
    *each("x(2, 3, 4)", "GLU(2)", "GLU(-1)", "PReLU(3)"),
    *each(("x(2, 3, 4)", "x(2, 3)"), "Softmin(1)", "Softmax(0)", "Softmax(-1)", "LogSoftmax(1)", "Softmin(-2)",
          "LogSoftmax(0)"),
    *each(("x(2, 3, 4, 5)", "x(3, 4, 5)", "x(1, 3, 2, 2).double()", "x(2, 4, 1, 3)"), "Softmax2d()"),
]  # fmt: skip

DROPOUTS = [
    *each(
        ("x(2, 3, 4)", "x(3, 4)"),
        "Dropout(0.3)", "Dropout(0.0)", "Dropout(1.0)", "Dropout1d(0.4)", "Dropout1d(1.0)", "AlphaDropout(0.3)",
        "AlphaDropout(0.0)", "AlphaDropout(1.0)", "FeatureAlphaDropout(0.4)", "FeatureAlphaDropout(1.0)",
        "Dropout(0.4).eval()",
    ),
    *each(("x(2, 3, 4, 5)", "x(2, 3, 4, 1)"), "Dropout2d(0.4)", "Dropout2d(0.0)", "Dropout2d(1.0)"),
    *each(("x(2, 3, 4, 2, 2)", "x(3, 4, 2, 2)"), "Dropout3d(0.4)", "Dropout3d(1.0)"),
    *each("x(2, 3, 4) * 1", "Dropout(0.3, True)", "Dropout1d(0.3, True)", "AlphaDropout(0.3, True)"),
]  # fmt: skip

LINEAR = [
    *each(("x(2, 3)", "x(3)", "x(2, 5, 3)"), "Linear(3, 4)", "Linear(3, 4, bias=False)", "LazyLinear(4)"),
    *each("x(3, 2, 5).transpose(0, 2)", "Linear(3, 4)", "LazyLinear(4, bias=False)"),
    *each("x(2, 3).double()", "Linear(3, 4, dtype=torch.float64)"),
    *each(("x(5, 3), x(5, 4)", "x(3), x(4)", "x(2, 5, 3), x(2, 5, 4)"), "Bilinear(3, 4, 2)",
          "Bilinear(3, 4, 1, bias=False)"),
    *each(("x(2, 3, 4)", "x(2, 6, 2, 1)"), "Flatten()", "Flatten(0, 1)", "Flatten(-2)"),
    *each("x(2, 6)", "Unflatten(1, (2, 3))", "Unflatten(-1, (3, -1))", "Unflatten(0, [2, 1])",
          "Unflatten(1, torch.Size([6, 1]))"),
]  # fmt: skip

CONTAINERS = [
    *each(
        "x(2, 3)",
        "Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))",
        "Sequential()",
        "DataParallel(nn.Linear(3, 4))",
        "DataParallel(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))",
        "DataParallel(nn.Dropout(0.5), None, None, 0)",
        "DataParallel(module=nn.ReLU(), dim=1)",
        "Sequential(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), nn.Dropout(0.5))",
        "Sequential(__import__('collections').OrderedDict(first=nn.Linear(3, 4), second=nn.Tanh()))",
    ),
]


def convolutions() -> list[tuple[str, str]]:
    layers: list[tuple[str, str]] = []
    for n in (1, 2, 3):
        kernel = (3, 2, 2)[:n]
        for name, first in ((f"Conv{n}d", "3, 4"), (f"LazyConv{n}d", "4")):
            layers += each(
                f"x({sizes(n)})",
                f"{name}({first}, 3, padding=1)",
                f"{name}({first}, {kernel}, stride=2, padding={(1, 0, 1)[:n]}, dilation=1, bias=False)",
                f"{name}({first}, 2, padding='same', padding_mode='zeros')",
                f"{name}({first}, 2, padding='valid', dilation=2)",
                f"{name}({first}, 3, padding=1, padding_mode='circular')",
                f"{name}({first}, 3, padding=1, padding_mode='replicate', stride=2)",
                f"{name}({first}, 3, padding='same', padding_mode='reflect')",
            )
            layers += each(f"x({sizes(n)[3:]})", f"{name}({first}, 2)")
        layers += each(f"x({sizes(n)})", f"Conv{n}d(3, 6, 2, groups=3)", f"LazyConv{n}d(6, 2, groups=3)")
        for name, first in ((f"ConvTranspose{n}d", "3, 4"), (f"LazyConvTranspose{n}d", "4")):
            layers += each(
                f"x({sizes(n, *(3, 2, 2)[:n])})",
                f"{name}({first}, 3)",
                f"{name}({first}, 3, stride=2, padding=1, output_padding=1, bias=False)",
                f"{name}({first}, 2, dilation=2)",
            )
            layers += each(f"x({sizes(n, *(3, 2, 2)[:n])[3:]})", f"{name}({first}, {kernel})")
        wanted = [(s - 1) * 2 + 4 for s in (3, 2, 2)[:n]]
        layers += each(f"x({sizes(n, *(3, 2, 2)[:n])}), {wanted}", f"ConvTranspose{n}d(3, 4, 3, stride=2)")
        grouped = (f"ConvTranspose{n}d(3, 6, 2, groups=3)", f"LazyConvTranspose{n}d(6, 2, groups=3, dilation=2)")
        layers += each(f"x({sizes(n, *(3, 2, 2)[:n])})", *grouped)
    return layers


def pools() -> list[tuple[str, str]]:
    layers: list[tuple[str, str]] = []
    for n in (1, 2, 3):
        batched = f"x({sizes(n)})"
        both = (batched, f"x({sizes(n)[3:]})")
        layers += each(
            both,
            f"MaxPool{n}d(2)", f"MaxPool{n}d(3, 2, 1, return_indices=True)", f"MaxPool{n}d(2, 1, dilation=2)",
            f"MaxPool{n}d(2, ceil_mode=True)",
            f"AvgPool{n}d(2)", f"AvgPool{n}d(3, 2, 1, ceil_mode=True)",
            f"AvgPool{n}d(3, 2, 1, count_include_pad=False)", f"AvgPool{n}d({(2, 3, 1)[:n]}, 1)",
            f"AdaptiveAvgPool{n}d(1)", f"AdaptiveAvgPool{n}d({(3, 2, 2)[:n]})", f"AdaptiveMaxPool{n}d(2)",
            f"AdaptiveMaxPool{n}d({(3, 2, 2)[:n]}, return_indices=True)",
        )  # fmt: skip
        layers += each(
            f"{batched}.abs()",
            f"LPPool{n}d(2, 2)", f"LPPool{n}d(3.0, 2, 1)",
            f"LPPool{n}d(1, {(2, (2, 1), (2, 1, 2))[n - 1]}, ceil_mode=True)",
        )  # fmt: skip
        layers += each(f"x({sizes(n)[3:]}).abs()", f"LPPool{n}d(2, 3)")
        pooled, indices = f"{sizes(n, *(3, 2, 2)[:n])}", "torch.arange(2 * 3 * {0}).reshape({1}) % {0}"
        places = indices.format({1: 3, 2: 6, 3: 12}[n], pooled)
        layers += each(
            f"x({pooled}), {places}",
            f"MaxUnpool{n}d(2)", f"MaxUnpool{n}d(3, 2)", f"MaxUnpool{n}d({(3, 2, 2)[:n]}, {(2, 2, 2)[:n]}, 1)",
        )  # fmt: skip
        layers += each(f"x({pooled}), {places}, {[2 * s + 1 for s in (3, 2, 2)[:n]]}", f"MaxUnpool{n}d(2)")
    layers += each("x(2, 3, 7, 6)", "AvgPool2d(2, divisor_override=3)", "AdaptiveAvgPool2d((3, None))")
    layers += each(
        ("x(2, 3, 7, 6)", "x(3, 7, 6)"),
        "FractionalMaxPool2d(2, 3)", "FractionalMaxPool2d((2, 3), output_ratio=(0.5, 0.4))",
        "FractionalMaxPool2d(3, (2, 1), return_indices=True)",
        "FractionalMaxPool2d(2, 3, _random_samples=torch.rand(2, 3, 2))",
    )  # fmt: skip
    layers += each(
        ("x(2, 3, 7, 6, 5)", "x(3, 7, 6, 5)"),
        "FractionalMaxPool3d(2, 3)", "FractionalMaxPool3d((2, 3, 1), output_ratio=(0.5, 0.4, 0.4))",
        "FractionalMaxPool3d(3, (2, 1, 1), return_indices=True)",
    )  # fmt: skip
    return layers


def norms() -> list[tuple[str, str]]:
    layers: list[tuple[str, str]] = []
    for n in (1, 2, 3):
        for name in (f"BatchNorm{n}d(3", f"LazyBatchNorm{n}d("):
            layers += each(
                f"x({sizes(n)})",
                *(f"{name}, {options})".replace("(, ", "(") for options in (
                    "eps=1e-3", "momentum=0.3", "affine=False", "momentum=None", "track_running_stats=False",
                    "bias=False",
                )),
            )  # fmt: skip
        for name in (f"InstanceNorm{n}d(3", f"LazyInstanceNorm{n}d("):
            layers += each(
                f"x({sizes(n)})",
                *(f"{name}, {options})".replace("(, ", "(") for options in (
                    "eps=1e-3", "affine=True", "affine=True, track_running_stats=True", "momentum=0.5",
                )),
            )  # fmt: skip
        layers += each(f"x({sizes(n)[3:]})", f"InstanceNorm{n}d(3)", f"InstanceNorm{n}d(3, track_running_stats=True)")
    layers += each("x(4, 3)", "BatchNorm1d(3)", "LazyBatchNorm1d()", "SyncBatchNorm(3)", "SyncBatchNorm(3, bias=False)")
    layers += each("x(2, 3, 4, 2)", "SyncBatchNorm(3, affine=False)", "SyncBatchNorm(3, momentum=None)")
    layers += each(
        ("x(2, 3, 7, 8)", "x(7, 8)"),
        "LayerNorm(8)", "LayerNorm((7, 8), 1e-3)", "LayerNorm([8], elementwise_affine=False)",
        "LayerNorm(8, bias=False)", "RMSNorm(8)", "RMSNorm((7, 8), 1e-3)", "RMSNorm([8], elementwise_affine=False)",
    )  # fmt: skip
    layers += each(
        ("x(2, 4, 7, 8)", "x(3, 4)"),
        "GroupNorm(2, 4)", "GroupNorm(4, 4, 1e-3)", "GroupNorm(1, 4, affine=False)", "GroupNorm(2, 4, bias=False)",
    )  # fmt: skip
    layers += each(
        ("x(2, 4, 5)", "x(2, 3, 4, 5)"),
        "LocalResponseNorm(2)", "LocalResponseNorm(3, 0.1, 0.5, 2.0)", "LocalResponseNorm(1, k=0.5)",
    )  # fmt: skip
    # Without gradients: torch's are not those of what it computes.
    layers += each(
        "x(2, 7, 3, 2).detach()",
        "CrossMapLRN2d(5)", "CrossMapLRN2d(7, 0.1)", "CrossMapLRN2d(2, 0.1, 0.5, 2)", "CrossMapLRN2d(3, 0.5)",
    )  # fmt: skip
    return layers


def pads() -> list[tuple[str, str]]:
    layers: list[tuple[str, str]] = []
    for n in (1, 2, 3):
        both = (f"x({sizes(n)})", f"x({sizes(n)[3:]})")
        uneven = (1, 2, 0, 1, 2, 0)[: 2 * n]
        for name in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"):
            layers += each(both, f"{name}{n}d(1)", f"{name}{n}d({uneven})")
        layers += each(both, f"ConstantPad{n}d(2, 3.5)", f"ConstantPad{n}d({uneven}, -1.0)")
        layers += each(both, f"ConstantPad{n}d(-1, 0.5)", f"ZeroPad{n}d({(-1, 2)})")
    return layers


RECURRENT = [
    *[
        (f"nn.{kind}({options})", call)
        for kind, options, call in itertools.product(
            ("RNN", "GRU", "LSTM"),
            ("3, 5", "3, 5, 2, bidirectional=True", "3, 5, 2, bias=False, batch_first=True", "3, 5, 2, dropout=0.4"),
            ("x(4, 2, 3)", "x(4, 3)"),
        )
    ],
    *each("x(4, 2, 3), x(1, 2, 5)", "RNN(3, 5, nonlinearity='relu')", "RNN(3, 5, 1, 'relu')", "GRU(3, 5)"),
    *each("x(4, 2, 3), (x(2, 2, 5), x(2, 2, 5))", "LSTM(3, 5, bidirectional=True)", "LSTM(3, 5, 2)"),
    *each(("x(4, 2, 3)", "x(4, 3)"), "LSTM(3, 5, proj_size=2)", "LSTM(3, 5, 2, bidirectional=True, proj_size=2)"),
    *each(
        (
            "nn.utils.rnn.pack_padded_sequence(x(4, 3, 3), [2, 4, 1], enforce_sorted=False)",
            "nn.utils.rnn.pack_padded_sequence(x(4, 3, 3), [4, 2, 2])",
        ),
        "RNN(3, 5)", "GRU(3, 5, 2, bidirectional=True)", "LSTM(3, 5, bidirectional=True)", "LSTM(3, 5, proj_size=2)",
        "LSTM(3, 5, 2, batch_first=True)",
    ),
    *each(("x(2, 3)", "x(3)"), "RNNCell(3, 5)", "RNNCell(3, 5, False, 'relu')", "GRUCell(3, 5)",
          "GRUCell(3, 5, bias=False)", "LSTMCell(3, 5)", "LSTMCell(3, 5, False)"),
    *each("x(2, 3), x(2, 5)", "RNNCell(3, 5)", "GRUCell(3, 5)"),
    *each("x(2, 3), (x(2, 5), x(2, 5))", "LSTMCell(3, 5)"),
]  # fmt: skip

ATTENTION = [
    *each("x(4, 3, 6), x(5, 3, 6), x(5, 3, 6)", "MultiheadAttention(6, 2)", "MultiheadAttention(6, 2, 0.3)",
          "MultiheadAttention(6, 3, bias=False)", "MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True)"),
    *each("x(2, 4, 6), x(2, 5, 3), x(2, 5, 4)", "MultiheadAttention(6, 2, kdim=3, vdim=4, batch_first=True)"),
    *each("x(4, 6), x(5, 6), x(5, 6), torch.tensor([False] * 4 + [True]), True, torch.zeros(4, 5), False",
          "MultiheadAttention(6, 2)"),
    *[
        ("nn.MultiheadAttention(6, 2, batch_first=True)", f"x(2, 4, 6), x(2, 5, 6), x(2, 5, 6), {options}")
        for options in (
            "need_weights=False",
            "average_attn_weights=False",
            "attn_mask=torch.ones(4, 5).triu(2).bool()",
            "attn_mask=torch.ones(4, 4, 5).triu(1).bool()",
            "attn_mask=torch.linspace(0, 1, 20).reshape(4, 5)",
            "attn_mask=torch.zeros(4, 4, 5).fill_(0.5)",
            "key_padding_mask=torch.tensor([[False] * 5, [False, False, True, True, True]])",
            "key_padding_mask=torch.tensor([[0.0] * 5, [0.0, 0.0, -9.0, -9.0, -9.0]])",
            "key_padding_mask=torch.tensor([[False] * 5, [False] * 4 + [True]]), "
            "attn_mask=torch.ones(4, 5).triu(2).bool()",
        )
    ],
    *[
        (f"nn.MultiheadAttention(6, 2, {bias})", "x(4, 2, 6), x(4, 2, 6), x(4, 2, 6), need_weights=False, "
         "attn_mask=nn.Transformer.generate_square_subsequent_mask(4), is_causal=True")
        for bias in ("bias=True", "bias=False")
    ],
]  # fmt: skip

OPTIONS = (
    "dropout=0.0",
    "dropout=0.2, activation='gelu', norm_first=True",
    "dropout=0.0, batch_first=True, bias=False",
    "dropout=0.0, activation=nn.functional.silu, layer_norm_eps=1e-3, norm_first=True, batch_first=True",
)
CAUSAL = "nn.Transformer.generate_square_subsequent_mask(4)"
PADDED = "torch.tensor([[False] * 4, [False, False, True, True], [False, True, True, True], [False] * 4])"
TRANSFORMERS = [
    *[
        (f"nn.TransformerEncoderLayer(6, 2, 8, {options})", call)
        for options in OPTIONS
        for call in ("x(4, 4, 6)", "x(4, 6)", f"x(4, 4, 6), {CAUSAL}, is_causal=True", f"x(4, 4, 6), None, {PADDED}")
    ],
    *[
        (f"nn.TransformerDecoderLayer(6, 2, 8, {options})", call)
        for options in OPTIONS
        for call in (
            "x(4, 4, 6), x(4, 4, 6)",
            "x(4, 6), x(5, 6)",
            f"x(4, 4, 6), x(4, 4, 6), {CAUSAL}, tgt_is_causal=True",
            f"x(4, 4, 6), x(4, 4, 6), None, None, {PADDED}, {PADDED}",
        )
    ],
    *[
        (f"nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True), 2{options})", call)
        for options in ("", ", nn.LayerNorm(6)", ", enable_nested_tensor=False")
        for call in ("x(4, 4, 6)", f"x(4, 4, 6), {CAUSAL}", f"x(4, 4, 6), src_key_padding_mask={PADDED}")
    ],
    *[
        (f"nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0), 2{options})", call)
        for options in ("", ", nn.LayerNorm(6)")
        for call in ("x(4, 4, 6), x(5, 4, 6)", f"x(4, 4, 6), x(5, 4, 6), {CAUSAL}")
    ],
    *[
        (f"nn.Transformer(6, 2, 1, 2, 8, {options})", call)
        for options in OPTIONS
        for call in ("x(4, 4, 6), x(4, 4, 6)", f"x(4, 4, 6), x(4, 4, 6), {CAUSAL}, {CAUSAL}")
    ],
]  # fmt: skip

BAGS = "torch.tensor([0, 2, 4, 2]), torch.tensor([0, 3])"
EMBEDDINGS = [
    *each(
        ("torch.tensor([[0, 2], [4, 2]])", "torch.tensor(1)"),
        "Embedding(5, 3)", "Embedding(5, 3, padding_idx=2)", "Embedding(5, 3, -1, scale_grad_by_freq=True)",
        "Embedding(5, 3, max_norm=1.0, norm_type=1.0)",
        "Embedding.from_pretrained(torch.ones(5, 3), freeze=False)",
    ),
    *each("torch.tensor([[0, 2], [4, 2]])", "EmbeddingBag(5, 3)", "EmbeddingBag(5, 3, mode='max')"),
    *each(BAGS, "EmbeddingBag(5, 3, mode='sum')", "EmbeddingBag(5, 3, padding_idx=2)"),
    *each("torch.tensor([0, 2, 4, 2]), torch.tensor([0, 3, 4])",
          "EmbeddingBag(5, 3, include_last_offset=True, max_norm=1.0)"),
    *each(f"{BAGS}, x(4)", "EmbeddingBag(5, 3, mode='sum')"),
]  # fmt: skip

IMAGES = [
    *each(("x(1, 2, 3, 4)", "x(2, 1, 5, 2)"), "Upsample(scale_factor=2)", "Upsample((4, 5), mode='bilinear')",
          "Upsample(scale_factor=(2, 1.5), mode='bicubic', align_corners=True)",
          "Upsample(scale_factor=1.6, mode='nearest-exact', recompute_scale_factor=True)",
          "UpsamplingNearest2d(scale_factor=2)", "UpsamplingNearest2d((3, 3))", "UpsamplingBilinear2d(scale_factor=2)",
          "UpsamplingBilinear2d((3, 3))"),
    *each("x(1, 2, 3)", "Upsample(5, mode='linear')"),
    *each("x(1, 2, 3, 2, 2)", "Upsample(3, mode='trilinear')"),
    *each(("x(1, 8, 2, 3)", "x(8, 2, 2)"), "PixelShuffle(2)", "PixelShuffle(1)"),
    *each(("x(1, 2, 4, 6)", "x(2, 2, 4)"), "PixelUnshuffle(2)", "PixelUnshuffle(1)"),
    *each(("x(1, 6, 2, 3)", "x(2, 6, 1)"), "ChannelShuffle(2)", "ChannelShuffle(3)"),
    *each(("x(1, 2, 5, 4)", "x(2, 5, 4)"), "Unfold(2)", "Unfold((3, 2), dilation=1, padding=1, stride=2)"),
    *each(("x(1, 8, 6)", "x(8, 6)"), "Fold((3, 4), 2)", "Fold((4, 6), (2, 2), stride=2)"),
]  # fmt: skip

DISTANCES = [
    *each(
        ("x(3, 4), x(3, 4)", "x(3, 4, 2), x(3, 4, 2)"),
        "PairwiseDistance()", "PairwiseDistance(1.0, 1e-3, True)", "CosineSimilarity()", "CosineSimilarity(0, 0.1)",
    ),
]  # fmt: skip

LAYERS = [
    *ACTIVATIONS, *DROPOUTS, *LINEAR, *CONTAINERS, *convolutions(), *pools(), *norms(), *pads(), *RECURRENT,
    *ATTENTION, *TRANSFORMERS, *EMBEDDINGS, *IMAGES, *DISTANCES,
]  # fmt: skip
