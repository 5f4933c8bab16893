"""Functions that all processes of a group call together.

With `async_op=True` they return a Work at once, whose `wait()` is to be called before the tensors are used; otherwise
they return None when this process may go on. Who is not in the group is warned, and does nothing.
Source: https://pytorch.org/docs/stable/distributed.html#collective-functions
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from minitorch.distributed.checks import (
    as_real,
    check_only_at_root,
    check_same_dtype,
    check_single_tensor,
    check_tensor_list,
    deprecated_for,
    group_rank,
    of_group,
)
from minitorch.distributed.distributed_c10d import _check_timeout
from minitorch.distributed.gloo import ProcessGroupGloo
from minitorch.distributed.reduce_op import RedOpType, supports_complex
from minitorch.distributed.work import Work
from minitorch.tensor import Tensor


def _finished(work: Work, async_op: bool) -> Work | None:
    if async_op:
        return work
    work.wait()
    return None


@of_group
def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Copies the tensor of process `src` (or, in the group's own numbers, `group_src`) into that of all others."""
    root = group_rank(group, src, group_src)
    check_single_tensor(tensor, "tensor")
    return _finished(group.broadcast([as_real(tensor)], root, async_op), async_op)


def _check_complex(error: type[Exception], name: str, op: Any, *tensors: Tensor) -> None:
    if any(tensor.is_complex() for tensor in tensors) and not supports_complex(op):
        raise error(f"{name} does not support {op} on complex tensors")


