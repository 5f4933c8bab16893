"""Chapter 16 of mytorch against minitorch: losses and their gradients, the path of parameters, and what is saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import ORACLES, agree, close, numbers, pytorch, same

ROOT = Path(__file__).parents[2]

part = pytest.mark.part
loss = "mytorch.nn.loss:"
optimizer = "mytorch.optim.optimizer:Optimizer."


def loss_and_gradient(library: ModuleType, name: str, input: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """A loss of logits, or of log-probabilities for nll_loss, and the gradient of its sum."""
    x = library.tensor(input, requires_grad=True)
    rest = [library.tensor(each) for each in args]
    options = {key: library.tensor(each) if key == "weight" else each for key, each in options.items()}
    result = getattr(library.nn.functional, name)(x, *rest, **options)
    result.sum().backward()
    return result.tolist(), x.grad.tolist()


SHAPES: dict[str, tuple[tuple[int, ...], Any]] = {
    "a batch": ((4, 3), [0, 2, 1, 2]),
    "one": ((5,), 3),
    "one, in a list": ((5,), [3]),
    "positions": ((2, 3, 4), [[0, 1, 2, 0], [2, 2, 1, 0]]),
    "pixels": ((1, 3, 2, 2), [[[0, 1], [2, 0]]]),
    "some ignored": ((4, 3), [0, -100, 1, -100]),
}


@part(loss + "nll_loss")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize("shape", SHAPES)
def test_losses_of_classes(mytorch: ModuleType, shape: str, name: str, weighted: bool, reduction: str) -> None:
    size, target = SHAPES[shape]
    classes = size[min(1, len(size) - 1)]
    options: dict[str, Any] = {"reduction": reduction}
    if weighted:
        options["weight"] = np.linspace(0.5, 2, classes).astype(np.float32)

    def call(torch: Any) -> Any:
        # PyTorch's backward pass refuses a list of one target where it computes the loss.
        given = target[0] if torch is pytorch and shape == "one, in a list" else target
        return loss_and_gradient(torch, name, numbers(*size), given, **options)

    agree(call, mytorch, rtol=1e-5, atol=1e-6)


@part(loss + "nll_loss")
def test_another_index_is_ignored_and_nothing_flows_through_it(mytorch: ModuleType) -> None:
    input = np.array([[-1, -2], [-np.inf, 0], [-3, -5]], dtype=np.float32)

    def call(torch: Any) -> Any:
        return loss_and_gradient(torch, "nll_loss", input, [1, -1, 0], ignore_index=-1)

    agree(call, mytorch)
    assert call(mytorch) == (2.5, [[0, -0.5], [0, 0], [-0.5, 0]])


CALLS: dict[str, Callable[[Any], Any]] = {
    "none counts": lambda torch: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([-100, -100])),
    "fewer targets": lambda torch: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0])),
    "no such class": lambda torch: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 3])),
    "below 0": lambda torch: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0, -1])),
    "float targets": lambda torch: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0.0, 1.0])),
    "a column": lambda torch: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([[0], [1]])),
    "positions": lambda torch: torch.nn.functional.cross_entropy(torch.zeros(2, 3, 4), torch.tensor([0, 1])),
    "weights": lambda torch: torch.nn.functional.cross_entropy(
        torch.zeros(2, 3), torch.tensor([0, 1]), weight=torch.ones(2)
    ),
    "reduction": lambda torch: torch.nn.functional.cross_entropy(
        torch.zeros(2, 3), torch.tensor([0, 1]), reduction="average"
    ),
    "bytes": lambda torch: torch.nn.functional.cross_entropy(
        torch.zeros(2, 3), torch.tensor([0, 1], dtype=torch.uint8)
    ),
    "binary sizes": lambda torch: torch.nn.functional.binary_cross_entropy_with_logits(
        torch.zeros(2, 3), torch.zeros(3)
    ),
    "one target in a list": lambda torch: [
        torch.nn.functional.cross_entropy(torch.arange(3.0), torch.tensor([1]), reduction=reduction)
        for reduction in ("mean", "sum", "none")
    ],
    "layers": lambda torch: [
        torch.nn.CrossEntropyLoss(weight=torch.tensor([3.0, 2.0]), ignore_index=1, reduction="sum")(
            torch.tensor([[2.0, 1.0], [3.0, 1.0]]), torch.tensor([0, 1])
        ),
        torch.nn.NLLLoss(reduction="sum")(torch.tensor([[2.0, 1.0]]), torch.tensor([0])),
        torch.nn.MSELoss()(torch.ones(2), torch.zeros(2)),
        torch.nn.L1Loss(reduction="sum")(torch.ones(2), torch.zeros(2)),
        torch.nn.BCEWithLogitsLoss()(torch.ones(2), torch.zeros(2)),
    ],
    "negative rate": lambda torch: torch.optim.SGD([torch.zeros(1)], lr=-1),
    "Nesterov alone": lambda torch: torch.optim.SGD([torch.zeros(1)], lr=0.1, nesterov=True),
    "beta": lambda torch: torch.optim.Adam([torch.zeros(1)], betas=(0.9, 1.0)),
    "no parameters": lambda torch: torch.optim.Adam([]),
    "a result": lambda torch: torch.optim.Adam([torch.zeros(1, requires_grad=True) * 2]),
    "a number": lambda torch: torch.optim.Adam([3]),
    "twice": lambda torch: torch.optim.SGD([{"params": x} for x in [torch.zeros(1)] * 2], lr=0.1),
}


@part(loss + "nll_loss", loss + "binary_cross_entropy_with_logits", loss + "check_classes", loss + "reduced")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_returned_and_raised(mytorch: ModuleType, name: str) -> None:
    same(CALLS[name], mytorch)


@part(loss + "binary_cross_entropy_with_logits")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_binary_losses_of_large_logits(mytorch: ModuleType, reduction: str) -> None:
    input = np.array([[0.5, 30, -30, 0], [200, -200, -0.5, 0]], dtype=np.float32)
    target = np.array([[1, 0, 1, 0], [1, 0, 0.25, 0.75]], dtype=np.float32)
    name = "binary_cross_entropy_with_logits"
    agree(
        lambda torch: loss_and_gradient(torch, name, input, target, reduction=reduction), mytorch, rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_numbers(mytorch: ModuleType, name: str, reduction: str) -> None:
    def call(torch: ModuleType) -> Any:
        return loss_and_gradient(torch, name, numbers(2, 3), numbers(2, 3, seed=1), reduction=reduction)

    agree(call, mytorch, rtol=1e-5, atol=1e-6)


def test_a_target_of_another_size_is_warned_of(mytorch: ModuleType) -> None:
    for library in [mytorch, *ORACLES]:
        with pytest.warns(UserWarning, match=r"Using a target size \(torch.Size\(\[2, 1\]\)\) that is different"):
            library.nn.functional.mse_loss(library.zeros(2), library.ones(2, 1))


OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {"lr": 0.1}),
    "SGD, decay": ("SGD", {"lr": 0.1, "weight_decay": 0.3}),
    "SGD, momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "SGD, dampening": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.3}),
    "SGD, Nesterov": ("SGD", {"lr": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.3}),
    "Adam": ("Adam", {"lr": 0.1}),
    "Adam, options": ("Adam", {"lr": 0.1, "betas": (0.5, 0.8), "eps": 0.01}),
    "Adam, decay": ("Adam", {"lr": 0.1, "weight_decay": 0.3}),
    "AdamW": ("AdamW", {"lr": 0.1, "weight_decay": 0.3}),
    "AdamW, defaults": ("AdamW", {}),
}


def train(torch: ModuleType, name: str, options: dict[str, Any], steps: int, resume: Any = None) -> tuple[Any, Any]:
    """Two parameters, the second without a gradient at first, and the optimizer's state dict, after some steps."""
    start: tuple[Any, ...] = numbers(3, seed=1), numbers(2, 2, seed=2)
    if resume is not None:
        start = tuple(np.array(each.tolist(), dtype=np.float32) for each in resume[0])
    a, b = (torch.tensor(each, requires_grad=True) for each in start)
    optimizer = getattr(torch.optim, name)([a, b], **options)
    if resume is not None:
        optimizer.load_state_dict(resume[1])
    for step in range(steps):
        optimizer.zero_grad()
        result = (a * a * torch.tensor([1.0, 3.0, 0.1])).sum()
        if step > 1 or resume is not None:
            result = result + (b * b).sum()
        result.backward()
        optimizer.step()
    return [a, b], optimizer.state_dict()


