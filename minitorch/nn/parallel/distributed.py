"""A module that several processes train together, each on its part of a batch.

Source: https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import minitorch
from minitorch.cuda.selection import index_of as gpu_index
from minitorch.distributed import distributed_c10d as c10d
from minitorch.distributed.algorithms.join import Join, Joinable, JoinHook
from minitorch.distributed.buckets import FIRST_BUCKET_BYTES, GradBucket, bucket_assignment
from minitorch.distributed.reduce_op import RedOpType
from minitorch.distributed.reducer import Reducer
from minitorch.distributed.synchronization import broadcast_coalesced, check_same_parameters
from minitorch.futures import Future
from minitorch.nn.modules.batchnorm import SyncBatchNorm
from minitorch.nn.modules.module import Module
from minitorch.nn.parallel.outputs import tensors_in, through_sink
from minitorch.nn.parallel.scatter_gather import scatter_kwargs
from minitorch.nn.parameter import UninitializedParameter
from minitorch.tensor import Tensor

__all__ = ["DistributedDataParallel"]

torch: Any = minitorch

_MEGABYTE = 1 << 20
_DEFAULT_BUCKET = 25


class _JoinHook(JoinHook):
    """What a process does that has no inputs left: it takes part in the communications of those that have."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self.ddp = ddp
        ddp._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self) -> None:
        ddp = self.ddp
        ddp.reducer.rebuild_buckets()
        if ddp.will_sync_module_buffers():
            ddp._broadcast(ddp.modules_buffers, ddp._common_rank(candidate=False))
        ddp.require_forward_param_sync = ddp._somebody_syncs(here=False)
        if ddp.require_forward_param_sync:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        self.ddp._sync_module(self.ddp._common_rank(candidate=is_last_joiner), self.ddp.forward_sync_buffers)


