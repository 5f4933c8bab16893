"""Ranks that exchange tensors, as in https://pytorch.org/docs/stable/distributed.html; here a rank is a thread."""

# 23 · Several GPUs
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition, Thread, local
from typing import Any

from .autograd import Function, no_grad
from .checks import refuse
from .tensor import Tensor


class World:
    """What all ranks share: a mailbox from each rank to each, and how many bytes each rank has sent."""

    def __init__(self, size: int) -> None:
        self.mail: list[list[deque[tuple[Tensor, str]]]] = [[deque() for _ in range(size)] for _ in range(size)]
        self.bytes_sent = [0] * size
        self.waits_for: dict[int, int] = {}  # by waiting rank, the rank that it wants a message from
        self.ended: set[int] = set()
        self.changed = Condition()  # tells all who wait

    def stuck(self) -> bool:
        """Whether every rank that has not ended waits for a message that nobody has sent."""
        idle = {rank for rank, source in self.waits_for.items() if not self.mail[source][rank]}
        return len(idle | self.ended) == len(self.mail)


class Here(local):
    """The world and the rank of a thread."""

    world = World(1)
    rank = 0


here = Here()


def get_rank() -> int:
    """The number of this rank."""
    return here.rank


def get_world_size() -> int:
    """How many ranks there are."""
    return len(here.world.mail)


def bytes_sent() -> int:
    """How many bytes this rank has sent so far."""
    return here.world.bytes_sent[here.rank]


def in_threads(run: Callable[[int], None], count: int) -> None:
    """Call `run` with each number below `count`, in threads of their own, and wait for all of them."""
    threads = [Thread(target=run, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def spawn(fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1) -> list[Any]:
    """Run `fn(rank, *args)` as each of `nprocs` ranks; what they return. Raises what the first of them raised."""
    world, results = World(nprocs), [None] * nprocs
    errors: list[Exception] = []

    def run(rank: int) -> None:
        here.world, here.rank = world, rank
        try:
            results[rank] = fn(rank, *args)
        except Exception as error:  # raised again below
            errors.append(error)
        with world.changed:
            world.ended.add(rank)
            world.changed.notify_all()

    in_threads(run, nprocs)
    if errors:
        raise errors[0]
    return results


def send(tensor: Tensor, dst: int) -> None:
    """Send a copy of a tensor to rank `dst`. It waits in the memory of the CPU."""
    with here.world.changed:
        here.world.bytes_sent[here.rank] += tensor.nbytes
        here.world.mail[here.rank][dst].append((tensor.detach().to("cpu", copy=True), tensor.device.type))
        here.world.changed.notify_all()


def received(src: int) -> Tensor:
    """The next tensor from rank `src`, once it has sent one; if it was on a GPU, on this rank's current GPU."""
    world, mailbox = here.world, here.world.mail[src][here.rank]
    with world.changed:
        world.waits_for[here.rank] = src
        world.changed.notify_all()
        while not mailbox:
            refuse(src in world.ended, f"Connection closed by peer: rank {src} has ended")
            refuse(world.stuck(), f"Timed out waiting for rank {src}: all ranks wait, and nobody has sent anything")
            world.changed.wait()
        del world.waits_for[here.rank]
        tensor, kind = mailbox.popleft()
        return tensor.to(kind)


def recv(tensor: Tensor, src: int) -> None:
    """Overwrite a tensor with the next one from rank `src`."""
    with no_grad():
        tensor.copy_(received(src))


def broadcast(tensor: Tensor, src: int) -> None:
    """Overwrite the tensor of every rank with that of rank `src`."""
    if get_rank() != src:
        return recv(tensor, src)
    for rank in range(get_world_size()):
        if rank != src:
            send(tensor, rank)


def reduce_scatter_ring(chunks: Sequence[Tensor]) -> None:
    """Add up the ranks' chunks around the ring, in place: chunk `r` of rank `r` becomes the sum of everybody's."""
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step - 1) % size], (rank + 1) % size)
        chunks[(rank - step - 2) % size].add_(received((rank - 1) % size))


def all_gather_ring(chunks: Sequence[Tensor]) -> None:
    """Pass the chunks around the ring, in place: everybody's chunk `r` becomes that of rank r."""
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step) % size], (rank + 1) % size)
        recv(chunks[(rank - step - 1) % size], (rank - 1) % size)


def all_reduce(tensor: Tensor) -> None:
    """Overwrite the tensor of every rank with the sum over all ranks: a reduce-scatter, then an all-gather."""
    size = get_world_size()
    least, more = divmod(tensor.numel(), size)
    with no_grad():
        flat = tensor.contiguous().view(-1)
        chunks = flat.split([least + (rank < more) for rank in range(size)])
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.view(tensor.shape))


# 23b · Shards
def summed(x: Tensor) -> Tensor:
    """The sum of the ranks' tensors."""
    total = x.clone()
    all_reduce(total)
    return total


class CopyToRanks(Function):
    """The identity; the gradient is the sum of the ranks' gradients."""

    forward = staticmethod(lambda ctx, x: x)
    backward = staticmethod(lambda ctx, grad: summed(grad))


class SumOverRanks(Function):
    """The sum over the ranks; each takes the gradient as it is."""

    forward = staticmethod(lambda ctx, x: summed(x))
    backward = staticmethod(lambda ctx, grad: grad)
