"""How the gradients of several processes become their average while the backward pass still runs.

The gradients lie side by side in buckets. A hook at each parameter puts its gradient into its bucket, and a bucket that
is full is reduced over all processes while the pass goes on; at its end the averages are put back.
Source: Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training" (2020), arXiv:2006.15704.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import minitorch
from minitorch.autograd.engine import queue_callback
from minitorch.autograd.node import Node, accumulator
from minitorch.distributed.buckets import Bucket, GradBucket, bucket_assignment
from minitorch.distributed.process_group import ProcessGroup
from minitorch.distributed.work import Work
from minitorch.futures import Future
from minitorch.tensor import Tensor

torch: Any = minitorch


class Reducer:
    """The buckets of a module's parameters, and what has come into them in the pass that runs.

    After the first pass they are filled anew, in the order in which the gradients came.
    """

    def __init__(
        self,
        parameters: Mapping[str, Tensor],
        buckets: Sequence[Sequence[int]],
        process_group: ProcessGroup,
        later_limits: Sequence[int],
        find_unused_parameters: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        self._names, self.parameters = list(parameters), list(parameters.values())
        self.process_group = process_group
        self.static_graph = static_graph
        self._find_unused = find_unused_parameters
        self._as_view = gradient_as_bucket_view
        self._later_limits = list(later_limits)
        self._hook: tuple[Callable[..., Any], Any] | None = None
        self._order: list[int] = []
        self._rebuilt = False
        self._expects_hooks = False
        self._must_finish = False
        self._passes = 0
        self._next = 0
        self._ready: set[int] = set()
        self._unused: list[int] = []
        self._divisor: float | None = None
        self._forward_work: tuple[Work, bool] | None = None
        self._hooks_in_pass: list[int] = [0] * len(self.parameters)
        self._used: Tensor = torch.zeros(len(self.parameters), dtype=torch.int32)
        self._make_buckets(buckets)
        # Only the graph holds a leaf's node: the reducer does too, or the hook would go with it.
        self._nodes: list[Node] = [accumulator(parameter) for parameter in self.parameters]
        for index, node in enumerate(self._nodes):
            node.register_hook(lambda *_, index=index: self._arrived(index))

    def _make_buckets(self, assignment: Iterable[Sequence[int]]) -> None:
        self.buckets = [Bucket(indices, self.parameters) for indices in assignment]
        self._place = {
            index: (number, position)
            for number, bucket in enumerate(self.buckets)
            for position, index in enumerate(bucket.indices)
        }
        if self._as_view:
            for bucket in self.buckets:
                for parameter, view in zip(bucket.parameters, bucket.views, strict=True):
                    if parameter.grad is not None:
                        view.copy_(parameter.grad)
                        parameter.grad = view

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Has `hook(state, bucket)` reduce each bucket; it returns the Future of the tensor that takes its place."""
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook = hook, state

    def set_forward_pass_work(self, work: Work, divide_by_initial_world_size: bool) -> None:
        """Gives the reduction that counts the processes which still have inputs."""
        self._forward_work = work, divide_by_initial_world_size

    def shadow(self) -> None:
        """Takes part in the reductions of a pass that this process, without inputs, doesn't run."""
        works = [
            self.run_hook(self.grad_bucket(i, torch.zeros_like(each.buffer))) for i, each in enumerate(self.buckets)
        ]
        for work in works:
            work.wait()
        if self._find_unused or self.static_graph:
            self.process_group.allreduce([torch.zeros_like(self._used)]).wait()
        self._order = self._order or list(range(len(self.parameters)))

    # One pass.

    def check_finished(self) -> None:
        """Raises RuntimeError where the pass before left parameters without a gradient."""
        if not self._must_finish:
            return
        missing = sorted(
            index for bucket in self.buckets if bucket.pending for index in bucket.indices if index not in self._ready
        )
        raise RuntimeError(_UNFINISHED.format(rank=self.process_group.rank(), missing=" ".join(map(str, missing))))

    def rebuild_buckets(self) -> bool:
        """Fills the buckets anew, in the order in which gradients came; whether it has, which it does once."""
        may = (self.static_graph or not self._find_unused) and not self._rebuilt
        if not may or len(self._order) != len(self.parameters):
            return False
        self.check_finished()
        order: Tensor = torch.tensor(self._order)
        self.process_group.broadcast([order], 0).wait()  # the processes may have seen different orders
        indices: list[int] = order.tolist()
        assignment = bucket_assignment([self.parameters[index] for index in indices], self._later_limits)
        self._make_buckets([indices[position] for position in positions] for positions in assignment)
        self._rebuilt = True
        return True

    def prepare_for_backward(self, outputs: Sequence[Tensor]) -> None:
        """Waits for gradients. Where unused parameters are looked for, they are those that no output depends on."""
        self.check_finished()
        self._expects_hooks = True
        self._next = 0
        self._ready = set()
        for bucket in self.buckets:
            bucket.pending = len(bucket.indices)
            bucket.reduction = None
        self._used.zero_()
        self._left = self._hooks_in_pass.copy()
        if self.static_graph:
            self._unused = [index for index, count in enumerate(self._hooks_in_pass) if not count]
        else:
            self._unused = self._not_reached_from(outputs) if self._find_unused else []

    @property
    def _first_static_pass(self) -> bool:
        return self.static_graph and self._passes == 0

    def _not_reached_from(self, outputs: Sequence[Tensor]) -> list[int]:
        reached: set[Node] = set()
        waiting = [node for node in (_node_of(output) for output in outputs) if node is not None]
        while waiting:
            node = waiting.pop()
            if node not in reached:
                reached.add(node)
                waiting.extend(edge[0] for edge in node.edges if edge is not None)
        return [index for index, node in enumerate(self._nodes) if node not in reached]

    def _arrived(self, index: int) -> None:
        """The hook of a parameter: its `.grad` is complete, or there is none."""
        if not self._expects_hooks:
            return
        self._must_finish = True
        if not self._rebuilt and index not in self._order:
            self._order.append(index)
        if (self._find_unused or self.static_graph) and self.parameters[index].grad is not None:
            self._used[index] = 1
        if self._first_static_pass:
            self._hooks_in_pass[index] += 1
            return  # all are reduced at the end, when it is known how often each comes
        if self.static_graph:
            self._left[index] -= 1
            if self._left[index]:
                return
        unused, self._unused = self._unused, []
        for each in unused:
            self._mark_ready(each)
        self._mark_ready(index)

    def delay_all_reduce(self) -> None:
        """Reduces all buckets: at the end of the first pass of a graph that doesn't change."""
        self._must_finish = True
        for index in range(len(self.parameters)):
            if index not in self._order:
                self._order.append(index)
            self._mark_ready(index)

    def _mark_ready(self, index: int) -> None:
        if index in self._ready:
            raise RuntimeError(_READY_TWICE.format(index=index, name=self._names[index]))
        self._ready.add(index)
        number, position = self._place[index]
        bucket = self.buckets[number]
        self._fill(bucket, position)
        bucket.pending -= 1
        while self._next < len(self.buckets) and self.buckets[self._next].pending == 0:
            self._reduce(self._next)
            self._next += 1
            if self._next == len(self.buckets):
                if self._find_unused or self.static_graph:
                    self._used_work = self.process_group.allreduce([self._used])
                queue_callback(self._finish)

    def _fill(self, bucket: Bucket, position: int) -> None:
        parameter, view = bucket.parameters[position], bucket.views[position]
        grad = parameter.grad
        if grad is None:
            view.zero_()
            return
        if self._hook is not None:
            if grad is not view:
                view.copy_(grad)
        elif grad is view:
            view.div_(self._divide_by())
        else:
            torch.mul(grad.detach(), 1.0 / self._divide_by(), out=view)
        if self._as_view:
            parameter.grad = view

    def _divide_by(self) -> float:
        if self._divisor is None:
            self._divisor = self.process_group.size()
            if self._forward_work is not None:
                work, divide_by_initial_world_size = self._forward_work
                work.wait()
                if not divide_by_initial_world_size:
                    self._divisor = float(work.result()[0])
        return self._divisor

    def _reduce(self, number: int) -> None:
        bucket = self.buckets[number]
        bucket.reduction = self.run_hook(self.grad_bucket(number, bucket.buffer))

    def grad_bucket(self, number: int, buffer: Tensor) -> GradBucket:
        """A bucket as hooks see it."""
        return GradBucket(number, len(self.buckets), buffer, self.buckets[number])

    def run_hook(self, bucket: GradBucket) -> Work | Future[Any]:
        """Reduces a bucket: with the hook, or, since it has been divided already, by a sum."""
        if self._hook is None:
            return self.process_group.allreduce([bucket.buffer()])
        hook, state = self._hook
        result = hook(state, bucket)
        if not isinstance(result, Future):
            raise RuntimeError(
                "DDP communication hook's callback must return a torch.futures.Future object, but got "
                f"{type(result).__module__}.{type(result).__name__}"
            )
        return result

    def _finish(self) -> None:
        self._expects_hooks = False
        self._must_finish = False
        self._divisor = self._forward_work = None
        globally_used = None
        if self._find_unused or self.static_graph:
            self._used_work.wait()
            globally_used = self._used.tolist()
        for bucket in self.buckets:
            assert bucket.reduction is not None
            bucket.reduction.wait()
            views = bucket.views
            if isinstance(bucket.reduction, Future):
                result = bucket.reduction.value()
                views = bucket.views_of(result[0] if isinstance(result, list) else result)
            for index, parameter, own, view in zip(bucket.indices, bucket.parameters, bucket.views, views, strict=True):
                if globally_used is None or globally_used[index]:
                    self._put_back(parameter, own, view)
        self._passes += 1

    def _put_back(self, parameter: Tensor, own: Tensor, view: Tensor) -> None:
        if self._as_view:
            if own is not view:
                own.copy_(view)
            parameter.grad = own
        elif parameter.grad is None:
            parameter.grad = view.clone()
        else:
            parameter.grad.detach().copy_(view)


def _node_of(tensor: Tensor) -> Node | None:
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    return accumulator(tensor) if tensor.requires_grad else None


_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your module has parameters that were not used in producing loss: `find_unused_parameters=True` looks for them. "
    "Parameter indices which did not receive grad for rank {rank}: {missing}"
)
_READY_TWICE = (
    "Expected to mark a variable ready only once. Parameters may be used outside of `forward`, or in several reentrant "
    "backward passes, such as those of checkpoints: `static_graph=True` allows that. Parameter at index {index} with "
    "name {name} has been marked as ready twice."
)