@of_group
def all_reduce(tensor: Tensor, op: Any = RedOpType.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Replaces the tensor in every process by the sum, or another reduction, of all of them."""
    check_single_tensor(tensor, "tensor")
    _check_complex(ValueError, "all_reduce", op, tensor)
    return _finished(group.allreduce([as_real(tensor)], op, async_op), async_op)


@of_group
def all_reduce_coalesced(
    tensors: Tensor | list[Tensor], op: Any = RedOpType.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """`all_reduce` of several tensors; with `async_op` it returns their Future."""
    _warn_of_coalesced("all_reduce_coalesced")
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    check_tensor_list(tensors, "tensor")
    check_same_dtype(tensors)
    _check_complex(ValueError, "all_reduce", op, *tensors)
    work = group.allreduce([as_real(tensor) for tensor in tensors], op, async_op)
    return work.get_future() if async_op else _finished(work, False)


def _warn_of_coalesced(name: str) -> None:
    warnings.warn(
        f"`torch.distributed.{name}` will be deprecated. If you must use it, please revisit our documentation later at "
        "https://pytorch.org/docs/main/distributed.html#collective-functions",
        FutureWarning,
        stacklevel=3,
    )


@of_group
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = RedOpType.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Replaces the tensor of process `dst` by the sum, or another reduction, of all of them."""
    root = group_rank(group, dst, group_dst)
    check_single_tensor(tensor, "tensor")
    _check_complex(RuntimeError, "reduce", op, tensor)
    return _finished(group.reduce([as_real(tensor)], root, op, async_op), async_op)


@of_group
def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies the tensor of process i into `tensor_list[i]` of every process. All have one shape and dtype."""
    check_tensor_list(tensor_list, "tensor_list")
    check_single_tensor(tensor, "tensor")
    check_same_dtype(tensor_list, tensor)
    outputs = [as_real(each) for each in tensor_list]
    return _finished(group.allgather([outputs], [as_real(tensor)], async_op), async_op)


@of_group
def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Any:
    """`all_gather` of several tensors; with `async_op` it returns their Future."""
    _warn_of_coalesced("all_gather_coalesced")
    check_tensor_list(input_tensor_list, "input_tensor_list")
    check_same_dtype(input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for each in output_tensor_lists:
        check_tensor_list(each, "output_tensor_lists")
        check_same_dtype(each)
    # Gloo's lists are those of each process, `allgather` has those of each tensor.
    outputs = [[as_real(tensor) for tensor in each] for each in zip(*output_tensor_lists, strict=True)]
    work = group.allgather(outputs, [as_real(tensor) for tensor in input_tensor_list], async_op)
    return work.get_future() if async_op else _finished(work, False)


@of_group
def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copies the tensor of process i into the i-th part of `output_tensor`, along its first dimension."""
    check_single_tensor(input_tensor, "input_tensor")
    check_single_tensor(output_tensor, "output_tensor")
    outputs = list(as_real(output_tensor).detach().chunk(group.size()))
    return _finished(group.allgather([outputs], [as_real(input_tensor)], async_op), async_op)


@deprecated_for("all_gather_single")
def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The old name of `all_gather_single`."""
    return all_gather_single(output_tensor, input_tensor, group, async_op)


@of_group
def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copies the tensor of process i into `gather_list[i]` of process `dst` (0); the others give no list."""
    check_single_tensor(tensor, "tensor")
    if gather_list:
        check_tensor_list(gather_list, "gather_list")
    outputs = gather_list or []
    check_same_dtype(tensor, outputs)
    root = group_rank(group, dst, group_dst, default=0)
    check_only_at_root(group.rank(), root, "gather_list", gather_list, "destination")
    return _finished(group.gather([outputs] if outputs else [], [tensor], root, async_op), async_op)


@of_group
def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copies `scatter_list[i]` of process `src` (0) into the tensor of process i; the others give no list."""
    check_single_tensor(tensor, "tensor")
    if scatter_list:
        check_tensor_list(scatter_list, "scatter_list")
    inputs = scatter_list or []
    check_same_dtype(tensor, inputs)
    root = group_rank(group, src, group_src, default=0)
    check_only_at_root(group.rank(), root, "scatter_list", inputs, "source")
    parts = [[as_real(each) for each in inputs]] if inputs else []
    return _finished(group.scatter([as_real(tensor)], parts, root, async_op), async_op)


@of_group
def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = RedOpType.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Leaves the reduction of all processes' `input_list[i]` in `output` of process i."""
    check_single_tensor(output, "output")
    check_tensor_list(input_list, "input_list")
    check_same_dtype(output, input_list)
    _check_complex(RuntimeError, "all_reduce", op, output)
    parts = [as_real(each) for each in input_list]
    return _finished(group.reduce_scatter([as_real(output)], [parts], op, async_op), async_op)


@of_group
def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = RedOpType.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Leaves the i-th part, along the first dimension, of the reduction of all `input` in `output` of process i."""
    check_single_tensor(output, "output")
    check_single_tensor(input, "input")
    _check_complex(RuntimeError, "all_reduce", op, output)
    return _finished(group.reduce_scatter_single(as_real(output), as_real(input), op, async_op), async_op)


@deprecated_for("reduce_scatter_single")
def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = RedOpType.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The old name of `reduce_scatter_single`."""
    return reduce_scatter_single(output, input, op, group, async_op)


@of_group
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Cuts `input` along its first dimension, and copies its j-th part into the i-th part of `output` of process j.

    The parts are equal, or of the sizes that are given.
    """
    check_single_tensor(output, "output")
    check_single_tensor(input, "input")
    check_same_dtype(output, input)
    if not (output.is_contiguous() and input.is_contiguous()):
        raise ValueError("Tensors must be contiguous")
    inputs = _parts(as_real(input), input_split_sizes, group.size())
    outputs = _parts(as_real(output), output_split_sizes, group.size())
    return _finished(group.alltoall(outputs, inputs, async_op), async_op)


def _parts(tensor: Tensor, sizes: Sequence[int] | None, count: int) -> list[Tensor]:
    tensor = tensor.detach()
    if not sizes:
        if tensor.shape[0] % count:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return list(tensor.chunk(count)) if tensor.shape[0] else [tensor] * count
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != tensor.shape[0]:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return list(tensor.split(list(sizes)))


@of_group
def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Copies `input_tensor_list[j]` of process i into `output_tensor_list[i]` of process j."""
    check_tensor_list(output_tensor_list, "output_tensor_list")
    check_tensor_list(input_tensor_list, "input_tensor_list")
    check_same_dtype(output_tensor_list, input_tensor_list)
    outputs, inputs = ([as_real(each) for each in tensors] for tensors in (output_tensor_list, input_tensor_list))
    return _finished(group.alltoall(outputs, inputs, async_op), async_op)


@of_group
def barrier(
    group: Any = None, async_op: bool = False, device_ids: Sequence[int] | None = None, timeout: timedelta | None = None
) -> Work | None:
    """Returns when all processes have called it."""
    if timeout is not None:
        raise NotImplementedError("barrier: timeout")
    return _finished(group.barrier(async_op), async_op)


@of_group
def monitored_barrier(
    group: Any = None, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier that says who didn't come within `timeout`: RuntimeError on rank 0 names the first, or all."""
    if not isinstance(group, ProcessGroupGloo):
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")
    if isinstance(timeout, float):
        warnings.warn(
            f"Please specify timeout arg as a timedelta. Converting current value of {timeout} assuming it represents "
            "seconds",
            stacklevel=2,
        )
        timeout = timedelta(seconds=timeout)
    if timeout is not None:
        _check_timeout(timeout)
    group.monitored_barrier(timeout, wait_all_ranks)
