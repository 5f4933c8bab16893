"""Chapter 06 of mytorch against minitorch: what is recorded, the formulas, the engine, and what ends in `.grad`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import ORACLES, agree, close, same

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute")
part = pytest.mark.part
engine = "mytorch.autograd.engine:"
node = "mytorch.autograd.node:"
recording = "mytorch.autograd.recording:"
derivatives = "mytorch.autograd.derivatives:"


def gradients(function: Callable[..., Any], arrays: Sequence[Any], library: ModuleType) -> list[Any]:
    """The result, and the gradients of the inputs when its entries count differently."""
    inputs = [library.tensor(each).requires_grad_() for each in arrays]
    result = function(library, *inputs)
    weights = np.linspace(0.5, 1.5, max(1, result.numel())).reshape(tuple(result.shape))
    result.backward(library.tensor(weights.astype(np.float32)))
    return [result, *(each.grad for each in inputs)]


def numbers(*size: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.2, 2.0, size).astype(np.float32)


ELEMENTWISE = ["neg", "reciprocal", "exp", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "abs"]
ELEMENTWISE += ["sign", "floor", "ceil", "round"]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: lambda torch, x, name=name: getattr(torch, name)(x) for name in ELEMENTWISE},
    "clamp": lambda torch, x: x.clamp(0.5, 1.5),
    "power": lambda torch, x: x**3,
    "exponent": lambda torch, x: 2**x,
    "masked_fill": lambda torch, x: x.masked_fill(x > 1, 0.0),
    "sum": lambda torch, x: x.sum(),
    "sum of rows": lambda torch, x: x.sum(1),
    "sum, kept": lambda torch, x: x.sum(0, keepdim=True),
    "mean": lambda torch, x: x.mean((0, 2)),
    "var": lambda torch, x: x.var(1),
    "prod": lambda torch, x: x.prod(1),
    "amax, ties": lambda torch, x: (x - x.detach() + x.detach().round()).amax(1),
    "amin": lambda torch, x: x.amin((0, 1)),
    "cumsum": lambda torch, x: x.cumsum(1),
    "clone": lambda torch, x: x.clone(),
    "reshape": lambda torch, x: x.reshape(4, 6),
    "flatten": lambda torch, x: x.flatten(1),
    "transpose": lambda torch, x: x.transpose(0, 2),
    "permute": lambda torch, x: x.permute(2, 0, 1),
    "unsqueeze": lambda torch, x: x.unsqueeze(1),
    "squeeze": lambda torch, x: x[:, :1].squeeze(1),
    "expand": lambda torch, x: x[:, :1].expand(2, 3, 4),
    "slice": lambda torch, x: x[:, ::2, 1:],
    "select": lambda torch, x: x[:, -1],
    "as_strided": lambda torch, x: x.as_strided((3, 3), (2, 1), 1),
    "index": lambda torch, x: x[[0, 1, 1]],
    "mask": lambda torch, x: x[x > 1],
    "gather": lambda torch, x: x.gather(1, torch.tensor([[[0, 2, 2, 0]], [[1, 1, 0, 2]]])),
    "cat": lambda torch, x: torch.cat([x, x * 2], 1),
    "stack": lambda torch, x: torch.stack([x, x.exp()]),
    "split": lambda torch, x: x.split([1, 2], 1)[1],
    "flip": lambda torch, x: x.flip((0, 2)),
    "tril": lambda torch, x: x.tril(),
    "triu": lambda torch, x: x.triu(1),
    "used three times": lambda torch, x: x * x + x,
}


@part(derivatives + "spread", derivatives + "share", derivatives + "product_rule", derivatives + "inside")
@part(
    derivatives + "inverse",
    derivatives + "slice_backward",
    derivatives + "select_backward",
    derivatives + "as_strided_backward",
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_of_a_function_of_one_tensor(mytorch: ModuleType, name: str) -> None:
    agree(lambda torch: gradients(FUNCTIONS[name], [numbers(2, 3, 4)], torch), mytorch)


PAIRS: dict[str, Callable[..., Any]] = {
    "add": lambda torch, x, y: x + y,
    "sub": lambda torch, x, y: x - y,
    "mul": lambda torch, x, y: x * y,
    "div": lambda torch, x, y: x / y,
    "pow": lambda torch, x, y: x**y,
    "remainder": lambda torch, x, y: x % y,
    "maximum": lambda torch, x, y: torch.maximum(x, y),
    "minimum, ties": lambda torch, x, y: torch.minimum(x - x.detach(), y - y.detach()),
    "where": lambda torch, x, y: torch.where(x > 1, x, y),
}


@part(engine + "fit", derivatives + "first_wins")
@pytest.mark.parametrize("sizes", [((2, 3), (3,)), ((2, 1), (4, 1, 3)), ((), (2, 2)), ((1, 1), (2, 1)), ((3,), (3,))])
@pytest.mark.parametrize("name", PAIRS)
def test_the_gradients_of_two_that_are_broadcast(mytorch: ModuleType, name: str, sizes: Any) -> None:
    arrays = [numbers(*size, seed=seed) for seed, size in enumerate(sizes)]
    agree(lambda torch: gradients(PAIRS[name], arrays, torch), mytorch)


@part(derivatives + "matmul_grad_x", derivatives + "matmul_grad_y")
@pytest.mark.parametrize(
    "sizes",
    [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
    ],
)
def test_the_gradients_of_a_matrix_product(mytorch: ModuleType, sizes: Any) -> None:
    arrays = [numbers(*size, seed=seed) for seed, size in enumerate(sizes)]
    agree(lambda torch: gradients(lambda _, x, y: x @ y, arrays, torch), mytorch)


@part(engine + "fit")
def test_what_fits_is_not_copied(mytorch: ModuleType) -> None:
    grad = mytorch.ones(2, 3)
    assert mytorch.autograd.engine.fit(grad, (2, 3), mytorch.float32) is grad


def order_of(root: Any) -> list[str]:
    """The names of a graph's nodes, each of which is added when the backward pass comes to it."""
    order: list[str] = []
    found, waiting = set(), [root]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            node.register_prehook(lambda grads, node=node: order.append(node.name()))
            waiting += [each for each, _ in node.next_functions]
    return order


