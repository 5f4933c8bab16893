"""Writers of TensorBoard's files. Source: https://pytorch.org/docs/stable/tensorboard.html"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from google.protobuf import text_format
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from minitorch.utils.tensorboard import summary
from minitorch.warn_once import warn_once


class FileWriter:
    """Appends events, each of a step and a time, to a file in a folder."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        folder: str = self.event_writer.get_logdir()
        return folder

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Appends an event, which gets the step and the time, by default now."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Appends a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Writes what is queued."""
        self.event_writer.flush()

    def close(self) -> None:
        """Writes what is queued, and closes the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Begins another file in the folder."""
        self.event_writer.reopen()


class SummaryWriter:
    """Logs numbers, images, histograms and more to files in a folder, which `tensorboard --logdir` shows.

    The folder is `log_dir`, by default one in `runs` that is named after time, machine and `comment`. A closed writer
    opens another file when it is written to.
    Source: https://pytorch.org/docs/stable/tensorboard.html#torch.utils.tensorboard.writer.SummaryWriter
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = str(Path("runs", f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}"))
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.all_writers: dict[str, FileWriter] | None = None
        self.file_writer: FileWriter | None = None
        self._projector_config = ProjectorConfig()
        self._get_file_writer()

    def _open(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def _add(self, value: Any, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(value, step, walltime)

    def get_logdir(self) -> Any:
        """The folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Logs a number. Raises AssertionError for several."""
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Logs several numbers for one plot, each to a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            name = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if name not in self.all_writers:
                self.all_writers[name] = self._open(name)
            self.all_writers[name].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Logs how the elements are distributed. Raises ValueError if there are none."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Logs an image, whose dimensions `dataformats` names: of floats from 0 to 1, or of uint8."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Logs several images as one."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Logs a figure of Matplotlib, or a list of figures, and closes it."""
        if isinstance(figure, list):
            pixels, form = np.stack([summary.figure_pixels(each, close) for each in figure]), "NCHW"
        else:
            pixels, form = summary.figure_pixels(figure, close), "CHW"
        self.add_image(tag, pixels, global_step, walltime, form)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Logs a sound, of amplitudes from −1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Logs text, which is shown as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Logs precision and recall of probabilities, given the true labels, at equally spaced thresholds."""
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, Sequence[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Logs hyperparameters, and the metrics that they led to, to a folder of its own."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        summaries = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete or {})
        folder = Path(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(str(folder)) as writer:
            for each in summaries:
                writer._add(each, global_step, None)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Logs vectors (n, d), with a label for each, or a row of labels if there is a header, for the projector.

        Raises NotImplementedError for images of the labels.
        """
        if label_img is not None:
            raise NotImplementedError("minitorch doesn't write images of labels (label_img)")
        rows = summary.as_array(mat)
        if metadata is not None and len(metadata) != len(rows):
            raise AssertionError("#labels should equal with #data points")
        if rows.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        step, folder = global_step or 0, Path(self._get_file_writer().get_logdir())
        encoded = tag.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")
        part = f"{str(step).zfill(5)}/{encoded}"
        (folder / part).mkdir(parents=True, exist_ok=True)
        embedding = self._projector_config.embeddings.add()
        embedding.tensor_name, embedding.tensor_path = f"{tag}:{str(step).zfill(5)}", f"{part}/tensors.tsv"
        lines = ["\t".join(map(str, row)) for row in rows.tolist()]
        (folder / part / "tensors.tsv").write_text("\n".join(lines) + "\n")
        if metadata is not None:
            embedding.metadata_path = f"{part}/metadata.tsv"
            labels = [[str(each)] for each in metadata] if not metadata_header else [metadata_header, *metadata]
            text = "\n".join("\t".join(map(str, each)) for each in labels)
            (folder / part / "metadata.tsv").write_text(text + "\n")
        (folder / "projector_config.pbtxt").write_text(text_format.MessageToString(self._projector_config))

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Warns that no graph is written."""
        warn_once("minitorch doesn't write graphs to TensorBoard's files; add_graph leaves the graph out.")

    def flush(self) -> None:
        """Writes what is queued."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Writes what is queued, and closes all files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
