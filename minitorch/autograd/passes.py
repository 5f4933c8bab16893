"""What starts a pass over the graph: `backward` and `grad`.

Source: https://pytorch.org/docs/stable/autograd.html
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from operator import index  # reads flags as PyTorch does in C: every integer will do, and what is none raises TypeError
from typing import Any

from minitorch.autograd import engine
from minitorch.autograd.graph import GradientEdge
from minitorch.autograd.node import Edge, accumulator, gradient_edge
from minitorch.dispatch.batched import batched, unbatched
from minitorch.dispatch.declaration import METHODS
from minitorch.dispatch.layers import pushed
from minitorch.dtypes import FLOATING
from minitorch.tensor import Tensor, make_tensor
from minitorch.warn_once import warn_once

Place = Tensor | GradientEdge
"""Where a gradient starts or ends: at a tensor, or at the edge that stands for it."""


def backward(
    tensors: Place | Sequence[Place],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Place | Sequence[Place] | dict[str, Tensor] | None = None,
) -> None:
    """Adds the gradients of `tensors`, weighted by `grad_tensors` and summed, to the `.grad` of the leaves.

    A scalar needs no weight. `retain_graph` (by default `create_graph`) keeps what the nodes saved for a further pass;
    `create_graph` records this pass, so that the gradients can be differentiated; `inputs` restricts the pass to these.
    Raises RuntimeError where no gradient can flow. Source: https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    wanted = None if inputs is None else _places(inputs, "backward")
    roots = _roots(tensors, grad_tensors)
    for each in wanted or ():
        if isinstance(each, Tensor):
            each.retain_grad()
    keep, create_graph = map(bool, map(index, (create_graph if retain_graph is None else retain_graph, create_graph)))
    if create_graph:
        _warn_of_cycle()
    if wanted is None:
        engine.run(roots, keep, create_graph)
        return
    edges = [_edge(each) for each in wanted]
    engine.run(roots, keep, create_graph, frozenset(edges))


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Adds d(self)/d(leaf) to the `grad` of every leaf that this tensor was computed from.

    A scalar needs no `gradient`; else it is the weight of each element, a tensor of this one's shape. What the nodes
    saved is freed unless `retain_graph`; `create_graph` records the pass; `inputs` restricts it to these tensors.
    Returns None. Raises RuntimeError where no gradient can flow, for a tensor of more elements without `gradient`, and
    for a graph that was freed. Source: https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """
    backward(self, gradient, retain_graph, create_graph, None, inputs)


_backward.__name__, _backward.__qualname__ = "backward", "Tensor.backward"
METHODS["backward"] = _backward


def _warn_of_cycle() -> None:
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
        "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
        "the cycle and avoid the leak.",
        stacklevel=4,
    )


def grad(
    outputs: Place | Sequence[Place],
    inputs: Place | Sequence[Place] | dict[str, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs`, weighted by `grad_outputs` and summed, with respect to `inputs`; no `.grad` changes.

    They come as a tuple, or as a dict if the inputs do. An input that the outputs don't depend on raises RuntimeError,
    unless `allow_unused` (its gradient is None) or `materialize_grads` (it is zero). With `is_grads_batched`, the first
    dimension of `grad_outputs` and of the results numbers the passes, which run as one.
    Source: https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    wanted = _places(inputs, "grad")
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    keep, create_graph = map(bool, map(index, (create_graph if retain_graph is None else retain_graph, create_graph)))
    allow_unused = allow_unused is not None and bool(index(allow_unused))
    if is_grads_batched:
        results = _batched(outputs, wanted, grad_outputs, keep, create_graph, allow_unused or materialize_grads)
    else:
        roots = _roots(outputs, grad_outputs)
        edges = [_edge(each) for each in wanted]
        captured = engine.run(roots, keep, create_graph, frozenset(edges), accumulate_leaves=False)
        results = [captured.get(edge) for edge in edges]
    for number, (place, result) in enumerate(zip(wanted, results, strict=True)):
        if result is not None:
            continue
        if materialize_grads:
            if not isinstance(place, Tensor):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            results[number] = place.new_zeros(place.shape, requires_grad=create_graph)
        elif not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {number} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return dict(zip(inputs, results, strict=True)) if isinstance(inputs, dict) else tuple(results)


def _batched(
    outputs: Any, inputs: list[Place], grad_outputs: Any, keep: bool, create_graph: bool, allow_unused: bool
) -> list[Any]:
    """The gradients for many weights at once, as examples of a `vmap`."""
    from minitorch.func.mapping import Vmap  # loads torch.func

    weights = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    level = Vmap(len(weights[0]), "error")
    with pushed(level):
        given = [batched(each, level) for each in weights]
        found = grad(outputs, inputs, given, keep, create_graph, allow_unused=allow_unused)
    return [None if each is None else unbatched(each, level) for each in found]


backward.__module__ = grad.__module__ = "minitorch.autograd"  # where programs and pickles look for them


def _places(inputs: Any, function: str) -> list[Place]:
    """The inputs as a list of tensors and edges. Raises RuntimeError for anything else."""
    if isinstance(inputs, (Tensor, GradientEdge)):
        return [inputs]
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise TypeError(
            f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are "
            "not supported."
        )
    places = list(inputs.values() if isinstance(inputs, dict) else inputs)
    if not places:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    for each in places:
        if not isinstance(each, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(each).__name__}")
    return places


def _edge(place: Place) -> Edge:
    edge = (place.node, place.output_nr) if isinstance(place, GradientEdge) else gradient_edge(place)
    if edge is None and isinstance(place, Tensor) and place.requires_grad:
        return accumulator(place), 0  # a view that was made in no_grad mode is in no graph
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def _roots(tensors: Any, grad_tensors: Any) -> list[tuple[Edge, Tensor]]:
    outputs = [tensors] if isinstance(tensors, (Tensor, GradientEdge)) else list(tensors)
    weights = [grad_tensors] * len(outputs) if grad_tensors is None else grad_tensors
    weights = [weights] if isinstance(weights, Tensor) else list(weights)
    checked: list[Any] = []
    for number, (output, weight) in enumerate(zip(outputs, weights, strict=False)):
        whole = weight is None and isinstance(output, Tensor)
        checked.append(_one(output) if whole else _weight(number, output, weight))
    if len(checked) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(weights)} gradients")
    roots = []
    for number, (output, weight) in enumerate(zip(outputs, checked, strict=True)):
        edge = _edge(output) if isinstance(output, GradientEdge) else gradient_edge(output)
        if edge is None:
            raise RuntimeError(f"element {number} of tensors does not require grad and does not have a grad_fn")
        roots.append((edge, weight))
    return roots


def _one(output: Any) -> Tensor | None:
    """The gradient that a scalar starts with; None where it needs none, which is an error that others raise."""
    array, kind = output._array, output._dtype
    if not output._requires_grad and not output.requires_grad:
        return None
    if array.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if kind.category != FLOATING:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {kind}")
    xp = output._device.xp
    one = xp.ones(array.shape, kind.numpy) if array.ndim else xp.asarray(1, kind.numpy)
    return make_tensor(one, kind, output._device)


def _weight(number: int, output: Place, weight: Any) -> Any:
    """The gradient that an output starts with: the given one, if it fits; for an edge without one, that of a scalar."""
    if isinstance(output, GradientEdge):
        shape, dtype, device = output.node._input_metadata[output.output_nr]
        if weight is None:
            return _one(make_tensor(device.xp.empty(shape, dtype.numpy), dtype, device).requires_grad_())
    elif isinstance(output, Tensor):
        shape, dtype = output.shape, output._dtype
    else:
        raise AssertionError("Expected output to be a torch.Tensor")
    if not isinstance(weight, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
    if weight.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{number}] has a shape of {weight.shape} and output[{number}] has a shape "
            f"of {shape}."
        )
    if weight.dtype.is_complex != dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{number}] has a dtype of {weight.dtype} and output[{number}] has a dtype of {dtype}."
        )
    return weight