@part("mytorch.optim.sgd:sgd", "mytorch.optim.adam:adam", optimizer + "step")
@part(optimizer + "state_dict")
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("torch", ORACLES, ids=lambda each: each.__name__)
def test_parameters_take_pytorchs_path(mytorch: ModuleType, torch: Any, name: str) -> None:
    (mine, my_state), (expected, state) = (train(each, *OPTIMIZERS[name], 12) for each in (mytorch, torch))
    close(mine, expected, atol=1e-6)
    assert list(my_state["state"]) == list(state["state"])
    for number, kept in state["state"].items():
        assert list(my_state["state"][number]) == list(kept)
        for key, value in kept.items():
            assert my_state["state"][number][key].dtype.name == repr(value.dtype).removeprefix("torch.")
        close(my_state["state"][number].values(), kept.values(), atol=1e-6)
    assert my_state["param_groups"][0].items() <= state["param_groups"][0].items()


@part(optimizer + "state_dict", optimizer + "load_state_dict")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_goes_on_where_it_was_saved(mytorch: ModuleType, name: str) -> None:
    kind, options = OPTIMIZERS[name]
    whole, _ = train(mytorch, kind, options, 9)
    first = train(mytorch, kind, options, 4)
    resumed, _ = train(mytorch, kind, options | {"lr": 7.0}, 5, first)
    close(resumed, whole, atol=1e-6)


