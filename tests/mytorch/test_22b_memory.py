"""Chapter 22b of mytorch against minitorch and PyTorch: checkpoints, tiles, 8 bits, and what the instruments count."""

from __future__ import annotations

import inspect
import math
import sys
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.models.gpt
import minitorch.utils.checkpoint
from tests.mytorch.compare import agree, close, numbers, pytorch, same

part = pytest.mark.part
checkpoint_ = "mytorch.utils.checkpoint:"
instruments = "mytorch.utils.instruments:"
attention = "mytorch.nn.attention:"
quantization = "mytorch.nn.quantization:"
needs_pytorch = pytest.mark.skipif(pytorch is None, reason="PyTorch isn't installed")


def made(torch: Any, *size: int, seed: int = 0) -> Any:
    return torch.tensor(numbers(*size, seed=seed).tolist())


def checkpoint_of(torch: Any) -> Callable[..., Any]:
    """The older kind of PyTorch's checkpoint, which mytorch's is."""
    module = torch.utils.checkpoint
    if torch.__name__.startswith("mytorch"):
        return module.checkpoint
    return lambda function, *tensors: module.checkpoint(function, *tensors, use_reentrant=True)


def with_checkpoint(torch: Any, autocast: bool = False, direct: bool = False) -> Any:
    """Loss, gradients and random numbers afterwards of a network with dropout, whose middle is a checkpoint."""
    torch.manual_seed(3)
    w1, w2 = (made(torch, 4, 4, seed=seed).requires_grad_() for seed in (1, 2))
    x, shift = made(torch, 5, 4).requires_grad_(), made(torch, 4, seed=4)

    def middle(h: Any, added: Any) -> Any:
        h = torch.nn.functional.dropout((h @ w1).tanh() + added, 0.5)
        return h @ w2 * torch.rand(1)

    h = x * 2
    with torch.autocast("cpu", enabled=autocast):
        out = middle(h, shift) if direct else checkpoint_of(torch)(middle, h, shift)
    drawn = torch.rand(2)
    (out.float() ** 2).sum().backward()
    return [out.float(), x.grad, w1.grad, w2.grad, drawn, torch.rand(2), str(out.dtype)[6:]]


@part(checkpoint_ + "checkpoint", checkpoint_ + "Checkpoint.forward", checkpoint_ + "Checkpoint.backward")
@part(checkpoint_ + "surroundings", checkpoint_ + "restore")
@pytest.mark.parametrize("autocast", [False, True])
def test_a_checkpoint_changes_no_gradient(mytorch: ModuleType, autocast: bool) -> None:
    agree(
        lambda torch: with_checkpoint(torch, autocast),
        mytorch,
        rtol=3e-2 if autocast else 1e-4,
        atol=0.1 if autocast else 1e-5,
    )
    one, other = with_checkpoint(mytorch, autocast), with_checkpoint(mytorch, autocast, direct=True)
    close(one, other, rtol=0, atol=0)


@part(checkpoint_ + "Checkpoint.forward", checkpoint_ + "Checkpoint.backward")
def test_a_checkpoint_runs_twice_the_first_time_without_a_graph(mytorch: ModuleType) -> None:
    def run(torch: Any) -> Any:
        seen = []

        def function(h: Any) -> Any:
            seen.append(torch.is_grad_enabled())
            return h.exp()

        x = torch.ones(2, requires_grad=True)
        checkpoint_of(torch)(function, x).sum().backward()
        return seen, x.grad

    same(run, mytorch)


@part(checkpoint_ + "Checkpoint.forward")
def test_what_a_checkpoint_refuses(mytorch: ModuleType) -> None:
    def again(torch: Any) -> Any:
        out = checkpoint_of(torch)(lambda h: h.exp(), torch.ones(2, requires_grad=True)).sum()
        out.backward()
        out.backward()

    def written(torch: Any) -> Any:
        h = torch.ones(2, requires_grad=True) * 1
        out = checkpoint_of(torch)(lambda h: h.exp(), h)
        with torch.no_grad():
            h.add_(1.0)
        out.sum().backward()

    same(again, mytorch)
    for torch in (mytorch, minitorch, *([pytorch] if pytorch else [])):
        with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
            written(torch)


