"""DataParallel on simulated GPUs: the numbers of one device, PyTorch's checks, and each of its four steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import minitorch as torch
from minitorch.nn.parallel import gather, parallel_apply, replicate, scatter


@pytest.fixture(autouse=True)
def four_gpus() -> Iterator[None]:
    torch.cuda.simulate(4)
    yield
    torch.cuda.simulate(0)


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))


def trained(net: Any, data: Any) -> tuple[list[float], list[float]]:
    """The losses of five steps, and the first layer's last gradient."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = net(data).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, next(net.parameters()).grad.flatten().tolist()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_training_on_several_gpus_is_training_on_one(count: int) -> None:
    torch.manual_seed(1)
    data = torch.randn(10, 3)  # which four GPUs can't share evenly
    losses, gradient = trained(model(), data)
    divided = torch.nn.DataParallel(model().cuda(), device_ids=list(range(count)))
    assert next(name for name, _ in divided.named_parameters()) == "module.0.weight"
    assert str(divided(data.cuda()).device) == "cuda:0"
    other_losses, other_gradient = trained(divided, data.cuda())
    assert other_losses == pytest.approx(losses, rel=1e-5)
    assert other_gradient == pytest.approx(gradient, rel=1e-4, abs=1e-7)


def test_the_module_must_be_on_the_first_of_its_gpus() -> None:
    divided = torch.nn.DataParallel(model().cuda(1), device_ids=[0, 1])
    with pytest.raises(
        RuntimeError, match=r"on device cuda:0 \(device_ids\[0\]\) but found one of them on device: cuda:1"
    ):
        divided(torch.ones(2, 3, device="cuda"))
    with pytest.raises(RuntimeError, match="no available devices were found"):
        torch.nn.DataParallel(model(), device_ids=[])


def test_a_gpu_that_is_not_there() -> None:
    """PyTorch asks for the properties of each of its GPUs, to compare them, and that raises.

    Source: https://github.com/pytorch/pytorch/blob/main/torch/nn/parallel/data_parallel.py, _check_balance
    """
    torch.cuda.simulate(2)
    with pytest.raises(AssertionError, match=r"^Invalid device id$"):
        torch.nn.DataParallel(model().cuda(), device_ids=[0, 1, 2])


def test_scatter_goes_through_nests() -> None:
    data = torch.arange(6.0).reshape(3, 2)
    pieces = scatter({"x": data, "y": [data, "text"]}, [0, 2])
    assert [str(each["x"].device) for each in pieces] == ["cuda:0", "cuda:2"]
    assert [each["x"].tolist() for each in pieces] == [[[0, 1], [2, 3]], [[4, 5]]]
    assert [each["y"][1] for each in pieces] == ["text", "text"]
    assert len(scatter(torch.ones(1, 2), [0, 1])) == 1  # there is nothing for the second


def test_gather_joins_and_stacks() -> None:
    outputs = [{"loss": torch.tensor(1.0, device="cuda:0")}, {"loss": torch.tensor(2.0, device="cuda:1")}]
    with pytest.warns(UserWarning, match="all input tensors were scalars; will instead unsqueeze and return a vector"):
        assert gather(outputs, "cuda:1")["loss"].tolist() == [1, 2]
    assert str(gather([torch.ones(2, device="cuda:3")], -1).device) == "cpu"
    with pytest.raises(ValueError, match="All dicts must have the same number of keys"):
        gather([{"a": torch.ones(1)}, {}], 0)


def test_replicas_send_their_gradients_to_the_module() -> None:
    net = model().cuda()
    copies: list[Any] = replicate(net, [0, 3])  # type: ignore[assignment]
    assert [str(each[0].weight.device) for each in copies] == ["cuda:0", "cuda:3"]
    assert list(copies[1].parameters()) == []
    copies[1](torch.ones(1, 3, device="cuda:3")).sum().backward()
    assert str(net[0].weight.grad.device) == "cuda:0"
    (detached,) = replicate(net, [3], detach=True)
    assert not detached.get_submodule("0").weight.requires_grad


def test_each_module_runs_on_its_gpu_and_an_error_says_which() -> None:
    class Where(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            if x is None:
                raise KeyError("nothing")
            return str(torch.zeros(1, device="cuda").device), torch.is_grad_enabled()

    with torch.no_grad():
        results = parallel_apply([Where()] * 3, [torch.ones(1, device=f"cuda:{i}") for i in range(3)])
    assert results == [(f"cuda:{i}", False) for i in range(3)]
    with pytest.raises(KeyError, match="Caught KeyError in replica 1 on device 1"):
        parallel_apply([Where()] * 2, [torch.ones(1), None], devices=[0, 1])
