"""`export`: a module, traced on example inputs, becomes a model in ONNX's format.

Source: https://pytorch.org/docs/stable/onnx_export.html
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from minitorch import random
from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.modules.module import Module
from minitorch.onnx import layouts, messages  # noqa: F401 (layouts declares how its ops are written)
from minitorch.onnx.errors import OnnxExporterError, UnsupportedOperatorError
from minitorch.onnx.folding import drop_unused, fold_batch_norms
from minitorch.onnx.operators import OPERATORS
from minitorch.onnx.program import ONNXProgram
from minitorch.onnx.sizes import Open, enlarged, merge
from minitorch.onnx.tracing import Trace, trace
from minitorch.onnx.writing import ModelWriter
from minitorch.tensor import Tensor

OPSET = 20
"""What PyTorch 2.13 writes if it isn't asked for another opset."""

_exporting = False


def is_in_onnx_export() -> bool:
    """Whether an export is under way: a module's forward may ask."""
    return _exporting


def export(
    model: Module,
    args: tuple[Any, ...] = (),
    f: str | os.PathLike[str] | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None,
    custom_translation_table: dict[Any, Any] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: Any = None,
    operator_export_type: Any = None,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:
    """Run a module once on example inputs, and make a model in ONNX's format of the ops that it called.

    Tensors among `args` are the model's inputs, anything else is fixed. `dynamic_shapes` or `dynamic_axes` name the
    lengths that stay open, `{"x": {0: "batch"}}`; all others are those of the examples. With `dynamo`, which
    doesn't need PyTorch's compiler here, a program that asks a tensor for its value is refused, and the result is
    an ONNXProgram; without, the module is switched to evaluation meanwhile, and traced with a warning. If there is a
    path `f`, the model is saved there.

    Raises NotImplementedError for an argument that isn't supported, UnsupportedOperatorError for an op that isn't, and
    OnnxExporterError for a program that can't be a graph.
    Source: https://pytorch.org/docs/stable/onnx_export.html#torch.onnx.export
    """
    _refuse(
        kwargs=kwargs,
        custom_translation_table=custom_translation_table,
        report=report,
        verify=verify,
        profile=profile,
        dump_exported_program=dump_exported_program,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        training=training,
        operator_export_type=operator_export_type,
        custom_opsets=custom_opsets,
        export_modules_as_functions=export_modules_as_functions,
    )
    if not export_params:
        raise NotImplementedError("onnx.export: export_params=False is not supported")
    opset = OPSET if opset_version is None else opset_version
    if not 18 <= opset <= 23:
        raise NotImplementedError(f"onnx.export: opset_version={opset} is not supported, only 18 to 23")
    if not isinstance(model, Module):
        raise OnnxExporterError(f"Failed to export the model: expected a torch.nn.Module, got {type(model).__name__}")
    if not dynamo and f is None:
        raise ValueError("onnx.export: with dynamo=False a path is needed")
    if dynamo and model.training:
        warnings.warn(
            "Exporting a model while it is in training mode. Please ensure that this is intended, as it may lead to "
            "different behavior during inference. Calling model.eval() before export is recommended.",
            UserWarning,
            stacklevel=2,
        )
    args = args if isinstance(args, tuple) else (args,)
    names = _input_names(model, args, input_names)
    axes = _axes(names, args, dynamic_shapes, dynamic_axes)
    traced, lengths = _traced(model, args, axes, dynamo)
    if optimize:
        fold_batch_norms(traced)
    drop_unused(traced)
    program = _written(model, traced, names, output_names, axes, lengths, opset)
    if f is not None:
        program.save(f, external_data=external_data and dynamo)
    return program if dynamo else None


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"onnx.export: {name}={value!r} is not supported")


def _input_names(model: Module, args: tuple[Any, ...], given: Sequence[str] | None) -> dict[int, str]:
    """The name of each tensor among the arguments: as given, or as `forward` calls it."""
    parameters = list(inspect.signature(model.forward).parameters.values())
    own: list[str] = []
    for place in range(len(args)):
        known = parameters[min(place, len(parameters) - 1)] if parameters else None
        if known is None or known.kind is inspect.Parameter.VAR_POSITIONAL:
            own.append(f"input_{place}")
        else:
            own.append(known.name)
    tensors = [place for place, each in enumerate(args) if isinstance(each, Tensor)]
    if not tensors:
        raise OnnxExporterError("onnx.export: the model needs at least one tensor as an example input")
    return {place: given[n] if given and n < len(given) else own[place] for n, place in enumerate(tensors)}