@part(checkpoint_ + "checkpoint")
def test_without_an_argument_that_requires_a_gradient_there_is_no_node(mytorch: ModuleType) -> None:
    def run(torch: Any) -> Any:
        weight = torch.ones(2, requires_grad=True)
        return checkpoint_of(torch)(lambda h: h * weight, torch.ones(2)).requires_grad

    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        same(run, mytorch)


@part(checkpoint_ + "restore", checkpoint_ + "surroundings", checkpoint_ + "Checkpoint.backward")
def test_normal_numbers_that_come_in_pairs(mytorch: ModuleType) -> None:
    """One that waits is part of the generator's state."""

    def run(torch: Any) -> Any:
        torch.manual_seed(0)
        torch.randn(1)
        x = torch.ones(3, requires_grad=True)
        out = checkpoint_of(torch)(lambda h: h * torch.randn(3), x)
        torch.randn(2)
        out.sum().backward()
        return [x.grad, out, torch.randn(3)]

    agree(run, mytorch)


@part(checkpoint_ + "Checkpoint.backward")
def test_an_error_in_the_second_run_leaves_nothing_behind(mytorch: ModuleType) -> None:
    calls: list[Any] = []

    def function(h: Any) -> Any:
        calls.append(mytorch.rand(1))
        if len(calls) == 2:
            raise MemoryError("full")
        return h * 2

    x = mytorch.ones(2, requires_grad=True)
    with mytorch.autocast("cpu"):
        out = mytorch.utils.checkpoint.checkpoint(function, x)
    mytorch.manual_seed(7)
    with pytest.raises(MemoryError):
        out.sum().backward()
    assert mytorch.dispatch.LAYERS["autocast"] is None
    assert mytorch.rand(1).tolist() == minitorch.rand(1, generator=minitorch.Generator().manual_seed(7)).tolist()


@part("mytorch.cuda:max_memory_allocated", "mytorch.cuda:reset_peak_memory_stats")
def test_the_peak_of_a_gpu(mytorch: ModuleType) -> None:
    def run(torch: Any) -> Any:
        torch.cuda.simulate(2)
        kept = torch.ones(1024).cuda()
        (torch.ones(4096).cuda(), kept)
        first = torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        second = torch.cuda.max_memory_allocated("cuda:0")
        return first, second, torch.cuda.max_memory_allocated(1), torch.cuda.memory_allocated()

    same(run, mytorch, beside_pytorch=False)
    assert run(mytorch) == (5 * 4096, 4096, 0, 4096)


@part(checkpoint_ + "Checkpoint.forward", "mytorch.cuda:max_memory_allocated")
def test_checkpoints_lower_the_peak(mytorch: ModuleType) -> None:
    mytorch.cuda.simulate(1)

    def peak(run: Callable[[Any, Any], Any]) -> int:
        h = mytorch.ones(4096).cuda().requires_grad_()
        mytorch.cuda.reset_peak_memory_stats()
        for _ in range(6):
            h = run(lambda each: each.exp().tanh().exp().tanh(), h)
        h.sum().backward()
        return int(mytorch.cuda.max_memory_allocated())

    plain, less = peak(lambda block, h: block(h)), peak(lambda block, h: mytorch.utils.checkpoint.checkpoint(block, h))
    assert plain > 24 * 4 * 4096 and less < 0.6 * plain


SIZES = [(8, 8, 8), (10, 7, 3), (5, 11, 4), (4, 4, 1), (6, 6, 100)]