class DistributedDataParallel(Module, Joinable):
    """Calls `module`, and averages its parameters' gradients over all processes during the backward pass.

    So each process sees the gradient of the mean loss of the whole batch, if the parts are equally large. When made, it
    copies parameters and buffers of process 0 to the others, and before each forward pass the buffers again, unless
    `forward_sync_buffers` is False. Gradients are reduced in buckets of `bucket_cap_mb` (25) megabytes, as soon as one
    is full. `find_unused_parameters` is for modules that don't use all parameters each time, `static_graph` for those
    that never use some; `gradient_as_bucket_view` has each `.grad` lie in its bucket. With `device_ids`, of one GPU,
    inputs are moved there. The names in its state dict begin with "module.". Raises RuntimeError where no parameter
    needs a gradient or the modules differ, and at the next forward pass when a parameter got none. `batched_grad_copy`
    changes nothing here.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        Module.__init__(self)
        Joinable.__init__(self)
        if (delay_all_reduce_named_params is None) != (param_to_hook_all_reduce is None):
            raise ValueError(
                "delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the same time."
            )
        _refuse(
            delay_all_reduce_named_params=delay_all_reduce_named_params,
            mixed_precision=mixed_precision,
            device_mesh=device_mesh,
            skip_all_reduce_unused_params=skip_all_reduce_unused_params or None,
        )
        self.process_group = c10d._group_or_default_group(process_group)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        parameters = [each for name, each in module.named_parameters() if name not in self.parameters_to_ignore]
        _check_parameters(parameters, device_ids, output_device)
        self.device_ids = [gpu_index(each) for each in device_ids] if device_ids else None
        self.output_device = None
        if self.device_ids is not None:
            self.output_device = self.device_ids[0] if output_device is None else gpu_index(output_device)
        self.dim = dim
        self.module = module
        self.device = parameters[0].device
        self.device_type = self.device.type
        self.static_graph = False
        self.forward_sync_buffers = _which_buffers(broadcast_buffers, forward_sync_buffers)
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        if check_reduction:
            warnings.warn(
                "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. Please avoid using "
                "it.",
                FutureWarning,
                stacklevel=2,
            )
        self._bucket_limits = _bucket_limits(bucket_cap_mb, bucket_cap_mb_list)
        self._has_own_limits = bool(bucket_cap_mb_list)
        self.bucket_bytes_cap = max(self._bucket_limits)
        reduced = self._reduced_parameters()
        if init_sync:
            check_same_parameters(self.process_group, list(reduced.values()))
            self._sync_module(0, forward_sync_buffers is not None or self.forward_sync_buffers)
        self._delay_enqueued = False
        self._divide_by_initial_world_size = True
        self._make_reducer(reduced, static_graph)
        if static_graph:
            self._set_static_graph()

    @property
    def broadcast_buffers(self) -> bool:
        """The old name of `forward_sync_buffers`."""
        return self.forward_sync_buffers

    def _reduced_parameters(self) -> dict[str, Tensor]:
        """The parameters whose gradients are averaged, each once, by name."""
        found: dict[str, Tensor] = {}
        seen: set[int] = set()
        for module_name, module in self.module.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                name = f"{module_name}.{name}"
                if parameter.requires_grad and name not in self.parameters_to_ignore and id(parameter) not in seen:
                    seen.add(id(parameter))
                    found[name] = parameter
        self._assign_buffers()
        return found

    def _assign_buffers(self) -> None:
        buffers = self.module.named_buffers()
        self.modules_buffers = [buffer for name, buffer in buffers if name not in self.parameters_to_ignore]

    def _make_reducer(self, parameters: dict[str, Tensor], static_graph: bool) -> None:
        one_bucket = not self._has_own_limits and (static_graph or not self.find_unused_parameters)
        limits = [sys.maxsize] if one_bucket else self._bucket_limits
        self.reducer = Reducer(
            parameters,
            sorted(bucket_assignment(list(parameters.values()), limits), reverse=True),
            self.process_group,
            self._bucket_limits,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
        )
        if any(isinstance(module, SyncBatchNorm) for module in self.module.modules()):
            raise ValueError("SyncBatchNorm layers only work with GPU modules")

    def _set_static_graph(self) -> None:
        """Promises that the same parameters are used, and the same ones unused, in each pass."""
        if self.static_graph:
            warnings.warn("You've set static_graph to be True, no need to set it again.", stacklevel=2)
            return
        self.static_graph = self.reducer.static_graph = True
        self._delay_enqueued = False
        if self.find_unused_parameters:
            warnings.warn(
                "You passed find_unused_parameters=true to DistributedDataParallel, `_set_static_graph` will detect "
                "unused parameters automatically, so you do not need to set find_unused_parameters=true, just be sure "
                "these unused parameters will not change during training loop while calling `_set_static_graph`.",
                stacklevel=2,
            )

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not c10d._get_default_group():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, "
                "when you have called init_process_group and have not passed process_group argument to DDP constructor"
            )
        state = self.__dict__.copy()
        del state["process_group"], state["reducer"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = c10d._get_default_group()
        super().__setstate__(state)
        self._make_reducer(self._reduced_parameters(), self.static_graph)
        self.reducer.static_graph = self.static_graph

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output, once the buffers are those of process 0."""
        syncs = torch.is_grad_enabled() and self.require_backward_grad_sync
        if syncs:
            self.reducer.check_finished()
        joining = Join.notify_join_context(self)
        if joining is not None:
            self.reducer.set_forward_pass_work(joining, self._divide_by_initial_world_size)
        if torch.is_grad_enabled():
            self.reducer.rebuild_buckets()
        if self.will_sync_module_buffers():
            self._assign_buffers()
            self._broadcast(self.modules_buffers, self._common_rank(candidate=True) if self._join_config.enable else 0)
        if self._join_config.enable:
            self._somebody_syncs(here=self.require_backward_grad_sync)
        if self.device_ids is not None and (inputs or kwargs):
            (inputs,), (kwargs,) = scatter_kwargs(inputs, kwargs, self.device_ids)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = syncs
        if syncs:
            looks = self.find_unused_parameters and not self.static_graph
            self.reducer.prepare_for_backward(list(tensors_in(output)) if looks else [])
            if looks or (self.static_graph and not self._delay_enqueued):
                output = through_sink(self, output)
        return output

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """In this block gradients are not averaged: they add up, until the first pass after it."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Has `hook(state, bucket)` reduce each bucket's `buffer()` instead of averaging it.

        It returns the Future of the tensor that takes its place. See `torch.distributed.algorithms.ddp_comm_hooks`.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        signature = inspect.signature(hook, eval_str=True)
        if signature.parameters["bucket"].annotation not in (inspect.Parameter.empty, GradBucket):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        if signature.return_annotation not in (inspect.Parameter.empty, Future[Tensor]):
            raise ValueError("Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")
        if hook.__name__ in ("bf16_compress_hook", "bf16_compress_wrapper_hook"):
            raise TypeError("BF16 all reduce communication hook required CUDA 11+ and NCCL 2.10+ or XPU and XCCL")
        self.reducer.register_comm_hook(state, hook)

    # The buffers and parameters of one process become those of all.

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward pass copies the buffers."""
        return self.require_forward_param_sync and self.forward_sync_buffers and bool(self.modules_buffers)

    def _sync_module(self, root: int, buffers: bool) -> None:
        named = [*self.module.named_parameters(), *(self.module.named_buffers() if buffers else ())]
        self._broadcast([tensor for name, tensor in named if name not in self.parameters_to_ignore], root)

    def _broadcast(self, tensors: Sequence[Tensor], root: int) -> None:
        broadcast_coalesced(self.process_group, tensors, root)

    # Uneven inputs.

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A block in which the processes may have different numbers of batches.

        Those that have run out take part with gradients of 0; the sum is divided by the number of all processes, or of
        those that have inputs still. With `throw_on_early_termination` all raise RuntimeError when one runs out.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What `Join` calls when this process has no inputs left."""
        return _JoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """Where the parameters are."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The processes that take part."""
        return self.process_group

    def _somebody_syncs(self, here: bool) -> bool:
        count = torch.ones(1) if here else torch.zeros(1)
        self.process_group.allreduce([count]).wait()
        return bool(count != 0)

    def _common_rank(self, candidate: bool) -> int:
        """The highest rank of the candidates."""
        rank = torch.tensor([self.process_group.rank() if candidate else -1])
        self.process_group.allreduce([rank], RedOpType.MAX).wait()
        return int(rank)


