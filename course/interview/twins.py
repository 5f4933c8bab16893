"""Cards that ask the same: one interview asks one of them, and an answer to one counts for all."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from course.interview.cards import Card

_TWINS = (
    ("Do you clip gradients before or after `backward`?",),  # in two chapters
    (
        "What should the loss be before the first step?",
        "What is the loss of an untrained classifier of 10 classes, and its perplexity?",
        "What first loss do you expect for 100 classes?",
        "Which first loss do you expect with ten classes?",
        "What should the first loss of a decoder be if its vocabulary has 50 tokens?",
        "the first loss",
    ),
    (
        "What is DPO's loss if the policy is the reference?",
        "What is the DPO loss before the first step?",
        "What is the DPO loss when policy and reference agree?",
    ),
    (
        "How much memory does training 7B parameters with AdamW take?",
        "How much memory does it take to train 7 billion parameters?",
        "How much memory does Adam in mixed precision take per parameter, without activations?",
        "How many bytes per parameter does Adam's state take?",
        "Of the 16 bytes per parameter in mixed precision with Adam, which are used by the optimizer alone?",
        "memory of training with Adam",
    ),
    (
        "How many FLOPs does a training step take?",
        "How many FLOPs does training take for each parameter and token?",
        "How long does it take to train 7 billion parameters on a trillion tokens?",
        "work of training",
        "speed of training at an MFU",
    ),
    (
        "How large are the logits and the KV cache of a language model?",
        "How large is the cache of 32 layers, 8 KV heads of 128, and 8k tokens in 16 bits?",
        "How many bytes of cache does a token take with 80 layers and 8 KV heads of 128, in 16 bits?",
        "a key-value cache",
        "memory of the caches of a service",
    ),
    (
        "How many GPUs do you need to serve a 70-billion-parameter model to 500 users at once?",
        "How many GPUs for 20 requests/s of 2,000 + 300 tokens on a 70B model?",
    ),
    (
        "Four draft tokens are each accepted with probability 0.8. How many tokens does a pass of the target yield?",
        "If three draft tokens are accepted with 0.5 each, how many does the target's pass yield?",
    ),
    (
        "By what factor does subtracting the group's mean scale GRPO's gradient for K = 4?",
        "If a baseline is the mean of 8 rewards, the sample's own included, by what factor does the gradient shrink?",
    ),
    (
        "Batch 8, 12 heads, length 1024, float32: how much memory do one layer's attention weights take?",
        "memory of attention weights",
    ),
    (
        "How many parameters does LoRA with `r = 4` train on a 4,096 × 4,096 layer?",
        "parameters of LoRA",
    ),
    (
        "What is MFU, and how do you log without slowing training down?",
        "What is MFU, and why is 40 % good?",
    ),
    (
        "The loss spikes in the middle of training. What do you do?",
        "A loss spike at step 40,000. What do you do?",
    ),
    (
        "You accumulate gradients over batches of sentences. What do you divide by?",
        "Why was the loss under gradient accumulation wrong in many trainers?",
    ),
    (
        "Why do language models share the table with the output layer?",
        "What does it mean that weights are tied?",
    ),
    (
        "Same seed, and `randn` gives different numbers. How?",
        "Same seed, different numbers. Why?",
    ),
    (
        '"CUDA error: device-side assert triggered" points at a harmless line. What now?',
        '"CUDA error: device-side assert triggered". What is it, and how do you find the line?',
    ),
    (
        "Memory grows with every iteration. Where do you look?",
        "Training takes more memory with every step. What do you look for?",
    ),
    (
        "You keep one element of a large tensor. How much memory do you keep?",
        "You keep `big[0]` of a 4 MB tensor. How much memory stays alive?",
    ),
    (
        "How do you load a model that is too large to allocate twice?",
        "How do you load a 70 GB model on a machine with 64 GB?",
    ),
    (
        "What must a resumed run restore?",
        "What does a checkpoint need for an exact resume?",
    ),
    (
        "Five percent of your labels are positive. What do you change?",
        "Imbalanced classes: a sampler, or weights in the loss?",
    ),
    (
        "Why is bfloat16, and not float16, the usual type for training today?",
        "float16 or bfloat16?",
        "Is bfloat16 more precise than float16?",
    ),
    (
        "What are vanishing and exploding gradients, and what do you do about them?",
        "Why do gradients vanish or explode in an RNN?",
    ),
    (
        "How does `nn.Linear` initialize its weights?",
        "What are the parameters of `nn.Linear(128, 10)`, and how do they start?",
    ),
    (
        "What does fusion save, and what else can a compiler do with a graph?",
        "What does fusing kernels save?",
    ),
    ("What is TF32, and is it on?", "Is TF32 on by default?"),
    ("What is `channels_last`?", "What is `channels_last`, and why is it faster?"),
    ("`no_grad`, `inference_mode`, `detach` or `eval`?", "`eval()` or `no_grad()`?"),
)
"""By the words of their cards. Each lesson asks what it teaches, so the same is asked in several."""
FAMILIES = {words: twins[0] for twins in _TWINS for words in twins}
"""What stands for all of its twins, by the words of a card."""


def family(card: Card) -> str:
    """What a card is known as: the same for all cards that ask the same."""
    return FAMILIES.get(card.words, card.name)


def unlike(order: Sequence[Card], asked: Collection[Card]) -> list[Card]:
    """An order in which those cards stand at the end that ask the same as one before them, or as one of `asked`."""
    had = {family(card) for card in asked}
    first, later = list[Card](), list[Card]()
    for card in order:
        (later if family(card) in had else first).append(card)
        had.add(family(card))
    return [*first, *later]