def _axes(
    names: dict[int, str], args: tuple[Any, ...], shapes: Any, axes: Mapping[str, Any] | None
) -> dict[tuple[int, int], str]:
    """The open lengths: for an argument's place and a dimension, the name."""
    if shapes is None and axes is None:
        return {}
    described: dict[int, Any] = {}
    if shapes is not None and not isinstance(shapes, dict):
        described = dict(enumerate(shapes))
    else:
        source = shapes if shapes is not None else axes or {}
        places = {name: place for place, name in names.items()}
        unknown = [name for name in source if name not in places]
        if shapes is not None and unknown:
            raise OnnxExporterError(f"dynamic_shapes names {unknown[0]!r}, the inputs are {', '.join(places)}")
        described = {places[name]: each for name, each in source.items() if name in places}
    found: dict[tuple[int, int], str] = {}
    for place, each in described.items():
        for dim, name in _open_dims(each, shapes is None):
            if name is None or isinstance(name, int):
                continue
            if not isinstance(name, str):
                raise NotImplementedError(f"onnx.export: a dynamic length must be named by a string, got {name!r}")
            found[place, dim % args[place].dim()] = name or f"{names[place]}_dim_{dim}"
    return found


def _open_dims(described: Any, automatic: bool) -> list[tuple[int, Any]]:
    """The pairs of dimension and name of one input; in a list of `dynamic_axes` the names are left to us."""
    if described is None:
        return []
    if isinstance(described, Mapping):
        return list(described.items())
    return [(dim, "") for dim in described] if automatic else list(enumerate(described))


@contextmanager
def _evaluated(model: Module) -> Iterator[None]:
    """Evaluation meanwhile; afterwards all of the module is in the mode that it had as a whole, as with PyTorch."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _traced(
    model: Module, args: tuple[Any, ...], axes: dict[tuple[int, int], str], strict: bool
) -> tuple[Trace, dict[str, int]]:
    """The trace of the module, merged with those in which a length is larger; and the lengths of the examples."""
    lengths: dict[str, int] = {}
    for (place, dim), name in axes.items():
        length = args[place].shape[dim]
        if lengths.setdefault(name, length) != length:
            raise OnnxExporterError(f"{name} is {lengths[name]} in one example and {length} in another")

    def run(symbol: str | None) -> Trace:
        inputs = list(args)
        for (place, dim), name in axes.items():
            if name == symbol:
                inputs[place] = enlarged(inputs[place], dim)
        inputs = [each.detach().clone() if isinstance(each, Tensor) else each for each in inputs]
        tensors = [each for each in inputs if isinstance(each, Tensor)]
        return trace(lambda: model(*inputs), tensors, strict)[0]

    global _exporting
    state, _exporting = random.get_rng_state(), True
    try:
        with no_grad(), nullcontext() if strict else _evaluated(model):
            first = run(None)
            if not bool((random.get_rng_state() == state).all()):
                raise UnsupportedOperatorError(
                    "random numbers can't be exported to ONNX: a file would hold those of the example. Call "
                    "model.eval() before export."
                )
            return merge(first, {name: run(name) for name in lengths}), lengths
    finally:
        _exporting = False
        random.set_rng_state(state)


def _written(
    model: Module,
    traced: Trace,
    names: dict[int, str],
    output_names: Sequence[str] | None,
    axes: dict[tuple[int, int], str],
    lengths: dict[str, int],
    opset: int,
) -> ONNXProgram:
    """The trace as a program: a node, or a few, for each call."""
    writer = ModelWriter(opset, {**dict(model.named_parameters()), **dict(model.named_buffers())}, lengths)
    writer.names.update(dict(zip(traced.inputs, names.values(), strict=True)))
    writer.sources = {name: (names[place], dim) for (place, dim), name in reversed(axes.items())}
    for call in traced.calls:
        if call.op not in OPERATORS:
            raise UnsupportedOperatorError(f"{call.op} can't be exported to ONNX")
        writer.call = call
        made = OPERATORS[call.op](writer, *call.args)
        results = made if isinstance(made, tuple) else (made,)
        writer.names.update(dict(zip(call.outputs, results, strict=True)))

    def described(name: str, value: Any) -> bytes:
        shape = [each.text(lengths) if isinstance(each, Open) else int(each) for each in value.shape]
        return messages.value_info(name, value.dtype, shape)

    outputs = []
    for place, value in enumerate(traced.outputs):
        name = output_names[place] if output_names and place < len(output_names) else f"output_{place}"
        writer.finish(value, name)
        outputs.append(described(name, value))
    inputs = [described(names[place], value) for place, value in zip(names, traced.inputs, strict=True)]
    return ONNXProgram(writer, inputs, outputs)