@part(engine + "count_arrivals", engine + "run_backward", engine + "arrive", node + "Node", node + "edge_of")
@pytest.mark.parametrize("seed", range(8))
def test_nodes_run_once_in_minitorchs_order(mytorch: ModuleType, seed: int) -> None:
    def graph(library: ModuleType) -> tuple[list[Any], Any]:
        generator = np.random.default_rng(seed)
        leaves = [library.tensor([float(number)], requires_grad=True) for number in generator.integers(1, 4, 3)]
        made = list(leaves)
        for _ in range(12):
            one, other = (made[number] for number in generator.integers(0, len(made), 2))
            made.append((one + other * 0.5, (one * other).sin(), one.sin(), one - other)[generator.integers(4)])
        return leaves, (made[-1] * made[-1] + made[-1].sin() + made[-2]).sum()

    leaves, end = graph(mytorch)
    visited: list[str] = []

    def visit(each: Any, arrived: Any) -> Any:
        visited.append(each.name())
        return each.apply(*arrived)

    mytorch.autograd.engine.run_backward([(end.grad_fn, 0)], [mytorch.tensor(1.0)], visit)
    for torch in ORACLES:
        expected_leaves, expected_end = graph(torch)
        order = order_of(expected_end.grad_fn)
        expected_end.backward(retain_graph=True)
        assert visited == order
        close([each.grad for each in leaves], [each.grad for each in expected_leaves], rtol=1e-3)


@part(engine + "count_arrivals", engine + "run_backward")
def test_a_root_that_another_root_leads_to_waits(mytorch: ModuleType) -> None:
    def call(torch: ModuleType) -> Any:
        x = torch.tensor([2.0], requires_grad=True)
        h = x * x
        return torch.autograd.grad([h, h.exp() * h], [x], [torch.ones(1), torch.ones(1)])

    same(call, mytorch)


@part(engine + "count_arrivals", engine + "run_backward")
def test_a_long_chain_and_many_paths(mytorch: ModuleType) -> None:
    start = end = mytorch.tensor([1.0], requires_grad=True)
    for _ in range(3_000):
        end = end + 1.0
    for _ in range(60):
        end = end + end
    end.backward()
    assert start.grad.item() == 2.0**60


