"""Each of PyTorch's modules on the inputs with which PyTorch tests it, made and called in torch and in minitorch.

Compared are what is printed, attributes and state after the default initialisation from the same seed; results, their
nodes and the state after a call, in training and in evaluation; first and second gradients of inputs and parameters;
calls with tensors that lie in memory otherwise; and PyTorch's own wrong calls. `module_exceptions.py` lists what
differs; one that no longer differs fails.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import minitorch
import minitorch.nn
from tests.torch_samples.comparison import differing, first_line, gradients, outcome
from tests.torch_samples.difference import difference
from tests.torch_samples.module_exceptions import MODULE_EXCEPTIONS
from tests.torch_samples.samples import MODULES, leaves, listed, torch, translated

pytestmark = pytest.mark.filterwarnings("ignore")  # compared in tests/nn

MOST_INPUTS = 3  # of a module, a dtype and a mode
FORMATS = {4: "channels_last", 5: "channels_last_3d"}


def pairs(info: Any, dtype: Any) -> Iterator[SimpleNamespace]:
    """The module of both libraries for each of PyTorch's inputs, with the arguments of the call."""
    name = info.module_cls.__name__
    for training in (True, False)[: 1 + info.train_and_eval_differ]:
        torch.manual_seed(7)
        inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
        for sample in random.Random(0).sample(inputs, min(len(inputs), MOST_INPUTS)):
            (made_of, args), (own_made_of, own_args) = arguments(sample)
            torch.manual_seed(1)
            module = info.module_cls(*made_of[0], **made_of[1]).to(dtype).train(training)
            minitorch.manual_seed(1)
            own = getattr(minitorch.nn, name)(*own_made_of[0], **own_made_of[1])
            own = own.to(getattr(minitorch, str(dtype)[6:])).train(training)
            label = f"{name}({listed(*made_of)})({listed(*args)}) in {'training' if training else 'evaluation'}"
            yield SimpleNamespace(label=label, module=module, own=own, args=args, own_args=own_args)


def arguments(sample: Any) -> tuple[list[Any], list[Any]]:
    """For torch and for minitorch: arguments and named arguments of the constructor, and those of the call."""
    inputs = (sample.constructor_input, sample.forward_input)
    theirs = [[list(each.args), each.kwargs] if each else [[], {}] for each in inputs]
    return theirs, translated(theirs)


def called(pair: SimpleNamespace) -> tuple[Any, Any, str | None]:
    """Both results, and the first difference between them."""
    expected, error = outcome(torch, pair.module, *pair.args)
    result, own_error = outcome(minitorch, pair.own, *pair.own_args)
    if error is None and own_error is None:
        return expected, result, difference(expected, result)
    same = first_line(error) == first_line(own_error)
    return None, None, None if same else f"{first_line(error)} expected, got {first_line(own_error)}"


def state(module: Any) -> dict[str, Any]:
    """What is compared of a module itself."""
    values = module.state_dict(keep_vars=True)
    lazy = hasattr(module, "has_uninitialized_params") and module.has_uninitialized_params()
    return {
        "printed": repr(module),
        "attributes": {name for name in vars(module) if name[0] != "_"},
        "state": [list(values), [] if lazy else list(values.values())],
    }


def compared_states(pair: SimpleNamespace) -> str | None:
    theirs, own = state(pair.module), state(pair.own)
    return next(filter(None, (difference(theirs[part], own[part], part) for part in theirs)), None)


def compared_copies(pair: SimpleNamespace) -> str | None:
    """A copy, and one through a pickle, are as the module."""
    for copied in (copy.deepcopy(pair.own), pickle.loads(pickle.dumps(pair.own))):
        if found := compared_states(SimpleNamespace(module=pair.module, own=copied)):
            return f"copied: {found}"
    return None


def compared_nodes(expected: Any, result: Any) -> str | None:
    names = [[each.grad_fn and each.grad_fn.name() for each in leaves([r])] for r in (expected, result)]
    return difference(*names, "nodes")


