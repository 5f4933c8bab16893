"""What computes beside ops, on simulated GPUs that aren't the current one: optimizers, gradcheck, checkpoints, data."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch as torch
from minitorch.nn import functional as F
from minitorch.utils.checkpoint import checkpoint
from minitorch.utils.data import DataLoader, TensorDataset


@pytest.fixture(autouse=True)
def three_gpus() -> Iterator[None]:
    torch.cuda.simulate(3, memory=1 << 24)
    yield
    torch.cuda.simulate(0)


def trained(name: str, *devices: str) -> list[Any]:
    """Parameters on several devices after some steps, and one more of an optimizer that has been saved and loaded."""
    parameters = [torch.nn.Parameter(torch.linspace(0, 1, 6).reshape(2, 3).to(each)) for each in devices]
    optimizer = getattr(torch.optim, name)(parameters, lr=0.1)

    def loss() -> Any:
        optimizer.zero_grad()
        total = sum(((each - 0.3) ** 2).sum().cpu() for each in parameters)
        total.backward()
        return total

    for _ in range(2):
        optimizer.step(loss)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    optimizer.step(loss)
    return parameters


NAMES = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "Rprop"]


@pytest.mark.parametrize("name", NAMES)
def test_an_optimizer_of_several_devices(name: str) -> None:
    expected = trained(name, "cpu", "cpu", "cpu")
    found = trained(name, "cuda:0", "cuda:2", "cpu")
    assert [str(each.device) for each in found] == ["cuda:0", "cuda:2", "cpu"]
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(one, other.cpu())


def test_a_step_that_is_counted_on_a_gpu() -> None:
    x = torch.nn.Parameter(torch.ones(2, device="cuda:1"))
    optimizer = torch.optim.Adam([x], capturable=True)
    for _ in range(2):
        x.sum().backward()
        optimizer.step()
    step = optimizer.state[x]["step"]
    assert (step.item(), str(step.device)) == (2, "cuda:1")


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck(fast: bool) -> None:
    x = torch.rand(3, dtype=torch.float64, device="cuda:1", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: x.sin() * x, (x,), fast_mode=fast)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(lambda x: x * x.detach(), (x,), fast_mode=fast)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_draws_the_same_mask_again(reentrant: bool) -> None:
    x, masks = torch.ones(100, device="cuda:1", requires_grad=True), []

    def dropped(x: Any) -> Any:
        y = F.dropout(x * 1)
        masks.append(y.detach() != 0)
        return y.sin()

    y = checkpoint(dropped, x, use_reentrant=reentrant)
    before = torch.rand(1, device="cuda:1")
    state = torch.cuda.get_rng_state(1)
    y.sum().backward()
    assert torch.equal(*masks) and torch.equal(x.grad != 0, masks[0])
    assert torch.equal(torch.cuda.get_rng_state(1), state) and before.item() < 1


def test_batches_of_a_dataset_on_a_gpu() -> None:
    data = TensorDataset(torch.arange(8.0, device="cuda:1").reshape(4, 2), torch.arange(4, device="cuda:1"))
    rows, labels = next(iter(DataLoader(data, batch_size=2)))
    assert [str(each.device) for each in (rows, labels)] == ["cuda:1", "cuda:1"]
    assert (rows.tolist(), labels.tolist()) == ([[0, 1], [2, 3]], [0, 1])


DRAWS: list[Callable[[str, Any], Any]] = [
    lambda where, generator: torch.rand(2, device=where, generator=generator),
    lambda where, generator: torch.ones(2, device=where).normal_(generator=generator),
    lambda where, generator: torch.multinomial(torch.ones(2, device=where), 1, generator=generator),
]


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(("where", "other"), [("cpu", "cuda"), ("cuda", "cpu")])
def test_a_generator_of_another_device_is_refused(draw: Callable[[str, Any], Any], where: str, other: str) -> None:
    with pytest.raises(RuntimeError) as error:
        draw(where, torch.Generator(other))
    assert str(error.value) == f"Expected a '{where}' device type for generator but found '{other}'"


def test_a_storage_says_where_it_is() -> None:
    storage = torch.ones(2).untyped_storage()
    moved = storage.cuda(1)
    assert (str(moved.device), moved.is_cuda, moved.get_device()) == ("cuda:1", True, 1)
    assert (str(moved.cpu().device), storage.is_cuda, storage.get_device()) == ("cpu", False, None)


def test_a_storage_is_read_and_written() -> None:
    x = torch.ones(2, device="cuda:1")
    bytes_, typed = x.untyped_storage(), torch.storage.TypedStorage(wrap_storage=x.untyped_storage(), dtype=x.dtype)
    bytes_[3] = 0x40
    assert (bytes_[3], x.tolist()) == (0x40, [4, 1])
    typed[1] = 2.0
    assert (typed.clone().fill_(3.0).tolist(), x.tolist()) == ([3, 3], [4, 2])
    assert x.resize_(3)[:2].tolist() == [4, 2]


def test_sequences_are_sorted_for_packing() -> None:
    x, lengths = torch.arange(6.0, device="cuda:1").reshape(3, 2), torch.tensor([2, 3])
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    assert [str(each.device) for each in (packed.data, packed.batch_sizes, packed.sorted_indices)] == [
        "cuda:1", "cpu", "cuda:1",
    ]  # fmt: skip
    padded, found = torch.nn.utils.rnn.pad_packed_sequence(packed)
    assert (padded.tolist(), found.tolist(), str(found.device)) == ([[0, 1], [2, 3], [0, 5]], [2, 3], "cpu")


def test_the_array_interface_of_gpus() -> None:
    x = torch.ones(2, 3, device="cuda:1")
    assert x.__cuda_array_interface__ == {
        "typestr": "<f4", "shape": (2, 3), "strides": None, "data": (x.data_ptr(), False), "version": 2,
    }  # fmt: skip
    assert x.t().__cuda_array_interface__["strides"] == (4, 12)
    with pytest.raises(RuntimeError, match="Can't get __cuda_array_interface__ on Variable that requires grad"):
        x.requires_grad_().__cuda_array_interface__  # noqa: B018
    with pytest.raises(AttributeError, match=r"on non-CUDA tensor type: torch\.FloatTensor If CUDA data is"):
        torch.ones(2).__cuda_array_interface__  # noqa: B018
