"""Chapter 14 of mytorch against minitorch: attention, masks, heads, a block, drawing tokens, and GPT."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.models.gpt
from tests.mytorch.compare import ORACLES, agree, close, numbers, pytorch, same

part = pytest.mark.part
attention = "mytorch.nn.attention:"
multihead = attention + "MultiheadAttention."
drawing = "mytorch.random:"


def attended(torch: ModuleType, sizes: tuple[int, ...], **options: Any) -> list[Any]:
    """The output of attention and the gradients of query, key and value."""
    queries, keys, width, values = sizes[-4:]
    front = sizes[:-4]
    shapes = [(*front, queries, width), (*front, keys, width), (*front, keys, values)]
    inputs = [torch.tensor(numbers(*shape, seed=seed), requires_grad=True) for seed, shape in enumerate(shapes)]
    mask = options.pop("mask", None)
    if mask is not None:
        options["attn_mask"] = torch.tensor(mask)
    result = torch.nn.functional.scaled_dot_product_attention(*inputs, **options)
    (result * torch.tensor(numbers(*result.shape, seed=9))).sum().backward()
    return [result.tolist(), *(each.grad.tolist() for each in inputs)]


MASK = np.array([[True, False, True, False], [False, False, True, True], [True, True, True, True]])
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "scale": {"scale": 0.3},
    "a scale of 0": {"scale": 0.0},
    "a scale below 0": {"scale": -0.3},
    "boolean": {"mask": MASK},
    "numbers": {"mask": numbers(3, 4, seed=5)},
    "a row of a batch": {"mask": MASK[:, None], "sizes": (3, 2, 3, 4, 5, 6)},
}


@part(attention + "scaled_dot_product_attention", attention + "additive")
@pytest.mark.parametrize("sizes", [(3, 4, 5, 5), (2, 3, 4, 5, 7), (2, 2, 3, 4, 1, 2)])
@pytest.mark.parametrize("name", OPTIONS)
def test_attention_and_its_gradients(mytorch: ModuleType, name: str, sizes: tuple[int, ...]) -> None:
    options = dict(OPTIONS[name])
    sizes = options.pop("sizes", sizes)
    if name == "a row of a batch":
        options["mask"] = np.stack([MASK, ~MASK | MASK[::-1], MASK])[:, None]
    agree(lambda torch: attended(torch, sizes, **options), mytorch)


@part(attention + "scaled_dot_product_attention")
@pytest.mark.parametrize("kind", ["boolean", "numbers"])
def test_a_query_that_may_look_nowhere_gets_zeros(mytorch: ModuleType, kind: str) -> None:
    """PyTorch 2.13 gives zeros for both kinds of masks."""
    mask = np.array([[True, True], [False, False]])
    given = mask if kind == "boolean" else np.where(mask, 0, -np.inf).astype(np.float32)
    result, *grads = attended(mytorch, (2, 2, 3, 3), mask=given)
    assert result[1] == [0, 0, 0] and np.isfinite(grads[0]).all() and grads[0][1] == [0, 0, 0]
    close([result, *grads], attended(minitorch, (2, 2, 3, 3), mask=mask))
    if pytorch:
        close([result, *grads], attended(pytorch, (2, 2, 3, 3), mask=given))


@part(attention + "scaled_dot_product_attention")
def test_dropout_draws_minitorchs_weights(mytorch: ModuleType) -> None:
    def call(torch: ModuleType) -> list[Any]:
        torch.manual_seed(3)
        return attended(torch, (2, 3, 4, 5, 5), dropout_p=0.5, is_causal=True)

    agree(call, mytorch)


ATTEND: dict[str, Callable[[Any], Any]] = {
    "one dimension": lambda torch: torch.nn.functional.scaled_dot_product_attention(
        torch.ones(3), torch.ones(2, 3), torch.ones(2, 3)
    ),
    "two types": lambda torch: torch.nn.functional.scaled_dot_product_attention(
        torch.ones(2, 3), torch.ones(2, 3).double(), torch.ones(2, 3)
    ),
    "a float32 mask for float64": lambda torch: torch.nn.functional.scaled_dot_product_attention(
        *[torch.ones(2, 3).double()] * 3, torch.ones(2, 2).triu()
    ),
    "integers as a mask": lambda torch: torch.nn.functional.scaled_dot_product_attention(
        torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 2).long()
    ),
    "two masks": lambda torch: torch.nn.functional.scaled_dot_product_attention(
        torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 2), is_causal=True
    ),
    "heads": lambda torch: torch.nn.MultiheadAttention(5, 2),
    "state": lambda torch: list(torch.nn.MultiheadAttention(4, 2).state_dict()),
    "state without biases": lambda torch: list(torch.nn.MultiheadAttention(4, 2, bias=False).state_dict()),
    "state of a block": lambda torch: list(torch.nn.TransformerEncoderLayer(4, 2, 8).state_dict()),
}


@part(attention + "scaled_dot_product_attention", attention + "additive")
def test_a_mask_of_numbers_learns(mytorch: ModuleType) -> None:
    def call(torch: ModuleType) -> Any:
        inputs = [torch.tensor(numbers(3, 4, seed=seed)) for seed in range(3)]
        mask = torch.tensor(numbers(3, 3, seed=5), requires_grad=True)
        torch.nn.functional.scaled_dot_product_attention(*inputs, mask).square().sum().backward()
        return mask.grad.tolist()

    agree(call, mytorch)


@part(attention + "scaled_dot_product_attention", drawing + "multinomial")
def test_attention_and_draws_stay_on_a_gpu(mytorch: ModuleType) -> None:
    mytorch.cuda.simulate(1)
    x = mytorch.tensor(numbers(3, 4), device="cuda")
    result = mytorch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    drawn = [mytorch.multinomial(x.abs(), 2, replacement=replacement) for replacement in (True, False)]
    mytorch.cuda.simulate(0)
    assert [each.device.type for each in (result, *drawn)] == ["cuda"] * 3


@part(drawing + "multinomial")
def test_weights_stay_as_they_are(mytorch: ModuleType) -> None:
    weights = mytorch.tensor(WEIGHTS)
    for replacement in (True, False):
        mytorch.multinomial(weights, 2 if replacement else 1, replacement=replacement)
    assert weights.tolist() == WEIGHTS.tolist()


@part(attention + "check_attention", multihead + "__init__")
@pytest.mark.parametrize("name", ATTEND)
def test_what_attention_refuses_and_holds(mytorch: ModuleType, name: str) -> None:
    same(ATTEND[name], mytorch)


def looked(torch: ModuleType, layer: Any, sizes: Any, masks: dict[str, Any], **options: Any) -> list[Any]:
    """Output, weights and all gradients of a layer with several heads, whose inputs have these sizes."""
    for number, parameter in enumerate(layer.parameters()):
        parameter.data.copy_(torch.tensor(numbers(*parameter.shape, seed=20 + number)))
    inputs = [torch.tensor(numbers(*size, seed=seed)).requires_grad_() for seed, size in enumerate(sizes)]
    output, weights = layer(*inputs, **{name: torch.tensor(mask) for name, mask in masks.items()}, **options)
    (output * torch.tensor(numbers(*output.shape, seed=9))).sum().backward()
    grads = [each.grad.tolist() for each in [*inputs, *layer.parameters()]]
    return [output.tolist(), None if weights is None else weights.tolist(), *grads]


PADDING = np.array([[False, False, True, True], [False, False, False, False]])
HEADS: dict[str, dict[str, Any]] = {
    "plain": {},
    "batch first": {"batch_first": True},
    "no bias": {"bias": False, "batch_first": True},
    "padding": {"batch_first": True, "masks": {"key_padding_mask": PADDING}},
    "a mask": {"masks": {"attn_mask": ~MASK}},
    "a mask of numbers": {"masks": {"attn_mask": numbers(3, 4, seed=7)}},
    "a mask for each head": {"masks": {"attn_mask": numbers(4, 3, 4, seed=7)}},
    "both": {"batch_first": True, "masks": {"key_padding_mask": PADDING, "attn_mask": ~MASK[[0, 2, 0]]}},
    "one by one": {"options": {"average_attn_weights": False}},
    "no weights": {"options": {"need_weights": False}, "masks": {"attn_mask": ~MASK}},
    "one sequence": {"sizes": [(3, 6), (4, 6), (4, 6)]},
    "one sequence, padded": {"sizes": [(3, 6), (4, 6), (4, 6)], "masks": {"key_padding_mask": PADDING[0]}},
}


@part(attention + "split_heads", attention + "merge_heads", multihead + "attend", multihead + "forward")
@part(multihead + "merged", attention + "additive")
@pytest.mark.parametrize("name", HEADS)
def test_several_heads(mytorch: ModuleType, name: str) -> None:
    options = HEADS[name]
    first = options.get("batch_first", False)
    lengths = [(2, 3, 6), (2, 4, 6), (2, 4, 6)] if first else [(3, 2, 6), (4, 2, 6), (4, 2, 6)]
    sizes, masks = options.get("sizes", lengths), options.get("masks", {})

    def call(torch: ModuleType) -> list[Any]:
        torch.manual_seed(0)
        layer = torch.nn.MultiheadAttention(6, 2, bias=options.get("bias", True), batch_first=first)
        return looked(torch, layer, sizes, masks, **options.get("options", {}))

    agree(call, mytorch)


@part(multihead + "attend")
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_dropout_of_the_weights_of_heads(mytorch: ModuleType, training: bool, need_weights: bool) -> None:
    def call(torch: ModuleType) -> list[Any]:
        torch.manual_seed(0)
        layer = torch.nn.MultiheadAttention(6, 2, dropout=0.5, batch_first=True).train(training)
        output, weights = layer(*[torch.tensor(numbers(2, 3, 6))] * 3, need_weights=need_weights)
        return [output.tolist(), None if weights is None else weights.tolist()]

    agree(call, mytorch)


@part(attention + "TransformerEncoderLayer")
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_block(mytorch: ModuleType, activation: str, norm_first: bool, batch_first: bool) -> None:
    """With `batch_first` PyTorch's output isn't contiguous, and dropout draws in the order of memory: not compared."""

    def call(torch: ModuleType) -> list[Any]:
        torch.manual_seed(0)
        options = {"activation": activation, "norm_first": norm_first, "batch_first": batch_first}
        layer = torch.nn.TransformerEncoderLayer(6, 2, 8, **options)
        x = torch.tensor(numbers(*(2, 4, 6) if batch_first else (4, 2, 6))).requires_grad_()
        found = []
        for mode in (False,) if batch_first else (False, True):
            output = layer.train(mode)(x, torch.ones(4, 4, dtype=torch.bool).triu(1), torch.tensor(PADDING))
            output.square().sum().backward()
            found += [output.tolist(), x.grad.tolist()]
        return found + [each.grad.tolist() for each in layer.parameters()]

    agree(call, mytorch)


WEIGHTS = np.array([[0.1, 0.0, 2.0, 0.4], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0]], dtype=np.float32)
DRAWS: dict[str, Callable[[Any], Any]] = {
    "one": lambda torch: torch.multinomial(torch.tensor(WEIGHTS), 1),
    "one of a row": lambda torch: torch.multinomial(torch.tensor(WEIGHTS[0]), 1),
    "several": lambda torch: torch.tensor(WEIGHTS[:2] + 0.1).multinomial(3),
    "all": lambda torch: torch.multinomial(torch.tensor(WEIGHTS[0].astype(np.float64)), 4),
    "with replacement": lambda torch: torch.multinomial(torch.tensor(WEIGHTS), 20, replacement=True),
    "of a row, with replacement": lambda torch: torch.multinomial(torch.tensor(WEIGHTS[0]), 20, True),
    "a generator": lambda torch: torch.multinomial(
        torch.tensor(WEIGHTS), 2, True, generator=torch.Generator().manual_seed(5)
    ),
    "three dimensions": lambda torch: torch.multinomial(torch.ones(2, 2, 2), 1),
    "integers": lambda torch: torch.multinomial(torch.tensor([1, 2]), 1),
    "none": lambda torch: torch.multinomial(torch.ones(2), 0),
    "too many": lambda torch: torch.multinomial(torch.ones(2), 3),
    "negative": lambda torch: torch.multinomial(torch.tensor([1.0, -1.0]), 1),
    "nothing to draw": lambda torch: torch.multinomial(torch.zeros(2), 1),
}


@part(drawing + "multinomial", drawing + "exponential", drawing + "check_weights")
@pytest.mark.parametrize("name", DRAWS)
def test_places_drawn_with_weights(mytorch: ModuleType, name: str) -> None:
    def call(torch: ModuleType) -> Any:
        torch.manual_seed(1)
        return DRAWS[name](torch), torch.rand(1)

    same(call, mytorch)


def test_the_largest_have_names(mytorch: ModuleType) -> None:
    x = numbers(2, 5)
    calls = [lambda x: x.topk(2), lambda x: x.sort(), lambda x: x.max(1), lambda x: x.min(1, True)]
    for call, torch in product(calls, ORACLES):
        mine, expected = call(mytorch.tensor(x)), call(torch.tensor(x))
        assert mine.values.tolist() == expected.values.tolist()
        assert mine.indices.tolist() == expected.indices.tolist()


def model(library: ModuleType) -> Any:
    """minitorch's file of GPT, written for this library by nothing but its imports."""
    module = ModuleType("gpt_of_a_test")
    sys.modules[module.__name__] = module  # a dataclass looks its module up
    text = inspect.getsource(minitorch.models.gpt).replace("minitorch", library.__name__)
    exec(compile(text, "gpt", "exec"), module.__dict__)
    return module


@part(attention + "scaled_dot_product_attention", drawing + "multinomial")
def test_gpt_trains_to_minitorchs_losses_and_writes_its_tokens(mytorch: ModuleType) -> None:
    def train(torch: ModuleType) -> tuple[list[float], Any]:
        file, rng = model(torch), np.random.default_rng(0)
        torch.manual_seed(0)
        gpt = file.GPT(file.GPTConfig(block_size=8, vocab_size=11, n_layer=2, n_head=2, n_embd=16, dropout=0.1))
        optimizer = torch.optim.AdamW(gpt.parameters(), lr=1e-2)
        losses = []
        for _ in range(10):
            tokens = rng.integers(0, 11, (4, 9))
            _, loss = gpt(torch.tensor(tokens[:, :-1]), torch.tensor(tokens[:, 1:]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        gpt.eval()
        return losses, gpt.generate(torch.tensor([[1, 2], [3, 4]]), 10, temperature=0.8, top_k=5).tolist()

    losses, tokens = train(mytorch)
    for torch in ORACLES:
        expected_losses, expected_tokens = train(torch)
        close(losses, expected_losses, rtol=0, atol=1e-4)
        assert tokens == expected_tokens