def compared_gradients(pair: SimpleNamespace, expected: Any, result: Any, twice: bool) -> Iterator[tuple[str, Any]]:
    """First gradients, and second ones if asked for."""
    roots, own_roots = ([each for each in leaves([r]) if each.requires_grad] for r in (expected, result))
    inputs, own_inputs = (
        [each for each in [*leaves(args), *module.parameters()] if each.requires_grad]
        for args, module in ((pair.args, pair.module), (pair.own_args, pair.own))
    )
    grads, own_grads, found = gradients(roots, own_roots, inputs, own_inputs, create_graph=twice)
    yield "gradients", found
    if twice and not found:
        roots, own_roots = ([g for g in each if g is not None and g.requires_grad] for each in (grads, own_grads))
        yield "second gradients", gradients(roots, own_roots, inputs, own_inputs, create_graph=False)[2]


def compared_layouts(pair: SimpleNamespace) -> Iterator[str | None]:
    """Results of tensors with gaps between their elements, and of those with the channels last."""
    args = pair.args
    pair.args = changed(args, with_gaps)
    pair.own_args = translated(pair.args)
    yield called(pair)[2]
    for rank, format in FORMATS.items():
        if any(each.dim() == rank for each in leaves(args)):
            both = ((torch, pair.module), (minitorch, pair.own))
            moved = [outcome(lib, each.to, [], {"memory_format": getattr(lib, format)})[1] for lib, each in both]
            yield difference(*map(first_line, moved), "to()")
            pair.args = changed(args, in_format)
            pair.own_args = translated(pair.args)
            yield called(pair)[2]


def with_gaps(tensor: Any) -> Any:
    """Every other element of a larger tensor."""
    spread = tensor.detach().unsqueeze(-1).repeat_interleave(2, -1)[..., 0]
    return spread.requires_grad_(tensor.requires_grad)


def in_format(tensor: Any) -> Any:
    """An image or a volume with its channels last."""
    if tensor.dim() not in FORMATS:
        return tensor
    format = getattr(torch, FORMATS[tensor.dim()])
    return tensor.detach().to(memory_format=format).requires_grad_(tensor.requires_grad)


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nested lists and dicts with other tensors."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: changed(each, change) for name, each in value.items()}
    return [changed(each, change) for each in value] if type(value) in (list, tuple) else value


def compared(info: Any) -> Iterator[tuple[str, str | None]]:
    """What is compared, and the difference."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for pair in pairs(info, dtype):
            for what, found in compared_pair(pair, dtype, info.supports_gradgrad):
                yield what, found and f"{pair.label}, {dtype}: {found}"


def compared_pair(pair: SimpleNamespace, dtype: Any, twice: bool) -> Iterator[tuple[str, str | None]]:
    yield "state", compared_states(pair)
    yield "copies", compared_copies(pair)
    expected, result, found = called(pair)
    yield f"results in {dtype}", found
    yield "nodes", compared_nodes(expected, result)
    yield "state after a call", compared_states(pair)
    if dtype is torch.float64:
        yield from compared_gradients(pair, expected, result, twice)
    elif dtype is torch.float32:
        for found in compared_layouts(pair):
            yield "layouts", found


def compared_errors(info: Any) -> Iterator[str | None]:
    """PyTorch's own wrong calls, of the constructor or of the module: type of the error and its first line."""
    for training in (True, False):
        options = {"device": "cpu", "dtype": torch.float32, "requires_grad": False, "training": training}
        for wrong in info.module_error_inputs_func(info, **options):
            theirs, own = arguments(wrong.module_error_input)
            _, error = outcome(torch, made_and_called, [torch, info, *theirs], {})
            _, own_error = outcome(minitorch, made_and_called, [minitorch, info, *own], {})
            expected, got = first_line(error), first_line(own_error)
            assert error is not None
            yield None if expected == got else f"{info.name}({listed(*theirs[0])}): {expected} expected, got {got}"


def made_and_called(library: Any, info: Any, made_of: list[Any], args: list[Any]) -> Any:
    module = getattr(library.nn, info.module_cls.__name__)(*made_of[0], **made_of[1])
    return module(*args[0], **args[1])


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    found: dict[str, str | None] = dict.fromkeys(what for what in MODULE_EXCEPTIONS if what != "errors")
    for what, each in compared(MODULES[name]):
        found[what] = found.get(what) or each
    for what, each in found.items():
        differing(iter([each]), MODULE_EXCEPTIONS.get(what, {}), name)


@pytest.mark.parametrize("name", [name for name, info in MODULES.items() if info.module_error_inputs_func])
def test_errors(name: str) -> None:
    differing(compared_errors(MODULES[name]), MODULE_EXCEPTIONS["errors"], name)
