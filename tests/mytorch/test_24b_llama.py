"""Chapter 24b of mytorch against minitorch, PyTorch, and a checkpoint of Hugging Face's transformers."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from minitorch.models import llama as theirs
from tests.mytorch.compare import ORACLES, agree, numbers, outcome, same

part = pytest.mark.part
llama = "mytorch.nn.llama:"
norm = "mytorch.nn.normalization:"
generation = "mytorch.generation:"
FOLDER = Path(__file__).resolve().parents[2] / "notebooks" / "files" / "tiny_llama"


def made(torch: Any, *size: int, seed: int = 0) -> Any:
    return torch.tensor(numbers(*size, seed=seed).tolist())


@part(norm + "rms_norm")
@pytest.mark.parametrize("eps", [None, 0.5])
@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_rms_norm(mytorch: ModuleType, shape: tuple[int, ...], eps: float | None) -> None:
    def run(torch: Any) -> list[Any]:
        x, weight = made(torch, 2, 3, 4).requires_grad_(), made(torch, *shape, seed=1).requires_grad_()
        out = torch.nn.functional.rms_norm(x, shape, weight, eps)
        (out * made(torch, 2, 3, 4, seed=2)).sum().backward()
        small = torch.nn.functional.rms_norm(made(torch, 2, 3, 4) * 1e-4, shape, eps=eps)
        return [out, x.grad, weight.grad, small]

    agree(run, mytorch)


@part(norm + "rms_norm", norm + "check_ending")
def test_rms_norm_of_another_shape(mytorch: ModuleType) -> None:
    """PyTorch's sentence lacks a comma here, which layer norm's has."""
    found = [
        outcome(lambda torch: torch.nn.functional.rms_norm(torch.ones(2, 3), (4,)), each)
        for each in (mytorch, *ORACLES)
    ]
    assert {(kind, text.replace("*, ", "*")) for kind, text in found} == {found[-1]}


@part(norm + "rms_norm")
def test_the_type_of_an_rms_norm(mytorch: ModuleType) -> None:
    same(lambda torch: torch.nn.functional.rms_norm(torch.ones(2, 4).half(), (4,)).dtype, mytorch)
    same(lambda torch: torch.nn.functional.rms_norm(torch.ones(2, 4).double(), (4,)).dtype, mytorch)


@part(norm + "rms_norm")
@pytest.mark.parametrize("size", [1e-4, 1.0, 300.0])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_an_rms_norm_of_16_bits_is_rounded_once(mytorch: ModuleType, dtype: str, size: float) -> None:
    """Squares overflow float16 at 256, and float16's own epsilon is much larger than a square of 1e-4."""

    def run(torch: Any) -> list[Any]:
        x, weight = (made(torch, *shape).to(getattr(torch, dtype)) for shape in ((3, 4), (4,)))
        rms_norm = torch.nn.functional.rms_norm
        return [rms_norm(x * size, (4,)).tolist(), rms_norm(x * size, (4,), weight, 0.5).tolist()]

    same(run, mytorch)


@part(norm + "RMSNorm", norm + "RMSNorm.__init__", norm + "RMSNorm.forward")
def test_the_module_of_an_rms_norm(mytorch: ModuleType) -> None:
    def run(torch: Any) -> list[Any]:
        layer = torch.nn.RMSNorm(4, eps=0.25)
        with torch.no_grad():
            layer.weight.copy_(made(torch, 4, seed=1))
        return [layer(made(torch, 3, 4)), torch.nn.RMSNorm((3, 4), elementwise_affine=False)(made(torch, 2, 3, 4))]

    agree(run, mytorch)
    same(lambda torch: list(torch.nn.RMSNorm((3, 4)).state_dict().items()), mytorch)
    same(lambda torch: torch.nn.RMSNorm(4, elementwise_affine=False).weight, mytorch)


@part(norm + "RMSNorm._shown", norm + "RMSNorm")
@pytest.mark.parametrize("options", [{}, {"eps": 0.1}, {"elementwise_affine": False}], ids=str)
def test_the_text_of_an_rms_norm(mytorch: ModuleType, options: dict[str, Any]) -> None:
    same(lambda torch: torch.nn.RMSNorm(4, **options), mytorch)


