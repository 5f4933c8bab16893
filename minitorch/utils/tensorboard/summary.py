"""What a logged value becomes in a file of TensorBoard: a protocol buffer, which a plugin of TensorBoard reads.

Source: https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/summary.proto
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import io
import math
import wave
from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from minitorch.dtypes import bfloat16
from minitorch.tensor import Tensor

Array = np.ndarray[Any, Any]


def as_array(value: Any) -> Array:
    """A tensor, an array or a number as an array. Raises NotImplementedError for anything else."""
    if isinstance(value, np.ndarray):
        return value
    if np.isscalar(value):
        return np.array([value])
    if isinstance(value, Tensor):
        return (value.half() if value.dtype is bfloat16 else value).detach().cpu().numpy()
    raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")


def _summary(tag: str, plugin: str = "", content: bytes = b"", **value: Any) -> Any:
    """A summary of one value, which is for a plugin if that is given."""
    if plugin:
        value["metadata"] = SummaryMetadata(plugin_data={"plugin_name": plugin, "content": content})
    return Summary(value=[Summary.Value(tag=tag, **value)])


def scalar(tag: str, value: Any, new_style: bool = False, double_precision: bool = False) -> Any:
    """One number; the new style is a tensor."""
    array = as_array(value).squeeze()
    if array.ndim:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions).             "
            f"Was given size: {array.size} and {array.ndim} dimensions."
        )
    if not new_style:
        return _summary(tag, simple_value=float(array))
    kind = "double" if double_precision else "float"
    return _summary(tag, "scalars", tensor=TensorProto(**{f"{kind}_val": [float(array)]}, dtype=f"DT_{kind.upper()}"))


def _default_bins() -> list[float]:
    """TensorFlow's limits: 0, and each 1.1 times the one before, from 10⁻¹² to 10²⁰, of both signs."""
    limits = [1e-12]
    while (following := limits[-1] * 1.1) < 1e20:
        limits.append(following)
    return [-each for each in reversed(limits)] + [0.0] + limits


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None) -> Any:
    """How many of the values lie below each limit and above the one before it."""
    array = as_array(values).astype(float).reshape(-1)
    if not array.size:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(
        array, bins=_default_bins() if isinstance(bins, str) and bins == "tensorflow" else bins
    )
    if max_bins is not None and len(counts) > max_bins:
        joined = len(counts) // max_bins
        if len(counts) % joined:
            counts = np.pad(counts, (0, joined - len(counts) % joined))
        counts = counts.reshape(-1, joined).sum(-1)
        limits = np.append(limits[:-1:joined], limits[-1])
    filled = np.flatnonzero(counts)
    start, end = int(filled[0]), int(filled[-1]) + 1
    counts = counts[start - 1 : end] if start else np.append(0, counts[:end])  # an empty bin has the first limit
    return _summary(
        tag,
        histo=HistogramProto(
            min=array.min(),
            max=array.max(),
            num=array.size,
            sum=array.sum(),
            sum_squares=array.dot(array),
            bucket_limit=limits[start : end + 1].tolist(),
            bucket=counts.tolist(),
        ),
    )


def _grid(images: Array) -> Array:
    """Images (n, 3, h, w) side by side, eight in a row: (3, rows · h, columns · w)."""
    count, _, height, width = images.shape
    columns = min(count, 8)
    grid = np.zeros((3, math.ceil(count / columns) * height, columns * width), images.dtype)
    for number, each in enumerate(images):
        y, x = number // columns * height, number % columns * width
        grid[:, y : y + height, x : x + width] = each
    return grid


def _height_width_colors(image: Array, form: str) -> Array:
    """An image, or several as a grid, as (h, w, colors), where gray becomes three equal colors."""
    form = form.upper()
    if len(set(form)) != len(form) or image.ndim != len(form):
        raise AssertionError(
            "size of input tensor and input format are different.         "
            f"tensor shape: {image.shape}, input_format: {form}"
        )
    wanted = {2: "HW", 3: "HWC", 4: "NCHW"}[len(form)]
    image = image.transpose([form.index(each) for each in wanted])
    if wanted == "HW":
        return np.stack([image] * 3, 2)
    if wanted == "NCHW":
        return _grid(np.repeat(image, 3, 1) if image.shape[1] == 1 else image).transpose(1, 2, 0)
    return np.repeat(image, 3, 2) if image.shape[2] == 1 else image


