"""minitorch.models.llama: names and numbers of Hugging Face's LlamaForCausalLM, and training with torch's numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import minitorch
from course.files import CODE
from minitorch.models import LlamaConfig, LlamaForCausalLM, llama
from tests.models.test_models import on_torch, state, trained

FOLDER = CODE / "notebooks" / "files" / "tiny_llama"
SIZES = {"vocab_size": 20, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """What transformers computed, as minitorch's tensors."""
    return {name: minitorch.tensor(each) for name, each in load_file(FOLDER / "expected.safetensors").items()}


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    """The checkpoint that transformers saved, loaded by name."""
    made = LlamaForCausalLM(LlamaConfig.from_dict(json.loads((FOLDER / "config.json").read_text())))
    weights = load_file(FOLDER / "model.safetensors")
    assert set(made.state_dict()) == set(weights)
    made.load_state_dict({name: minitorch.tensor(each) for name, each in weights.items()})
    return made.eval()


def test_a_checkpoint_of_transformers_gives_its_scores(model: Any, expected: dict[str, Any]) -> None:
    with minitorch.no_grad():
        logits = model(expected["tokens"])[0]
    np.testing.assert_allclose(logits.numpy(), expected["logits"].numpy(), rtol=0, atol=1e-5)


def test_it_writes_what_transformers_writes(model: Any, expected: dict[str, Any]) -> None:
    assert model.generate(expected["tokens"], 10, temperature=0).tolist() == expected["written"].tolist()
    assert model.generate(expected["tokens"], 10, temperature=1.0, top_k=1).tolist() == expected["written"].tolist()


@pytest.mark.parametrize("lengths", [[12], [4, 4, 4], [11, 1], [1] * 12], ids=str)
def test_pieces_with_caches_give_what_the_whole_gives(model: Any, expected: dict[str, Any], lengths: list[int]) -> None:
    caches = model.new_caches()
    with minitorch.no_grad():
        pieces = [model(piece, caches=caches)[0] for piece in expected["tokens"].split(lengths, 1)]
    np.testing.assert_allclose(minitorch.cat(pieces, 1).numpy(), expected["logits"].numpy(), rtol=0, atol=1e-5)
    assert [len(cache) for cache in caches] == [12, 12]
    assert [tuple(each.shape) for each in (caches[0].key, caches[1].value)] == [(3, 2, 12, 6)] * 2


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_key_value_heads": 1, "attention_bias": True, "mlp_bias": True},
        {"num_key_value_heads": 2, "head_dim": 6, "tie_word_embeddings": True, "rope_theta": 100.0},
    ],
    ids=str,
)
def test_it_trains_and_generates_with_torchs_numbers(options: dict[str, Any]) -> None:
    import torch

    results = []
    for lib, module in ((minitorch, llama), (torch, on_torch("llama"))):
        lib.manual_seed(0)
        made = module.LlamaForCausalLM(module.LlamaConfig(**SIZES, **options))
        batches = [(lib.randint(20, (3, 8)), lib.randint(20, (3, 8))) for _ in range(3)]
        losses = trained(lib, made, batches, lambda model, x, y: model(x, y)[1])
        tokens = made.generate(batches[0][0], 4, temperature=0.8, top_k=5).tolist()
        results.append((repr(made), state(made), losses, tokens, made(batches[0][0])[0].tolist()))
    (text, names, losses, tokens, scores), expected = results
    assert text == expected[0]
    assert list(names.items()) == list(expected[1].items())
    np.testing.assert_allclose(losses, expected[2], rtol=1e-4)
    assert tokens == expected[3]
    np.testing.assert_allclose(scores, expected[4], rtol=1e-3, atol=1e-5)