CALLS: dict[str, Callable[..., Any]] = {
    "leaves": lambda torch, a: [
        (x.is_leaf, x.requires_grad) for x in (a, a * 2, a > 1, a.detach(), a.data, a.double())
    ],
    "printed": lambda torch, a: [a, a * 2, (a * 2).sum(), a.double().exp(), a[0], a.reshape(1, 2)],
    "node": lambda torch, a: [(each and each.name(), n) for each, n in (a * torch.ones(2)).grad_fn.next_functions],
    "nodes": lambda torch, a: [(each and each.name(), n) for each, n in torch.cat([a, a]).grad_fn.next_functions],
    "same leaf": lambda torch, a: len({each for each, _ in (a * a).grad_fn.next_functions}),
    "not a number": lambda torch, a: (a * 2).backward(),
    "without history": lambda torch, a: torch.ones(()).backward(),
    "another shape": lambda torch, a: (a * 2).backward(torch.ones(3)),
    "flag of a result": lambda torch, a: (a * 2).requires_grad_(False),
    "flag of integers": lambda torch, a: torch.ones(2, dtype=torch.int64).requires_grad_(),
    "to NumPy": lambda torch, a: a.numpy(),
    "retain nothing": lambda torch, a: torch.ones(2).retain_grad(),
    "a leaf itself": lambda torch, a: (a.backward(torch.ones(2)), a.grad),
    "half": lambda torch, a: (lambda h: ((h * h).sum().backward(), h.grad))(a.detach().half().requires_grad_()),
    "wider": lambda torch, a: ((a * torch.ones(3, 2, dtype=torch.float64)).sum().backward(), a.grad),
    "frozen": lambda torch, a: (a.requires_grad_(False), (a * 2).requires_grad),
    "integers from it": lambda torch, a: a.argmax().requires_grad,
    "item": lambda torch, a: (a * 2).sum().item(),
    "grad": lambda torch, a: (torch.autograd.grad((a * a).sum(), [a]), a.grad),
    "grad, unused": lambda torch, a: torch.autograd.grad((a * a).sum(), [a, torch.ones(1, requires_grad=True)]),
    "grad, not asked": lambda torch, a: torch.autograd.grad((a * a).sum(), [torch.ones(1)]),
}


@part(node + "edge_of", node + "attach", node + "retain_grad", recording + "record", recording + "node_name")
@part(engine + "start", engine + "grad", engine + "backward", engine + "differentiate")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_printed_recorded_and_raised(mytorch: ModuleType, name: str) -> None:
    same(lambda torch: CALLS[name](torch, torch.tensor([1.0, 2.0], requires_grad=True)), mytorch)


@part(node + "accumulated", node + "AccumulateGrad.apply", engine + "retain")
def test_grad_is_a_sum_in_place_and_nobody_elses(mytorch: ModuleType) -> None:
    def call(torch: ModuleType) -> Any:
        a, b = (torch.zeros(2, requires_grad=True) for _ in range(2))
        given, total = torch.ones(2), a + b
        total.retain_grad()
        total.backward(given)
        first = a.grad
        (a * 10).backward(given)
        return a.grad, b.grad, given, first is a.grad, total.grad, total.retains_grad, a.retains_grad

    same(call, mytorch)


@part(recording + "OperationNode.release", recording + "OperationNode.value", recording + "Kept")
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    "function", [lambda a: a.sum(), lambda a: (a + a).sum(), lambda a: (a * a).sum(), lambda a: a.exp().sum()]
)
def test_a_second_pass_needs_what_was_saved(mytorch: ModuleType, function: Callable[..., Any], times: int) -> None:
    def call(torch: ModuleType) -> Any:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        end = function(a)
        end.backward(retain_graph=times > 1)
        for _ in range(times):
            end.backward()
        return a.grad

    same(call, mytorch)


@part(recording + "OperationNode", recording + "Kept")
def test_a_graph_has_no_cycle_and_keeps_what_formulas_name(mytorch: ModuleType) -> None:
    a = mytorch.ones(2, requires_grad=True)
    results = {name: getattr(a, name)() for name in ("exp", "sin", "neg")}
    nodes = {name: weakref.ref(result.grad_fn) for name, result in results.items()}
    assert {name: sorted(result.grad_fn.values) for name, result in results.items()} == {
        "exp": ["result"],
        "sin": ["x"],
        "neg": [],
    }
    assert sorted((a * mytorch.ones(2)).grad_fn.values) == ["y"]
    del results
    assert [each() for each in nodes.values()] == [None] * 3  # without the garbage collector


@part(recording + "derivative", engine + "arrive")
def test_two_moons_train_to_minitorchs_losses(mytorch: ModuleType) -> None:
    def train(torch: ModuleType) -> list[float]:
        x, side = torch.tensor(numbers(20, 2)), torch.tensor(np.sign(numbers(20, 1, seed=1) - 1))
        sizes = [(2, 8), (8,), (8, 1), (1,)]
        weights = [torch.tensor(numbers(*size, seed=seed) - 1).requires_grad_() for seed, size in enumerate(sizes)]
        losses = []
        for _ in range(20):
            score = (x @ weights[0] + weights[1]).tanh() @ weights[2] + weights[3]
            loss = ((-side * score).exp() + 1).log().mean()
            loss.backward()
            for each in weights:
                each.data -= 0.5 * each.grad
                each.grad = None
            losses.append(loss.item())
        return losses

    agree(train, mytorch, rtol=1e-5)
