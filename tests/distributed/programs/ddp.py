"""What DistributedDataParallel does and refuses: one line for each question."""

# ruff: noqa: B023 - a question is asked before the loop goes on

import copy
import os
import pickle
import warnings
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817 - as programs do
from torch.utils.checkpoint import checkpoint

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group(
    "gloo",
    store=dist.FileStore(os.environ["STORE"], size),
    rank=rank,
    world_size=size,
    timeout=timedelta(seconds=60),
)
torch.manual_seed(rank)
x = torch.ones(4, 3) * (rank + 1)


def ask(name, question):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = repr(question())
        except Exception as error:
            # Of passes that leave gradients out, or get one twice, both say one sentence; the advice is in other words.
            words = str(error).partition(". ")[0] if str(error).startswith("Expected to ") else str(error)
            answer = f"{type(error).__name__}: {words}"
    for warning in caught:
        answer += f" {warning.category.__name__}: {warning.message}"
    print(f"{name}: {answer}".replace("\n", " "), flush=True)


def rounded(tensors):
    return [
        None if each is None else [f"{round(number, 5) + 0.0:.5f}" for number in each.flatten().tolist()]
        for each in tensors
    ]


def gradients(module):
    return rounded(parameter.grad for parameter in module.parameters())


class Two(nn.Module):
    """Two layers, of which one may go unused, one output that may, and one layer that isn't trained."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)
        self.frozen = nn.Linear(2, 2).requires_grad_(False)

    def forward(self, x, which="ab"):
        return {"a": self.a(x) if "a" in which else None, "b": [self.b(x) if "b" in which else None]}


def steps(*which, forward_in_no_sync=(), **options):
    """The gradients after each step; in step i the layers `which[i]` are used."""
    model = DDP(Two(), **options)
    seen = []
    for step, layers in enumerate(which):
        with model.no_sync() if step in forward_in_no_sync else torch.enable_grad():
            outputs = model(x, layers if isinstance(layers, str) else layers[rank])
            used = [each for each in (outputs["a"], *outputs["b"]) if each is not None]
            if step < 2:
                seen.append([each.grad_fn.name() for each in used])
            sum((each * (step + 1)).sum() for each in used).backward()
        seen.append(gradients(model))
    return seen


ask("nothing to train", lambda: DDP(nn.ReLU()))
ask("nothing trained", lambda: DDP(nn.Linear(2, 2).requires_grad_(False)))
ask("device_ids", lambda: DDP(nn.Linear(2, 2), device_ids=[0]))
ask("two device_ids", lambda: DDP(nn.Linear(2, 2), device_ids=[0, 1]))
ask("no device_ids", lambda: DDP(nn.Linear(2, 2), device_ids=[]))
ask("output_device", lambda: DDP(nn.Linear(2, 2), output_device="cpu"))
ask("lazy", lambda: DDP(nn.LazyLinear(2)))
ask("SyncBatchNorm", lambda: DDP(nn.Sequential(nn.Linear(2, 2), nn.SyncBatchNorm(2))))
ask("delayed", lambda: DDP(nn.Linear(2, 2), delay_all_reduce_named_params=[]))
ask("check_reduction", lambda: DDP(nn.Linear(2, 2), check_reduction=True))
ask("another number of parameters", lambda: DDP(nn.Linear(2, 2, bias=rank == 0)))
ask("parameters are those of rank 0", lambda: rounded(DDP(nn.Linear(3, 2)).parameters()))
ask("not at the beginning", lambda: (lambda model: (model.load_state_dict(model.state_dict()), gradients(model)))(
    DDP(nn.Linear(3, 2), init_sync=False)
))  # fmt: skip
ask("state dict", lambda: list(DDP(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))).state_dict()))
ask("repr", lambda: DDP(nn.Linear(2, 2)))

ask("all used", lambda: steps("ab", "ab", "ab"))
ask("small buckets", lambda: steps("ab", "ab", "ab", bucket_cap_mb=0.00001))
ask("buckets by a list", lambda: steps("ab", "ab", bucket_cap_mb_list=[0.00001, 1]))
ask("unused", lambda: steps("a", "a"))
ask("unused later", lambda: steps("ab", "b", "ab"))
ask("unused here", lambda: steps("ab", ["a", "b"], ["b", "b"], "ab", find_unused_parameters=True))
ask("unused, small buckets", lambda: steps("a", ["a", "b"], find_unused_parameters=True, bucket_cap_mb=0.00001))
ask("unused, in buckets", lambda: steps("a", ["a", "b"], find_unused_parameters=True, gradient_as_bucket_view=True))
ask("static", lambda: steps("a", "a", "a", static_graph=True))
ask("static, all used", lambda: steps("ab", "ab", "ab", static_graph=True, gradient_as_bucket_view=True))
ask("no_sync", lambda: steps("ab", "ab", "ab", forward_in_no_sync=(0, 1)))


def half_in_no_sync(forward_inside):
    """The gradient when `no_sync` holds the forward pass and not the backward pass, or the other way round."""
    model = DDP(nn.Linear(3, 1, bias=False))
    with model.no_sync() if forward_inside else torch.enable_grad():
        loss = model(x).sum()
    with torch.enable_grad() if forward_inside else model.no_sync():
        loss.backward()
    return gradients(model)


ask("forward pass in no_sync", lambda: half_in_no_sync(True))
ask("backward pass in no_sync", lambda: half_in_no_sync(False))


def an_unused_output():
    model = DDP(Two(), find_unused_parameters=True)
    for _ in range(2):
        model(x)["b"][0].sum().backward()
    return gradients(model)


def backward_twice():
    model = DDP(nn.Linear(3, 2))
    loss = model(x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return gradients(model)


def two_forwards():
    model = DDP(nn.Linear(3, 2))
    (model(x).sum() + model(x * 2).sum()).backward()
    return gradients(model)


def shared():
    layer = nn.Linear(3, 3)
    model = DDP(nn.Sequential(layer, layer))
    model(x).sum().backward()
    return gradients(model)


def in_buckets():
    model = DDP(nn.Linear(3, 2), gradient_as_bucket_view=True)
    seen = []
    for _ in range(3):
        model(x).sum().backward()
        weight, bias = model.module.weight.grad, model.module.bias.grad
        same = weight.untyped_storage().data_ptr() == bias.untyped_storage().data_ptr()
        seen.append((same, weight.storage_offset(), bias.storage_offset(), gradients(model)))
    model.zero_grad()
    model(x).sum().backward()
    return seen, gradients(model)


class Recomputed(nn.Module):
    """A layer that is used twice, each time in a backward pass of its own, and perhaps another one."""

    def __init__(self, also=False):
        super().__init__()
        self.before = nn.Linear(3, 3) if also else nn.Identity()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        x = self.before(x)
        x = checkpoint(self.layer, x, use_reentrant=True)
        return checkpoint(self.layer, x, use_reentrant=True)


def recomputed(*also, **options):
    model = DDP(Recomputed(*also), **options)
    seen = []
    for _ in range(3):
        model(x.clone().requires_grad_()).sum().backward()
        seen.append(gradients(model))
    return seen


def detached_in_bucket():
    model = DDP(nn.Linear(3, 2), gradient_as_bucket_view=True)
    model(x).sum().backward()
    model.module.weight.grad.detach_()


ask("an output that the loss doesn't use", an_unused_output)
ask("backward twice", backward_twice)
ask("two forwards", two_forwards)
ask("a layer twice", shared)
ask("gradients in buckets", in_buckets)
ask("recomputed", recomputed)
ask("recomputed, not alone", lambda: recomputed(True))
ask("recomputed, not alone, static", lambda: recomputed(True, static_graph=True))
ask("recomputed, static", lambda: recomputed(static_graph=True))
ask("a gradient in a bucket can't be detached", detached_in_bucket)


def hooked(*hooks, **options):
    model = DDP(nn.Linear(3, 2), **options)
    for state, hook in hooks:
        model.register_comm_hook(state, hook)
    for _ in range(2):
        model(x / 3).sum().backward()
    return gradients(model)


seen = []


def ten_times(state, bucket):
    shapes = [[tuple(each.shape) for each in tensors] for tensors in (bucket.parameters(), bucket.gradients())]
    seen.append((state, bucket.index(), bucket.is_last(), *shapes, rounded([bucket.buffer()])))
    future = torch.futures.Future()
    future.set_result(bucket.buffer() * 10)
    return future


def badly_annotated(state, bucket: int):
    pass


ask("hook", lambda: (hooked(("state", ten_times)), seen))
ask("hook, in buckets", lambda: hooked(("state", ten_times), gradient_as_bucket_view=True))
ask("two hooks", lambda: hooked((None, ten_times), (None, ten_times)))
ask("a number for a hook", lambda: hooked((None, 3)))
ask("a hook without a bucket", lambda: hooked((None, lambda state, other: None)))
ask("a hook for something else", lambda: hooked((None, badly_annotated)))
for name in ("allreduce_hook", "fp16_compress_hook", "bf16_compress_hook"):
    ask(name, lambda: hooked((None, getattr(default_hooks, name))))
ask("fp16_compress_wrapper", lambda: hooked((None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook))))


def normalized(**options):
    model = DDP(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), **options)
    for step in range(3):
        inputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(10 * step + rank))
        model(inputs)[:, 0].exp().sum().backward()
    return rounded(model.buffers()), gradients(model), model.broadcast_buffers


ask("buffers", normalized)
ask("buffers of one's own", lambda: normalized(broadcast_buffers=False))
ask("buffers at the beginning", lambda: normalized(forward_sync_buffers=False))
ask("buffers, twice said", lambda: normalized(broadcast_buffers=False, forward_sync_buffers=True))


def pickled():
    model = DDP(nn.Linear(3, 2))
    again = pickle.loads(pickle.dumps(model))
    again(x).sum().backward()
    return gradients(again), gradients(model), again


half = dist.new_group(list(range(size)))
ask("pickled", pickled)
ask("pickled with a group", lambda: pickle.dumps(DDP(nn.Linear(3, 2), process_group=half)))
ask("copied", lambda: copy.deepcopy(DDP(nn.Linear(3, 2)))(x).shape)


def uneven(options=None, **join):
    model = DDP(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), **(options or {}))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with model.join(**join):
        for step in range(2 + rank):
            inputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(10 * step + rank))
            optimizer.zero_grad()
            model(inputs)[:, 0].exp().sum().backward()
            optimizer.step()
    return rounded(model.parameters()), rounded(model.buffers())


ask("join", uneven)
ask("join, divided by who is left", lambda: uneven(divide_by_initial_world_size=False))
ask("join, unused looked for", lambda: uneven({"find_unused_parameters": True}))
ask("join that throws", lambda: uneven(throw_on_early_termination=True))
