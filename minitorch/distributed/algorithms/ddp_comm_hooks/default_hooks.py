"""Averaging gradients as they are, or as numbers of two bytes.

Each function is for `DistributedDataParallel.register_comm_hook(process_group, hook)`; None means all processes.
Source: https://pytorch.org/docs/stable/ddp_comm_hooks.html#default-communication-hooks
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch
from minitorch.distributed.buckets import GradBucket
from minitorch.distributed.collectives import all_reduce
from minitorch.distributed.distributed_c10d import Group, _group_or_default_group
from minitorch.futures import Future
from minitorch.tensor import Tensor

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper",
]  # fmt: skip

torch: Any = minitorch

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def _average(process_group: Group, tensor: Any) -> Future[Any]:
    group = _group_or_default_group(process_group)
    tensor.div_(group.size())
    work = all_reduce(tensor, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def _copied_into(bucket: GradBucket) -> Callable[[Future[Any]], Any]:
    buffer: Any = bucket.buffer()
    return lambda future: buffer.copy_(future.value())


def allreduce_hook(process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    """The average, as without a hook."""
    return _average(process_group, bucket.buffer())


def fp16_compress_hook(process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    """The average, computed in float16: half as much is sent."""
    return _average(process_group, bucket.buffer().to(torch.float16)).then(_copied_into(bucket))


def bf16_compress_hook(process_group: Group, bucket: GradBucket) -> Future[Tensor]:
    """The average, computed in bfloat16. DistributedDataParallel refuses it on CPUs, as PyTorch's does."""
    return _average(process_group, bucket.buffer().to(torch.bfloat16)).then(_copied_into(bucket))


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """The hook, on gradients in float16."""

    def fp16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[Tensor]:
        return _compressed(hook, hook_state, bucket, torch.float16)

    return fp16_compress_wrapper_hook


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """The hook, on gradients in bfloat16. DistributedDataParallel refuses it on CPUs, as PyTorch's does."""

    def bf16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[Tensor]:
        return _compressed(hook, hook_state, bucket, torch.bfloat16)

    return bf16_compress_wrapper_hook


def _compressed(hook: Hook, state: Any, bucket: GradBucket, dtype: Any) -> Future[Tensor]:
    into = _copied_into(bucket)
    bucket.set_buffer(bucket.buffer().to(dtype))
    return hook(state, bucket).then(into)
