"""Layers and their kin at sizes that networks have, forward and backward, against PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

import minitorch
from benchmarks.measure import least_seconds
from benchmarks.networks import random_labels, random_tensor
from benchmarks.workloads import Action

Layer = Callable[[Any], Callable[[Any], Any]]
"""Given the library, what is applied to the input."""

IMAGES = (16, 32, 32, 32)
ROWS = (64, 512)
SEQUENCES = (16, 50, 64)

LAYERS: dict[str, tuple[Layer, tuple[int, ...]]] = {
    # normalization
    "BatchNorm1d": (lambda torch: torch.nn.BatchNorm1d(512), ROWS),
    "BatchNorm1d, eval": (lambda torch: torch.nn.BatchNorm1d(512).eval(), ROWS),
    "BatchNorm2d": (lambda torch: torch.nn.BatchNorm2d(32), IMAGES),
    "BatchNorm2d, eval": (lambda torch: torch.nn.BatchNorm2d(32).eval(), IMAGES),
    "GroupNorm, 8 groups": (lambda torch: torch.nn.GroupNorm(8, 32), IMAGES),
    "InstanceNorm2d": (lambda torch: torch.nn.InstanceNorm2d(32, affine=True), IMAGES),
    "LayerNorm": (lambda torch: torch.nn.LayerNorm(512), (1024, 512)),
    "RMSNorm": (lambda torch: torch.nn.RMSNorm(512), (1024, 512)),
    # pooling
    "MaxPool2d 2": (lambda torch: torch.nn.MaxPool2d(2), IMAGES),
    "MaxPool2d 3, stride 2, padding 1": (lambda torch: torch.nn.MaxPool2d(3, 2, 1), IMAGES),
    "AvgPool2d 2": (lambda torch: torch.nn.AvgPool2d(2), IMAGES),
    "AvgPool2d 3, stride 2, padding 1": (lambda torch: torch.nn.AvgPool2d(3, 2, 1), IMAGES),
    "AdaptiveAvgPool2d 1": (lambda torch: torch.nn.AdaptiveAvgPool2d(1), IMAGES),
    "AdaptiveAvgPool2d 7": (lambda torch: torch.nn.AdaptiveAvgPool2d(7), IMAGES),
    "AdaptiveMaxPool2d 7": (lambda torch: torch.nn.AdaptiveMaxPool2d(7), IMAGES),
    # convolution
    "Conv1d 5": (lambda torch: torch.nn.Conv1d(64, 64, 5, padding=2), (16, 64, 256)),
    "Conv2d 1": (lambda torch: torch.nn.Conv2d(32, 64, 1), IMAGES),
    "Conv2d 3": (lambda torch: torch.nn.Conv2d(32, 32, 3, padding=1), IMAGES),
    "Conv2d 3, stride 2": (lambda torch: torch.nn.Conv2d(32, 64, 3, 2, 1), IMAGES),
    "Conv2d 3, depthwise": (lambda torch: torch.nn.Conv2d(32, 32, 3, padding=1, groups=32), IMAGES),
    "Conv2d 3, 4 groups": (lambda torch: torch.nn.Conv2d(32, 32, 3, padding=1, groups=4), IMAGES),
    "Conv2d 3, dilation 2": (lambda torch: torch.nn.Conv2d(32, 32, 3, padding=2, dilation=2), IMAGES),
    "Conv2d 7, stride 2": (lambda torch: torch.nn.Conv2d(3, 64, 7, 2, 3), (8, 3, 64, 64)),
    "Conv3d 3": (lambda torch: torch.nn.Conv3d(8, 8, 3, padding=1), (4, 8, 8, 16, 16)),
    "ConvTranspose2d 2, stride 2": (lambda torch: torch.nn.ConvTranspose2d(32, 16, 2, 2), IMAGES),
    "ConvTranspose2d 4, stride 2": (lambda torch: torch.nn.ConvTranspose2d(32, 16, 4, 2, 1), (16, 32, 16, 16)),
    # sequences
    "RNN": (lambda torch: _first(torch.nn.RNN(64, 128, batch_first=True)), SEQUENCES),
    "LSTM": (lambda torch: _first(torch.nn.LSTM(64, 128, batch_first=True)), SEQUENCES),
    "LSTM, 2 layers, both directions": (
        lambda torch: _first(torch.nn.LSTM(64, 64, 2, batch_first=True, bidirectional=True)),
        SEQUENCES,
    ),
    "GRU": (lambda torch: _first(torch.nn.GRU(64, 128, batch_first=True)), SEQUENCES),
    "LSTMCell": (lambda torch: _first(torch.nn.LSTMCell(512, 256)), ROWS),
    "MultiheadAttention": (lambda torch: _attention(torch.nn.MultiheadAttention(64, 4, batch_first=True)), SEQUENCES),
    "scaled_dot_product_attention": (
        lambda torch: lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x),
        (8, 4, 128, 32),
    ),
    "scaled_dot_product_attention, causal": (
        lambda torch: lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True),
        (8, 4, 128, 32),
    ),
    "TransformerDecoderLayer": (lambda torch: _decoder(torch), SEQUENCES),
    "EmbeddingBag, mean": (lambda torch: _bags(torch, "mean"), (10_000, 64)),
    "EmbeddingBag, sum": (lambda torch: _bags(torch, "sum"), (10_000, 64)),
    "EmbeddingBag, max": (lambda torch: _bags(torch, "max"), (10_000, 64)),
    # losses
    "cross_entropy": (lambda torch: _loss(torch, "cross_entropy", random_labels(torch, 1024, 512)), (1024, 512)),
    "cross_entropy, label smoothing": (
        lambda torch: _loss(torch, "cross_entropy", random_labels(torch, 1024, 512), label_smoothing=0.1),
        (1024, 512),
    ),
    "cross_entropy of images": (
        lambda torch: _loss(torch, "cross_entropy", random_labels(torch, 4 * 64 * 64, 21).reshape(4, 64, 64)),
        (4, 21, 64, 64),
    ),
    "binary_cross_entropy_with_logits": (
        lambda torch: _loss(
            torch, "binary_cross_entropy_with_logits", random_labels(torch, 64 * 512, 2).reshape(64, 512) * 1.0
        ),
        ROWS,
    ),
    "mse_loss": (lambda torch: _loss(torch, "mse_loss", random_tensor(torch, *ROWS)), ROWS),
    "smooth_l1_loss": (lambda torch: _loss(torch, "smooth_l1_loss", random_tensor(torch, *ROWS)), ROWS),
    "kl_div": (lambda torch: _loss(torch, "kl_div", random_tensor(torch, *ROWS).softmax(1)), ROWS),
    # activations
    **{
        name: (lambda torch, name=name: getattr(torch.nn, name)(), (64, 4096))
        for name in ("ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "LeakyReLU", "ELU", "Softplus", "Hardswish", "PReLU")
    },
    "Softmax": (lambda torch: torch.nn.Softmax(-1), (1024, 512)),
    "LogSoftmax": (lambda torch: torch.nn.LogSoftmax(-1), (1024, 512)),
    # shapes and images
    "interpolate, nearest": (lambda torch: _interpolated(torch, mode="nearest"), (16, 32, 16, 16)),
    "interpolate, bilinear": (lambda torch: _interpolated(torch, mode="bilinear"), (16, 32, 16, 16)),
    "interpolate, bicubic": (lambda torch: _interpolated(torch, mode="bicubic"), (16, 32, 16, 16)),
    "PixelShuffle": (lambda torch: torch.nn.PixelShuffle(2), IMAGES),
    "pad, constant": (lambda torch: lambda x: torch.nn.functional.pad(x, (1, 1, 1, 1)), IMAGES),
    "pad, reflect": (lambda torch: lambda x: torch.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"), IMAGES),
    "pad, replicate": (lambda torch: lambda x: torch.nn.functional.pad(x, (1, 1, 1, 1), mode="replicate"), IMAGES),
    "unfold": (lambda torch: lambda x: torch.nn.functional.unfold(x, 3, padding=1), (16, 16, 32, 32)),
    "fold": (lambda torch: lambda x: torch.nn.functional.fold(x, (32, 32), 3, padding=1), (16, 144, 1024)),
    "grid_sample": (lambda torch: _sampled(torch), (8, 16, 32, 32)),
    "Dropout": (lambda torch: torch.nn.Dropout(), (1024, 512)),
    "Dropout2d": (lambda torch: torch.nn.Dropout2d(), IMAGES),
    "Linear": (lambda torch: torch.nn.Linear(512, 512), ROWS),
    "Linear of sequences": (lambda torch: torch.nn.Linear(64, 256), SEQUENCES),
    "Bilinear": (lambda torch: _twice(torch.nn.Bilinear(64, 64, 32)), (256, 64)),
    "CosineSimilarity": (lambda torch: _twice(torch.nn.CosineSimilarity()), (1024, 512)),
    "weight_norm of Linear": (
        lambda torch: torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(512, 512)),
        ROWS,
    ),
    "clip_grad_norm_": (lambda torch: _clipped(torch), (1000, 1000)),
}
"""Name, what is timed, and the shape of its input."""


def _first(layer: Any) -> Callable[[Any], Any]:
    return lambda x: layer(x)[0]


def _twice(layer: Any) -> Callable[[Any], Any]:
    return lambda x: layer(x, x)


def _attention(layer: Any) -> Callable[[Any], Any]:
    return lambda x: layer(x, x, x, need_weights=False)[0]


def _decoder(torch: Any) -> Callable[[Any], Any]:
    return _twice(torch.nn.TransformerDecoderLayer(64, 4, 256, dropout=0.0, batch_first=True))


def _bags(torch: Any, mode: str) -> Callable[[Any], Any]:
    words = random_labels(torch, 256 * 32, 10_000).reshape(256, 32)
    return lambda table: torch.nn.functional.embedding_bag(words, table, mode=mode)


def _loss(torch: Any, name: str, target: Any, **options: Any) -> Callable[[Any], Any]:
    return lambda x: getattr(torch.nn.functional, name)(x, target, **options)


def _interpolated(torch: Any, mode: str) -> Callable[[Any], Any]:
    return lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode=mode)


def _sampled(torch: Any) -> Callable[[Any], Any]:
    grid = (random_tensor(torch, 8, 32, 32, 2) / 2).tanh()
    return lambda x: torch.nn.functional.grid_sample(x, grid, align_corners=False)


def _clipped(torch: Any) -> Callable[[Any], Any]:
    parameters = [torch.nn.Parameter(random_tensor(torch, 100, 1000)) for _ in range(10)]
    for each in parameters:
        each.grad = random_tensor(torch, 100, 1000)
    return lambda x: torch.nn.utils.clip_grad_norm_(parameters, 1.0)


def program(lib: Any, name: str) -> Action:
    """A call of the layer and its gradient in the input and the parameters."""
    lib.manual_seed(0)
    make, shape = LAYERS[name]
    layer = make(lib)
    x = random_tensor(lib, *shape).requires_grad_()
    output = layer(x)
    if not output.requires_grad:
        return lambda: layer(x)
    grad = lib.ones_like(output)
    parameters = list(layer.parameters()) if hasattr(layer, "parameters") else []

    def run() -> None:
        layer(x).backward(grad)
        for each in [x, *parameters]:
            each.grad = None

    return run


def measured(chosen: list[str]) -> Iterator[tuple[str, float, float]]:
    """Name, seconds and PyTorch's seconds."""
    for name in chosen:
        best = least_seconds({"minitorch": program(minitorch, name), "torch": program(torch, name)}, 0.3)
        yield name, best["minitorch"], best["torch"]


def report(chosen: list[str]) -> str:
    """The ratios as Markdown, the worst first."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = sorted(measured(chosen), key=lambda row: row[2] / row[1])
    lines = ["| layer, forward + backward | minitorch | PyTorch | ÷ |", "|---|--:|--:|--:|"]
    lines += [
        f"| {name} | {own * 1e3:,.3f} ms | {reference * 1e3:,.3f} ms | **{own / reference:.2f}** |"
        for name, own, reference in rows
    ]
    return "\n".join(lines) + "\n"