@part(optimizer + "state_dict", optimizer + "load_state_dict")
def test_what_a_state_dict_holds_and_refuses(mytorch: ModuleType) -> None:
    def groups(torch: ModuleType) -> Any:
        a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
        return [{"params": [a], "lr": 0.5}, {"params": [b, c]}]

    def call(torch: ModuleType) -> Any:
        optimizer = torch.optim.SGD(groups(torch), lr=0.1, momentum=0.9)
        (optimizer.param_groups[1]["params"][1] * 3).sum().backward()
        optimizer.step()
        state = optimizer.state_dict()
        seen = [state["state"], [(group["params"], group["lr"]) for group in state["param_groups"]]]
        state["param_groups"][0]["lr"] = 100
        state["state"][2]["momentum_buffer"] = None
        shared = optimizer.state_dict()["state"][2]["momentum_buffer"]
        optimizer.step()
        return seen, optimizer.param_groups[0]["lr"], shared

    def other_number(torch: ModuleType) -> Any:
        optimizer = torch.optim.SGD(groups(torch), lr=0.1)
        optimizer.load_state_dict(torch.optim.SGD([torch.ones(1)], lr=0.1).state_dict())

    def other_size(torch: ModuleType) -> Any:
        optimizer = torch.optim.SGD(groups(torch), lr=0.1)
        optimizer.load_state_dict(torch.optim.SGD([{"params": torch.ones(1)} for _ in range(2)], lr=0.1).state_dict())

    def converted(torch: ModuleType) -> Any:
        x = torch.ones(1, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Adam([x], lr=0.1)
        source = torch.optim.Adam([torch.ones(1, requires_grad=True)], lr=0.3)
        source.param_groups[0]["params"][0].grad = torch.ones(1)
        source.step()
        optimizer.load_state_dict(source.state_dict())
        kept = optimizer.state[x]
        return [(name, kept[name].dtype) for name in kept], optimizer.param_groups[0]["lr"]

    for each in (call, other_number, other_size, converted):
        same(each, mytorch)


@part("mytorch.optim.adam:adam", "mytorch.optim.sgd:sgd")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_writes_in_place_and_leaves_the_gradient_alone(mytorch: ModuleType, name: str) -> None:
    kind, options = OPTIMIZERS[name]
    x = mytorch.ones(2, requires_grad=True)
    memory = x.data_ptr()
    x.grad = mytorch.tensor([1.0, 2.0])
    optimizer = getattr(mytorch.optim, kind)([x], **options)
    for _ in range(2):
        optimizer.step()
    assert x.data_ptr() == memory
    assert x.is_leaf
    assert x.grad.tolist() == [1, 2]


@part(optimizer + "step", optimizer + "zero_grad", optimizer + "add_param_group")
def test_groups_closures_and_gradients(mytorch: ModuleType) -> None:
    def call(torch: ModuleType) -> Any:
        a, b, unused = (torch.ones(1, requires_grad=True) for _ in range(3))
        optimizer = torch.optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.25)
        optimizer.add_param_group({"params": [unused], "weight_decay": 1.0})

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (a * b).sum()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(3)]
        held = a.grad
        optimizer.zero_grad(set_to_none=False)
        zeroed = a.grad, held, unused.grad
        optimizer.zero_grad()
        return losses, a, b, unused, zeroed, a.grad

    same(call, mytorch)


@part(loss + "cross_entropy", "mytorch.optim.adam:adam")
def test_digits_are_learned(mytorch: ModuleType) -> None:
    from sklearn.datasets import load_digits

    data = load_digits()
    x, y = mytorch.tensor((data.data / 16).astype(np.float32)), mytorch.tensor(data.target)
    mytorch.manual_seed(0)
    model = mytorch.nn.Sequential(mytorch.nn.Linear(64, 64), mytorch.nn.ReLU(), mytorch.nn.Linear(64, 10))
    optimizer = mytorch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(15):
        order = mytorch.randperm(1400)
        for start in range(0, 1400, 50):
            batch = order[start : start + 50]
            optimizer.zero_grad()
            mytorch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
    right = (model(x[1400:]).argmax(1) == y[1400:]).sum().item()
    assert right / 397 > 0.9  # the last writers' digits are harder; the lesson draws its test set at random


@pytest.mark.turns(8)
@pytest.mark.parametrize("seed", [3, 4, 5])  # the lesson itself has 0, 1 and 2
def test_a_small_network_reads_digits_whatever_its_first_weights(mytorch: ModuleType, seed: int) -> None:
    lesson = json.loads((ROOT / "notebooks" / "16_losses_and_optimizers.ipynb").read_text(encoding="utf-8"))
    cell = next(cell for cell in lesson["cells"] if "proof-milestone" in cell["metadata"].get("tags", ()))
    names: dict[str, Any] = {"mytorch": mytorch, "np": np}
    exec("".join(cell["source"]).partition("setups = ")[0], names)
    for setup in (("SGD", 0.1), ("SGD", 0.1, 0.9), ("Adam", 0.01)):
        _, right, _ = names["train"](*setup, seed=seed)
        assert right >= 0.9, setup
