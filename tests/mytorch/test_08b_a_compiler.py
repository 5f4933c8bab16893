"""Chapter 08b of mytorch against minitorch: compiled functions compute what they computed, in fewer kernels."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import agree

compiler = "mytorch.compiler:"
part = pytest.mark.part


def numbers(*size: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.2, 2.0, size).astype(np.float32)


def gelu(torch: ModuleType, x: Any, k: float = 0.5) -> Any:
    return x * k * ((0.8 * (x + 0.04 * x * x * x)).tanh() + 1)


def every_function(torch: ModuleType, x: Any) -> Any:
    y = (x.abs().sqrt() + x.exp().log() - x.sin() * x.cos()).floor() + 1 / x - (-x)
    return torch.maximum(torch.minimum(y, x * 2), x / 3)


def layer(torch: ModuleType, x: Any) -> Any:
    return (x @ torch.tensor(numbers(3, 3, seed=9)) + torch.tensor(numbers(3, seed=8))).tanh() * x + x.t().exp()


def branches(torch: ModuleType, x: Any) -> Any:
    return (x * 2 + 1).exp() * 0.1 if x.sum() > 5 else x * 3 - 1


FUNCTIONS: dict[str, Callable[[ModuleType, Any], Any]] = {
    "gelu": gelu,
    "every function": every_function,
    "a layer": layer,
    "a branch": branches,
    "two results in a kernel": lambda torch, x: (x * 2 + 1) * (x * 2 + 1).sum() + (x * 2 + 1),
    "infinity": lambda torch, x: torch.maximum(x * 2, x / float("-inf") + 1),
}


@part(compiler + "slots", compiler + "source", compiler + "guards", compiler + "partition")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_compiled_function_gives_results_and_gradients(mytorch: ModuleType, name: str) -> None:
    """On other numbers, on another size, and with a gradient."""

    def call(torch: ModuleType) -> list[Any]:
        function = (lambda x: FUNCTIONS[name](torch, x)) if torch is not mytorch else compiled
        found = []
        for size, seed in (((3, 3), 0), ((3, 3), 1), ((1, 3), 2), ((5, 3), 3), ((7, 3), 3), ((0, 3), 4)):
            if name != "a layer" or size[0] == 3:
                found.append(function(torch.tensor(numbers(*size, seed=seed))).tolist())
        for seed in (5, 6):
            x = torch.tensor(numbers(3, 3, seed=seed)).requires_grad_()
            y = function(x)
            (y * torch.tensor(numbers(3, 3, seed=7))).sum().backward()
            found += [y.tolist(), x.grad.tolist()]
        return found

    compiled = mytorch.compile(lambda x: FUNCTIONS[name](mytorch, x))
    agree(call, mytorch)
    assert len(compiled.graphs) > 0


def kernels(graphs: list[Any]) -> list[str]:
    return [step.op.name for graph in graphs for step in graph.steps if step.op.name.startswith("fused")]


@part(compiler + "slots", compiler + "source")
def test_blocks_cover_every_element(mytorch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mytorch.compiler, "BLOCK", 4)
    x = mytorch.tensor(numbers(11))
    compiled = mytorch.compile(lambda x: gelu(mytorch, x))
    assert mytorch.equal(compiled(x), gelu(mytorch, x))
    (graph,) = compiled.graphs
    assert [step.op.name for step in graph.steps] == ["empty_like", "fused_mul_add_tanh"]
    assert "np.empty((2, 4)" in graph.steps[-1].op.source
    with mytorch.utils.count_bytes() as moved:
        compiled(x)
    assert moved == {"fused_mul_add_tanh": 88}


@part(compiler + "partition")
def test_two_passes_save_what_is_expensive(mytorch: ModuleType) -> None:
    x, weight = (mytorch.tensor(numbers(3, 3, seed=seed)).requires_grad_() for seed in (0, 1))
    compiled = mytorch.compile(lambda x: gelu(mytorch, x @ weight))
    y = compiled(x)
    assert y.grad_fn.name() == "CompiledFunctionBackward"
    forward, backward = compiled.graphs
    assert kernels([forward]) == ["fused_mul_add_tanh"]
    assert len(forward.output[1]) == 4  # x, weight, the product and its tanh
    assert kernels([backward]) == ["fused_mul_add_sub"]
    y.sum().backward()
    gradients = x.grad.clone(), weight.grad.clone()
    x.grad = weight.grad = None
    gelu(mytorch, x @ weight).sum().backward()
    pairs = zip(gradients, (x.grad, weight.grad), strict=True)
    assert all(np.allclose(mine.numpy(), eager.numpy()) for mine, eager in pairs)


@part(compiler + "guards")
def test_what_needs_another_variant(mytorch: ModuleType) -> None:
    """Python's values by type and value, sizes by which are equal and which are 0 or 1, tensors that are the same."""
    ones = mytorch.ones
    compiled = mytorch.compile(lambda x, y, k=1: (x + y) * k)
    same, counts = ones(3), []
    for args in (
        (ones(3), ones(3), 2),
        (ones(4), ones(4), 2),
        (ones(4), ones(1), 2),
        (ones(3), ones(3), 2.0),
        (same, same, 2),
        (ones(3).requires_grad_(), ones(3), 2),
        (ones(3), ones(3).double(), 2),
        (ones(3), ones(3)),
        (ones(3), ones(3), 9),
        (ones(3), ones(3), 2),
    ):
        assert compiled(*args).tolist() == ((args[0] + args[1]) * (*args, 1)[2]).tolist()
        counts.append(len(compiled.variants))
    assert counts == [1, 1, 2, 3, 4, 5, 6, 7, 8, 8]
    reasons = ["args[1].shape", "args[1].shape", "args[1] is", "args[0].requires_grad", "args[0].requires_grad"]
    assert compiled.reasons == [*reasons, "args[1].dtype", "args[2]"]


def test_what_stays_eager(mytorch: ModuleType) -> None:
    """With a gradient: a value that Python reads, and a result that isn't one tensor. The ninth variant, too."""
    x = mytorch.ones(3).requires_grad_()
    for function in (lambda x: branches(mytorch, x), lambda x: (x * 2 + 1, x)):
        compiled = mytorch.compile(function)
        found, eager = compiled(x), function(x)
        assert str(found) == str(eager)
        assert compiled.graphs == []
    compiled = mytorch.compile(lambda x, k: x * k)
    assert [compiled(x, k).tolist()[0] for k in range(12)] == list(range(12))
    assert len(compiled.variants) == 8


def test_a_compiled_function_in_another_is_inlined(mytorch: ModuleType) -> None:
    inner = mytorch.compile(lambda x: x * 2 + 1)
    outer = mytorch.compile(lambda x: inner(x).tanh() * 3)
    outer(mytorch.ones(3))
    assert kernels(outer.graphs) == ["fused_mul_add_tanh"]
    assert inner.graphs == []


def test_a_kernel_refuses_sizes_that_have_come_apart(mytorch: ModuleType) -> None:
    ones, graph = mytorch.ones, mytorch.graph
    fused = mytorch.compiler.fuse(graph.trace(lambda x, y: (x + y) * 2, ones(4), ones(4)), ones(4), ones(4))
    with pytest.raises(RuntimeError, match="equal shapes"):
        graph.run(fused, ones(4), ones(1))
