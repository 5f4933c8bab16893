"""Each rank owns a shard of every parameter. Source: Rajbhandari et al. 2020, "ZeRO", arXiv:1910.02054"""

# 23b · Shards
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ... import empty, no_grad
from ...autograd.recording import Rules
from ...distributed import all_gather_ring, get_rank, get_world_size, reduce_scatter_ring
from ...tensor import Storage, Tensor
from ..module import Module
from ..parameter import Parameter


def in_shards(tensor: Tensor) -> Sequence[Tensor]:
    """A tensor's elements in order, as one view for each rank; the first are longer by one if it doesn't divide."""
    least, more = divmod(tensor.numel(), get_world_size())
    return tensor.detach().view(-1).split([least + (rank < more) for rank in range(get_world_size())])


def mean_of_shard(gradient: Tensor) -> Tensor:
    """This rank's shard of a gradient's mean over the ranks."""
    with no_grad():
        chunks = in_shards((gradient / get_world_size()).contiguous())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()].clone()


def gather_shards(shard: Tensor, whole: Tensor) -> None:
    """Overwrite a tensor with the shards of all ranks."""
    with no_grad():
        chunks = in_shards(whole)
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)


class ZeroRedundancyOptimizer:
    """An optimizer that has a float32 copy, and a state, of this rank's shards alone: ZeRO's first stage."""

    def __init__(self, params: Iterable[Tensor], optimizer_class: Any, **defaults: Any) -> None:
        self.params = list(params)
        self.shards = [in_shards(each)[get_rank()].clone().float() for each in self.params]
        self.optim = optimizer_class(self.shards, **defaults)

    def step(self) -> None:
        """Average the gradients of this rank's shards, move these, and gather everybody's."""
        for shard, whole in zip(self.shards, self.params, strict=True):
            shard.grad = None if whole.grad is None else mean_of_shard(whole.grad).float()
        self.optim.step()
        for shard, whole in zip(self.shards, self.params, strict=True):
            gather_shards(shard, whole)
            shard.grad = None


class Gathered(Storage):
    """The memory of a whole parameter, which comes and goes."""


class SavedView(Rules.kept):  # type: ignore[valid-type]
    """A kept tensor; of a gathered parameter, or a view of it, the strides alone."""

    def __init__(self, x: Tensor, is_result: bool) -> None:
        super().__init__(x, is_result)
        if isinstance(x.storage, Gathered):
            self.tensor = Tensor(x.storage, x.shape, x.strides, x.offset)


class Shard(Parameter):
    """This rank's part of a parameter: what the optimizer sees."""


class FSDPParam:
    """A parameter that is in its place in a module as a shard, or for a while as a whole."""

    def __init__(self, module: Module, name: str, whole: Parameter) -> None:
        self.place, self.name = module._parameters, name
        self.shard, self.whole = Shard(in_shards(whole)[get_rank()].clone()), Parameter(whole.detach())
        self.whole.storage = Gathered(whole.storage.flat)
        Rules.kept = SavedView  # from the first such parameter on
        self.whole.register_post_accumulate_grad_hook(self.reduce_grad)
        self.reshard()

    def unshard(self) -> None:
        """Gather the whole from all ranks, and put it in its place."""
        made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
        gather_shards(self.shard, made)
        self.whole.storage.flat = made.storage.flat
        self.place[self.name] = self.whole

    def reshard(self) -> None:
        """Free the whole, and put the shard in its place."""
        self.whole.storage.flat = self.shard.storage.flat[:0]
        self.whole.__dict__.pop("array", None)  # it would keep the memory
        self.place[self.name] = self.shard

    def reduce_grad(self, whole: Any) -> None:
        """Add the mean of the whole's gradient to that of the shard; free whole and gradient."""
        mean, whole.grad = mean_of_shard(whole.grad), None
        self.shard.grad = mean if self.shard.grad is None else self.shard.grad + mean
        self.reshard()


def fully_shard(module: Module) -> Module:
    """Shard a module's parameters; all that aren't shards yet are gathered together before its passes, then freed."""
    named = [(each, name, p) for each in module.modules() for name, p in each._parameters.items()]
    params = [FSDPParam(*each) for each in named if type(each[2]) is Parameter and each[2].requires_grad]

    def gather(*_: Any) -> None:
        for each in params:
            each.unshard()

    def free(_: Module, args: Any, result: Tensor) -> None:
        for each in params:
            each.reshard()
        if result.requires_grad:
            result.register_hook(gather)

    module.register_forward_pre_hook(gather)
    module.register_forward_hook(free)
    return module