def test_names_are_those_of_hugging_face() -> None:
    made = LlamaForCausalLM(LlamaConfig(**SIZES, num_key_value_heads=2, attention_bias=True))
    shapes = {name: tuple(each.shape) for name, each in made.state_dict().items()}
    assert shapes["model.embed_tokens.weight"] == shapes["lm_head.weight"] == (20, 16)
    assert shapes["model.norm.weight"] == shapes["model.layers.1.post_attention_layernorm.weight"] == (16,)
    attention = {
        name.removeprefix("model.layers.0.self_attn."): shape for name, shape in shapes.items() if "0.self" in name
    }
    biases = {"q_proj.bias": (16,), "k_proj.bias": (8,), "v_proj.bias": (8,), "o_proj.bias": (16,)}
    matrices = {
        "q_proj.weight": (16, 16),
        "k_proj.weight": (8, 16),
        "v_proj.weight": (8, 16),
        "o_proj.weight": (16, 16),
    }
    assert attention == biases | matrices


def test_llama_7b_has_its_published_size() -> None:
    """6,738,415,616 parameters, by the sizes that are the defaults; one layer is made, on a tenth of the widths."""
    config = LlamaConfig()
    d, hidden = config.hidden_size, config.intermediate_size
    assert config.num_hidden_layers * (4 * d * d + 3 * d * hidden + 2 * d) + 2 * 32000 * d + d == 6_738_415_616
    made = LlamaForCausalLM(LlamaConfig(**SIZES))
    count = sum(each.numel() for each in made.parameters())
    assert count == 2 * (4 * 16 * 16 + 3 * 16 * 24 + 2 * 16) + 2 * 20 * 16 + 16


def test_tied_embeddings_are_one() -> None:
    made = LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=True))
    assert made.lm_head.weight is made.model.embed_tokens.weight


def test_the_loss_leaves_targets_of_minus_100_out(model: Any, expected: dict[str, Any]) -> None:
    tokens = expected["tokens"]
    targets = tokens.clone()
    targets[:, 4:] = -100
    shares = model(tokens)[0][:, :4].log_softmax(-1)
    wanted = -shares.gather(2, tokens[:, :4].unsqueeze(-1)).mean()
    assert model(tokens, targets)[1].item() == pytest.approx(wanted.item(), rel=1e-5)


@pytest.mark.parametrize(
    ("config", "theta"),
    [
        ({}, 10000.0),
        ({"rope_theta": 500000.0, "rope_scaling": None}, 500000.0),
        ({"rope_parameters": {"rope_theta": 100.0, "rope_type": "default"}}, 100.0),
    ],
    ids=str,
)
def test_where_a_configuration_has_theta(config: dict[str, Any], theta: float) -> None:
    """Up to version 4, transformers writes it at the top; since version 5, with what else is about rotations."""
    assert LlamaConfig.from_dict({"hidden_act": "silu", "unknown": 3, **config}).rope_theta == theta


def test_what_a_configuration_refuses() -> None:
    with pytest.raises(ValueError, match="num_attention_heads 4 is not a multiple of num_key_value_heads 3"):
        LlamaConfig(**SIZES, num_key_value_heads=3)
    with pytest.raises(ValueError, match="rope_type 'llama3' is not supported"):
        LlamaConfig.from_dict({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}})
    with pytest.raises(ValueError, match="rope_type 'linear' is not supported"):
        LlamaConfig.from_dict({"rope_scaling": {"type": "linear", "factor": 2.0}})
    with pytest.raises(ValueError, match="hidden_act 'gelu' is not supported"):
        LlamaConfig.from_dict({"hidden_act": "gelu"})


def test_positions_may_differ_from_row_to_row() -> None:
    """(B, 1, T): each row is rotated as if it were alone."""
    minitorch.manual_seed(0)
    x = minitorch.randn(2, 3, 4, 6)
    positions = minitorch.tensor([[0, 1, 2, 3], [5, 6, 7, 8]])
    turned = llama.apply_rotary(x, positions.unsqueeze(1))
    for row in range(2):
        alone = llama.apply_rotary(x[row : row + 1], positions[row])
        np.testing.assert_allclose(turned[row : row + 1].numpy(), alone.numpy(), rtol=1e-5, atol=1e-6)
