"""An optimizer that keeps its state for a part of the parameters in each process.

Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2019),
arXiv:1910.02054; https://pytorch.org/docs/stable/distributed.optim.html#torch.distributed.optim.ZeroRedundancyOptimizer
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import minitorch
from minitorch.distributed import distributed_c10d as c10d
from minitorch.distributed.algorithms.join import Join, Joinable, JoinHook
from minitorch.distributed.objects import gather_object
from minitorch.distributed.synchronization import broadcast_coalesced
from minitorch.optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]

torch: Any = minitorch

Groups = list[dict[str, Any]]


class _JoinHook(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        self._optimizer.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """`optimizer_class(params, **defaults)`, of which each process does the steps of some parameters only.

    The parameters, from the largest on, go to the process that has least; after a step each sends its own to the
    others. `state_dict` is the whole optimizer's, once `consolidate_state_dict` has brought the parts together.
    `parameters_as_bucket_view` and `overlap_with_ddp` are not supported: NotImplementedError.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if parameters_as_bucket_view or overlap_with_ddp:
            name = "parameters_as_bucket_view" if parameters_as_bucket_view else "overlap_with_ddp"
            raise NotImplementedError(f"ZeroRedundancyOptimizer: {name}")
        self.process_group = c10d._group_or_default_group(process_group)
        self.rank = self.process_group.rank()
        self.world_size = self.process_group.size()
        self._parts: list[dict[str, Any]] = []
        self.initialized = False
        Optimizer.__init__(self, _checked(params), defaults)
        Joinable.__init__(self)
        self.optim = optimizer_class(self._partition()[self.rank], **defaults)
        _copy_options(self.optim.param_groups, self.param_groups)
        self.initialized = True

    def _partition(self) -> list[Groups]:
        """The groups of parameters of each process."""
        sizes = [0] * self.world_size
        partition: list[Groups] = [[] for _ in sizes]
        for group in self.param_groups:
            parts: list[list[Any]] = [[] for _ in sizes]
            for parameter in sorted(group["params"], key=lambda each: each.numel(), reverse=True):
                rank = sizes.index(min(sizes))
                parts[rank].append(parameter)
                sizes[rank] += parameter.numel()
            for groups, parameters in zip(partition, parts, strict=True):
                groups.append({**group, "params": parameters})
        return partition

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters, with options of their own."""
        super().add_param_group(param_group)
        if self.initialized:
            self.optim.add_param_group(self._partition()[self.rank][-1])

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """A step of this process's parameters; then those of all processes are sent to all."""
        Join.notify_join_context(self)
        _copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        _copy_options(self.optim.param_groups, self.param_groups)
        for rank, groups in enumerate(self._partition()):
            broadcast_coalesced(self.process_group, [each for group in groups for each in group["params"]], rank)
        return loss

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Brings the state of all processes to process `to`; all have to call it."""
        _copy_options(self.param_groups, self.optim.param_groups)
        self._parts = [{}] * self.world_size if self.rank == to else []
        gather_object(self.optim.state_dict(), self._parts, group=self.process_group, group_dst=to)

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as one process alone would have it. Raises RuntimeError where it hasn't been brought to."""
        if not self._parts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the global "
                "state."
            )
        whole = super().state_dict()
        index_of = {id(each): index for index, each in enumerate(self._in_order())}
        for groups, part in zip(self._partition(), self._parts, strict=True):
            for group, saved in zip(groups, part["param_groups"], strict=True):
                for parameter, index in zip(group["params"], saved["params"], strict=True):
                    if index in part["state"]:
                        whole["state"][index_of[id(parameter)]] = part["state"][index]
        whole["state"] = dict(sorted(whole["state"].items()))
        return whole

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over the whole state, of which this process keeps its part."""
        mine = {id(each) for group in self._partition()[self.rank] for each in group["params"]}
        for index, parameter in enumerate(self._in_order()):
            if index in state_dict["state"] and id(parameter) in mine:
                self.optim.state[parameter] = copy.deepcopy(state_dict["state"][index])
        super().load_state_dict({**state_dict, "state": {}})
        _copy_options(self.param_groups, self.optim.param_groups)

    def _in_order(self) -> Iterable[Any]:
        return (each for group in self.param_groups for each in group["params"])

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What `Join` calls when this process has no inputs left: a step, for the others need its parameters."""
        return _JoinHook(self)

    @property
    def join_device(self) -> Any:
        """Where the parameters are."""
        return next(iter(self._in_order())).device

    @property
    def join_process_group(self) -> Any:
        """The processes that take part."""
        return self.process_group


def _checked(params: Any) -> list[Any]:
    if isinstance(params, torch.Tensor):
        raise TypeError(f"`params` argument should be an iterable of Tensors, but got {torch.typename(params)}")
    if not isinstance(params, Iterable):
        raise TypeError(
            f"`params` argument should be an iterable of Tensors or dicts, but got {torch.typename(params)}"
        )
    every = list(params)
    if not every:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if not all(isinstance(each, torch.Tensor) for each in every) and not all(isinstance(each, dict) for each in every):
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    return every


def _copy_options(source: Groups, target: Groups) -> None:
    """Learning rates and the like, which the user and schedulers change in the one, and steps read in the other."""
    for group, other in zip(source, target, strict=True):
        other.update({name: value for name, value in group.items() if name != "params"})