@part(attention + "tiled_attention", attention + "attend", attention + "merge")
@pytest.mark.parametrize(("length", "keys", "tile"), SIZES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_tiled_attention_is_attention(mytorch: ModuleType, length: int, keys: int, tile: int, is_causal: bool) -> None:
    def run(torch: Any) -> Any:
        q, k = made(torch, 2, 3, length, 4).requires_grad_(), made(torch, 2, 3, keys, 4, seed=1).requires_grad_()
        v = made(torch, 2, 3, keys, 5, seed=2).requires_grad_()
        if torch is mytorch:
            out = torch.nn.attention.tiled_attention(q, k, v, is_causal, tile)
        else:
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        (out**2).sum().backward()
        return [out, q.grad, k.grad, v.grad]

    agree(run, mytorch)


@part(attention + "merge", attention + "attend")
def test_merge_is_associative_commutative_and_doesnt_overflow(mytorch: ModuleType) -> None:
    """Against a softmax in float64, by NumPy."""
    q, k, v = (made(mytorch, 6, 4, seed=seed) for seed in range(3))
    module = mytorch.nn.attention
    for size in (1.0, 300.0):
        scores = (q.array.astype(float) @ (k.array * size).T.astype(float)) / 2
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = weights / weights.sum(-1, keepdims=True) @ v.array
        a, b, c = (module.attend(q, k[each : each + 2] * size, v[each : each + 2]) for each in (0, 2, 4))
        merge = module.merge
        for m, total, out in (merge(merge(a, b), c), merge(a, merge(b, c)), merge(merge(c, a), b)):
            close([out / total, m], [expected, scores.max(-1, keepdims=True)], rtol=1e-4)
            assert total.shape == (6, 1)


@part(attention + "tiled_attention")
def test_tiled_attention_never_has_all_scores(mytorch: ModuleType) -> None:
    mytorch.cuda.simulate(1)
    q, k, v = (made(mytorch, 512, 16, seed=seed).cuda() for seed in range(3))
    before = mytorch.cuda.memory_allocated()
    mytorch.cuda.reset_peak_memory_stats()
    mytorch.nn.attention.tiled_attention(q, k, v, tile=64)
    assert mytorch.cuda.max_memory_allocated() - before < 512 * 512 * 4 / 4


@part(attention + "tiled_attention")
def test_causal_tiles_that_nobody_sees_arent_computed(mytorch: ModuleType) -> None:
    q = made(mytorch, 32, 4)
    counts = []
    for is_causal in (False, True):
        with mytorch.utils.count_flops() as flops:
            mytorch.nn.attention.tiled_attention(q, q, q, is_causal, tile=8)
        counts.append(flops.total())
    assert counts == [2 * 2 * 32 * 32 * 4, 2 * 2 * 4 * 8 * 8 * 10]


@part(quantization + "quantize")
@pytest.mark.parametrize("dim", [-1, 0])
@needs_pytorch
def test_quantize_as_pytorch_with_the_same_scales(mytorch: ModuleType, dim: int) -> None:
    x = numbers(5, 7) * np.array([[1.0], [100.0], [0.01], [1.0], [0.0]], np.float32)
    found, scale = mytorch.nn.quantization.quantize(mytorch.tensor(x.tolist()), dim)
    expected = np.abs(x).max(dim, keepdims=True).clip(1e-12) / 127
    np.testing.assert_allclose(scale.tolist(), expected, rtol=1e-6)
    scales, axis = pytorch.tensor(expected).flatten(), 0 if dim else 1
    zeros = pytorch.zeros(len(scales), dtype=pytorch.int32)
    theirs = pytorch.fake_quantize_per_channel_affine(pytorch.tensor(x), scales, zeros, axis, -127, 127)
    assert found.dtype is mytorch.int8
    np.testing.assert_allclose((found * scale).tolist(), theirs, rtol=1e-6)


@part(quantization + "quantize")
def test_one_scale_for_all(mytorch: ModuleType) -> None:
    found, scale = mytorch.nn.quantization.quantize(mytorch.tensor([[-254.0, 3.0], [1.0, 127.0]]), None)
    assert (found.tolist(), scale.tolist()) == ([[-127, 2], [0, 64]], [[2.0]])  # 1.5 and 63.5 go to the even neighbour


@part(quantization + "Int8Linear.__init__", quantization + "Int8Linear.forward")
def test_a_linear_layer_in_8_bits(mytorch: ModuleType) -> None:
    mytorch.manual_seed(0)
    for bias in (True, False):
        layer = mytorch.nn.Linear(32, 8, bias=bias)
        small, x = mytorch.nn.Int8Linear(layer), made(mytorch, 20, 32)
        exact, found = layer(x).detach(), small(x)
        assert 0 < ((found - exact) ** 2).mean().item() ** 0.5 < 0.02 * (exact**2).mean().item() ** 0.5
        assert list(small.parameters()) == [] and not found.requires_grad
        names = ["weight", "scale", "bias"] if bias else ["weight", "scale"]
        assert list(small.state_dict()) == names
        assert (small.weight.nbytes, small.scale.numel()) == (32 * 8, 8)


@part(quantization + "fake_quantize", quantization + "FakeQuantize.forward", quantization + "FakeQuantize.backward")
@pytest.mark.parametrize(("scale", "zero", "low", "high"), [(0.5, 0, -8, 7), (0.25, 3, 0, 15), (1.0, 0, -1, 1)])
@needs_pytorch
def test_fake_quantization_is_pytorchs(mytorch: ModuleType, scale: float, zero: int, low: int, high: int) -> None:
    values = [*(numbers(50) * 3).tolist(), 0.0, 0.5, 100.0, -100.0]

    def run(torch: Any, function: Callable[..., Any]) -> Any:
        x = torch.tensor(values, requires_grad=True)
        out = function(x, scale, zero, low, high)
        (out * torch.arange(len(values))).sum().backward()
        return [out, x.grad]

    mine = run(mytorch, mytorch.nn.quantization.fake_quantize)
    close(mine, run(pytorch, pytorch.fake_quantize_per_tensor_affine), rtol=1e-6)


def gpt(library: Any) -> Iterator[Any]:
    """A model, models/gpt.py unchanged but for the import, and tokens."""
    module = sys.modules["gpt_of_22b"] = ModuleType("gpt_of_22b")
    exec(inspect.getsource(minitorch.models.gpt).replace("minitorch", library.__name__), module.__dict__)
    yield module.GPT(module.GPTConfig(block_size=8, vocab_size=11, n_layer=2, n_head=2, n_embd=16))
    yield library.tensor(np.random.default_rng(0).integers(0, 11, (3, 8)).tolist())


@part(instruments + "flops", instruments + "count_flops", instruments + "instrument")
@needs_pytorch
def test_flops_are_those_of_pytorchs_counter(mytorch: ModuleType) -> None:
    """Forward and backward of a GPT and of a small convolutional network, with attention as single operations."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    def language(torch: Any) -> None:
        model, tokens = gpt(torch)
        model(tokens, tokens)[1].backward()

    def images(torch: Any) -> None:
        nn = torch.nn
        layers = (
            nn.Conv2d(2, 4, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 3, 3),
            nn.Flatten(),
            nn.Linear(12, 5),
        )
        nn.Sequential(*layers)(made(torch, 3, 2, 8, 8)).sum().backward()

    for program in (language, images):
        with mytorch.utils.count_flops() as flops:
            program(mytorch)
        with FlopCounterMode(display=False) as theirs, sdpa_kernel(SDPBackend.MATH):
            program(pytorch)
        assert flops.total() == theirs.get_total_flops() > 0


@part(instruments + "flops")
def test_a_step_of_a_gpt_is_six_operations_a_parameter_and_token(mytorch: ModuleType) -> None:
    blocks = mytorch.nn.Sequential(*[mytorch.nn.TransformerEncoderLayer(64, 2, 256) for _ in range(2)])
    tokens = mytorch.randn(8, 4, 64).requires_grad_()
    with mytorch.utils.count_flops() as flops:
        blocks(tokens).sum().backward()
    scores = 12 * 2 * 64 * 8 * 32  # layers, width, length, tokens
    rule = 6 * sum(each.numel() for each in blocks.parameters()) * 32
    assert 0.97 < (flops.total() - scores) / rule < 1


BYTES: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    # what is done with a (4, 5) tensor and a row of 5, and the bytes that are read and written
    "exp": (lambda x, row: x.exp(), 80 + 80),
    "add": (lambda x, row: x + row, 80 + 20 + 80),
    "a number": (lambda x, row: x + 1.0, 80 + 80),
    "product": (lambda x, row: x @ row, 80 + 20 + 16),
    "sum": (lambda x, row: x.sum(), 80 + 4),
    "view": (lambda x, row: x.T, 0),
    "part of a view": (lambda x, row: x.T[:2].exp(), 32 + 32),
    "in place": (lambda x, row: x.copy_(row), 20 + 80),
    "part in place": (lambda x, row: x[:1].copy_(row), 20 + 20),
    "other type": (lambda x, row: x.double(), 80 + 160),
}


@part(instruments + "moved", instruments + "count_bytes")
@pytest.mark.parametrize("name", BYTES)
def test_bytes_read_and_written(mytorch: ModuleType, name: str) -> None:
    call, expected = BYTES[name]
    x, row = made(mytorch, 4, 5), made(mytorch, 5)
    with mytorch.utils.count_bytes() as moved:
        call(x, row)
    assert moved.total() == expected


@part(instruments + "moved")
def test_tensors_in_lists_are_read(mytorch: ModuleType) -> None:
    with mytorch.utils.count_bytes() as moved:
        mytorch.cat([mytorch.ones(2), mytorch.ones(3)])
    assert moved["cat"] == 8 + 12 + 20


@part(instruments + "clock", instruments + "instrument")
def test_the_clock_finds_what_takes_long(mytorch: ModuleType) -> None:
    slow = mytorch.dispatch.Operation(
        lambda x: time.sleep(0.02) or x, mytorch.dispatch.run_on_arrays, "slow_for_a_test"
    )
    with mytorch.utils.clock() as seconds:
        slow(mytorch.ones(2).exp())
    assert 0.02 <= seconds["slow_for_a_test"] < seconds.total()
    assert seconds["exp"] > 0


@part(instruments + "instrument")
def test_instruments_in_instruments_and_after_an_error(mytorch: ModuleType) -> None:
    x = mytorch.ones(2, 3)
    with mytorch.utils.count_flops() as outer:
        with mytorch.utils.count_flops() as inner, mytorch.utils.count_bytes() as moved:
            x @ x.T
        x @ x.T
        with pytest.raises(ZeroDivisionError), mytorch.utils.clock():
            math.fmod(1 / 0, 1)
        x @ x.T
    x @ x.T
    assert (inner.total(), outer.total(), moved.total()) == (24, 72, 24 + 24 + 16)
    assert mytorch.dispatch.LAYERS["measure"] is None


@part(instruments + "LAYERS", instruments + "instrument")
def test_an_instrument_sees_the_backward_pass_and_the_place_below_the_others(mytorch: ModuleType) -> None:
    assert list(mytorch.dispatch.LAYERS)[-1] == "measure"
    x = mytorch.ones(2, 2, requires_grad=True)
    with mytorch.utils.instruments.instrument(lambda op, *call: 1) as ran, mytorch.autocast("cpu"):
        (x @ x).sum().backward()
    assert (ran["matmul"], ran["_to_copy"]) == (3, 2)  # one product forward, two backward; one cast each


@part(instruments + "instrument")
def test_without_an_instrument_the_stack_is_as_before(mytorch: ModuleType) -> None:
    before = mytorch.dispatch.Stack.top.func
    with mytorch.utils.clock():
        assert mytorch.dispatch.LAYERS["measure"] is not None
    assert mytorch.dispatch.Stack.top.func is before and mytorch.dispatch.LAYERS["measure"] is None