def by_complex_numbers(x: Any, positions: Any, theta: float) -> Any:
    """Su et al. (2021), equation 34: pair i, as a complex number, times exp(i · position · θ^(-2i/dim))."""
    dim = x.shape[-1]
    pairs = x[..., : dim // 2] + 1j * x[..., dim // 2 :]
    turned = pairs * np.exp(1j * np.outer(positions, theta ** (-2 * np.arange(dim // 2) / dim)))
    return np.concatenate([turned.real, turned.imag], -1)


@part(llama + "rotary_tables", llama + "rotate_half", llama + "apply_rotary")
@pytest.mark.parametrize("theta", [10000.0, 50.0])
def test_rotations_are_products_of_complex_numbers(mytorch: ModuleType, theta: float) -> None:
    x, positions = numbers(2, 3, 4, 6), [0, 1, 7, 100]
    turned = mytorch.nn.llama.apply_rotary(mytorch.tensor(x.tolist()), mytorch.tensor(positions), theta)
    np.testing.assert_allclose(turned.tolist(), by_complex_numbers(x, positions, theta), rtol=1e-4, atol=1e-5)


@part(llama + "rotary_tables")
def test_the_tables_of_position_0_turn_nothing(mytorch: ModuleType) -> None:
    cos, sin = mytorch.nn.llama.rotary_tables(mytorch.tensor([0]), 4)
    assert (cos.tolist(), sin.tolist()) == ([[1.0] * 4], [[0.0] * 4])


@part(llama + "apply_rotary")
def test_scores_see_the_distance_alone(mytorch: ModuleType) -> None:
    query, key = (made(mytorch, 1, 1, 1, 8, seed=seed) for seed in (0, 1))

    def score(m: int, n: int) -> float:
        pair = ((query, m), (key, n))
        a, b = (mytorch.nn.llama.apply_rotary(each, mytorch.tensor([at])) for each, at in pair)
        return float((a * b).sum().item())

    assert score(107, 104) == pytest.approx(score(3, 0), abs=1e-4)
    assert score(4, 0) != pytest.approx(score(3, 0), abs=1e-2)


@part(llama + "repeat_kv")
@pytest.mark.needs("torch")
@pytest.mark.parametrize("times", [1, 3])
def test_repeated_heads(mytorch: ModuleType, times: int) -> None:
    import torch

    x = numbers(2, 2, 3, 4)
    repeated = mytorch.nn.llama.repeat_kv(mytorch.tensor(x.tolist()), times)
    assert repeated.tolist() == torch.tensor(x).repeat_interleave(times, 1).tolist()


@part(llama + "KVCache", llama + "KVCache.append", llama + "KVCache.kept", llama + "KVCache.__len__")
def test_a_cache_keeps_all_tokens_in_order(mytorch: ModuleType) -> None:
    cache = mytorch.nn.llama.KVCache()
    assert len(cache) == 0
    pieces = [(made(mytorch, 1, 2, length, 4), made(mytorch, 1, 2, length, 4, seed=1)) for length in (3, 1, 2)]
    for piece in pieces:
        key, value = cache.append(*piece)
    assert len(cache) == 6
    for place, whole in enumerate((key, value)):
        assert whole.tolist() == mytorch.cat([piece[place] for piece in pieces], 2).tolist()


def attention(mytorch: ModuleType, kv_heads: int, theta: float | None = 10000.0) -> tuple[Any, dict[str, Any]]:
    """A layer of 4 heads, 6 wide, and its weights."""
    layer = mytorch.nn.llama.GroupedQueryAttention(24, 4, kv_heads, theta)
    weights = {
        name: numbers(*each.shape, seed=place) * 0.3 for place, (name, each) in enumerate(layer.state_dict().items())
    }
    layer.load_state_dict({name: mytorch.tensor(each.tolist()) for name, each in weights.items()})
    return layer, weights


@part(
    llama + "GroupedQueryAttention.forward", llama + "GroupedQueryAttention.__init__", llama + "GroupedQueryAttention"
)
@pytest.mark.needs("torch")
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("theta", [10000.0, 20.0, None])
def test_grouped_queries_are_pytorchs(mytorch: ModuleType, kv_heads: int, theta: float | None) -> None:
    """Beside PyTorch's fused function with `enable_gqa`, and its own rotation by complex numbers."""
    import torch

    layer, arrays = attention(mytorch, kv_heads, theta)
    assert {name: each.shape for name, each in arrays.items()} == {
        "q_proj.weight": (24, 24),
        "k_proj.weight": (6 * kv_heads, 24),
        "v_proj.weight": (6 * kv_heads, 24),
        "o_proj.weight": (24, 24),
    }
    x, weights = numbers(2, 5, 24, seed=9), {name: torch.tensor(each) for name, each in arrays.items()}
    inputs = torch.tensor(x)
    q, k, v = (
        (inputs @ weights[f"{name}_proj.weight"].T).view(2, 5, -1, 6).transpose(1, 2) for name in ("q", "k", "v")
    )
    if theta is not None:
        q, k = (torch.tensor(by_complex_numbers(each.numpy(), range(5), theta)).float() for each in (q, k))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    expected = out.transpose(1, 2).reshape(2, 5, 24) @ weights["o_proj.weight"].T
    np.testing.assert_allclose(layer(mytorch.tensor(x.tolist())).tolist(), expected, rtol=1e-4, atol=1e-5)


@part(llama + "GroupedQueryAttention.forward", llama + "KVCache.append", llama + "KVCache.__len__")
@pytest.mark.parametrize("lengths", [[7], [4, 1, 1, 1], [3, 3, 1], [1, 6]], ids=str)
def test_pieces_with_a_cache_give_what_the_whole_gives(mytorch: ModuleType, lengths: list[int]) -> None:
    layer, _ = attention(mytorch, 2)
    x, cache = made(mytorch, 2, 7, 24), mytorch.nn.llama.KVCache()
    pieces = [layer(piece, cache) for piece in x.split(lengths, 1)]
    np.testing.assert_allclose(mytorch.cat(pieces, 1).tolist(), layer(x).tolist(), rtol=1e-4, atol=1e-5)
    assert [tuple(each.shape) for each in cache.kept] == [(2, 2, 7, 6)] * 2  # the kv heads alone


@part(llama + "SwiGLU", llama + "SwiGLU.__init__", llama + "SwiGLU.forward")
@pytest.mark.needs("torch")
def test_swiglu(mytorch: ModuleType) -> None:
    """Shazeer (2020), equation 6: (Swish(xW) · xV) W₂."""
    import torch

    layer = mytorch.nn.llama.SwiGLU(4, 6)
    arrays = {name: numbers(*each.shape, seed=place) for place, (name, each) in enumerate(layer.state_dict().items())}
    layer.load_state_dict({name: mytorch.tensor(each.tolist()) for name, each in arrays.items()})
    assert {name: each.shape for name, each in arrays.items()} == {
        "gate_proj.weight": (6, 4),
        "up_proj.weight": (6, 4),
        "down_proj.weight": (4, 6),
    }
    x, (gate, up, down) = numbers(3, 4, seed=9), (torch.tensor(each) for each in arrays.values())
    expected = (torch.nn.functional.silu(torch.tensor(x) @ gate.T) * (torch.tensor(x) @ up.T)) @ down.T
    np.testing.assert_allclose(layer(mytorch.tensor(x.tolist())).tolist(), expected, rtol=1e-4, atol=1e-5)


def checkpoint(mytorch: ModuleType) -> tuple[Any, dict[str, Any]]:
    """minitorch's file on mytorch, with mytorch's own attention and MLP, and what transformers computed."""
    mine = sys.modules["llama_on_mytorch"] = ModuleType("llama_on_mytorch")
    sys.modules["mytorch_of_24b"] = mytorch
    text = inspect.getsource(theirs).replace("import minitorch as torch", "import mytorch_of_24b as torch")
    text = text.replace("import minitorch.nn.functional as F", "F = torch.nn.functional")
    exec(text.replace("from minitorch import nn", "nn = torch.nn"), mine.__dict__)
    parts = mytorch.nn.llama
    mine.LlamaAttention = lambda c: parts.GroupedQueryAttention(  # type: ignore[attr-defined]
        c.hidden_size, c.num_attention_heads, c.num_key_value_heads, c.rope_theta
    )
    mine.LlamaMLP = lambda c: parts.SwiGLU(c.hidden_size, c.intermediate_size)  # type: ignore[attr-defined]
    config = mine.LlamaConfig.from_dict(json.loads((FOLDER / "config.json").read_text()))
    model = mine.LlamaForCausalLM(config)
    model.load_state_dict(mytorch.safetensors.load_file(FOLDER / "model.safetensors"))
    return model, mytorch.safetensors.load_file(FOLDER / "expected.safetensors")


@part(llama + "GroupedQueryAttention.forward", llama + "SwiGLU.forward", llama + "apply_rotary", norm + "rms_norm")
@part(generation + "generate")
def test_a_checkpoint_of_transformers(mytorch: ModuleType) -> None:
    model, expected = checkpoint(mytorch)
    with mytorch.no_grad():
        logits = model(expected["tokens"])[0]
    np.testing.assert_allclose(logits.tolist(), expected["logits"].tolist(), rtol=0, atol=1e-5)
    written = mytorch.generation.generate(model, expected["tokens"], 10, temperature=0)
    assert written.tolist() == expected["written"].tolist()
    assert not written.requires_grad


@part(generation + "probabilities")
def test_from_what_transformers_draws(mytorch: ModuleType) -> None:
    """Temperature 0.7, then top-k 8, then top-p 0.9."""
    expected = mytorch.safetensors.load_file(FOLDER / "expected.safetensors")
    shares = mytorch.generation.probabilities(expected["logits"][:, -1], 0.7, 8, 0.9)
    np.testing.assert_allclose(shares.tolist(), expected["drawn"].tolist(), rtol=1e-4, atol=1e-6)


@part(generation + "probabilities")
def test_temperature_top_k_and_top_p(mytorch: ModuleType) -> None:
    known = mytorch.tensor([[0.4, 0.1, 0.3, 0.2], [0.05, 0.85, 0.06, 0.04]])
    expected = {
        (1, None, 1): [[0.4, 0.1, 0.3, 0.2], [0.05, 0.85, 0.06, 0.04]],
        (1, 2, 1): [[4 / 7, 0, 3 / 7, 0], [0, 85 / 91, 6 / 91, 0]],
        (1, 9, 1): [[0.4, 0.1, 0.3, 0.2], [0.05, 0.85, 0.06, 0.04]],
        (1, None, 0.65): [[4 / 7, 0, 3 / 7, 0], [0, 1, 0, 0]],
        (1, None, 0.05): [[1, 0, 0, 0], [0, 1, 0, 0]],
        (2, 3, 0.0): [[1, 0, 0, 0], [0, 1, 0, 0]],  # the most likely token is always kept
        (1, 3, 0.75): [[4 / 7, 0, 3 / 7, 0], [0, 1, 0, 0]],  # of three, 0.44 0.33 0.22, two reach 0.75
        (0, None, 1): [[1, 0, 0, 0], [0, 1, 0, 0]],
        (0.5, 2, 1): [[16 / 25, 0, 9 / 25, 0], [0, 7225 / 7261, 36 / 7261, 0]],
    }
    for how, shares in expected.items():
        found = mytorch.generation.probabilities(known.log(), *how)
        np.testing.assert_allclose(found.tolist(), shares, rtol=1e-4, atol=1e-6)


@part(generation + "generate")
def test_what_is_drawn_is_drawn_from_the_probabilities(mytorch: ModuleType) -> None:
    """A model that sees one token at a time: after token t, t + 1 or t + 2 of 5 with 1/4 and 3/4."""

    class Model:
        def __init__(self) -> None:
            self.lengths: list[int] = []

        def new_caches(self) -> list[Any]:
            return []

        def __call__(self, tokens: Any, caches: Any) -> tuple[Any, None]:
            self.lengths.append(tokens.shape[1])
            rows = mytorch.nn.functional.embedding((tokens + 1) % 5, mytorch.eye(5)) * 0.25
            return (rows + mytorch.nn.functional.embedding((tokens + 2) % 5, mytorch.eye(5)) * 0.75).log(), None

    mytorch.manual_seed(0)
    model = Model()
    written = np.array(mytorch.generation.generate(model, mytorch.tensor([[0, 3]] * 400), 3).tolist())
    steps = np.diff(written[:, 1:], axis=1) % 5
    assert model.lengths == [2, 1, 1]
    assert set(steps.ravel()) == {1, 2}
    assert (steps == 2).mean() == pytest.approx(0.75, abs=0.04)
    assert set(
        np.diff(np.array(mytorch.generation.generate(model, mytorch.tensor([[4]] * 50), 1, top_k=1)))[:, 0] % 5
    ) == {2}
