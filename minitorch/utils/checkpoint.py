"""Less memory for more time: what a part of the graph saves is thrown away, and computed again in backward.

Without `use_reentrant`, nodes keep a number in the place of each tensor. When backward asks for the first of them, the
function runs again, up to its last saved tensor, and what its nodes save now are the tensors. With `use_reentrant`, the
whole part is one node whose backward runs the function again and then a backward pass of its own.
Source: https://pytorch.org/docs/stable/checkpoint.html; Chen et al. 2016, arXiv:1604.06174
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from minitorch import Tensor, autocast, autograd, default_generator, enable_grad, fork_rng, is_autocast_enabled, no_grad
from minitorch.autograd import engine
from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.graph import saved_tensors_hooks
from minitorch.autograd.saved import PUSHED, SavedTensor, default_hooks
from minitorch.random import default_gpu_generator
from minitorch.utils._pytree import tree_leaves

__all__ = [
    "CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "create_selective_checkpoint_contexts", "detach_variable", "noop_context_fn", "set_checkpoint_early_stop",
]  # fmt: skip

Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


class CheckpointError(RuntimeError):
    """The function did something else when it ran again."""


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """The default of `context_fn`: nothing around the first run, nothing around the second."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_METADATA: dict[str, Callable[[Tensor], Any]] = {
    "default": lambda tensor: {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device},
    "none": lambda tensor: None,
}

_early_stop: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside, says for all checkpoints whether a recomputation stops at the last tensor that is needed.

    Source: https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.set_checkpoint_early_stop
    """
    global _early_stop
    previous, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = previous


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Raises NotImplementedError: PyTorch's policies choose among `torch.ops`, which minitorch doesn't have.

    Source: https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.create_selective_checkpoint_contexts
    """
    raise NotImplementedError(
        "create_selective_checkpoint_contexts is not supported: there are no torch.ops for a policy to choose among"
    )


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, of which only the arguments are kept: backward computes the rest again, with the
    same random numbers unless `preserve_rng_state` is false.

    `context_fn` gives context managers for the first and for the second run. That both save tensors of the same shapes
    and dtypes is checked (CheckpointError) unless `determinism_check` is "none". With `use_reentrant=True`, keyword
    arguments and `context_fn` raise ValueError, and only `backward()` without `inputs` can follow. Raises
    NotImplementedError for `debug`. Source: https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.checkpoint
    """
    if use_reentrant is None:
        _warn_of_default(
            "", "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception."
        )
        use_reentrant = True
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant:
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if debug:
        raise NotImplementedError("checkpoint: debug is not supported")
    if determinism_check not in _METADATA:
        raise ValueError(f"determinism_check should be one of {list(_METADATA)}, but got {determinism_check}")
    first, second = context_fn()
    if not grad_mode.enabled:
        return function(*args, **kwargs)
    restored = _restored(preserve_rng_state, (args, kwargs))

    def run_again(*again: Any) -> None:
        with restored(), second:
            function(*again, **kwargs)

    stops = early_stop if _early_stop is None else _early_stop
    recomputation = Recomputation(run_again, args, _METADATA[determinism_check], stops)
    with saved_tensors_hooks(recomputation.number, recomputation.tensor), first:
        result = function(*args, **kwargs)
    recomputation.forward_is_complete = True
    return result


def _warn_of_default(function: str, announcement: str) -> None:
    warnings.warn(
        f"torch.utils.checkpoint{function}: the use_reentrant parameter should be passed explicitly. {announcement} "
        "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
        "use_reentrant=True. Refer to docs for more details on the differences between the two variants.",
        stacklevel=3,
    )


def _restored(preserve_rng_state: bool, args: Sequence[Any]) -> Callable[[], AbstractContextManager[None]]:
    """A context manager that puts autocast, and the generators of the CPU and of the arguments' GPUs, in the state in
    which they are now.
    """
    gpus = {each.get_device() for each in tree_leaves(args) if isinstance(each, Tensor) and each.is_cuda}
    generators = [default_generator, *map(default_gpu_generator, gpus)] if preserve_rng_state else []
    states = [(each, each.get_state_array()) for each in generators]
    # The dtypes are the ones that are set now.
    on_cpu, on_gpu = (autocast(kind, enabled=is_autocast_enabled(kind)) for kind in ("cpu", "cuda"))

    @contextlib.contextmanager
    def as_it_was() -> Iterator[None]:
        with fork_rng(enabled=bool(states)), on_cpu, on_gpu:
            for generator, state in states:
                generator.set_state_array(state)
            yield

    return as_it_was


class Number:
    """What a node keeps in the place of a saved tensor: which of them it is."""

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: int) -> None:
        self.value = value


class StopRecomputationError(Exception):
    """Ends a recomputation that has computed all that is needed."""


class Recomputation:
    """The tensors that a function's nodes save, by number: there for each backward pass that asks for them."""

    def __init__(
        self, function: Callable[..., None], args: Sequence[Any], metadata: Callable[[Tensor], Any], early_stop: bool
    ) -> None:
        self.function = function
        self.args = [_kept(each) for each in args]
        self.metadata = metadata
        self.early_stop = early_stop
        self.forward_is_complete = False
        self.numbers: list[weakref.ref[Number]] = []
        self.described: list[Any] = []
        self.tensors: weakref.WeakKeyDictionary[engine.Pass, dict[int, Tensor]] = weakref.WeakKeyDictionary()

    def number(self, tensor: Tensor) -> Number:
        """The pack hook of the first run."""
        number = Number(len(self.numbers))
        self.numbers.append(weakref.ref(number))
        self.described.append(self.metadata(tensor))
        return number

    def tensor(self, number: Number) -> Tensor:
        """The unpack hook: the tensor of that number. The first that is asked for has all of them computed."""
        this = engine.current.of_thread or engine.Pass()
        if this not in self.tensors:
            self.tensors[this] = self.compute()
        if number.value not in self.tensors[this]:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you "
                "are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an "
                "issue with details on your use case."
            )
        return self.tensors[this].pop(number.value)

    def compute(self) -> dict[int, Tensor]:
        """Runs the function again: the tensors that it saves and that are still needed."""
        tensors: dict[int, Tensor] = {}
        count = 0
        surplus_is_fine = False

        def keep(tensor: Tensor) -> Tensor:
            nonlocal count, surplus_is_fine
            tensor = tensor.detach() if tensor.requires_grad else tensor
            number, count = count, count + 1
            if number >= len(self.numbers):
                surplus_is_fine = surplus_is_fine or not self.forward_is_complete
                if surplus_is_fine:
                    return tensor
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    "forward pass.\n"
                )
            if self.numbers[number]() is not None:
                tensors[number] = tensor
            if self.early_stop and count == len(self.numbers):
                raise StopRecomputationError
            return tensor

        args = [each.unpack(None) if isinstance(each, SavedTensor) else each for each in self.args]
        with (
            contextlib.suppress(StopRecomputationError),
            saved_tensors_hooks(keep, lambda tensor: tensor),
            enable_grad(),
        ):
            self.function(*args)
        if not surplus_is_fine:
            self.check(tensors, count)
        return tensors

    def check(self, tensors: dict[int, Tensor], count: int) -> None:
        if count != len(self.numbers):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.numbers)}\n"
                f"Number of tensors saved during recomputation: {count}.\n"
            )
        different = "".join(
            f"tensor at position {number}:\nsaved metadata: {self.described[number]}\n"
            f"recomputed metadata: {self.metadata(tensor)}\n"
            for number, tensor in tensors.items()
            if self.metadata(tensor) != self.described[number]
        )
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{different}.\n"
            )