def image(tag: str, values: Any, form: str) -> Any:
    """An image as PNG: values are from 0 to 255 for uint8, else from 0 to 1, and are clamped."""
    from PIL import Image  # heavy, and needed for images alone

    array = as_array(values)
    scale = 1 if array.dtype == np.uint8 else 255
    array = (_height_width_colors(array, form).astype(np.float32) * scale).clip(0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(array).save(file, format="PNG")
    height, width, colors = array.shape
    data = {"height": height, "width": width, "colorspace": colors, "encoded_image_string": file.getvalue()}
    return _summary(tag, image=Summary.Image(**data))


def figure_pixels(figure: Any, close: bool) -> Array:
    """A figure of Matplotlib as (3, h, w)."""
    from matplotlib import pyplot  # heavy, and needed for figures alone
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1)
    if close:
        pyplot.close(figure)
    return pixels


def audio(tag: str, values: Any, sample_rate: int) -> Any:
    """A sound, of amplitudes from −1 to 1, as WAV."""
    array = as_array(values).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes((array * np.iinfo(np.int16).max).astype("<i2").tobytes())
    data = {"sample_rate": sample_rate, "num_channels": 1, "length_frames": array.size, "content_type": "audio/wav"}
    return _summary(tag, audio=Summary.Audio(**data, encoded_audio_string=file.getvalue()))


def text(tag: str, words: str) -> Any:
    """Text, which TensorBoard shows as Markdown."""
    content = TextPluginData(version=0).SerializeToString()
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype="DT_STRING", string_val=[words.encode()], tensor_shape=shape)
    return _summary(f"{tag}/text_summary", "text", content, tensor=tensor)


def pr_curve(tag: str, labels: Any, predictions: Any, thresholds: int, weights: Any) -> Any:
    """True and false positives and negatives, precision and recall at equally spaced thresholds."""
    thresholds = min(thresholds, 127)
    label = as_array(labels).astype(np.float64)
    bins = np.floor(as_array(predictions) * (thresholds - 1)).astype(np.int32)
    weight = 1.0 if weights is None else weights
    true, false = (
        np.histogram(bins, thresholds, (0, thresholds - 1), weights=each * weight)[0][::-1].cumsum()[::-1]
        for each in (label, 1.0 - label)
    )
    missed = true[0] - true
    precision, recall = true / np.maximum(1e-7, true + false), true / np.maximum(1e-7, true + missed)
    rows = np.stack((true, false, false[0] - false, missed, precision, recall))
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in rows.shape])
    content = PrCurvePluginData(version=0, num_thresholds=thresholds).SerializeToString()
    tensor = TensorProto(dtype="DT_FLOAT", float_val=rows.reshape(-1).tolist(), tensor_shape=shape)
    return _summary(tag, "pr_curves", content, tensor=tensor)


def hparams(parameters: dict[str, Any], metrics: dict[str, Any], domains: dict[str, Sequence[Any]]) -> list[Any]:
    """Three summaries: which hyperparameters and metrics there are, the values of this run, and that it has ended."""
    start, infos = plugin_data_pb2.SessionStartInfo(), []
    for name, value in parameters.items():
        if value is None:
            continue
        if not isinstance(value, (int, float, str, Tensor)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        words = isinstance(value, str)
        field = "string_value" if words else "number_value"
        setattr(start.hparams[name], field, as_array(value)[0] if isinstance(value, Tensor) else value)
        kind = api_pb2.DataType.Value("DATA_TYPE_STRING" if words else "DATA_TYPE_FLOAT64")
        infos.append(api_pb2.HParamInfo(name=name, type=kind))
        if name in domains:
            for each in domains[name]:
                setattr(infos[-1].domain_discrete.values.add(), field, each)
    measured = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metrics]
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    data = {
        metadata.EXPERIMENT_TAG: {"experiment": api_pb2.Experiment(hparam_infos=infos, metric_infos=measured)},
        metadata.SESSION_START_INFO_TAG: {"session_start_info": start},
        metadata.SESSION_END_INFO_TAG: {"session_end_info": end},
    }
    version = metadata.PLUGIN_DATA_VERSION
    return [
        _summary(
            tag, metadata.PLUGIN_NAME, plugin_data_pb2.HParamsPluginData(**each, version=version).SerializeToString()
        )
        for tag, each in data.items()
    ]
