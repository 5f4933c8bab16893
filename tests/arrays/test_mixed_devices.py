"""Tensors of several devices in one op, on simulated GPUs: which may mix, and what PyTorch says of the others."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch as torch
from minitorch.nn import functional as F

SAME = "Expected all tensors to be on the same device, but"


@pytest.fixture(autouse=True)
def three_gpus() -> Iterator[None]:
    torch.cuda.simulate(3, memory=1 << 24)
    yield
    torch.cuda.simulate(0)


def refused(call: Callable[[], Any]) -> str:
    """What the RuntimeError says that a call raises."""
    with pytest.raises(RuntimeError) as error:
        call()
    return str(error.value)


def on(device: str, *shape: int) -> Any:
    return torch.ones(shape or (2,), device=device)


def test_a_number_of_the_cpu_mixes() -> None:
    x, number = on("cuda:1"), torch.tensor(2.0)
    for result in (x + number, number + x, x.clone().add_(number), torch.add(x, number, out=torch.empty_like(x))):
        assert (result.device, result.tolist()) == (torch.device("cuda:1"), [3, 3])
    assert x.masked_fill(x > 0, number).tolist() == [2, 2]


ELEMENTWISE: list[tuple[Callable[[], Any], str]] = [
    (lambda: on("cpu") + on("cuda:0"), "cuda:0 and cpu"),
    (lambda: on("cuda:0") + on("cpu"), "cuda:0 and cpu"),
    (lambda: on("cuda:0") * on("cuda:1"), "cuda:0 and cuda:1"),
    (lambda: on("cuda:1") * on("cuda:0"), "cuda:1 and cuda:0"),
    (lambda: torch.where(on("cpu") > 0, on("cuda:0"), on("cuda:0")), "cuda:0 and cpu"),
    (lambda: F.mse_loss(on("cuda:1"), on("cpu")), "cuda:1 and cpu"),
    (lambda: F.binary_cross_entropy_with_logits(on("cuda:1"), on("cpu")), "cuda:1 and cpu"),
    (lambda: on("cpu") + on("cuda:0").sum(), "cuda:0 and cpu"),
    (lambda: on("cuda:0") + on("cuda:1").sum(), "cuda:0 and cuda:1"),
    (lambda: on("cpu").add_(on("cuda:0")), "cuda:0 and cpu"),
    (lambda: on("cuda:0").add_(on("cpu", 1)), "cuda:0 and cpu"),
    (lambda: torch.tensor(1.0).add_(on("cuda:0")[0]), "cuda:0 and cpu"),
    (lambda: torch.add(on("cuda:0"), 1, out=on("cpu")), "cuda:0 and cpu"),
    (lambda: torch.add(on("cpu"), 1, out=on("cuda:0")), "cuda:0 and cpu"),
    (lambda: torch.add(torch.tensor(1.0), 1, out=on("cuda:0")), "cuda:0 and cpu"),
    (lambda: torch.matmul(on("cuda:1", 2, 2), on("cuda:1", 2, 2), out=on("cpu", 2, 2)), "cuda:1 and cpu"),
]


@pytest.mark.parametrize(("call", "found"), ELEMENTWISE)
def test_elementwise_ops_name_two_devices_a_gpu_first(call: Callable[[], Any], found: str) -> None:
    assert refused(call) == f"{SAME} found at least two devices, {found}!"


PLACES = torch.tensor([0, 1])
OTHERS: list[tuple[Callable[[], Any], str, str, str]] = [
    (lambda: on("cuda:0", 2, 2) @ on("cpu", 2, 2), "mat2", "cpu", "cuda:0"),
    (lambda: on("cpu", 2, 2) @ on("cuda:0", 2, 2), "mat2", "cuda:0", "cpu"),
    (lambda: torch.mm(on("cuda:0", 2, 2), on("cuda:1", 2, 2)), "mat2", "cuda:1", "cuda:0"),
    (lambda: torch.bmm(on("cuda:0", 1, 2, 2), on("cpu", 1, 2, 2)), "mat2", "cpu", "cuda:0"),
    (lambda: F.linear(on("cuda:0", 1, 2), on("cpu", 2, 2), on("cpu")), "mat1", "cuda:0", "cpu"),
    (lambda: F.linear(on("cpu", 1, 2), on("cuda:0", 2, 2), on("cuda:0")), "mat1", "cpu", "cuda:0"),
    (lambda: torch.cat([on("cpu"), on("cuda:0")]), "tensors", "cuda:0", "cpu"),
    (lambda: torch.cat([on("cuda:0"), on("cuda:1")]), "tensors", "cuda:1", "cuda:0"),
    (lambda: torch.gather(on("cuda:0"), 0, PLACES), "index", "cpu", "cuda:0"),
    (lambda: on("cuda:0").scatter_(0, PLACES, on("cuda:0")), "index", "cpu", "cuda:0"),
    (lambda: on("cuda:0").index_select(0, PLACES), "index", "cpu", "cuda:0"),
    (lambda: F.embedding(PLACES, on("cuda:0", 2, 2)), "index", "cpu", "cuda:0"),
    (lambda: F.embedding(PLACES.cuda(), on("cpu", 2, 2)), "index", "cuda:0", "cpu"),
    (lambda: F.cross_entropy(on("cuda:0", 2, 2), PLACES), "target", "cpu", "cuda:0"),
    (lambda: torch.mm(on("cuda:0", 2, 2), on("cuda:0", 2, 2), out=on("cpu", 2, 2)), "self", "cuda:0", "cpu"),
]


@pytest.mark.parametrize(("call", "name", "there", "where"), OTHERS)
def test_other_ops_name_the_operand(call: Callable[[], Any], name: str, there: str, where: str) -> None:
    assert refused(call) == f"{SAME} got {name} is on {there}, different from other tensors on {where}"


@pytest.mark.parametrize("write", [False, True])
def test_masked_fill_names_mask_and_self(write: bool) -> None:
    x, mask = on("cuda:0"), on("cpu") > 0
    words = refused(lambda: x.masked_fill_(mask, 1) if write else x.masked_fill(mask, 1))
    assert words == "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0"


def test_convolutions_name_types() -> None:
    x, weight, bias = on("cpu", 1, 1, 4), on("cpu", 1, 1, 2), on("cpu", 1)
    gpu, cpu = "torch.cuda.FloatTensor", "torch.FloatTensor"
    words = refused(lambda: F.conv1d(x.cuda(), weight))
    assert words == f"Input type ({gpu}) and weight type ({cpu}) should be the same"
    words = refused(lambda: F.conv1d(x, weight.cuda()))
    assert words.startswith(f"Input type ({cpu}) and weight type ({gpu}) should be the same")
    words = refused(lambda: F.conv1d(x.cuda(), weight.cuda(), bias))
    assert words == f"Input type ({gpu}) and bias type ({cpu}) should be the same"
    words = refused(lambda: F.conv1d(x.cuda().half(), weight.cuda()))  # autocast was forgotten
    assert words == f"Input type (torch.cuda.HalfTensor) and weight type ({gpu}) should be the same"


def test_batch_norm_names_the_parameter_and_leaves_its_statistics() -> None:
    layer = torch.nn.BatchNorm1d(2)
    layer.running_mean, layer.running_var = layer.running_mean.cuda(), layer.running_var.cuda()
    words = refused(lambda: layer(on("cuda:0", 3, 2)))
    assert words == f"{SAME} got weight is on cpu, different from other tensors on cuda:0"
    assert layer.running_mean.tolist() == [0, 0]


def test_recurrent_layers_name_input_state_and_parameters() -> None:
    rnn, x = torch.nn.GRU(2, 2).cuda(), on("cpu", 1, 1, 2)
    found = "Input and {0} tensors are not at the same device, found input tensor at {1} and {0} tensor at {2}"
    assert refused(lambda: rnn(x)) == found.format("parameter", "cpu", "cuda:0")
    assert refused(lambda: rnn(x.cuda(), x)) == found.format("hidden", "cuda:0", "cpu")
    assert rnn(x.cuda())[0].device == torch.device("cuda:0")


def test_indices_of_the_cpu_index_a_gpu_and_write_through_it() -> None:
    x, places = torch.arange(6.0).reshape(2, 3).to("cuda:1"), torch.tensor([1, 0])
    for index, expected in (
        (places, [[3, 4, 5], [0, 1, 2]]),
        (torch.tensor(1), [3, 4, 5]),
        ((slice(None), places), [[1, 0], [4, 3]]),
        ((places.to("cuda:1"), places), [4, 0]),
        (torch.tensor([False, True]), [[3, 4, 5]]),
    ):
        found = x[index]
        assert (found.tolist(), str(found.device)) == (expected, "cuda:1")
    for write in (
        lambda x: x.__setitem__(places, 5.0),
        lambda x: x.__setitem__(torch.tensor([True, True, False]), torch.tensor(5.0)),
        lambda x: x.__setitem__(places, torch.tensor(5.0, device="cuda:2")),
        lambda x: x.index_put_((places,), torch.tensor(5.0)),
        lambda x: x.index_put_((places,), on("cuda:1") * 5, accumulate=True),
    ):
        x = torch.zeros(3, device="cuda:1")
        write(x)
        assert x.tolist() == [5, 5, 0]
    x = torch.arange(3.0, device="cuda:1").requires_grad_()
    x[torch.tensor([0, 2, 2])].sum().backward()
    assert (x.grad.tolist(), str(x.grad.device)) == ([1, 0, 2], "cuda:1")


def test_other_indices_are_refused() -> None:
    def words(device: str) -> str:
        return f"indices should be either on cpu or on the same device as the indexed tensor ({device})"

    assert refused(lambda: on("cpu")[PLACES.cuda()]) == words("cpu")
    assert refused(lambda: on("cuda:0")[PLACES.to("cuda:1")]) == words("cuda:0")
    assert refused(lambda: on("cpu").__setitem__(PLACES.cuda(), 1.0)) == words("cpu")
    assert refused(lambda: on("cuda:0").__setitem__(PLACES, on("cpu"))) == (
        f"{SAME} found at least two devices, cuda:0 and cpu!"
    )


def test_numbers_of_a_gpu_are_written_to_the_cpu() -> None:
    x, number = torch.zeros(3), on("cuda:1")[0]
    x[0] = number
    x[PLACES[1:]] = number
    assert x.tolist() == [1, 1, 0]
    x[:] = number
    assert x.tolist() == [1, 1, 1]


def test_gradients_come_back_to_the_device_of_their_tensor() -> None:
    number, x = torch.tensor(2.0, requires_grad=True), on("cuda:1").requires_grad_()
    (number * x * 3).sum().backward()
    assert (number.grad.item(), str(number.grad.device)) == (6, "cpu")
    assert (x.grad.tolist(), str(x.grad.device)) == ([6, 6], "cuda:1")


def test_gradients_of_another_device_are_refused() -> None:
    x = on("cuda:0").requires_grad_()
    assert refused(lambda: (x * 3).backward(on("cpu"))) == (
        "invalid gradient at index 0 - expected device cuda:0 but got cpu"
    )
    assert x.grad is None

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.cuda()

    assert refused(lambda: Wrong.apply(on("cpu").requires_grad_()).sum().backward()) == (
        "Function WrongBackward returned an invalid gradient at index 0 - expected device cpu but got cuda:0"
    )


def test_the_gradient_of_an_edge_starts_on_its_device() -> None:
    x = on("cuda:1").requires_grad_()
    torch.autograd.backward(torch.autograd.graph.get_gradient_edge(x.sum()))
    assert str(x.grad.device) == "cuda:1"


def test_copies_on_a_gpu_that_is_not_current() -> None:
    x = torch.arange(6.0, device="cuda:2").reshape(2, 3).t()
    with torch.cuda.device(1):
        for each in (x.clone(), copy.deepcopy(x), copy.deepcopy([x])[0]):
            assert (str(each.device), each.tolist(), each.stride()) == ("cuda:2", x.tolist(), (1, 3))
        layer = copy.deepcopy(torch.nn.Linear(2, 2).to("cuda:2"))
        assert str(layer.weight.device) == "cuda:2"


def test_moving_keeps_the_order_in_memory() -> None:
    rows = torch.arange(6.0).reshape(2, 3).t()
    image = torch.arange(24.0).reshape(2, 3, 2, 2).to(memory_format=torch.channels_last)
    for x in (rows, image, image.permute(1, 0, 3, 2), image[:, :, None]):
        for moved in (x.cuda(), x.cuda(0).cuda(1), x.cuda().cpu(), torch.zeros_like(x, device="cuda:1") + x.cuda(1)):
            assert (moved.stride(), moved.tolist()) == (x.stride(), x.tolist())
    for x, stride in ((torch.arange(8.0)[::2], (1,)), (on("cpu", 1, 2).expand(3, 2), (2, 1)), (rows[1:], (1, 2))):
        assert (x.cuda().stride(), x.cuda().tolist()) == (stride, x.tolist())  # as `x.to("meta")` has in PyTorch