def _refuse(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise NotImplementedError(f"DistributedDataParallel: {name}")


def _check_parameters(parameters: Sequence[Tensor], device_ids: Any, output_device: Any) -> None:
    if not any(each.requires_grad for each in parameters):
        raise RuntimeError(
            "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
        )
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    devices = {each.device for each in parameters}
    kinds = {each.type for each in devices}
    if len(kinds) > 1:
        raise ValueError(
            "DistributedDataParallel's input module must be on the same type of devices, but input module parameters "
            f"locate in {kinds}."
        )
    if (device_ids or output_device) and (not device_ids or kinds == {"cpu"} or len(devices) > 1):
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-"
            f"device GPU modules or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and "
            f"module parameters {devices}."
        )
    if any(isinstance(each, UninitializedParameter) for each in parameters):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward "
            "pass to correctly initialize the modules"
        )


def _which_buffers(broadcast_buffers: bool | None, forward_sync_buffers: bool | None) -> bool:
    if broadcast_buffers is None:
        return True if forward_sync_buffers is None else forward_sync_buffers
    if forward_sync_buffers is None:
        warnings.warn(
            "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike "
            "`broadcast_buffers=False`, `forward_sync_buffers=False` still syncs buffers at init. If you rely on "
            "buffers NOT being synced at init (e.g. rank-local buffers), keep using `broadcast_buffers=False` until "
            "`init_sync_buffers` is available.",
            FutureWarning,
            stacklevel=3,
        )
        return broadcast_buffers
    warnings.warn(
        "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is deprecated and its "
        "value is ignored when `forward_sync_buffers` is provided.",
        FutureWarning,
        stacklevel=3,
    )
    return forward_sync_buffers


def _bucket_limits(bucket_cap_mb: float | None, bucket_cap_mb_list: list[float] | None) -> list[int]:
    """How many bytes go into the first bucket, the second, …; without a list the first is small."""
    if bucket_cap_mb_list:
        return [int(each * _MEGABYTE) for each in bucket_cap_mb_list]
    if bucket_cap_mb is None:
        return [FIRST_BUCKET_BYTES, _DEFAULT_BUCKET * _MEGABYTE]
    return [int(bucket_cap_mb * _MEGABYTE)]
