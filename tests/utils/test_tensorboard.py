"""The files that a SummaryWriter writes hold the same events as PyTorch's, byte for byte but for the time."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.same import attempt, exactly_the_same

pytest.importorskip("tensorboard", reason="TensorBoard's files are written with its package")

Log = Callable[[Any, Any], Any]
"""Writes something with a writer, and a library's tensors."""


def _numbers(writer: Any, torch: Any) -> None:
    writer.add_scalar("loss", 0.5, 1)
    writer.add_scalar("loss", torch.tensor(0.25, requires_grad=True), torch.tensor(2))
    writer.add_scalar("new", torch.tensor([1.5], dtype=torch.bfloat16), 3, new_style=True)
    writer.add_scalar("double", np.float64(1 / 3), 3, new_style=True, double_precision=True)
    writer.add_scalars("both/of them", {"train": 1.0, "test": torch.ones(())}, 4)


def _histograms(writer: Any, torch: Any) -> None:
    values = torch.arange(50) / 8 - 3
    writer.add_histogram("weights", values, 1)
    writer.add_histogram("few", np.array([2, 2, 5]), 2, bins=10)
    writer.add_histogram("joined", values, bins="auto", max_bins=3)
    writer.add_histogram("joined", values, bins=11, max_bins=4)


def _images(writer: Any, torch: Any) -> None:
    colors = torch.linspace(-0.2, 1.2, 60).reshape(3, 4, 5)
    writer.add_image("image", colors, 1)
    writer.add_image("gray", colors[:1])
    writer.add_image("matrix", colors[0], dataformats="HW")
    writer.add_image("bytes", np.arange(60, dtype=np.uint8).reshape(4, 5, 3), dataformats="HWC")
    writer.add_images("several", colors.repeat(11, 1, 1, 1))
    writer.add_images("several gray", colors.unsqueeze(1))


def _others(writer: Any, torch: Any) -> None:
    writer.add_text("note", "Grüße, *world*", 1)
    writer.add_audio("tone", torch.sin(torch.arange(100) / 4), 2, sample_rate=8000)
    scores = torch.tensor([0.1, 0.4, 0.35, 0.8])
    writer.add_pr_curve("curve", torch.tensor([0, 0, 1, 1]), scores, 3)
    writer.add_pr_curve("curve", np.array([1, 0, 1, 1]), scores.numpy(), num_thresholds=5, weights=2.0)


def _run(writer: Any, torch: Any) -> None:
    hyperparameters = {"lr": 0.1, "name": "sgd", "layers": 3, "fast": True, "none": None, "decay": torch.tensor([0.5])}
    writer.add_hparams(hyperparameters, {"accuracy": 0.9}, {"name": ["sgd", "adam"], "layers": [3, 4]}, "run", 7)


def _embeddings(writer: Any, torch: Any) -> None:
    vectors = torch.arange(6.0).reshape(3, 2) / 4
    writer.add_embedding(vectors, ["a", "b", 3], global_step=2, tag="first/one")
    writer.add_embedding(vectors, [["a", 1], ["b", 2], ["c", 3]], metadata_header=["letter", "number"])
    writer.add_embedding(vectors)


def _figure(writer: Any, torch: Any) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for several in (False, True):
        figure = pyplot.figure(figsize=(1, 1), dpi=20)
        figure.gca().plot([1, 2, 1])
        writer.add_figure("figure", [figure] if several else figure, 1)


def _events(folder: Path) -> dict[str, Any]:
    """The events of all files without their times, and the texts, by their names from the folder on."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    found: dict[str, Any] = {}
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = str(path.relative_to(folder))
        if not path.name.startswith("events.out"):
            found[name] = path.read_text()
            continue
        for raw in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(raw)
            event.ClearField("wall_time")
            event.source_metadata.Clear()
            found.setdefault(str(path.parent.relative_to(folder)), []).append(str(event))
    return found


@pytest.mark.parametrize("log", [_numbers, _histograms, _images, _others, _run, _embeddings, _figure])
@exactly_the_same
def test_events(torch: Any, tmp_path: Path, log: Log) -> Any:
    board = importlib.import_module(f"{torch.__name__}.utils.tensorboard")
    folder = tmp_path / torch.__name__
    with board.SummaryWriter(str(folder), purge_step=1) as writer:
        log(writer, torch)
    return _events(folder)


@exactly_the_same
def test_errors(torch: Any, tmp_path: Path) -> Any:
    board = importlib.import_module(f"{torch.__name__}.utils.tensorboard")
    with board.SummaryWriter(str(tmp_path / torch.__name__)) as writer:
        return [
            attempt(writer.add_scalar, "several", torch.ones(2)),
            attempt(writer.add_scalar, "words", {"a": 1}),
            attempt(writer.add_histogram, "empty", torch.ones(0)),
            attempt(writer.add_audio, "stereo", torch.ones(2, 2)),
            attempt(writer.add_hparams, 1, 2),
            attempt(writer.add_hparams, {"a": [1]}, {}),
            attempt(writer.add_embedding, torch.ones(2, 2), ["a"]),
            attempt(writer.add_embedding, torch.ones(2)),
        ]


def test_a_graph_is_left_out_with_a_warning(tmp_path: Path) -> None:
    import minitorch
    from minitorch.utils.tensorboard import SummaryWriter

    minitorch.set_warn_always(True)
    try:
        with SummaryWriter(str(tmp_path)) as writer, pytest.warns(UserWarning, match="add_graph"):
            writer.add_graph(minitorch.nn.Linear(1, 1), minitorch.ones(1))
    finally:
        minitorch.set_warn_always(False)