def _kept(argument: Any) -> Any:
    """An argument, guarded as a saved tensor if it is a tensor: so a checkpoint around this one can drop it too."""
    if not isinstance(argument, Tensor):
        return argument
    saved = SavedTensor(argument, False)
    if PUSHED and default_hooks.pairs:
        saved.pack_by_default(None)
    return saved


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The indices of the GPUs that the tensors among the arguments lie on, and the states of their generators."""
    ids = sorted({each.get_device() for each in tree_leaves(args) if isinstance(each, Tensor) and each.is_cuda})
    return ids, [default_gpu_generator(each).get_state() for each in ids]


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Puts the generators of GPUs into these states."""
    for index, state in zip(devices, states, strict=True):
        default_gpu_generator(index).set_state(state)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Leaves with the memory of the tensors among the inputs."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each for each in inputs
    )


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warns if no tensor among the inputs requires grad."""
    if not any(isinstance(each, Tensor) and each.requires_grad for each in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """Runs a function without recording it; its backward runs it again, and a backward pass through that."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.restored = _restored(preserve_rng_state, args)
        ctx.others = [None if isinstance(each, Tensor) else each for each in args]
        ctx.save_for_backward(*(each if isinstance(each, Tensor) else None for each in args))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        this = engine.current.of_thread
        while this is not None:
            if this.needed is not None:
                raise RuntimeError(
                    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
                    "`inputs` parameter to .backward(). To resolve this error, you can either set "
                    "use_reentrant=False, or call .backward() without passing the `inputs` argument."
                )
            this = this.outer
        pairs = zip(ctx.saved_tensors, ctx.others, strict=True)
        inputs = detach_variable(tuple(other if tensor is None else tensor for tensor, other in pairs))
        with ctx.restored(), enable_grad():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        recorded = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not recorded:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        autograd.backward([output for output, _ in recorded], [grad for _, grad in recorded])
        return (None, None, *(each.grad if isinstance(each, Tensor) else None for each in inputs))


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """The functions, or the layers of a Sequential, one after the other: in segments, of which all but the last are
    checkpoints. The only further argument is `preserve_rng_state`.

    Source: https://pytorch.org/docs/stable/checkpoint.html#torch.utils.checkpoint.checkpoint_sequential
    """
    if use_reentrant is None:
        _warn_of_default(
            ".checkpoint_sequential", "In version 2.9 we will raise an exception if use_reentrant is not passed."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    layers: Sequence[Callable[[Any], Any]] = list(functions.children()) if hasattr(functions, "children") else functions
    size = len(layers) // segments

    def run(part: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for layer in part:
                value = layer(value)
            return value

        return forward

    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(run(layers[start:end]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(layers[end:])(input)
